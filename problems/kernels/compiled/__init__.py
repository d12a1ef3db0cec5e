"""Compiled loops over samples: Numba for what is done to a block of rows, BLAS on one thread for its products.

A block of scores is held class-major, (m, rows): maxima, exponentials and sums then run over samples and vectorise
whatever the number of classes. Rows are split into chunks that depend on the shape alone; threads take chunks, sums are
added in the chunks' order, so the bits are the same for any number of threads.
"""
