"""Markdown of our own pages as a part of an HTML page: no raw HTML, no links out of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pianobench.experiments.report.pictures import Picture

SHORT = 24
"""A cell of a table with so many characters, or fewer, is one line."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


def section(page: str, heading: str) -> str:
    """The text below a heading of the second level, up to the next one.

    Raises
    ------
    KeyError
        There is no such heading.
    """
    parts = re.split(r"^## (.*)$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[heading].strip()


def without_title(page: str) -> str:
    """A page below its heading of the first level."""
    return re.sub(r"\A# .*\n", "", page)


def html(text: str, level: int, name: str, pictures: Mapping[str, Picture] | None = None) -> str:
    """HTML of Markdown.

    Parameters
    ----------
    text : str
    level : int
        Of a heading of the second level.
    name : str
        What its tables are called for those who cannot see them.
    pictures : mapping, optional
        By the addresses that the text has.

    Raises
    ------
    KeyError
        An image is not among the pictures.
    """
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) - 2 + level}"
        if token.type == "th_open":
            token.attrSet("scope", "col")
    for row, cell, content, end in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if cell.type == "td_open" and len(content.content) <= SHORT:
            cell.attrSet("class", "short")
        if row.type == "tr_open" and cell.type == "td_open":
            cell.tag = end.tag = "th"
            cell.attrSet("scope", "row")
    return str(_PARSER.renderer.render(_inside(tokens, name, pictures or {}), _PARSER.options, {}))


def _inside(tokens: list[Token], name: str, pictures: Mapping[str, Picture]) -> list[Token]:
    found: list[Token] = []
    for token in tokens:
        if token.type == "table_open":
            label = f'<div class="wide" role="region" aria-label="{name}" tabindex="0">'
            found.append(_raw(label))
        if token.children:
            token.children = [_inline(child, pictures) for child in token.children]
        found.append(token)
        if token.type == "table_close":
            found.append(_raw("</div>"))
    return found


def _inline(token: Token, pictures: Mapping[str, Picture]) -> Token:
    if token.type in ("link_open", "link_close"):  # to another page of the repository, which is not here
        token.tag, token.attrs = "span", {}
    if token.type == "image":
        picture = pictures[str(token.attrs["src"])]
        more: dict[str, Any] = {"src": picture.src, "width": picture.width, "height": picture.height}
        token.attrs = {**token.attrs, **more}
    return token


def _raw(text: str) -> Token:
    return Token("html_block", "", 0, content=text)
