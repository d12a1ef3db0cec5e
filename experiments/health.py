"""What `doctor` looks at: the machine, the libraries, the folders; and what of it is wrong or merely suspicious."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pianobench.datasets import places
from pianobench.experiments import environment, provenance
from pianobench.experiments.machine import cgroup_quota, cpu_model

LEAST_DISK = 2_000_000_000
PROBE_SECONDS = 120
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "NUMBA_THREADING_LAYER",
    "NUMBA_DISABLE_JIT",
)
# In a process of its own: a threading layer that hangs or dies must not take the doctor along.
PROBE = """
import json, sys, time
import numba, numpy as np
from numba import njit, prange
@njit(parallel=True)
def total(x):
    s = 0.0
    for i in prange(x.size):
        s += x[i]
    return s
began = time.perf_counter()
ok = total(np.ones(1000)) == 1000.0
facts = {"layer": numba.threading_layer(), "threads": numba.get_num_threads(), "right": ok,
         "compile_seconds": round(time.perf_counter() - began, 2)}
print(json.dumps(facts))
"""


def examine(store: Path) -> dict[str, Any]:
    """All facts, with the lists ``warnings`` and ``broken`` in plain words.

    Parameters
    ----------
    store : Path
        Folder of the runs.
    """
    facts: dict[str, Any] = {
        "software": _software(),
        "machine": _machine(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "blas": provenance.blas(),
        "numba": _numba(),
        "cache": _cache(),
        "results": _results(store),
        "shared_data": _shared_data(),
        "libraries": libraries(),
    }
    return {**facts, "warnings": warnings(facts), "broken": broken(facts)}


def _software() -> dict[str, Any]:
    commit = provenance.commit()
    return {
        "pianobench": importlib.metadata.version("pianobench"),
        "commit": commit.name,
        "changed_since_commit": bool(commit.difference),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
    }


def _machine() -> dict[str, Any]:
    import psutil

    memory = psutil.virtual_memory()
    return {
        "cpu": cpu_model(),
        "cores_logical": psutil.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_usable": environment.available_cores(),
        "cores_quota": cgroup_quota(),
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _numba(probe: str = PROBE, seconds: float = PROBE_SECONDS) -> dict[str, Any]:
    """Version, and what a trivial parallel loop does."""
    facts: dict[str, Any] = {"version": _version("numba")}
    command = [sys.executable, "-P", "-c", probe]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return {**facts, "error": f"a trivial parallel loop has not ended within {seconds:g} s"}
    if done.returncode:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        return {**facts, "error": f"a trivial parallel loop fails: {last}"}
    facts.update(json.loads(done.stdout.splitlines()[-1]))
    return facts if facts.pop("right") else {**facts, "error": "a trivial parallel loop gives a wrong sum"}


def _cache() -> dict[str, Any]:
    folder = places.cache_folder()
    compiled = places.compiled_kernels()
    return {
        "folder": str(folder),
        "bytes": folder_bytes(folder),
        "kernels_bytes": folder_bytes(folder / "numba"),
        "states": len(list((folder / "numba").glob("*"))),
        "has_present_state": compiled.is_dir(),
        "error": not_writable(folder),
    }


def _results(store: Path) -> dict[str, Any]:
    existing = _existing(store)
    return {
        "folder": str(store),
        "bytes": folder_bytes(store),
        "runs": len(list(store.glob("*/manifest.json"))),
        "cells": len(list(store.glob("cells/*"))),
        "free_bytes": shutil.disk_usage(existing).free,
        "error": not_writable(store),
    }


def _shared_data() -> dict[str, Any]:
    folder = places.shared_folder()
    sets = [path for path in folder.iterdir() if path.is_dir()] if folder else []
    named = os.environ.get("PIANOBENCH_SHARED_DATA") or (str(folder) if folder else None)
    return {"folder": named, "exists": folder is not None, "sets": len(sets)}


def libraries() -> list[dict[str, Any]]:
    """What the package asks for, its extras included: version, or what installs it."""
    found = []
    for line in importlib.metadata.requires("pianobench") or []:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""extra == ['"]([\w-]+)['"]""", line)
        if name is None or name[0] == "pianobench" or (extra and extra[1] == "all"):
            continue
        version = _version(name[0])
        remedy = f"pip install 'pianobench[{extra[1]}]'" if extra else f"pip install '{line}'"
        found.append(
            {
                "name": name[0],
                "extra": extra[1] if extra else None,
                "version": version,
                "remedy": None if version else remedy,
            }
        )
    return found


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def warnings(facts: dict[str, Any]) -> list[str]:
    """What can spoil a measurement without breaking anything."""
    machine, variables = facts["machine"], facts["variables"]
    cores, quota = machine["cores_usable"], machine["cores_quota"]
    said = []
    if "OPENBLAS_CORETYPE" in variables:
        said.append(
            f"OPENBLAS_CORETYPE is {variables['OPENBLAS_CORETYPE']}: OpenBLAS takes the kernels of that processor and "
            "not of this one; unset it, or never compare these times with others"
        )
    for name, value in variables.items():
        if name.endswith("_NUM_THREADS") and value.isdigit() and int(value) > cores:
            said.append(
                f"{name} is {value} and {cores} cores may be used: the threads queue; set it to {cores} or less"
            )
    if variables.get("NUMBA_DISABLE_JIT", "0") != "0":
        said.append("NUMBA_DISABLE_JIT is set: kernels run as plain Python, a hundred times slower; unset it")
    if quota is not None and quota < cores:
        said.append(f"{cores} cores are seen and time for {quota:g} is allowed: use --threads {max(1, int(quota))}")
    if machine["load"] is not None and machine["load"] > cores:
        said.append(
            f"the machine is noisy: {machine['load']:g} processes want to run on {cores} cores; "
            "times measured now are of little use"
        )
    free = facts["results"]["free_bytes"]
    if free < LEAST_DISK:
        said.append(f"only {free / 1e9:.1f} GB of disk are free for results: `pianobench clean` says what can go")
    if facts["shared_data"]["folder"] and not facts["shared_data"]["exists"]:
        said.append(
            f"PIANOBENCH_SHARED_DATA names {facts['shared_data']['folder']}, which is no folder: correct or unset it"
        )
    return said


def broken(facts: dict[str, Any]) -> list[str]:
    """What makes runs fail."""
    said = [f"{key}: {facts[key]['error']}" for key in ("numba", "cache", "results") if facts[key].get("error")]
    missing = [one for one in facts["libraries"] if one["remedy"] and one["extra"] is None]
    said += [f"{one['name']} is missing and required: {one['remedy']}" for one in missing]
    if not facts["blas"]:
        said.append("no BLAS library is found in this process: install numpy and scipy again")
    return said


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder; 0 if there is none."""
    from pianobench.experiments.cli.clean import size_of

    return size_of(folder)[0] if folder.is_dir() else 0


def not_writable(folder: Path) -> str | None:
    """Why nothing can be written there, or None; the folder need not exist yet."""
    place = _existing(folder)
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".pianobench-doctor-"):
            return None
    except OSError as error:
        return f"{place} cannot be written to ({error.strerror}): make it writable, or choose another folder"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    resolved = folder.resolve()
    return next(p for p in (resolved, *resolved.parents) if p.exists())
