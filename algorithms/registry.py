"""The registry: a key, the method's name, its source, and where its class is. A new solver is one line here."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, cast

from pianobench.algorithms.contract import Solver
from pianobench.problems import Problem


@dataclass(frozen=True)
class Entry:
    """A registered solver.

    Attributes
    ----------
    key : str
        What configs and the command line call it.
    title : str
        Its name in the literature.
    citation : str
        Key of the bibliography.
    place : str
        ``module:class`` below `pianobench.algorithms`; imported only when asked for.
    """

    key: str
    title: str
    citation: str
    place: str

    @property
    def solver_class(self) -> type[Any]:
        """The solver's class."""
        module, _, name = self.place.partition(":")
        return cast("type[Any]", getattr(import_module(f"pianobench.algorithms.{module}"), name))

    @property
    def module(self) -> str:
        """Full name of the module that holds the solver."""
        return f"pianobench.algorithms.{self.place.partition(':')[0]}"

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes."""
        return cast("frozenset[str]", self.solver_class.penalties)

    @property
    def step_is(self) -> str:
        """One step in words."""
        return cast("str", self.solver_class.step_is)


SOLVERS: dict[str, Entry] = {
    entry.key: entry
    for entry in (
        Entry("piano", "PIANO", "JB20", "piano:Piano"),
        Entry("piano-centred", "PIANO, centred", "JB20", "piano_centred:PianoCentred"),
        Entry("piano-accelerated", "PIANO, accelerated", "WN11", "piano_accelerated:PianoAccelerated"),
        Entry("piano-working-set", "PIANO on a working set", "JB20", "piano_working_set:PianoWorkingSet"),
        Entry("irls", "IRLS", "JB20", "irls:Irls"),
        Entry("bohning", "Böhning's method", "Böh92", "bohning:Bohning"),
        Entry("lc", "LC", "GY13", "lc:Lc"),
        Entry("lc-centred", "LC, centred", "GY13", "lc:LcCentred"),
        Entry("lc-proximal", "LC, proximal", "GY13", "lc_proximal:LcProximal"),
        Entry("newton-cg", "Newton-CG", "NW06", "newton_cg:NewtonCg"),
        Entry(
            "newton-cg-preconditioned",
            "Newton-CG, preconditioned",
            "NW06",
            "newton_cg_preconditioned:NewtonCgPreconditioned",
        ),
        Entry("lbfgs-preconditioned", "L-BFGS, preconditioned", "NW06", "lbfgs_preconditioned:LbfgsPreconditioned"),
        Entry("lbfgs-row-space", "L-BFGS in the row space", "NW06", "lbfgs_row_space:LbfgsRowSpace"),
        Entry("auto", "Automatic choice", "NW06", "auto:Auto"),
        Entry("lbfgs", "L-BFGS", "NW06", "lbfgs:Lbfgs"),
        Entry("gd", "Gradient descent", "NW06", "gd:Gd"),
        Entry("fista", "FISTA with restart", "BT09", "fista:Fista"),
        Entry("owl-qn", "OWL-QN", "AG07", "owl_qn:OwlQn"),
        Entry("prox-newton", "Proximal Newton", "LSS14", "prox_newton:ProxNewton"),
        Entry("prox-newton-active", "Proximal Newton on a working set", "LSS14", "prox_newton_active:ProxNewtonActive"),
        Entry("admm-mlr", "ADMM for MLR", "GY13", "admm_mlr:AdmmMlr"),
        Entry("admm-l1", "ADMM for l1", "Boyd11", "admm_l1:AdmmL1"),
        Entry("smlr", "SMLR", "Kri05", "smlr:Smlr"),
        Entry("smlr-damped", "SMLR, damped", "Kri05", "smlr_damped:SmlrDamped"),
        Entry("smlr-coloured", "SMLR, coloured", "Kri05", "smlr_coloured:SmlrColoured"),
        Entry("flexa", "FLEXA", "FSS15", "flexa:Flexa"),
        Entry("inexact-gj", "Inexact Gauss-Jacobi", "FSS15", "inexact_gj:InexactGj"),
        Entry("gj-flexa", "GJ-FLEXA", "FSS15", "gj_flexa:GjFlexa"),
        Entry("adagrad", "AdaGrad", "DHS11", "adagrad:AdaGrad"),
        Entry("ogd", "Online gradient descent", "Zin03", "ogd:Ogd"),
        Entry("online-lbfgs", "Online pass, then L-BFGS", "ACDL14", "online_lbfgs:OnlineLbfgs"),
        Entry("l1-reweighted", "Reweighted l1", "CWB08", "l1_reweighted:L1Reweighted"),
    )
}


def make_solver(key: str, **parameters: Any) -> Solver:
    """The solver of that key with these hyper-parameters.

    Raises
    ------
    ValueError
        The key or a parameter is unknown; the message names the nearest and all that exist.
    """
    if key not in SOLVERS:
        near = difflib.get_close_matches(key, SOLVERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"solver {key!r} is unknown: {hint}the solvers are {', '.join(SOLVERS)}")
    cls = SOLVERS[key].solver_class
    known = [f.name for f in fields(cls)]
    for name in parameters:
        if name not in known:
            raise ValueError(f"solver {key!r} has no parameter {name!r}: it has {', '.join(known) or 'none'}")
    return cast("Solver", cls(**parameters))


def solver_refusal(solver: Solver, problem: Problem, most_bytes: int | None = None) -> str | None:
    """Why the solver cannot run on the problem, in one sentence, or None if it can.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    most_bytes : int, optional
        Memory that the solver may take besides the data.
    """
    name, kind = title_of(solver), problem.pen.kind
    if kind not in solver.penalties:
        return f"{name} takes {_listed(solver.penalties)}, not {kind}"
    missing = solver.needs - problem.has
    if missing:
        return f"{name} asks for {_listed(missing)}, which rows kept elsewhere do not offer"
    wanted = solver.memory(problem.n, problem.p, problem.m, problem.nnz, problem.dtype.itemsize)
    if most_bytes is not None and wanted > most_bytes:
        return f"{name} needs {wanted:,} bytes besides the data, more than the {most_bytes:,} there are"
    return None


def title_of(solver: Solver) -> str:
    """The method's name in the literature; the class's name if it is not registered. Of a wrapper, what it wraps."""
    solver = getattr(solver, "wrapped", solver)
    home, name = type(solver).__module__.rpartition(".")[2], type(solver).__name__
    return next((entry.title for entry in SOLVERS.values() if entry.place == f"{home}:{name}"), name)


def _listed(names: frozenset[str]) -> str:
    words = ["no penalty" if name == "none" else name for name in sorted(names)]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
