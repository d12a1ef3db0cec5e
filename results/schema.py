"""Columns of the result tables and the statuses of a run: what every reader of a table may rely on.

`SCHEMA_VERSION` rises when a column changes its meaning or disappears; a new column alone does not raise it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

STATUSES: dict[str, str] = {
    "converged": "the certified gap reached the tolerance",
    "budget": "the allowed number of steps was used up",
    "timeout": "the allowed seconds were used up, or the process was killed at its deadline",
    "stalled": "no better objective for several checkpoints",
    "stationary": "a fixed point of a non-convex problem (l0)",
    "measured": "a probe has given its numbers",
    "no-minimiser": "the objective has no minimiser",
    "diverged": "the objective or the weights are not finite",
    "breakdown": "the method itself could not go on",
    "skipped": "the method does not solve this kind of problem",
    "crashed": "the process died of a signal",
    "out-of-memory": "the process ran out of memory, or over its limit",
    "interrupted": "the suite was interrupted",
    "lost": "the process ended without telling how",
    "error": "an exception was raised",
}
# Outcomes that say something about the method: kept and reused. The others are measured again next time.
FINISHED = frozenset(
    {
        "converged",
        "budget",
        "timeout",
        "stalled",
        "stationary",
        "measured",
        "no-minimiser",
        "diverged",
        "breakdown",
        "skipped",
    }
)
FAILED = frozenset(STATUSES) - FINISHED


@dataclass(frozen=True)
class Column:
    """One column: its name, its pandas dtype, its meaning in one line."""

    name: str
    dtype: str
    meaning: str


_POINT = (
    Column("gradient_equivalents", "float64", "cost so far ÷ cost of one gradient"),
    Column("passes", "float64", "times that all n rows were read so far"),
    Column("objective", "float64", "F, computed by the suite in float64"),
    Column("lower", "float64", "certified lower bound L on the minimum of F"),
    Column("gap", "float64", "(F − L)/F, in [0, 1]"),
    Column("certificate", "string", "kind of L: dual, zero, reference or stationary"),
    Column("residual", "float64", "residual of the optimality conditions"),
    Column("nnz", "Int64", "non-zero weights"),
)

ROWS: tuple[Column, ...] = (
    Column("key", "string", "hash of all that decides the result; joins rows and curves"),
    Column("label", "string", "dataset/problem/solver/seed/threads, for people"),
    Column("experiment", "string", "name of the configuration"),
    Column("tier", "string", "smoke, laptop, full or compare"),
    Column("evidence", "string", "real data, or synthetic ones with the effect planted or absent"),
    Column("dataset", "string", "name of the data set"),
    Column("data_checksum", "string", "SHA-256 of its arrays"),
    Column("n", "Int64", "samples"),
    Column("d", "Int64", "features"),
    Column("m", "Int64", "classes"),
    Column("dtype", "string", "number format of the features"),
    Column("layout", "string", "dense or csr"),
    Column("problem", "string", "penalty and strength, for people"),
    Column("penalty", "string", "none, l1, l2, l0 or elasticnet"),
    Column("lam", "float64", "strength in user units; of l1 for the elastic net"),
    Column("lam_factor", "float64", "lam ÷ lambda_max where the configuration gives it so"),
    Column("ridge", "float64", "strength of l2 in the elastic net"),
    Column("lambda_max", "float64", "smallest l1 strength with an all-zero solution"),
    Column("intercept", "boolean", "an unpenalised intercept is fitted"),
    Column("conditioning", "string", "none, scale or centre+scale"),
    Column("solver", "string", "key in the registry, or file.py:Class"),
    Column("solver_title", "string", "name in the literature"),
    Column("params", "string", "hyper-parameters, JSON"),
    Column("seed", "Int64", "root seed"),
    Column("entropy", "string", "entropy and spawn key of the SeedSequence that the solver's draws come from, JSON"),
    Column("repeat", "Int64", "the same again in a fresh process, from 0; each repeat is measured once"),
    Column("tolerance", "float64", "gap at which the run stops"),
    Column("max_seconds", "float64", "allowed seconds of set-up and steps"),
    Column("max_steps", "Int64", "allowed steps"),
    Column("status", "string", "one of STATUSES"),
    Column("reason", "string", "why it ended so"),
    Column("steps", "Int64", "steps taken"),
    Column("setup_seconds", "float64", "seconds of the solver's init"),
    Column("seconds", "float64", "seconds of init and steps"),
    *_POINT,
    Column("checkpoints", "Int64", "points of the curve"),
    Column("rows_read", "float64", "rows of X that were read"),
    Column("flops", "float64", "floating point operations that the problem's calls declare"),
    Column("bytes_moved", "float64", "bytes of X and of row-sized arrays that they declare"),
    Column("accuracy", "float64", "share of the samples that the returned weights classify rightly"),
    Column("test_accuracy", "float64", "share of held-out samples predicted rightly by the final weights"),
    Column("test_log_loss", "float64", "their mean loss"),
    Column("warmup_seconds", "float64", "compile and first calls on a tiny problem, never in a curve"),
    Column("wall_seconds", "float64", "seconds of the whole solve, with certificates and log"),
    Column("evaluation_seconds", "float64", "wall_seconds − seconds: certificates and log, off the clock"),
    Column("cpu_seconds", "float64", "processor time of all threads during wall_seconds"),
    Column("involuntary_switches", "Int64", "times during wall_seconds that another process took the core"),
    Column("load_before", "float64", "load average over a minute when the process started"),
    Column("load_after", "float64", "load average over a minute when it had ended"),
    Column("disturbed", "string", "signs that other work shared the machine; missing where there were none"),
    Column("process_seconds", "float64", "wall time of the whole process, with start, data and certificates"),
    Column("peak_bytes", "Int64", "largest resident memory of the process"),
    Column("threads_asked", "Int64", "threads of BLAS, OpenMP and Numba that were set"),
    Column("threads_observed", "Int64", "largest pool that was seen after the run"),
    Column("thread_pools", "string", "every pool that was seen after the run, JSON"),
    Column("earlier", "string", "how earlier attempts of this cell ended; missing if it was the first"),
    Column("measured_at", "string", "UTC time of the measurement"),
    Column("commit", "string", "commit of the measured code, '+' if changed since"),
    Column("machine", "string", "CPU model and cores"),
    Column("reused", "boolean", "measured by an earlier run and taken from the store: no new sample"),
    Column("schema", "Int64", "SCHEMA_VERSION of the row"),
)

CURVES: tuple[Column, ...] = (
    Column("key", "string", "key of the row"),
    Column("step", "Int64", "steps taken"),
    Column("seconds", "float64", "seconds of init and steps so far"),
    *_POINT,
)

PROBES: tuple[Column, ...] = (
    Column("experiment", "string", "name of the experiment"),
    Column("tier", "string", "smoke, laptop or full"),
    Column("evidence", "string", "real data, or synthetic ones with the effect planted or absent"),
    Column("dataset", "string", "name of the data set"),
    Column("n", "Int64", "samples"),
    Column("d", "Int64", "features"),
    Column("m", "Int64", "classes"),
    Column("problem", "string", "penalty and strength, for people"),
    Column("penalty", "string", "none, l1, l2, l0 or elasticnet"),
    Column("threads_asked", "Int64", "threads of BLAS, OpenMP and Numba that were set"),
    Column("quantity", "string", "what was measured"),
    Column("arm", "string", "of which method or treatment"),
    Column("axis", "string", "name of a further axis, missing where there is none"),
    Column("x", "float64", "place on it"),
    Column("value", "float64", "the number, in the unit of its quantity"),
    Column("seed", "Int64", "root seed"),
    Column("repeat", "Int64", "the same again, from 0"),
    Column("key", "string", "key of the row of its process; missing where it was measured without one"),
    Column("data_checksum", "string", "SHA-256 of the arrays of the data set; missing likewise"),
    Column("max_seconds", "float64", "allowed seconds; missing likewise"),
    Column("disturbed", "string", "signs that other work shared the machine; missing where there were none"),
    Column("measured_at", "string", "UTC time of the measurement"),
    Column("commit", "string", "commit of the measured code, '+' if changed since"),
    Column("machine", "string", "CPU model and cores"),
    Column("schema", "Int64", "SCHEMA_VERSION of the row"),
)
"""What an experiment measures that is no run of a solver to a gap: a line for each number."""


def frame(records: Iterable[Mapping[str, Any]], columns: tuple[Column, ...]) -> "pd.DataFrame":
    """Records as a table with exactly these columns and dtypes; what a record lacks is missing.

    Raises
    ------
    ValueError
        If a record has a key that the schema does not know: nothing is dropped in silence.
    """
    import pandas as pd

    records = list(records)
    known = {column.name for column in columns}
    strange = sorted({key for record in records for key in record} - known)
    if strange:
        raise ValueError(f"not in the schema: {', '.join(strange)}; add the column to results/schema.py")
    return pd.DataFrame(
        {
            column.name: pd.Series([record.get(column.name) for record in records], dtype=column.dtype)
            for column in columns
        }
    )
