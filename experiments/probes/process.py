"""The process of one cell of a probe: set up, warm up, measure. Started by `isolate` as ``python -m``.

Numbers are written as they come, so that a process that is ended leaves those that it had. What a probe does within its
allowed seconds is on the clock: then it is ended, and the row says how far it had come.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import asdict
from importlib import import_module
from itertools import islice
from typing import Any

from pianobench.experiments import measure
from pianobench.experiments.probes.registry import PROBES, Probe


def run(spec: dict[str, Any], report: measure.Report) -> None:
    """Run the probe of a cell and write its numbers."""
    from pianobench.experiments.probes.setting import OutOfTime, Setting, Unmeasured

    probe = next(one for one in PROBES.values() if one.key == spec["solver"])
    problem, X, y = measure.set_up(spec, report)
    report.enter("importing the probe")
    function = getattr(import_module(probe.module), probe.place.partition(":")[2])
    report.enter("warming up")
    began = time.perf_counter()
    _warm(probe, problem)
    report.facts["warmup_seconds"] = time.perf_counter() - began

    report.enter("measuring")
    choice, numbers = spec["problem"], list[dict[str, Any]]()
    before = measure.usage()
    with _Alarm(spec["max_seconds"], report, numbers) as alarm:
        setting = Setting(
            problem, X, y, report.facts["lam"], choice["lam_factor"],
            spec["params"].get("dataset", ""), spec["seed_words"][0], spec["max_seconds"],
        )  # fmt: skip
        ended = "measured", ""
        try:
            for number in function(setting):
                if number.quantity not in probe.quantities:
                    raise ValueError(f"{probe.key} has yielded {number.quantity!r}: it measures {probe.quantities}")
                numbers.append(asdict(number))
                report.attempt.write("numbers", {"numbers": numbers})
        except Unmeasured as reason:
            ended = ("timeout" if isinstance(reason, OutOfTime) else "breakdown"), f"{reason}, after "
        alarm.off()
    used = measure.difference(before, measure.usage())
    report.facts.update(used, seconds=used["wall_seconds"], **measure.observed_threads())
    report.end(ended[0], f"{ended[1]}{_count(numbers)}")


def _count(numbers: list[dict[str, Any]]) -> str:
    return f"{len(numbers)} number{'' if len(numbers) == 1 else 's'}"


def _warm(probe: Probe, problem: Any) -> None:
    """First calls of its solvers, which may compile, on a few rows under a penalty that each takes.

    With certificates where they are quick.
    """
    from pianobench.algorithms.loop import iterate
    from pianobench.experiments import watched
    from pianobench.problems import L0, L1, L2

    others = {"none": None, "l2": L2(1.0), "l1": L1(1.0), "l0": L0(1.0)}
    for key in () if probe.cold else probe.solvers:
        solver = watched.make(key, None, {})
        here = problem.tiny()
        if problem.pen.kind not in solver.penalties:
            here = here.with_penalty(others[next(kind for kind in others if kind in solver.penalties)])
        if here.pen.kind in ("none", "l0"):
            list(islice(iterate(solver, here), 1 + watched.WARMUP_STEPS))
        else:
            watched.warm(solver, here, 1)


class _Alarm:
    """Ends the process when its time is over; turned off, it never does."""

    def __init__(self, seconds: float, report: measure.Report, numbers: list[dict[str, Any]]) -> None:
        self._seconds, self._report, self._numbers = seconds, report, numbers
        self._lock, self._is_off = threading.Lock(), False
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True

    def __enter__(self) -> _Alarm:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.off()

    def off(self) -> None:
        """Turn it off; an alarm that rings already is waited for, and does not return."""
        with self._lock:
            self._is_off = True
        self._timer.cancel()

    def _ring(self) -> None:
        with self._lock:
            if self._is_off:
                return
            self._report.facts["seconds"] = self._seconds
            self._report.end(
                "timeout", f"the {self._seconds:g} seconds allowed are over, after {_count(self._numbers)}"
            )
            self._report.write()
            os._exit(0)


if __name__ == "__main__":
    measure.main(sys.argv[1], run)
