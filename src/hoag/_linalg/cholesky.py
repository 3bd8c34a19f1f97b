"""Cholesky factors of one matrix, or of those of all folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from hoag._core.errors import SingularProblemError
from hoag._core.numeric import EXACT, ROUNDING, Array

Inverse = Callable[[Array], Array]


class Factor:
    """b ↦ M⁻¹b by a Cholesky factor, which is as exact whatever the scales of M's columns are.

    M is dense and symmetric, and overwritten above its diagonal; LinAlgError where it is not
    positive definite. By LAPACK itself: for a dozen coefficients SciPy's own checks take longer
    than the factor.

    pivot   the least of its squared pivots beside the diagonal of M, at most 1: about the inverse
            of M's condition once its columns are brought to one scale
    """

    def __init__(self, M: Array) -> None:
        diagonal = M.diagonal().copy()
        self._lower, failed = dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise LinAlgError("The matrix is not positive definite.")
        self.pivot = float(np.min(self._lower.diagonal() ** 2 / diagonal, initial=1.0))

    @property
    def log_det(self) -> float:
        """log|M|."""
        return 2.0 * float(np.sum(np.log(self._lower.diagonal())))

    @property
    def root(self) -> Array:
        """F with FFᵀ = M⁻¹."""
        inverse = solve_triangular(self._lower, np.eye(len(self._lower)), lower=True)
        return np.asarray(inverse.T)

    def __call__(self, b: Array) -> Array:
        """For b of shape (size,) or (size, m)."""
        return np.asarray(dpotrs(self._lower, b, lower=1)[0])


def factors(M: Array, lam: Array) -> list[Factor]:
    """One for each M_k; M is overwritten."""
    diagonal = np.einsum("kii->ki", M).copy()
    try:
        return [Factor(own) for own in M]
    except LinAlgError:
        below = np.tril(M, -1)
        M = below + below.transpose(0, 2, 1)
        # Where a column has no curvature at all, a step in it shall be long, and a number.
        scales = np.maximum(diagonal, EXACT * diagonal.max(axis=1, keepdims=True, initial=1.0))
        np.einsum("kii->ki", M)[:] = scales * (1.0 + M.shape[-1] * ROUNDING)
    try:
        return [Factor(own) for own in M]
    except LinAlgError:
        raise singular_hessian(lam) from None


def solved(inverses: Sequence[Inverse], R: Array) -> Array:
    """M_k⁻¹r_k for every fold."""
    return np.stack([inverse(r) for inverse, r in zip(inverses, R, strict=True)])


def singular_hessian(lam: Array) -> SingularProblemError:
    """What is said where no factor of ∇²₁h can be had."""
    return SingularProblemError(
        f"∇²₁h is singular to rounding at {named(lam)}.\nRaise the lower bound."
    )


def named(lam: Array) -> str:
    return f"lam = {np.array2string(lam, precision=6, threshold=6)}"
