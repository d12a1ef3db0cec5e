"""Where numbers come from: code, versions, settings, what is minimised. No names of users, hosts or folders."""

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pianobench.datasets import places
from pianobench.experiments import environment, machine

# What a numerical result can depend on; these are in the key of a cell, all others only in the manifest.
DECISIVE = ("numpy", "scipy", "numba", "scikit-learn")

OBJECTIVE = {
    "loss": "softmax cross-entropy, a sum over the samples and not a mean",
    "parametrisation": "full: a column of weights for each class, no reference class",
    "penalty": "in user units, added to that sum as it is; none on the intercept",
    "start": "all weights 0",
    "stopping": "certified relative gap (F − L)/F ≤ tolerance at a checkpoint, or the cell's budget",
    "step_length": "each method's own; no Lipschitz constant is given to any",
    "judged_in": "float64, at the point that the method returned",
}


@dataclass(frozen=True)
class Commit:
    """State of the code: commit hash (or why there is none), and the hash of what has changed since, or ""."""

    name: str
    difference: str

    def __str__(self) -> str:
        return self.name + ("+" if self.difference else "")


def now() -> str:
    """UTC time to the second, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def commit() -> Commit:
    """Commit of the checkout that this package runs from.

    An installed package inside somebody's checkout must not take that checkout's commit for its own: git is
    asked whether it tracks this very file.
    """
    here = Path(__file__).resolve()
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return Commit(f"release {importlib.metadata.version('pianobench')}", "")
    name = _git(here.parent, "rev-parse", "HEAD")
    return Commit(name or "no commit yet", _difference(here.parent))


def _difference(folder: Path) -> str:
    """Hash of all Python and TOML files that differ from the commit, new ones included; "" if none does."""
    kinds = ("--", ":/*.py", ":/*.toml")
    top = Path(_git(folder, "rev-parse", "--show-toplevel") or folder)
    new = (_git(top, "ls-files", "--others", "--exclude-standard", *kinds) or "").splitlines()
    texts = [_git(top, "diff", "HEAD", *kinds) or "", *(f"{name} {_digest_of(top / name)}" for name in sorted(new))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest() if any(texts) else ""


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone"


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def decisive_versions() -> dict[str, str]:
    """Versions that enter the key of every cell."""
    return {"python": platform.python_version(), **{name: _version(name) for name in DECISIVE}}


def versions_of(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that top-level modules come from, for the key of a solver that imports them."""
    return {name: version for module in modules for name, version in _distributions(module)}


@cache
def _distributions(module: str) -> list[tuple[str, str]]:
    version = _version(module)
    if version != "absent":
        return [(module, version)]
    names = importlib.metadata.packages_distributions().get(module, ())
    return [(name, _version(name)) for name in sorted(set(names))] or [(module, "absent")]


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _installed() -> dict[str, str]:
    """Every distribution of this environment with its version."""
    found = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    return dict(sorted(found.items()))


def describe(experiment: str, command: list[str]) -> dict[str, Any]:
    """Manifest of a run, as far as it is known before the first cell."""
    installed = _installed()
    lines = "\n".join(f"{name}=={version}" for name, version in installed.items())
    return {
        "experiment": experiment,
        "command": [word.replace(str(Path.home()), "~") for word in command],
        "started_at": now(),
        "commit": commit().name,
        "changed_since_commit": bool(commit().difference),
        "difference_sha256": commit().difference or None,
        "pianobench": _version("pianobench"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": installed,
        "versions_sha256": hashlib.sha256(lines.encode()).hexdigest(),
        "machine": machine.describe(),
        "load_before": machine.load(),
        "numba": _numba(),
        "blas": blas(),
        "settings": environment.settings(),
        "compiled_kernels": places.compiled_kernels().name,
        "objective": OBJECTIVE,
    }


def _numba() -> dict[str, str]:
    """The processor that Numba compiles for; the threading layer in force is in each row's thread_pools."""
    import llvmlite.binding

    features = sorted(name for name, on in llvmlite.binding.get_host_cpu_features().items() if on)
    return {
        "cpu": os.environ.get("NUMBA_CPU_NAME") or llvmlite.binding.get_host_cpu_name(),
        "features": os.environ.get("NUMBA_CPU_FEATURES") or " ".join(features),
    }


def blas() -> list[dict[str, Any]]:
    """Every BLAS and OpenMP library that NumPy and SciPy load, without its folder."""
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    del np, scipy  # imported so that their libraries are loaded
    return [
        {**{k: v for k, v in pool.items() if k != "filepath"}, "file": Path(pool["filepath"]).name}
        for pool in threadpool_info()
    ]
