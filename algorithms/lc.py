"""LC, the log-concavity bound for multinomial logistic regression [GY13, section 4].

Minimises F(W) = l(W) + l2/2 |W|^2 (l2 may be 0): monotone, linear rate. The bound

(1) log z <= u z - log u - 1 for every u > 0, with equality at u = 1/z

on the softmax's denominator makes the classes separate. One step alternates

(2) u_j = 1 / sum_i exp(w_i . x_j)
(3) w_i = argmin_w sum_j a_j [u_j exp(w . x_j) - y_ji w . x_j] + l2/2 |w|^2      each class by its own L-BFGS

Here the classes take their L-BFGS steps together, each with its own direction, step length and curvature pairs. As in
(3) u_j exp(w_i . x_j) = exp(M_ji), M = X W - lse stays with the rows, and a trial of a step length does not read X.

Centred: LC drifts along the shifts of all classes that leave l alone, and comes back at a rate set by l2; after each
step the shift that makes the penalty least puts it back at once. F falls in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import centred
from pianobench.algorithms.contract import State, check_squares
from pianobench.problems import Problem
from pianobench.problems.kernels import classwise
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field


@dataclass
class LcState(State):
    """LC's state."""

    inner: int = 0  # L-BFGS steps so far


@dataclass(frozen=True)
class Lc:
    """LC.

    Parameters
    ----------
    inner_steps : int
        L-BFGS steps on (3) at most. Without a penalty (3) may have no minimiser: its steps must have an end.
    inner_accuracy : float
        A class has done its part of (3) once its gradient is so much smaller than at the start of (3).
    memory_pairs : int
        Curvature pairs kept by L-BFGS, which begins anew with each (3).
    sufficient : float
        Share of the decrease promised by the slope that an L-BFGS step must bring, or be halved.
    """

    inner_steps: int = 20
    inner_accuracy: float = 0.1
    memory_pairs: int = 10
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"fields"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of u and of all classes by L-BFGS"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (3 * n * m + (2 * self.memory_pairs + 8) * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LcState:
        return LcState(W0.copy())

    def step(self, problem: Problem, state: LcState) -> LcState:
        classes = Classes(problem, state.W, self.sufficient)  # (2)
        lbfgs, inner, first = _Lbfgs(self.memory_pairs), 0, dots(classes.G, classes.G)
        check_squares(first, classes.G.dtype)
        length = np.where(first > 0.0, np.sqrt(first), 1.0).astype(classes.G.dtype)
        while inner < self.inner_steps:  # (3)
            done = dots(classes.G, classes.G) <= self.inner_accuracy**2 * first
            if done.all():
                break
            D = np.where(done, 0, lbfgs.direction(classes.G) if inner else -classes.G / length)  # (X D)^2 is a number
            S, G_old = classes.move(D, newton=inner == 0), classes.G
            classes.gradient()
            lbfgs.learn(S, classes.G - G_old)
            inner += 1
        return LcState(classes.W, state.rejected, state.inner + inner)


@dataclass(frozen=True)
class LcCentred:
    """LC, centred.

    Parameters
    ----------
    inner_steps, inner_accuracy, memory_pairs, sufficient
        LC's.
    """

    inner_steps: int = 20
    inner_accuracy: float = 0.1
    memory_pairs: int = 10
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"l2"})
    needs: ClassVar[frozenset[str]] = Lc.needs
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of u and of all classes by L-BFGS, and one shift a row"

    @property
    def lc(self) -> Lc:
        """The method that is centred."""
        return Lc(self.inner_steps, self.inner_accuracy, self.memory_pairs, self.sufficient)

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return self.lc.memory(n, p, m, nnz, itemsize)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LcState:
        return self.lc.init(problem, W0, rng)

    def step(self, problem: Problem, state: LcState) -> LcState:
        state = self.lc.step(problem, state)
        return LcState(centred(state.W, problem.pen, problem.active), state.rejected, state.inner)


class Classes:
    """The m problems (3) at one u, with l1 where it acts: where they stand, and a step in each.

    Attributes
    ----------
    W, G : arrays (p, m)
        Their points, and gradients without l1.
    """

    def __init__(self, problem: Problem, W: Array, sufficient: float) -> None:
        self._problem, self.W, self._sufficient = problem, W, sufficient
        self._M, self._XD, self._R = (problem.field(problem.m, dtype=W.dtype) for _ in range(3))
        problem.map_rows(classwise.log_probabilities, self._M, W=W)
        self._mass, _, _ = self._along(np.zeros(problem.m))
        self.gradient()

    def gradient(self) -> None:
        """G at W, R being there."""
        problem = self._problem
        G = problem.xt(self._R) - problem.class_sums + (problem.pen.l2 * self.W).astype(self.W.dtype)
        self.G = problem.only_active(G)

    @np.errstate(all="ignore")  # a trial that overflows is too far
    def move(self, D: Array, newton: bool) -> Array:
        """S (p, m) by which W has moved along D, each class by the first length that lowers its value sufficiently.

        Parameters
        ----------
        D : array (p, m)
        newton : bool
            Whether to try first the length that Newton's method takes along the line, in place of 1.
        """
        problem, l2 = self._problem, self._problem.pen.l2
        problem.xw(D, self._XD)
        slope = dots(self.G, D)
        promised = slope + self._l1_change(1.0, D)
        descends = promised < 0.0
        fixed = dots(problem.class_sums, D) - dots(l2 * self.W, D)  # value(t) = mass(t) - fixed t + square/2 t^2
        square = dots(l2 * D, D)
        t = np.where(descends, 1.0, 0.0)
        if newton:
            _, _, bend = self._along(np.zeros_like(t))
            t = np.where(descends & (bend + square > 0.0), -slope / (bend + square), t)
        noise = 4.0 * float(np.finfo(D.dtype).eps) * self._mass
        for _ in range(40):
            mass, rise, _ = self._along(t)
            l1_change = self._l1_change(t, D)
            change = mass - self._mass - fixed * t + 0.5 * square * t * t + l1_change
            # in the noise of the values the slopes decide, see `armijo`
            estimate = 0.5 * t * (slope + rise - fixed + square * t) + l1_change
            enough = np.where(np.abs(change) <= noise, estimate, change) <= self._sufficient * t * promised
            too_far = descends & ~enough
            if not too_far.any():
                break
            t[too_far] *= 0.5
        else:
            t[too_far] = 0.0
            mass, _, _ = self._along(t)
        problem.map_rows(classwise.advance, self._M, self._XD, parameters=(t,))
        S = t.astype(D.dtype) * D
        self.W, self._mass = self.W + S, mass
        return S

    def _l1_change(self, t: Array | float, D: Array) -> Array:
        """(m,) changes of l1's term from W to W + t D."""
        l1 = self._problem.pen.l1
        if not np.any(l1):
            return np.zeros(D.shape[1])
        return np.asarray(np.sum(l1 * (np.abs(self.W + t * D) - np.abs(self.W)), axis=0, dtype=np.float64))

    def _along(self, t: Array) -> tuple[Array, Array, Array]:
        fields: tuple[Field, ...] = self._M, self._XD, self._R
        mass, rise, bend = self._problem.map_rows(classwise.along, *fields, parameters=(t,))
        return mass, rise, bend


class _Lbfgs:
    """L-BFGS for m problems at once [NW06, algorithm 7.4]: all inner products are taken class by class."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pairs: list[tuple[Array, Array, Array]] = []  # s, y (p, m) and rho (m,), 0 where a class has no pair
        self._gamma: Array | float = 1.0  # (m,)

    def direction(self, G: Array) -> Array:
        """``-H G`` (p, m)."""
        q, kept = G, []
        for s, y, rho in self._pairs[::-1]:
            alpha = rho * dots(s, q)
            q = q - alpha.astype(G.dtype) * y
            kept.append(alpha)
        q = np.asarray(self._gamma, G.dtype) * q
        for (s, y, rho), alpha in zip(self._pairs, kept[::-1], strict=True):
            q = q + (alpha - rho * dots(y, q)).astype(G.dtype) * s
        return -q

    def learn(self, s: Array, y: Array) -> None:
        """Take in a pair s, y (p, m), in the classes in which it is curved."""
        sy, ss, yy = dots(s, y), dots(s, s), dots(y, y)
        curved = (yy > 0.0) & (sy > 1e-10 * np.sqrt(ss * yy))  # where F falls to zero, |y|^2 does before s.y
        safe = np.where(curved, sy, 1.0)
        self._pairs = [*self._pairs, (s, y, np.where(curved, 1.0 / safe, 0.0))][-self._most :]
        self._gamma = np.where(curved, sy / np.where(curved, yy, 1.0), self._gamma)


def dots(U: Array, V: Array) -> Array:
    """(m,) inner products of the columns, in float64."""
    return np.asarray(np.einsum("lm,lm->m", U, V, dtype=np.float64))
