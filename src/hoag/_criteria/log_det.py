"""log|Σⱼ exp(λⱼ)Sⱼ|₊, the product of the eigenvalues that are not zero, with its derivatives.

    ∂ⱼ = exp(λⱼ) tr(S⁺Sⱼ),   ∂ⱼₖ = δⱼₖ∂ⱼ − exp(λⱼ + λₖ) tr(S⁺SⱼS⁺Sₖ)

Penalties that reach no coefficient in common are taken apart. Those that have their eigenvectors in
common, as the two of a surface do, or a curve's curvature and its straight part, are taken by their
eigenvalues, which is exact however far apart λ are; others by a factor, in a basis in which the
large ones do not drown the small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._glm.penalties import Penalty, QuadraticPenalty, Ridge
from hoag._linalg.cholesky import Factor
from hoag._linalg.symmetric import above_rounding, eigenvalues, eigenvectors, ranges


class Expansion(NamedTuple):
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
            self.parts = [_Groups(counts)]
        elif isinstance(penalty, QuadraticPenalty):
            self.shift, terms = penalty.shift, penalty.terms
            if penalty.aside is None and penalty.fixed is not None:
                # A part of the prior that λ does not scale.
                terms = [*terms, penalty.fixed]
            places = [np.arange(penalty.size)[term.some] for term in terms]
            for own in _connected(places, penalty.size):
                reached = np.unique(np.concatenate([places[j] for j in own]))
                matrices = []
                for j in own:
                    S, inside = np.zeros((reached.size,) * 2), np.searchsorted(reached, places[j])
                    S[np.ix_(inside, inside)] = terms[j].dense
                    matrices.append(S)
                self.parts.append(_part(own, matrices))
        else:
            raise NotSupportedError("The determinant of a penalty is known where it is quadratic.")

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero."""
        return sum(part.rank for part in self.parts)

    def at(self, lam: Array) -> Expansion:
        s, whole = lam.size, np.append(lam - self.shift, 0.0)
        value, grad, hessian = 0.0, np.zeros(s + 1), np.zeros((s + 1,) * 2)
        for part in self.parts:
            found = part.at(whole[part.own])
            value += found.value
            grad[part.own] += found.grad
            hessian[np.ix_(part.own, part.own)] += found.hessian
        return Expansion(value, grad[:s], hessian[:s, :s])

    def along(self, lam: Array, j: int, places: Array) -> Array:
        """The value where λⱼ alone is another, (L,)."""
        whole = np.append(lam - self.shift, 0.0)
        total = np.zeros(places.size)
        for part in self.parts:
            if j not in part.own:
                total += part.at(whole[part.own]).value
                continue
            for k, place in enumerate(places):
                other = whole.copy()
                other[j] = place - self.shift
                total[k] += part.at(other[part.own]).value
        return total


class _Part(Protocol):
    """Some penalties that reach coefficients in common."""

    own: npt.NDArray[np.intp]
    rank: int

    def at(self, lam: Array) -> Expansion: ...


class _Groups:
    """Σⱼ rⱼλⱼ for groups of rⱼ coefficients."""

    def __init__(self, counts: npt.NDArray[np.intp]) -> None:
        self.own, self._counts, self.rank = np.arange(counts.size), counts, int(counts.sum())

    def at(self, lam: Array) -> Expansion:
        flat = np.zeros((lam.size, lam.size))
        return Expansion(float(self._counts @ lam), self._counts.astype(float), flat)


class _Common:
    """Σᵢ log Σⱼ exp(λⱼ)dⱼᵢ, dⱼᵢ the eigenvalues of matrices with the same eigenvectors.

    d is of shape (s, r).
    """

    def __init__(self, own: npt.NDArray[np.intp], d: Array) -> None:
        self.own, self.rank = own, d.shape[1]
        with np.errstate(divide="ignore"):
            self._d = np.log(d)

    def at(self, lam: Array) -> Expansion:
        logs = lam[:, None] + self._d
        top = logs.max(axis=0)
        each = np.exp(logs - top)
        total = each.sum(axis=0)
        share, whole = each / total, np.log(total) + top
        grad = share.sum(axis=1)
        return Expansion(float(whole.sum()), grad, np.diag(grad) - share @ share.T)


class _Factored:
    """By a factor of Σⱼ exp(λⱼ)Sⱼ on the range of all of them."""

    def __init__(self, own: npt.NDArray[np.intp], matrices: Sequence[Array]) -> None:
        self.own, self.rank, self._S = own, matrices[0].shape[0], matrices

    def at(self, lam: Array) -> Expansion:
        top = float(lam.max())
        weights = np.exp(lam - top)
        S = _graded(self._S, weights)
        whole = np.sum([w * own for w, own in zip(weights, S, strict=True)], axis=0)
        scale = 1.0 / np.sqrt(np.diag(whole))
        solve = Factor(scale[:, None] * whole * scale)
        value = solve.log_det - 2 * float(np.sum(np.log(scale))) + self.rank * top
        turned = [
            w * solve(scale[:, None] * own * scale) for w, own in zip(weights, S, strict=True)
        ]
        grad = np.array([float(np.trace(M)) for M in turned])
        pairs = np.array([[float(np.sum(M * N.T)) for N in turned] for M in turned])
        return Expansion(value, grad, np.diag(grad) - pairs)


def _graded(matrices: Sequence[Array], weights: Array) -> list[Array]:
    """The matrices in a basis in which the range of those that weigh most comes first.

    Beyond their range these are zero, exactly, so that rounding of them hides nothing of the others
    there: with a scale for each coordinate the sum has a factor, however far apart weights are.
    """
    S, first, size = [M.copy() for M in matrices], 0, len(matrices[0])
    left = [j for j, w in enumerate(weights) if w > 0]
    while True:
        there = slice(first, size)
        norms = {j: float(np.linalg.norm(S[j][there, there])) for j in left}
        left = [j for j in left if norms[j] > 0]
        most = max((weights[j] * norms[j] for j in left), default=0.0)
        lead = [j for j in left if weights[j] * norms[j] > ROUNDOFF ** (1 / 3) * most]
        if len(lead) == len(left):
            return S
        alike = np.sum([S[j][there, there] / norms[j] for j in lead], axis=0)
        rank = int(np.sum(above_rounding(eigenvalues(alike))))
        if rank == size - first:
            return S
        whole = np.sum([weights[j] / most * S[j][there, there] for j in lead], axis=0)
        V = eigenvectors(whole)[1][:, ::-1]
        for j, own in enumerate(S):
            own[:, there] = own[:, there] @ V
            own[there] = V.T @ own[there]
            if j in lead:
                own[first + rank :] = own[:, first + rank :] = 0.0
        first, left = first + rank, [j for j in left if j not in lead]


def _part(own: npt.NDArray[np.intp], matrices: Sequence[Array]) -> _Part:
    """On the range of all matrices, by common eigenvectors where there are such."""
    V, _ = ranges(matrices)
    turned = [V.T @ S @ V for S in matrices]
    d = np.array([np.diag(M) for M in turned])
    apart = [np.abs(M - np.diag(np.diag(M))).max(initial=0.0) for M in turned]
    if all(a <= len(V) * ROUNDING * M.max() for a, M in zip(apart, d, strict=True)):
        sizes = d.max(axis=1)[:, None]
        return _Common(own, np.where(d > len(V) * ROUNDING * sizes, d, 0.0))
    return _Factored(own, turned)


def _connected(places: Sequence[npt.NDArray[np.intp]], size: int) -> list[npt.NDArray[np.intp]]:
    """Sets of penalties, by their numbers, of which no two reach the same coefficient."""
    s = len(places)
    rows = np.concatenate([np.full(own.size, j) for j, own in enumerate(places)])
    columns = s + np.concatenate(places)
    links = coo_array((np.ones(rows.size), (rows, columns)), shape=(s + size,) * 2)
    labels = connected_components(links, directed=False)[1][:s]
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
