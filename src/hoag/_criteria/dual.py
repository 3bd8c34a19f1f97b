"""The folds of a model with more coefficients than rows, by factors of the size of the rows.

    (AᵀCA + S)⁻¹ = S⁻¹ − S⁻¹AᵀWAS⁻¹,   W = (I + CK)⁻¹C,   K = AS⁻¹Aᵀ,   C = ∂²L/∂z²

for S diagonal, a penalty on every coefficient. C need not be diagonal: in Cox regression it is not.
The few coefficients F that have no penalty are eliminated: what the others leave of their block is
A_FᵀWA_F.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dgetrf, dgetrs

from hoag._core.numeric import Array
from hoag._criteria.joint import Joint
from hoag._glm.penalties import QuadraticForm, Ridge
from hoag._linalg.cholesky import Factor, singular_hessian
from hoag._linalg.operator import Inverse

Index = npt.NDArray[np.intp]


class Woodbury:
    """b ↦ (AᵀCA + S)⁻¹b for b of shape (size,) or (size, m); K = AS⁻¹Aᵀ of those with a penalty."""

    def __init__(self, A: Array, C: Array, S: Array, K: Array, free: Index, lam: Array) -> None:
        self._A, self._C, self._free, self._F = A, C, free, A[:, free]
        self._share = 1.0 / S
        self._share[free] = 0.0
        self._lu, self._pivots, failed = dgetrf(np.eye(len(K)) + C @ K, overwrite_a=1)
        try:
            if failed:
                raise LinAlgError("The matrix is singular.")
            left = self._F.T @ self._W(self._F) + np.diag(S[free])
            self._eliminated = Factor(0.5 * (left + left.T))
        except LinAlgError:
            raise singular_hessian(lam) from None

    def _W(self, v: Array) -> Array:
        return np.asarray(dgetrs(self._lu, self._pivots, self._C @ v)[0])

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


class Dual(Joint):
    """`Joint` for a `CoupledDesign`, whose terms have a dense C each, and ridge penalties."""

    @cached_property
    def _A(self) -> Array:
        return self._predictor.rows.dense()

    @cached_property
    def _free(self) -> npt.NDArray[np.bool_]:
        """The coefficients that no λ reaches."""
        penalty = self.penalties[0]
        assert isinstance(penalty, Ridge)
        return np.asarray(penalty.groups < 0)

    @property
    def _products(self) -> float:
        return float(self.work.folds * self.work.n**3)

    @property
    def _worth(self) -> float:
        """A product C K and a factor; a product with the rows waits for memory."""
        return (2.0 + 2.0 / 3.0) * self.work.n**2 / (4 * 4 * self._predictor.size)

    def _inverses(self, penalty: QuadraticForm, H: Array, lam: Array) -> Sequence[Inverse]:
        """One for each of some C_k."""
        n, size = self._A.shape
        S = penalty.apply(np.ones((len(self.models), size)))
        self._ledger.charge(grams=0.5 + len(H) * (1.0 + 1.0 / 3.0) * n / size**2 * n)
        free = np.flatnonzero(self._free)
        tuned = S[:, ~self._free]
        alike = bool(np.all(tuned == tuned[0]))  # as they are but for weights of each fold's own
        kernels = [self._kernel(own) for own in (tuned[:1] if alike else tuned)]
        kernels = kernels * len(S) if alike else kernels
        each = zip(H, S, kernels, strict=True)
        return [Woodbury(self._A, C, own, K, free, lam) for C, own, K in each]

    def _kernel(self, tuned: Array) -> Array:
        """A S⁻¹Aᵀ over the coefficients that have a penalty."""
        held = self._A[:, ~self._free] / np.sqrt(tuned)
        return np.asarray(held @ held.T)
