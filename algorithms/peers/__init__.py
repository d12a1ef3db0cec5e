"""Peers: other people's solvers as black boxes. Their libraries are imported when a problem is handed over."""

from pianobench.algorithms.peers.contract import BlackBox, Native
from pianobench.algorithms.peers.fits import warm_up
from pianobench.algorithms.peers.registry import PEERS, make_peer
from pianobench.algorithms.peers.rerun import rerun

__all__ = ["PEERS", "BlackBox", "Native", "make_peer", "rerun", "warm_up"]
