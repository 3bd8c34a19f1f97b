"""Eigenvalues of symmetric matrices; roots, ranks and ranges of positive semidefinite ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, lobpcg

from hoag._core.numeric import ROUNDING, Array


def eigenvectors(S: Array) -> tuple[Array, Array]:
    """e and V with S = V diag(e) Vᵀ, the least e first."""
    e, V = np.linalg.eigh(S)
    return e, V


def eigenvalues(S: Array) -> Array:
    """The e of S = V diag(e) Vᵀ, the least first."""
    return np.asarray(np.linalg.eigvalsh(S))


def above_rounding(e: Array) -> npt.NDArray[np.bool_]:
    """Which eigenvalues of a positive semidefinite matrix, in their order, are not zero."""
    return np.asarray(e > e.size * ROUNDING * max(float(e[-1]), 0.0)) if e.size else e > 0


def root(S: Array) -> Array:
    """F, (size, rank), with S = FFᵀ and orthogonal columns."""
    e, V = eigenvectors(S)
    kept = e > ROUNDING * max(float(e[-1]), 0.0)
    return np.asarray(V[:, kept] * np.sqrt(e[kept]))


def rank(S: Array, rounding: float | None = None) -> int:
    """How many eigenvalues are above a share of the largest: by default that of rounding."""
    e = eigenvalues(S)
    share = e.size * np.finfo(float).eps if rounding is None else rounding
    return int(np.sum(e > share * e[-1]))


def ranges(matrices: Sequence[Array]) -> tuple[Array, Array]:
    """Orthonormal bases of what some of these semidefinite matrices reach, and of the rest."""
    # Weights that no eigenvalues of different matrices are likely to balance.
    each = [(1 + 1 / (2 + j)) * S / (np.trace(S) or 1.0) for j, S in enumerate(matrices)]
    e, V = eigenvectors(np.sum(each, axis=0))
    kept = above_rounding(e)
    return V[:, kept], V[:, ~kept]


def largest(
    product: Callable[[Array], Array], start: Array, tol: float, max_iter: int
) -> tuple[Array, Array]:
    """About the largest eigenvalues of a symmetric matrix that is known by products, and vectors.

    As many as `start` has columns, from which they are looked for (LOBPCG).
    """
    size = len(start)
    S = LinearOperator((size, size), matvec=product, matmat=product, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # roughly is enough
        e, V = lobpcg(S, start, tol=tol, maxiter=max_iter)
    return e, V
