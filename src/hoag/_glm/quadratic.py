"""Penalties Σⱼ exp(λⱼ) ½ xᵀSⱼx with any Sⱼ: differences of neighbours, bends of curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.penalties import Aside, Block, QuadraticForm, QuadraticPenalty
from hoag._linalg.symmetric import root


class Quadratic(QuadraticPenalty):
    """Σⱼ exp(λⱼ − shift) ½ xᵀSⱼx with Sⱼ symmetric and positive semidefinite.

    size   the number of coefficients
    terms  one Sⱼ for each hyperparameter: a matrix for all of x, dense or sparse, or a flat array
           for its diagonal; or (slice, Sⱼ) where Sⱼ is for some of the coefficients only, as the
           smoothness of one curve among several is
    fixed  a further ½ xᵀS₀x that no λ scales, such as a little of everything; None for nothing
    aside  what `fixed` is for where it is no prior of x; by default it is a part of that

    >>> import numpy as np
    >>> from hoag import glm, testing
    >>> D = np.diff(np.eye(6), axis=0)  # neighbours should be alike
    >>> penalty = glm.Quadratic(6, [D.T @ D], fixed=np.full(6, 1e-3))
    >>> testing.check_penalty(penalty)
    """

    def __init__(
        self,
        size: int,
        terms: Sequence[Any],
        fixed: Any = None,
        shift: float = 0.0,
        aside: Aside | None = None,
    ) -> None:
        if not terms:
            raise InvalidInput("There is no term, and so no hyperparameter to tune.")
        self.size, self.n_lam, self.shift, self.aside = size, len(terms), shift, aside
        self.terms = [Block.of(term, size, j) for j, term in enumerate(terms)]
        self.fixed = None if fixed is None else Block.of(fixed, size, -1)

    def at(self, lam: Array) -> QuadraticAt:
        return QuadraticAt(self, np.exp(lam - self.shift))


class QuadraticAt(QuadraticForm):
    def __init__(self, penalty: Quadratic, strengths: Array) -> None:
        self.strengths, self._terms = strengths, penalty.terms
        self._all = list(zip(strengths.tolist(), penalty.terms, strict=True))
        if penalty.fixed is not None:
            self._all.append((1.0, penalty.fixed))

    def apply(self, X: Array) -> Array:
        total = np.zeros(X.shape)
        for a, block in self._all:
            total[..., block.some] += a * block.product(X)
        return total

    def columns(self, X: Array) -> Array:
        found = np.zeros((*X.shape, len(self._terms)))
        for j, (a, block) in enumerate(zip(self.strengths, self._terms, strict=True)):
            found[..., block.some, j] = a * block.product(X)
        return found

    def rounded(self, X: Array) -> Any:
        S = np.abs(self.matrix(X.shape[-1]))
        return 0.5 * np.sum(np.abs(X) * (np.abs(X) @ S), axis=-1)

    def matrix(self, size: int) -> Array:
        S = np.zeros((size, size))
        for a, block in self._all:
            S[block.some, block.some] += a * block.dense
        return S

    def diagonal(self, x: Array) -> Array:
        total = np.zeros(x.size)
        for a, block in self._all:
            total[block.some] += a * block.diagonal
        return total

    def vjp(self, X: Array, Q: Array) -> Array:
        each = zip(self.strengths, self._terms, strict=True)
        return np.array([a * float(np.sum(Q[..., b.some] * b.product(X))) for a, b in each])

    def roots(self, size: int, k: int = 0) -> list[Array]:
        found = []
        for term in self._terms:
            own = root(term.dense)
            F = np.zeros((size, own.shape[1]))
            F[term.some] = own
            found.append(F)
        return found

    def traces(self, N: Array) -> Array:
        parts = [(term.some, term.dense) for term in self._terms]
        return self.strengths * [float(np.sum(S * N[some, some])) for some, S in parts]

    def pairs(self, M: Array, N: Array) -> Array:
        """By (SⱼM)·(SₖN)ᵀ over the coefficients of both, the rows of all j one below another."""
        terms = self._terms
        places = np.concatenate([np.arange(len(M))[term.some] for term in terms])
        left = np.concatenate([term.dense @ M[term.some] for term in terms])[:, places]
        right = left
        if N is not M:
            right = np.concatenate([term.dense @ N[term.some] for term in terms])[:, places]
        first = np.cumsum([0, *(len(term.diagonal) for term in terms[:-1])])
        sums = np.add.reduceat(np.add.reduceat(left * right.T, first, axis=0), first, axis=1)
        return np.outer(self.strengths, self.strengths) * sums
