"""Documents with labels: words weighted by tf-idf, the vocabulary and the weights from the first part alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pianobench.datasets.readers import columns, documents
from pianobench.datasets.readers.packed import ending
from pianobench.datasets.readers.parsed import Parsed, Unreadable, stacked

LAYOUTS = {"tsv": (".tsv", ".txt"), "csv": (".csv",), "json": (".json",), "jsonl": (".jsonl", ".ndjson")}
WORD = r"(?u)\b\w\w+\b"  # two letters or digits at least


def read(
    paths: Sequence[Path],
    *,
    layout: str | None = None,
    text: str | int | None = None,
    target: str | int | None = None,
    header: bool | None = None,
    parts_in_file: Sequence[str] = (),
    lowercase: bool = True,
    min_df: float = 1,
    max_features: int | None = None,
) -> Parsed:
    """Documents as rows of tf-idf, float64 CSR.

    A word is two or more letters, digits or underscores. With n documents in the first part, of which f(w) have the
    word w, a document that has w c times has the weight c (1 + log((1 + n) / (1 + f(w)))) there, and each row is then
    divided by its Euclidean norm. Words that the first part does not have are left out.

    Parameters
    ----------
    paths : sequence of Path
    layout : str, optional
        ``tsv``: lines ``label TAB text``; ``csv``: a table; ``json``: a list of objects or of pairs (text, label), or
        an object of such lists; ``jsonl``: an object or a pair in each line. By default the ending tells.
    text, target : str or int, optional
        Column, field or position of the text and of its label. By default ``text`` and the last column in CSV,
        ``text`` and ``label`` in JSON's objects, 0 and 1 in its pairs; in ``tsv``, target is 0 or 1.
    header : bool, optional
        Whether the first row names the columns: in CSV it does, by default, if it has the name of text or target; in
        ``tsv``, if its text is ``text``.
    parts_in_file : sequence of str
        Names of the lists that are read as parts, in this order, of a JSON object.
    lowercase : bool
        Whether words are compared in small letters.
    min_df : int or float
        Leave out words that are in fewer documents of the first part; below 1, a share of them.
    max_features : int, optional
        Keep so many of the words that are most frequent there.

    Raises
    ------
    Unreadable
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts_in_file = [parts_in_file] if isinstance(parts_in_file, str) else parts_in_file
    _check(lowercase, min_df, max_features)
    vectorizer = TfidfVectorizer(
        lowercase=lowercase,
        token_pattern=WORD,
        min_df=min_df,
        max_features=max_features,
        norm="l2",
        use_idf=True,
        smooth_idf=True,
        sublinear_tf=False,
        dtype=np.float64,
    )
    matrices, labels = [], []
    parts, notes = _parts(paths, layout, text, target, header, parts_in_file)
    for number, part in enumerate(parts):
        own: list[str] = []
        try:
            X = (vectorizer.transform if number else vectorizer.fit_transform)(_texts(part, own))
        except Unreadable:
            raise
        except ValueError as error:
            if own:
                raise Unreadable(f"no word is left ({error}): lower min_df, or is text the right column?") from error
            X = None
        if X is None or not own:
            raise Unreadable("it has no document", path=paths[min(number, len(paths) - 1)])
        matrices.append(csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape))
        labels.append(own)
    values, codes = np.unique(np.array([label for own in labels for label in own]), return_inverse=True)
    y = columns.labels(values.tolist())[codes]
    empty = sum(int(np.count_nonzero(np.diff(X.indptr) == 0)) for X in matrices)
    of = " of the first part" if len(matrices) > 1 else ""
    notes = [*notes, f"tf-idf, vocabulary of {len(vectorizer.vocabulary_)} words{of}"]
    notes += [f"min_df {min_df}"] * (min_df != 1) + [f"max_features {max_features}"] * (max_features is not None)
    notes += ["capitals kept"] * (not lowercase)
    notes += [f"{empty} documents without such a word are rows of zeros"] * (empty > 0)
    return stacked(
        matrices,
        np.split(y, np.cumsum([len(own) for own in labels])[:-1]),
        features=tuple(vectorizer.get_feature_names_out().tolist()),
        notes=tuple(notes),
        parts=tuple(parts_in_file),
    )


def _check(lowercase: bool, min_df: float, max_features: int | None) -> None:
    if not isinstance(lowercase, bool):
        raise Unreadable(f"lowercase is {lowercase!r}: true or false is expected")
    if not (min_df >= 1 if type(min_df) is int else type(min_df) is float and 0 < min_df < 1):
        raise Unreadable(f"min_df is {min_df!r}: a number of documents from 1, or a share between 0 and 1, is expected")
    if max_features is not None and not (type(max_features) is int and max_features >= 1):
        raise Unreadable(f"max_features is {max_features!r}: a number of words from 1 is expected")


def _parts(
    paths: Sequence[Path],
    layout: str | None,
    text: str | int | None,
    target: str | int | None,
    header: bool | None,
    parts_in_file: Sequence[str],
) -> tuple[list[documents.Documents], Sequence[str]]:
    """The documents of each part, and notes."""
    if layout is None:
        layout = next((name for name, endings in LAYOUTS.items() if ending(paths[0]) in endings), None)
    if layout not in LAYOUTS:
        raise Unreadable(f"layout is {layout!r}: give one of {', '.join(LAYOUTS)}")
    if parts_in_file and layout != "json":
        raise Unreadable(f"parts_in_file is for JSON, and the layout is {layout}: give each part as a file")
    if header is not None and layout in ("json", "jsonl"):
        raise Unreadable("JSON has no header: leave the option out")
    if layout == "csv":
        return documents.from_csv(paths, text, target, header)
    if layout == "tsv":
        return documents.from_tsv(paths, text, target, header), ()
    if layout == "json":
        return documents.from_json(paths, text, target, parts_in_file), ()
    return documents.from_jsonl(paths, text, target), ()


def _texts(part: documents.Documents, labels: list[str]) -> Iterator[str]:
    """The texts; their labels are put aside."""
    for text, label in part:
        labels.append(label)
        yield text
