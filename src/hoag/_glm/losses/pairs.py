"""Losses of two numbers of a row's z: (u, v) = (z[a], z[b]), with columns a and b of its own.

The second derivatives of a row are then a 2×2 matrix in those columns and zero in others, the third
ones a symmetric 2×2×2 tensor: what `PairAt` needs are these, and all else follows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import ROUNDOFF, Array
from hoag._glm.losses.base import Loss, LossAt

# What a loss is where it is not defined: no step of Newton's method is taken there.
NOWHERE = float(np.finfo(float).max / np.finfo(np.float32).max)


class PairAt:
    """At z of shape (n, K), with the two columns of each row, (n, 2).

    value          (n,)
    pair_slope     ∂/∂u and ∂/∂v, (n, 2)
    pair_hessian   the second derivatives, (n, 2, 2)
    pair_third     the third derivatives, (n, 2, 2, 2)
    """

    value: Any
    pair_slope: Any
    pair_hessian: Any
    pair_third: Any

    def __init__(self, z: Array, columns: npt.NDArray[np.intp]) -> None:
        self.z, self.columns = z, columns
        self._rows = np.arange(len(z))[:, None]
        self.pair = z[self._rows, columns]

    def _placed(self, pairs: Array) -> Array:
        """Two numbers a row in the columns that they belong to, (n, K)."""
        placed = np.zeros(self.z.shape)
        np.add.at(placed, (self._rows, self.columns), pairs)
        return placed

    @cached_property
    def slope(self) -> Array:
        return self._placed(self.pair_slope)

    def hvp(self, v: Array) -> Array:
        return self._placed(np.einsum("nab,nb->na", self.pair_hessian, v[self._rows, self.columns]))

    def third(self, u: Array, v: Array) -> Array:
        at = (self._rows, self.columns)
        return self._placed(np.einsum("nabc,nb,nc->na", self.pair_third, u[at], v[at]))

    def quadratic_forms(self, V: Array) -> Array:
        own = V[self.columns]  # (n, 2, columns of V)
        return np.asarray(np.einsum("nam,nab,nbm->nm", own, self.pair_hessian, own))

    def gram(self, Z: Array, s: Array) -> Array:
        own = Z.reshape(*self.z.shape, -1)[self._rows, self.columns]
        times = np.einsum("n,nab,nbm->nam", s, self.pair_hessian, own)
        m = own.shape[-1]
        return np.asarray(own.reshape(-1, m).T @ times.reshape(-1, m))

    @cached_property
    def curvature_bound(self) -> Array:
        (a, b), (_, c) = self.pair_hessian.transpose(1, 2, 0)
        return np.asarray(0.5 * (a + c) + np.hypot(0.5 * (a - c), b))


# κ of a fitted spread, as a share of what it is counted from: it moves σ by its square.
LEAST = ROUNDOFF**0.25


class ConcomitantHuber(Loss):
    """½(σ + σ H(r/σ) + κ²/σ), r = z₀ − y and σ = z₁ + start: Huber's loss with the spread in it.

    H(u) is u² up to |u| = δ and 2δ|u| − δ² beyond. The spread σ of the residuals is fitted with the
    coefficients, so that scaling y scales both; that is scikit-learn's HuberRegressor. Convex in
    both; where σ ≤ 0 there is no such model. κ, a small share of `start`, keeps σ above 0 where
    most residuals vanish.
    """

    def __init__(self, delta: float, start: float = 1.0, scale: float = 0.5) -> None:
        self.delta, self.start, self.scale = delta, start, scale
        self.least = LEAST * start

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _ConcomitantAt(self, y, z)


class _ConcomitantAt(PairAt):
    def __init__(self, loss: ConcomitantHuber, y: npt.NDArray[Any], z: Array) -> None:
        super().__init__(z, np.tile(np.arange(2), (len(z), 1)))
        self.delta, self.scale = loss.delta, loss.scale
        self.residual, sigma = z[:, 0] - y, z[:, 1] + loss.start
        self.exists = sigma > 0
        self.sigma = np.where(self.exists, sigma, 1.0)
        self.far = np.abs(self.residual) > self.delta * self.sigma
        self.kept = (loss.least / self.sigma) ** 2

    @cached_property
    def value(self) -> Array:
        r, sigma, d = np.abs(self.residual), self.sigma, self.delta
        near = sigma + r**2 / sigma
        far = sigma * (1 - d**2) + 2 * d * r
        value = np.where(self.far, far, near) + self.kept * sigma
        return np.where(self.exists, self.scale * value, NOWHERE)

    @cached_property
    def pair_slope(self) -> Array:
        u, d = self.residual / self.sigma, self.delta
        by_z = 2 * np.clip(u, -d, d)
        by_sigma = np.where(self.far, 1 - d**2, 1 - u**2) - self.kept
        by_sigma = np.where(self.exists, by_sigma, -(NOWHERE**0.5))  # no gradient is small there
        return np.asarray(self.scale * np.stack([by_z, by_sigma], axis=1))

    @cached_property
    def pair_hessian(self) -> Array:
        u = self.residual / self.sigma
        curved = np.where(self.far, 0.0, 2 * self.scale / self.sigma)
        v = np.stack([np.ones_like(u), -u], axis=1)
        whole = curved[:, None, None] * v[:, :, None] * v[:, None, :]
        whole[:, 1, 1] += 2 * self.scale * self.kept / self.sigma
        return np.asarray(whole)

    @cached_property
    def pair_third(self) -> Array:
        u = self.residual / self.sigma
        curved = np.where(self.far, 0.0, -2 * self.scale / self.sigma**2)
        v, e = np.stack([np.ones_like(u), -u], axis=1), np.array([0.0, 1.0])
        last = np.einsum("n,na,nb,c->nabc", curved, v, v, e)
        whole = last + last.transpose(0, 1, 3, 2) + last.transpose(0, 3, 1, 2)
        whole[:, 1, 1, 1] -= 6 * self.scale * self.kept / self.sigma**2
        return np.asarray(whole)
