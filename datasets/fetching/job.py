"""The files of one data set: which are here, where the others come from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pianobench.datasets.fetching import remedies
from pianobench.datasets.fetching.connection import Unreachable
from pianobench.datasets.fetching.download import WrongBytes, digest, download
from pianobench.datasets.fetching.receipts import Got
from pianobench.datasets.fetching.wanted import ByHand, FetchError, File, Wanted

Watch = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Job:
    """Bring the files of a set into its folder: all of them, or none.

    Parameters
    ----------
    name : str
    wanted : Wanted
    place : Path
        Folder of the set. What is not whole yet is in ``incoming`` below.
    known : mapping
        The files when they first came, by name.
    anew : bool
        Files that are here are fetched all the same.
    watch : callable
        Is told the name of a file, the bytes that have come and how many will.
    """

    name: str
    wanted: Wanted
    place: Path
    known: Mapping[str, Got]
    anew: bool
    watch: Watch

    def run(self) -> tuple[tuple[Got, ...], str]:
        """The files, and "fetched" or "found".

        Raises
        ------
        FetchError
            Those that were here are as they were.
        """
        missing = [file for file in self.wanted.files if not self._is_here(file)]
        if missing and self.wanted.by_hand:
            raise ByHand(self.wanted.by_hand)
        if missing and self.wanted.produce is not None:
            missing = list(self.wanted.files)
        incoming = self.place / "incoming"
        incoming.mkdir(exist_ok=True)
        try:
            self._bring(missing, incoming)
            for file in missing:
                os.replace(incoming / file.name, self.place / file.name)
            shutil.rmtree(incoming, ignore_errors=True)
        finally:
            with suppress(OSError):  # it has what the next run goes on from
                incoming.rmdir()
        got = (self._got(file, file in missing) for file in self.wanted.files)
        return tuple(got), "fetched" if missing else "found"

    def _bring(self, missing: Sequence[File], incoming: Path) -> None:
        if missing and self.wanted.produce is not None:
            self._produce(self.wanted.produce, incoming)
        else:
            for file in missing:
                self._download(file, incoming)

    def _got(self, file: File, fetched: bool) -> Got:
        path, first = self.place / file.name, self.known.get(file.name)
        url = file.url if fetched else first.url if first else ""
        return Got(file.name, url, path.stat().st_size, digest(path))

    def _expected(self, file: File) -> str:
        first = self.known.get(file.name)
        return file.sha256 or (first.sha256 if first else "")

    def _is_here(self, file: File) -> bool:
        """Whether the file of this name that is here is the one wanted.

        Raises
        ------
        FetchError
            It is not, and the user has put it there.
        """
        path = self.place / file.name
        if not path.is_file() or (self.anew and not self.wanted.by_hand):
            return False
        for kind, expected in (("sha256", self._expected(file)), ("md5", file.md5)):
            found = digest(path, kind) if expected else ""
            if found == expected:
                continue
            if file.name in self.known and not self.wanted.by_hand:
                return False
            or_take = f", or take it with --accept-changed: `pianobench fetch {self.name} --accept-changed`"
            raise FetchError(
                f"{self.name}: {path} has {kind.upper()} {found}, and {expected} is expected: "
                f"replace it or delete it{or_take if file.name in self.known else ''}"
            )
        return True

    def _produce(self, produce: Callable[[Path], None], incoming: Path) -> None:
        try:
            produce(incoming)
        except Unreachable as error:
            raise Unreachable(remedies.folder(self.name, str(error), self.place)) from error
        except FetchError as error:
            raise FetchError(f"{self.name}: {error}") from error

    def _download(self, file: File, incoming: Path) -> None:
        path = incoming / file.name
        if path.is_file() and not self.anew:  # an earlier run had it whole, and ended with another file
            return
        try:
            download(
                file.url,
                path,
                sha256=self._expected(file),
                md5=file.md5,
                progress=lambda done, total: self.watch(file.name, done, total),
            )
        except WrongBytes as error:
            remedy = "It may have been damaged on its way, or replaced at its source: try again later"
            if not file.sha256 and error.kind == "SHA-256":
                remedy = (
                    f"That is what came the first time: `pianobench fetch {self.name} --accept-changed` takes the "
                    "new bytes"
                )
            raise FetchError(f"{self.name}: {error}. They are not kept, and nothing was changed. {remedy}.") from error
        except Unreachable as error:
            urls = [one.url for one in self.wanted.files if not (self.place / one.name).is_file()] or [file.url]
            raise Unreachable(remedies.files(self.name, str(error), urls, self.place)) from error
        except FetchError as error:
            raise FetchError(f"{self.name}: {error}") from error
