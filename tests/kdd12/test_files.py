"""Files of clicks: every row is read or counted with its reason, in blocks of any size."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pianobench.datasets.kdd12 import text
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.files import LogFile, profiles, tokens
from pianobench.datasets.kdd12.layout import COLUMNS, Some, joined
from pianobench.datasets.kdd12.writing import write
from pianobench.datasets.reading import UnusableFile

GOOD = b"1\t3\t18446744073709551615\t7\t8\t3\t2\t9\t10\t11\t12\t0"
BAD = {
    b"": "empty line",
    GOOD + b"\t5": "13 columns where 12 are expected",
    GOOD.rpartition(b"\t")[0]: "11 columns where 12 are expected",
    GOOD.replace(b"\t", b","): "1 columns where 12 are expected",
    GOOD.replace(b"\t9\t", b"\t\t"): "a cell is no whole number from 0 to 2^64 - 1",
    GOOD.replace(b"\t9\t", b"\t-9\t"): "a cell is no whole number from 0 to 2^64 - 1",
    GOOD.replace(b"\t9\t", b"\t0x9\t"): "a cell is no whole number from 0 to 2^64 - 1",
    GOOD.replace(b"\t9\t", b'\t"9"\t'): "a cell is no whole number from 0 to 2^64 - 1",
    GOOD.replace(b"18446744073709551615", b"18446744073709551616"): "a cell is no whole number from 0 to 2^64 - 1",
    GOOD.replace(b"\t9\t", b"\t" + b"9" * 5000 + b"\t"): "a cell is no whole number from 0 to 2^64 - 1",
    b"4" + GOOD[1:]: "more clicks than impressions",
    b"0\t0" + GOOD[3:]: "no impression",
    b"0\t2147483648" + GOOD[3:]: "2^31 impressions or more",
    GOOD.replace(b"\t3\t2\t", b"\t3\t4\t"): "position outside 1 ... depth",
    GOOD.replace(b"\t3\t2\t", b"\t3\t0\t"): "position outside 1 ... depth",
}


def made(folder: Path, content: bytes, name: str = "training.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_the_real_rows_are_those_of_a_plain_reading(shared_data: Path) -> None:
    for name, rows in (("kdd12_click_small/training_layout.txt.gz", 39_948), ("kdd12_raw_fixture/training.txt", 11)):
        path = shared_data / name
        file = LogFile(path, tolerated=0, block=1 << 16)
        log = joined(file.blocks())
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        expected = [list(map(int, line.split())) for line in content.splitlines()]
        assert log.values.T.tolist() == expected
        assert (len(log), file.skipped.rows, file.skipped.count) == (rows, rows, 0)
    assert (log["display_url"] > 2**63).any()
    assert file._sieve.form.quick(GOOD + b"\n") is not None, "large identifiers are parsed line by line"


def test_the_real_side_tables_and_their_unknown_users(shared_data: Path) -> None:
    folder = shared_data / "kdd12_raw_fixture"
    users = np.concatenate(list(profiles(folder / "user.txt")), axis=1)
    assert users[:, 1].tolist() == [2, 2, 3]
    assert not np.isin(joined(LogFile(folder / "training.txt").blocks())["user"], users[0]).any()
    for kind in ("query", "keyword", "title", "description"):
        lines = [line.split(b"\t") for line in (folder / f"{kind}.txt").read_bytes().splitlines()]
        (found,) = tokens(folder / f"{kind}.txt")
        assert found.key.tolist() == [int(key) for key, _ in lines]
        texts = [found.tokens[a:b].tolist() for a, b in zip(found.start[:-1], found.start[1:], strict=True)]
        assert texts == [list(map(int, items.split(b"|"))) for _, items in lines]


def test_another_layout_is_refused_at_once(shared_data: Path) -> None:
    path = shared_data / "kdd12_raw_fixture" / "TestPublic.txt"
    with pytest.raises(UnusableFile, match=r"TestPublic\.txt: 0 rows read, 11 lines left out: 11 x 1 columns where 12"):
        next(LogFile(path, tolerated=1).blocks())


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=range(len(BAD)))
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_bad_line_is_left_out_with_its_reason_and_number(
    line: bytes, reason: str, end: bytes, tmp_path: Path
) -> None:
    lines = [GOOD] * 150
    lines[100] = line
    file = LogFile(made(tmp_path, end.join(lines) + end), tolerated=0.01)
    log = joined(file.blocks())
    assert len(log) == file.skipped.rows == 149
    assert dict(file.skipped.reasons) == {reason: 1}
    assert file.skipped.first == {reason: 101}
    assert f"1 lines left out: 1 x {reason} (first: line 101)" in str(file.skipped)
    with pytest.raises(UnusableFile, match=r"a share of 0 is tolerated.*fetch the file again"):
        list(LogFile(file._sieve.path, tolerated=0).blocks())


@given(
    st.lists(st.sampled_from([GOOD] * 20 + list(BAD)), min_size=1, max_size=300), st.integers(1, 3000), st.booleans()
)
@example([GOOD, b"", GOOD], 1, False)
def test_blocks_of_any_size_leave_out_the_same(lines: list[bytes], block: int, ended: bool) -> None:
    import tempfile

    lines = [GOOD, *lines, GOOD]
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder), b"\n".join(lines) + b"\n" * ended)
        file = LogFile(path, tolerated=1, block=block)
        rows = joined(file.blocks()).values.T.tolist()
    assert rows == [list(map(int, GOOD.split(b"\t")))] * lines.count(GOOD)
    assert file.skipped.reasons == Counter(BAD[line] for line in lines if line != GOOD)


def test_files_that_end_too_early(tmp_path: Path) -> None:
    whole = b"\n".join([GOOD] * 3000) + b"\n"
    cut = LogFile(made(tmp_path, whole[:-20]), tolerated=1e-3)
    assert len(joined(cut.blocks())) == 2999
    assert cut.skipped.reasons == {"line cut off at the end of the file": 1}
    packed = gzip.compress(whole)
    with pytest.raises(UnusableFile, match="packed bytes are damaged"):
        list(LogFile(made(tmp_path, packed[:-30], "training.txt.gz")).blocks())
    with pytest.raises(UnusableFile, match=r"training\.txt is empty: a line of 12 tab-separated whole numbers"):
        list(LogFile(made(tmp_path, b"")).blocks())
    with pytest.raises(UnusableFile, match="pianobench fetch"):
        LogFile(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="tolerated = 7"):
        LogFile(made(tmp_path, whole), tolerated=7)


def test_progress_and_memory_of_a_long_file(tmp_path: Path) -> None:
    path = made(tmp_path, (GOOD + b"\n") * 60_000)
    seen: list[tuple[int, int | None, int]] = []
    file = LogFile(path, progress=lambda *now: seen.append(now), block=1 << 17)
    next(file.blocks())  # imports
    seen.clear()
    tracemalloc.start()
    try:
        count = sum(len(log) for log in file.blocks())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 60_000
    assert seen[-1] == (path.stat().st_size, path.stat().st_size, 60_000)
    assert len(seen) > 20
    assert peak < 12 * (1 << 17)


def test_bad_lines_of_the_side_tables(tmp_path: Path) -> None:
    users = b"1\t1\t5\n2\t3\t5\n3\t1\t7\n4\t2\t0\n"
    found = np.concatenate(list(profiles(made(tmp_path, users), tolerated=1)), axis=1)
    assert found.tolist() == [[1, 4], [1, 2], [5, 0]]
    texts = made(tmp_path, b"0\t3|4\n1\t\n2\t5||6\n3\t7\n\n4\tx\n5\t18446744073709551615|1\n")
    (some,) = tokens(texts, tolerated=1)
    assert (some.key.tolist(), some.start.tolist()) == ([0, 3, 5], [0, 2, 3, 5])
    assert some.tokens.tolist() == [3, 4, 7, 2**64 - 1, 1]
    with pytest.raises(UnusableFile, match="4 lines left out: 3 x an id or token is no whole number"):
        list(tokens(texts))


NUMBERS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 9, 10, 999, 1000, 9999, 10_000, 9_999_999, 10**7, 10**19])


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=30), st.data())
def test_lines_of_text_are_those_of_python(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    fields = [np.array(values, np.uint64) for values in zip(*rows, strict=True)]
    assert text.lines(fields, b"\t|\n") == "".join(f"{a}\t{b}|{c}\n" for a, b, c in rows).encode()
    lengths = data.draw(st.lists(st.integers(1, 2), min_size=len(rows), max_size=len(rows)))
    expected = "".join(f"{r[0]}\t{'|'.join(map(str, r[1 : n + 1]))}\n" for r, n in zip(rows, lengths, strict=True))
    assert text.lists(fields[0], fields[1:], np.array(lengths)) == expected.encode()


def test_written_clicks_are_read_back_with_their_tables(tmp_path: Path) -> None:
    clicks = Clicks(rows=20_000, test=0.1, seed=5)
    told: list[tuple[str, int]] = []
    files = {path.name: path for path in write(clicks, tmp_path, progress=lambda *now: told.append(now))}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert ("training.txt", 20_000) in told
    for name, part in {"training.txt": Some(clicks, 0, 20_000), "held_out.txt": Some(clicks, 20_000)}.items():
        file = LogFile(files[name], tolerated=0)
        np.testing.assert_array_equal(joined(file.blocks()).values, joined(part.blocks()).values)
    users = np.concatenate(list(profiles(files["userid_profile.txt"], tolerated=0)), axis=1)
    assert users[0].tolist() == list(range(1, 22_001))
    for name in files:
        if name.endswith("tokensid.txt"):
            parts = list(tokens(files[name], tolerated=0))
            assert sum(len(part.key) for part in parts) == 22_000
    assert len(COLUMNS) == 12
    again = write(clicks, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files.values()]
