"""RBF kernels between two sets of rows, with one γ for all features or one for each.

K = exp(−Σⱼ γⱼ Dⱼ),   Dⱼ the squared differences in feature j
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from hoag._core.numeric import Array

# A vector, and what `applied` made of it.
Applied = tuple[Array, Array]


class Kernel(ABC):
    """K of two sets of rows, A and B, whose products are counted.

    size         how many γ there are
    exponent(γ)  −Σⱼ γⱼ Dⱼ, (rows of A, rows of B)
    at(γ, K, …)  the same with K at one γ, its rows and columns scaled: all else is asked of that

    spend   called with how many products with K, and how many kernels, some work costs
    scale   of every row of K in `norm` and `slope_norm`
    """

    size: int
    K: Array
    gamma: Array
    spend: Callable[..., None]
    scale: Any

    @abstractmethod
    def exponent(self, gamma: Array) -> Array: ...

    def at(self, gamma: Array, K: Array, spend: Callable[..., None], scale: Any = 1.0) -> Self:
        other = copy(self)
        other.gamma, other.K, other.spend, other.scale = gamma, K, spend, scale
        return other

    @property
    @abstractmethod
    def transposed(self) -> Self:
        """Kᵀ, from the rows of B to those of A."""

    def product(self, v: Array) -> Array:
        self.spend(columns(v))
        return np.asarray(self.K @ v)

    def backward(self, v: Array) -> Array:
        """Kᵀv."""
        self.spend(columns(v))
        return np.asarray(self.K.T @ v)

    @abstractmethod
    def applied(self, x: Array) -> Array:
        """What `slopes` and `second` need of K and x."""

    @abstractmethod
    def slopes(self, Kx: Array) -> Array:
        """(dK/d log γⱼ) x = −γⱼ (Dⱼ∘K) x, (rows of A, size), for Kx = applied(x)."""

    @abstractmethod
    def second(self, left: Applied, right: Applied) -> Array:
        """qᵀ(d²K/d log γᵢ d log γⱼ) x, (size, size), for (q, transposed.applied(q)), (x, Kx)."""

    @cached_property
    def norm(self) -> float:
        return float(np.linalg.norm(self.scale * self.K))

    @cached_property
    @abstractmethod
    def slope_norm(self) -> float:
        """(Σⱼ ‖γⱼ Dⱼ∘K‖²_F)^½."""

    @cached_property
    @abstractmethod
    def slope_scale(self) -> float:
        """At least the Frobenius norm of the terms that `slopes` adds up, for their rounding."""


class SharedWidth(Kernel):
    """One γ: the distances are computed once."""

    size = 1

    def __init__(self, A: Any, B: Any) -> None:
        self._distances = euclidean_distances(A, None if A is B else B, squared=True)

    @property
    def transposed(self) -> Self:
        other = copy(self)
        other.K, other._distances = self.K.T, self._distances.T
        return other

    def exponent(self, gamma: Array) -> Array:
        return np.asarray(-gamma[0] * self._distances)

    def applied(self, x: Array) -> Array:
        self.spend(1, kernels=1.0)
        return np.asarray((self._distances * self.K) @ x)[:, None]

    def slopes(self, Kx: Array) -> Array:
        return np.asarray(-self.gamma[0] * Kx)

    def second(self, left: Applied, right: Applied) -> Array:
        self.spend(1)
        (q, _), (x, Kx) = left, right
        squares = q @ ((self._distances**2 * self.K) @ x)
        return np.asarray(self.gamma[0] ** 2 * squares + q @ self.slopes(Kx)).reshape(1, 1)

    @cached_property
    def slope_norm(self) -> float:
        self.spend(0.0, kernels=1.0)
        return float(self.gamma[0] * np.linalg.norm(self._distances * (self.scale * self.K)))

    @cached_property
    def slope_scale(self) -> float:
        return float(self.gamma[0] * np.linalg.norm(self._distances * self.K))


class FeatureWidths(Kernel):
    """One γ for each feature; A and B dense and centred.

    (Dⱼ∘K) x = aⱼ²∘(Kx) − 2aⱼ∘K(bⱼ∘x) + K(bⱼ²∘x), for all j by one product with K.
    """

    def __init__(self, A: Array, B: Array) -> None:
        self._A, self._B = A, B
        self.size = A.shape[1]

    @property
    def transposed(self) -> Self:
        other = copy(self)
        other.K, other._A, other._B = self.K.T, self._B, self._A
        return other

    def exponent(self, gamma: Array) -> Array:
        """2aᵀΓb − aᵀΓa − bᵀΓb by one product, and at most 0."""
        A, B = self._A, self._B
        left = np.column_stack([2 * gamma * A, -(A**2) @ gamma, np.ones(len(A))])
        right = np.column_stack([B, np.ones(len(B)), -(B**2) @ gamma])
        found = left @ right.T
        return np.asarray(np.minimum(found, 0.0, out=found))

    def applied(self, x: Array) -> Array:
        """K x, K(bⱼ∘x) and K(bⱼ²∘x), side by side."""
        self.spend(2 * self.size + 1, kernels=1.0)
        column = x[:, None]
        return np.asarray(self.K @ np.hstack([column, self._B * column, self._B**2 * column]))

    def slopes(self, Kx: Array) -> Array:
        zeroth, first, second = self._parts(Kx)
        return np.asarray(-self.gamma * (self._A**2 * zeroth - 2 * self._A * first + second))

    def second(self, left: Applied, right: Applied) -> Array:
        """γᵢγⱼ qᵀ(Dᵢ∘Dⱼ∘K)x − δᵢⱼ γᵢ qᵀ(Dᵢ∘K)x.

        Of (aᵢ − bᵢ)²(aⱼ − bⱼ)² all terms but 4aᵢaⱼbᵢbⱼ follow from what was applied to x and q:
        that one takes a product for each pair.
        """
        A, B, (q, Kq), (x, Kx) = self._A, self._B, left, right
        (zeroth, first, second), (back, back_first, _) = self._parts(Kx), self._parts(Kq)
        half = (A**2 * q[:, None]).T @ (0.5 * A**2 * zeroth - 2 * A * first + second)
        half += (B**2 * x[:, None]).T @ (0.5 * B**2 * back - 2 * B * back_first)
        i, j = np.triu_indices(self.size)
        self.spend(i.size)
        products = self.K @ (B[:, i] * B[:, j] * x[:, None])
        mixed = np.einsum("ni,ni->i", A[:, i] * A[:, j] * q[:, None], products)
        half[i, j] += np.where(i == j, 2.0, 4.0) * mixed
        diagonal = np.diag(q @ self.slopes(Kx))
        return np.asarray(self.gamma[:, None] * self.gamma * (half + half.T) + diagonal)

    def _parts(self, Kx: Array) -> tuple[Array, Array, Array]:
        """What `applied` put side by side."""
        return Kx[:, :1], Kx[:, 1 : self.size + 1], Kx[:, self.size + 1 :]

    @cached_property
    def slope_norm(self) -> float:
        self.spend(0.0, kernels=self.size)
        K, total = self.scale * self.K, 0.0
        for j in range(self.size):
            differences = self._A[:, j, None] - self._B[None, :, j]
            total += float(np.sum((self.gamma[j] * differences**2 * K) ** 2))
        return float(np.sqrt(total))

    @cached_property
    def slope_scale(self) -> float:
        far = np.max(self._A**2, axis=0) + np.max(self._B**2, axis=0)
        return float(2 * np.linalg.norm(self.gamma * far) * np.linalg.norm(self.K))


def columns(v: Array) -> int:
    return 1 if v.ndim == 1 else v.shape[1]


def exp_of_symmetric(E: Array, height: int = 128) -> Array:
    """exp of every entry, in place; of a pair of entries only one is computed."""
    for start in range(0, len(E), height):
        rows = slice(start, start + height)
        E[rows, start:] = np.exp(E[rows, start:])
        E[start + height :, rows] = E[rows, start + height :].T
    return E
