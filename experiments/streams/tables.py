"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are text.

    Raises
    ------
    ValueError
        A row has another number of cells than the head.
    """
    wrong = [row for row in rows if len(row) != len(head)]
    if wrong:
        raise ValueError(f"a row has {len(wrong[0])} cells and the head {len(head)}: {wrong[0]}")
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
