"""When each rule was fixed: ``history.toml`` has a line for each state that a claim's rule has had.

A rule that is not in it has not been fixed, and gives no verdict. The date written there holds until git knows the
commit that brought the line; then that commit's date does, so that a date written too early changes nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pianobench.experiments.claims.claim import FOLDER, Claim

FILE = FOLDER / "history.toml"


@dataclass(frozen=True)
class Fixed:
    """When a rule was fixed, and the commit that did it; no commit where git does not know the line."""

    at: datetime
    commit: str | None


def fixed(claim: Claim, file: Path = FILE) -> Fixed | None:
    """When the present rule of a claim was fixed; None if it was not."""
    noted = _noted(file).get(claim.id, {}).get(claim.digest)
    if noted is None:
        return None
    commit, at = _commits(file).get(claim.digest, (None, noted))
    return Fixed(at, commit)


def amended(fixed: Fixed, oldest: str | None) -> bool:
    """Whether a rule is newer than the oldest measurement (UTC, ISO 8601) that its verdict rests on."""
    return oldest is not None and datetime.fromisoformat(oldest) < fixed.at


def fix(claims: Iterable[Claim], now: datetime, file: Path = FILE) -> list[str]:
    """Note the present rules that are not noted yet; return the ids of their claims."""
    noted = {name: dict(states) for name, states in _noted(file).items()}
    new = [claim for claim in claims if claim.digest not in noted.get(claim.id, {})]
    for claim in new:
        noted.setdefault(claim.id, {})[claim.digest] = now.replace(microsecond=0)
    lines = ["# When each rule was fixed, by the hash of rule and grids. `pianobench claims --fix` adds lines."]
    for name, states in noted.items():
        lines += [
            "",
            f"[{name}]",
            *(f'"{digest}" = {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}' for digest, at in states.items()),
        ]
    if new:
        file.write_text("\n".join(lines) + "\n", "utf-8")
    return [claim.id for claim in new]


def _noted(file: Path) -> Mapping[str, Mapping[str, datetime]]:
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


@cache
def _commits(file: Path) -> Mapping[str, tuple[str, datetime]]:
    """The commit that brought each digest into the file, and its date; one call of git for all."""
    git = shutil.which("git")
    if git is None:
        return {}
    command = [git, "-C", str(file.parent), "log", "--reverse", "--format=commit %H %cI", "-p", "-U0", "--", file.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found: dict[str, tuple[str, datetime]] = {}
    commit, at = "", datetime.min
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        if line.startswith("commit "):
            _, commit, date = line.split()
            at = datetime.fromisoformat(date)
        elif line.startswith('+"'):
            found.setdefault(line.split('"')[1], (commit, at))
    return found
