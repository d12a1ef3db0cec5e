"""Cells of peers: other libraries' solvers beside ours, on the same problems, with the same seeds and limits."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pianobench.experiments import sources
from pianobench.experiments.cells import NO_SAY, Cell
from pianobench.experiments.mistakes import UserMistake

DECIDING = ("pianobench.algorithms.peers.rerun", "pianobench.algorithms.peers.fits", "pianobench.experiments.black_box")


def available() -> tuple[str, ...]:
    """Keys of the peers whose library is installed."""
    from pianobench.algorithms.peers import PEERS

    return tuple(key for key, peer in PEERS.items() if peer.available() is None)


def is_peer(key: str) -> bool:
    """Whether a key is one of a peer; keys of ours are never."""
    from pianobench.algorithms.peers import PEERS

    return key in PEERS


def texts(peer: Any) -> dict[str, bytes]:
    """What decides a peer's results: sources of ours, and in a comment, as all are parsed, the library's version."""
    ours = sources.closure((*peer.modules, *DECIDING), [name for name in NO_SAY if "peers" not in name])
    return ours | {"library": f"# {peer.citation}".encode()}


def beside(cells: Sequence[Cell], key: str, params: dict[str, Any]) -> list[Cell]:
    """The peer's cells on the problems, seeds and threads of the cells given.

    Raises
    ------
    UserMistake
        Its library is not installed, or it has no such setting.
    """
    from pianobench.algorithms.peers import PEERS

    peer = PEERS[key]
    trouble = peer.available()
    if trouble:
        raise UserMistake(f"solver {key!r}: {trouble}")
    try:
        peer.make(**params)
    except (ValueError, TypeError) as error:
        raise UserMistake(str(error)) from error
    digest = sources.digest(texts(peer))
    one_each = {(cell.problem, cell.seed, cell.threads): cell for cell in cells}
    return [
        replace(
            cell,
            solver=key,
            solver_title=peer.title,
            solver_file=None,
            solver_digest=digest,
            params=json.dumps(params, sort_keys=True),
            black_box=True,
        )
        for cell in one_each.values()
    ]
