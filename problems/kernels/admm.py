"""The row step of ADMM for multinomial logistic regression: each sample's own small problem."""

from __future__ import annotations

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.kernels.compiled import passes, splitting, threads
from pianobench.problems.penalties import Array

BLOCK = 32  # rows that take their Newton steps together
NEWTON = 200  # multiply-adds that an entry's Newton steps take as long as


def split_step(
    part: Part, W: Array, rho: float, rescale: float, accuracy: float, most: int, Z: Array, U: Array, T: Array
) -> tuple[float, float, float, float]:
    """Rescale U, take the z-step and the u-step, and leave ``T = Z - U`` for the next w-step.

    z_j minimises ``a_j (lse(z) - z_{y_j}) + rho/2 |z - v_j|^2``, ``v = x_j . W + u_j``; then ``u_j = v_j - z_j``.

    Parameters
    ----------
    W : array (p, m)
    rho : float
    rescale : float
        rho_old / rho_new: U is a dual variable over rho.
    accuracy : float
        Newton stops at a gradient below ``accuracy * rho`` in every element.
    most : int
        Newton steps at most.
    Z, U, T : fields (n, m)

    Returns
    -------
    primal, dual, size_primal, size_dual : float
        Squared norms of ``X W - Z``, ``Z - Z_old``, Z and U.
    """
    passes.check_fields(part, part.m, Z, U)
    on_fields.scores(part, W, T)
    edges = passes.chunks(part.n, BLOCK, 0, most=64)
    numbers = Z.dtype.type(rho), Z.dtype.type(rescale), accuracy, most

    def work(chunk: int) -> tuple[float, float, float, float]:
        ends = edges[chunk], edges[chunk + 1]
        return splitting.split_pass(Z, U, T, part.codes, part.weights, *numbers, *ends, BLOCK)

    sums = threads.run(work, len(edges) - 1, passes.threads_for(NEWTON * Z.size))
    primal, dual, size_z, size_u = (passes.total(each) for each in zip(*sums, strict=True))
    return primal, dual, size_z, size_u


split_step.flops = 200.0  # type: ignore[attr-defined]  # about six damped Newton steps of 30 flops an entry
