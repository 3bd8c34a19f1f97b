"""∇²₁h of every fold by factors of the size of the rows, where these are fewer than coefficients.

    (AᵀCA + S)⁻¹ = S⁻¹ − S⁻¹AᵀWAS⁻¹,   W = (I + CK)⁻¹C,   K = AS⁻¹Aᵀ,   C = ∂²L/∂z²

for S diagonal, a ridge penalty on every coefficient. C need not be diagonal: in Cox regression it
is not. The few coefficients F that have no penalty are eliminated: what the others leave of their
block is A_FᵀWA_F.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from hoag._core.numeric import Array
from hoag._criteria.curvature.base import Curvature, Expense
from hoag._glm.design import FoldedDesign
from hoag._glm.penalties import Penalty, QuadraticForm, Ridge
from hoag._linalg.cholesky import Factor, singular_hessian
from hoag._linalg.general import LU
from hoag._linalg.operator import Inverse

Index = npt.NDArray[np.intp]


class WoodburyInverse:
    """b ↦ (AᵀCA + S)⁻¹b for b of shape (size,) or (size, m); K = AS⁻¹Aᵀ of those with a penalty."""

    def __init__(self, A: Array, C: Array, S: Array, K: Array, free: Index, lam: Array) -> None:
        self._A, self._C, self._free, self._F = A, C, free, A[:, free]
        self._share = 1.0 / S
        self._share[free] = 0.0
        try:
            self._inner = LU(np.eye(len(K)) + C @ K)
            left = self._F.T @ self._W(self._F) + np.diag(S[free])
            self._eliminated = Factor(0.5 * (left + left.T))
        except LinAlgError:
            raise singular_hessian(lam) from None

    def _W(self, v: Array) -> Array:
        return self._inner(self._C @ v)

    def __call__(self, b: Array) -> Array:
        scaled = (b.T * self._share).T
        z = self._A @ scaled
        if self._free.size:
            x = self._eliminated(b[self._free] - self._F.T @ self._W(z))
            z = z + self._F @ x
        found = scaled - ((self._A.T @ self._W(z)).T * self._share).T
        if self._free.size:
            found[self._free] = x
        return np.asarray(found)


class DenseRows(NamedTuple):
    """The rows as an array, and which coefficients no λ reaches."""

    design: FoldedDesign
    A: Array
    free: npt.NDArray[np.bool_]


class Woodbury(Curvature):
    """H_k = C_k, (K, n, n): for a `CoupledDesign` that is dual, and ridge penalties."""

    def init(self, design: FoldedDesign, penalties: Sequence[Penalty]) -> DenseRows:
        groups = cast(Ridge, penalties[0]).groups
        return DenseRows(design, design.rows[0].dense(), np.asarray(groups < 0))

    def factor(
        self, prepared: DenseRows, H: Array, penalty: QuadraticForm, lam: Array
    ) -> Sequence[Inverse]:
        A, free, (n, size) = prepared.A, np.flatnonzero(prepared.free), prepared.A.shape
        S = penalty.apply(np.ones((len(H), size)))
        prepared.design.ledger.charge(grams=0.5 + len(H) * (1.0 + 1.0 / 3.0) * n / size**2 * n)
        tuned = S[:, ~prepared.free]
        alike = bool(np.all(tuned == tuned[0]))  # as they are but for weights of each fold's own
        kernels = [_kernel(A[:, ~prepared.free], own) for own in (tuned[:1] if alike else tuned)]
        kernels = kernels * len(S) if alike else kernels
        each = zip(H, S, kernels, strict=True)
        return [WoodburyInverse(A, C, own, K, free, lam) for C, own, K in each]

    def expense(self, prepared: DenseRows) -> Expense:
        n = float(prepared.design.n)
        return Expense(n**3, (2.0 + 2.0 / 3.0) * n**3)  # a product CK and a factor


def _kernel(A: Array, S: Array) -> Array:
    """A S⁻¹Aᵀ over the coefficients that have a penalty."""
    held = A / np.sqrt(S)
    return np.asarray(held @ held.T)
