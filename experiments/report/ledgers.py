"""Where the claims stand by one store: the runs of a tier, and a verdict on each claim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pianobench.experiments.claims import Standing, ledger, standings
from pianobench.experiments.claims.standing import gathered
from pianobench.results.store import Store, Tables, load

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
BESIDE = "laptop"
"""The committed tier that stands beside a local one, where the local tier itself is not committed."""


@dataclass(frozen=True)
class Ledger:
    """One store in one tier.

    Parameters
    ----------
    tier : str
    local : bool
        Measured on this machine; else committed with the code.
    runs : tuple of (str, Tables)
        Name and tables of those that have rows of the tier, oldest first.
    standings : tuple of Standing
    """

    tier: str
    local: bool
    runs: tuple[tuple[str, Tables], ...]
    standings: tuple[Standing, ...]

    @property
    def id(self) -> str:
        """Beginning of its anchors."""
        return "here" if self.local else "committed"


def ledgers(root: Path, tier: str, reference: Path = REFERENCE) -> tuple[Ledger, ...]:
    """The local ledger of a tier and the committed one, each where it has runs; an empty local one if none has.

    Parameters
    ----------
    root : Path
        Store of this machine.
    tier : str
    reference : Path
        Committed tables: ``<reference>/<tier>/<run>``, laid out as a store.

    Raises
    ------
    StoreError
        A run is damaged or of another version.
    """
    here = _runs(Store(root), tier)
    found = [_ledger(tier, True, here)] if here else []
    for other in dict.fromkeys((tier, BESIDE)):
        if runs := _runs(Store(reference / other), other):
            found.append(_ledger(other, False, runs))
            break
    return tuple(found or [_ledger(tier, True, ())])


def comparisons(root: Path) -> tuple[tuple[str, Tables], ...]:
    """The newest run of `pianobench compare` on this machine, if there is one."""
    return _runs(Store(root), "compare")[-1:]


def _ledger(tier: str, local: bool, runs: tuple[tuple[str, Tables], ...]) -> Ledger:
    evidence = gathered((tables for _, tables in runs), tier)
    return Ledger(tier, local, runs, tuple(standings(ledger(), tier, evidence)))


def _runs(store: Store, tier: str) -> tuple[tuple[str, Tables], ...]:
    loaded = ((name, load(name, store.root)) for name in store.runs())
    return tuple((name, tables) for name, tables in loaded if (tables.rows["tier"] == tier).any())
