"""One file from a server: resumed, limited, verified, and in its place either whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pianobench.datasets.fetching.connection import (
    Changed,
    Interrupted,
    Unreachable,
    answer,
    content_range,
    length,
    mark,
    why,
)
from pianobench.datasets.fetching.wanted import FetchError

MOST = 1 << 36  # bytes
TIMEOUT = 30.0  # seconds without an answer or a byte
SLOWEST = 1000.0  # bytes a second on average over WINDOW: below, the server is taken for stuck
WINDOW = 30.0  # seconds
WAITS = (1.0, 3.0, 9.0)  # seconds before each further try
SPARE = 1 << 26  # bytes of the disk that are left free
_BLOCK = 1 << 16

Progress = Callable[[int, int | None], None]


class WrongBytes(FetchError):
    """What came is not what was expected; it is not kept."""

    def __init__(self, what: str, kind: str, expected: str, found: str) -> None:
        super().__init__(f"{what} has {kind} {found}, and {expected} is expected")
        self.kind, self.expected, self.found = kind, expected, found


@dataclass(frozen=True)
class _Part:
    """The bytes that have come so far, and what tells whether the server's file is still the one that they are of."""

    path: Path

    @property
    def bytes(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part")

    @property
    def facts(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part.json")

    def resumable(self, url: str) -> tuple[int, str, int | None]:
        """Bytes to go on from, the mark of the server's file, and its length; nothing and 0 if it must start anew."""
        try:
            facts = json.loads(self.facts.read_text("utf-8"))
            have = self.bytes.stat().st_size
            if facts["url"] == url and facts["mark"] and have:
                return have, facts["mark"], facts["total"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return 0, "", None

    def note(self, url: str, mark: str, total: int | None) -> None:
        self.facts.write_text(json.dumps({"url": url, "mark": mark, "total": total}), "utf-8")

    def drop(self) -> None:
        self.bytes.unlink(missing_ok=True)
        self.facts.unlink(missing_ok=True)


def download(
    url: str,
    path: Path,
    *,
    sha256: str = "",
    md5: str = "",
    most_bytes: int = MOST,
    timeout: float = TIMEOUT,
    slowest: float = SLOWEST,
    window: float = WINDOW,
    waits: Sequence[float] = WAITS,
    progress: Progress | None = None,
) -> str:
    """Download a file, or the rest of it: what an interruption leaves beside it, ``.part``, is gone on from.

    One process at a time may download to a path; `lock` sees to that.

    Parameters
    ----------
    url : str
        Of https, or http; never from https on to http. The variables ``https_proxy``, ``no_proxy`` are heeded.
    path : Path
        Replaced when all has come and the sums are right, not before.
    sha256, md5 : str
        Expected, in hexadecimal digits; empty for any.
    most_bytes : int
        A longer file is refused.
    timeout : float
        Seconds without an answer or a byte.
    slowest, window : float
        Bytes a second below which, on average over so many seconds, a try is ended.
    waits : sequence of float
        Seconds before each further try after a try that a further one may mend.
    progress : callable, optional
        Is told the bytes so far and in all (None if the server does not say).

    Returns
    -------
    str
        SHA-256 of the bytes.

    Raises
    ------
    FetchError
        `Unreachable`, `WrongBytes`, or the server has no such file, it is too long, or the disk too full.
    KeyboardInterrupt
        What has come stays for the next time.
    """
    if urlsplit(url).scheme not in ("https", "http"):
        raise FetchError(f"{url} is not an address of https or http")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(path)
    for wait in (*waits, None):
        try:
            _go_on(url, part, most_bytes, timeout, slowest, window, progress)
            break
        except Interrupted as trouble:
            if isinstance(trouble, Changed):
                part.drop()
            if wait is None:
                raise Unreachable(f"{url}: {trouble} (tries: {len(waits) + 1})") from trouble
            time.sleep(wait)
    found = digest(part.bytes)
    for title, expected, sum_found in (
        ("SHA-256", sha256.lower(), found),
        ("MD5", md5.lower(), digest(part.bytes, "md5") if md5 else ""),
    ):
        if expected and sum_found != expected:
            part.drop()
            raise WrongBytes(url, title, expected, sum_found)
    os.replace(part.bytes, path)
    part.drop()
    return found


def digest(path: Path, kind: str = "sha256") -> str:
    """Sum of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def _go_on(
    url: str, part: _Part, most: int, timeout: float, slowest: float, window: float, progress: Progress | None
) -> None:
    """One try: ask for what is missing, and take it."""
    have, known, total = part.resumable(url)
    if have and have == total:
        return
    with answer(url, {"Range": f"bytes={have}-", "If-Range": known} if have else {}, timeout) as response:
        if response.status == 206 and have:
            if (*content_range(response), mark(response)) != (have, total, known):
                raise Changed("the server's file has changed meanwhile")
        elif response.status == 200:
            have, total = 0, length(response)
        else:
            raise FetchError(f"{url}: the server answers {response.status}, which is no file")
        _check_room(url, part.path.parent, have, total, most)
        with open(part.bytes, "ab" if have else "wb") as out:
            if not have:
                part.note(url, mark(response), total)
            for block in _blocks(response, slowest, window):
                have += len(block)
                if have > most:
                    out.close()
                    part.drop()
                    raise FetchError(f"{url} goes on beyond {most / 1e6:.3g} MB, the most that is taken for it")
                out.write(block)
                if progress is not None:
                    progress(have, total)
    if total is not None and have != total:
        raise Interrupted(f"it is cut off after {have} of {total} bytes")


def _blocks(response: Any, slowest: float, window: float) -> Iterator[bytes]:
    since, seen = time.monotonic(), 0
    while True:
        try:
            block = response.read1(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise Interrupted(why(error)) from error
        if not block:
            return
        yield block
        seen += len(block)
        elapsed = time.monotonic() - since
        if elapsed >= window:
            if seen < slowest * elapsed:
                raise Interrupted(f"it comes at {seen / elapsed:.0f} bytes a second")
            since, seen = time.monotonic(), 0


def _check_room(url: str, folder: Path, have: int, total: int | None, most: int) -> None:
    if total is None:
        return
    if total > most:
        raise FetchError(f"{url} has {total / 1e6:.3g} MB, more than the {most / 1e6:.3g} MB that are taken for it")
    free = shutil.disk_usage(folder).free
    if total - have + SPARE > free:
        raise FetchError(f"{url} has {total / 1e6:.3g} MB, and the disk of {folder} has {free / 1e6:.3g} MB free")
