"""Pure functions from tables to figures, and the report."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.plots, not plots: the folder is a part of pianobench")
