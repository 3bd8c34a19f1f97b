"""The data term Σᵢ sᵢ loss(yᵢ, aᵢᵀx): the only thing that touches rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag.models.losses import Loss, LossAt, OuterLoss
from hoag.values import Array

# Called with the number of passes that some work cost.
Charge = Callable[[float], None]

# Row norms are taken over blocks of about so many entries.
BLOCK_ENTRIES = 2.5e5


class Matrix:
    """A, shared by every fold.

    Products with Aᵀ run over the same rows: a second copy, sorted by columns, made them no faster
    once indices have 32 bits. `scale` multiplies A without a copy of it.
    """

    def __init__(self, A: Any, scale: float = 1.0) -> None:
        self.A, self.scale = _narrow(A) if sparse.issparse(A) else A, scale
        self.At = self.A.T
        self.entries = int(A.nnz if sparse.issparse(A) else A.size)

    def rows(self, numbers: npt.NDArray[np.intp]) -> Matrix:
        """Some of the rows; without a copy where they follow each other."""
        first, n = int(numbers[0]), numbers.size
        if np.array_equal(numbers, np.arange(first, first + n)):
            part = _consecutive(self.A, first, first + n)
        else:
            part = self.A[numbers]
        return Matrix(part, self.scale)

    def scaled(self, factor: float) -> Matrix:
        """The same matrix times a number; nothing is copied."""
        other = copy.copy(self)
        other.__dict__ = {k: v for k, v in self.__dict__.items() if not k.startswith("squared")}
        other.scale = self.scale * factor
        return other

    def forward(self, v: Array) -> Array:
        return np.asarray(self.A @ (v if self.scale == 1.0 else self.scale * v))

    def backward(self, r: Array) -> Array:
        product = np.asarray(self.At @ r)
        return product if self.scale == 1.0 else self.scale * product

    @cached_property
    def squared_norms(self) -> Array:
        """‖aᵢ‖² for every row."""
        ones = np.ones(self.A.shape[1])
        return np.concatenate([squares @ ones for _, squares in self._squared_blocks()])

    def column_squares(self, weights: Array) -> Array:
        """Σᵢ sᵢ aᵢⱼ² for every column."""
        total = np.zeros(self.A.shape[1])
        for rows, squares in self._squared_blocks():
            total += np.asarray(squares.T @ weights[rows])
        return total

    def _squared_blocks(self) -> Iterator[tuple[slice, Any]]:
        """aᵢⱼ², some rows at a time, so that no second matrix is made."""
        n = self.A.shape[0]
        height = max(1, int(n * BLOCK_ENTRIES / max(self.entries, 1)))
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            block = _consecutive(self.A, rows.start, rows.stop)
            if sparse.issparse(block):
                squares = (self.scale * block.data) ** 2
                yield rows, sparse.csr_matrix((squares, block.indices, block.indptr), block.shape)
            else:
                yield rows, (self.scale * block) ** 2

    @cached_property
    def squared_transpose(self) -> Any:
        """aᵢⱼ², transposed: kept, because a preconditioner asks at every point."""
        At = self.At if self.scale == 1.0 else self.scale * self.At
        return At.multiply(At) if sparse.issparse(At) else At**2

    def dense(self) -> Array:
        A = self.A.toarray() if sparse.issparse(self.A) else self.A
        return np.asarray(self.scale * A)

    def gram(self, d: Array) -> Array:
        """Aᵀ diag(d) A, dense, shape (features, features)."""
        d = self.scale * d  # half of scale² here and half below: neither overflows
        weighted = self.A.multiply(d[:, None]).T if sparse.issparse(self.A) else self.At * d
        product = weighted @ self.A
        dense = product.toarray() if sparse.issparse(product) else product
        return np.asarray(self.scale * dense)


def _narrow(A: Any) -> Any:
    """The same matrix with 32-bit indices where they suffice: products are up to twice as fast."""
    if A.indices.dtype == np.int32 or max(A.nnz, *A.shape) > np.iinfo(np.int32).max:
        return A
    narrow = sparse.csr_matrix(A.shape, dtype=A.dtype)
    narrow.data, narrow.indices = A.data, A.indices.astype(np.int32)
    narrow.indptr = A.indptr.astype(np.int32)
    return narrow


def _consecutive(A: Any, start: int, stop: int) -> Any:
    """A[start:stop], on the same memory."""
    if not sparse.issparse(A):
        return A[start:stop]
    some = slice(A.indptr[start], A.indptr[stop])
    part = sparse.csr_matrix((stop - start, A.shape[1]), dtype=A.dtype)
    part.data, part.indices = A.data[some], A.indices[some]
    part.indptr = A.indptr[start : stop + 1] - A.indptr[start]
    return part


class Rows:
    """z = A W + 1 (Q b)ᵀ for x = (W, b): W of shape (d, K) row by row, then the intercepts b.

    Q is the identity for one output and for several targets. The K intercepts of a multinomial
    model are determined only up to a common shift, so there Q is an orthonormal basis of the
    vectors that sum to zero, shape (K, K − 1), and the Hessian stays positive definite.

    The z of the last x is remembered, for the two data terms that share these rows.
    """

    def __init__(self, matrix: Matrix, outputs: int, intercept_basis: Array | None) -> None:
        self.matrix = matrix
        self.n, self.features = matrix.A.shape
        self.outputs = outputs
        self.Q = intercept_basis
        self.weights = self.features * outputs  # the number of entries of W
        self.entries = matrix.entries * outputs
        self.size = self.weights + (0 if self.Q is None else self.Q.shape[1])
        self.last: tuple[Array, Array] | None = None  # x and its z

    def forward(self, x: Array) -> Array:
        """aᵢᵀx for every row: (n,) for one output, else (n, K)."""
        if self.outputs == 1:
            z = self.matrix.forward(x[: self.weights])
            return np.asarray(z if self.Q is None else z + x[-1])
        z = self.matrix.forward(x[: self.weights].reshape(self.features, self.outputs))
        return np.asarray(z if self.Q is None else z + self.Q @ x[self.weights :])

    def backward(self, r: Array) -> Array:
        """Σᵢ rᵢ aᵢ, flat like x."""
        gradient = self.matrix.backward(r).ravel()
        if self.Q is None:
            return gradient
        return np.concatenate([gradient, self.Q.T @ np.atleast_1d(r.sum(axis=0))])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "last": None}


class DataTerm:
    """Σᵢ sᵢ loss(yᵢ, aᵢᵀx).

    Every product is charged here, so that a training and a held-out term may share their rows,
    each with zero weight on the other's.
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss | OuterLoss,
        y: npt.NDArray[Any],
        weights: Array | None,
        charge: Charge,
    ) -> None:
        self.rows, self.loss, self.y, self.charge = rows, loss, y, charge
        self.weights = np.ones(rows.n) if weights is None else weights
        self.row_weights = self.weights if rows.outputs == 1 else self.weights[:, None]

    def at(self, x: Array) -> DataTermAt:
        return DataTermAt(self, x.copy())  # the caller may change his x; later results must not

    def predict(self, x: Array) -> Array:
        """aᵢᵀx, which the other term of these rows may have computed already."""
        last = self.rows.last
        if last is not None and np.array_equal(last[0], x):
            return last[1]
        z = self.forward(x)
        self.rows.last = (x, z)
        return z

    def forward(self, v: Array) -> Array:
        self.charge(0.5)
        return self.rows.forward(v)

    def backward(self, r: Array) -> Array:
        self.charge(0.5)
        return self.rows.backward(r)

    @cached_property
    def squared_norms(self) -> Array:
        """‖aᵢ‖², the 1 of the intercept included; computed once, for half a pass."""
        if "squared_norms" not in self.rows.matrix.__dict__:
            self.charge(0.5)
        return self.rows.matrix.squared_norms + (0.0 if self.rows.Q is None else 1.0)

    def gram(self, d: Array) -> Array:
        """Σᵢ dᵢ aᵢaᵢᵀ, the 1 of the intercept included; 2np² operations, so p/2 passes."""
        rows = self.rows
        self.charge(rows.features / 2 / rows.outputs)
        inner = rows.matrix.gram(d)
        if rows.Q is None:
            return inner
        border = rows.matrix.backward(d)
        return np.block([[inner, border[:, None]], [border[None, :], np.sum(d)]])

    @cached_property
    def constant_gram(self) -> Array:
        """The same for a loss of constant curvature: it depends neither on x nor on λ."""
        nothing = np.zeros(1) if self.rows.outputs == 1 else np.zeros((1, self.rows.outputs))
        curvature = float(cast(Loss, self.loss).at(nothing, nothing).ceiling[0])
        return self.gram(curvature * self.weights)

    @cached_property
    def radius(self) -> float:
        """R: along a unit step in x the log of every curvature changes by at most R."""
        counted = self.squared_norms[self.weights > 0]
        return self.loss.self_concordance * float(np.sqrt(counted.max(initial=0.0)))

    @cached_property
    def frobenius(self) -> float:
        """‖A‖_F over the rows that count."""
        return float(np.sqrt(np.sum(self.squared_norms[self.weights > 0])))


class DataTermAt:
    """The data term at one x; A x is computed once and shared by all that follows."""

    def __init__(self, term: DataTerm, x: Array) -> None:
        self._term, self.x = term, x

    @cached_property
    def loss(self) -> LossAt:
        term = self._term
        return cast(LossAt, term.loss.at(term.y, term.predict(self.x)))

    @cached_property
    def value(self) -> float:
        return float(np.sum(self._term.weights * self.loss.value))

    @cached_property
    def slope(self) -> Array:
        return self._term.row_weights * self.loss.slope

    @cached_property
    def gradient(self) -> Array:
        return self._term.backward(self.slope)

    def curve(self, v: Array) -> Array:
        """∇² v = Aᵀ (s · loss″ · A v)."""
        term = self._term
        return term.backward(term.row_weights * self.loss.curve(term.forward(v)))

    @cached_property
    def curvature_diagonal(self) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ², the diagonal of ∇²."""
        term, rows = self._term, self._term.rows
        weights = term.weights[:, None]
        curvature = weights * self.loss.forms(np.eye(rows.outputs))
        term.charge(0.5)
        diagonal = np.asarray(rows.matrix.squared_transpose @ curvature).ravel()
        if rows.Q is None:
            return diagonal
        return np.concatenate([diagonal, np.sum(weights * self.loss.forms(rows.Q), axis=0)])

    @cached_property
    def curvature_trace(self) -> float:
        """Σᵢ sᵢ ‖lossᵢ″‖ ‖aᵢ‖² ≥ ‖∇²‖."""
        return float(np.sum(self._term.weights * self.loss.ceiling * self._term.squared_norms))
