"""Files out of a zip archive, which may be anybody's."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from pianobench.datasets.fetching.download import SPARE
from pianobench.datasets.fetching.wanted import FetchError
from pianobench.datasets.readers.packed import FREE, RATIO


def unzip(archive: Path, names: Collection[str], folder: Path) -> list[str]:
    """Write the files of these names into a folder, whatever folder of the archive they lie in; nothing else.

    The archive decides neither where anything is written nor under which name.

    Returns
    -------
    list of str
        Names that were there.

    Raises
    ------
    FetchError
        It is damaged, has a name twice or wants a password, has links or ways out of its folder, unpacks to far more
        than data would or to more than the disk holds. Files that were written before stay.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            members = [one for one in content.infolist() if PurePosixPath(one.filename).name in names]
            _check(archive, members, folder)
            for member in members:
                path = folder / PurePosixPath(member.filename).name
                part = path.with_name(f"{path.name}.unpacking")
                try:
                    with content.open(member) as source, open(part, "wb") as out:
                        shutil.copyfileobj(source, out, 1 << 20)
                    os.replace(part, path)
                finally:
                    part.unlink(missing_ok=True)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise FetchError(f"{archive.name} is damaged or no zip archive ({error}): download it again") from error
    return [PurePosixPath(one.filename).name for one in members]


def _check(archive: Path, members: list[zipfile.ZipInfo], folder: Path) -> None:
    names = [PurePosixPath(one.filename).name for one in members]
    for name, member in zip(names, members, strict=True):
        if ".." in PurePosixPath(member.filename).parts or stat.S_ISLNK(member.external_attr >> 16):
            raise FetchError(
                f"{archive.name} has {member.filename!r}, a link or a way out of its folder: do not trust it"
            )
        if names.count(name) > 1:
            raise FetchError(f"{archive.name} has {name} more than once: unpack the right one by hand into {folder}")
        if member.flag_bits & 1:
            raise FetchError(f"{archive.name} wants a password: unpack it by hand into {folder}")
    size = sum(one.file_size for one in members)
    if size > max(FREE, RATIO * archive.stat().st_size):
        raise FetchError(
            f"{archive.name} unpacks to {size / 1e6:.3g} MB, over {RATIO} times its size, as no data does: "
            "unpack it by hand if you trust it"
        )
    if size + SPARE > shutil.disk_usage(folder).free:
        raise FetchError(f"{archive.name} unpacks to {size / 1e6:.3g} MB, more than the disk has free")
