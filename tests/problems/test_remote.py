"""Rows in two other processes give the same bits as the same two parts here, and one part's numbers to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from remote import Workers, problem_in_parts, split

from pianobench.problems import L1, L2, ElasticNet, Problem, certificate, separability
from pianobench.problems.data import rows_in_memory
from pianobench.problems.kernels import admm, fields, softmax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(41, 3)) * (RNG.random((41, 3)) < 0.7)
Y = RNG.integers(0, 3, 41)
WEIGHTS = RNG.choice([0.0, 0.5, 2.0], 41)

CASES: dict[str, dict[str, Any]] = {
    "dense-l2-centred": {"X": X + 5.0, "penalty": L2(1.0), "conditioning": "centre+scale", "sample_weight": WEIGHTS},
    "dense-none": {"X": X, "fit_intercept": False},
    "csr-l1-scaled": {"X": sp.csr_array(X), "penalty": L1(1.0), "conditioning": "scale"},
    "float32-elasticnet": {"X": X.astype(np.float32), "penalty": ElasticNet(0.5, 0.1), "sample_weight": WEIGHTS},
}


def combine(W: Any, A: Any, B: Any, C: Any, S: Any, pen: Any) -> Any:
    return W + A - 2 * B + C / S + pen.l1 + pen.l2


def answers(problem: Problem) -> dict[str, Any]:
    """All that a problem can be asked, in numbers."""
    rng = np.random.default_rng(1)
    W, D = (rng.normal(size=(problem.p, problem.m)).astype(problem.dtype) for _ in range(2))
    active = np.ones((problem.p, problem.m), bool)
    active[0, 1] = active[1] = False
    line, curvature, Z, U, T = problem.line(W, D), problem.curvature(W), *(problem.field(problem.m) for _ in range(3))
    lse = problem.field(1)
    problem.map_rows(softmax.log_sum_exp, lse, W=W)
    problem.xw(W, Z)
    part, batch = problem.restrict(active), problem.rows(np.array([40, 3, 3, 20]), np.array([1.0, 2, 3, 4]), total=9.0)
    turned = line.turn(0.2, W)
    proof = certificate(problem, W)
    return {
        "value": problem.value(W),
        "smooth": problem.smooth(W),
        "moments": problem.moments_map(W, combine),
        "lse moments": problem.moments_map(D, combine, lse),
        "line": (*line(0.3), *line.smooth(0.3), *turned(0.1), turned.take(0.1)),
        "curvature": (curvature @ D, curvature.diag(), curvature.dense()),
        "gram": (problem.gram(), problem.gram(problem.weights())),
        "xt": problem.xt(Z),
        "map_rows": problem.map_rows(admm.split_step, Z, U, T, W=D, parameters=(1.0, 1.0, 1e-9, 20)),
        "fields": [np.vstack(field.export()) for field in (Z, U, T)],
        "reach": (problem.reach, part.reach),
        "certificate": (proof.objective, proof.lower, proof.residual),
        "lambda_max": problem.lambda_max,
        "conditioning": problem.to_user(W),
        "restrict": (part.value(part.project(W)), *part.smooth(part.project(W))),
        "rows": (batch.value(W), *batch.smooth(W), problem.tiny().value(W)),
    }


def flat(value: Any) -> np.ndarray:
    return np.concatenate([np.ravel(v) for v in value] if isinstance(value, tuple | list) else [np.ravel(value)])


@pytest.mark.parametrize("name", CASES)
def test_same_answers_wherever_the_rows_are(name: str, workers: Workers) -> None:
    arguments = dict(CASES[name], y=Y)
    remote, parts, whole = (
        answers(problem)
        for problem in (
            problem_in_parts(workers=workers, **arguments),
            problem_in_parts(**arguments),
            Problem(arguments.pop("X"), arguments.pop("y"), **arguments),
        )
    )
    tolerance = 1e-4 if name.startswith("float32") else 1e-11
    for key, value in remote.items():
        assert flat(value).tobytes() == flat(parts[key]).tobytes(), key
        close = 1e-7 if key == "certificate" else tolerance  # a search among dual points stops where rounding lets it
        np.testing.assert_allclose(flat(value), flat(whole[key]), rtol=close, atol=close, err_msg=key)


def test_columns_need_one_place(workers: Workers) -> None:
    problem = problem_in_parts(X, Y, workers)
    assert problem.has == Problem(X, Y).has - {"columns", "rows in order"}
    with pytest.raises(TypeError, match="rows are spread"):
        problem.sweep(None, problem.zeros(), problem.field(3), np.arange(9))
    assert separability(problem) == "unknown"


def test_fields_go_out_and_come_back(workers: Workers) -> None:
    problem = problem_in_parts(X, Y, workers)
    field = problem.scores(np.full((problem.p, 3), 0.1))
    saved = field.export()
    problem.map_rows(fields.scores, field, W=problem.zeros())
    assert not any(part.any() for part in field.export())
    field.load(saved)
    assert all((a == b).all() for a, b in zip(field.export(), saved, strict=True))
    assert [part.shape for part in saved] == [(13, 3), (28, 3)]


def test_an_error_in_a_worker_comes_back_and_the_worker_goes_on(workers: Workers) -> None:
    problem = problem_in_parts(X, Y, workers)
    with pytest.raises(ValueError, match="W has 9 rows") as caught:
        problem.value(np.zeros((9, 3)))
    assert "in a worker" in caught.value.__notes__[0]
    with pytest.raises(Exception, match="local object"):  # a kernel that cannot be named is sent to no one
        problem.map_rows(lambda _: ())
    assert problem.value(problem.zeros()) == pytest.approx(41 * np.log(3))


def test_a_worker_that_has_ended_is_told(workers: Workers) -> None:
    with Workers(1) as one:
        rows = one.hold(split(rows_in_memory(X, Y, None, True, None)[0].parts[0], []))
        one._processes[0].kill()
        one._processes[0].join()
        with pytest.raises(RuntimeError, match="worker 0 has ended"):
            rows.field(1, 0.0, np.dtype(float))
        with pytest.raises(ValueError, match="one part a worker"):
            workers.hold(split(rows_in_memory(X, Y, None, True, None)[0].parts[0], []))
    with pytest.raises(RuntimeError, match="closed"):
        rows.field(1, 0.0, np.dtype(float))
