"""The objective: loss, penalties, certificates and conditioning, and the engines that compute them."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.problems, not problems: the folder is a part of pianobench")

from pianobench.problems.certificates import Certificate, certificate, kkt_residual
from pianobench.problems.cost import Cost
from pianobench.problems.penalties import L0, L1, L2, ElasticNet, Penalty
from pianobench.problems.problem import Problem
from pianobench.problems.separability import separability

__all__ = [
    "L0",
    "L1",
    "L2",
    "Certificate",
    "Cost",
    "ElasticNet",
    "Penalty",
    "Problem",
    "certificate",
    "kkt_residual",
    "separability",
]
