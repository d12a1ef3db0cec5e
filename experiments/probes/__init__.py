"""Probes: what experiments measure that is no run of a solver to a gap, each in a process of its own.

`registry` says which function measures which quantity, `cells` makes cells of a grid, `process` is what a cell runs.
"""
