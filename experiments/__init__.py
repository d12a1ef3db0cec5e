"""Configurations, claims, the runner and the command line."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.experiments, not experiments: the folder is a part of pianobench")
