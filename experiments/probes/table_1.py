"""Table 1 of the second paper on one click log: what each method took, and how what it ends with ranks.

The measuring is that of `pianobench.experiments.clicks.table`, a process for each method; its lines become numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pianobench.datasets.kdd12.kinds import KINDS
from pianobench.experiments.clicks.table import Plan, run
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured

ARMS = {
    "mean rate per ad": "mean-rate",
    "lbfgs": "lbfgs",
    "vw-bfgs-best": "vowpal-wabbit",
    "vw-online-bfgs-best": "vowpal-wabbit-online-first",
}
NEAR = 1e-3  # relative gap at which objectives are equal
SOLVED = 1e-5  # and at which areas are those of the model: at 1e-4 they still differ by 0.003 on 30,000 rows
PASSES = {NEAR: 100, SOLVED: 400}  # of Vowpal Wabbit at most: it always makes all of them


def times(setting: Setting) -> Iterator[Number]:
    """`seconds to equal objective` and `peak memory of training`, one thread each."""
    rest: list[str] = []
    for arm, line in _lines(setting, NEAR, ("lbfgs", "vw-bfgs-best", "vw-online-bfgs-best"), rest):
        if arm != "mean-rate":
            yield Number("seconds to equal objective", arm, line["seconds"])
            yield Number("peak memory of training", arm, line["peak_bytes"])
    tell(rest)


def areas(setting: Setting) -> Iterator[Number]:
    """`area under the curve` of solved models, and of the mean rate of each advertisement."""
    rest: list[str] = []
    for arm, line in _lines(setting, SOLVED, ("lbfgs", "vw-bfgs-best"), rest):
        yield Number("area under the curve", arm, line["area"])
    tell(rest)


def _lines(
    setting: Setting, gap: float, methods: tuple[str, ...], rest: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Arm and line of what arrived; what did not goes to `rest`, with its reason."""
    lam = strength(setting)
    plan = Plan(
        lam,
        repeats=1,
        vw_repeats=1,
        vw_passes=PASSES[gap],
        vw_threads=(1,),
        methods=methods,
        targets=(gap,),
        threads=(1,),
    )
    for line in run(setting.dataset, plan):
        arm = ARMS[line["method"]]
        reason = None if arm == "mean-rate" else trouble(line)
        if reason is None:
            yield arm, line
        else:
            rest.append(f"{arm}: {reason}")


def strength(setting: Setting) -> float:
    """lam of a click log.

    Raises
    ------
    Unmeasured
    """
    if setting.dataset.partition(":")[0] not in KINDS or setting.lam is None:
        raise Unmeasured(f"{setting.dataset} under {setting.problem.pen.kind}: a click log under l2 is expected")
    return setting.lam


def trouble(line: Mapping[str, Any]) -> str | None:
    """Why a line of Table 1 or Table 2 has no numbers; None where it has."""
    remark = line.get("remark")
    if isinstance(remark, str) and remark:
        return remark
    steps = line.get("step", line.get("steps"))
    return None if line["arrived"] else f"at a gap of {line['gap']:.2g} after {steps} steps, which are all that it has"


def tell(rest: list[str]) -> None:
    """Say which arms have no numbers.

    Raises
    ------
    Unmeasured
    """
    if rest:
        raise Unmeasured("; ".join(rest))
