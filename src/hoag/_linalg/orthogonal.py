"""Orthonormal bases and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.sparse.linalg import svds

from hoag._core.numeric import Array


def orthonormal(A: Array) -> tuple[Array, Array]:
    """Q and R with A = QR and QᵀQ = I."""
    Q, R = np.linalg.qr(A)
    return Q, R


def summing_to_zero(K: int) -> Array:
    """A basis of the vectors of K numbers that sum to zero, (K, K − 1)."""
    return np.asarray(null_space(np.ones((1, K))))


def principal(U: Array, least: float) -> Array:
    """The left singular vectors of U whose singular values are above `least`."""
    left, sizes, _ = np.linalg.svd(U, full_matrices=False)
    return np.asarray(left[:, sizes > least])


def norm(A: Any) -> float:
    """‖A‖₂ of a matrix or an operator of two rows and columns or more, by Lanczos steps."""
    start = np.ones(min(A.shape))
    return float(svds(A, k=1, return_singular_vectors=False, v0=start)[0])


def independent(Z: Array) -> bool:
    """Whether no column follows from the others."""
    return bool(np.linalg.matrix_rank(Z) == Z.shape[1])
