"""Models in files: one npz with arrays, and JSON in it for the rest. Nothing is pickled, nothing is executed."""

from __future__ import annotations

import json
import math
import os
import zipfile
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pianobench.algorithms.registry import SOLVERS, make_solver

VERSION = 1
HEAD = "model.json"
ARRAYS = ("coef_", "intercept_")
NUMBERS = ("objective_", "lower_bound_", "gap_", "lam_", "n_iter_", "n_features_in_", "status_", "reason_")
OF_A_CHOICE = ("lams_", "scores_")  # arrays of the estimator that chooses its strength


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model; `path` is written whole or not at all.

    Raises
    ------
    ValueError
        A parameter is something that a file cannot hold, such as a random generator.
    """
    arrays = {name: np.asarray(getattr(model, name)) for name in (*ARRAYS, *OF_A_CHOICE) if hasattr(model, name)}
    arrays |= {f"history/{name}": np.asarray(column) for name, column in model.history_.items()}
    names = getattr(model, "feature_names_in_", None)
    head = {
        "format": "pianobench model",
        "version": VERSION,
        "class": type(model).__name__,
        "parameters": {name: to_plain(name, value) for name, value in model.get_params(deep=False).items()},
        "fitted": {name: _number(getattr(model, name)) for name in NUMBERS if hasattr(model, name)},
        "classes": to_plain("classes_", model.classes_),
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {HEAD: np.frombuffer(json.dumps(head, allow_nan=False).encode(), np.uint8), **arrays}
    path = Path(path)
    half = path.with_name(path.name + ".part")
    try:
        with open(half, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def load(kind: type[Any], path: str | Path) -> Any:
    """The model of a file.

    Raises
    ------
    ValueError
        The file is no model, of another class, of a later version, or damaged.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        head = json.loads(arrays.pop(HEAD).tobytes())
        if head["format"] != "pianobench model":
            raise KeyError("format")
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a model that `save` wrote ({error}): save it anew") from None
    if head["version"] > VERSION:
        raise ValueError(
            f"{path} has format {head['version']}, and this pianobench reads up to {VERSION}: install a newer one"
        )
    if head["class"] != kind.__name__:
        raise ValueError(f"{path} holds a {head['class']}: load it with {head['class']}.load")
    try:
        return _model(kind, head, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error}): save the model anew") from None


def _model(kind: type[Any], head: dict[str, Any], arrays: dict[str, Any]) -> Any:
    model = kind(**{name: from_plain(value) for name, value in head["parameters"].items()})
    for name, value in head["fitted"].items():
        if name in NUMBERS:
            setattr(model, name, math.nan if value is None else value)
    model.classes_ = from_plain(head["classes"])
    model.history_ = {name.partition("/")[2]: column for name, column in arrays.items() if name.startswith("history/")}
    for name in (*ARRAYS, *OF_A_CHOICE):
        if name in arrays:
            setattr(model, name, arrays[name])
    if head["feature_names"] is not None:
        model.feature_names_in_ = np.array(head["feature_names"], object)
    m, d = model.classes_.size, model.n_features_in_
    if model.coef_.shape != (m, d) or model.intercept_.shape != (m,):
        raise ValueError(f"coef_ has shape {model.coef_.shape} for {m} classes and {d} features")
    return model


def to_plain(name: str, value: Any) -> Any:
    """A value as JSON that tells its kind where JSON's own does not."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.ndarray):
        return {"array": [to_plain(name, item) for item in value.ravel().tolist()], "dtype": value.dtype.str}
    if isinstance(value, list | tuple):
        return {"list": [to_plain(name, item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_plain(name, key), to_plain(name, item)] for key, item in value.items()]}
    key = next((k for k, e in SOLVERS.items() if type(value).__name__ == e.place.partition(":")[2]), None)
    if key is not None and is_dataclass(value):
        return {"solver": key, "parameters": to_plain(name, asdict(value))}  # type: ignore[arg-type]
    raise ValueError(
        f"{name}={value!r} cannot be written to a file: "
        f"give set_params({name}=...) a number, a text or None before saving"
    )


def from_plain(plain: Any) -> Any:
    """What `to_plain` was given."""
    if isinstance(plain, list) or not isinstance(plain, dict):
        return plain
    if "bytes" in plain:
        return bytes.fromhex(plain["bytes"])
    if "array" in plain:
        items = [from_plain(item) for item in plain["array"]]
        dtype = np.dtype(plain["dtype"])
        array = np.empty(len(items), dtype)
        array[:] = items
        return array
    if "list" in plain:
        return [from_plain(item) for item in plain["list"]]
    if "dict" in plain:
        return {from_plain(key): from_plain(item) for key, item in plain["dict"]}
    return make_solver(plain["solver"], **from_plain(plain["parameters"]))


def _number(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
