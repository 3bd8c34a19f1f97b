"""The curvature of squares with one penalty: one decomposition for every λ.

    AᵀSA = V diag(e) Vᵀ,      (AᵀSA + αI)⁻¹ = V diag(1/(e + α)) Vᵀ,      α = e^λ

A Gram matrix is right to rounding of its largest eigenvalue, `lost`, so what is divided by e + α
is wrong by lost/(e₀ + α) of itself. Where that is too much (collinear columns, weak penalties) the
rows themselves are decomposed, which finds small e to as many digits as large ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hoag._core.numeric import EXACT, ROUNDING, ROUNDOFF, Array
from hoag._glm.basis import FEW
from hoag._linalg import eigen

# Up to so many rows or columns, whichever are fewer, ridge regression with one penalty is
# decomposed; up to the square of it entries are held as an array.
DECOMPOSED = 3 * FEW
# A Gram matrix serves while what rounding does to X(λ) is at most this share of it.
GRAM_ERROR = EXACT**0.5


class Eigen(NamedTuple):
    """e, the least first, and V; by how much any e may be wrong."""

    e: Array
    V: Array
    lost: float

    @staticmethod
    def of_gram(G: Array) -> Eigen:
        e, V = eigen.eigen(G)
        return Eigen(e, V, ROUNDOFF * float(e[-1]))

    @staticmethod
    def of_rows(A: Array, rank: int | None = None) -> tuple[Array, Array, Eigen]:
        """U and σ, A = U diag(σ) Vᵀ, and e = σ²; of the `rank` largest alone."""
        kept = slice(-rank if rank else None, None)
        U, sigma, V = (part[..., kept] for part in eigen.singular(A))
        return U, sigma, Eigen(sigma**2, V, 0.0)

    def rounding(self, alpha: Any) -> Any:
        """The share by which what is divided by e + α may be wrong because e is."""
        return self.lost / np.maximum(alpha + self.e[0], np.finfo(float).tiny)

    def serves(self, alpha: float, room: float = 1.0) -> bool:
        """Whether that is little, of a number of which `room` is left after it was taken from 1."""
        return bool(self.lost <= GRAM_ERROR * room * (alpha + self.e[0]))

    @property
    def least(self) -> float:
        """The least e that is more than rounding; ∞ where there is none."""
        return float(np.min(self.e[self.e > ROUNDING**2 * self.e[-1]], initial=np.inf))

    def solve(self, alpha: float, b: Array) -> Array:
        """(AᵀSA + αI)⁻¹b, for b of shape (p, m)."""
        return np.asarray(self.V @ ((self.V.T @ b) / (self.e + alpha)[:, None]))
