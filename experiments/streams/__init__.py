"""Experiments on rows that keep coming: Table 2 of the second paper, streams with drift, flaws of its rule."""
