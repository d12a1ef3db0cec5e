"""The methods: one file each, the registry, and the loop that all of them share."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.algorithms, not algorithms: the folder is a part of pianobench")
