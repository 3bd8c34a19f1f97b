"""One fold of ridge regression, decomposed: f for every penalty, and how held-out rows see it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgejsv

from hoag._core.numeric import Array
from hoag._glm.losses import OuterLoss


class MomentsJudge(NamedTuple):
    """Σᵢ s′ᵢ scale (yᵢ − ȳ − (aᵢ − ā)ᵀVq)² = scale (size − 2b·q + qᵀGq)."""

    G: Array
    b: Array
    size: float
    scale: float

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        """The loss, its slope along dq, and the size of the numbers that it is a difference of.

        q and dq of shape (r, targets, L), for L penalties; each answer of shape (L,).
        """
        b = self.b[:, :, None]
        half = (self.G @ q.reshape(len(q), -1)).reshape(q.shape) - b
        value = self.size + np.sum(q * (half - b), axis=(0, 1))
        slope = 2 * np.sum(dq * half, axis=(0, 1))
        return self.scale * value, self.scale * slope, np.full(value.size, self.scale * self.size)


class RowsJudge(NamedTuple):
    """Σᵢ s′ᵢ loss′(yᵢ − ȳ, (Zq)ᵢ) with Z = (A′ − 1āᵀ)V."""

    Z: Array
    y: Array
    weights: Array
    outer: OuterLoss

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        _, targets, many = q.shape
        z, dz = (
            (self.Z @ part.reshape(len(part), -1)).reshape(-1, targets, many).transpose(0, 2, 1)
            for part in (q, dq)
        )
        shape = (-1, targets) if targets > 1 else (-1,)
        y = np.repeat(self.y, many, axis=0).reshape(shape)
        at = self.outer.at(y, z.reshape(shape))
        value = self.weights @ at.value.reshape(-1, many)
        slope = np.einsum("i,ilt,ilt->l", self.weights, at.slope.reshape(z.shape), dz)
        return value, slope, np.abs(value)


class Fold(NamedTuple):
    """e, c, V, ā, ȳ, Σs, the held-out rows, and by how much any e may be wrong."""

    e: Array
    c: Array
    V: Array
    mean: Array
    level: Array
    total: float
    judge: RowsJudge | MomentsJudge
    lost: float

    def at(self, alpha: float) -> Array:
        """q = c/(e + α)."""
        return self.c / (self.e + alpha)[:, None]

    def judged(self, alphas: Array) -> tuple[Array, Array, Array]:
        """f and df/dλ at q and dq/dλ for many α, and the size of what f is a difference of."""
        shrunk = self.e[:, None, None] + alphas
        q = self.c[:, :, None] / shrunk
        return self.judge.at(q, -alphas * q / shrunk)

    def rounding(self, alpha: Any) -> Any:
        """The share by which X(λ) may be wrong because e is."""
        return self.lost / np.maximum(alpha + self.e[0], np.finfo(float).tiny)


def singular(A: Array) -> tuple[Array, Array, Array]:
    """A = U diag(σ) Vᵀ with every σ right to its own digits, where columns only differ in scale.

    Rows are sorted by their size: a Householder factor is then right row by row, too, and one row
    far out leaves the digits of the others.
    """
    rows = np.argsort(-np.max(np.abs(A), axis=1, initial=0.0), kind="stable")
    Q = np.empty((A.shape[0], min(A.shape)))
    Q[rows], R, order = qr(A[rows], mode="economic", pivoting=True)
    sva, v, u, work, _, info = dgejsv(R.T.copy(), joba=2, jobu=0, jobv=0, jobr=0)  # Rᵀ = v σ uᵀ
    if info != 0:
        raise np.linalg.LinAlgError("The rows could not be decomposed.")
    sigma = sva * (work[0] / work[1])
    V = np.empty((A.shape[1], sigma.size))
    V[order] = v[:, : sigma.size]
    return Q @ u[:, : sigma.size], sigma, V
