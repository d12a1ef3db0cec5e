"""Estimators for work with scikit-learn: softmax regression with a certified gap. A file each."""

from pianobench.algorithms.estimators.classifier import MultinomialLogisticRegression
from pianobench.algorithms.estimators.cross_validation import MultinomialLogisticRegressionCV
from pianobench.algorithms.estimators.path import Path
from pianobench.algorithms.estimators.streaming import StreamingLogisticRegression
from pianobench.algorithms.estimators.strengths import LIBRARIES, lam_of, strength_for

__all__ = [
    "LIBRARIES",
    "MultinomialLogisticRegression",
    "MultinomialLogisticRegressionCV",
    "Path",
    "StreamingLogisticRegression",
    "lam_of",
    "strength_for",
]
