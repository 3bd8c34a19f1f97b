"""Cholesky factors of the matrices of all folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from hoag.operators import Inverse
from hoag.values import ROUNDING, Array, InnerProblemError


class Factor:
    """b ↦ M⁻¹b by a Cholesky factor; the columns are brought to one scale before it is formed.

    pivot   the least of its squared pivots, which are at most 1: about the inverse of M's condition
    """

    def __init__(self, scaled: Array, root: Array) -> None:
        self._root = root
        self._lower, failed = dpotrf(scaled.T, lower=1, clean=0)
        if failed:
            raise LinAlgError("The matrix is not positive definite.")
        self.pivot = float(np.min(np.diag(self._lower), initial=1.0)) ** 2

    def __call__(self, b: Array) -> Array:
        """For b of shape (size,) or (size, m)."""
        inner = dpotrs(self._lower, (b.T / self._root).T, lower=1)[0]
        return np.asarray((inner.T / self._root).T)


def factors(M: Array, lam: Array) -> list[Factor]:
    """One for each M_k; M is scaled in place."""
    diagonal = np.einsum("kii->ki", M).copy()
    root = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    M *= (1.0 / root)[:, :, None]
    M *= (1.0 / root)[:, None, :]
    np.einsum("kii->ki", M)[:] = np.where(diagonal > 0, 1.0, 0.0)
    try:
        return [Factor(own, r) for own, r in zip(M, root, strict=True)]
    except LinAlgError:
        np.einsum("kii->ki", M)[:] += M.shape[-1] * ROUNDING
    try:
        return [Factor(own, r) for own, r in zip(M, root, strict=True)]
    except LinAlgError:
        raise InnerProblemError(
            f"∇²₁h is singular to rounding at {named(lam)}: raise the lower bound."
        ) from None


def solved(inverses: Sequence[Inverse], R: Array) -> Array:
    """M_k⁻¹r_k for every fold."""
    return np.stack([inverse(r) for inverse, r in zip(inverses, R, strict=True)])


def named(lam: Array) -> str:
    return f"lam = {np.array2string(lam, precision=6, threshold=6)}"
