"""Folders outside the project: what can be made again, and data that somebody put beside."""

import os
from pathlib import Path

# A checkout has the folder of larger sets beside it; an installation has not.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


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
