"""log|Σⱼ exp(λⱼ)Sⱼ|₊, the product of the eigenvalues that are not zero, with its derivatives.

    ∂ⱼ = exp(λⱼ) tr(S⁺Sⱼ),   ∂ⱼₖ = δⱼₖ∂ⱼ − exp(λⱼ + λₖ) tr(S⁺SⱼS⁺Sₖ)

Penalties that reach no coefficient in common are taken apart. Those that have their eigenvectors in
common, as the two of a surface do, or a curve's bends and its straight part, are taken by their
eigenvalues, which is exact however far apart λ are; others by a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hoag.glm.penalties import Penalty, Quadratic, Ridge
from hoag.values import ROUNDING, Array, InvalidInput


class Bent(NamedTuple):
    """A number that depends on λ, its gradient, (s,), and its Hessian, (s, s)."""

    value: float
    grad: Array
    hessian: Array


class LogDet:
    """Of one penalty, for any λ."""

    def __init__(self, penalty: Penalty) -> None:
        self.size, self.n_lam = penalty.size, penalty.n_lam
        self.parts: list[_Part] = []
        if isinstance(penalty, Ridge):
            self.shift = penalty.shift
            counts = np.bincount(penalty.groups[penalty.groups >= 0], minlength=penalty.n_lam)
            self.parts = [
                _Common(np.array([j]), np.ones((1, count))) for j, count in enumerate(counts)
            ]
        elif isinstance(penalty, Quadratic):
            self.shift = penalty.shift
            places = [np.arange(penalty.size)[term.some] for term in penalty.terms]
            for own in _connected(places, penalty.size):
                reached = np.unique(np.concatenate([places[j] for j in own]))
                matrices = []
                for j in own:
                    S, inside = np.zeros((reached.size,) * 2), np.searchsorted(reached, places[j])
                    S[np.ix_(inside, inside)] = penalty.terms[j].dense
                    matrices.append(S)
                self.parts.append(_part(own, matrices))
        else:
            raise InvalidInput("The determinant of a penalty is known where it is quadratic.")

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero."""
        return sum(part.rank for part in self.parts)

    def at(self, lam: Array) -> Bent:
        value, grad, hessian = 0.0, np.zeros(lam.size), np.zeros((lam.size,) * 2)
        for part in self.parts:
            found = part.at(lam[part.own] - self.shift)
            value += found.value
            grad[part.own] += found.grad
            hessian[np.ix_(part.own, part.own)] += found.hessian
        return Bent(value, grad, hessian)


class _Part:
    """Some penalties that reach coefficients in common."""

    own: npt.NDArray[np.intp]
    rank: int

    def at(self, lam: Array) -> Bent:
        raise NotImplementedError


class _Common(_Part):
    """Σᵢ log Σⱼ exp(λⱼ)dⱼᵢ: the eigenvalues dⱼᵢ of matrices with the same eigenvectors, (s, r)."""

    def __init__(self, own: npt.NDArray[np.intp], d: Array) -> None:
        self.own, self.rank = own, d.shape[1]
        with np.errstate(divide="ignore"):
            self._logs = np.log(d)

    def at(self, lam: Array) -> Bent:
        logs = lam[:, None] + self._logs
        top = logs.max(axis=0)
        each = np.exp(logs - top)
        total = each.sum(axis=0)
        share, whole = each / total, np.log(total) + top
        grad = share.sum(axis=1)
        return Bent(float(whole.sum()), grad, np.diag(grad) - share @ share.T)


class _Factored(_Part):
    """By a factor of Σⱼ exp(λⱼ)Sⱼ on the range of all of them."""

    def __init__(self, own: npt.NDArray[np.intp], matrices: Sequence[Array]) -> None:
        self.own, self._S, self.rank = own, list(matrices), matrices[0].shape[0]

    def at(self, lam: Array) -> Bent:
        top = float(lam.max())
        weights = np.exp(lam - top)
        whole = sum(w * S for w, S in zip(weights, self._S, strict=True))
        scale = 1.0 / np.sqrt(np.diag(whole))
        factor = cho_factor(scale[:, None] * whole * scale, lower=True)
        value = 2 * float(np.sum(np.log(np.diag(factor[0])) - np.log(scale))) + self.rank * top
        turned = [
            w * cho_solve(factor, scale[:, None] * S * scale)
            for w, S in zip(weights, self._S, strict=True)
        ]
        grad = np.array([float(np.trace(M)) for M in turned])
        pairs = np.array([[float(np.sum(M * N.T)) for N in turned] for M in turned])
        return Bent(value, grad, np.diag(grad) - pairs)


def _part(own: npt.NDArray[np.intp], matrices: Sequence[Array]) -> _Part:
    """On the range of all matrices, by common eigenvectors where there are such."""
    # Weights that no eigenvalues of different matrices are likely to balance.
    each = [(1 + 1 / (2 + j)) * S / np.trace(S) for j, S in enumerate(matrices)]
    e, V = np.linalg.eigh(np.sum(each, axis=0))
    V = V[:, e > ROUNDING * e[-1]]
    turned = [V.T @ S @ V for S in matrices]
    d = np.array([np.diag(M) for M in turned])
    apart = [np.abs(M - np.diag(np.diag(M))).max(initial=0.0) for M in turned]
    if all(a <= ROUNDING * M.max() for a, M in zip(apart, d, strict=True)):
        sizes = d.max(axis=1)[:, None]
        return _Common(own, np.where(d > ROUNDING * sizes, d, 0.0))
    return _Factored(own, turned)


def _connected(places: Sequence[npt.NDArray[np.intp]], size: int) -> list[npt.NDArray[np.intp]]:
    """Sets of penalties, by their numbers, of which no two reach the same coefficient."""
    s = len(places)
    rows = np.concatenate([np.full(own.size, j) for j, own in enumerate(places)])
    columns = s + np.concatenate(places)
    links = coo_array((np.ones(rows.size), (rows, columns)), shape=(s + size,) * 2)
    labels = connected_components(links, directed=False)[1][:s]
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
