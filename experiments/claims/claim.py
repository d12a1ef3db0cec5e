"""The ledger of claims: what the papers state, and the rule by which each statement is judged."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from pianobench.experiments.claims.experiment import experiments, probes
from pianobench.results.verdicts import Ask, Rival, RuleError, quantities

FOLDER = Path(__file__).parent
SOURCES = ("quote", "abstract", "reported", "implied")


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, in our words.

    Parameters
    ----------
    id : str
        P… for the PIANO paper, S… for the SA L-BFGS paper.
    statement, place : str
        What is claimed, and where in the paper.
    source : str
        One of `SOURCES`: said in the text or the abstract, reported of another paper, or implied.
    cites : tuple of str
        Keys of the bibliography, docs/references.md.
    judged : str
        The rule and its reasons for people.
    rule : tuple of Ask
        All must hold.
    universal, refutable : bool
        One contradicted part contradicts all of it; it can be contradicted or stay undecided.
    not_here : str or None
        Why this version cannot test it.
    """

    id: str
    statement: str
    place: str
    source: str
    cites: tuple[str, ...]
    judged: str
    rule: tuple[Ask, ...] = ()
    universal: bool = False
    refutable: bool = False
    not_here: str | None = None

    @property
    def digest(self) -> str:
        """Hash of all that decides its verdict: rule, grids and what the words of the rule mean."""
        rule = [{f.name: getattr(ask, f.name) for f in fields(ask)} for ask in self.rule]
        grids = {name: experiments()[name].table for name in self.experiments}
        known = quantities(probes())
        meaning = {ask.of: known[ask.of] for ask in self.rule}
        parts = [rule, grids, meaning, self.universal, self.refutable, self.not_here]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_plain).encode()).hexdigest()

    @property
    def experiments(self) -> tuple[str, ...]:
        """Experiments whose rows count."""
        return tuple(dict.fromkeys(name for ask in self.rule for name in ask.within))

    def words(self) -> list[str]:
        """Its rule, a sentence for each ask."""
        return [ask.words(quantities(probes())) for ask in self.rule]


def _plain(value: Any) -> Any:
    return {f.name: getattr(value, f.name) for f in fields(value)}


@cache
def ledger() -> tuple[Claim, ...]:
    """All claims, in the order of the file.

    Raises
    ------
    RuleError
        A claim lacks a field, has one that is not known, or its rule cannot be asked.
    """
    table = tomllib.loads((FOLDER / "ledger.toml").read_text("utf-8"))
    return tuple(_claim(name, entry) for name, entry in table.items())


def _claim(name: str, entry: Mapping[str, Any]) -> Claim:
    try:
        rule = tuple(_ask(ask) for ask in entry.get("rule", ()))
        claim = Claim(id=name, **{**entry, "cites": tuple(entry["cites"]), "rule": rule})
        if claim.source not in SOURCES:
            raise RuleError(f"source = {claim.source!r}: one of {', '.join(SOURCES)} is expected")
        if bool(claim.rule) == (claim.not_here is not None):
            raise RuleError("a claim has a rule, or says in not_here why it cannot be tested")
        for ask in claim.rule:
            ask.check(quantities(probes()))
            unknown = [one for one in ask.within if one not in experiments()]
            if unknown:
                raise RuleError(f"within names {unknown[0]!r}: there is no such experiment")
    except (TypeError, KeyError, RuleError) as error:
        raise RuleError(f"claim {name}: {error}") from error
    return claim


def _ask(entry: Mapping[str, Any]) -> Ask:
    rivals = tuple(Rival(rival["published"], tuple(rival.get("best", ()))) for rival in entry.get("against", ()))
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Ask(**{**given, "against": rivals})
