"""What is known of a data set before it is read."""

from collections.abc import Callable
from dataclasses import dataclass

from pianobench.datasets.dataset import Dataset


class MissingData(ValueError):
    """A known data set is not on this machine; the message says what brings it."""


@dataclass(frozen=True)
class Entry:
    """One line of the registry.

    Parameters
    ----------
    name : str
        Key in the registry.
    description, field, origin, licence : str
        One line each, see `Dataset`.
    n, d, m : int
        Samples of all parts, columns and classes, as it is read.
    source : str
        Which of our sources has it: scikit-learn, bundled, shared, fetched, generated.
    read : callable
        Returns the data set.
    missing : str or None
        None where it can be read now; else what brings it.
    nnz : int or None
        Stored values of a sparse set; None of a dense one.
    checksum : str or None
        Of the arrays; None where their last bits depend on the machine.
    """

    name: str
    description: str
    field: str
    origin: str
    licence: str
    n: int
    d: int
    m: int
    source: str
    read: Callable[[], Dataset]
    missing: str | None = None
    nnz: int | None = None
    checksum: str | None = None

    def load(self) -> Dataset:
        """The data set.

        Raises
        ------
        MissingData
            It is not on this machine.
        """
        if self.missing is not None:
            raise MissingData(f"{self.name} is not on this machine: {self.missing}")
        return self.read()
