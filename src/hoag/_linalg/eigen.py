"""Eigenvalues of a Gram matrix, and of the rows that it is made of."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, qr
from scipy.linalg.lapack import dgejsv

from hoag._core.numeric import ROUNDING, Array


def eigen(G: Array) -> tuple[Array, Array]:
    """G = V diag(e) Vᵀ, the least e first, for G ⪰ 0: what rounding leaves below 0 is 0."""
    e, V = np.linalg.eigh(G)
    return np.maximum(e, 0.0), V


def singular(A: Array) -> tuple[Array, Array, Array]:
    """A = U diag(σ) Vᵀ, the least σ first, each right to its own digits.

    Where columns differ in nothing but their scales, that is. By a pivoted QR factor and one-sided
    Jacobi rotations of it. Rows are sorted by their size: a Householder factor is then right row by
    row, too, and one row far out leaves the digits of the others.
    """
    if A.shape[0] < A.shape[1]:
        V, sigma, U = singular(A.T)
        return U, sigma, V
    rows = np.argsort(-np.max(np.abs(A), axis=1, initial=0.0), kind="stable")
    Q = np.empty(A.shape)
    Q[rows], R, order = qr(A[rows], mode="economic", pivoting=True)
    sva, v, u, work, _, info = dgejsv(R.T.copy(), joba=2, jobu=0, jobv=0, jobr=0)  # Rᵀ = v σ uᵀ
    if info != 0:
        raise LinAlgError("The rows could not be decomposed.")
    V = np.empty(v.shape)
    V[order] = v
    return (Q @ u)[:, ::-1], (sva * (work[0] / work[1]))[::-1], V[:, ::-1]


def along(B: Array, d: Array) -> tuple[Array, Array]:
    """U and D = d/(1 + dΛ), (r, L), for many d, where B = RᵀM⁻¹R = UΛUᵀ:

    (M + dRRᵀ)⁻¹ = M⁻¹ − M⁻¹RU diag(D) UᵀRᵀM⁻¹
    """
    e, U = np.linalg.eigh(B)
    return U, d / np.maximum(1.0 + d * e[:, None], ROUNDING)
