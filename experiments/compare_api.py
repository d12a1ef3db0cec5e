"""`pianobench.compare`: rank the methods on arrays, from a notebook or a script."""

import html
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.experiments import compare as comparing
from pianobench.experiments.compare import LAM_FACTORS, Options
from pianobench.experiments.compare_data import Held, from_arrays, split, with_test
from pianobench.experiments.mistakes import UserMistake
from pianobench.results.store import Store, load

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison measured, and the rankings made of it.

    Attributes
    ----------
    rows : DataFrame
        A row for each run: status and reason, gap, seconds, cost, where it was measured.
    curves : DataFrame
        A row for each checkpoint; joined to `rows` by `key`.
    manifest : dict
        Versions, machine, data.
    """

    rows: "pd.DataFrame"
    curves: "pd.DataFrame"
    manifest: dict[str, Any]

    @cached_property
    def ranking(self) -> "pd.DataFrame":
        """Place and time of each method on each problem; see `pianobench.results.ranking.COLUMNS`."""
        from pianobench.results.ranking import by_problem

        return by_problem(self.rows, self.curves)

    @cached_property
    def overall(self) -> "pd.DataFrame":
        """Place of each method over all problems of a penalty; see `pianobench.results.overall.COLUMNS`."""
        from pianobench.results.overall import over_problems

        return over_problems(self.rows, self.curves)

    def figure(self) -> "Figure":
        """Curves and ranking of all problems on one page."""
        from pianobench.plots.comparison import comparison

        return comparison(self.rows, self.curves, self.manifest)

    def _repr_html_(self) -> str:
        names = ["penalty", "place", "last_place", "title", "reached", "of", "worst", "median", "mean", "undecided"]
        best = self.overall[self.overall["level"] == self.overall["level"].min()]
        table = best[[*names, "note"]].to_html(index=False, na_rep="", float_format=lambda x: f"{x:.3g}")
        return f"<p>{html.escape(str(self.manifest['title']))}</p>{table}<p>.ranking, .rows, .curves, .figure()</p>"


def compare(
    X: Any,
    y: Any,
    *,
    penalties: Sequence[str] = ("l1", "l2"),
    lam: Sequence[float] = (),
    lam_factors: Sequence[float] = LAM_FACTORS,
    solvers: Sequence[str] = (),
    fit_intercept: bool = True,
    conditioning: str = "none",
    tol: float = 1e-6,
    budget: float = 5.0,
    repeats: int = 1,
    threads: int = 1,
    seed: int = 0,
    test: "tuple[Any, Any] | None" = None,
    test_share: float | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
    name: str = "data",
) -> Comparison:
    """Rank the methods on your data by time to a certified gap.

    Each run is a process of its own, started by this one: nothing of the caller's script is run again, and no
    ``if __name__ == "__main__"`` is needed.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame, shape (n, d)
        Features.
    y : array-like, shape (n,)
        Labels of any kind.
    penalties : sequence of {"l1", "l2", "none"}
    lam : sequence of float
        Strengths; the loss is a sum over samples. With none given `lam_factors` hold.
    lam_factors : sequence of float
        Strengths as multiples of lambda_max, the smallest l1 strength with an all-zero solution.
    solvers : sequence of str
        Keys of `pianobench solvers`, or ``path.py:Class``; by default all.
    fit_intercept : bool
    conditioning : {"none", "scale", "centre+scale"}
        Whether the methods see standardised columns; penalty and solution stay in the data's units.
    tol : float
        Relative gap to reach.
    budget : float
        Seconds of each run.
    repeats : int
        Runs of each method on each problem; from 5 on, times are judged by their bootstrap interval.
    threads, seed : int
    test : (X, y), optional
        Held-out samples: adds accuracy and log loss.
    test_share : float, optional
        Instead: share of the samples held out, of each class alike.
    out : path, optional
        Folder of runs that keeps everything, and takes from it what it already holds; else a temporary one.
    quiet : bool
        Print no progress.
    name : str
        Of the data, for tables and figures.

    Returns
    -------
    Comparison

    Raises
    ------
    UserMistake
        A ValueError of one line: the value, what is expected, the remedy.
    KeyboardInterrupt
        After Ctrl-C; runs that had ended are kept in `out`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = compare(*load_iris(return_X_y=True), solvers=["lbfgs"], penalties=["l2"], budget=1, quiet=True)
    >>> found.ranking["outcome"].unique().tolist()
    ['reached']
    """
    from pianobench.experiments.cli.progress import Progress

    if test is not None and test_share is not None:
        raise UserMistake(f"test and test_share = {test_share:g} are both given: leave one out")
    held = Held(from_arrays(X, y, name))
    if test is not None:
        held = with_test(held.train, from_arrays(*test, name=f"{name}-held-out"))
    elif test_share is not None:
        held = split(held.train, test_share, seed)
    options = Options(
        tuple(penalties), tuple(lam), tuple(lam_factors), tuple(solvers),
        fit_intercept, conditioning, tol, budget, repeats, threads, seed,
    )  # fmt: skip
    plan = comparing.plan(held, options)
    with tempfile.TemporaryDirectory(prefix="pianobench-") as scratch:
        store = Store(Path(scratch if out is None else out))
        with Progress(plan.cells, store, quiet, stream=sys.stderr) as progress:
            command = ["pianobench.compare"]
            folder, outcome = comparing.execute(plan, held, store, command, progress.start, progress.row)
        tables = load(folder)
    if outcome.interrupted:
        raise KeyboardInterrupt("the comparison was interrupted")
    return Comparison(tables.rows, tables.curves, tables.manifest)
