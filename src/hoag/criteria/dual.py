"""The folds of a model with more coefficients than rows, by factors of the size of the rows.

    (AᵀCA + S)⁻¹ = S⁻¹ − S⁻¹Aᵀ(I + CK)⁻¹CAS⁻¹,   K = AS⁻¹Aᵀ,   C = ∂²L/∂z²

for S diagonal, a penalty on every coefficient. C need not be diagonal: in Cox regression it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from hoag.criteria.factors import named
from hoag.criteria.joint import Joint
from hoag.criteria.pull import Pull
from hoag.operators import Inverse
from hoag.values import Array, InnerProblemError


class Woodbury:
    """b ↦ (AᵀCA + S)⁻¹b for b of shape (size,) or (size, m); K is AS⁻¹Aᵀ."""

    def __init__(self, A: Array, C: Array, S: Array, K: Array, lam: Array) -> None:
        self._A, self._C, self._S = A, C, S
        self._lu, self._pivots, failed = dgetrf(np.eye(len(K)) + C @ K, overwrite_a=1)
        if failed:
            raise InnerProblemError(
                f"∇²₁h is singular to rounding at {named(lam)}: raise the lower bound."
            )

    def __call__(self, b: Array) -> Array:
        scaled = (b.T / self._S).T
        left = dgetrs(self._lu, self._pivots, self._C @ (self._A @ scaled))[0]
        return np.asarray(scaled - ((self._A.T @ left).T / self._S).T)


class Dual(Joint):
    """`Joint` for folds whose terms have a dense C of their own (`Each`), and ridge penalties."""

    @cached_property
    def _A(self) -> Array:
        return self._design.rows.dense()

    @property
    def _products(self) -> float:
        return float(self.work.folds * self.work.n**3)

    @property
    def _worth(self) -> float:
        """A product C K and a factor; a product with the rows waits for memory."""
        return (2.0 + 2.0 / 3.0) * self.work.n**2 / (4 * 4 * self._design.size)

    def _inverses(self, penalty: Pull, H: Array, lam: Array) -> Sequence[Inverse]:
        """One for each of some C_k."""
        n, size = self._A.shape
        S = penalty.times(np.ones((len(self.models), size)))
        self._ledger.charge(grams=0.5 + len(H) * (1.0 + 1.0 / 3.0) * n / size**2 * n)
        alike, found = bool(np.all(np.ptp(S, axis=0) == 0)), []
        for k, C in enumerate(H):
            if k == 0 or not alike:
                root = self._A / np.sqrt(S[k])
                K = root @ root.T
            found.append(Woodbury(self._A, C, S[k], K, lam))
        return found
