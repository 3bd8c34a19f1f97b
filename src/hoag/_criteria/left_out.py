"""Leave-one-out of ridge regression with one penalty: one decomposition for every λ.

    AᵀSA = V diag(e) Vᵀ, Z = AV:             r = y − Z c/(e + α),   h = s Z²/(e + α) + share
    √S A Aᵀ√S = U diag(e) Uᵀ, Z = U:       √s r = Z (αc/(e + α)),  1 − h = Z² (α/(e + α)) − share

the second where columns outnumber rows. f and df/dλ are sums over rows, for many α in one go: some
rows at a time, so that what is made of them stays near the processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hoag._core.numeric import ROUNDOFF, Array
from hoag._glm.losses import OuterLoss
from hoag._glm.rows import BLOCK_ENTRIES


class Observed(NamedTuple):
    """What is predicted: K targets of n rows, and how errors are judged."""

    y: Array
    centred: Array
    weights: Array
    share: Array  # of each row in the intercept
    outer: OuterLoss
    gcv: bool  # the mean of h in place of each row's own


class Spectrum(NamedTuple):
    """One decomposition for all λ: e, and Z = AV, or Z = U where columns outnumber rows."""

    wide: bool
    e: Array
    Z: Array
    c: Array  # VᵀAᵀSy, or Uᵀ√S y
    V: Array | None = None
    lost: float = 0.0  # by how much any e may be wrong
    raised: float = 0.0  # the eigenvalue that stands for the intercept, where it is wide
    by_rows: bool = False

    def left_out(self, seen: Observed, alpha: float) -> tuple[Array, Array]:
        """The residuals r, (n, K), and 1 − h, (n,), at one α."""
        found = self._left_out(seen, np.array([alpha]), slice(None), self.Z, self.Z**2)
        return found[0][:, :, 0], found[1][:, 0]

    def _left_out(
        self, seen: Observed, alphas: Array, some: slice, Z: Array, squares: Array
    ) -> tuple[Array, Array]:
        """The residuals r, (m, K, L), and 1 − h, (m, L), of some rows for many α."""
        e, c = self.e[:, None], self.c[:, :, None]
        weights, share = seen.weights[some, None], seen.share[some, None]
        kept = alphas / (e + alphas)
        if self.wide:
            null = alphas / (self.raised + alphas)
            scaled = Z @ (kept[:, None, :] * c).reshape(len(e), -1)
            residual = scaled.reshape(len(Z), -1, alphas.size) / np.sqrt(weights)[:, :, None]
            if seen.gcv:
                mean = (kept.sum(axis=0) - null * seen.share.sum()) / len(self.Z)
                return residual, np.maximum(mean, np.finfo(float).tiny)[None]
            return residual, np.maximum(squares @ kept - share * null, np.finfo(float).tiny)
        fitted = (Z @ (c / (e + alphas)[:, None, :]).reshape(len(e), -1)).reshape(
            len(Z), -1, alphas.size
        )
        residual = seen.centred[some, :, None] - fitted
        if seen.gcv:  # ZᵀSZ = diag(e)
            mean = 1.0 - (seen.share.sum() + (1.0 - kept).sum(axis=0)) / len(self.Z)
            return residual, np.maximum(mean, ROUNDOFF)[None]
        gap = 1.0 - share - weights * (squares @ (1.0 / (e + alphas)))
        return residual, np.maximum(gap, ROUNDOFF)

    def judged(
        self, seen: Observed, alphas: Array, gradient: bool = True
    ) -> tuple[Array, Array, Array]:
        """f, df/dλ and the least 1 − h for many α, (L,) each: r and h are sums over directions."""
        e, many, (n, targets) = self.e[:, None], alphas.size, seen.y.shape
        kept = alphas / (e + alphas)  # of y in each direction, by which it is shrunk
        change = kept * (1.0 - kept) if self.wide else kept / (e + alphas)
        null = alphas / (self.raised + alphas) if self.wide else np.zeros(many)
        f, slope_of_f, least = np.zeros(many), np.zeros(many), np.ones(many)
        shape = (-1, targets) if targets > 1 else (-1,)
        height = max(1, int(BLOCK_ENTRIES / (4 * many * targets + e.size)))
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            y, weights = seen.y[some], seen.weights[some]
            Z = self.Z[some]
            squares = Z * Z
            residual, gap = self._left_out(seen, alphas, some, Z, squares)
            least = np.minimum(least, gap.min(axis=0))
            error = residual / gap[:, None, :]
            predicted = (y[:, :, None] - error).transpose(0, 2, 1)
            at = seen.outer.at(np.repeat(y, many, axis=0).reshape(shape), predicted.reshape(shape))
            f += weights @ at.value.reshape(-1, many)
            if not gradient:
                continue
            # slope is ∂loss/∂prediction, and the prediction is y − e
            slope = at.slope.reshape(predicted.shape).transpose(0, 2, 1)
            u = -weights[:, None, None] * slope / gap[:, None, :]
            v = np.sum(u * error, axis=1)
            if self.wide:
                u = u / np.sqrt(weights)[:, None, None]
            moved = (Z.T @ u.reshape(len(Z), -1)).reshape(-1, targets, many)
            slope_of_f += np.sum(moved * change[:, None, :] * self.c[:, :, None], axis=(0, 1))
            slope_of_f -= self._leverage_slope(seen, v, change, null, some, squares)
        return f, slope_of_f, least

    def _leverage_slope(
        self, seen: Observed, v: Array, change: Array, null: Array, some: slice, squares: Array
    ) -> Array:
        """Σᵢ vᵢ dhᵢ/dλ up to its sign, v = ∂f/∂h of some rows, (m, L)."""
        moved = null * (1.0 - null)
        if seen.gcv:  # each row moves as their mean does
            size = 1.0 if self.wide else self.e[:, None]
            mean = (np.sum(size * change, axis=0) - moved * seen.share.sum()) / len(self.Z)
            return np.asarray(v.sum(axis=0) * mean)
        weighted = v if self.wide else seen.weights[some, None] * v
        by_rows = np.sum((squares.T @ weighted) * change, axis=0)
        return np.asarray(by_rows - (seen.share[some] @ v) * moved)
