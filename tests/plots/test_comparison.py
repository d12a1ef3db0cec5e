"""The page of a comparison: what it must show, from tables alone, readable with fifteen methods on six problems."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import planted_tables as planted
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from planted_tables import outside, run

from pianobench.plots.comparison import HEIGHT, WIDTH, comparison
from pianobench.plots.files import save
from pianobench.plots.style import look
from pianobench.results.store import Tables


@pytest.fixture(scope="module")
def tables() -> Tables:
    """One problem: reached, reached at the looser gap only, refused, failed; five runs of the fastest."""
    return planted.tables(
        [
            *(run("lbfgs", 0.1 + 0.01 * i, seed=i) for i in range(5)),
            run("piano", None, level=3e-4),
            outside("fista", "skipped", "FISTA takes l1, not l2"),
            outside("flexa", "crashed", "the process died of SIGSEGV"),
            run("sklearn-saga", 1.0, gradient_equivalents=None),
        ]
    )


@pytest.fixture(scope="module")
def figure(tables: Tables) -> Figure:
    return comparison(tables.rows, tables.curves, tables.manifest)


@pytest.fixture(scope="module")
def crowd() -> Figure:
    tables = planted.crowd()
    return comparison(tables.rows, tables.curves, tables.manifest)


def labels(figure: Figure, panel: int = 2) -> list[str]:
    return [label.get_text() for label in figure.axes[panel].get_yticklabels()]


def test_methods_stand_in_the_order_of_their_places(figure: Figure) -> None:
    assert labels(figure) == ["1  L-BFGS", "2  sklearn saga", "3  PIANO", "FISTA", "FLEXA"]


def test_a_method_has_one_look_in_all_panels_and_the_legend(figure: Figure) -> None:
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["PIANO", "L-BFGS", "FLEXA", "FISTA", "scikit-learn saga", "tolerance 1e-06"]
    for key, title in (("lbfgs", "L-BFGS"), ("piano", "PIANO")):
        style = look(key)
        for axis in figure.axes[:2]:
            (line,) = [line for line in axis.lines if line.get_label() == title]
            assert same_color(line.get_color(), style.colour)
            assert line.get_marker() == style.marker
        tick = next(label for label in figure.axes[2].get_yticklabels() if title in label.get_text())
        assert same_color(tick.get_color(), style.colour)


def test_the_ranking_shows_seconds_intervals_and_the_looser_gap(figure: Figure) -> None:
    axis = figure.axes[2]
    first = [
        np.asarray(line.get_xydata()) for line in axis.lines if len(line.get_xydata()) and line.get_ydata()[0] == 0
    ]
    points = sorted(float(line[0, 0]) for line in first if line.shape[0] == 1)
    assert points == pytest.approx([0.06, 0.12])  # to 1e-3, and to the tolerance
    bar = next(line for line in first if line.shape == (2, 2) and line[0, 0] == pytest.approx(0.1))
    assert bar[1, 0] == pytest.approx(0.14)


def test_not_reached_is_an_open_mark_at_the_edge_with_gap_and_status(figure: Figure) -> None:
    axis = figure.axes[2]
    (mark,) = [
        line for line in axis.lines if same_color(line.get_markerfacecolor(), "white") and line.get_ydata()[0] == 2
    ]
    assert mark.get_xdata()[0] > 5.0, "beyond the budget"
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["gap 3.0e-4, timeout", "refused: takes l1, not l2", "failed: crashed: the process died of SIGSEGV"]


def test_what_it_cannot_draw_and_how_many_runs_are_said(figure: Figure) -> None:
    words = " ".join(figure.get_supxlabel().split())
    assert "a black box does not tell them" in words
    assert "the middle of 5 runs" in words
    assert "5 runs per curve" in words


def test_a_crowd_fits_a_page_and_no_text_lies_on_another(crowd: Figure) -> None:
    width, height = crowd.get_size_inches()
    assert (width, height) == (WIDTH, pytest.approx(HEIGHT, abs=0.01))
    renderer = FigureCanvasAgg(crowd).get_renderer()
    crowd.draw(renderer)
    for axis in crowd.axes[2::3]:
        boxes = [label.get_window_extent(renderer) for label in axis.get_yticklabels()]
        assert len(boxes) == 17
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
        assert max(box.x1 for box in boxes) <= crowd.bbox.x1
        notes = [text.get_window_extent(renderer) for text in axis.texts]
        panel = axis.get_window_extent(renderer)
        assert all(panel.x0 - 30 < box.x0 and box.x1 < panel.x1 for box in notes)
        assert min(label.get_fontsize() for label in axis.get_yticklabels()) > 4.5
    looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in crowd.legends[0].get_lines()}
    assert len(looks) == 18


def test_the_same_tables_give_the_same_bytes(tables: Tables, tmp_path: Path) -> None:
    files = [save(comparison(tables.rows, tables.curves, tables.manifest), tmp_path / name) for name in ("one", "two")]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_a_comparison_without_any_curve_can_be_drawn() -> None:
    tables = planted.tables([outside("lbfgs", "skipped", "L-BFGS takes l2, not l1"), outside("piano", "lost", "gone")])
    figure = comparison(tables.rows, tables.curves, tables.manifest)
    assert labels(figure) == ["L-BFGS", "PIANO"]
