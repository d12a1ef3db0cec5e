"""Generators of synthetic data: seeded, streaming, and the same to the last bit on every machine.

A family is a frozen dataclass of parameters in a file of its own, and one line of `FAMILIES`. `Generator.blocks` makes
the rows one block after another, `Generator.dataset` all of them, `Generator.truth` the weights that the labels were
drawn from.

A stored result names its data by a checksum, so a generator has to make the same bytes wherever it runs. NumPy
guarantees the raw words of its bit generators for all time, and not what the methods of `numpy.random.Generator` make
of them; exp, log and pow differ in their last bits between libraries and instruction sets, and so do sums that BLAS or
SIMD code adds in an order of its own. Features are therefore made of raw words of Philox by integers, shifts and single
operations + − × ÷ √, which IEEE 754 rounds in one way only, and tables are added up one by one, in order. What these
allow is near-normal, not normal: see `pianobench.datasets.generators.streams.near_normal`. Labels may use exp and
matrix products: see `pianobench.datasets.generators.softmax`.

Rows come in chunks whose size depends on the family and on d and m, never on n or on the block asked for. Each chunk
has its own stream of random words, so that any row can be made without those before it, and a small data set is the
beginning of a large one.
"""

from pianobench.datasets.generators.correlated import Correlated
from pianobench.datasets.generators.counts import Counts
from pianobench.datasets.generators.dense import Dense
from pianobench.datasets.generators.generator import Generator, Truth
from pianobench.datasets.generators.ill_scaled import IllScaled
from pianobench.datasets.generators.many_classes import ManyClasses
from pianobench.datasets.generators.nonnegative import Nonnegative
from pianobench.datasets.generators.parameters import UnusableParameter, parse
from pianobench.datasets.generators.planted_sparse import PlantedSparse
from pianobench.datasets.generators.separable import Separable
from pianobench.datasets.generators.shifted import Shifted
from pianobench.datasets.generators.sparse_text import SparseText

FAMILIES: dict[str, type[Generator]] = {
    one.family: one
    for one in (
        Correlated,
        Counts,
        Dense,
        IllScaled,
        ManyClasses,
        Nonnegative,
        PlantedSparse,
        Separable,
        Shifted,
        SparseText,
    )
}

__all__ = ["FAMILIES", "Generator", "Truth", "UnusableParameter", "parse"]
