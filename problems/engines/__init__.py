"""Where rows live. An engine offers `Rows` (see `pianobench.problems.rows`); `memory` is the one in this process."""

from __future__ import annotations
