"""Ridge regression on all rows, by a factor, and what leaving out each row makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hoag._core import clock
from hoag._core.numeric import ROUNDOFF, Array
from hoag._criteria.left_out_bends import SolvedRows
from hoag._criteria.spectral import DECOMPOSED
from hoag._glm.rows import Rows
from hoag._linalg.operator import Inverse


class Fit(NamedTuple):
    """θ (p, K), the residuals r (n, K), 1 − h (n,), and what their derivatives need."""

    theta: Callable[[], Array]
    residual: Array
    gap: Array
    condition: float
    derivative: Callable[[Array, Array], Array]  # u (n, K), v (n,) ↦ that of f, by coefficients
    known: tuple[Inverse, SolvedRows] | None = None  # G⁻¹, where its factor was made, and B = AG⁻¹


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

    @property
    def root(self) -> Array:
        """√s, as a column."""
        return np.sqrt(self.weights)[:, None]

    @cached_property
    def gram(self) -> Array:
        """(A − 1 meanᵀ)ᵀ S (A − 1 meanᵀ), which does not change with λ."""
        self.flops += 2.0 * self.n * self.p**2
        root = self.mean * np.sqrt(self.weights.sum())
        return self.rows.gram(self.weights) - np.outer(root, root)

    @cached_property
    def dual_gram(self) -> Array:
        """The same on the other side, where one penalty scales all of it."""
        self.flops += 2.0 * self.n**2 * self.p
        gram = np.zeros((self.n, self.n))
        for _, R in self.column_blocks():
            clock.check()
            gram += R @ R.T
        return gram

    def forward(self, theta: Array) -> Array:
        product = self.rows.forward(theta)
        product -= self.mean @ theta
        return product

    def backward(self, u: Array) -> Array:
        """(A − 1 meanᵀ)ᵀ u."""
        return self.rows.backward(u) - np.outer(self.mean, u.sum(axis=0))

    def row_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Centred rows, dense, some at a time."""
        for rows, A in self.rows.dense_blocks():
            clock.check()
            yield rows, A - self.mean

    def solved_rows(self, factor: Any) -> SolvedRows:
        """Centred rows A and A G⁻¹, some at a time; where they are few, solved for once."""

        def solved() -> Iterator[tuple[slice, Array, Array]]:
            self.flops += 2.0 * self.n * self.p**2
            for rows, A in self.row_blocks():
                yield rows, A, cho_solve(factor, A.T).T

        if self.n * self.p > DECOMPOSED**2:
            return solved
        kept = list(solved())
        return lambda: iter(kept)

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """√S (A − 1 meanᵀ), dense, some columns at a time."""
        root = self.root
        for columns, A in self.rows.dense_columns():
            clock.check()
            yield columns, root * (A - self.mean[columns])

    def primal(self, y: Array, alpha: Array) -> Fit:
        """By the factor of G, p × p."""
        s = self.weights[:, None]
        G = np.diag(alpha) + self.gram
        factor = cho_factor(G)
        self.flops += self.p**3 / 3
        theta = cho_solve(factor, self.backward(s * y))
        residual = y - self.forward(theta)
        leverage, seen = self.share.copy(), self.solved_rows(factor)
        for rows, A, B in seen():
            clock.check()
            leverage[rows] += self.weights[rows] * np.einsum("ij,ij->i", A, B)

        def derivative(u: Array, v: Array) -> Array:
            squares = np.zeros(self.p)
            for rows, _, B in seen():
                squares += (self.weights[rows] * v[rows]) @ B**2
            Bu = cho_solve(factor, self.backward(u))
            return _split(alpha, theta, Bu, squares)

        gap = np.maximum(1.0 - leverage, ROUNDOFF)
        condition = _condition(factor, G)
        known = (partial(cho_solve, factor), seen)
        return Fit(lambda: theta, residual, gap, condition, derivative, known)

    def dual(self, y: Array, alpha: Array) -> Fit:
        """By the factor of M, n × n; in it rows are scaled by √s and centred."""
        root = np.sqrt(self.weights)
        if np.all(alpha == alpha[0]):
            M = self.dual_gram / alpha[0]
        else:
            M = np.zeros((self.n, self.n))
            for columns, R in self.column_blocks():
                M += (R / alpha[columns]) @ R.T
            self.flops += 2.0 * self.n**2 * self.p
        # √share is in the null space of R Rᵀ. Left at 1 beside the other eigenvalues, it would hide
        # 1 − h in rounding; raised to their size it leaves its part of M⁻¹ as small as theirs.
        null, raised = np.sqrt(self.share), float(np.trace(M)) / self.n
        M += raised * np.outer(null, null)
        M[np.diag_indices(self.n)] += 1.0
        factor = cho_factor(M)
        inverse = cho_solve(factor, np.eye(self.n))
        self.flops += self.n**3
        scaled = inverse @ (root[:, None] * y)  # √s r
        theta = np.concatenate(
            [(R.T @ scaled) / alpha[columns, None] for columns, R in self.column_blocks()]
        )
        residual = scaled / root[:, None]
        gap = np.maximum(np.diag(inverse) - self.share / (1.0 + raised), np.finfo(float).tiny)

        def derivative(u: Array, v: Array) -> Array:
            w, Z = inverse @ (u / root[:, None]), (inverse * v) @ inverse
            Bu, squares = np.empty_like(theta), np.empty(self.p)
            for columns, R in self.column_blocks():
                a = alpha[columns]
                Bu[columns] = (R.T @ w) / a[:, None]
                squares[columns] = np.einsum("ij,ij->j", R, Z @ R) / a**2
            self.flops += 2.0 * self.n**2 * (self.n + self.p)
            return _split(alpha, theta, Bu, squares)

        @cache  # made when second derivatives are asked for
        def whole() -> tuple[Array, list[tuple[slice, Array, Array]]]:
            R = np.concatenate([part for _, part in self.column_blocks()], axis=1)
            A, B = R / root[:, None], (inverse @ R) / alpha / root[:, None]
            self.flops += 2.0 * self.n**2 * self.p
            return R, [(slice(None), A, B)]

        def solve(b: Array) -> Array:
            """G⁻¹b = Λ⁻¹b − Λ⁻¹Rᵀ M⁻¹ RΛ⁻¹b."""
            R, c = whole()[0], (b.T / alpha).T
            return np.asarray(c - ((R.T @ (inverse @ (R @ c))).T / alpha).T)

        few = self.n * self.p <= DECOMPOSED**2
        known = (solve, lambda: iter(whole()[1])) if few else None
        return Fit(lambda: theta, residual, gap, _condition(factor, M), derivative, known)


def _split(alpha: Array, theta: Array, Bu: Array, squares: Array) -> Array:
    """αⱼ(θⱼ(Bᵀu)ⱼ − Σᵢ…), the second part given to the first target: all share their groups."""
    parts = alpha[:, None] * theta * Bu
    parts[:, 0] -= alpha * squares
    return parts


def _condition(factor: Any, matrix: Array) -> float:
    """A cheap estimate that does not see the scales of columns: max of diagonal over pivot."""
    return float(np.max(np.diag(matrix) / np.diag(factor[0]) ** 2))
