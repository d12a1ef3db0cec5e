"""Grouped rows are expanded rows: loss, gradient and area agree to rounding (claim S16)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pianobench.datasets.kdd12.auc import auc
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.features import Features, recipe
from pianobench.datasets.kdd12.files import LogFile
from pianobench.datasets.kdd12.layout import Source, joined
from pianobench.problems import L2, Problem


def encoded(source: Source) -> Encoded:
    features, log = Features(source, recipe(1)), joined(source.blocks())
    return Encoded(
        features.columns(log, 0).astype(np.uint16), log.clicks.astype(np.int32), log.views.astype(np.int32), 937
    )


@pytest.fixture(scope="module", params=["generated", "real"])
def rows(request: pytest.FixtureRequest) -> Encoded:
    if request.param == "generated":
        return encoded(Clicks(rows=3000, test=0, rate=0.2))
    shared = request.getfixturevalue("shared_data")
    file = LogFile(Path(shared) / "kdd12_click_small" / "training_layout.txt.gz")
    return encoded(file).rows(slice(0, None, 8))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_grouped_is_expanded_in_loss_gradient_and_area(rows: Encoded, dtype: type) -> None:
    grouped, expanded = (rows.labelled(labels, dtype) for labels in ("grouped", "expanded"))
    assert grouped.X.dtype == expanded.X.dtype == dtype
    assert len(expanded.y) == rows.views.sum() > len(grouped.y) >= len(rows)
    assert grouped.weight.sum() == expanded.weight.sum() == rows.views.sum()
    W = np.random.default_rng(0).normal(size=(938, 2)).astype(dtype) / 3
    found = [Problem(one.X, one.y, sample_weight=one.weight, penalty=L2(1.0)).smooth(W) for one in (grouped, expanded)]
    rounding = 1e-13 if dtype == np.float64 else 1e-5
    assert found[0][0] == pytest.approx(found[1][0], rel=rounding)
    assert np.abs(found[0][1] - found[1][1]).max() < 10 * rounding * np.abs(found[1][1]).max()
    w = W[:-1, 1] - W[:-1, 0]
    areas = [auc(rows.matrix(dtype) @ w, *rows.weights), auc(expanded.X @ w, expanded.y == 1, expanded.y == 0)]
    assert areas[0].area == areas[1].area
    assert areas[0].error == pytest.approx(areas[1].error, rel=1e-9)


def test_labels_and_weights_of_a_few_rows() -> None:
    columns = np.array([[0, 3], [1, 3], [1, 4], [2, 4]], np.uint16)
    rows = Encoded(columns, np.array([0, 2, 1, 3], np.int32), np.array([2, 2, 3, 4], np.int32), 5)
    grouped = rows.labelled()
    assert grouped.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert grouped.weight.tolist() == [2, 2, 2, 1, 1, 3]
    assert grouped.X.toarray()[[0, 1, 3, 5]].tolist() == rows.matrix().toarray().tolist()
    assert grouped.X.has_canonical_format
    assert grouped.X.indices.dtype == np.int32
    expanded = rows.labelled("expanded")
    assert expanded.y.tolist() == [0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1]
    assert set(expanded.weight) == {1.0}
    clicked = rows.labelled("clicked", np.float32)
    assert clicked.y.tolist() == [0, 1, 1, 1]
    assert set(clicked.weight) == {1.0}
    assert clicked.X.dtype == np.float32
    assert rows.weights[1].tolist() == [2, 0, 2, 1]
    with pytest.raises(ValueError, match="labels = 'both': grouped, expanded or clicked"):
        rows.labelled("both")  # type: ignore[arg-type]
