"""Tables in Parquet, read by Arrow some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pianobench.datasets.readers.chosen import repeated
from pianobench.datasets.readers.packed import FREE, RATIO
from pianobench.datasets.readers.parsed import Unreadable

CELLS = 1 << 20  # in a batch
_PANDAS_INDEX = "__index_level_"
_REMEDIES = {
    "timestamp": "give differences in seconds or days as numbers",
    "date": "give differences in days as numbers",
    "time": "give seconds as numbers",
    "duration": "give seconds as numbers",
    "list": "write each element as a column of its own",
    "fixed_size_list": "write each element as a column of its own",
    "struct": "write each field as a column of its own",
}


@dataclass(frozen=True)
class Parquet:
    """One file.

    Parameters
    ----------
    path : Path
    names : tuple of str
        Of the columns, without the row index that pandas may have written.
    types : tuple of pyarrow.DataType
        Of the columns.
    notes : tuple of str
    """

    path: Path
    names: tuple[str, ...]
    types: tuple[Any, ...]
    notes: tuple[str, ...]
    header = True

    @property
    def texts(self) -> frozenset[int]:
        """Positions of the columns of texts: strings, and what is stored as a dictionary."""
        return frozenset(position for position, kind in enumerate(self.types) if _is_text(kind))

    def batches(self, columns: Sequence[int], texts: frozenset[int]) -> Iterator[list[Any]]:
        """The cells of some columns: a list of Arrow's arrays, of text for those in `texts`, of float64 for others.

        Raises
        ------
        Unreadable
            A column is of a type that is neither number nor text, or the file is damaged.
        """
        import pyarrow as pa
        from pyarrow import parquet

        for position in columns:
            self._check_type(position)
        names = [self.names[position] for position in columns]
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(max(1, CELLS // len(names)), columns=names):
                    arrays = (batch.column(name) for name in names)
                    yield [_text(a) if p in texts else _number(a) for p, a in zip(columns, arrays, strict=True)]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise Unreadable(_damaged(error), path=self.path) from error

    def line(self, row: int) -> None:
        """There are no lines."""

    def _check_type(self, position: int) -> None:
        from pyarrow import types

        kind = self.types[position]
        numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        if not _is_text(kind) and not any(of_kind(kind) for of_kind in numbers):
            remedy = _REMEDIES.get(str(kind).split("[")[0].split("<")[0].rstrip("3264"), "leave it out with drop")
            raise Unreadable(
                f"column {self.names[position]!r} is of type {kind}; numbers and texts are expected: {remedy}",
                path=self.path,
            )


def parquet(path: Path) -> Parquet:
    """A file's columns, after its claims about its size are held against its bytes.

    Raises
    ------
    Unreadable
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            names = schema.names
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Unreadable(_damaged(error), path=path) from error
    bytes_of_groups = sum(group.total_byte_size for group in groups)
    cells = metadata.num_rows * len(schema)
    most = max(FREE, RATIO * path.stat().st_size)
    if max(bytes_of_groups, 8 * cells) > most:
        size = max(bytes_of_groups, 8 * cells) >> 20
        raise Unreadable(
            f"it unpacks to {size} MiB, over {RATIO} times its size, as no data does: "
            "if you trust it, write it without compression and dictionaries",
            path=path,
        )
    kept = [position for position, name in enumerate(names) if not name.startswith(_PANDAS_INDEX)]
    twice = repeated(names)
    if twice is not None:
        raise Unreadable(f"two columns are called {twice!r}: rename one", path=path)
    types = tuple(schema.types[position] for position in kept)
    notes = ("row index of pandas left out",) if len(kept) < len(schema) else ()
    return Parquet(path, tuple(names[position] for position in kept), types, notes)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    of_text = (types.is_string, types.is_large_string, types.is_string_view)
    return bool(types.is_dictionary(kind)) or any(one(kind) for one in of_text)


def _text(array: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        return pa.array(["False", "True"]).take(array.cast(pa.int8()))
    texts = array.cast(pa.string())
    texts.validate(full=True)  # a file may hold bytes that are no UTF-8
    return texts


def _number(array: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    return array.cast(pa.float64(), safe=False)


def _damaged(error: Exception) -> str:
    return f"it is not Parquet, or damaged ({str(error).splitlines()[0] if str(error) else 'it ends too soon'})"
