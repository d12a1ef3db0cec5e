"""A process that has Vowpal Wabbit and next to nothing else, so that its memory and processor time are told apart.

Started with the path of an order, a JSON object: ``runs``, lists of options, made one after another; ``answer``, the
path of what it tells; and if wanted ``d``, features whose weights it reads, ``constant``, the intercept's index, and
``threads``, the processors it may use.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(path: str) -> None:
    """Carry out the order."""
    order = json.loads(Path(path).read_text("utf-8"))
    try:
        told = run(order)
    except Exception as error:  # of any kind: somebody else's code
        told = {"error": f"{type(error).__name__}: {error}"}
    Path(order["answer"]).write_text(json.dumps(told), "utf-8")


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Seconds of all runs, weights and weighted rows of the last, and peak memory before the weights are read."""
    import pylibvw

    threads, constant = order.get("threads"), order.get("constant")
    if threads and hasattr(os, "sched_setaffinity"):  # it has no such option, and reads with a second thread
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    seconds = cpu_seconds = 0.0
    vw: Any = None
    for options in order["runs"]:
        if vw is not None:
            vw.finish()  # writes the start of the next
        cpu, start = time.process_time(), time.perf_counter()
        vw = pylibvw.vw([*options, "--no_stdin"])
        pylibvw.vw.run_parser(vw)
        seconds += time.perf_counter() - start
        cpu_seconds += time.process_time() - cpu
    peak = peak_bytes()
    v = [vw.get_weight(place, 0) for place in range(order.get("d", 0))]
    b = 0.0 if constant is None else vw.get_weight(constant, 0)
    weight = vw.get_weighted_examples()
    vw.finish()
    return {"v": v, "b": b, "weight": weight, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak}


def peak_bytes() -> int | None:
    """Largest resident memory so far; None where the system does not tell it of a process started by another."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    return next((int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line[:6] == "VmHWM:"), None)


if __name__ == "__main__":
    main(sys.argv[1])
