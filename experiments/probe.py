"""Makes a solver of somebody's own file in a process of its own, to learn of its mistakes before anything runs.

The suite itself never imports such a file, which may do anything. What raises an exception is a mistake, told in one
line; a file that ends the process or does not end says nothing here: its cells meet it again, and their rows tell.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pianobench.experiments import environment, guard

DEADLINE = 60.0  # seconds


def ask(key: str, file: str, params: dict[str, Any]) -> None:
    """Make the solver elsewhere.

    Raises
    ------
    ValueError
        As of `solver_choice.make`.
    """
    from pianobench.experiments.solver_choice import WrongParameter

    answer = _answer(key, file, json.dumps(params, sort_keys=True), Path(file).stat().st_mtime_ns)
    if answer and answer["name"] is not None:
        raise WrongParameter(answer["name"], answer["message"])
    if answer:
        raise ValueError(answer["message"])


@cache
def _answer(key: str, file: str, params: str, _changed: int) -> dict[str, Any] | None:
    """Its mistake, or None; asked once as long as the file stays as it is."""
    with guard.Guard() as watch:
        watch.start()
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "pianobench.experiments.probe", key, file, params],
            env=environment.for_cell(1, watch.mark),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            told, _ = child.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            told = b""
        finally:
            guard.sweep(watch.mark)
            child.communicate()
    return json.loads(told) if child.returncode == 0 and told else None


def main(key: str, file: str, params: str) -> None:
    """Make the solver and write its mistake, if it has one, to standard output."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what the file prints is no answer
    from pianobench.experiments.solver_choice import make

    try:
        make(key, file, json.loads(params))
    except ValueError as error:
        mistake = {"message": str(error), "name": getattr(error, "name", None)}
        os.write(answer, json.dumps(mistake).encode())
    os._exit(0)  # not by returning, which would wait for threads


if __name__ == "__main__":
    main(*sys.argv[1:])
