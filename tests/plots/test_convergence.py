"""The convergence figure: what it must show, from tables alone, and the same bytes every time."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pianobench.plots.convergence import convergence, footnote
from pianobench.plots.files import save
from pianobench.plots.style import look
from pianobench.results.store import Tables


@pytest.fixture
def figure(tables: Tables) -> Figure:
    return convergence(tables.rows, tables.curves, tables.manifest)


def lines(figure: Figure, panel: int, label: str) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in figure.axes[panel].lines if line.get_label() == label]


def texts(figure: Figure, panel: int) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].texts]


def test_a_row_of_two_panels_for_each_problem(figure: Figure) -> None:
    assert len(figure.axes) == 4
    assert [axis.get_xlabel() for axis in figure.axes] == [
        "",
        "",
        "gradient equivalents",
        "seconds of set-up and steps",
    ]


def test_titles_say_data_size_penalty_and_strength(figure: Figure) -> None:
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert all(
        part in titles[0] for part in ("some", "n = 1,234, d = 5, m = 3", r"\ell_1", r"0.1\,\lambda", "intercept")
    )
    assert "no penalty" in titles[2]
    assert titles[1] == titles[3] == ""


@pytest.mark.parametrize(("panel", "cost"), [(0, "gradient_equivalents"), (1, "seconds")])
def test_curves_are_the_tables(figure: Figure, tables: Tables, panel: int, cost: str) -> None:
    drawn = lines(figure, panel, "PIANO")
    assert len(drawn) == 1
    points = tables.curves[(tables.curves["key"] == "a") & (tables.curves[cost] > 0)]
    np.testing.assert_array_equal(drawn[0], points[[cost, "gap"]].to_numpy())


def test_a_gap_below_the_axis_is_drawn_at_its_foot(figure: Figure) -> None:
    (drawn,) = lines(figure, 2, "PIANO")
    low, _ = figure.axes[2].get_ylim()
    assert drawn[-1, 1] > low
    assert drawn[-1, 1] == pytest.approx(1e-7)


def test_all_steps_lie_within_the_axes(figure: Figure, tables: Tables) -> None:
    for panel, cost in enumerate(("gradient_equivalents", "seconds") * 2):
        low, high = figure.axes[panel].get_xlim()
        steps = tables.curves.loc[tables.curves["step"] > 0, cost]
        assert low < steps.min() < steps.max() < high


def test_the_tolerance_is_drawn(figure: Figure) -> None:
    for panel in range(4):
        (line,) = lines(figure, panel, "tolerance")
        np.testing.assert_array_equal(line[:, 1], 1e-6)


def test_an_end_above_the_tolerance_is_marked_and_named(figure: Figure) -> None:
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [line.get_color() for line in crosses] == [look("piano").colour]
    assert "timeout" in texts(figure, 0)
    assert "timeout" not in texts(figure, 2)


def test_a_refused_method_is_named_with_its_reason(figure: Figure) -> None:
    for panel in (0, 1):
        assert "LBFGS skipped: because of the test" in texts(figure, panel)


def test_no_curve_comes_where_a_refusal_is_written(figure: Figure, tables: Tables) -> None:
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    for axis in figure.axes:
        lowest = tables.rows["tolerance"].min() / 10  # gaps below are drawn there
        foot = axis.transData.transform((1.0, lowest))[1] - 4.0 * figure.dpi / 72  # under the largest mark
        low, _ = axis.get_window_extent(renderer).get_points()[:, 1]
        assert foot > low, "marks at the foot are whole"
        for text in axis.texts:
            if "because of the test" in text.get_text():
                box = text.get_window_extent(renderer)
                assert box.y1 < foot
                assert box.y0 > low


def test_legend_has_each_method_once_with_its_bound(figure: Figure) -> None:
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == [
        "PIANO (bound: dual)",
        "FISTA (bound: dual)",
        "LBFGS",
        "tolerance 1e-06",
    ]


def test_footnote_says_when_with_which_code_and_where(tables: Tables) -> None:
    text = " ".join(footnote(tables.rows, tables.manifest).split())
    for part in ("our derivation", "2026-01-02", "commit 0123456789+,", "A processor, 2 cores", "1 thread;", "smoke"):
        assert part in text


def test_no_text_lies_on_another(figure: Figure) -> None:
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    for axis in figure.axes:
        boxes = [t.get_window_extent(renderer) for t in axis.texts]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    titles = [figure.axes[i].get_tightbbox(renderer) for i in (0, 2)]
    assert titles[0] is not None
    assert titles[1] is not None
    assert not titles[0].overlaps(titles[1])


def test_the_same_tables_give_the_same_bytes(tables: Tables, tmp_path: Path) -> None:
    files = [save(convergence(tables.rows, tables.curves, tables.manifest), tmp_path / name) for name in ("one", "two")]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert files[0][0].read_text("utf-8").count("2026-01-02") == 1, "only the date of the measurement"


def test_tables_are_left_as_they_were(tables: Tables) -> None:
    rows, curves = tables.rows.copy(deep=True), tables.curves.copy(deep=True)
    convergence(tables.rows, tables.curves, tables.manifest)
    assert tables.rows.equals(rows)
    assert tables.curves.equals(curves)


def test_a_run_without_any_curve_can_be_drawn(tables: Tables) -> None:
    figure = convergence(tables.rows, tables.curves.iloc[:0], tables.manifest)
    assert sum("because of the test" in text for text in texts(figure, 0)) == 3
