"""What a caller may hand in as X and weights: the same objective from every form, nothing written, clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pianobench.problems import L2, Problem

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(20, 4)) * 4) * (RNG.random((20, 4)) < 0.6)  # whole numbers and zeros: any type holds them
Y = np.arange(20) % 3
W = RNG.normal(size=(5, 3))


def read_only(V: np.ndarray) -> np.ndarray:
    V = V.copy()
    V.flags.writeable = False
    return V


def memory_map(V: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "X.npy", V)
    return np.load(folder / "X.npy", mmap_mode="r")


def untidy(V: np.ndarray) -> sp.csr_array:
    """Unsorted, with duplicates and explicit zeros."""
    rows, columns = np.nonzero(V)
    data = V[rows, columns]
    order = np.random.default_rng(1).permutation(2 * data.size)
    twice = [np.concatenate([v, v])[order] for v in (data / 2, rows, columns)]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(twice[1], minlength=V.shape[0]))])
    by_row = np.argsort(twice[1], kind="stable")
    return sp.csr_array((twice[0][by_row], twice[2][by_row], indptr), shape=V.shape)


def wide_indices(V: np.ndarray) -> sp.csr_array:
    made = sp.csr_array(V)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def explicit_zeros(V: np.ndarray) -> sp.csr_array:
    full = sp.csr_array(np.ones_like(V))
    full.data[:] = V.ravel()
    return full


def frozen(V: np.ndarray) -> sp.csr_array:
    made = sp.csr_array(V)
    for array in (made.data, made.indices, made.indptr):
        array.flags.writeable = False
    return made


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "float32": lambda V: V.astype(np.float32),
    "float16": lambda V: V.astype(np.float16),
    "long double": lambda V: V.astype(np.longdouble),
    "big-endian": lambda V: V.astype(">f8"),
    "int8": lambda V: V.astype(np.int8),
    "objects": lambda V: V.astype(object),
    "lists": lambda V: V.tolist(),
    "read-only": read_only,
    "Fortran": np.asfortranarray,
    "every second row and column": lambda V: np.repeat(np.repeat(V, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda V: V[::-1].copy()[::-1],
    "frame": pd.DataFrame,
    "frame of mixed types": lambda V: pd.DataFrame(V).astype({0: np.int32, 1: np.float32, 2: "Int64"}),
    "matrix": lambda V: sp.csr_array(V).todense(),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csr of int": lambda V: sp.csr_array(V.astype(np.int32)),
    "csr float32": lambda V: sp.csr_array(V.astype(np.float32)),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "lil": sp.lil_array,
    "csr read-only": frozen,
    "csr untidy": untidy,
    "csr with int64 indices": wide_indices,
    "csr with explicit zeros": explicit_zeros,
}


def bits(form: Any) -> list[bytes]:
    if sp.issparse(form):
        names = ("data", "indices", "indptr", "row", "col")
        return [getattr(form, name).tobytes() for name in names if hasattr(form, name)]
    return [pd.DataFrame(form).to_numpy(np.float64).tobytes()]


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_objective(name: str) -> None:
    form = FORMS[name](X)
    before = bits(form) if name != "lil" else None
    problem, expected = Problem(form, Y, penalty=L2(1.0)), Problem(X, Y, penalty=L2(1.0))
    assert problem.dtype == (np.float32 if "float32" in name else np.float64)
    assert problem.layout == ("csr" if sp.issparse(form) else "dense")
    f, G = problem.smooth(W)
    f0, G0 = expected.smooth(W)
    assert f == pytest.approx(f0, rel=1e-14)
    np.testing.assert_allclose(G, G0, atol=1e-12)
    np.testing.assert_allclose(problem.gram(), expected.gram(), atol=1e-11)
    assert problem.reach[0, 0] == expected.reach[0, 0]
    assert before is None or bits(form) == before


def test_a_memory_map_and_booleans(tmp_path: Path) -> None:
    mapped = memory_map(X, tmp_path)
    assert Problem(mapped, Y).value(W) == Problem(X, Y).value(W)
    assert Problem(X > 0, Y).value(W) == Problem((X > 0).astype(float), Y).value(W)
    assert Problem(X, Y).home.parts[0].design.X is X  # type: ignore[attr-defined]  # not copied


def test_float32_stays_float32_all_the_way() -> None:
    for form in (X.astype(np.float32), sp.csr_array(X.astype(np.float32))):
        for conditioning in ("none", "scale"):
            problem = Problem(form, Y, penalty=L2(1.0), conditioning=conditioning, sample_weight=np.arange(20.0))
            W32 = W.astype(np.float32)
            line, curvature = problem.line(W32, W32), problem.curvature(W32)
            results = [
                problem.smooth(W32)[1],
                problem.moments_map(W32, lambda *given: given[1] * given[4] - given[2])[0],
                problem.prox(W32, 0.1),
                line.take(0.5),
                line.smooth(0.5)[1],
                curvature @ W32,
                curvature.diag(),
                problem.class_sums,
                problem.zeros(),
                problem.from_user(W[:4].T),
                *problem.scores(W32).export(),
            ]
            assert {result.dtype for result in results} == {np.dtype(np.float32)}


HOLES = [(0, 0), (7, 2), (19, 3)]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_place_of_what_is_not_finite(layout: Any, hole: tuple[int, int], value: float) -> None:
    V = X.copy()
    V[hole] = value
    with pytest.raises(ValueError, match=f"X holds {value} at row {hole[0]}, column {hole[1]}: fill missing") as caught:
        Problem(layout(V), Y)
    assert "np.float" not in str(caught.value)


def too_large_in_sum() -> sp.csr_array:
    return sp.csr_array(([1e308, 1e308, 1.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one dimension": ({"X": X[:, 0]}, r"shape \(20,\): a matrix \(n, d\) .* X.reshape\(-1, 1\)"),
    "no row": ({"X": X[:0], "y": []}, r"shape \(0, 4\): at least one row"),
    "no column": ({"X": X[:, :0]}, r"shape \(20, 0\): at least one"),
    "no column, sparse": ({"X": sp.csr_array((20, 0))}, r"shape \(20, 0\): at least one"),
    "sparse of one dimension": ({"X": sp.coo_array(X[:, 0])}, r"shape \(20,\): a matrix"),
    "complex": ({"X": X + 1j}, r"dtype complex128: real numbers .* one-hot"),
    "complex, sparse": ({"X": sp.csr_array(X + 1j)}, r"dtype complex128"),
    "strings": ({"X": X.astype(str)}, r"X has dtype <U32: real numbers .* encode"),
    "a word": ({"X": np.array([["a", 1], [2, 3]], object), "y": [0, 1]}, r"not a number \(.*'a'.*\): encode"),
    "huge integer": ({"X": np.array([[10**400], [1]], object), "y": [0, 1]}, r"not a number \(.*too large"),
    "beyond float64": ({"X": np.full((2, 1), np.longdouble("1e4000")), "y": [0, 1]}, r"X holds inf at row 0, column 0"),
    "missing in a frame": ({"X": pd.DataFrame({"a": [1.0, None]}), "y": [0, 1]}, r"X holds nan at row 1, column 0"),
    "duplicates too large in sum": ({"X": too_large_in_sum(), "y": [0, 1]}, r"X holds inf at row 0, column 1"),
    "masked": ({"X": np.ma.masked_less(X, 0)}, r"masked values: fill"),
    "lengths": ({"y": Y[:5]}, r"X has 20 rows and y 5 labels"),
    "weights' shape": ({"sample_weight": np.ones((20, 1))}, r"shape \(20, 1\): one weight a row .* \(20,\)"),
    "negative weight": ({"sample_weight": np.r_[np.ones(19), -2]}, r"sample_weight is -2.0 at row 19: .* >= 0"),
    "weight missing": ({"sample_weight": np.r_[np.nan, np.ones(19)]}, r"sample_weight is nan at row 0"),
    "weight infinite": ({"sample_weight": np.r_[np.inf, np.ones(19)]}, r"sample_weight is inf at row 0"),
    "weight no number": ({"sample_weight": ["a"] * 20}, r"sample_weight holds a value that is not a number"),
    "weights all 0": ({"sample_weight": np.zeros(20)}, r"zero in all rows: .* positive"),
    "penalty": ({"penalty": "l1"}, r"penalty='l1': L1\(lam\), .* or None"),
    "conditioning": ({"conditioning": "centre"}, r"conditioning='centre': one of 'none', 'scale', 'centre\+scale'"),
    "centred without intercept": (
        {"conditioning": "centre+scale", "fit_intercept": False},
        r"only an intercept .* conditioning='scale'",
    ),
    "centred, sparse": (
        {"conditioning": "centre+scale", "X": sp.csr_array(X)},
        r"fill the zeros .* conditioning='scale', or a dense X",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    change, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        Problem(**({"X": X, "y": Y} | change))


def test_weights_of_the_wrong_shape_are_refused() -> None:
    problem = Problem(X, Y)
    with pytest.raises(ValueError, match=r"W has 4 rows: .* 5"):
        problem.value(W[:4])
    with pytest.raises(ValueError, match=r"coef has shape \(1, 4\) .*\(3, 4\)"):
        problem.from_user(np.zeros((1, 4)))
