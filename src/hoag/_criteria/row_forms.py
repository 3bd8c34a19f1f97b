"""Quadratic forms of rows, and sums of them: AᵢGAᵢᵀ and Σᵢ AᵢᵀDᵢAᵢ.

Aᵢ, of shape (K, size), is the map from x to the K columns of row i's z. With [A, 1] the rows with a
column of ones, every model has Aᵢx = U(x)ᵀ[aᵢ, 1] for a linear U: (size) → (features + 1, K).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hoag._core import clock
from hoag._core.numeric import Array
from hoag._glm.rows import BLOCK_ENTRIES, ArrayRows, filled
from hoag._glm.term import DataTerm


class RowForms:
    """Of the training rows of a linear model; charged as Gram matrices, by their operations."""

    def __init__(self, term: DataTerm) -> None:
        self.term, self.design = term, term.design

    @cached_property
    def layout(self) -> Any:
        """U as a sparse matrix, ((features + 1)·K, size), each output's numbers together."""
        design: Any = copy(self.design)
        d, K, size = design.features, design.width, design.size
        design.rows = ArrayRows(sparse.eye_array(d + 1, d).tocsr())  # every column, and none
        design.n, design.last = d + 1, None
        columns = []
        for unit in np.eye(size):
            U = design.forward(unit).reshape(d + 1, K)
            U[:d] -= U[d]
            columns.append(sparse.csc_array(U.T.reshape(-1, 1)))
        return sparse.hstack(columns).tocsr()

    def squares(self, root: Array) -> Array:
        """AᵢGAᵢᵀ for every row, (n, K, K), with G = FFᵀ: none is below zero by rounding."""
        parts, found = self._parts(self.layout @ root), []
        for rows in self._blocks():
            clock.check()
            if len(parts) == 1:
                T = rows @ parts[0]
                found.append(np.einsum("ij,ij->i", T, T)[:, None, None])
                continue
            T = np.stack([rows @ part for part in parts], axis=1)
            found.append(np.matmul(T, T.transpose(0, 2, 1)))
        return np.concatenate(found)

    def forms(self, G: Array) -> Array:
        """AᵢGAᵢᵀ for every row, (n, K, K), with a symmetric G."""
        K, whole = self.design.width, self.layout @ (self.layout @ G).T
        pairs = [self._parts(part.T) for part in self._parts(whole)]
        V = np.empty((self.design.n, K, K))
        first = 0
        for rows in self._blocks():
            clock.check()
            some = slice(first, first := first + rows.shape[0])
            for k in range(K):
                for j in range(k + 1):
                    V[some, k, j] = V[some, j, k] = _inner(rows, rows @ pairs[k][j])
        return V

    def gram(self, D: Array) -> Array:
        """Σᵢ AᵢᵀDᵢAᵢ, (size, size)."""
        self._spend()
        whole = self.design.hessians(lambda u: (D @ u)[:, None])[0]
        return np.asarray(0.5 * (whole + whole.T))

    def _parts(self, M: Array) -> list[Array]:
        """The rows of M for each output."""
        return list(M.reshape(self.design.width, -1, M.shape[1]))

    def _blocks(self) -> Iterator[Any]:
        """[A, 1], some rows at a time."""
        self._spend()
        if self.design.n * self.design.features <= 4 * BLOCK_ENTRIES:
            yield self._few
            return
        for _, block in self.design.rows.blocks():
            clock.check()
            one = np.ones((block.shape[0], 1))
            block = block.toarray() if filled(block) else block
            if sparse.issparse(block):
                yield sparse.hstack([block, one]).tocsr()
            else:
                yield np.hstack([block, one])

    @cached_property
    def _few(self) -> Array:
        """[A, 1] as an array, of so few rows that they are kept."""
        return np.hstack([self.design.rows.dense(), np.ones((self.design.n, 1))])

    def _spend(self) -> None:
        K = self.design.width
        self.term.charge(0.0, K * (K + 1) / 2)


def _inner(rows: Any, T: Array) -> Array:
    """The product of each row with one of T."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(T).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, T))
