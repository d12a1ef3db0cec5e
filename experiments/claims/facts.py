"""What is told of a claim and where it stands, as plain data: for text, JSON and the report."""

from __future__ import annotations

from typing import Any

from pianobench.experiments.claims.experiment import experiments
from pianobench.experiments.claims.standing import Standing

LISTED = 12


def brief(standing: Standing) -> dict[str, Any]:
    """What the list of claims has of one."""
    claim, verdict = standing.claim, standing.verdict
    return {
        "id": claim.id,
        "verdict": verdict.word + (" *" if standing.amended else ""),
        "description": claim.statement,
        "place": claim.place,
        "source": claim.source,
        "cites": list(claim.cites),
        "tier": standing.tier,
        "reasons": list(verdict.reasons),
        "amended": standing.amended,
        "oldest": verdict.oldest,
        "experiments": list(claim.experiments),
    }


def facts(standing: Standing) -> dict[str, Any]:
    """All of a claim: what `brief` has, rule, grid, and the count of its parts."""
    from pianobench.algorithms import SOLVERS

    claim, fixed = standing.claim, standing.fixed
    grids = []
    for name in claim.experiments:
        experiment = experiments()[name]
        units = list(experiment.units(standing.tier))
        grids.append(
            {
                "experiment": name,
                "title": experiment.title,
                "evidence": experiment.evidence,
                "arms": list(experiment.arms()),
                "waiting": list(experiment.waiting(SOLVERS)),
                "data": list(dict.fromkeys(unit.dataset for unit in units)),
                "problems": list(dict.fromkeys(unit.problem for unit in units)),
                "threads": list(dict.fromkeys(unit.threads for unit in units)),
                "cells": len(units),
                "runs": experiment.runs(standing.tier) if units else 0,
                "seconds": experiment.seconds(standing.tier) if units else None,
            }
        )
    return {
        **brief(standing),
        "judged": claim.judged,
        "rule": claim.words(),
        "universal": claim.universal,
        "refutable": claim.refutable,
        "fixed": None if fixed is None else {"at": fixed.at.isoformat(), "commit": fixed.commit},
        "grid": grids,
        "parts": [{"part": p.title, "word": p.word, **p.counts} for p in standing.verdict.parts],
    }


def grid_line(one: dict[str, Any]) -> str:
    """One experiment of `facts`' grid in a line."""
    if not one["cells"]:
        return f"{one['experiment']}: no cell in this tier"
    waiting = f"; waits for {', '.join(one['waiting'])}" if one["waiting"] else ""
    return (
        f"{one['experiment']} ({one['evidence']}): {_some(one['data'])} × {', '.join(one['problems'])}: "
        f"{one['cells']} cells, {one['runs']} run{'s' * (one['runs'] != 1)} of each arm, "
        f"{one['seconds']:g} s each{waiting}"
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
