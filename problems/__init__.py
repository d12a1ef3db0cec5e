"""The objective: loss, penalties, certificates and conditioning, and the engines that compute them."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.problems, not problems: the folder is a part of pianobench")
