"""Σⱼ γⱼ(aⱼ − bⱼ)² between two sets of rows, with one γ for all features or one for each.

With K = exp(−Σⱼ γⱼ Dⱼ), Dⱼ the squared differences in feature j, each knows

    exponent(γ)        Σⱼ γⱼ Dⱼ                       (rows of A, rows of B)
    slopes(K, x, γ)    (dK/d log γⱼ) x = −γⱼ (Dⱼ∘K) x  (rows of A, widths), by `products` of them
    slope_norm(K, γ)   (Σⱼ ‖γⱼ Dⱼ∘K‖²_F)^½
    slope_scale(K, γ)  at least the Frobenius norm of the terms that `slopes` adds up
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from hoag.values import Array


class Widths(Protocol):
    size: int
    products: int

    def exponent(self, gamma: Array) -> Array: ...
    def slopes(self, K: Array, x: Array, gamma: Array) -> Array: ...
    def slope_norm(self, K: Array, gamma: Array) -> float: ...
    def slope_scale(self, K: Array, gamma: Array) -> float: ...


class SharedWidth:
    """One γ: the distances are computed once."""

    size = 1
    products = 1

    def __init__(self, A: Any, B: Any) -> None:
        self._distances = euclidean_distances(A, None if A is B else B, squared=True)

    def exponent(self, gamma: Array) -> Array:
        return np.asarray(gamma[0] * self._distances)

    def slopes(self, K: Array, x: Array, gamma: Array) -> Array:
        return np.asarray(-gamma[0] * ((self._distances * K) @ x))[:, None]

    def slope_norm(self, K: Array, gamma: Array) -> float:
        return float(gamma[0] * np.linalg.norm(self._distances * K))

    def slope_scale(self, K: Array, gamma: Array) -> float:
        return self.slope_norm(K, gamma)


class FeatureWidths:
    """One γ for each feature; A and B dense and centred.

    (Dⱼ∘K) x = aⱼ²∘(Kx) + K(bⱼ²∘x) − 2aⱼ∘K(bⱼ∘x), for all j by two products with K.
    """

    def __init__(self, A: Array, B: Array) -> None:
        self._A, self._B = A, B
        self.size = A.shape[1]
        self.products = 2 * self.size + 1

    def exponent(self, gamma: Array) -> Array:
        root = np.sqrt(gamma)
        other = None if self._A is self._B else self._B * root
        return np.asarray(euclidean_distances(self._A * root, other, squared=True))

    def slopes(self, K: Array, x: Array, gamma: Array) -> Array:
        A, B, column = self._A, self._B, x[:, None]
        squares = A**2 * (K @ x)[:, None] + K @ (B**2 * column)
        return np.asarray(-gamma * (squares - 2 * A * (K @ (B * column))))

    def slope_norm(self, K: Array, gamma: Array) -> float:
        total = 0.0
        for j in range(self.size):
            differences = self._A[:, j, None] - self._B[None, :, j]
            total += float(np.sum((gamma[j] * differences**2 * K) ** 2))
        return float(np.sqrt(total))

    def slope_scale(self, K: Array, gamma: Array) -> float:
        far = np.max(self._A**2, axis=0) + np.max(self._B**2, axis=0)
        return float(2 * np.linalg.norm(gamma * far) * np.linalg.norm(K))
