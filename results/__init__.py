"""Result tables: schema, append-only store, reference intervals."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.results, not results: the folder is a part of pianobench")

from pianobench.results.store import Store, StoreError, Tables, load

__all__ = ["Store", "StoreError", "Tables", "load"]
