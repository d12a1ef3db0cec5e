"""Where numbers come from: code, versions, machine. No names of users, hosts or folders."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pianobench.experiments.environment import available_cores

# What a numerical result can depend on; these are in the key of a cell, all others only in the manifest.
DECISIVE = ("numpy", "scipy", "numba", "scikit-learn")
_RECORDED = (*DECISIVE, "llvmlite", "pandas", "pyarrow", "matplotlib", "pydantic", "threadpoolctl", "psutil")


@dataclass(frozen=True)
class Commit:
    """State of the code: commit hash (or why there is none), and whether files have changed since."""

    name: str
    changed: bool

    def __str__(self) -> str:
        return self.name + ("+" if self.changed else "")


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
        return Commit(f"release {importlib.metadata.version('pianobench')}", changed=False)
    name = _git(here.parent, "rev-parse", "HEAD")
    changes = _git(here.parent, "status", "--porcelain", "--", ":/*.py", ":/*.toml")
    return Commit(name or "no commit yet", changed=bool(changes))


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def decisive_versions() -> dict[str, str]:
    """Versions that enter the key of a cell."""
    return {"python": platform.python_version(), **{name: _version(name) for name in DECISIVE}}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


@cache
def machine() -> str:
    """CPU model and the cores that may be used, in one line."""
    cores = available_cores()
    return f"{_cpu_model()}, {cores} core{'s' if cores != 1 else ''}"


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe(experiment: str, command: list[str]) -> dict[str, Any]:
    """Manifest of a run, as far as it is known before the first cell."""
    import psutil

    return {
        "experiment": experiment,
        "command": command,
        "started_at": now(),
        "commit": commit().name,
        "changed_since_commit": commit().changed,
        "pianobench": _version("pianobench"),
        "versions": {
            "python": sys.version.split()[0],
            "implementation": platform.python_implementation(),
            **{name: _version(name) for name in _RECORDED},
        },
        "machine": {
            "cpu": _cpu_model(),
            "architecture": platform.machine(),
            "cores_usable": available_cores(),
            "cores_physical": psutil.cpu_count(logical=False),
            "cores_logical": psutil.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "os": f"{platform.system()} {platform.release()}",
            "load_before": _load(),
        },
        "blas": blas(),
    }


def _load() -> list[float] | None:
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None


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
