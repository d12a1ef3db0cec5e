"""Verdicts on claims: a rule written beforehand, the evidence in the tables, one of five words with its reasons.

`rule` says what a rule is, `evidence` takes its numbers out of the tables, `interval` says what a number may be,
`verdict` counts the cells and speaks. Nothing here knows a method, a paper or a file.
"""

from pianobench.results.verdicts.evidence import Evidence, Unit
from pianobench.results.verdicts.rule import Ask, Rival, RuleError, quantities
from pianobench.results.verdicts.verdict import WORDS, Part, Verdict, judge

__all__ = ["WORDS", "Ask", "Evidence", "Part", "Rival", "RuleError", "Unit", "Verdict", "judge", "quantities"]
