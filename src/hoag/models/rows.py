"""The data term Σᵢ sᵢ loss(yᵢ, aᵢᵀx): the only thing that touches rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag.models.losses import Loss, LossAt
from hoag.values import Array

# Called with the number of passes that some work cost.
Charge = Callable[[float], None]


class Rows:
    """z = A W + 1 (Q b)ᵀ for x = (W, b): W of shape (d, K) row by row, then the intercepts b.

    Q is the identity for one output and for several targets. The K intercepts of a multinomial
    model are determined only up to a common shift, so there Q is an orthonormal basis of the
    vectors that sum to zero, shape (K, K − 1), and the Hessian stays positive definite.

    Sparse rows are kept together with their transpose: both products then run along rows.
    """

    def __init__(self, A: Any, outputs: int, intercept_basis: Array | None, charge: Charge) -> None:
        self.A = A
        self.At = A.T.tocsr() if sparse.issparse(A) else A.T
        self.n, self.features = A.shape
        self.outputs = outputs
        self.Q = intercept_basis
        self.weights = self.features * outputs  # the number of entries of W
        self.entries = (A.nnz if sparse.issparse(A) else A.size) * outputs
        self.size = self.weights + (0 if self.Q is None else self.Q.shape[1])
        self.charge = charge

    def forward(self, x: Array) -> Array:
        """aᵢᵀx for every row: (n,) for one output, else (n, K)."""
        self.charge(0.5)
        if self.outputs == 1:
            z = self.A @ x[: self.weights]
            return np.asarray(z if self.Q is None else z + x[-1])
        z = self.A @ x[: self.weights].reshape(self.features, self.outputs)
        return np.asarray(z if self.Q is None else z + self.Q @ x[self.weights :])

    def backward(self, r: Array) -> Array:
        """Σᵢ rᵢ aᵢ, flat like x."""
        self.charge(0.5)
        gradient = np.asarray(self.At @ r).ravel()
        if self.Q is None:
            return gradient
        return np.concatenate([gradient, self.Q.T @ np.atleast_1d(r.sum(axis=0))])

    @cached_property
    def squared_norms(self) -> Array:
        """‖aᵢ‖², the 1 of the intercept included; computed once, for half a pass."""
        self.charge(0.5)
        if sparse.issparse(self.A):
            squares = np.asarray(self.A.multiply(self.A).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", self.A, self.A)
        return squares + (0.0 if self.Q is None else 1.0)

    @cached_property
    def squared_transpose(self) -> Any:
        """aᵢⱼ² as the transpose is stored: kept, because a preconditioner asks at every point."""
        return self.At.multiply(self.At).tocsr() if sparse.issparse(self.At) else self.At**2


class DataTerm:
    """Σᵢ sᵢ loss(yᵢ, aᵢᵀx). The last x is remembered: λ may change while x stays."""

    def __init__(self, rows: Rows, loss: Loss, y: npt.NDArray[Any], weights: Array | None) -> None:
        self.rows, self.loss, self.y = rows, loss, y
        self.weights = np.ones(rows.n) if weights is None else weights
        self.row_weights = self.weights if rows.outputs == 1 else self.weights[:, None]
        self._last: tuple[Array, DataTermAt] | None = None

    def at(self, x: Array) -> DataTermAt:
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        x = x.copy()  # the caller may change his; what is computed later must not
        self._last = (x, DataTermAt(self, x))
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    @cached_property
    def radius(self) -> float:
        """R: along a unit step in x the log of every curvature changes by at most R."""
        counted = self.rows.squared_norms[self.weights > 0]
        return self.loss.self_concordance * float(np.sqrt(counted.max(initial=0.0)))


class DataTermAt:
    """The data term at one x; A x is computed once and shared by all that follows."""

    def __init__(self, term: DataTerm, x: Array) -> None:
        self._term, self._x = term, x

    @cached_property
    def loss(self) -> LossAt:
        return self._term.loss.at(self._term.y, self._term.rows.forward(self._x))

    @cached_property
    def value(self) -> float:
        return float(np.sum(self._term.weights * self.loss.value))

    @cached_property
    def slope(self) -> Array:
        return self._term.row_weights * self.loss.slope

    @cached_property
    def gradient(self) -> Array:
        return self._term.rows.backward(self.slope)

    def curve(self, v: Array) -> Array:
        """∇² v = Aᵀ (s · loss″ · A v)."""
        rows = self._term.rows
        return rows.backward(self._term.row_weights * self.loss.curve(rows.forward(v)))

    @cached_property
    def curvature_diagonal(self) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ², the diagonal of ∇²."""
        term, rows = self._term, self._term.rows
        shape = np.shape(self.loss.slope)
        if rows.outputs == 1:
            curvature = term.weights * self.loss.curve(np.ones(shape))
        else:
            units = np.eye(rows.outputs)
            columns = [self.loss.curve(np.broadcast_to(e, shape)) @ e for e in units]
            curvature = term.row_weights * np.stack(columns, axis=1)
        rows.charge(0.5)
        diagonal = np.asarray(rows.squared_transpose @ curvature).ravel()
        if rows.Q is None:
            return diagonal
        if rows.outputs == 1:
            return np.append(diagonal, curvature.sum())
        tail = [
            np.sum(term.row_weights * self.loss.curve(np.broadcast_to(q, shape)) * q)
            for q in rows.Q.T
        ]
        return np.concatenate([diagonal, tail])

    @cached_property
    def curvature_trace(self) -> float:
        """Σᵢ sᵢ ‖lossᵢ″‖ ‖aᵢ‖² ≥ ‖∇²‖."""
        return float(np.sum(self._term.weights * self.loss.ceiling * self._term.rows.squared_norms))
