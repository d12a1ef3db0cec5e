"""Which reader reads which file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module

from pianobench.datasets.readers.parsed import Parsed

Reader = Callable[..., Parsed]

# Form → module of its reader, imported when it is needed: scikit-learn and pandas take a second.
FORMS = {
    "npz": "npz",
    "svmlight": "svmlight",
    "idx": "idx",
    "table": "tables",
    "texts": "texts",
    "arff": "arff",
    "keel": "keel",
}
# Ending → form. What has another ending is read by naming the form.
ENDINGS = {
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".idx1-ubyte": "idx",
    ".idx3-ubyte": "idx",
    ".csv": "table",
    ".tsv": "table",
    ".txt": "table",
    ".parquet": "table",
    ".json": "texts",
    ".jsonl": "texts",
    ".arff": "arff",
    ".dat": "keel",
}


def reader(form: str) -> Reader:
    """The function that reads a form.

    Raises
    ------
    KeyError
        There is no such form.
    """
    read: Reader = import_module(f"pianobench.datasets.readers.{FORMS[form]}").read
    return read


def options(form: str) -> dict[str, object]:
    """Names of a form's options, with their defaults."""
    parameters = inspect.signature(reader(form)).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}
