"""One look per method in every figure: colour by family, line style and marker by member.

Most colours are those of Okabe and Ito, told apart with any colour vision; line styles and markers differ as well, so
that a grey print can be read. Other people's solvers are grey and dashed. A method that is not listed gets a look from
the hash of its key, always the same.
"""

import zlib
from dataclasses import dataclass
from typing import Any

_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("#D55E00", ("piano", "piano-centred", "piano-accelerated", "piano-working-set")),
    ("#0072B2", ("lbfgs", "lbfgs-preconditioned", "owl-qn", "sa-lbfgs", "online-lbfgs", "lbfgs-row-space")),
    ("#009E73", ("bohning", "irls", "newton-cg", "prox-newton", "prox-newton-active", "newton-cg-preconditioned")),
    ("#CC79A7", ("lc", "lc-centred", "lc-proximal")),
    ("#8C564B", ("admm-mlr", "admm-l1")),
    ("#E69F00", ("flexa", "inexact-gj", "gj-flexa")),
    ("#B8A800", ("smlr", "smlr-damped", "smlr-coloured")),
    ("#56B4E9", ("fista", "gd", "ogd", "adagrad", "l1-reweighted")),
    ("#000000", ("auto",)),
)
_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)), (0, (7, 1, 3, 1)), (0, (2, 2)))
_MARKERS = ("os^D", "sD^vPX", "^vPXDo", "DPo", "<X", "P<>", "vsD", "XDosP", "*")
_PEERS = (
    *("sklearn-lbfgs", "sklearn-newton-cg", "sklearn-newton-cholesky", "sklearn-sag", "sklearn-saga", "cyanure"),
    *("vw-bfgs", "vw-online-bfgs"),
)
_DASHES: tuple[Any, ...] = (
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (1.5, 1.5)),
    (0, (6, 2)),
    (0, (3, 1.5, 1, 1.5)),
    (0, (8, 1.5, 1, 1.5)),
    (0, (1, 2.5)),
)
_AT_ITS_BEST = "-best"  # ending of the key of a peer whose settings are not the library's own
_DARK, _LIGHT = "#404040", "#909090"


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


def look(solver: str, variant: int = 0) -> Look:
    """Look of a method by its key in the registry; grey for methods that are not ours.

    Parameters
    ----------
    solver : str
        Key.
    variant : int
        Number among the methods of one figure that share the key and differ in parameters.
    """
    base = _LOOKS[solver] if solver in _LOOKS else _stranger(solver)
    if not variant:
        return base
    lines = (*_LINES, *_DASHES)
    return Look(base.colour, lines[(lines.index(base.line) + variant) % len(lines)], base.marker)


def _stranger(solver: str) -> Look:
    """Grey: dark at its best, light as its library comes; dashes and marker by the method."""
    name = solver.removesuffix(_AT_ITS_BEST)
    number = _PEERS.index(name) if name in _PEERS else zlib.crc32(name.encode())
    colour = _DARK if solver.endswith(_AT_ITS_BEST) or name not in _PEERS else _LIGHT
    return Look(colour, _DASHES[number % len(_DASHES)], "osD^vPX*<>"[number // (1 if name in _PEERS else 7) % 10])


def position(solver: str) -> int:
    """Place of a method in legends: families together, ours first, then peers, then strangers."""
    order = [*_LOOKS, *(name + ending for name in _PEERS for ending in (_AT_ITS_BEST, ""))]
    return order.index(solver) if solver in order else len(order)


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
