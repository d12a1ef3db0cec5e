"""The ledger of claims: complete, asked of grids that exist, and each rule saying each word when the tables do."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from commands import here
from planted_claims import TIER, Planted, Side, grid, planted

from pianobench.algorithms import SOLVERS
from pianobench.algorithms.peers import PEERS
from pianobench.experiments.claims import Claim, experiments, history, ledger, probes, standings, verdict_on
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.verdicts import Evidence, Unit

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = {claim.id: claim for claim in ledger()}
NOTHING = Evidence(frame([], ROWS), frame([], CURVES), frame([], PROBES))
RULED = [claim for claim in CLAIMS.values() if claim.rule]


def word(claim: Claim, tables: Planted) -> str:
    return verdict_on(claim, TIER, tables.evidence).word


def everywhere(side: str, absent: str = "against") -> Side:
    """One side in all cells; where the effect is absent, another."""
    return lambda _number, _cell, unit: absent if unit.evidence == "absent" else side


def highest(claim: Claim) -> str:
    """The best that its rule can say."""
    real = all(any(experiments()[name].evidence == "real" for name in ask.within) for ask in claim.rule)
    return "undecided" if claim.refutable else "reproduced" if real else "partly"


def test_all_claims_are_there_with_all_that_a_reader_asks_for() -> None:
    assert list(CLAIMS) == [*(f"P{i}" for i in range(1, 20)), *(f"S{i}" for i in (*range(1, 11), *range(12, 17)))]
    for claim in CLAIMS.values():
        assert claim.statement.endswith(".")
        assert len(claim.judged) > 50, "the rule in plain words"
        assert claim.place.startswith(("PIANO", "SA L-BFGS"))
    assert [c.id for c in CLAIMS.values() if c.not_here] == ["S9", "S14"]


def test_every_experiment_is_asked_for_and_every_probe_is_explained() -> None:
    asked = {name for claim in RULED for name in claim.experiments}
    assert asked == set(experiments())
    measured = {probe for one in experiments().values() for probe in one.probes}
    assert measured == set(probes())


@pytest.mark.parametrize("claim", RULED, ids=lambda c: c.id)
def test_what_a_rule_names_is_an_arm_of_its_experiments(claim: Claim) -> None:
    for ask in claim.rule:
        wanted = {ask.arm, *(arm for rival in ask.against for arm in rival.arms)}
        for name in ask.within:
            experiment = experiments()[name]
            if ask.of in probes():
                assert ask.of in experiment.probes, f"{name} does not measure {ask.of}"
            else:
                assert wanted <= set(experiment.arms()), f"{name} lacks {wanted - set(experiment.arms())}"


@pytest.mark.parametrize("claim", RULED, ids=lambda c: c.id)
def test_a_rule_says_all_that_it_can(claim: Claim) -> None:
    assert word(claim, planted(claim, everywhere("for"))) == highest(claim)
    assert word(claim, planted(claim, everywhere("against"))) == "contradicted"
    assert word(claim, planted(claim, everywhere("missing"))) == "undecided"
    (found,) = standings(
        [dataclasses.replace(claim, not_here="it is not built")], TIER, planted(claim, everywhere("for"))
    )
    assert (found.verdict.word, found.verdict.reasons) == ("not testable here", ("it is not built",))


@pytest.mark.parametrize("claim", [c for c in RULED if not c.universal], ids=lambda c: c.id)
def test_a_rule_says_partly_where_the_cells_differ_or_its_parts(claim: Claim) -> None:
    def side(number: int, cell: int, unit: Unit) -> str:
        if unit.evidence == "absent":
            return "against"
        return "for" if (number if len(claim.rule) > 1 else cell) % 2 else "against"

    found = verdict_on(claim, TIER, planted(claim, side).evidence)
    places = [place for part in found.parts if part.evidence != "absent" for place in part.places]
    if len(places) == 1:  # one cell, or one line along an axis, cannot differ from itself
        assert len(claim.rule) == 1
    else:
        assert found.word == "partly"


@pytest.mark.parametrize("claim", [c for c in RULED if c.universal], ids=lambda c: c.id)
def test_one_cell_contradicts_what_is_claimed_of_all(claim: Claim) -> None:
    last = len(claim.rule) - 1
    evidence = planted(claim, lambda number, cell, _: "against" if (number, cell) == (last, 0) else "for")
    assert word(claim, evidence) == "contradicted"


@pytest.mark.parametrize(
    "claim", [c for c in RULED if any(u.evidence == "absent" for u in grid(c))], ids=lambda c: c.id
)
def test_an_effect_that_is_seen_where_there_is_none_is_no_evidence(claim: Claim) -> None:
    assert word(claim, planted(claim, everywhere("for", absent="for"))) == "undecided"


def test_a_fifth_of_the_cells_may_be_missing_and_no_more() -> None:
    wide = CLAIMS["P5"]
    only = dataclasses.replace(wide, rule=tuple(ask for ask in wide.rule if ask.within == ("smooth-real",)))
    cells = len(grid(only))
    for allowed in (cells // 5, cells // 5 + 1):
        evidence = planted(only, lambda _, cell, __, allowed=allowed: "missing" if cell < allowed else "for")
        assert word(only, evidence) == ("reproduced" if allowed <= 0.2 * cells else "undecided")


def test_times_of_single_runs_decide_nothing() -> None:
    claim = dataclasses.replace(CLAIMS["P9"], rule=CLAIMS["P9"].rule[:1])
    evidence = planted(claim, everywhere("for"))
    assert word(claim, evidence) == "reproduced"
    single = dataclasses.replace(evidence, rows=evidence.rows[evidence.rows["repeat"] < 4])
    assert word(claim, single) == "undecided"


def test_against_the_published_form_alone_it_is_partly() -> None:
    claim = dataclasses.replace(CLAIMS["P8"], rule=CLAIMS["P8"].rule[:2])
    evidence = planted(claim, everywhere("for"))
    best = evidence.rows["solver"].isin(["newton-cg", "lc-centred"])
    fast = evidence.curves["key"].isin(evidence.rows.loc[best, "key"])
    curves = evidence.curves.copy()
    curves.loc[fast, ["seconds", "gradient_equivalents"]] /= 100
    assert word(claim, dataclasses.replace(evidence, curves=curves)) == "partly"
    without = dataclasses.replace(evidence, rows=evidence.rows[~best])
    assert word(claim, without) == "undecided", "a rival's best form that was not run is not beaten"


def test_history_has_the_present_state_of_every_rule() -> None:
    missing = [claim.id for claim in RULED if history.fixed(claim) is None]
    assert not missing, "a changed rule is noted by `pianobench claims --fix`"


def test_a_changed_rule_is_another_one_and_gives_no_verdict_until_it_is_fixed(tmp_path: Path) -> None:
    claim = CLAIMS["P9"]
    softer = dataclasses.replace(claim, rule=tuple(dataclasses.replace(ask, above=1.05) for ask in claim.rule))
    assert softer.digest != claim.digest
    (found,) = standings([softer], TIER, NOTHING)
    assert found.verdict.word == "undecided"
    assert "has not been fixed" in found.verdict.reasons[0]
    now = datetime(2026, 7, 1, tzinfo=UTC)
    assert history.fix([claim, softer], now, tmp_path / "history.toml") == ["P9", "P9"]
    assert history.fix([claim, softer], now, tmp_path / "history.toml") == []
    fixed = history.fixed(softer, tmp_path / "history.toml")
    assert fixed == history.Fixed(now, None)
    assert history.amended(fixed, "2026-06-30T23:59:59Z")
    assert not history.amended(fixed, "2026-07-01T00:00:01Z")
    assert not history.amended(fixed, None)


def test_a_date_that_was_written_too_early_gives_way_to_that_of_its_commit(tmp_path: Path) -> None:
    """It would hide a rule that was changed after the evidence."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    claim, file = CLAIMS["P9"], tmp_path / "history.toml"
    early = datetime(2001, 1, 1, tzinfo=UTC)
    history.fix([claim], early, file)
    for words in (["init", "-q"], ["add", file.name], ["commit", "-q", "-m", "rules"]):
        subprocess.run([*git, *words], check=True)
    fixed = history.fixed(claim, file)
    assert fixed is not None
    assert fixed.at > datetime(2026, 1, 1, tzinfo=UTC)
    assert re.fullmatch(r"[0-9a-f]{40}", str(fixed.commit))
    assert history.amended(fixed, "2025-12-31T00:00:00Z")


def test_an_ask_has_its_control_and_its_real_data_in_every_tier_in_which_it_is_asked() -> None:
    """Without the grid of an effect that is absent, the one with the effect would stand alone."""
    for claim in RULED:
        for ask in claim.rule:
            tiers = {experiments()[name].tiers for name in ask.within if name != "smoke"}
            assert len(tiers) == 1, f"{claim.id}: {ask.of}"


def test_the_ledger_as_text_and_json(tmp_path: Path) -> None:
    text = here("claims", cwd=tmp_path).stdout
    assert re.search(r"^P8 +undecided", text, re.MULTILINE)
    assert re.search(r"^S9 +not testable here", text, re.MULTILINE)
    entries = json.loads(here("claims", "--json", cwd=tmp_path).stdout)
    assert [entry["id"] for entry in entries] == list(CLAIMS)
    one = json.loads(here("claims", "P8", "--json", cwd=tmp_path).stdout)
    assert one["rule"][0].startswith("the ratio, seconds to gap 0.001 and 1e-06 of irls (at its best: newton-cg)")
    assert {g["experiment"] for g in one["grid"]} == {"smooth-real", "smooth-grid", "lc-inner"}
    told = here("claims", "S10", cwd=tmp_path).stdout
    for words in ("verdict", "1. the spread", "nothing of its grid has been measured"):
        assert words in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claims", "P99"], "no claim is called 'P99': there are P1, P2"),
        (["claims", "--tier", "huge"], "--tier 'huge': one of smoke, laptop, full"),
        (["reproduce", "--experiment", "smoth-real"], "--experiment 'smoth-real': tier smoke has smoke"),
    ],
)
def test_mistakes_on_the_command_line(words: list[str], message: str, tmp_path: Path) -> None:
    done = here(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_tier_is_outlined_without_running_it(tmp_path: Path) -> None:
    told = json.loads(here("reproduce", "--tier", "laptop", "--dry-run", "--json", cwd=tmp_path).stdout)
    by_name = {one["experiment"]: one for one in told["experiments"]}
    assert set(by_name) == set(experiments()) - {"smoke"}
    real = by_name["smooth-real"]
    assert real["planned"] == real["cells"] == 3 * 2 * 8
    assert by_name["step-cost"]["planned"] == by_name["step-cost"]["cells"] == 3 * 5, "two quantities, one process"
    assert not [one for one in told["experiments"] if one["waiting"]], "all that the claims ask for is there"
    assert sum(one["minutes"] for one in told["experiments"]) <= 40, "what the tier may take, every cell to its cap"
    assert real["minutes"] > 0
    assert real["megabytes"] > 1
    assert not list(tmp_path.iterdir())


def test_citations_are_keys_of_the_bibliography() -> None:
    text = (ROOT / "docs" / "references.md").read_text("utf-8")
    known = set(re.findall(r"^- \[(\w+)\] ", text, re.MULTILINE))
    cited = {key for claim in CLAIMS.values() for key in claim.cites} | {entry.citation for entry in SOLVERS.values()}
    assert cited <= known, cited - known
    assert all(" " in peer.citation for peer in PEERS.values()), "a library's name and version"
