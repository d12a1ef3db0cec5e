"""svmlight (provisional)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pianobench.datasets.readers.packed import opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable, stacked


def read(paths: Sequence[Path]) -> Parsed:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    matrices, labels = [], []
    for path in paths:
        try:
            with opened(path) as stream:
                X, y = load_svmlight_file(stream)
        except Unreadable:
            raise
        except (ValueError, EOFError, OverflowError) as error:
            raise Unreadable(f"it is not svmlight ({error})", path=path) from error
        matrices.append(csr_array(X))
        labels.append(y)
    return stacked(matrices, labels)
