"""Configurations of experiments: TOML files checked against the models below. Data only, never code.

The text under a field is its explanation for users: `pianobench init-config` writes it beside the key.
"""

import difflib
import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pianobench.experiments.mistakes import UserMistake

CONFIGS = Path(__file__).parent / "configs"

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


def _not_empty(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ValueError("it should have an entry")
    return values


# After the entries: a wrong entry must not be reported a second time as a list that is too short.
NotEmpty = (Field(strict=False), AfterValidator(_not_empty))


def _plain(value: Any) -> Any:
    # Before the members of the union, each of which would report the same value in a line of its own.
    if not isinstance(value, bool | int | float | str):
        raise ValueError("a parameter is a number, a text, true or false")
    return value


ReadingOption = bool | int | float | str | list[int | str] | dict[str, str]
Parameter = Annotated[bool | int | float | str, BeforeValidator(_plain)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


def _generated(family: str, grid: Mapping[str, Sequence[float]]) -> list[str]:
    """Names of the sets on a grid of parameters, as the registry knows them."""
    lists = [[f"{name}={value:.15g}" for value in values] for name, values in grid.items()]
    return [f"{family}:{','.join(one)}" if one else family for one in itertools.product(*lists)]


class Budget(_Model):
    """What one cell may use. `seconds` and `steps` end the method; `allowance` ends the process."""

    seconds: Annotated[Positive, Field(examples=[10.0])]
    """Seconds that a method may take: set-up and steps, nothing else."""
    steps: Annotated[Count | None, Field(examples=[1000])] = None
    """Steps that a method may take; without it there is no such limit."""
    allowance: Positive = 120.0
    """Seconds that the process may take beyond `seconds`: start, compilation, certificates."""
    memory_gib: Annotated[Positive | None, Field(examples=[4.0])] = None
    """Limit of resident memory; without it four fifths of the machine's."""


class ProblemGrid(_Model):
    """Data × strengths of one penalty. Repeat the table for more."""

    datasets: Annotated[tuple[str, ...], *NotEmpty, Field(examples=[["iris", "digits"]])] = ()
    """Names of data sets: `pianobench datasets` lists them. Either these or `data`."""
    generated: Annotated[
        dict[str, dict[str, Annotated[tuple[int | float, ...], *NotEmpty]]],
        Field(examples=[{"dense": {"n": [1000], "m": [3, 30]}}]),
    ] = {}
    """Synthetic sets instead: families of generators, each on a grid of its parameters."""
    data: Annotated[str | None, Field(examples=["my.npz"])] = None
    """Your own file instead, its path relative to this file: CSV, Parquet, svmlight, npz and others (docs/data.md)."""
    reading: Annotated[dict[str, ReadingOption], Field(examples=[{"target": "species", "missing": "drop"}])] = {}
    """How the file is read: options of its form (docs/data.md)."""
    penalty: Annotated[Literal["none", "l1", "l2", "l0", "elasticnet"], Field(examples=["l2"])]
    """Kind of penalty."""
    lam: Annotated[tuple[Positive, ...], Field(strict=False, examples=[[1.0]])] = ()
    """Strengths in user units; the loss is a sum over the samples."""
    lam_factor: Annotated[tuple[Positive, ...], Field(strict=False, examples=[[0.1]])] = ()
    """Strengths as multiples of lambda_max, the smallest l1 strength with an all-zero solution; instead of `lam`."""
    ridge: Annotated[Positive | None, Field(examples=[1.0])] = None
    """Strength of l2 in the elastic net, whose `lam` is that of l1; only there."""
    intercept: bool = True
    """Whether there is an intercept, which is never penalised."""
    conditioning: Literal["none", "scale", "centre+scale"] = "none"
    """Whether the solver sees standardised columns; penalty and solution stay in the data's units."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of its data: those of the sets, or that of the file without its folder."""
        if self.generated:
            return tuple(name for family, grid in self.generated.items() for name in _generated(family, grid))
        return self.datasets if self.data is None else (Path(self.data).name,)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.data is not None and self.datasets:
            raise ValueError("datasets and data are both given: remove one, or write a second [[problems]]")
        if self.generated and (self.datasets or self.data is not None):
            raise ValueError("generated stands beside other data: write a second [[problems]]")
        if self.reading and self.data is None:
            raise ValueError("reading is for data = ..: a data set by name needs none; remove it")
        if self.data is None and not self.generated and not self.datasets:
            raise ValueError('there is no data: add datasets = ["iris"], or data = "my.npz" for your own file')
        return self

    @model_validator(mode="after")
    def _strength_fits_penalty(self) -> Self:
        if self.penalty == "none" and (self.lam or self.lam_factor):
            raise ValueError("penalty = 'none' has no strength: remove lam and lam_factor")
        if self.lam and self.lam_factor:
            raise ValueError("lam and lam_factor are both given: remove one, or write a second [[problems]]")
        if self.penalty != "none" and not (self.lam or self.lam_factor):
            raise ValueError(f"penalty = {self.penalty!r} needs either lam = [..] or lam_factor = [..]")
        if self.penalty == "elasticnet" and self.ridge is None:
            raise ValueError("penalty = 'elasticnet' needs ridge = .., the strength of its l2 part")
        if self.penalty != "elasticnet" and self.ridge is not None:
            raise ValueError(
                f"ridge = {self.ridge:g}: ridge, the strength of l2, belongs to penalty = 'elasticnet' and only there"
            )
        return self


class SolverChoice(_Model):
    """A method with its hyper-parameters. Repeat the table for more."""

    key: Annotated[str, Field(examples=["piano"])]
    """A key that `pianobench solvers` lists, or `file.py:Class` for your own, relative to this file."""
    params: Annotated[dict[str, Parameter], Field(examples=[{"cap": 30.0}])] = {}
    """Hyper-parameters by name; those left out have the defaults that `pianobench solvers --json` lists."""


class Config(_Model):
    """One experiment: problems × solvers × seeds × threads."""

    title: Annotated[str, Field(examples=["My experiment"])]
    """Title of tables and figures."""
    tier: Literal["smoke", "laptop", "full"] = "smoke"
    """Size of the experiment, a word that its rows carry."""
    evidence: Literal["real", "planted", "absent"] = "real"
    """What a verdict may make of it: real data, or synthetic ones with an effect planted or absent."""
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    """Certified relative gap at which a run has converged."""
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], *NotEmpty] = (0,)
    """Seeds; each is a run of its own."""
    threads: Annotated[tuple[Count, ...], *NotEmpty] = (1,)
    """Numbers of threads; each is a run of its own."""
    repeats: Count = 1
    """How often the same is measured, each time in a fresh process: samples of its seconds."""
    budget: Budget
    problems: Annotated[tuple[ProblemGrid, ...], *NotEmpty]
    solvers: Annotated[tuple[SolverChoice, ...], *NotEmpty]


def shipped() -> tuple[str, ...]:
    """Names of the configurations that come with the package."""
    return tuple(sorted(path.stem for path in CONFIGS.glob("*.toml")))


def locate(name: str) -> Path:
    """Path of a configuration given by its path or by the name of a shipped one.

    Raises
    ------
    UserMistake
        Naming near matches among the shipped ones.
    """
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return path
    if name in shipped():
        return CONFIGS / f"{name}.toml"
    if path.suffix == ".toml":
        folder = "it is a folder" if path.is_dir() else "`pianobench init-config` writes one to start from"
        raise UserMistake(f"there is no file {name}: {folder}")
    if path.is_file():
        raise UserMistake(f"{name} does not end in .toml: rename it if it is a configuration")
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"shipped ones: {', '.join(shipped())}"
    raise UserMistake(f"no configuration is called {name!r}: give the path of a .toml file; {hint}")


def read(path: Path) -> Config:
    """Read and check one file.

    Raises
    ------
    UserMistake
        With one line for each wrong key: the file, the key, its value, what was expected, and the remedy.
    """
    from pianobench.experiments.config_mistakes import lines

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserMistake(f"{path.name} is not TOML: {error}; texts are in quotes, lists in [..]") from error
    except UnicodeDecodeError as error:
        raise UserMistake(f"{path.name} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    except OSError as error:
        raise UserMistake(f"{path.name} cannot be read: {error.strerror}") from error
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        found = lines(error.errors(include_url=False), Config)
        raise UserMistake("\n".join(f"{path.name}: {line}" for line in found)) from error


def written(config: Config, notes: Sequence[str] = ()) -> str:
    """A configuration as TOML, what has its default left out; `notes` become comments."""
    content = config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    tables = {key: content.pop(key) for key in ("budget", "problems", "solvers")}
    lines = [f"{key} = {toml(value)}" for key, value in content.items()] + [f"# {note}" for note in notes]
    for name, table in tables.items():
        for entry in table if isinstance(table, list) else [table]:
            lines += ["", f"[[{name}]]" if isinstance(table, list) else f"[{name}]"]
            lines += [f"{key} = {toml(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """A value as TOML: JSON's texts, numbers and lists are TOML's too; its tables are not."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)
