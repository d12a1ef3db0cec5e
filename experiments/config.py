"""Configurations of experiments: TOML files checked against the models below. Data only, never code."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

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


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Budget(_Model):
    """What one cell may use. `seconds` and `steps` end the method; `allowance` ends the process."""

    seconds: Positive
    steps: Count | None = None
    allowance: Positive = 120.0
    """Seconds that the process may take beyond `seconds`: start, compilation, certificates."""
    memory_gib: Positive | None = None
    """Limit of resident memory; by default four fifths of the machine's."""


class ProblemGrid(_Model):
    """Data sets × strengths of one penalty."""

    datasets: Annotated[tuple[str, ...], *NotEmpty]
    penalty: Literal["none", "l1", "l2", "l0", "elasticnet"]
    lam: Annotated[tuple[Positive, ...], Field(strict=False)] = ()
    """Strengths in user units."""
    lam_factor: Annotated[tuple[Positive, ...], Field(strict=False)] = ()
    """Strengths as multiples of lambda_max, the smallest l1 strength with an all-zero solution."""
    ridge: Positive | None = None
    """Strength of l2 in the elastic net, whose `lam` is that of l1."""
    intercept: bool = True
    conditioning: Literal["none", "scale", "centre+scale"] = "none"

    @model_validator(mode="after")
    def _strength_fits_penalty(self) -> Self:
        given = bool(self.lam) + bool(self.lam_factor)
        if self.penalty == "none" and given:
            raise ValueError("penalty = 'none' has no strength: remove lam and lam_factor")
        if self.penalty != "none" and given != 1:
            raise ValueError(f"penalty = {self.penalty!r} needs either lam = [..] or lam_factor = [..]")
        if (self.penalty == "elasticnet") != (self.ridge is not None):
            raise ValueError("ridge, the strength of l2, belongs to penalty = 'elasticnet' and only there")
        return self


class SolverChoice(_Model):
    """A method with its hyper-parameters: a registry key, or ``file.py:Class`` beside the configuration."""

    key: str
    params: dict[str, bool | int | float | str] = {}


class Config(_Model):
    """One experiment: problems × solvers × seeds × threads."""

    title: str
    tier: Literal["smoke", "laptop", "full"]
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], *NotEmpty] = (0,)
    threads: Annotated[tuple[Count, ...], *NotEmpty] = (1,)
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
        raise UserMistake(f"there is no file {name}")
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
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserMistake(f"{path.name} is not TOML: {error}") from error
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        lines = [f"{path.name}: {_line(problem)}" for problem in error.errors(include_url=False)]
        raise UserMistake("\n".join(lines)) from error


def _line(problem: Any) -> str:
    """One readable line for one of pydantic's errors."""
    place = problem["loc"]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    value = problem["input"]
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(place)
        near = difflib.get_close_matches(str(place[-1]), known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        return f"{where} = {value!r}: there is no such key; {remedy}"
    if problem["type"] == "missing":
        return f"{where} is missing: add it"
    message = problem["msg"].removeprefix("Value error, ")
    if isinstance(value, dict | BaseModel):  # a check of a whole table: its text says which keys
        return f"{where}: {message}"
    expected = re.sub(r"^Input should be", "it should be", message)
    return f"{where} = {value!r}: {expected}"


def _keys_beside(place: tuple[int | str, ...]) -> list[str]:
    """Keys that the table holding the wrong key may have."""
    tables: dict[str, type[BaseModel]] = {
        "budget": Budget,
        "problems": ProblemGrid,
        "solvers": SolverChoice,
    }
    parent = tables[str(place[0])] if len(place) > 1 else Config
    return list(parent.model_fields)
