"""Mutations of the bytes of small files: the same for the same number on every machine."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".bz2": lambda data: bz2.compress(data, 1),
    ".xz": lambda data: lzma.compress(data, preset=0),
}
_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
# Pieces of all forms that readers trip over.
_PIECES = [
    *(
        b"nan",
        b"-inf",
        b"1e999",
        b"1e-999",
        b"-0",
        b"+1",
        b"0x1f",
        b"1_0",
        b"1.5",
        b".",
        b"?",
        b"<null>",
        b"NA",
        b"true",
    ),
    *(
        b",",
        b",,",
        b";",
        b"\t",
        b" ",
        b"  ",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\x0b",
        b"\x1a",
        b"\x85",
        b"\0",
        b"\0" * 9,
    ),
    *(
        b'"',
        b"'",
        b'""',
        b"\\",
        b"\\'",
        b"{",
        b"}",
        b"{}",
        b"%",
        b"#",
        b"@",
        b"@data\n",
        b":",
        b"1:",
        b":1",
        b"0:1",
        b"1:1:1",
    ),
    *(
        b"\xff",
        b"\xc3",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xe2\x80\xa8",
        b"\xd9\xa3",
        b"=",
        b"|",
    ),
]
_NUMBERS = [0, 1, 2, 7, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1]
_LONGEST = 1 << 20  # bytes of a mutated file


@dataclass(frozen=True)
class Case:
    """Files to be read together.

    Parameters
    ----------
    files : tuple of (str, bytes)
        Names and contents.
    options : dict
        Of the reader.
    packable : bool
        Whether the reader unpacks gzip, bzip2 and xz.
    """

    files: tuple[tuple[str, bytes], ...]
    options: dict[str, Any] = field(default_factory=dict)
    packable: bool = True


def plain_contents(case: Case) -> list[bytes]:
    """Of the files, unpacked."""
    found = []
    for name, content in case.files:
        packing = next((ending for ending in PACKERS if name.endswith(ending)), "")
        found.append(_UNPACKERS[packing](content) if packing else content)
    return found


def mutated(seeds: Sequence[Case], rng: Random) -> Case:
    """One seed with some bytes changed, below or above the packing."""
    case = rng.choice(seeds)
    files = list(case.files)
    packing = rng.choice(list(PACKERS)) if case.packable and rng.random() < 0.2 else ""
    others = [content for seed in seeds for _, content in seed.files]
    for _ in range(rng.choice((1, 1, 1, 2))):
        i = rng.randrange(len(files))
        name, content = files[i]
        members = _members(content) if rng.random() < 0.7 else {}
        files[i] = name, _within_zip(members, others, rng) if members else changed(content, others, rng)
    if packing:
        files = [(name + packing, PACKERS[packing](content)) for name, content in files]
        if rng.random() < 0.5:
            i = rng.randrange(len(files))
            files[i] = files[i][0], changed(files[i][1], others, rng)
    return replace(case, files=tuple(files))


def changed(data: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Bytes after a few random changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        splice = rng.random() < 0.1
        data = (_spliced(data, rng.choice(others), rng) if splice else rng.choice(_CHANGES)(data, rng))[:_LONGEST]
    return data


def _place(data: bytes, rng: Random) -> int:
    """Anywhere, headers more often."""
    return rng.randrange(min(len(data), 64) + 1 if rng.random() < 0.3 else len(data) + 1)


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 40, 200)))


def _flipped(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = min(_place(data, rng), len(data) - 1)
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _cut_off(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _deleted(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _repeated(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[start:end] * rng.choice((2, 2, 3, 10, 1000)) + data[end:]


def _spliced(data: bytes, other: bytes, rng: Random) -> bytes:
    start, end = _span(other, rng)
    at = _place(data, rng)
    return data[:at] + other[start:end] + data[at + rng.choice((0, end - start)) :]


def _numbered(data: bytes, rng: Random) -> bytes:
    """A binary whole number put over the bytes, as sizes stand in headers."""
    width = rng.choice((1, 2, 4, 8))
    number = rng.choice(_NUMBERS) % 256**width
    at = _place(data, rng)
    return data[:at] + number.to_bytes(width, rng.choice(("little", "big"))) + data[at + width :]


def _recounted(data: bytes, rng: Random) -> bytes:
    """Another decimal number in the place of one."""
    digits = [i for i, byte in enumerate(data) if byte in b"0123456789"]
    if not digits:
        return data
    start = end = rng.choice(digits)
    while end < len(data) and data[end] in b"0123456789":
        end += 1
    number = rng.choice(
        (*(str(n).encode() for n in _NUMBERS), b"9" * 20, b"9" * 400, b"1" * 9000, b"-3", b"0", b"1e400")
    )
    return data[:start] + number + data[end:]


def _with_piece(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(_PIECES) + data[at + rng.choice((0, 0, 1)) :]


def _with_long_line(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    piece = rng.choice((*_PIECES, b"a", b"1", b"1,", b" 1:1", b"ab "))
    return data[:at] + piece * rng.choice((50, 1000, 20_000)) + data[at:]


_CHANGES = [
    *(_flipped, _flipped, _cut_off, _deleted, _repeated, _numbered, _numbered),
    *(_recounted, _recounted, _with_piece, _with_piece, _with_piece, _with_long_line),
]


def _members(data: bytes) -> dict[str, bytes]:
    """Contents of an archive; nothing where it is none, or damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # what zipfile raises for damage is of many kinds
        return {}


def _within_zip(members: dict[str, bytes], others: Sequence[bytes], rng: Random) -> bytes:
    """One member changed, with checksums that are right."""
    name = rng.choice(sorted(members))
    members[name] = changed(members[name], [*members.values(), *others], rng)
    return zipped(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive, without the time of its making."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return stream.getvalue()
