"""Folders outside the project: what can be made again, and data that somebody put beside."""

import hashlib
import os
from functools import cache
from pathlib import Path

# A checkout has the folder of larger sets beside it; an installation has not.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
_KERNELS = Path(__file__).resolve().parents[1] / "problems" / "kernels" / "compiled"


def cache_folder() -> Path:
    """Folder for what can be made again: $PIANOBENCH_CACHE, or ``pianobench`` in the user's cache folder."""
    if "PIANOBENCH_CACHE" in os.environ:
        return Path(os.environ["PIANOBENCH_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pianobench"


def shared_folder() -> Path | None:
    """Folder of larger real sets: $PIANOBENCH_SHARED_DATA, or ``shared/data`` beside the checkout; None without."""
    named = os.environ.get("PIANOBENCH_SHARED_DATA")
    folder = Path(named) if named else _BESIDE
    return folder if folder.is_dir() else None


def fetched_folder() -> Path:
    """Folder of what `pianobench fetch` has downloaded: it costs a network to make again."""
    return cache_folder() / "fetched"


def compiled_kernels() -> Path:
    """Folder of Numba's cache for the kernels in their present state.

    Numba notices that a compiled function's own file has changed, but not that a function it calls has
    changed in another file: it would go on using the old one. So all files of the kernels are hashed
    together into the folder's name. NUMBA_CACHE_DIR has no say, since it would not follow the files.
    """
    return cache_folder().absolute() / "numba" / _state(_KERNELS)


@cache
def _state(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        whole.update(f"{path.relative_to(folder).as_posix()} {len(text)};".encode())
        whole.update(text)
    return whole.hexdigest()[:16]
