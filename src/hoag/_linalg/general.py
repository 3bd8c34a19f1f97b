"""Systems with matrices that need not be symmetric."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dgetrf, dgetrs

from hoag._core.numeric import Array


class LU:
    """b ↦ M⁻¹b by M = PLU; M is overwritten. LinAlgError where M is singular."""

    def __init__(self, M: Array) -> None:
        self._lu, self._pivots, failed = dgetrf(M, overwrite_a=1)
        if failed:
            raise LinAlgError("The matrix is singular.")

    def __call__(self, b: Array) -> Array:
        """For b of shape (size,) or (size, m)."""
        return np.asarray(dgetrs(self._lu, self._pivots, b)[0])


def solve(M: Array, b: Array) -> Array:
    """M⁻¹b; for small matrices, and for many at once: (…, size, size) and (…, size, m)."""
    return np.asarray(np.linalg.solve(M, b))


def solve_rows(M: Array, b: Array) -> Array:
    """Mᵢ⁻¹bᵢ, row by row, of (n, size, size) and (n, size)."""
    if M.shape[1] == 1:
        return np.asarray(b / M[:, :, 0])
    return solve(M, b[:, :, None])[:, :, 0]
