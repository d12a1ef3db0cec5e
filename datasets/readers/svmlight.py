"""svmlight's lines, as LIBSVM has them: ``label index:value index:value ...``; and libffm's ``field:index:value``.

A block of lines is read at once by array operations where all of it is plain. Where anything is not, or may be wrong,
`svmlight_lines` reads the block line by line; it alone decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.packed import LINE, opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable
from pianobench.datasets.readers.svmlight_lines import EXAMPLE, LARGEST, Block, Rule, by_line

_BLOCK = 1 << 20  # bytes: the arrays that are made of them stay in the processor's cache
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMENT = re.compile(rb"#[^\n]*")
_IN_NUMBERS = b"0123456789+-.eE"
_BETWEEN = b": \t\r\n"
_IS_IN_NUMBER = bytes(byte in _IN_NUMBERS for byte in range(256))


def read(
    paths: Sequence[Path], *, base: int | None = None, n_features: int | None = None, fields: bool = False
) -> Parsed:
    """Labels and sparse rows of svmlight files.

    Labels are whole numbers, also written as ``+1`` or ``1.0``. Comments after ``#`` and blank lines are skipped; a
    label alone is a row of zeros. Indices of a row may stand in any order, none of them twice. Entries that are zero
    count for the number of columns and are not stored.

    Parameters
    ----------
    paths : sequence of Path
    base : int, optional
        Index of the first column, 0 or 1. By default 0 where any of the files has an index 0, else 1.
    n_features : int, optional
        Number of columns d; by default the largest index of all files tells.
    fields : bool
        Read libffm's ``field:index:value``. Indices number the columns, fields are left out; values of an index that a
        row has in several fields are added, as a linear model would.

    Returns
    -------
    Parsed
        X is CSR of float64, (n, d); y is int64.

    Raises
    ------
    Unreadable
    """
    rule = _rule(base, n_features, fields)
    rows, sizes = _Rows(), []
    for path in paths:
        before = rows.n
        with opened(path) as stream:
            for line, text in _blocks(stream, path):
                block = _at_once(text, rule)
                if block is None or not rows.add(*block):
                    rows.add(*by_line(text, rule, line, path))
        sizes.append(rows.n - before)
        if rows.n == before:
            raise Unreadable(f"it has no rows: {EXAMPLE}", path=path)
    if rows.highest < 0 and n_features is None:
        raise Unreadable(f"no row has an entry: {EXAMPLE}; if all are zero, give the option n_features")
    first = base if base is not None else 0 if rows.lowest == 0 else 1
    if first == 0 and rows.highest == n_features:  # right from base 1 on, and one too many from 0 on: name the line
        return read(paths, base=0, n_features=n_features, fields=fields)
    return _parsed(rows, sizes, rule, first)


def of_lines(text: bytes, first: int, path: Path) -> Parsed:
    """Rows of whole lines, the first of which has this number; column l is the index l as written, from 0.

    For files read in pieces: neither the lowest index nor the number of columns is known beforehand.

    Raises
    ------
    Unreadable
    """
    rule, rows = Rule(False, 0, None), _Rows()
    text = text.removeprefix(_BYTE_ORDER_MARK) if first == 1 else text
    block = _at_once(text, rule)
    if block is None or not rows.add(*block):
        rows.add(*by_line(text, rule, first, path))
    return _parsed(rows, [rows.n], rule, 0)


def _rule(base: Any, n_features: Any, fields: Any) -> Rule:
    if base is not None and (type(base) is not int or base not in (0, 1)):
        raise Unreadable(f"base={base!r}: 0 or 1 is expected, the index of the first column")
    if n_features is not None and (type(n_features) is not int or not 0 < n_features <= LARGEST + 1):
        raise Unreadable(f"n_features={n_features!r}: a whole number from 1 to {LARGEST + 1} is expected, the columns")
    if type(fields) is not bool:
        raise Unreadable(f"fields={fields!r}: true or false is expected, whether entries are field:index:value")
    return Rule(fields, base, n_features)


@dataclass
class _Rows:
    """Rows read so far: arrays that grow in place, so that they are never held twice."""

    labels: bytearray = field(default_factory=bytearray)  # int64 (n,)
    lengths: bytearray = field(default_factory=bytearray)  # int64 (n,), entries of each row
    indices: bytearray = field(default_factory=bytearray)  # int32 (entries,), as written
    values: bytearray = field(default_factory=bytearray)  # float64 (entries,)
    n: int = 0
    lowest: int = LARGEST + 1  # index
    highest: int = -1
    unsorted: int = 0  # rows whose indices did not increase
    shared: int = 0  # rows with an index in several fields

    def add(self, labels: NDArray[Any], lengths: NDArray[Any], keys: NDArray[Any], values: NDArray[Any]) -> bool:
        """Append a `Block`, sorted and without zeros; False, and nothing is appended, where a row repeats an entry."""
        k, indices = len(labels), keys[:, -1].astype(np.int64)
        if len(indices):
            lowest, highest = int(indices.min()), int(indices.max())
            self.lowest, self.highest = min(self.lowest, lowest), max(self.highest, highest)
        row = np.repeat(np.arange(k), lengths)
        place = row << 31 | indices
        rise = np.diff(place)
        if (rise <= 0).any():
            order = np.lexsort((keys[:, 0], place))
            place, of_field = place[order], keys[order, 0]
            same = np.diff(place) == 0
            if (same & (of_field[1:] == of_field[:-1])).any():
                return False
            new = np.append(True, ~same)
            values = np.bincount(np.cumsum(new) - 1, weights=values[order])
            self.unsorted += len(np.unique(row[1:][rise < 0]))
            self.shared += len(np.unique(row[1:][same]))
            row, indices = place[new] >> 31, place[new] & (2**31 - 1)
        stored = values != 0
        if not stored.all():
            row, indices, values = row[stored], indices[stored], values[stored]
        self.n += k
        self.labels += labels.astype(np.int64).data
        self.lengths += np.bincount(row, minlength=k).astype(np.int64).data
        self.indices += indices.astype(np.int32).data
        self.values += values.astype(np.float64).data
        return True


def _parsed(rows: _Rows, sizes: list[int], rule: Rule, base: int) -> Parsed:
    from scipy.sparse import csr_array

    notes = []
    if rule.base is None and rows.highest >= 0:
        notes.append(f"columns numbered from {base} ({'index 0' if base == 0 else 'no index 0'} occurs)")
    if rows.unsorted and not rule.fields:  # libffm's order is that of the fields
        notes.append(f"rows whose indices were sorted: {rows.unsorted}")
    if rows.shared:
        notes.append(f"rows with an index in several fields, its values added: {rows.shared}")
    indices = np.frombuffer(rows.indices, np.int32)
    indices -= base
    pointers = np.append(0, np.cumsum(np.frombuffer(rows.lengths, np.int64)))
    d = rule.n_features or rows.highest - base + 1
    X = csr_array((np.frombuffer(rows.values, np.float64), indices, pointers), shape=(rows.n, d))
    return Parsed(X, np.frombuffer(rows.labels, np.int64), tuple(sizes), notes=tuple(notes))


def _blocks(stream: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Number of the first line, and text of whole lines."""
    line = 1
    while text := stream.read(_BLOCK):
        if not text.endswith(b"\n"):
            rest = stream.readline(LINE)
            if len(rest) == LINE and not rest.endswith(b"\n"):
                what = f"it goes on for more than {LINE >> 20} MiB: this is no text of lines"
                raise Unreadable(what, line + text.count(b"\n"), path)
            text += rest if rest.endswith(b"\n") else rest + b"\n"
        yield line, text.removeprefix(_BYTE_ORDER_MARK) if line == 1 else text
        line += text.count(b"\n")


def _at_once(text: bytes, rule: Rule) -> Block | None:
    """Rows of a text; None where a line is not plain, or wrong. An entry that a row repeats is not seen."""
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    text = b"\n" + text
    digits = text.translate(None, _BETWEEN)  # the numbers, one after another
    if digits.translate(None, _IN_NUMBERS):
        return None
    letters = np.frombuffer(text, np.uint8)
    inside = np.frombuffer(text.translate(_IS_IN_NUMBER), np.bool_)
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]  # of numbers
    first = np.searchsorted(starts, np.flatnonzero(letters == ord("\n")))
    counts = np.diff(first, append=len(starts))  # numbers of each line
    heads, counts = first[counts > 0], counts[counts > 0] - 1
    tail = np.ones(len(starts), np.bool_)  # all but labels
    tail[heads] = False
    colon = letters[ends] == ord(":")
    width = 3 if rule.fields else 2
    if (counts % width).any() or colon[heads].any() or np.count_nonzero(colon) != text.count(b":"):
        return None
    joined, begin, end = (of[tail].reshape(-1, width) for of in (colon, starts, ends))
    if not joined[:, :-1].all() or joined[:, -1].any() or (begin[:, 1:] != end[:, :-1] + 1).any():
        return None
    try:
        keys = _numbers(digits, ends - starts, colon, "uint32").reshape(-1, width - 1)
        decimals = _numbers(digits, ends - starts, ~colon, "float64")
    except ValueError:  # as pyarrow's own error is
        return None
    labels, values = decimals[~tail[~colon]], decimals[tail[~colon]]
    if not np.isfinite(values).all() or not (np.abs(labels) < 2**53).all() or (labels != np.rint(labels)).any():
        return None
    if len(keys) and (keys[:, -1].min() < rule.lowest or keys[:, -1].max() > rule.highest or keys.max() > LARGEST):
        return None
    return labels, counts // width, keys, values


def _numbers(digits: bytes, lengths: NDArray[Any], chosen: NDArray[Any], kind: str) -> NDArray[Any]:
    """Those chosen of numbers that stand one after another; pyarrow rounds decimals correctly, as `float` does."""
    import pyarrow as pa

    text = pa.py_buffer(np.frombuffer(digits, np.uint8)[np.repeat(chosen, lengths)])
    offsets = pa.py_buffer(np.append(0, np.cumsum(lengths[chosen])).astype(np.int32))
    numbers: NDArray[Any] = pa.StringArray.from_buffers(len(offsets) // 4 - 1, offsets, text).cast(kind).to_numpy()
    return numbers
