"""The state of a stream in files.

One is written after each batch. What was learned on the first batch of clicks has a file of its own, written once, and
the state knows its checksum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pianobench.algorithms.stream import Log, StreamState, archive
from pianobench.datasets.reading import digest
from pianobench.datasets.streamed.reader import OtherLog, Place, Reader
from pianobench.experiments.mistakes import UserMistake
from pianobench.experiments.streaming.options import Options
from pianobench.problems.penalties import Array

FORM, TABLES, VERSION = "pianobench stream", "pianobench stream tables", 1
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True)
class Stand:
    """Where a stream stands after some batches.

    Parameters
    ----------
    log : Log
    state : StreamState
    areas : array (batches,)
        Area under the ROC curve of the model before on each batch; NaN where there is none.
    classes : tuple of int
    rows : int
        Of the log so far: one of clicks and views makes up to two of the `Log`.
    place : dict
        Of the reader.
    """

    log: Log
    state: StreamState
    areas: Array
    classes: tuple[int, ...]
    rows: int
    place: Place


class Kept:
    """The files of one state.

    Parameters
    ----------
    path : Path
    options : Options
    log_name : str
        For messages.
    """

    def __init__(self, path: Path, options: Options, log_name: str) -> None:
        self.path, self.options, self.log_name = path, options, log_name
        self.tables = path.with_name(path.name + ".tables")
        self._sum: str | None = None  # of the tables' file

    def load(self, reader: Reader) -> Stand | None:
        """What was kept, the reader put to its place; None where nothing was.

        Raises
        ------
        UserMistake
            The state is of other options or of a later version, or damaged; or none could be written.
        OtherLog
            It is of another log; a file is looked at only when it is read.
        """
        for path in (self.path, self.tables):
            archive.clear(path)
        try:
            facts, arrays = archive.read(self.path, FORM, VERSION)
        except FileNotFoundError:
            self._check_room()
            return None
        except archive.UnusableArchive as error:
            raise UserMistake(f"{error}: give another --state, or delete it to begin anew") from None
        try:
            differences = self.options.differences(facts["options"])
            if differences:
                raise UserMistake(
                    f"{self.path} is the state of other options: {'; '.join(differences)}\n"
                    "give them as they were, or another --state to begin anew"
                )
            return self._stand(facts, arrays, reader)
        except (UserMistake, OtherLog):
            raise
        except _WRONG as error:
            raise UserMistake(
                f"{self.path} is damaged ({error}): give another --state, or delete it to begin anew"
            ) from error

    def save(self, stand: Stand, reader: Reader) -> None:
        """Keep it.

        Raises
        ------
        UserMistake
            The file cannot be written.
        """
        try:
            if self._sum is None and (tables := reader.tables()):
                archive.write(self.tables, TABLES, VERSION, {}, tables)
                self._sum = digest(self.tables)
            facts = {
                "log": self.log_name,
                "options": self.options.facts(),
                "classes": list(stand.classes),
                "rows": stand.rows,
                "place": stand.place,
                "tables": self._sum,
            }
            arrays: dict[str, NDArray[Any]] = {"areas": stand.areas}
            arrays |= {f"log/{name}": values for name, values in stand.log.export().items()}
            arrays |= {f"state/{name}": values for name, values in stand.state.export().items()}
            archive.write(self.path, FORM, VERSION, facts, arrays)
        except OSError as error:
            raise self._unwritable(error) from error

    def log(self, classes: tuple[int, ...]) -> Log:
        """A log without rows."""
        return Log(classes, self.options.penalised, capacity=self.options.kept, seed=self.options.seed)

    def _check_room(self) -> None:
        """Before anything is trained."""
        try:
            archive.check_room(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserMistake:
        return UserMistake(
            f"the state cannot be written to {self.path} ({error.strerror or error}): give --state FILE in a folder "
            "that can be written and has room"
        )

    def _stand(self, facts: dict[str, Any], arrays: Mapping[str, NDArray[Any]], reader: Reader) -> Stand:
        classes = tuple(map(int, facts["classes"]))
        log = self.log(classes)
        log.load(archive.part(arrays, "log/"))
        state = StreamState.load(archive.part(arrays, "state/"))
        if state.t != log.batches or state.W.shape != (log.d + 1, len(classes)) or arrays["areas"].shape != (state.t,):
            raise ValueError(f"W has shape {state.W.shape} after {state.t} batches, the log {log.d} columns")
        if facts["tables"] is not None:
            self._load_tables(str(facts["tables"]), reader)
        reader.go_to(facts["place"])
        return Stand(log, state, arrays["areas"], classes, int(facts["rows"]), facts["place"])

    def _load_tables(self, expected: str, reader: Reader) -> None:
        what = f"{self.tables}, which belongs to {self.path},"
        remedy = "put it back as it was, or give another --state to begin anew"
        try:
            if digest(self.tables) != expected:
                raise UserMistake(f"{what} is not as it was written: {remedy}")
            _, tables = archive.read(self.tables, TABLES, VERSION)
        except FileNotFoundError:
            raise UserMistake(f"{what} is missing: {remedy}") from None
        except archive.UnusableArchive as error:
            raise UserMistake(f"{error}: {remedy}") from None
        reader.load(tables)
        self._sum = expected
