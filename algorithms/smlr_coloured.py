"""Coloured SMLR: elements that share no sample at once, on Böhning's bound [Kri05, Böh92].

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. Ours, to try the claim of [JB20] that SMLR
cannot be parallelised. The features are coloured greedily, in their order: two of one colour are never non-zero in one
row. A stage is a colour and a class; its elements take SMLR's step,

(1) w_li <- soft(w_li - G_li / B_l, l1 / B_l)     B_l = (1 - 1/m)/2 sum_j a_j x_jl^2

all at once. G_li depends on the rows of feature l only, and the other elements of its stage leave those rows alone. So
at once or one after another is the same, bit for bit, and a step is SMLR's sweep in the order of the stages: monotone,
convergent, at the same rate. Colours times classes follow one another, in place of features times classes. There are at
least as many colours as a row has non-zeros: where all rows are full nothing is gained.

Here the elements of a stage are still executed one after another, and so counted in the meter's depth; what the method
tells is the number of stages that would have to follow one another, `SmlrColouredState.stages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import State
from pianobench.algorithms.smlr import elements, sweep_memory
from pianobench.problems import Problem
from pianobench.problems.kernels.coordinate import Rule
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class SmlrColouredState(State):
    """State of coloured SMLR."""

    order: NDArray[np.intp]  # (p m,) numbers l m + i: by colour, then class, then feature
    stages: int  # colours times classes


@dataclass(frozen=True)
class SmlrColoured:
    """Coloured SMLR."""

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one sweep over all stages, the elements of one at once"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return sweep_memory(n, p, m, nnz, itemsize) + n * (p // 8 + 40) + 20 * nnz + 8 * p * m  # rows' colours as bits

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> SmlrColouredState:
        colour, m, every = problem.colours(), problem.m, elements(problem)
        feature, klass = np.divmod(every, m)
        order = every[np.lexsort((feature, klass, colour[feature]))]
        return SmlrColouredState(W=W0.copy(), order=order, stages=m * (int(colour.max()) + 1))

    def step(self, problem: Problem, state: SmlrColouredState) -> SmlrColouredState:
        W, _ = problem.sweep(Rule(), state.W, problem.scores(state.W), state.order)  # (1)
        return SmlrColouredState(W=W, rejected=state.rejected, order=state.order, stages=state.stages)
