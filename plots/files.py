"""Figures on disk; the only module of this folder that writes files."""

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from pianobench.plots.style import RC

DOTS_PER_INCH = 200
ON_A_PAGE = 130  # dots per inch where a figure is stored with the text


def save(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write a figure as SVG and PNG; the suffix of `path` does not count.

    The files hold no date and no version, so that drawing the same tables again gives the same bytes.

    Returns
    -------
    tuple of Path
        The SVG and the PNG.
    """
    vector, bitmap = path.with_suffix(".svg"), path.with_suffix(".png")
    with matplotlib.rc_context(RC):
        figure.savefig(vector, metadata={"Date": None, "Creator": "pianobench"})
        figure.savefig(bitmap, dpi=DOTS_PER_INCH, metadata={"Software": None})
    return vector, bitmap


def save_bitmap(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG alone, for a page; the same bytes for the same tables."""
    with matplotlib.rc_context(RC):
        figure.savefig(path, dpi=ON_A_PAGE, metadata={"Software": None})
    return path
