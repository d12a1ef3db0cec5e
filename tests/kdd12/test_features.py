"""Rates and features: against a plain computation, for any blocks, and without a leak of what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pianobench.datasets.kdd12 import effects
from pianobench.datasets.kdd12 import features as features_module
from pianobench.datasets.kdd12.auc import auc
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.features import Features, Recipe, recipe
from pianobench.datasets.kdd12.files import LogFile
from pianobench.datasets.kdd12.layout import COLUMNS, IDS, Log, joined
from pianobench.datasets.kdd12.rates import Rates, numbered, places
from pianobench.datasets.kdd12.tables import Table
from pianobench.datasets.reading import UnusableFile


@dataclass(frozen=True)
class InMemory:
    """Rows as a source, in blocks of some size."""

    log: Log
    block: int = 4096

    def blocks(self, *, start: int = 0) -> Iterator[Log]:
        for first in range(start, len(self.log), self.block):
            yield self.log.rows(slice(first, first + self.block))

    def identity(self) -> str:
        return "in memory"


def with_clicks(log: Log, clicks: np.ndarray) -> Log:
    values = log.values.copy()
    values[COLUMNS.index("click")] = clicks
    return Log(values)


@pytest.fixture(scope="module")
def log() -> Log:
    return joined(Clicks(rows=12_000, test=0, rate=0.2).blocks())


def test_rates_are_those_of_a_plain_computation(log: Log) -> None:
    rates = Rates(InMemory(log), [("ad",), ("query", "ad")], folds=3)
    fold = rates._fold(numbered(log, 0))
    assert np.bincount(fold).min() > 3600
    where = places(log)
    mean = log.clicks.sum() / log.views.sum()
    base = np.array(
        [(log.clicks[where == i].sum() + 1000 * mean) / (log.views[where == i].sum() + 1000) for i in range(9)]
    )
    np.testing.assert_allclose(rates.base, base, atol=1e-6)
    for kind in (("ad",), ("query", "ad")):
        found, own = rates.of(log, kind), rates.of(log, kind, numbered(log, 0))
        keys = list(zip(*(log[name].tolist() for name in kind), strict=True))
        assert rates.known(kind) == len(set(keys))
        for row in range(0, 12_000, 499):
            same = np.array([key == keys[row] for key in keys])
            for sums, rows in ((found, same), (own, same & (fold != fold[row]))):
                assert sums.clicks[row] == log.clicks[rows].sum()
                assert sums.views[row] == log.views[rows].sum()
                assert sums.expected[row] == pytest.approx((log.views * rates.base[where])[rows].sum(), rel=1e-12)
                rate = (sums.clicks[row] + 2) / (sums.expected[row] + 2)
                assert sums.rate(2.0)[row] == pytest.approx(rate, rel=1e-12)


def test_tables_merge_what_does_not_fit_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pianobench.datasets.kdd12.tables._PENDING", 20)
    rng, table, expected = np.random.default_rng(0), Table(4), np.zeros((300, 4), int)
    for _ in range(30):
        keys, slots, numbers = rng.integers(0, 300, 40), 2 * rng.integers(0, 2, 40), rng.integers(0, 9, (2, 40))
        np.add.at(expected, (keys, slots), numbers[0])
        np.add.at(expected, (keys, slots + 1), numbers[1])
        table.add(keys.astype(np.uint64) + np.uint64(2**63), slots, numbers)
    sought = np.arange(400, dtype=np.uint64) + np.uint64(2**63)
    np.testing.assert_array_equal(table.find(sought), np.concatenate([expected, np.zeros((100, 4), int)]))
    assert len(table) == (expected.sum(axis=1) > 0).sum()


@pytest.mark.parametrize("model", [1, 2])
def test_features_are_as_stated_and_the_same_for_any_blocks(model: int, log: Log) -> None:
    made = recipe(model)
    one, other = Features(InMemory(log), made), Features(InMemory(log, 777), made)
    columns = one.columns(log, first=0)
    np.testing.assert_array_equal(columns, np.concatenate(_in_blocks(other, log, 1111)))
    assert columns.shape == (len(log), {1: 17, 2: 19}[model]) == (len(log), made.per_row)
    assert (made.d, len(made.names), len(set(made.names))) == ({1: 937, 2: 1053}[model],) * 3
    assert (np.diff(columns.astype(int), axis=1) > 0).all()
    groups = [made.names[column].rpartition(" ")[0] for column in columns[0]]
    assert groups[:4] == ["display_url: rate", "display_url: views", "ad: rate", "ad: views"]
    assert len(set(groups)) == made.per_row
    depth, position = int(log["depth"][0]), int(log["position"][0])
    assert made.names[columns[0, -1]] == f"depth {depth} position {position}"
    for place, kind in enumerate(made.kinds):
        rates = one.rates.of(log, kind, numbered(log, 0)).rate(made.smoothing)
        bins = columns[:, 2 * place] - place * 116
        order = np.argsort(rates, kind="stable")
        assert (np.diff(bins[order].astype(int)) >= 0).all()
        assert len(np.unique(bins)) <= len(np.unique(rates))
        views = one.rates.of(log, kind, numbered(log, 0)).views
        level = [min(int(v).bit_length(), 15) for v in views]
        assert (columns[:, 2 * place + 1] - place * 116 - 100).tolist() == level


def _in_blocks(features: Features, log: Log, block: int) -> list[np.ndarray]:
    return [features.columns(log.rows(slice(start, start + block)), start) for start in range(0, len(log), block)]


def test_bins_hold_about_equally_many_rows_where_rates_differ(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in (1 << 17, 3000):
        monkeypatch.setattr(features_module, "_SAMPLE", sample)
        made = Features(InMemory(log), recipe(1, bins=10))
        counts = np.bincount(made.columns(log, 0)[:, 2 * IDS.index("advertiser")] - 2 * 26, minlength=10)
        used = np.sort(counts[counts > 0])  # one holds the many rows whose rate is not known
        assert len(used) > 6
        assert used[0] > 700
        assert used[-2] < 1900


def test_unknown_identifiers_have_the_mean_rate_and_the_lowest_level(log: Log) -> None:
    made = Features(InMemory(log), recipe(2))
    values = log.values[:, :50].copy()
    for name in IDS:
        values[COLUMNS.index(name)] = np.arange(2**64 - 60, 2**64 - 10, dtype=np.uint64)
    columns = made.columns(Log(values))
    for place, kind in enumerate(made.recipe.kinds):
        expected = np.searchsorted(made.edges[kind], 1.0, side="right")
        assert (columns[:, 2 * place] == 116 * place + expected).all()
        assert (columns[:, 2 * place + 1] == 116 * place + 100).all()


# ---- leaks: with clicks by the toss of a coin, nothing can be predicted of rows that nothing was learned on ----------


def tossed(rows: int = 12_000) -> Log:
    log = joined(Clicks(rows=rows, test=0, seed=3).blocks())
    return with_clicks(log, np.random.default_rng(1).binomial(log.views, 0.2))


def encoded(features: Features, log: Log, first: int | None) -> Encoded:
    clicks, views = log.clicks.astype(np.int32), log.views.astype(np.int32)
    return Encoded(features.columns(log, first), clicks, views, features.recipe.d)


def leaked(learned_on: Log, train: Log, test: Log, made: Recipe) -> float:
    """How many standard errors the test rows' area is above 1/2, for a model fitted on the training rows.

    Rates that hold the test rows' clicks move it far to either side: what the model makes of rates is noise here.
    """
    features = Features(InMemory(learned_on), made)
    fitted = encoded(features, train, 0).labelled()
    model = LogisticRegression(C=0.1, max_iter=30, tol=1e-2).fit(fitted.X, fitted.y, fitted.weight)
    part = encoded(features, test, None)
    found = auc(model.decision_function(part.matrix()), *part.weights)
    return (found.area - 0.5) / found.error


def test_rates_that_have_seen_the_test_rows_are_found_out() -> None:
    log = tossed()
    train, test = log.rows(slice(0, 8000)), log.rows(slice(8000, None))
    assert abs(leaked(train, train, test, recipe(2))) < 4
    assert abs(leaked(log, train, test, recipe(2))) > 10


def test_a_training_row_does_not_see_its_own_clicks() -> None:
    """With one fold the rates of rare identifiers tell the row's own clicks; with more a rate is worth nothing here."""
    log = tossed()
    for folds, least, most in ((4, -4.0, 4.0), (1, 40.0, np.inf)):
        rate = Features(InMemory(log), recipe(1, folds=folds)).rates.of(log, ("user",), numbered(log, 0)).rate(1.0)
        found = auc(rate, log.clicks, log.views - log.clicks)
        assert least < (found.area - 0.5) / found.error < most


def test_features_of_other_rows_do_not_depend_on_their_clicks(log: Log) -> None:
    made = Features(InMemory(log.rows(slice(0, 6000))), recipe(1))
    rest = log.rows(slice(6000, None))
    np.testing.assert_array_equal(made.columns(rest), made.columns(with_clicks(rest, rest.views)))


@pytest.mark.parametrize(("interaction", "least", "most"), [(0.0, -0.25, 0.25), (2.0, 0.5, 1.0)])
def test_rates_of_the_conjunction_show_an_interaction_where_it_is(
    interaction: float, least: float, most: float
) -> None:
    clicks = Clicks(rows=60_000, test=0, rate=0.3, interaction=interaction)
    log = joined(clicks.blocks())
    sums = Rates(InMemory(log), [("query", "ad")], 1).of(log, ("query", "ad"))
    pairs = effects.pair(log["query"], log["ad"])
    _, first = np.unique(pairs, return_index=True)
    first = first[sums.views[first] >= 20]
    assert len(first) > 120
    planted = effects.effect(pairs[first], clicks._salt("interaction"))
    assert least < np.corrcoef(np.log(sums.rate(1.0)[first]), planted)[0, 1] < most


# ---- what cannot be learned from ------------------------------------------------------------------------------------


def test_rows_without_a_click_or_with_clicks_alone_are_refused(log: Log) -> None:
    few = log.rows(slice(0, 100))
    with pytest.raises(UnusableFile, match=r"100 training rows have .* views, and none of them is clicked"):
        Rates(InMemory(with_clicks(few, 0 * few.views)), [("ad",)])
    with pytest.raises(UnusableFile, match="all of them are clicks"):
        Rates(InMemory(with_clicks(few, few.views)), [("ad",)])
    with pytest.raises(UnusableFile, match="there is no training row"):
        Rates(InMemory(log.rows(slice(0, 0))), [("ad",)])


def test_the_real_fixture_has_one_class(shared_data: object) -> None:
    from pathlib import Path

    file = LogFile(Path(str(shared_data)) / "kdd12_raw_fixture" / "training.txt")
    with pytest.raises(UnusableFile, match=r"the 11 training rows have .* and none of them is clicked"):
        Features(file, recipe(1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bins": 0}, "bins = 0: a whole number from 1 to 1000"),
        ({"folds": 2.5}, "folds = 2.5"),
        ({"smoothing": 0.0}, "smoothing = 0.0: a number above 0"),
        ({"conjunctions": (("query",),)}, "two or more of"),
        ({"conjunctions": (("query", "adv"),)}, "two or more of"),
    ],
)
def test_recipes_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="model = 3: 1 or 2"):
        recipe(3)
