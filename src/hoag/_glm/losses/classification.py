"""Losses of classes: logistic, multinomial, and the squared errors of their probabilities."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import Loss, LossAt, OuterLossAt, ScalarAt


class Logistic(Loss):
    """ψ(m) = log(1 + e^(−m)) at the margin m = y z, with y = ±1."""

    self_concordance = 1.0
    lipschitz = 1.0
    dispersion = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _LogisticAt(self, y, z)


class _LogisticAt(ScalarAt):
    @cached_property
    def margin(self) -> Array:
        return np.asarray(self._y * self._z)

    @cached_property
    def _odds(self) -> Array:
        """e^(−|m|), from which all else follows without overflow or cancellation."""
        return np.exp(-np.abs(self.margin))

    @cached_property
    def each(self) -> Array:
        return np.log1p(self._odds) - np.minimum(self.margin, 0.0)

    @cached_property
    def _wrong(self) -> Array:
        """The probability given to the other class."""
        return np.where(self.margin > 0, self._odds, 1.0) / (1.0 + self._odds)

    @cached_property
    def slope(self) -> Array:
        return -self._y * self._wrong

    @cached_property
    def curvature(self) -> Array:
        return self._odds / (1.0 + self._odds) ** 2

    @cached_property
    def third_derivative(self) -> Array:
        return np.asarray(self._y * self.curvature * (2.0 * self._wrong - 1.0))


class Multinomial(Loss):
    """ψ(y, z) = log Σ_c e^(z_c) − z_y, with y the number of the class."""

    # |d/dt log vᵀ∇²ψv| ≤ max_c u_c − min_c u_c ≤ √2‖u‖ along z + tu; both are attained.
    self_concordance = float(np.sqrt(2.0))
    lipschitz = float(np.sqrt(2.0))
    dispersion = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _MultinomialAt(y, z)


class _MultinomialAt:
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self.y, self.z = y, z
        self._rows = np.arange(len(y))

    @cached_property
    def _shifted(self) -> Array:
        return np.asarray(self.z - self.z.max(axis=1, keepdims=True))

    @cached_property
    def _exp(self) -> Array:
        return np.exp(self._shifted)

    @cached_property
    def _others(self) -> Array:
        """Σ e^(z_c − z_top) without the likeliest class, for which that is 1."""
        rest = self._exp.copy()
        np.put_along_axis(rest, self._top, 0.0, axis=1)
        return np.asarray(rest @ np.ones(rest.shape[1]))  # faster than a sum

    @cached_property
    def _p(self) -> Array:
        return np.asarray(self._exp / (1.0 + self._others[:, None]))

    @cached_property
    def value(self) -> Array:
        # log1p: where a row is all but certain its loss is tiny, and has all its digits.
        return np.asarray(np.log1p(self._others) - self._shifted[self._rows, self.y])

    @cached_property
    def slope(self) -> Array:
        slope = self._p.copy()
        slope[self._rows, self.y] = 0.0
        slope[self._rows, self.y] = -slope.sum(axis=1)  # p_y − 1, without the cancellation
        return slope

    @cached_property
    def _top(self) -> npt.NDArray[np.intp]:
        return np.asarray(np.argmax(self.z, axis=1)[:, None])

    @cached_property
    def curvature_bound(self) -> Array:
        # diag(p) − ppᵀ has norm at most ½ and at most its trace Σ p(1 − p), where 1 − p of the
        # likeliest class is the sum of the others: a confident row keeps its tiny curvature.
        rest = self._p.copy()
        np.put_along_axis(rest, self._top, 0.0, axis=1)
        top = np.take_along_axis(self._p, self._top, axis=1)[:, 0]
        trace = top * rest.sum(axis=1) + np.sum(rest * (1.0 - rest), axis=1)
        return np.asarray(np.minimum(0.5, trace))

    def hvp(self, v: Array) -> Array:
        # (diag(p) − ppᵀ) ignores a common shift of v; the likeliest class is moved to 0, so that
        # p·v is a sum of small terms and nothing cancels.
        v = v - np.take_along_axis(v, self._top, axis=1)
        pv = self._p * v
        return np.asarray(pv - self._p * pv.sum(axis=1, keepdims=True))

    def third(self, u: Array, v: Array) -> Array:
        dp = self.hvp(u)
        pv, dpv = (np.sum(part * v, axis=1, keepdims=True) for part in (self._p, dp))
        return np.asarray(dp * (v - pv) - self._p * dpv)

    def quadratic_forms(self, V: Array) -> Array:
        return np.asarray(self._p @ V**2 - (self._p @ V) ** 2)

    def gram(self, Z: Array, s: Array) -> Array:
        n, K = self._p.shape
        spZ = (s[:, None] * self._p).ravel()[:, None] * Z
        mean = (spZ.T.reshape(-1, K) @ np.ones(K)).reshape(-1, n)  # s Σ_k p_k Z_k, (m, n)
        return np.asarray(Z.T @ spZ - (mean / np.where(s > 0, s, 1.0)) @ mean.T)


class Brier:
    """(1 − P(y))² for two classes, y = ±1, for judging alone.

    With ψ the loss that fits, that is ‖ψ′‖², for ψ′ = P − [y]:

        value = ‖ψ′‖²,   slope = 2ψ″ψ′,   hvp(v) = 2(ψ‴[v]ψ′ + ψ″ψ″v)
    """

    self_concordance = 0.0
    lipschitz = 8.0 / 27.0  # 2w²(1 − w) of the probability w of the other class, largest at w = ⅔
    # |w²(1 − w)(4 − 6w)| is at most 0.1541, near w = 0.39.
    bound = 0.1542
    fits: Loss = Logistic()

    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt:
        return _BrierAt(self.fits.at(y, z), self.bound)


class MultinomialBrier(Brier):
    """Σ_c (P(c) − [c = y])², with y the number of the class; twice `Brier` for two classes."""

    lipschitz = float(np.sqrt(2.0))  # 2‖J‖‖d‖ with J = diag(p) − ppᵀ of norm ≤ ½ and ‖d‖ ≤ √2
    # 2‖JJ‖ + 2‖Σ d_c ∇²p_c‖ ≤ ½ + 2(0.72 + 0.5), by ∇²p_c = p_c((e_c − p)(e_c − p)ᵀ − J).
    bound = 3.0
    fits = Multinomial()


class _BrierAt:
    def __init__(self, at: LossAt, bound: float) -> None:
        self._at, self._bound = at, bound

    @cached_property
    def value(self) -> Array:
        squares = self._at.slope**2
        return squares if squares.ndim == 1 else np.asarray(squares.sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2.0 * self._at.hvp(self._at.slope))

    @property
    def curvature_bound(self) -> Array:
        return np.full(len(self._at.slope), self._bound)

    def hvp(self, v: Array) -> Array:
        at = self._at
        return np.asarray(2.0 * (at.third(v, at.slope) + at.hvp(at.hvp(v))))
