"""Where the data live: rows are asked for products, and never opened from outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import issparse

from hoag._core.numeric import BLOCK_ENTRIES as BLOCK_ENTRIES
from hoag._core.numeric import Array
from hoag._data.standardize import PLAIN, Standardiser, times_columns


class Rows(ABC):
    """A, of shape (n, d), shared by every fold.

    Derive from it, and write `shape`, `entries`, `blocks` and `take`. The products go through the
    blocks once; rows that know a faster way override them. Rows that are stored otherwise, not
    centred or not scaled, may say so: `standardiser` makes A of what is stored, and `kept()` has
    the blocks as they are stored.

    Attributes
    ----------
    shape : (int, int)
        n and d.
    entries : int
        How many numbers are stored: the unit in which passes are counted.
    is_sparse : bool
        Most entries are zeros.

    See Also
    --------
    hoag.testing.check_rows : Every product against that of the dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm, testing
    >>> class Halves(glm.Rows):
    ...     def __init__(self, A):
    ...         self.A, self.shape, self.entries = A, A.shape, A.size
    ...     def blocks(self):
    ...         n = len(self.A) // 2
    ...         yield slice(0, n), self.A[:n]
    ...         yield slice(n, len(self.A)), self.A[n:]
    ...     def take(self, numbers):
    ...         return glm.ArrayRows(self.A[numbers])
    >>> testing.check_rows(Halves(np.arange(15.0).reshape(5, 3)))  # silence is consent
    """

    shape: tuple[int, int]
    entries: int
    is_sparse: bool = False
    standardiser: Standardiser = PLAIN

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """(slice of rows, array or CSR matrix) one after another, covering all rows."""

    def kept(self) -> Iterator[tuple[slice, Any]]:
        """The blocks before the standardiser."""
        return self.blocks()

    @abstractmethod
    def take(self, numbers: npt.NDArray[np.intp]) -> Rows:
        """Some of the rows, as Rows."""

    def parts(
        self, labels: npt.NDArray[np.intp], kept: bool = False
    ) -> Iterator[tuple[int, Any, Any]]:
        """(label, numbers of rows, block) for rows that are labelled alike; none below 0."""
        for some, block in self.kept() if kept else self.blocks():
            own = labels[some]
            first, last = _ends(own)
            for start, stop in ((0, first), (last, own.size)):
                if start < stop and own[start] >= 0:
                    piece = slice(some.start + start, some.start + stop)
                    yield int(own[start]), piece, _consecutive(block, start, stop)
            mixed = own[first:last]
            for label in np.unique(mixed[mixed >= 0]) if mixed.size else ():
                inside = first + np.flatnonzero(mixed == label)
                yield int(label), some.start + inside, block[inside]

    def forward(self, v: Array) -> Array:
        """A v, for v of shape (d,) or (d, K)."""
        return np.concatenate([np.asarray(block @ v) for _, block in self.blocks()])

    def backward(self, r: Array) -> Array:
        """Aᵀ r, for r of shape (n,) or (n, K)."""
        total = np.zeros((self.shape[1], *r.shape[1:]))
        for some, block in self.blocks():
            total += np.asarray(block.T @ r[some])
        return total

    def gram(self, d: Array) -> Array:
        """Aᵀ diag(d) A, dense, shape (d, d)."""
        total = np.zeros((self.shape[1],) * 2)
        for some, block in self.blocks():
            total += grams(block, d[some, None])[0]
        return total

    def grams(self, D: Array) -> Array:
        """Aᵀ diag(d) A for every column d of D, (L, p, p)."""
        return np.stack([self.gram(d) for d in D.T])

    def dense_blocks(self) -> Iterator[tuple[slice, Array]]:
        """The same blocks as arrays."""
        for some, block in self.blocks():
            yield some, np.asarray(block.toarray() if issparse(block) else block)

    def dense(self) -> Array:
        """All of A as an array."""
        return np.concatenate([block for _, block in self.dense_blocks()])

    def dense_columns(self) -> Iterator[tuple[slice, Array]]:
        """A as arrays, some columns at a time."""
        whole = self.dense()
        for columns in _column_slices(*self.shape):
            yield columns, whole[:, columns]

    @cached_property
    def squared_norms(self) -> Array:
        """‖aᵢ‖² for every row."""
        ones = np.ones(self.shape[1])
        return np.concatenate([_squared(block) @ ones for _, block in self.blocks()])

    def squared_backward(self, r: Array) -> Array:
        """Σᵢ rᵢ aᵢⱼ² for every column, for r of shape (n,) or (n, K)."""
        total = np.zeros((self.shape[1], *r.shape[1:]))
        for some, block in self.blocks():
            total += np.asarray(_squared(block).T @ r[some])
        return total


class CellRows(NamedTuple):
    """Some rows of one cell: its number, A, y and the weights."""

    cell: int
    A: Any
    y: npt.NDArray[Any]
    weights: Array


class ArrayRows(Rows):
    """A dense array or a CSR matrix in memory, times a number that needs no copy of it.

    Products with Aᵀ run over the same rows: a second copy, sorted by columns, made them no faster
    once indices have 32 bits.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
        The rows.
    scale : float, default=1
        The number.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> glm.ArrayRows(np.eye(3)).forward(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """

    def __init__(self, A: Any, scale: float = 1.0) -> None:
        self.is_sparse = bool(issparse(A))
        self.A, self.scale = _narrow(A) if self.is_sparse else A, scale
        self.At = self.A.T
        self.shape = self.A.shape
        self.entries = int(A.nnz if self.is_sparse else A.size)

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        """Some of the rows; without a copy where they follow each other."""
        first, n = int(numbers[0]), numbers.size
        if np.array_equal(numbers, np.arange(first, first + n)):
            return ArrayRows(_consecutive(self.A, first, first + n), self.scale)
        return ArrayRows(self.A[numbers], self.scale)

    def scaled(self, factor: float) -> ArrayRows:
        """The same matrix times a number; nothing is copied."""
        return ArrayRows(self.A, self.scale * factor)

    @property
    def standardiser(self) -> Standardiser:  # type: ignore[override]
        return PLAIN if self.scale == 1.0 else Standardiser(None, self.scale)

    @property
    def _height(self) -> int:
        """How many rows a block has; so many that sums over columns take less than products."""
        most = max(BLOCK_ENTRIES, 16 * self.shape[1]) if self.is_sparse else BLOCK_ENTRIES
        return max(1, int(self.shape[0] * most / max(self.entries, 1)))

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for some, block in self.kept():
            yield some, block if self.scale == 1.0 else self.scale * block

    def kept(self) -> Iterator[tuple[slice, Any]]:
        n, height = self.shape[0], self._height
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            yield some, _consecutive(self.A, some.start, some.stop)

    def dense_columns(self) -> Iterator[tuple[slice, Array]]:
        by_columns = self.A.tocsc() if self.is_sparse else self.A
        for columns in _column_slices(*self.shape):
            part = by_columns[:, columns]
            yield columns, self.scale * np.asarray(part.toarray() if self.is_sparse else part)

    def forward(self, v: Array) -> Array:
        return np.asarray(self.A @ (v if self.scale == 1.0 else self.scale * v))

    def backward(self, r: Array) -> Array:
        product = np.asarray(self.At @ r)
        return product if self.scale == 1.0 else self.scale * product

    def gram(self, d: Array) -> Array:
        return np.asarray(self.grams(d[:, None])[0])

    def grams(self, D: Array) -> Array:
        # Half of scale² on either side: neither overflows.
        return self.scale * grams(self.A, self.scale * D)

    @cached_property
    def _squared_transpose(self) -> Any:
        """aᵢⱼ², transposed: kept, because a preconditioner asks at every point."""
        At = self.At if self.scale == 1.0 else self.scale * self.At
        return At.multiply(At) if self.is_sparse else At**2

    def squared_backward(self, r: Array) -> Array:
        if r.ndim == 1:
            return super().squared_backward(r)
        return np.asarray(self._squared_transpose @ r)


class ScaledRows(Rows):
    """A diag(scale), by products with A:

        (A diag(s)) v = A(s·v),   (A diag(s))ᵀr = s·(Aᵀr)

    >>> import numpy as np
    >>> from hoag import glm
    >>> from hoag._glm.rows import ScaledRows
    >>> ScaledRows(glm.ArrayRows(np.eye(2)), np.array([2.0, 3.0])).dense()
    array([[2., 0.],
           [0., 3.]])
    """

    def __init__(self, rows: Rows, scale: Array) -> None:
        self.rows, self.scale = rows, scale
        self.shape, self.entries, self.is_sparse = rows.shape, rows.entries, rows.is_sparse

    @property
    def standardiser(self) -> Standardiser:  # type: ignore[override]
        inner = self.rows.standardiser
        return Standardiser(inner.mean, inner.scale * self.scale, inner.exact)

    def take(self, numbers: npt.NDArray[np.intp]) -> ScaledRows:
        return ScaledRows(self.rows.take(numbers), self.scale)

    def kept(self) -> Iterator[tuple[slice, Any]]:
        return self.rows.kept()

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for some, block in self.rows.blocks():
            yield some, times_columns(block, self.scale)

    def dense_columns(self) -> Iterator[tuple[slice, Array]]:
        for columns, block in self.rows.dense_columns():
            yield columns, block * self.scale[columns]

    def forward(self, v: Array) -> Array:
        return self.rows.forward(_by_column(self.scale, v))

    def backward(self, r: Array) -> Array:
        return _by_column(self.scale, self.rows.backward(r))

    def gram(self, d: Array) -> Array:
        return np.asarray(self.grams(d[:, None])[0])

    def grams(self, D: Array) -> Array:
        return np.asarray(self.scale[:, None] * self.rows.grams(D) * self.scale)

    def squared_backward(self, r: Array) -> Array:
        return _by_column(self.scale**2, self.rows.squared_backward(r))


def standardised(X: Any, standardiser: Standardiser) -> Rows:
    """Rows in memory, that are copied where columns of them are centred, and only there."""
    if standardiser.mean is not None:
        return ArrayRows(standardiser.of(X))
    rows, scale = X.astype(np.float64, copy=False), standardiser.scale
    if np.ndim(scale) == 0:
        return ArrayRows(rows, float(scale))
    return ScaledRows(ArrayRows(rows), np.asarray(scale))


def _by_column(scale: Array, v: Array) -> Array:
    """scale·v for v of shape (d,) or (d, K)."""
    return np.asarray((v.T * scale).T)


def _ends(labels: npt.NDArray[np.intp]) -> tuple[int, int]:
    """How many of the first are labelled alike, and from where on the last are.

    Of folds that follow each other a block has rows of two, and between them few that are mixed.
    """
    other = np.flatnonzero(labels != labels[0])
    if other.size == 0:
        return labels.size, labels.size
    return int(other[0]), int(np.flatnonzero(labels != labels[-1])[-1]) + 1


def _column_slices(n: int, columns: int) -> Iterator[slice]:
    width = max(1, int(BLOCK_ENTRIES / max(n, 1)))
    for start in range(0, columns, width):
        yield slice(start, min(start + width, columns))


def filled(A: Any, share: float = 0.1) -> bool:
    """Whether sparse rows have so many entries that arrays of some at a time are faster.

    A basis of splines has four entries in twenty: a Gram matrix of 100 000×176 took 0.96 s by
    sparse products, and 0.15 s by arrays. At a twentieth sparse products take half the time.
    """
    return bool(issparse(A) and A.nnz > share * A.shape[0] * A.shape[1])


def grams(A: Any, D: Array) -> Array:
    """Aᵀ diag(d) A for every column d of D, (L, p, p).

    Of arrays, and of sparse rows that are few or filled, by so many rows at a time as stay in the
    cache while they are multiplied: at least as many as columns, beside whose products sums of
    matrices are little work. Where matrices are no fewer than columns, one product has all of them:
    that of D with the products of all pairs of columns, aᵢⱼaᵢₖ with j ≤ k.
    """
    (n, p), many = A.shape, D.shape[1]
    if issparse(A) and not filled(A) and n * p > 4 * BLOCK_ENTRIES:
        found = np.empty((many, p, p))
        for k in range(many):
            _sparse_gram(A, D[:, k]).toarray(out=found[k])
        return found
    pairs = p * (p + 1) // 2
    together = many >= p > 0
    found, total = np.zeros((many, p, p)), np.zeros((pairs if together else 0, many))
    height = max(int(BLOCK_ENTRIES / max(pairs if together else p, 1)), p, 1)
    for start in range(0, n, height):
        block = _consecutive(A, start, min(start + height, n))
        block, d = block.toarray() if issparse(A) else block, D[start : start + height]
        if together:
            total += _pairs(block) @ d
        else:
            for k in range(many):
                found[k] += _dense_gram(block, d[:, k])
    if together:
        upper = np.triu_indices(p)
        found[:, upper[0], upper[1]] = found[:, upper[1], upper[0]] = total.T
    return found


def _pairs(A: Array) -> Array:
    """aᵢⱼaᵢₖ for j ≤ k, (p(p + 1)/2, n)."""
    columns, p = np.ascontiguousarray(A.T), A.shape[1]
    found = np.empty((p * (p + 1) // 2, len(A)))
    for j, end in enumerate(np.cumsum(np.arange(p, 0, -1))):
        np.multiply(columns[j], columns[j:], out=found[end - p + j : end])
    return found


def _dense_gram(A: Array, d: Array) -> Array:
    for sign in (1.0, -1.0):  # a matrix times its own transpose is half the work
        if np.all(sign * d >= 0):
            root = A * np.sqrt(sign * d)[:, None]
            return np.asarray(sign * (root.T @ root))
    return np.asarray((A.T * d) @ A)


def _sparse_gram(A: Any, d: Array) -> Any:
    each = np.repeat(d, np.diff(A.indptr))
    scaled = sparse.csr_matrix((A.data * each, A.indices, A.indptr), A.shape)
    return A.T @ scaled


def _squared(block: Any) -> Any:
    if not issparse(block):
        return block**2
    return sparse.csr_matrix((block.data**2, block.indices, block.indptr), block.shape)


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
    if not issparse(A):
        return A[start:stop]
    some = slice(A.indptr[start], A.indptr[stop])
    part = sparse.csr_matrix((stop - start, A.shape[1]), dtype=A.dtype)
    part.data, part.indices = A.data[some], A.indices[some]
    part.indptr = A.indptr[start : stop + 1] - A.indptr[start]
    return part
