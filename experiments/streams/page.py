"""The tables and figures of docs/streams.md, made of the stored tables alone.

``python -m pianobench.experiments.streams.page`` fills what stands between ``<!-- NAME -->`` and ``<!-- end -->`` and
draws the figures beside it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pianobench.algorithms.stream.draws import LARGEST_RATIO
from pianobench.experiments.streams import drift, measure, table2
from pianobench.experiments.streams.rows import Stream
from pianobench.experiments.streams.tables import markdown
from pianobench.plots import streams as plots
from pianobench.plots.streams import TITLES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "streams.md"
COLOURS = 96  # of a figure


@cache
def _read(name: str) -> Any:
    return measure.read(name)


def learners() -> str:
    """Each learner from the change on."""
    late = drift.after(_read("streams"))
    some = late[late["size"].isin([0.0, 1.0])]
    rows = []
    for (rate, size), of in some.groupby(["rate", "size"]):
        for key in TITLES:
            one = of[of["learner"] == key]
            mean, spread = one.mean(numeric_only=True), one["area_lost"].std()
            cells = [f"{100 * rate:g} %", f"{size:g}", TITLES[key], f"{mean['updates']:.1f}"]
            cells += [f"{mean['area']:.4f}", f"{mean['area_lost']:z.4f} ± {spread:.4f}", f"{mean['held_out']:.4f}"]
            cells += [f"{one['cpu_seconds'].median():.3f}", f"{one['rows_read'].median():,.0f}"]
            rows.append([*cells, f"{one['speed_up'].median():.1f}"])
    head = ["clicks", "drift", "learner", "trainings", "area", "below full", "log loss", "CPU s", "rows read"]
    return markdown([*head, "full / it"], rows)


def updates() -> str:
    """When the two rules train: before a drift, at it, and up to the end."""
    lines = _read("streams")
    lines = lines[lines["learner"].str.startswith("sa-") & (lines["batch"] > 0)]
    rows = []
    for (rate, kind, size, key), of in lines.groupby(["rate", "kind", "size", "learner"]):
        early, late = of[of["batch"] < Stream.change], of[of["batch"] >= Stream.change]
        begun = early if kind != "gradual" else of[of["batch"] <= Stream.change // 2]
        at = of[of["batch"] == Stream.change]["updated"].mean() if kind == "sudden" else np.nan
        ever = late.groupby("seed")["updated"].max().mean()
        cells = [f"{100 * rate:g} %", f"{kind} {size:g}" if size else kind, TITLES[key], f"{of['seed'].nunique()}"]
        cells += [f"{begun['updated'].mean():.0%}", "" if np.isnan(at) else f"{at:.0%}", f"{ever:.0%}"]
        rows.append([*cells, f"{of['updated'].mean():.0%}"])
    head = ["clicks", "drift", "rule", "streams", "share of batches before", "at the first turned batch"]
    return markdown([*head, "streams with one after", "share of all batches"], rows)


def divergence() -> str:
    """Speed-up by the size of the drift, and its rank correlation."""
    from scipy.stats import kendalltau

    late = drift.after(_read("streams"))
    sizes = sorted(late["size"].unique())
    rows = []
    for rate in sorted(late["rate"].unique()):
        for key in ("sa-lbfgs", "sa-lbfgs-repaired", "subsample-warm", "online"):
            one = late[(late["rate"] == rate) & (late["learner"] == key)]
            of_size = one.groupby("size")
            tau = kendalltau(one["size"], one["speed_up"]).statistic
            speed, lost = of_size["speed_up"].median(), of_size["area_lost"].mean()
            cells = [f"{speed[size]:.0f} ({lost[size]:z.3f})" for size in sizes]
            rows.append([f"{100 * rate:g} %", TITLES[key], *cells, f"{tau:.2f}"])
    return markdown(["clicks", "learner", *(f"drift {size:g}" for size in sizes), "Kendall's tau"], rows)


def blind() -> str:
    """How often each rule fires, by the batches before."""
    lines = _read("blind")
    times = sorted(lines["t"].unique())
    rows = []
    for (rate, size, rule), of in lines.groupby(["rate", "rows", "rule"], sort=False):
        share = of.groupby(["drift", "t"])["fired"].mean()
        cells = [f"{share[1][t]:.0%} / {share[0][t]:.0%}" for t in times]
        rows.append([f"{100 * rate:g} %", f"{size:,}", f"{of['seed'].nunique()}", rule, *cells])
    return markdown(["clicks", "rows of a batch", "streams", "rule", *(f"t = {t}" for t in times)], rows)


def fit() -> str:
    """What I says of three models."""
    rows = []
    for (rate, model), of in _read("fit").groupby(["rate", "model"], sort=False):
        mean = of.mean(numeric_only=True)
        cells = [f"{mean['error']:.4f}", f"{mean['log_loss']:.4f}", f"{mean['area']:.3f}"]
        rows.append([f"{100 * rate:g} %", model, *cells])
    return markdown(["clicks", "model", "I", "log loss", "area"], rows)


def slope(x: Any, y: Any) -> tuple[float, float]:
    """Slope of y against x on logarithmic scales, and R^2."""
    x, y = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    return float(np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1] ** 2)


def cost() -> str:
    """Processor seconds of I, and the exponent."""
    found = _read("cost").groupby("rows").median()
    rows = [
        [f"{n:,}", f"{1e3 * of['cpu_seconds']:.3g}", f"{1e9 * of['cpu_seconds'] / n:.0f}", f"{of['flops'] / n:.0f}"]
        for n, of in found.iterrows()
    ]
    exponent, share = slope(found.index, found["cpu_seconds"])
    counted, _ = slope(found.index, found["flops"])
    said = f"\n\nExponent of the seconds {exponent:.3f} (R² = {share:.4f}), of the flops counted {counted:.3f}."
    return markdown(["rows", "CPU ms", "ns a row", "flops a row"], rows) + said


def draws() -> str:
    """What parallel draws say of the newest batch."""
    one = _read("draws").drop_duplicates(["rate", "seed", "newest"])
    rows = []
    for (rate, newest), of in one.groupby(["rate", "newest"], sort=False):
        calm = one[(one["rate"] == rate) & (one["newest"] == "ordinary")].set_index("seed")["area_spread"]
        over = (of.set_index("seed")["area_spread"] / calm).median()
        low, middle, high = of["ratio"].quantile([0.0, 0.5, 1.0])
        cells = [f"{len(of)}", f"{middle:.2f} ({low:.2f} to {high:.2f})", f"{of['flagged'].mean():.0%}"]
        rows.append([f"{100 * rate:g} %", newest, *cells, f"{of['area_spread'].median():.4f}", f"{over:.1f}"])
    head = ["clicks", "newest batch", "streams", "unlike over like shares: median (range)", "flagged"]
    return markdown([*head, "spread of the area", "over the ordinary batch's"], rows)


def anchor() -> str:
    """What old rows in the sample do."""
    rows = []
    for (rate, mu), of in _read("anchor").groupby(["rate", "mu"]):
        mean = of.mean(numeric_only=True)
        alone = _read("anchor")
        alone = alone[(alone["rate"] == rate) & np.isinf(alone["mu"])].set_index("seed")["log_loss_old"]
        over = (alone / of.set_index("seed")["log_loss_old"]).median()
        cells = [f"{mean['new_rows']:.0f}", f"{mean['old_rows']:.0f}", f"{mean['log_loss_old']:.4f}"]
        cells += [f"{mean['log_loss_new']:.4f}", f"{mean['area_old']:.3f}", f"{mean['area_new']:.3f}", f"{over:.3f}"]
        rows.append([f"{100 * rate:g} %", "no old row" if np.isinf(mu) else f"{mu:g}", *cells])
    head = ["clicks", "μ", "new rows", "old rows", "log loss, old law", "log loss, new law", "area, old", "area, new"]
    return markdown([*head, "old law: without old rows over it"], rows)


def sparse() -> str:
    """Model 2 by l2 and l1."""
    rows = []
    for _, e in _read("sparse").iterrows():
        cells = [f"{e['cpu_seconds']:.2f}", f"{e['steps']}", f"{e['gap']:.1e}", f"{e['kept']} of {e['columns']}"]
        rows.append([f"{e['penalty']}, {e['strength']:g}", *cells, f"{e['area']:.4f} ± {e['error']:.4f}"])
    return markdown(["penalty, strength", "CPU s", "steps", "gap", "columns kept", "area"], rows)


def regret() -> str:
    """Regret of online methods by the rows."""
    lines, rows = _read("regret"), []
    sizes = sorted(lines["rows"].unique())
    for key, of in lines.groupby("method", sort=False):
        mean = of.groupby("rows")["regret"].mean()
        rows.append([key, *(f"{mean[n]:.0f}" for n in sizes), f"{slope(sizes, mean[sizes])[0]:.2f}"])
    return markdown(["method", *(f"{n:,} rows" for n in sizes), "exponent"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "table 2": lambda: table2.stored().strip() or "Not measured yet: `make table2`.",
    **{one.__name__: one for one in (learners, updates, divergence, blind, fit, cost, draws, anchor, sparse, regret)},
}


def filled(text: str) -> str:
    """The page with every table made anew.

    Raises
    ------
    KeyError
        There is no table of a name that stands in it.
    """

    def table(found: re.Match[str]) -> str:
        name = found.group(1)
        return f"<!-- {name} -->\n\n{TABLES[name]()}\n\n<!-- end -->"

    return re.sub(r"<!-- (?!end)([a-z0-9 ]+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def figures() -> dict[str, Any]:
    """All figures by the names of their files."""
    streams = _read("streams")
    return {
        "streams-samples": plots.sample_sizes(streams, drift.SAMPLE),
        "streams-courses-30": plots.courses(streams, 0.3),
        "streams-courses-3": plots.courses(streams, 0.03),
        "streams-speed-up": plots.speed_up(drift.after(streams)),
        "streams-draws": plots.draws(_read("draws"), LARGEST_RATIO),
    }


def main() -> None:
    """Write page and figures."""
    from PIL import Image

    from pianobench.plots.files import save

    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        for name, figure in figures().items():
            _, bitmap = save(figure, Path(scratch) / name)
            with Image.open(bitmap) as picture:  # few colours: half of the bytes
                picture.convert("RGB").quantize(COLOURS).save(DOCS / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
