"""Rows less their weighted mean, in blocks, so that there need be no copy of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from hoag._core import clock
from hoag._core.numeric import Array
from hoag._glm.rows import Rows


class CentredRows:
    """A − 1āᵀ with ā the weighted mean of the rows, where there is an intercept; S = diag(weights).

    flops   what was spent on products and factors
    """

    def __init__(self, rows: Rows, weights: Array, intercept: bool) -> None:
        self.rows, self.weights = rows, weights
        self.n, self.p = rows.shape
        self.share = weights / weights.sum() if intercept else np.zeros(self.n)
        self.mean = rows.backward(self.share) if intercept else np.zeros(self.p)
        self.flops = 0.0

    @cached_property
    def root(self) -> Array:
        """√s, as a column."""
        return np.sqrt(self.weights)[:, None]

    @cached_property
    def gram(self) -> Array:
        """(A − 1āᵀ)ᵀ S (A − 1āᵀ), which does not change with λ."""
        self.flops += 2.0 * self.n * self.p**2
        root = self.mean * np.sqrt(self.weights.sum())
        return self.rows.gram(self.weights) - np.outer(root, root)

    @cached_property
    def dual_gram(self) -> Array:
        """The same on the other side, where one penalty scales all of it."""
        return self.dual(np.ones(self.p))

    def dual(self, alpha: Array) -> Array:
        """√S (A − 1āᵀ) diag(1/α) (A − 1āᵀ)ᵀ √S."""
        self.flops += 2.0 * self.n**2 * self.p
        gram = np.zeros((self.n, self.n))
        for columns, R in self.column_blocks():
            gram += (R / alpha[columns]) @ R.T
        return gram

    def forward(self, theta: Array) -> Array:
        product = self.rows.forward(theta)
        product -= self.mean @ theta
        return product

    def backward(self, u: Array) -> Array:
        """(A − 1āᵀ)ᵀ u."""
        return self.rows.backward(u) - np.outer(self.mean, u.sum(axis=0))

    def row_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Centred rows, dense, some at a time."""
        for rows, A in self.rows.dense_blocks():
            clock.check()
            yield rows, A - self.mean

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """√S (A − 1āᵀ), dense, some columns at a time."""
        root = self.root
        for columns, A in self.rows.dense_columns():
            clock.check()
            yield columns, root * (A - self.mean[columns])

    @property
    def scaled(self) -> Array:
        """√S (A − 1āᵀ), dense."""
        return np.asarray(self.root * np.concatenate([A for _, A in self.row_blocks()]))
