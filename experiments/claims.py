"""The ledger of claims: what the two papers state, and which experiments have rows for it."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LEDGER = Path(__file__).parent / "claims.toml"


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, in our words.

    Parameters
    ----------
    id : str
        P… for the PIANO paper, S… for the SA L-BFGS paper.
    statement : str
        What is claimed.
    place : str
        Where in the paper.
    experiments : tuple of str
        Configurations whose rows bear on it.
    """

    id: str
    statement: str
    place: str
    experiments: tuple[str, ...]


def ledger() -> tuple[Claim, ...]:
    """All claims, in the order of the file."""
    table = tomllib.loads(LEDGER.read_text("utf-8"))
    return tuple(Claim(id=key, **{**entry, "experiments": tuple(entry["experiments"])}) for key, entry in table.items())


def standing(claim: Claim, experiments_with_rows: Iterable[str]) -> str:
    """What can be said of a claim after a run. Never a verdict: the rules of judging are not written yet."""
    seen = sorted(set(claim.experiments) & set(experiments_with_rows))
    if seen:
        return f"has rows ({', '.join(seen)}); its rule of judging is not written yet, so no verdict"
    return "no run yet"
