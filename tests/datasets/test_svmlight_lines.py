"""A block of svmlight read at once, line by line, and by a simple reader: the same bits, and the same lines refused."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pianobench.datasets.readers import svmlight
from pianobench.datasets.readers.parsed import Unreadable
from pianobench.datasets.readers.svmlight_lines import Rule, by_line

# Decimals as programs write them, and as nobody does.
USUAL = st.builds(
    str.format,
    st.sampled_from(["{!r}", "{:.17g}", "{:.3f}", "{:.6e}", "{:.40e}"]),
    st.floats(allow_nan=False, allow_infinity=False),
)
ODD = st.from_regex(r"[-+]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=150)
@given(st.lists(USUAL | ODD, max_size=30))
def test_decimals_are_rounded_as_python_does(written: list[str]) -> None:
    text = "".join(f"1 {i}:{value}\n" for i, value in enumerate(written)).encode()
    expected, rule = np.array([float(value) for value in written]), Rule(False, None, None)
    block = svmlight._at_once(text, rule)
    if np.isfinite(expected).all():
        assert block is not None
        assert block[3].tobytes() == by_line(text, rule, 1, Path())[3].tobytes() == expected.tobytes()
    else:
        assert block is None


def content(text: bytes, rule: Rule, at_once: bool) -> tuple[Any, ...] | None:
    """Rows as one of the two ways reads them, or None where it does not."""
    rows = svmlight._Rows()
    try:
        block = svmlight._at_once(text, rule) if at_once else by_line(text, rule, 1, Path())
    except Unreadable:
        return None
    if block is None or not rows.add(*block):
        return None
    arrays = (bytes(part) for part in (rows.labels, rows.lengths, rows.indices, rows.values))
    return (*arrays, rows.unsorted, rows.shared, rows.lowest, rows.highest)


def some_lines(rng: random.Random, fields: bool) -> bytes:
    """A few lines, right but for a few letters."""
    lines = []
    for _ in range(rng.randint(0, 5)):
        entries = [
            (f"{rng.randint(0, 3)}:" if fields else "")
            + f"{rng.randint(0, 12)}:{rng.choice(['1', '-0.5', '2e1', '0'])}"
            for _ in range(rng.randint(0, 3))
        ]
        label, end = rng.choice(["1", "-1", "+2", "3.0"]), rng.choice(["", " ", " # a:b", "\r"])
        lines.append(rng.choice([" ", "  ", "\t"]).join([label, *entries]) + end)
    text = bytearray("\n".join(lines) + "\n", "ascii")
    for _ in range(rng.choice([0, 0, 1, 2])):
        place = rng.randint(0, len(text))
        text[place : place + rng.randint(0, 1)] = rng.choice(
            [b"", b":", b" ", b"\n", b"-", b".", b"e", b"5", b"+", b"x"]
        )
    return bytes(text) + b"\n"


@pytest.mark.parametrize("rule", [Rule(False, None, None), Rule(False, 1, 10), Rule(True, None, 12)])
def test_reading_at_once_and_by_line_agree_on_right_and_wrong_lines(rule: Rule) -> None:
    rng, seen = random.Random(1), Counter[str]()
    for _ in range(3000):
        text = some_lines(rng, rule.fields)
        fast, slow = content(text, rule, True), content(text, rule, False)
        assert fast == slow, text
        seen["read" if slow else "refused"] += 1
    assert min(seen.values()) > 500, "both must be tried"


def simple(text: bytes) -> list[tuple[int, dict[int, float]]] | None:
    """Another reader, of the lines that `some_lines` writes."""
    rows = []
    for line in text.decode().split("\n"):
        words = line.split("#")[0].split()
        try:
            if words and float(words[0]).is_integer():
                pairs = [word.split(":") for word in words[1:]]
                entries = {int(index): float(value) for index, value in pairs}
                if len(entries) < len(pairs) or any(not index.isdigit() for index, _ in pairs):
                    return None
                rows.append((int(float(words[0])), {i: v for i, v in entries.items() if v}))
            elif words:
                return None
        except ValueError:
            return None
    return rows


def test_reading_agrees_with_a_simple_reader() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        text = some_lines(rng, False)
        rows, expected = content(text, Rule(False, None, None), True), simple(text)
        assert (rows is None) == (expected is None), text
        if rows and expected is not None:
            labels, lengths, indices, values = (
                np.frombuffer(part, kind) for part, kind in zip(rows, ("i8", "i8", "i4", "f8"), strict=False)
            )
            assert labels.tolist() == [label for label, _ in expected], text
            assert lengths.tolist() == [len(entries) for _, entries in expected], text
            flat = [pair for _, entries in expected for pair in sorted(entries.items())]
            assert list(zip(indices.tolist(), values.tolist(), strict=True)) == flat, text
