"""Passes over several chunks of rows: every kind against its formula, the same bits for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax

from pianobench.problems import Problem
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels import admm, fields, second_order
from pianobench.problems.kernels import softmax as on_softmax
from pianobench.problems.kernels.compiled import passes, threads

N, D, M = 1000, 7, 11  # M beyond a tile of classes, N beyond two chunks of any kind and no multiple of a block


def draw(form: str) -> tuple[Part, np.ndarray]:
    """Rows, and the matrix (n, p) that their kernels should see."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    given = sp.csr_array(X) if form.startswith("csr") else X
    conditioning = "centre+scale" if form == "conditioned" else "none"
    weights = rng.choice([0.0, 0.5, 2.0], N)
    problem = Problem(given, rng.integers(0, M, N), sample_weight=weights, conditioning=conditioning, classes=range(M))
    part: Part = problem.home.parts[0]  # type: ignore[attr-defined]
    V = part.design.values(np.dtype(np.float64))
    return part, np.hstack([V.toarray() if sp.issparse(V) else V, np.ones((N, 1))])


def ask(part: Part) -> dict[str, Any]:
    """What every kernel gives."""
    rng = np.random.default_rng(1)
    W, V = rng.normal(size=(2, D + 1, M))
    XW, XV, P, Z, U, T = np.full((6, N, M), np.nan)
    lse, wide = np.full((N, 1), np.nan), np.full((N, 2), np.nan)
    fields.scores(part, W, XW)
    fields.scores(part, V, XV)
    fields.scores(part, W[:, :2].copy(), wide)
    second_order.probabilities(part, W, P)
    on_softmax.log_sum_exp(part, W, lse)
    Z[:], U[:] = 0.0, 0.25
    return {
        "W": W, "V": V, "XW": XW, "wide": wide, "P": P, "lse": lse, "adjoint": fields.adjoint(part, P),
        "narrow": fields.adjoint(part, wide), "sums": on_softmax.class_sums(part, W),
        "line": second_order.along_line(part, 0.5, XW, XV), "on line": second_order.gradient_on_line(part, 0.5, XW, XV),
        "hessian": second_order.hessian_product(part, V, P), "at": on_softmax.moments_at(part, V, 0.0, lse),
        "diagonal": second_order.hessian_diagonal(part, P), "dense": second_order.hessian_dense(part, P),
        "gram": fields.gram(part, lse), "reach": fields.reach(part, W > 0),
        "split": admm.split_step(part, W, 2.0, 0.5, 1e-9, 20, Z, U, T), "Z": Z, "U": U, "T": T,
    }  # fmt: skip


@pytest.mark.parametrize("form", ["dense", "conditioned", "csr", "csr by columns"])
def test_every_kind(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part, X = draw(form)
    if form == "csr by columns":
        monkeypatch.setattr(passes, "CACHED", -1)
    monkeypatch.setattr(passes, "ALONE", 0)
    with threads.limit(1):
        seen = ask(part)
    with threads.limit(3):
        again = ask(part)
    for name, value in seen.items():
        for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (value, again[name])), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
    W, V, a, Y = seen["W"], seen["V"], part.weights[:, None], part.one_hot(np.dtype(np.float64))
    P, U, S = softmax(X @ W, axis=1), X @ V, X @ (W + 0.5 * V)
    loss = float((part.weights * (logsumexp(S, axis=1) - (S * Y).sum(axis=1))).sum())
    R, E = a * (softmax(S, axis=1) - Y), np.exp(U - seen["lse"])
    Z, u, v = seen["Z"], seen["U"], X @ W + 0.125
    expected = {
        "XW": X @ W,
        "wide": (X @ W)[:, :2],
        "P": P,
        "lse": logsumexp(X @ W, axis=1)[:, None],
        "adjoint": (X.T @ P,),
        "narrow": (X.T @ (X @ W)[:, :2],),
        "sums": (X.T @ (a * Y),),
        "line": (loss, float(np.sum(R * U))),
        "on line": (loss, X.T @ R),
        "hessian": (X.T @ (a * P * (U - (P * U).sum(axis=1, keepdims=True))),),
        "diagonal": ((X * X).T @ (a * P * (1 - P)),),
        "dense": (
            np.block([[X.T @ (a * P[:, [i]] * ((i == k) - P[:, [k]]) * X) for k in range(M)] for i in range(M)]),
        ),
        "gram": (X.T @ (seen["lse"] * X),),
        "reach": ((np.abs(X[part.weights > 0]) @ (W > 0)).max(axis=0),),
        "at": (
            float(np.sum(a * (E.sum(axis=1, keepdims=True) - 1 + seen["lse"] - (U * Y).sum(axis=1, keepdims=True)))),
            np.maximum(X, 0).T @ (a * E),
            np.maximum(-X, 0).T @ (a * E),
        ),
        "U": v - Z,
        "T": Z - u,
        "split": [float(np.sum(A * A)) for A in (X @ W - Z, Z, Z, u)],
    }
    for name, formula in expected.items():
        found = seen[name] if isinstance(seen[name], tuple) else (seen[name],)
        for one, other in zip(found, formula if isinstance(formula, tuple | list) else (formula,), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11, err_msg=name)
    assert on_softmax.moments_at(part, V, 0.0, seen["lse"] - 1e4)[0] == np.inf
    gradient = a * (softmax(Z, axis=1) - Y) + 2.0 * (Z - v)
    assert np.abs(gradient).max() <= 2e-9 * (1 + 1e-3)


def test_what_compiled_code_would_read_beyond() -> None:
    part, _ = draw("dense")
    W, P = np.zeros((D + 1, M)), np.zeros((N, M))
    with pytest.raises(ValueError, match=f"W has {D} rows: one a column is expected, {D + 1}"):
        second_order.hessian_product(part, W[1:], P)
    with pytest.raises(ValueError, match=f"W has {M - 1} columns: one a class is expected, {M}"):
        on_softmax.loss(part, W[:, 1:])
    for call in (
        lambda: second_order.hessian_product(part, W, P[1:]),
        lambda: second_order.along_line(part, 1.0, P, P[1:]),
        lambda: on_softmax.log_sum_exp(part, W, P[:, :2]),
        lambda: fields.scores(part, W, P[:, 1:]),
        lambda: fields.adjoint(part, P[1:]),
        lambda: admm.split_step(part, W, 1.0, 1.0, 1e-9, 20, P[1:], P, P),
    ):
        with pytest.raises(ValueError, match="a field has shape"):
            call()
