"""Rules of judging as data: what is asked of the tables, in fields that a reader can say aloud.

A rule is a list of asks, all of which must hold. An ask takes one quantity of one arm, or compares it with that of its
rivals, and holds it against a bound in each cell of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Statistic: TypeAlias = Literal["value", "ratio", "difference", "slope", "trend"]
Kind: TypeAlias = Literal["to a gap", "at the end", "probe"]


class RuleError(ValueError):
    """A rule that cannot be asked; the message names the field, its value and what is expected."""


@dataclass(frozen=True)
class Quantity:
    """Something measured.

    Parameters
    ----------
    meaning : str
        With its unit.
    kind : str
        "to a gap": of the first checkpoint at or below a gap; "at the end": of the run's row; "probe": of the table
        of probes, written by an experiment of its own.
    noisy : bool
        Whether it differs from run to run: a time, not a count. A noisy one is judged by repeats alone.
    """

    meaning: str
    kind: Kind
    noisy: bool = False


_RUNS = {
    "seconds": Quantity("seconds of set-up and steps until the gap", "to a gap", noisy=True),
    "seconds with compile": Quantity("the same and the warm-up", "to a gap", noisy=True),
    "gradient equivalents": Quantity("flops until the gap ÷ flops of one gradient", "to a gap"),
    "steps": Quantity("steps until the gap", "to a gap"),
    "rise": Quantity("largest rise of F between two checkpoints ÷ F at the start", "at the end"),
    "gap": Quantity("certified relative gap at the end", "at the end"),
    "residual": Quantity("residual of the optimality conditions at the end", "at the end"),
    "non-zero share": Quantity("non-zero weights ÷ weights at gap 1e-3 or below, or at a fixed point", "at the end"),
    "objective": Quantity("F at the end", "at the end"),
    "accuracy": Quantity("share of the training samples predicted rightly", "at the end"),
    "test accuracy": Quantity("share of the held-out samples predicted rightly", "at the end"),
    "seconds per step": Quantity("seconds of steps ÷ steps", "at the end", noisy=True),
    "gradient equivalents per step": Quantity("flops per step ÷ flops of one gradient", "at the end"),
    "peak bytes": Quantity("largest resident memory of the process", "at the end"),
    "steps taken": Quantity("steps until the run ended", "at the end"),
}


def quantities(probes: Mapping[str, tuple[str, bool]]) -> dict[str, Quantity]:
    """Quantities that asks can name: those of every run, and probes by name with their meaning and noise."""
    return _RUNS | {name: Quantity(meaning, "probe", noisy) for name, (meaning, noisy) in probes.items()}


@dataclass(frozen=True)
class Rival:
    """Another arm, as it was published and in the forms that are tried as its best.

    An arm is a solver's key, or ``key(name=value, ...)`` for certain parameters; a probe has words of its own.
    """

    published: str
    best: tuple[str, ...] = ()

    @property
    def arms(self) -> tuple[str, ...]:
        """All of its forms."""
        return (self.published, *self.best)


@dataclass(frozen=True)
class Ask:
    """One predicate on the tables.

    Parameters
    ----------
    of : str
        Name of a quantity.
    arm : str
        Whose.
    statistic : {"value", "ratio", "difference", "slope", "trend"}
        The value itself; the rival's ÷ this arm's; this arm's − the rival's; the exponent of a power law along an axis;
        Kendall's tau along an axis.
    above, below : float, optional
        The bound; both for an interval.
    reached : bool, optional
        In place of a bound, for quantities to a gap: whether the gap is reached at all.
    against : tuple of Rival
        For ratio and difference; each is a part of its own.
    gaps : tuple of float
        For quantities to a gap; each is a part of its own.
    along : str, optional
        Axis of slope and trend: n, d, m, dm, threads, or the axis of a probe.
    within : tuple of str
        Experiments whose rows count.
    penalties : tuple of str
        Kinds of penalty that count; all by default.
    problems : tuple of str
        Titles of the problems that count, as ``l1:0.1max:no-intercept``; all by default.
    share : float
        Of the cells that must agree; 1 means that a single cell against it contradicts.
    """

    of: str
    arm: str
    within: tuple[str, ...]
    statistic: Statistic = "value"
    above: float | None = None
    below: float | None = None
    reached: bool | None = None
    against: tuple[Rival, ...] = ()
    gaps: tuple[float, ...] = ()
    along: str | None = None
    penalties: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    share: float = 0.8

    def check(self, known: Mapping[str, Quantity]) -> None:
        """Refuse what cannot be asked.

        Raises
        ------
        RuleError
        """
        if self.of not in known:
            raise RuleError(f"of = {self.of!r}: there is no such quantity; there are {', '.join(known)}")
        to_gap, paired = known[self.of].kind == "to a gap", self.statistic in ("ratio", "difference")
        along, bounded = self.statistic in ("slope", "trend"), self.above is not None or self.below is not None
        bounds = (self.above, self.below)
        wrong = {
            "gaps": to_gap != bool(self.gaps),
            "against": paired != bool(self.against) or (None not in bounds and any(one.best for one in self.against)),
            "along": along != (self.along is not None),
            "reached": self.reached is not None and (not to_gap or bounded or self.statistic != "value"),
            "above, below": not bounded and self.reached is None,
            "statistic": self.statistic == "difference" and known[self.of].noisy,
            "share": not 0.5 < self.share <= 1,
            "within": not self.within,
        }
        if self.above is not None and self.below is not None and self.above >= self.below:
            wrong["above, below"] = True
        for name, is_wrong in wrong.items():
            if is_wrong:
                given = ", ".join(f"{one} = {getattr(self, one)}" for one in name.split(", "))
                raise RuleError(f"{given}: {_EXPECTED[name]}")

    def words(self, known: Mapping[str, Quantity]) -> str:
        """The ask as a sentence."""
        rivals = " or ".join(
            r.published + (f" (at its best: {', '.join(r.best)})" if r.best else "") for r in self.against
        )
        gaps = " and ".join(f"{gap:g}" for gap in self.gaps)
        what = self.of + (f" to gap {gaps}" if gaps else "")
        subject = {
            "value": f"the {what} of {self.arm}",
            "ratio": f"the ratio, {what} of {rivals} ÷ that of {self.arm},",
            "difference": f"the difference, {what} of {self.arm} − that of {rivals},",
            "slope": f"the exponent of the {what} of {self.arm} along {self.along}",
            "trend": f"Kendall's tau of the {what} of {self.arm} along {self.along}",
        }[self.statistic]
        if self.reached is not None:
            predicate = "exist: the gap is reached" if self.reached else "do not exist: the gap is never reached"
        elif self.above is not None and self.below is not None:
            predicate = f"is between {self.above:g} and {self.below:g}"
        else:
            predicate = f"is above {self.above:g}" if self.above is not None else f"is below {self.below:g}"
        cells = "every cell" if self.share == 1 else f"{100 * self.share:g} % of the cells"
        where = f", penalty {' or '.join(self.penalties)}" if self.penalties else ""
        where += f", problem {' or '.join(self.problems)}" if self.problems else ""
        noise = ", with its 95 % interval" if known[self.of].noisy or self.statistic in ("slope", "trend") else ""
        return f"{subject} {predicate}{noise}, in {cells} of {', '.join(self.within)}{where}"

    def about(self, experiment: str, penalty: str, problem: str) -> bool:
        """Whether it asks of this problem of this experiment."""
        chosen = ((self.penalties, penalty), (self.problems, problem))
        return experiment in self.within and all(not names or name in names for names, name in chosen)

    def hits(self, low: float, high: float) -> bool:
        """Whether all of an interval is on the claimed side."""
        if self.reached is not None:
            return math.isfinite(high) if self.reached else low == math.inf
        return (self.above is None or low > self.above) and (self.below is None or high < self.below)

    def misses(self, low: float, high: float) -> bool:
        """Whether none of it is."""
        if self.reached is not None:
            return low == math.inf if self.reached else math.isfinite(high)
        return (self.above is not None and high <= self.above) or (self.below is not None and low >= self.below)


_EXPECTED = {
    "gaps": "quantities to a gap need gaps, and no others have any",
    "against": "ratio and difference need rivals, and no others have any; in an interval no form is best",
    "along": "slope and trend need an axis, and no others have one",
    "reached": "it is for the value of a quantity to a gap, in place of above and below",
    "above, below": "a bound is needed, and an interval from the smaller to the larger",
    "statistic": "times are compared by their ratio",
    "share": "more than a half and at most 1",
    "within": "the experiments whose rows count are needed",
}
