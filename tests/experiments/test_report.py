"""The report: what it says of claims and where numbers come from, and the page as a browser shows it."""

from __future__ import annotations

import math
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser import WIDTHS, look
from commands import here
from planted_tables import run, tables
from suites import once

from pianobench.experiments import provenance
from pianobench.experiments.claims import ledger
from pianobench.experiments.report import MOST_BYTES, page, prose
from pianobench.experiments.report.entries import _numbers
from pianobench.experiments.report.ledgers import ledgers
from pianobench.experiments.report.pictures import Picture
from pianobench.experiments.report.tiers import cuts
from pianobench.results.store import Store
from pianobench.results.verdicts.interval import UNKNOWN, Interval

FAULTY = """<!DOCTYPE html><html lang="en"><title>x</title><body><h1 id="a">One</h1><h3 id="a">Three</h3>
<a href="#nowhere">x</a><img src="data:image/png;base64,AAAA" alt=""><img src="http://example.invalid/x.png" alt="x">
<table><tr><td>1</td></tr></table><div style="width: 3000px">wide</div><script>undefinedFunction()</script>"""
CELLS = (("digits", "l2:0.1max", "l2"), ("digits", "l1:0.3max", "l1"), ("wine_standardised", "l2:0.1max", "l2"))


def store(root: Path, tier: str = "smoke", experiment: str = "smoke", **changes: Any) -> Path:
    """One run of PIANO on three cells: F rises in the second, and the gap is never reached in the third."""
    runs = []
    for number, (dataset, problem, penalty) in enumerate(CELLS):
        about: dict[str, Any] = {
            "experiment": experiment, "tier": tier, "evidence": "real", "dataset": dataset, "penalty": penalty,
            "problem": problem, "label": f"{dataset}/{problem}/piano/seed0/threads1", "disturbed": None, "repeat": 0,
            **changes,
        }  # fmt: skip
        row, curve = run("piano", None if number == 2 else 1.0, level=0.1, **about)
        values = [1.0, 1.25 if number == 1 else 0.5, 0.4]
        curve = [{**point, "objective": value} for point, value in zip(curve, values, strict=False)]
        runs.append(({**row, "status": "stalled" if number == 2 else row["status"]}, curve))
    made = tables(runs)
    manifest = provenance.describe(experiment, ["pianobench"]) | {
        "title": "Planted", "machine": {"cpu": changes.get("machine", "A processor"), "cores_usable": 3},
        "started_at": "2026-01-02T03:04:05Z", "commit": "0123456789" * 4, "changed_since_commit": False,
        "load_after": 0.5,
    }  # fmt: skip
    records = [{str(k): v for k, v in one.items()} for one in made.rows.to_dict("records")]
    points = [{str(k): v for k, v in one.items()} for one in made.curves.to_dict("records")]
    Store(root).save_run(f"{experiment}-1", records, points, manifest, "")
    return root


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sections on committed tables and with a dot for each figure: drawing takes seconds."""
    dot = Picture("data:image/png;base64,iVBORw0KGgo=", "a dot", "A dot.", 1, 1)
    monkeypatch.setattr(page.committed, "sections", lambda: ())
    monkeypatch.setattr(page, "of_run", lambda _tables: [dot])


def article(text: str, anchor: str) -> str:
    """What a reader reads of one claim."""
    (found,) = re.findall(rf'<article id="{anchor}".*?</article>', text, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", found)).split())


def whole(folder: Path) -> str:
    """All that a page can have: local numbers and committed ones, all sections."""
    here, reference = store(folder / "here"), folder / "reference"
    store(reference / "laptop", "laptop", "smooth-real", machine="Another processor")
    return page.report(here, "smoke", reference)


def test_the_page_in_a_browser(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    text = once(tmp_path_factory, "report", whole)
    seen = look(text, tmp_path)
    assert seen.faults == set(), seen
    assert [one["width"] for one in seen.widths] == list(WIDTHS)
    for one in seen.widths:
        assert one["shown"] >= 7  # two of runs, five of streams
        assert one["tables"] >= 20
        assert one["scripts"] == 0
    assert len(text.encode()) <= MOST_BYTES
    for claim in ledger():
        assert text.count(f'href="#here-{claim.id}"') >= 2  # by verdict, and in the list
    for said in ("our derivation", "patent pending", "Table 1", "Table 2", "lbfgs-preconditioned", "Kendall"):
        assert said in text


def test_the_browser_sees_planted_faults(tmp_path: Path) -> None:
    names = {"links", "images", "mute", "twice", "bare", "sideways", "headings", "console", "requests"}
    assert look(FAULTY, tmp_path).faults == names


@pytest.mark.usefixtures("alone")
def test_a_claim_shows_rule_grid_and_each_cell(tmp_path: Path) -> None:
    text = page.report(store(tmp_path / "here"), "smoke", tmp_path)
    rises = article(text, "here-P1")
    assert "contradicted by the rows of tier smoke" in rises
    assert "the rise of piano is below 1e-12, in every cell of smoke" in rises
    assert "smoke (real): digits, wine_standardised × l2:0.1max, l1:0.3max: 4 cells, 1 run of each arm, 5 s" in rises
    assert "digits/l2:0.1max 0 exact for" in rises
    assert "digits/l1:0.3max 0.25 exact against" in rises
    assert "Not measured: wine_standardised/l1:0.3max" in rises
    assert "2 for, 1 against, 1 not measured" in rises
    assert "pianobench reproduce --tier smoke --experiment smoke --only digits/l2:0.1max/ --out again" in rises
    assert "wine_standardised/l2:0.1max not reached against" in article(text, "here-P2")
    assert "not testable here" in article(text, "here-S9")


@pytest.mark.usefixtures("alone")
def test_a_claim_without_evidence_says_so(tmp_path: Path) -> None:
    text = page.report(tmp_path / "here", "laptop", tmp_path)
    assert "Nothing of tier laptop has been measured on this machine" in text
    testable = [claim for claim in ledger() if claim.not_here is None]
    assert f"{len(testable)} of the {len(ledger())} claims have no evidence" in text
    for claim in testable:
        assert "No evidence: nothing of its grid has been measured" in article(text, f"here-{claim.id}")


@pytest.mark.usefixtures("alone")
def test_committed_numbers_stand_apart_and_say_that_they_were_not_run_here(tmp_path: Path) -> None:
    store(tmp_path / "reference" / "laptop", "laptop", "smooth-real", machine="Another processor")
    banner = "measured on Another processor, 3 cores, 2026-01-02, commit 012345678901; not run here"
    absent = page.report(tmp_path / "here", "laptop", tmp_path / "reference")
    assert banner in absent
    assert "as measured on this machine" not in absent
    both = page.report(store(tmp_path / "here"), "smoke", tmp_path / "reference")
    assert banner in both
    assert both.index("as measured on this machine") < both.index("by the committed numbers")
    of_stores = ledgers(tmp_path / "here", "smoke", tmp_path / "reference")
    machines = [{name for _, one in ledger.runs for name in one.rows["machine"]} for ledger in of_stores]
    assert machines == [{"A processor, 2 cores"}, {"Another processor"}]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("when", "said"), [("2026-01-02T00:00:00Z", True), ("2035-01-02T00:00:00Z", False)])
def test_a_rule_that_is_newer_than_its_evidence_is_said_to_be(tmp_path: Path, when: str, said: bool) -> None:
    text = page.report(store(tmp_path / "here", measured_at=when), "smoke", tmp_path)
    assert ("Rule amended after evidence. It was fixed" in article(text, "here-P1")) == said
    assert ("no claim’s." in text) == (not said)


@pytest.mark.usefixtures("alone")
def test_names_are_text_and_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    root = store(tmp_path / "here", disturbed="load 9", reason="<script>alert(1)</script>", machine="<b>odd</b>")
    first, again = (page.report(root, "smoke", tmp_path) for _ in range(2))
    assert first == again
    assert "&lt;b&gt;odd&lt;/b&gt;" in first
    assert "<script>" not in first
    assert "<b>" not in first
    assert "3 of 3 measurements shared it with other work (column <code>disturbed</code>)" in first


@pytest.mark.usefixtures("alone")
def test_a_figure_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path / "here")
    assert "data:image/png" in page.report(root, "smoke", tmp_path)
    monkeypatch.setattr(page, "FIGURE_BYTES", 10)
    text = page.report(root, "smoke", tmp_path)
    assert "data:image/png" not in text
    assert "pianobench redraw smoke-1" in text


@pytest.mark.usefixtures("alone")
def test_the_command_writes_the_page_and_prints_its_place(tmp_path: Path) -> None:
    store(tmp_path / "runs")
    done = here("report", "--tier", "smoke", "--root", "runs", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "runs/report-smoke.html\n"), done.stderr
    again = here("report", "--tier", "smoke", "--root", "runs", "--out", "new/page.html", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    text = (tmp_path / "new" / "page.html").read_text("utf-8")
    assert text == (tmp_path / "runs" / "report-smoke.html").read_text("utf-8")
    (command,) = set(re.findall(r"pianobench (reproduce --tier smoke --experiment .*?)</code>", text))
    listed = here(*shlex.split(unescape(command)), "--dry-run", cwd=tmp_path)
    assert "digits/l2:0.1max/piano/seed0/threads1" in listed.stdout
    assert "2 cells" in listed.stdout


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(2.0, 2.0, 2.0), ("2", "exact")),
        (Interval(1.5, 2.5, 2.0, 0.1, 4), ("2", "1.5 to 2.5")),
        (Interval(math.inf, math.inf, math.inf), ("not reached", "")),
        (Interval(3.0, math.inf, 3.0), ("", "at least 3")),
        (Interval(3.0, math.inf, 4.0, 0.1, 4), ("4", "at least 3")),
        (Interval(0.0, 1234.0, math.nan), ("", "0 to 1,234")),
        (UNKNOWN, ("too few runs, or nothing to compare", "")),
    ],
)
def test_numbers_of_a_cell(interval: Interval, expected: tuple[str, str]) -> None:
    assert _numbers(interval) == expected


def test_a_tier_names_what_it_cuts() -> None:
    smoke, laptop, full = ({one.name: one for one in cuts(tier)} for tier in ("smoke", "laptop", "full"))
    assert smoke["smooth-real"].cut == "all of it"
    assert {one.cut for one in full.values() if one.full} == {"nothing"}
    cut = laptop["smooth-grid"]
    assert 0 < cut.cells < cut.full
    assert re.search(r"\d+ of \d+ data sets; n to [\d,]+, not [\d,]+; ", cut.cut)
    assert re.search(r"\d+ of \d+ s a run", cut.cut)


def test_markdown_becomes_parts_of_the_page() -> None:
    told = prose.html("## Head\n\n| a | b |\n|---|---|\n| `x` | <i>1</i> |\n\n[out](other.md) <b>", 3, "Numbers")
    assert "<h3>Head</h3>" in told
    assert '<th scope="col">a</th>' in told
    assert '<th class="short" scope="row"><code>x</code></th>' in told
    assert 'aria-label="Numbers"' in told
    assert "href" not in told
    assert "<b>" not in told
    assert "<i>" not in told
    assert prose.section("# T\n## A\none\n## B\ntwo\n", "A") == "one"
    with pytest.raises(KeyError):
        prose.section("## A\n", "C")
    with pytest.raises(KeyError):
        prose.html("![x](absent.png)", 3, "Numbers")
