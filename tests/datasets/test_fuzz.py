"""Files of any bytes: every one is read as a sound data set or refused in one line, by every reader."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzzing import finding, guarded
from mutations import Case, mutated, plain_contents, zipped
from naive_readers import disagreement
from seed_files import SEEDS, idx, npy, npz, parquet

from pianobench.datasets.readers import forms

# Mutated files of all forms together; a campaign sets PIANOBENCH_FUZZ=100000, and another PIANOBENCH_FUZZ_SEED.
COUNT = int(os.environ.get("PIANOBENCH_FUZZ", "2100"))
SEED = os.environ.get("PIANOBENCH_FUZZ_SEED", "0")
SHOWN = 20


def test_every_form_has_seeds_that_are_read(tmp_path: Path) -> None:
    assert set(SEEDS) == set(forms.FORMS)
    with guarded():
        for form, seeds in SEEDS.items():
            for seed in seeds:
                data, wrong = finding(seed, form, tmp_path)
                assert wrong is None, (form, seed)
                assert data is not None, (form, seed)


@pytest.mark.parametrize("form", forms.FORMS)
def test_mutated_files_are_sound_or_refused(tmp_path: Path, form: str) -> None:
    outcomes: Counter[str] = Counter()
    findings: dict[str, str] = {}
    with guarded():
        for seed in SEEDS[form]:  # what is imported when it is needed is there then
            finding(seed, form, tmp_path)
        for number in range(COUNT // len(forms.FORMS)):
            case = mutated(SEEDS[form], Random(f"{SEED} {form} {number}"))
            data, wrong = finding(case, form, tmp_path)
            if data is not None and wrong is None:
                wrong = disagreement(data, form, plain_contents(case), case.options)
            outcomes["wrong" if wrong else "read" if data else "refused"] += 1
            if wrong:
                findings.setdefault(wrong.split(": ")[0][:60], f"{number}: {wrong}")
            if len(findings) >= SHOWN:
                break
    print(f"{form}: {dict(outcomes)}")
    assert not findings, "\n" + "\n".join(findings.values())
    assert outcomes["read"] > 0
    assert outcomes["refused"] > 0


def header(text: str) -> bytes:
    """Of an array of NumPy, whatever it says."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1")


def beyond_unicode() -> bytes:
    return npy(["a", "b"])[:-4] + b"\xff\xff\xff\x7f"


TEXTS_OF_NO_LENGTH = header("{'descr': '<U0', 'fortran_order': False, 'shape': (10000000000,)}")
# What mutations have found, and would again: files, and of their message; None where they are to be read.
FOUND = {
    "npz: header that Python cannot tokenise": ({"f": zipped({"X.npy": header("{'descr': (")})}, "not an npz file"),
    "npz: texts beyond Unicode": ({"f": zipped({"X.npy": npy([[1], [2]]), "y.npy": beyond_unicode()})}, "no Unicode"),
    "npz: texts of no length in a huge array": ({"f": zipped({"X.npy": TEXTS_OF_NO_LENGTH})}, "has not the bytes"),
    "npz: pointer whose difference to the one before overflows": (
        {"f": npz(data=[1.0, 2, 3], indices=[0, 1, 0], indptr=[0, 1, -6213936403009263165], shape=[2, 2], y=[0, 1])},
        "the parts are no CSR matrix",
    ),
    "arff: labels that look the same": (
        {"f": b"@attribute a real\n@attribute s string\n@data\n1,b\n2,b\xe2\x80\xa8\n"},
        "line 5: label 'b.*' has characters that are not printable",
    ),
    "npz: label not printable": ({"f": zipped({"X.npy": npy([[1]]), "y.npy": npy(["\1\n"])})}, r"only, \\x01\\n;"),
    "table: label of 60,000 characters": ({"f": b"a,b\n2,3\n1," + b"1" * 60_000 + b".5\n"}, r"^f: .* \.\.\. "),
    "table: cell of 60,000 digits that is no number": ({"f": b"a,b\n1,2\n" + b"1" * 60_000 + b"x,1\n3,3\n"}, "^f: "),
    "table: labels that differ in a NUL": ({"f": b"a,b\n1,x\n2,x\0\n3,y\n"}, "line 3: it has a NUL"),
    "table: quote that is not closed in the last cell": ({"f": b'a,b\n1,x\n2,"y\n3,x\n4,z\n'}, "line 3: .*not closed"),
    "table: mark of byte order below": ({"f": b"a,b\n1,x\n2,y\n\xef\xbb\xbf\n"}, "line 4: it has 1 cell"),
    "table: 40,000 cells in a line": ({"f": b"1," * 40_000 + b"x\n" + b"2," * 40_000 + b"y\n"}, None),
    "table: NUL in a category": ({"f": b"a,b\nu,x\nv,y\nu\0,y\n"}, "line 4: it has a NUL"),
    "table: name of a column of Parquet that is not UTF-8": (
        {"f.parquet": parquet().replace(b"colour", b"col\xffur")},
        "it is not Parquet, or damaged",
    ),
    "npz: names for the columns of an array without columns": (
        {"f": npz(X=1.5, y=[0, 1], n=["a"])},
        r"X has shape \(\)",
    ),
    "table: label of control characters": ({"f": b"a,b\n1,x\n2,\x19\n"}, "not printable"),
    "keel: range that is none": (
        {"f": b"@attribute a real [0, {}]\n@attribute b {x}\n@data\n"},
        "after the type of 'a'",
    ),
    "keel: output by position": (
        {"f": b"@attribute a real\n@attribute b {x}\n@outputs 1\n@data\n1,x\n"},
        "no attribute is called '1'",
    ),
    "keel: mark of missing values within a value": ({"f": b"1,9<null>\n2,9\n"}, None),
    "idx: numbers below those of float32 divided": ({"f": idx([[1e-45], [0]], 13), "g": idx([0, 1], 8)}, None),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(tmp_path: Path, name: str) -> None:
    form, (files, message) = name.partition(":")[0], FOUND[name]
    options = {"idx": {"scale": 2}, "npz": {"feature_names": "n"} if "columns" in name else {}}.get(form, {})
    case = Case(tuple(files.items()), options)
    with guarded():
        data, wrong = finding(case, form, tmp_path, message)
    assert wrong is None
    if message is None:
        assert data is not None
        assert disagreement(data, form, plain_contents(case), options) is None
