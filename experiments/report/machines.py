"""Where, when and with what was measured: the record of a run as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pianobench.experiments.provenance import DECISIVE
from pianobench.results.schema import FAILED
from pianobench.results.store import Tables


@dataclass(frozen=True)
class RunLine:
    """One run in the list of runs."""

    name: str
    title: str
    started: str
    commit: str
    machine: str
    threads: str
    load: str
    rows: int
    noisy: int
    failed: int


def run_line(name: str, tables: Tables) -> RunLine:
    """What the list of runs has of one."""
    rows, manifest = tables.rows, tables.manifest
    return RunLine(
        name=name,
        title=str(manifest.get("title", "")),
        started=str(manifest.get("started_at", ""))[:16].replace("T", " "),
        commit=commit(manifest),
        machine="; ".join(dict.fromkeys(rows["machine"].dropna())),
        threads=", ".join(str(number) for number in sorted(set(rows["threads_asked"].dropna()))),
        load=" to ".join(
            f"{manifest[key]:g}" for key in ("load_before", "load_after") if manifest.get(key) is not None
        ),
        rows=len(rows),
        noisy=int(rows["disturbed"].notna().sum()),
        failed=int(rows["status"].isin(FAILED).sum()),
    )


def commit(record: Mapping[str, Any]) -> str:
    """The commit of a record in short, and whether the code had changed since."""
    return f"{str(record.get('commit'))[:12]}{' (changed since)' if record.get('changed_since_commit') else ''}"


def banner(*records: Mapping[str, Any]) -> str:
    """Under which numbers of another time stand: machine, date and commit of each of their records."""
    places: dict[str, list[str]] = {}
    for record in records:
        machine = record.get("machine") or {}
        cores = machine.get("cores_usable")
        where = f"{machine.get('cpu', 'a machine without a record')}, {cores} core{'s' * (cores != 1)}"
        places.setdefault(f"{where}, {str(record.get('started_at'))[:10]}", []).append(commit(record))
    told = (f"measured on {place}, commit {' and '.join(dict.fromkeys(names))}" for place, names in places.items())
    return "; ".join([*told, "not run here"])


def details(record: Mapping[str, Any]) -> dict[str, str]:
    """Machine, libraries and settings of a record, by name."""
    machine, versions = record.get("machine") or {}, record.get("versions") or {}
    told = {
        "processor": f"{machine.get('cpu')}, {machine.get('architecture')}",
        "cores": f"{machine.get('cores_usable')} usable, {machine.get('cores_physical')} physical, "
        f"{machine.get('cores_logical')} logical",
        "memory": f"{machine.get('memory_gib')} GiB",
        "system": ", ".join(str(machine[key]) for key in ("os", "container") if machine.get(key)),
        "load": " before, ".join(str(record.get(key)) for key in ("load_before", "load_after")) + " after",
        "Python": str(record.get("python")),
        "libraries": ", ".join(f"{name} {versions[name]}" for name in DECISIVE if versions.get(name)),
        "BLAS and OpenMP": "; ".join(_blas(one) for one in record.get("blas") or ()),
        "Numba compiles for": str((record.get("numba") or {}).get("cpu")),
        "settings": ", ".join(f"{key} = {value}" for key, value in (record.get("settings") or {}).items()),
        "pianobench": f"{record.get('pianobench')}, commit {commit(record)}",
        **{key.replace("_", " "): str(text) for key, text in (record.get("objective") or {}).items()},
    }
    return {name: text for name, text in told.items() if text}


def _blas(one: Mapping[str, Any]) -> str:
    count = one.get("num_threads")
    name = " ".join(str(one[key]) for key in ("internal_api", "version", "architecture") if one.get(key))
    return f"{name}, {count} thread{'s' * (count != 1)}"
