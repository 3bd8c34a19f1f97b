"""Σⱼ exp(λⱼ) ½ xᵀSⱼx at one λ, for the x of all folds at once, one in each row of X, (K, size)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import ROUNDING, Array
from hoag._glm.penalties import Penalty, Quadratic, Ridge, by_group, members


class Pull(ABC):
    """S = Σⱼ exp(λⱼ)Sⱼ."""

    @abstractmethod
    def times(self, X: Array) -> Array:
        """S x_k, (K, size)."""

    @abstractmethod
    def added(self, H: Array) -> Array:
        """H_k + S, (K, size, size)."""

    @abstractmethod
    def forms(self, Q: Array, X: Array) -> Array:
        """Σ_k exp(λⱼ) q_kᵀSⱼx_k for every j, (s,)."""

    @abstractmethod
    def columns(self, X: Array) -> Array:
        """exp(λⱼ) Sⱼx_k, (K, size, s)."""

    @abstractmethod
    def roots(self, k: int = 0) -> list[Array]:
        """F_j of shape (size, rank) with Sⱼ = F_jF_jᵀ in fold k, for every j."""

    @abstractmethod
    def traces(self, N: Array) -> Array:
        """exp(λⱼ) tr(SⱼN) for every j, (s,), with N of shape (size, size)."""

    @abstractmethod
    def pairs(self, M: Array, N: Array) -> Array:
        """exp(λⱼ + λₖ) tr(SⱼMSₖN) for every j and k, (s, s), with symmetric M and N.

        Which of the two stands first makes no difference: a matrix has its transpose's trace.
        """

    @property
    @abstractmethod
    def alpha(self) -> Array:
        """exp(λⱼ), in the units of the rows, (s,)."""

    def value(self, X: Array) -> Array:
        """½ x_kᵀSx_k, (K,)."""
        return np.asarray(0.5 * np.sum(X * self.times(X), axis=1))

    def gross(self, X: Array) -> Array:
        """The same without signs, (K,): what it is rounded beside, where its summands cancel."""
        return self.value(X)


class Shrink(Pull):
    """Sⱼ picks the coefficients of group j, weighed in each fold; S, (K, size), is what is added
    to the diagonals, and holds those of group −1 a little."""

    def __init__(self, S: Array, groups: npt.NDArray[np.intp], n_lam: int) -> None:
        self._S, self._groups, self._n_lam = S, groups, n_lam

    @property
    def alpha(self) -> Array:
        return np.array([self._S[0, np.argmax(self._groups == j)] for j in range(self._n_lam)])

    def roots(self, k: int = 0) -> list[Array]:
        picks, found = np.eye(self._groups.size), []
        for j, alpha in enumerate(self.alpha):
            own = self._groups == j
            found.append(picks[:, own] * np.sqrt(self._S[k, own] / alpha))
        return found

    def times(self, X: Array) -> Array:
        return self._S * X

    def added(self, H: Array) -> Array:
        H = H.copy()
        np.einsum("kii->ki", H)[:] += self._S[: len(H)]
        return H

    def forms(self, Q: Array, X: Array) -> Array:
        return by_group(self._groups, np.sum(Q * self.times(X), axis=0), self._n_lam)

    def traces(self, N: Array) -> Array:
        return by_group(self._groups, self._S[0] * np.diag(N), self._n_lam)

    def pairs(self, M: Array, N: Array) -> Array:
        member = members(self._groups, self._n_lam) * self._S[0][:, None]
        return np.asarray(member.T @ (M * N) @ member)

    def columns(self, X: Array) -> Array:
        found, tuned = np.zeros((*X.shape, self._n_lam)), np.flatnonzero(self._groups >= 0)
        found[:, tuned, self._groups[tuned]] = self.times(X)[:, tuned]
        return found


class Matrices(Pull):
    """Any Sⱼ, dense."""

    def __init__(self, penalty: Quadratic, lam: Array) -> None:
        self._penalty, self._alpha = penalty, np.exp(lam - penalty.shift)
        self._S = np.zeros((penalty.size, penalty.size))
        penalty.at(lam).add_to(self._S, np.zeros(penalty.size))

    @property
    def alpha(self) -> Array:
        return self._alpha

    def gross(self, X: Array) -> Array:
        return np.asarray(0.5 * np.sum(np.abs(X) * (np.abs(X) @ np.abs(self._S)), axis=1))

    def roots(self, k: int = 0) -> list[Array]:
        found = []
        for term in self._penalty.terms:
            e, V = np.linalg.eigh(term.dense)
            kept = e > ROUNDING * max(float(e[-1]), 0.0)
            F = np.zeros((self._penalty.size, int(kept.sum())))
            F[term.some] = V[:, kept] * np.sqrt(e[kept])
            found.append(F)
        return found

    def times(self, X: Array) -> Array:
        return np.asarray(X @ self._S)

    def added(self, H: Array) -> Array:
        return H + self._S

    def forms(self, Q: Array, X: Array) -> Array:
        return np.asarray(np.einsum("ki,kij->j", Q, self.columns(X)))

    def traces(self, N: Array) -> Array:
        parts = [(term.some, term.dense) for term in self._penalty.terms]
        return self._alpha * [float(np.sum(S * N[some, some])) for some, S in parts]

    def pairs(self, M: Array, N: Array) -> Array:
        """By (SⱼM)·(SₖN)ᵀ over the coefficients of both, the rows of all j one below another."""
        terms, size = self._penalty.terms, self._penalty.size
        places = np.concatenate([np.arange(size)[term.some] for term in terms])
        left = np.concatenate([term.dense @ M[term.some] for term in terms])[:, places]
        right = left
        if N is not M:
            right = np.concatenate([term.dense @ N[term.some] for term in terms])[:, places]
        first = np.cumsum([0, *(len(term.diagonal) for term in terms[:-1])])
        sums = np.add.reduceat(np.add.reduceat(left * right.T, first, axis=0), first, axis=1)
        return np.outer(self._alpha, self._alpha) * sums

    def columns(self, X: Array) -> Array:
        found = np.zeros((*X.shape, self._alpha.size))
        for j, (a, term) in enumerate(zip(self._alpha, self._penalty.terms, strict=True)):
            found[:, term.some, j] = a * (X[:, term.some] @ term.dense)
        return found


def pull(penalties: Sequence[Penalty], lam: Array) -> Pull:
    """The penalties of all folds at λ."""
    first = penalties[0]
    if isinstance(first, Quadratic):
        return Matrices(first, lam)
    ridges = [penalty for penalty in penalties if isinstance(penalty, Ridge)]
    S = np.stack([ridge.alpha(lam) for ridge in ridges])
    return Shrink(S, ridges[0].groups, ridges[0].n_lam)
