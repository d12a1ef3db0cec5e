"""The claims of the two papers: statements, rules fixed before the evidence, grids, and verdicts on stored tables.

``ledger.toml`` holds claims and rules, ``experiments.toml`` the grids that they are judged on, ``history.toml`` when
each rule was fixed.
"""

from pianobench.experiments.claims.claim import Claim, ledger
from pianobench.experiments.claims.experiment import Experiment, experiments, probes
from pianobench.experiments.claims.history import fix as fix_rules
from pianobench.experiments.claims.standing import Standing, evidence, standings, verdict_on

__all__ = [
    "Claim",
    "Experiment",
    "Standing",
    "evidence",
    "experiments",
    "fix_rules",
    "ledger",
    "probes",
    "standings",
    "verdict_on",
]
