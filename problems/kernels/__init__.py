"""Kernels: ``kernel(part, *parameters, *fields) -> tuple`` on some rows, summed over the parts by `Rows.reduce`.

All sample-sized arithmetic of the package is here, in plain functions that can be named across processes.
"""

from __future__ import annotations
