"""An estimator on a stream in a file, with all that its stream goes on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pianobench.algorithms.estimators.saving import from_plain, to_plain
from pianobench.algorithms.stream import StreamState, archive

FORM, VERSION = "pianobench streaming model", 1


def save(model: Any, path: Path) -> None:
    """Write a fitted model; `path` is written whole or not at all.

    Raises
    ------
    ValueError
        A parameter is something that a file cannot hold, such as a random generator.
    OSError
        The file cannot be written.
    """
    names = getattr(model, "feature_names_in_", None)
    facts = {
        "class": type(model).__name__,
        "parameters": {name: to_plain(name, value) for name, value in model.get_params().items()},
        "begun": {name: to_plain(name, value) for name, value in model._parameters.items()},
        "seed": model._log.seed,
        "classes": to_plain("classes_", model.classes_),
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {"coef_": model.coef_, "intercept_": model.intercept_}
    arrays |= {f"log/{name}": values for name, values in model._log.export().items()}
    arrays |= {f"state/{name}": values for name, values in model._state.export().items()}
    try:
        archive.write(path, FORM, VERSION, facts, arrays)
    except OSError as error:  # of a file that the user does not know
        why = f"{error.strerror}: give a file in a folder that is there, can be written and has room"
        raise OSError(error.errno, why, str(path)) from error


def load(kind: type[Any], path: Path) -> Any:
    """The model of a file.

    Raises
    ------
    ValueError
        The file is no such model, of another class, of a later version, or damaged.
    """
    try:
        facts, arrays = archive.read(path, FORM, VERSION)
    except archive.UnusableArchive as error:
        raise ValueError(f"{error}: save the model anew, or load another file") from None
    try:
        if facts["class"] != kind.__name__:
            raise ValueError(f"it holds a {facts['class']}")
        model = kind(**{name: from_plain(value) for name, value in facts["parameters"].items()})
        model._parameters = {name: from_plain(value) for name, value in facts["begun"].items()}
        model.classes_ = from_plain(facts["classes"])
        now = model.get_params()
        began = kind(**{**now, **model._parameters, "random_state": facts["seed"]})
        log = began._begun(model.classes_.size)
        log.load(archive.part(arrays, "log/"))
        state = StreamState.load(archive.part(arrays, "state/"))
        if state.t != log.batches or state.W.shape != (log.d + log.fit_intercept, model.classes_.size):
            raise ValueError(f"W has shape {state.W.shape} after {state.t} batches and the log {log.batches} batches")
        model._keep_stream(log, state)
        if arrays["coef_"].shape != model.coef_.shape or arrays["intercept_"].shape != model.intercept_.shape:
            raise ValueError(f"coef_ has shape {arrays['coef_'].shape}")
        model.coef_, model.intercept_ = arrays["coef_"], arrays["intercept_"]  # which `calibrate` may have changed
        if facts["feature_names"] is not None:
            model.feature_names_in_ = np.array(facts["feature_names"], object)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"{path} is damaged or of another class ({error}): save the model anew") from None
    return model
