"""Fetch a data set by name: what is here is looked at first, and the receipt is written when all is right."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module

from pianobench.datasets import fetched
from pianobench.datasets.fetching import described, lock, openml, receipts, remedies
from pianobench.datasets.fetching.connection import Unreachable
from pianobench.datasets.fetching.job import Job, Watch
from pianobench.datasets.fetching.receipts import Receipt
from pianobench.datasets.fetching.wanted import FetchError

_MODULES = {"kaggle": "kaggle", "libsvm": "libsvm", "openml": "openml", "sklearn": "scikit_learn"}


@dataclass(frozen=True)
class Outcome:
    """What `fetch` did.

    Parameters
    ----------
    receipt : Receipt
    status : str
        "here": it was; "fetched"; "found": the user had put the files there.
    notes : tuple of str
    trouble : str or None
        Why the files, which are here and as they should be, cannot be read.
    """

    receipt: Receipt
    status: str
    notes: tuple[str, ...] = ()
    trouble: str | None = None


def fetch(
    name: str,
    *,
    watch: Watch,
    anew: bool = False,
    accept_changed: bool = False,
    waiting: Callable[[], None] = lambda: None,
) -> Outcome:
    """Bring a data set to this machine, unless it is here.

    Parameters
    ----------
    name : str
        ``libsvm/letter``, ``openml/61``, ``sklearn/covtype``, ``kaggle/avazu``.
    watch : callable
        Is told the name of a file, the bytes that have come and how many will.
    anew : bool
        Although it is here; the bytes must be those of the first time.
    accept_changed : bool
        Anew, and other bytes than those of the first time are taken; not against a checksum that the catalogue or
        the source states.
    waiting : callable
        Is called if another process is fetching the same.

    Raises
    ------
    FetchError
        What was here before still is.
    """
    source, key = receipts.split(name)
    if source != "openml":
        described.described(source, key)
    place, anew = receipts.folder(name), anew or accept_changed
    module = import_module(f"pianobench.datasets.fetching.{_MODULES[source]}")
    with lock.alone(place, waiting):
        old = receipts.load(name)
        if old is not None and not anew and receipts.changed(old) is None:
            return Outcome(old, "here")
        place.mkdir(exist_ok=True)
        try:
            wanted = module.wanted(key, place, anew)
        except Unreachable as error:
            raise Unreachable(remedies.description(name, str(error), openml.API, place)) from error
        except FetchError as error:
            with suppress(OSError):
                place.rmdir()
            raise FetchError(f"{name}: {error}") from error
        known = {} if old is None or accept_changed else {got.name: got for got in old.files}
        files, status = Job(name, wanted, place, known, anew, watch).run()
        receipt = Receipt(name, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), files, wanted.facts)
        receipts.save(receipt)
    stated = (file.sha256 or file.md5 or file.name in known for file in wanted.files)
    trust = "nobody states its checksums: those of today are recorded, and held against it from now on"
    notes = wanted.notes if wanted.produce or all(stated) else (*wanted.notes, trust)
    return _read(Outcome(receipt, status, notes))


def _read(outcome: Outcome) -> Outcome:
    """With the sizes that reading finds, in the receipt, too."""
    from pianobench.datasets.reading import UnusableFile

    receipt, notes = outcome.receipt, outcome.notes
    facts = fetched.facts_of(receipt.name, receipt)
    if not facts.get("form"):
        return outcome
    try:
        found = fetched.read(receipt.name)
    except (UnusableFile, MemoryError) as error:
        return replace(outcome, trouble=str(error) or "the memory does not hold it")
    stated, sizes = tuple(facts.get(one) for one in "ndm"), (found.n, found.d, found.m)
    if None not in stated and stated != sizes:
        notes += (f"its source states {stated} samples, columns and classes, and it has {sizes}",)
    nnz = int(found.X.nnz) if hasattr(found.X, "nnz") else None
    receipt = replace(receipt, n=found.n, d=found.d, m=found.m, nnz=nnz, checksum=found.checksum)
    receipts.save(receipt)
    return replace(outcome, receipt=receipt, notes=notes)
