"""The registry of peers: a key for each library's method as documented, and another for its best setting."""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, cast

from pianobench.algorithms.peers.contract import BlackBox, trouble_with

HERE = "pianobench.algorithms.peers"


@dataclass(frozen=True)
class Peer:
    """A registered black box.

    Attributes
    ----------
    key : str
        What configs and the command line call it.
    title : str
        Library and method.
    library, module : str
        Name of the distribution, and of the module to import.
    place : str
        ``module:class`` below `pianobench.algorithms.peers`; imported only when asked for.
    settings : mapping
        Settings in which it differs from the library's defaults, or by which it chooses its method.
    """

    key: str
    title: str
    library: str
    module: str
    place: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def citation(self) -> str:
        """The library and its version."""
        return f"{self.library} {self.version()}"

    def version(self) -> str:
        """Version of the library that is installed, or "absent"."""
        try:
            return importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            return "absent"

    def available(self) -> str | None:
        """None, or why the library cannot be used and what to do."""
        return trouble_with(self.library, self.module)

    @property
    def box_class(self) -> type[Any]:
        """The box's class."""
        home, _, name = self.place.partition(":")
        return cast("type[Any]", getattr(import_module(f"{HERE}.{home}"), name))

    def make(self, **parameters: Any) -> BlackBox:
        """The black box with other settings where given."""
        known = [f.name for f in fields(self.box_class)]
        for parameter in parameters:
            if parameter not in known:
                raise ValueError(f"solver {self.key!r} has no parameter {parameter!r}: it has {', '.join(known)}")
        return cast("BlackBox", self.box_class(**{**self.settings, **parameters}))

    @property
    def modules(self) -> tuple[str, ...]:
        """Full names of the modules that decide what it does here; this one has its settings."""
        return f"{HERE}.{self.place.partition(':')[0]}", f"{HERE}.rerun", f"{HERE}.registry"

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes."""
        return self.make().penalties

    @property
    def step_is(self) -> str:
        """One unit of its budget in words."""
        return self.make().step_is


# tol = 0: the budget alone ends a fit, or the method's failure to go on.
_BEST: dict[str, Any] = {"tol": 0.0, "max_iter": None}
_SCIKIT_LEARN = ("scikit-learn", "sklearn", "scikit_learn:ScikitLearn")
_VOWPAL_WABBIT = ("vowpalwabbit", "pylibvw", "vowpal_wabbit:VowpalWabbit")
_CYANURE = ("cyanure", "cyanure.estimators", "cyanure:Cyanure")

PEERS: dict[str, Peer] = {
    peer.key: peer
    for peer in (
        *(
            Peer(
                f"sklearn-{solver}{suffix}", f"scikit-learn {solver}{words}", *_SCIKIT_LEARN, {"solver": solver} | best
            )
            for solver in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
            for suffix, words, best in (("", " (default)", {}), ("-best", "", _BEST | {"scale_weights": True}))
        ),
        Peer("cyanure", "cyanure (default)", *_CYANURE),
        Peer(
            "cyanure-best", "cyanure", *_CYANURE, _BEST | {"duality_gap_interval": None, "sparse_solver": "qning-ista"}
        ),
        *(
            Peer(f"vw-{method}{suffix}", f"Vowpal Wabbit {title}{words}", *_VOWPAL_WABBIT, {"online": online} | best)
            for method, title, online in (("bfgs", "bfgs", False), ("online-bfgs", "online, then bfgs", True))
            for suffix, words, best in (("", " (default)", {}), ("-best", "", _BEST | {"least_l2": 1e-12}))
        ),
    )
}


def make_peer(key: str, **parameters: Any) -> BlackBox:
    """The black box of that key, with other settings where given.

    Raises
    ------
    ValueError
        The key or a parameter is unknown; the message names the nearest and all that exist.
    """
    if key not in PEERS:
        near = difflib.get_close_matches(key, PEERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"peer {key!r} is unknown: {hint}the peers are {', '.join(PEERS)}")
    return PEERS[key].make(**parameters)
