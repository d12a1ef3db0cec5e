"""All experiments on streams but Table 2, and where their tables are kept.

``python -m pianobench.experiments.streams.measure`` runs them one after another, about seven minutes on one core, and
writes ``results/reference/streams``, a file for each, with the record of the machine. Figures and the page are made of
these tables alone, see `page`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pianobench.experiments import machine, provenance
from pianobench.experiments.streams import draws, drift, flaws, other
from pianobench.experiments.streams.table2 import PLACE
from pianobench.problems.kernels.compiled import threads
from pianobench.results.attempt import write_atomically

RATES = drift.RATES
TABLES: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
    "streams": lambda: (line for stream in drift.streams() for line in drift.run(stream)),
    "blind": lambda: (line for rows, n in ((2_000, 20), (20_000, 4)) for line in flaws.blind(RATES, range(n), rows)),
    "fit": lambda: flaws.fit(RATES, range(10)),
    "cost": flaws.cost,
    "draws": lambda: draws.spread(RATES, range(20)),
    "anchor": lambda: draws.anchor(RATES, range(8)),
    "sparse": other.sparse,
    "regret": lambda: other.regret(range(5)),
}
PACKED = ("streams",)


def file_of(name: str, folder: Path = PLACE) -> Path:
    """Where a table is kept."""
    return folder / f"{name}.csv{'.gz' if name in PACKED else ''}"


def read(name: str, folder: Path = PLACE) -> Any:
    """A stored table, as a DataFrame."""
    import pandas as pd

    return pd.read_csv(file_of(name, folder))


def store(name: str, lines: Any, record: dict[str, Any], folder: Path = PLACE) -> None:
    """Write a table (DataFrame) and the record of what made it; equal tables make equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    lines.to_csv(text, index=False, float_format="%.6g", lineterminator="\n")
    content = text.getvalue().encode()
    write_atomically(file_of(name, folder), gzip.compress(content, 9, mtime=0) if name in PACKED else content)
    write_atomically(folder / f"{name}.json", (json.dumps(record, indent=1) + "\n").encode())


def main(words: list[str]) -> None:
    """Measure and store."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="pianobench.experiments.streams.measure", description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=list(TABLES), metavar="TABLE")
    parser.add_argument("--out", type=Path, default=PLACE, metavar="DIR")
    said = parser.parse_args(words)
    record = provenance.describe("streams", ["python", "-m", "pianobench.experiments.streams.measure", *words])
    threads.set_count(1)
    with threadpool_limits(1):
        for name in said.only:
            begun, cpu = provenance.now(), time.process_time()
            lines = pd.DataFrame(TABLES[name]())
            took = {"cpu_seconds": time.process_time() - cpu, "started_at": begun, "ended_at": provenance.now()}
            store(name, lines, {**record, **took, "load_after": machine.load()}, said.out)
            print(f"{name}: {len(lines)} lines in {took['cpu_seconds']:.0f} s of the processor", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
