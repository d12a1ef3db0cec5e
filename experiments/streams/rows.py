"""Streams of logistic rows whose law changes in a known way: none, at once, or by degrees, at any click rate."""

from pianobench.datasets.turning import STRENGTH, D, Stream, intercept, weights

__all__ = ["STRENGTH", "D", "Stream", "intercept", "weights"]
