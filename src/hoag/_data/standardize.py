"""Rows as they are stored, and rows as a model takes them: which columns are centred, and scaled.

Of a sparse column whose mean m is many spreads σ from 0, nearly every entry is stored: with a share
q of them, m/σ ≤ √(q/(1 − q)). So those that are far from 0 are centred as dense ones are, which
are hardly sparse; the others stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._data.columns import measured

# A product with a column loses as many digits as its mean is larger than its spread, and a square
# twice as many: more than sums of many products lose anyway, where the ratio is above this.
FAR_OFF = ROUNDING / ROUNDOFF


@dataclass(frozen=True, eq=False)
class Standardiser:
    """a ↦ (a − mean)·scale, column by column; of sparse rows, most columns have no mean.

    A product with rows as they are seen is one with rows as they are kept:

        A W = K(scale·W) − mean·(scale·W),   Aᵀr = scale·(Kᵀr − mean Σr)

    so that no centred copy of them is made. That costs as many digits as means are larger than
    spreads; `exact` says that they are too large for it.
    """

    mean: Array | None = None
    scale: float | Array = 1.0
    exact: bool = False

    def of(self, kept: Any) -> Any:
        """The rows as they are seen, a new array."""
        if sparse.issparse(kept):
            return self._of_sparse(kept)
        A = np.array(kept, dtype=np.float64) if self.mean is None else kept - self.mean
        A *= self.scale
        return A

    def _of_sparse(self, kept: Any) -> Any:
        """Columns with a mean are stored whole: the few zeros in them are −mean."""
        if self.mean is None:
            return kept if np.all(self.scale == 1.0) else times_columns(kept, self.scale)
        (n, p), moved = kept.shape, np.flatnonzero(self.mean).astype(np.int32)
        means = np.tile(self.mean[moved], n), np.tile(moved, n), moved.size * np.arange(n + 1)
        A = kept.astype(np.float64, copy=False) - sparse.csr_matrix(means, (n, p))
        A.data *= np.broadcast_to(self.scale, p)[A.indices]
        A.eliminate_zeros()
        return A

    def columns(self, W: Array) -> tuple[Array, Array]:
        """scale·W and −mean·(scale·W), for W of shape (columns, features, outputs)."""
        W = W * np.reshape(self.scale, (-1, 1))
        if self.mean is None:
            return W, np.zeros((len(W), W.shape[2]))
        return W, -np.einsum("j,cjo->co", self.mean, W)

    def gathered(self, products: Array, sums: Array) -> Array:
        """scale·(Kᵀr − mean Σr), for products (columns, features, outputs) and sums."""
        if self.mean is not None:
            products = products - self.mean[:, None] * sums[:, None, :]
        return np.asarray(products * np.reshape(self.scale, (-1, 1)))


def times_columns(A: Any, scale: float | Array) -> Any:
    """A diag(scale), a new array or CSR matrix; the latter shares its indices."""
    if not sparse.issparse(A) or np.ndim(scale) == 0:
        return A * scale
    return sparse.csr_matrix((A.data * np.asarray(scale)[A.indices], A.indices, A.indptr), A.shape)


# Rows that are stored as they are seen.
PLAIN = Standardiser()


def far_from_zero(mean: Array, variances: Array) -> npt.NDArray[np.bool_]:
    """Columns whose products with each other would be lost in those of their means."""
    return mean**2 > FAR_OFF * variances


def is_constant(least: Array, most: Array) -> npt.NDArray[np.bool_]:
    """Columns that vary by no more than rounding between these.

    Their means are not asked: sums over many rows lose more digits than that.
    """
    return most - least <= ROUNDING * np.maximum(np.abs(least), np.abs(most))


def near_zero(X: Any) -> Standardiser:
    """x ↦ x − mean for the columns that are far from 0."""
    total, mean, squares = measured(X, np.ones(X.shape[0])).about
    far = far_from_zero(mean, squares / total)
    return Standardiser(np.where(far, mean, 0.0)) if np.any(far) else PLAIN
