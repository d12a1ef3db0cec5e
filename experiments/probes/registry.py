"""The registry of probes: a quantity, and the function that measures it. A new probe is one entry here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """A function of a `Setting` that yields `Number`s.

    Attributes
    ----------
    key : str
        What its cells are called.
    place : str
        ``module:function`` below `pianobench.experiments.probes`; imported only when it runs.
    quantities : tuple of str
        What it measures, as ``experiments.toml`` calls it.
    solvers : tuple of str
        Keys of the solvers that it runs: each is warmed up before the clock starts, and its source is in the key.
    threads : int
        That its process may use at least.
    cold : bool
        Whether it is not warmed up, because what a warm-up leaves in memory would be missing in what it measures.
    named : bool
        Whether it must know the name of the data, which is then in the key with the sources that make them: that of a
        generator says what is planted.
    peers : tuple of str
        Keys of other libraries' methods that it runs; their sources and versions are in the key.
    """

    key: str
    place: str
    quantities: tuple[str, ...]
    solvers: tuple[str, ...] = ()
    threads: int = 1
    cold: bool = False
    named: bool = False
    peers: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Full name of the module that holds the function."""
        return f"pianobench.experiments.probes.{self.place.partition(':')[0]}"


_WABBIT = ("vw-bfgs-best", "vw-online-bfgs-best")

_ALL = (
    Probe(
        "surrogate",
        "surrogate:surrogate",
        ("objective above surrogate", "surrogate off at iterate"),
        ("piano",),
    ),
    Probe(
        "l0-points",
        "l0_points:l0_points",
        ("fixed-point residual",),
        ("piano", "lbfgs", "prox-newton"),
    ),
    Probe("invariance", "invariance:invariance", ("largest change of W",), ("piano",), threads=2),
    Probe("threads", "speed_up:speed_up", ("speed-up at two threads",), ("piano", "lc"), threads=2),
    Probe(
        "step-cost",
        "step_cost:step_cost",
        ("seconds of a step over the plain one", "flops of a step over the plain one"),
        ("piano",),
    ),
    Probe(
        "support",
        "support:support",
        ("F1 of the support",),
        ("prox-newton-active", "piano", "irls", "lbfgs", "prox-newton", "l1-reweighted"),
        named=True,
    ),
    Probe(
        "prediction", "prediction:prediction", ("seconds to predict", "bytes of the weights"), ("prox-newton-active",)
    ),
    Probe("memory", "memory:memory", ("bytes above a small problem",), ("irls",), cold=True),
    Probe("inner", "inner:inner", ("share of inner flops",), ("lc",)),
    Probe("two-classes", "two_classes:two_classes", ("difference from logistic regression",), ("newton-cg",)),
    Probe(
        "iterative-scaling",
        "iterative_scaling:iterative_scaling",
        ("difference from iterative scaling",),
        ("piano",),
    ),
    Probe(
        "over-fitting",
        "over_fitting:over_fitting",
        ("accuracy lost on held-out samples", "held-out accuracy"),
        ("prox-newton-active",),
    ),
    Probe("rates", "rates:rates", ("rate over the surrogate's",), ("irls", "piano", "bohning")),
    Probe("grouping", "grouping:grouping", ("difference of grouped from expanded",), named=True),
    Probe("online", "online:held_out", ("held-out log loss",), ("lbfgs", "ogd", "adagrad"), named=True),
    Probe("regret", "online:regret", ("regret",), ("lbfgs", "ogd", "adagrad")),
    Probe("fit", "error_function:fit", ("I as written",), ("lbfgs",), named=True),
    Probe("cost", "error_function:cost", ("seconds of I",), ("lbfgs",)),
    # The processes that these start warm up for themselves.
    Probe(
        "table-1",
        "table_1:times",
        ("seconds to equal objective", "peak memory of training"),
        ("lbfgs", "lbfgs-preconditioned"),
        cold=True,
        named=True,
        peers=_WABBIT,
    ),
    Probe(
        "table-1-areas",
        "table_1:areas",
        ("area under the curve",),
        ("lbfgs", "lbfgs-preconditioned"),
        cold=True,
        named=True,
        peers=_WABBIT,
    ),
    Probe(
        "table-2",
        "table_2:times",
        (
            "seconds of an update",
            "processor seconds of an update",
            "seconds of an accurate update",
            "speed-up over its two factors",
        ),
        ("lbfgs", "lbfgs-preconditioned"),
        cold=True,
        named=True,
        peers=_WABBIT,
    ),
    Probe(
        "table-2-areas",
        "table_2:areas",
        ("area after an update",),
        ("lbfgs", "lbfgs-preconditioned", "owl-qn"),
        cold=True,
        named=True,
        peers=_WABBIT,
    ),
    Probe("drift", "turning:drift", ("speed-up over full retraining",), ("lbfgs", "adagrad"), named=True),
    Probe(
        "updates",
        "turning:updates",
        ("share of batches with an update", "log loss on old rows"),
        ("lbfgs", "adagrad"),
        named=True,
    ),
    Probe(
        "draws",
        "turning:spread",
        ("spread over draws, with the batch over without",),
        ("lbfgs", "adagrad"),
        named=True,
    ),
)

PROBES: dict[str, Probe] = {quantity: probe for probe in _ALL for quantity in probe.quantities}
"""By what they measure."""
