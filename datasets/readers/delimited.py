"""Tables in text: lines of cells with a separator between, some of them in quotes.

Arrow parses them, in blocks of lines. It refuses what is ragged, and cannot say in which line; it knows no runs of
blanks, and no blank before a quote; it takes a quote that is not closed, and NUL characters. From where it refuses or
would be wrong, and from the first cell that goes over several lines, the rows are read one by one: either that copes,
or it says the line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Unreadable

BLOCK = 1 << 20  # bytes that Arrow parses at a time
CELL = 1 << 24  # characters of the longest cell
_ROOM = 512  # bytes of a block for each column: some rows of a wide table
_PATIENCE = 8  # blocks in which a line must end
_WIDEST = 1 << 12  # columns for Arrow, which takes ten kilobytes for each
_CELLS = 1 << 18  # in a batch of rows that are read one by one
_BLANKS = re.compile(r'("[^"]*")|[ \t]+')


@dataclass(frozen=True)
class Delimited:
    """One file, and how it is laid out.

    Parameters
    ----------
    path : Path
    separator : str
        One character; a blank stands for runs of blanks and tabs.
    header : bool
        Whether the first row names the columns.
    skip : frozenset of int
        Lines that are left out, from 1.
    names : tuple of str
        Of the columns; their positions where there is no header. An empty last column is not among them.
    width : int
        Cells of each row.
    notes : tuple of str
    """

    path: Path
    separator: str
    header: bool
    skip: frozenset[int]
    names: tuple[str, ...] = ()
    width: int = 0
    notes: tuple[str, ...] = ()
    texts: frozenset[int] = frozenset()  # columns known to be of text before they are read

    def batches(self, columns: Sequence[int], texts: frozenset[int]) -> Iterator[list[Any]]:
        """The cells of some columns as they stand: a list of Arrow's arrays, of text; without the header.

        Raises
        ------
        Unreadable
            A row has too few or too many cells, or the bytes are no UTF-8.
        """
        import pyarrow as pa

        done = 0
        if self.separator != " " and self.width <= _WIDEST:
            try:
                for batch in self._parsed(columns):
                    yield batch
                    done += len(batch[0])
                return
            except (pa.ArrowInvalid, _ByRows):
                pass
        rest = islice(self.rows(), done + self.header, None)
        while rows := list(islice(rest, max(1, _CELLS // self.width))):
            yield [pa.array([cells[position] for _, cells in rows], pa.string()) for position in columns]

    def _parsed(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """By Arrow, block by block: given the stream, a thread of its own would read ahead, and could hang at exit."""
        from pyarrow import BufferReader, string
        from pyarrow import csv as arrow

        names = [str(position) for position in range(self.width)]
        parse = arrow.ParseOptions(delimiter=self.separator)
        convert = arrow.ConvertOptions(
            column_types=dict.fromkeys(names, string()),
            strings_can_be_null=False,
            include_columns=[names[position] for position in columns],
        )
        header = self.header
        for block in filter(None, self._blocks()):
            options = arrow.ReadOptions(block_size=len(block) + 1, column_names=names)
            for batch in arrow.read_csv(BufferReader(block), options, parse, convert).to_batches():
                cells = batch.slice(int(header)).columns
                header = False
                if len(cells[0]):
                    yield cells

    def _blocks(self) -> Iterator[bytes]:
        """The text in parts that end with lines, as far as Arrow understands it."""
        most = max(BLOCK, _ROOM * self.width)
        with opened(self.path) as stream:
            head = enumerate(islice(stream, max(self.skip, default=0)), start=1)
            rest = b"".join(line for number, line in head if number not in self.skip)
            while data := stream.read(most):
                rest += data
                end = rest.rfind(b"\n") + 1
                yield self._plain(rest[:end])
                rest = rest[end:]
                if len(rest) > _PATIENCE * most:
                    raise _ByRows
            yield self._plain(rest)

    def _plain(self, block: bytes) -> bytes:
        """Lines in which Arrow sees what is there: each a row, no blank before a quote, and no NUL character."""
        if b"\0" in block:
            raise _ByRows
        if b'"' in block and (
            any(line.count(b'"') % 2 for line in block.split(b"\n"))
            or re.search(re.escape(self.separator).encode() + rb' +"', block)
        ):
            raise _ByRows
        return block

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Number of the first line and cells of each row, one by one; the header too, and no row of blanks.

        Raises
        ------
        Unreadable
            With the line.
        """
        last, expected = 0, self.width  # the line that was read last

        def texts(stream: IO[bytes]) -> Iterator[str]:
            nonlocal last
            for number, line in lines(stream, self.path):
                if number not in self.skip:
                    last = number
                    yield self._text(number, line)

        limit = csv.field_size_limit(CELL)
        with opened(self.path) as stream:
            reader = csv.reader(texts(stream), delimiter=self._inner, skipinitialspace=True, strict=True)
            before, names_columns = 0, self.header
            try:
                for cells in reader:
                    first, before = last - (reader.line_num - before) + 1, reader.line_num
                    if cells in ([], [""]):
                        continue
                    if expected and len(cells) != expected and not names_columns:
                        raise Unreadable(self._ragged(len(cells)), first, self.path)
                    names_columns = False
                    yield first, cells
            except csv.Error as error:
                first = last - (reader.line_num - before) + 1
                raise Unreadable(f"it is not a table ({error}): is a quote not closed?", first, self.path) from error
            finally:
                csv.field_size_limit(limit)

    def line(self, row: int) -> int | None:
        """Where a row stands, counted from 0 and without the header; None where that cannot be said."""
        try:
            return next(islice(self.rows(), row + self.header, None))[0]
        except (Unreadable, StopIteration):
            return None

    @property
    def _inner(self) -> str:
        return "\t" if self.separator == " " else self.separator

    def _text(self, number: int, line: bytes) -> str:
        text = decoded(line, self.path, number)
        return (_BLANKS.sub(lambda match: match[1] or "\t", text.strip()) if self.separator == " " else text) + "\n"

    def _ragged(self, found: int) -> str:
        first = "the header has" if self.header else "the first row has"
        remedy = "give all rows as many, or name lines to leave out in skip_rows"
        if found == self.width + 1:
            remedy = "does a first column of row names have no name in the header?"
        return f"it has {found} cell{'s' * (found != 1)}, and {first} {self.width}: {remedy}"


class _ByRows(Exception):
    """Arrow would misunderstand it."""


def decoded(text: bytes, path: Path, line: int | None = None) -> str:
    """UTF-8, perhaps after a mark of byte order.

    Raises
    ------
    Unreadable
    """
    try:
        found = text.decode("utf-8-sig" if line in (None, 1) else "utf-8")
    except UnicodeDecodeError as error:
        found = "utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        what = f"it is not UTF-8 text: save it as UTF-8, for example by iconv -f {found} -t utf-8"
        raise Unreadable(what, line, path) from error
    if "\0" in found:
        raise Unreadable("it has a NUL character: this is no text, or damaged", line, path)
    return found
