"""Benchmarks and reproduction of multinomial and sparse multinomial logistic regression.

The code lives in the folders ``datasets``, ``problems``, ``algorithms``, ``experiments``, ``results`` and
``plots`` at the root of the repository, and imports as ``pianobench.datasets`` and so on. The names listed in
`__all__` are loaded on first use, so that ``import pianobench`` costs nothing.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pianobench.algorithms import make_solver, solve
    from pianobench.algorithms.estimators import (
        MultinomialLogisticRegression,
        MultinomialLogisticRegressionCV,
        StreamingLogisticRegression,
    )
    from pianobench.experiments.compare_api import compare
    from pianobench.problems import L0, L1, L2, ElasticNet, Problem, certificate

__version__ = "0.1.0.dev0"
__all__ = [
    "L0",
    "L1",
    "L2",
    "ElasticNet",
    "MultinomialLogisticRegression",
    "MultinomialLogisticRegressionCV",
    "Problem",
    "StreamingLogisticRegression",
    "__version__",
    "certificate",
    "compare",
    "make_solver",
    "solve",
]

# In a wheel the folders lie beside this file; in a checkout they lie at the repository's root.
_here = Path(__file__).resolve().parent
if not (_here / "algorithms" / "__init__.py").is_file():
    __path__.append(str(_here.parents[1]))

_HOME = {
    "L0": "pianobench.problems",
    "L1": "pianobench.problems",
    "L2": "pianobench.problems",
    "ElasticNet": "pianobench.problems",
    "MultinomialLogisticRegression": "pianobench.algorithms.estimators",
    "MultinomialLogisticRegressionCV": "pianobench.algorithms.estimators",
    "Problem": "pianobench.problems",
    "StreamingLogisticRegression": "pianobench.algorithms.estimators",
    "certificate": "pianobench.problems",
    "compare": "pianobench.experiments.compare_api",
    "make_solver": "pianobench.algorithms",
    "solve": "pianobench.algorithms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next access is a plain look-up
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
