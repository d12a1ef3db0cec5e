"""The folder of one process of one cell, and what can be said of it when the process or the machine failed."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO


class StoreError(ValueError):
    """The store cannot be read or written: a run does not exist, or a file is not what it should be."""


@dataclass(frozen=True)
class Attempt:
    """Folder of one process of one cell."""

    folder: Path

    def open_log(self) -> BinaryIO:
        """File for the process's output."""
        return open(self.folder / "log.txt", "wb")

    def last_words(self, most: int = 4096) -> str:
        """Last line of the process's output, of which no more than `most` bytes are read."""
        with open(self.folder / "log.txt", "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - most))
            lines = stream.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Write ``name.json`` at once and whole."""
        write_atomically(self.folder / f"{name}.json", (json.dumps(record, indent=1) + "\n").encode())

    def read(self, name: str) -> dict[str, Any] | None:
        """Content of ``name.json``, or None if it was never written.

        Raises
        ------
        StoreError
            If the file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError as error:  # not JSON, or not even text
            raise StoreError(f"{path} is damaged: {error}") from error
        if not isinstance(content, dict):
            raise StoreError(f"{path} is damaged: it holds no record")
        return content

    def open_curve(self) -> TextIO:
        """The curve's file for appending; each line reaches the operating system as it is written."""
        return open(self.folder / "curve.jsonl", "a", buffering=1, encoding="utf-8")

    def curve(self) -> list[dict[str, Any]]:
        """All checkpoints, in order; a last line that was cut by a kill is left out.

        Raises
        ------
        StoreError
            If another line is damaged.
        """
        path = self.folder / "curve.jsonl"
        if not path.is_file():
            return []
        # A complete file ends with a newline: what comes after the last one is empty, or torn.
        whole = path.read_text("utf-8", errors="replace").split("\n")[:-1]
        points = []
        for number, line in enumerate(whole, 1):
            try:
                points.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise StoreError(f"{path}, line {number}: not JSON ({error.msg})") from error
        return points

    def numbers(self) -> list[dict[str, Any]]:
        """What a probe has measured so far; a run of a solver leaves none.

        Raises
        ------
        StoreError
            If the file is damaged.
        """
        numbers = (self.read("numbers") or {}).get("numbers", [])
        if not isinstance(numbers, list):
            raise StoreError(f"{self.folder / 'numbers.json'} is damaged: it holds no list of numbers")
        return numbers

    def row(self) -> dict[str, Any] | None:
        """The row that closed this attempt, or None if nothing did.

        Raises
        ------
        StoreError
            If the row or a probe's numbers are damaged, or the curve is not the one that the row was closed with.
        """
        row = self.read("row")
        if row is None:
            return None
        if not {"status", "schema", "checkpoints"} <= set(row):
            raise StoreError(f"{self.folder / 'row.json'} is damaged: it lacks its status, schema or checkpoints")
        self.numbers()
        points = len(self.curve())
        if points != row["checkpoints"]:
            path = self.folder / "curve.jsonl"
            raise StoreError(f"{path} is damaged: {points} checkpoints of the {row['checkpoints']} that it had")
        return row

    def ending(self) -> str:
        """How it ended, in a word or two."""
        try:
            row = self.row()
        except StoreError:
            return "damaged"
        return str(row["status"]) if row else "cut off with its suite"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, never half, even if the machine stops."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(part, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)  # on a full disk each byte counts
        raise
