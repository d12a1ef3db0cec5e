"""Small valid files of every form, to be mutated."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from mutations import Case, zipped


def npy(array: Any) -> bytes:
    """One array of NumPy."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array))
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()})


def idx(array: Any, code: int) -> bytes:
    """IDX of one array."""
    kind = {8: "u1", 11: ">i2", 13: ">f4"}[code]
    array = np.asarray(array)
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + array.astype(kind).tobytes()


def parquet() -> bytes:
    """Parquet of numbers and texts."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    stream = io.BytesIO()
    columns = {
        "a": [1.5, 2.0, None, 4.0],
        "b": [1, 2, 3, 4],
        "colour": ["red", "blue", "red", "red"],
        "y": [0, 1, 0, 1],
    }
    write_table(pa.table(columns), stream, compression="none")
    return stream.getvalue()


_X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.25], [4.0, -1.0]])
_NUMERIC = b"a,b,class\n1,2.5,x\n-3,4e2,y\n0,.5,x\n"
_MIXED = b'id,"the colour",n,y\nk1,red,1,10\nk2,"light, green",2,9\nk3,red,3,10\nk4,"a ""b""",4,9\n'
_ARFF = b"""% c
@relation r
@attribute a numeric
@attribute 'b c' real
@attribute k {u,'v w'}
@attribute class {x,y}
@data
"""
_KEEL = b"""@relation k
@attribute A real [0.0, 1.0]
@attribute B integer [0, 9]
@attribute C {1, 2}
@inputs A, B
@outputs C
@data
"""
_SVM = b"+1 1:0.5 3:2\n-1 2:1e-1 # note\n\n+1 1:1 2:2 3:3\n-1\n"

_PARTS = {"parts_in_file": ["train", "test"]}

SEEDS: dict[str, list[Case]] = {
    "npz": [
        Case((("f.npz", npz(X=_X, y=[1, 2, 1, 2])),), packable=False),
        Case((("f.npz", npz(X=_X.astype(">f4").T.copy().T, y=["a", "b", "a", "c"])),), packable=False),
        Case(
            (
                (
                    "f.npz",
                    npz(data=[1.0, 2, 3], indices=[0, 1, 0], indptr=[0, 1, 3], shape=[2, 2], y=[0, 1], format=b"csr"),
                ),
            ),
            packable=False,
        ),
        Case(
            (("f.npz", npz(X=np.arange(8).reshape(4, 2), y=[1, 2, 1, 2], s="0.01", n=["p", "q"], w=["c", "d"])),),
            {"scale": "s", "class_names": "n", "feature_names": "w"},
            packable=False,
        ),
    ],
    "svmlight": [
        Case((("f.svm", _SVM),)),
        Case((("f.svm", _SVM), ("g.svm", b"1 4:1\n-1 1:1\n"))),
        Case((("f.svm", b"3 0:1 7:2\n10 2:.5\n"),), {"n_features": 9}),
        Case((("f.svm", b"1 0:3:1 1:5:0.5\n0 0:2:1\n"),), {"fields": True}),
    ],
    "idx": [
        Case((("f.idx3-ubyte", idx(np.arange(24).reshape(4, 2, 3), 8)), ("g.idx1-ubyte", idx([0, 1, 0, 2], 8)))),
        Case((("f.idx1-ubyte", idx([5, 300], 11)), ("g.idx3-ubyte", idx(_X[:2], 13))), {"scale": 2}),
    ],
    "table": [
        Case((("f.csv", _NUMERIC),)),
        Case((("f.csv", _MIXED),), {"drop": ["id"]}),
        Case((("f.csv", _MIXED), ("g.csv", _MIXED)), {"drop": ["id"], "missing": "category"}),
        Case((("f.tsv", b"1\t2\t0\n3\t\t1\n5\t6\t0\n"),), {"missing": "mean"}),
        Case((("f.csv", b"a;b;y\r\n1.5;red;1\r\n2;blue;2\r\n"),), {"missing": "drop"}),
        Case((("f.txt", b"1  2.5 u\n3  4 'v'\n0 1 u\n"),)),
        Case((("f.parquet", parquet()),), {"missing": "mean"}, packable=False),
        Case((("f.parquet", parquet()),), {"missing": "category", "target": "colour"}, packable=False),
    ],
    "arff": [
        Case((("f.arff", _ARFF + b"1,2,u,x\n3.5,4, 'v w' ,y\n"),), {"missing": "drop"}),
        Case((("f.arff", _ARFF + b"1,2,u,x\n-3.5,1e3,'v w',y\n% end\n0,?,u,y\n"),), {"missing": "mean"}),
        Case((("f.arff", _ARFF + b"{0 1, 2 'v w'}\n{1 2.5,3 y}\n{}\n"),)),
        Case(
            (("f.arff", _ARFF + b"{0 1, 1 ?}\n{0 2,1 2.5,3 y}\n"), ("g.arff", _ARFF + b"{3 y}\n")), {"missing": "mean"}
        ),
        Case((("f.arff", b"@attribute a real\n@attribute class hierarchical 1,1/2,2\n@data\n1,1@1/2\n2,2\n"),)),
        Case((("f.arff", b"@attribute a real\n@attribute s string\n@data\n1,'x y'\n2,z\n"),), {"target": "s"}),
    ],
    "keel": [
        Case((("f.dat", _KEEL + b"0.5, 3, 1\n0.25, 4, 2\n<null>, 4, 1\n"),), {"missing": "mean"}),
        Case((("f.dat", _KEEL + b"0.5,3,1\n0.25,4,2\n"), ("g.dat", _KEEL + b"1,1,1\n"))),
        Case((("f.dat", b"1, 2.5, 10\n3, 4, 9\n"),)),
    ],
    "texts": [
        Case((("f.tsv", b"ham\tsome words, here\nspam\tother words\nham\tThe same words\n"),)),
        Case((("f.tsv", b"so words\t1\nno words\t2\n"), ("g.tsv", b"words\t1\n")), {"target": 1, "lowercase": False}),
        Case((("f.csv", b'id,text,label\n1,"two\nlines, words",10\n2,"a ""word""",9\n'),)),
        Case((("f.json", b'{"train": [["one two", "a"], ["three", "b"]], "test": [["two", "a"]]}'),), _PARTS),
        Case((("f.json", b'[{"text": "one two", "label": 1}, {"text": "\\u00e9t\\u00e9", "label": 2}]'),)),
        Case((("f.jsonl", b'{"text": "one two", "label": "a"}\n["three four", "b"]\n\n["two", 3]\n'),)),
    ],
}
