"""One look per method in every figure: colour by family, line style and marker by member.

The colours are those of Okabe and Ito, told apart with any colour vision; line styles and markers differ as
well, so that a grey print can be read. A method that is not listed gets a look from the hash of its key,
always the same.
"""

import zlib
from dataclasses import dataclass
from typing import Any

_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("#D55E00", ("piano", "piano-centred", "piano-accelerated", "piano-working-set")),
    ("#0072B2", ("lbfgs", "lbfgs-preconditioned", "owl-qn", "sa-lbfgs")),
    ("#009E73", ("bohning", "irls", "newton-cg", "prox-newton")),
    ("#CC79A7", ("lc", "lc-centred", "admm-mlr", "admm-l1")),
    ("#E69F00", ("smlr", "flexa", "inexact-gj", "gj-flexa")),
    ("#56B4E9", ("fista", "gd", "ogd", "adagrad")),
    ("#000000", ("auto",)),
)
_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))
_MARKERS = ("os^D", "sD^v", "^vPX", "DPoX", "vP<>", "XDos", "*")
_OTHERS = "#7F7F7F"


@dataclass(frozen=True)
class Look:
    """Colour, line style and marker of a method."""

    colour: str
    line: Any
    marker: str


def _table() -> dict[str, Look]:
    return {
        key: Look(colour, _LINES[i], markers[i])
        for (colour, members), markers in zip(_FAMILIES, _MARKERS, strict=True)
        for i, key in enumerate(members)
    }


_LOOKS = _table()


def look(solver: str) -> Look:
    """Look of a method by its key in the registry; grey for methods that are not ours."""
    if solver in _LOOKS:
        return _LOOKS[solver]
    number = zlib.crc32(solver.encode())
    return Look(_OTHERS, _LINES[number % 4], "os^DvPX*"[number // 4 % 8])


RC: Any = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "mathtext.fontset": "dejavusans",
    "svg.fonttype": "none",
    "svg.hashsalt": "pianobench",  # else every drawing has other ids
}
"""Settings for drawing and saving, used as a context: nothing global is changed."""
