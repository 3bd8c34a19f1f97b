"""RBF kernels between two sets of rows, with one γ for all features or one for each.

With K = exp(−Σⱼ γⱼ Dⱼ), Dⱼ the squared differences in feature j, `Widths` know

    exponent(γ)        −Σⱼ γⱼ Dⱼ                        (rows of A, rows of B)
    applied(K, x)      what `slopes` and `second` need of K and x, by `products` with K
    slopes(Kx, γ)      (dK/d log γⱼ) x = −γⱼ (Dⱼ∘K) x   (rows of A, widths), for Kx = applied(K, x)
    second(K, (q, Kq), (x, Kx), γ)   qᵀ(d²K/d log γᵢ d log γⱼ) x   (widths, widths), for
                       Kq = transposed.applied(Kᵀ, q), by `pairs` of products with K
    transposed         the same from the rows of B to those of A
    slope_norm(K, γ)   (Σⱼ ‖γⱼ Dⱼ∘K‖²_F)^½
    slope_scale(K, γ)  at least the Frobenius norm of the terms that `slopes` adds up
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from hoag._core.numeric import Array

# A vector, and what `applied` made of it.
Applied = tuple[Array, Array]


class Widths(Protocol):
    size: int
    products: int
    pairs: int

    @property
    def transposed(self) -> Widths: ...
    def exponent(self, gamma: Array) -> Array: ...
    def applied(self, K: Array, x: Array) -> Array: ...
    def slopes(self, Kx: Array, gamma: Array) -> Array: ...
    def second(self, K: Array, left: Applied, right: Applied, gamma: Array) -> Array: ...
    def slope_norm(self, K: Array, gamma: Array) -> float: ...
    def slope_scale(self, K: Array, gamma: Array) -> float: ...


class SharedWidth:
    """One γ: the distances are computed once."""

    size = 1
    products = 1
    pairs = 1

    def __init__(self, A: Any, B: Any) -> None:
        self._distances = euclidean_distances(A, None if A is B else B, squared=True)

    @property
    def transposed(self) -> SharedWidth:
        other = copy(self)
        other._distances = self._distances.T
        return other

    def exponent(self, gamma: Array) -> Array:
        return np.asarray(-gamma[0] * self._distances)

    def applied(self, K: Array, x: Array) -> Array:
        return np.asarray((self._distances * K) @ x)[:, None]

    def slopes(self, Kx: Array, gamma: Array) -> Array:
        return np.asarray(-gamma[0] * Kx)

    def second(self, K: Array, left: Applied, right: Applied, gamma: Array) -> Array:
        (q, _), (x, Kx) = left, right
        squares = q @ ((self._distances**2 * K) @ x)
        return np.asarray(gamma[0] ** 2 * squares + q @ self.slopes(Kx, gamma)).reshape(1, 1)

    def slope_norm(self, K: Array, gamma: Array) -> float:
        return float(gamma[0] * np.linalg.norm(self._distances * K))

    def slope_scale(self, K: Array, gamma: Array) -> float:
        return self.slope_norm(K, gamma)


class FeatureWidths:
    """One γ for each feature; A and B dense and centred.

    (Dⱼ∘K) x = aⱼ²∘(Kx) − 2aⱼ∘K(bⱼ∘x) + K(bⱼ²∘x), for all j by one product with K.
    """

    def __init__(self, A: Array, B: Array) -> None:
        self._A, self._B = A, B
        self.size = A.shape[1]
        self.products = 2 * self.size + 1
        self.pairs = self.size * (self.size + 1) // 2

    @property
    def transposed(self) -> FeatureWidths:
        return FeatureWidths(self._B, self._A)

    def exponent(self, gamma: Array) -> Array:
        """2aᵀΓb − aᵀΓa − bᵀΓb by one product, and at most 0."""
        A, B = self._A, self._B
        left = np.column_stack([2 * gamma * A, -(A**2) @ gamma, np.ones(len(A))])
        right = np.column_stack([B, np.ones(len(B)), -(B**2) @ gamma])
        found = left @ right.T
        return np.asarray(np.minimum(found, 0.0, out=found))

    def applied(self, K: Array, x: Array) -> Array:
        """K x, K(bⱼ∘x) and K(bⱼ²∘x), side by side."""
        column = x[:, None]
        return np.asarray(K @ np.hstack([column, self._B * column, self._B**2 * column]))

    def slopes(self, Kx: Array, gamma: Array) -> Array:
        zeroth, first, second = self._parts(Kx)
        return np.asarray(-gamma * (self._A**2 * zeroth - 2 * self._A * first + second))

    def second(self, K: Array, left: Applied, right: Applied, gamma: Array) -> Array:
        """γᵢγⱼ qᵀ(Dᵢ∘Dⱼ∘K)x − δᵢⱼ γᵢ qᵀ(Dᵢ∘K)x.

        Of (aᵢ − bᵢ)²(aⱼ − bⱼ)² all terms but 4aᵢaⱼbᵢbⱼ follow from what was applied to x and q:
        that one takes a product for each pair.
        """
        A, B, (q, Kq), (x, Kx) = self._A, self._B, left, right
        (zeroth, first, second), (back, back_first, _) = self._parts(Kx), self._parts(Kq)
        half = (A**2 * q[:, None]).T @ (0.5 * A**2 * zeroth - 2 * A * first + second)
        half += (B**2 * x[:, None]).T @ (0.5 * B**2 * back - 2 * B * back_first)
        i, j = np.triu_indices(self.size)
        products = K @ (B[:, i] * B[:, j] * x[:, None])
        mixed = np.einsum("ni,ni->i", A[:, i] * A[:, j] * q[:, None], products)
        half[i, j] += np.where(i == j, 2.0, 4.0) * mixed
        diagonal = np.diag(q @ self.slopes(Kx, gamma))
        return np.asarray(gamma[:, None] * gamma * (half + half.T) + diagonal)

    def _parts(self, Kx: Array) -> tuple[Array, Array, Array]:
        """What `applied` put side by side."""
        return Kx[:, :1], Kx[:, 1 : self.size + 1], Kx[:, self.size + 1 :]

    def slope_norm(self, K: Array, gamma: Array) -> float:
        total = 0.0
        for j in range(self.size):
            differences = self._A[:, j, None] - self._B[None, :, j]
            total += float(np.sum((gamma[j] * differences**2 * K) ** 2))
        return float(np.sqrt(total))

    def slope_scale(self, K: Array, gamma: Array) -> float:
        far = np.max(self._A**2, axis=0) + np.max(self._B**2, axis=0)
        return float(2 * np.linalg.norm(gamma * far) * np.linalg.norm(K))


class Kernel:
    """K at one γ, its rows and columns scaled, by products that are counted.

    spend   called with how many products with K, and how many kernels, some work costs
    scale   of every row of K in `norm` and `slope_norm`
    """

    def __init__(
        self, K: Array, widths: Widths, gamma: Array, spend: Callable[..., None], scale: Any = 1.0
    ) -> None:
        self.K, self.widths, self._gamma, self._spend, self._scale = K, widths, gamma, spend, scale

    def product(self, v: Array) -> Array:
        self._spend(columns(v))
        return np.asarray(self.K @ v)

    def backward(self, v: Array) -> Array:
        """Kᵀv."""
        self._spend(columns(v))
        return np.asarray(self.K.T @ v)

    def applied(self, x: Array) -> Array:
        self._spend(self.widths.products, 1.0)
        return self.widths.applied(self.K, x)

    def applied_back(self, v: Array) -> Array:
        """The same of Kᵀ and v."""
        self._spend(self.widths.products, 1.0)
        return self.widths.transposed.applied(self.K.T, v)

    def slopes(self, Kx: Array) -> Array:
        return self.widths.slopes(Kx, self._gamma)

    def slopes_back(self, Kv: Array) -> Array:
        return self.widths.transposed.slopes(Kv, self._gamma)

    def second(self, left: Applied, right: Applied) -> Array:
        self._spend(self.widths.pairs)
        return self.widths.second(self.K, left, right, self._gamma)

    @cached_property
    def norm(self) -> float:
        return float(np.linalg.norm(self._scale * self.K))

    @cached_property
    def slope_norm(self) -> float:
        self._spend(0.0, self.widths.size)
        return self.widths.slope_norm(self._scale * self.K, self._gamma)

    @cached_property
    def slope_scale(self) -> float:
        """The size of the terms that `slopes` adds up, for their rounding."""
        return self.widths.slope_scale(self.K, self._gamma)


def columns(v: Array) -> int:
    return 1 if v.ndim == 1 else v.shape[1]


def exp_of_symmetric(E: Array, height: int = 128) -> Array:
    """exp of every entry, in place; of a pair of entries only one is computed."""
    for start in range(0, len(E), height):
        rows = slice(start, start + height)
        E[rows, start:] = np.exp(E[rows, start:])
        E[start + height :, rows] = E[rows, start + height :].T
    return E
