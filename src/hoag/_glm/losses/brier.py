"""Squared errors of probabilities: losses that only judge held-out rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from hoag._core.numeric import Array
from hoag._glm.losses.base import OuterLossAt


class Brier:
    """(1 − P(y))² for two classes: w² with w = σ(−m) at the margin m = y z, with y = ±1."""

    self_concordance = 0.0
    lipschitz = 8.0 / 27.0  # 2w²(1 − w) is largest at w = ⅔

    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt:
        return _BrierAt(y, z)


class _BrierAt:
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self.y, self._wrong = y, np.asarray(expit(-y * z))

    @cached_property
    def value(self) -> Array:
        return self._wrong**2

    @cached_property
    def slope(self) -> Array:
        return np.asarray(-2.0 * self.y * self._wrong**2 * (1.0 - self._wrong))

    @cached_property
    def ceiling(self) -> Array:
        # |w²(1 − w)(4 − 6w)| is at most 0.1541, near w = 0.39.
        return np.full(len(self.y), 0.1542)

    def curve(self, v: Array) -> Array:
        w = self._wrong
        return np.asarray(2.0 * w**2 * (1.0 - w) * (2.0 - 3.0 * w) * v)


class MultinomialBrier:
    """Σ_c (P(c) − [c = y])², with y the number of the class; twice `Brier` for two classes."""

    self_concordance = 0.0
    lipschitz = float(np.sqrt(2.0))  # 2‖J‖‖d‖ with J = diag(p) − ppᵀ of norm ≤ ½ and ‖d‖ ≤ √2

    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt:
        return _MultinomialBrierAt(y, z)


class _MultinomialBrierAt:
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self._p = np.exp(z - logsumexp(z, axis=1, keepdims=True))
        rows = np.arange(len(y))
        self._d = self._p.copy()
        self._d[rows, y] = 0.0
        self._d[rows, y] = -self._d.sum(axis=1)  # p_y − 1, without the cancellation

    @cached_property
    def value(self) -> Array:
        return np.asarray(np.sum(self._d**2, axis=1))

    @cached_property
    def slope(self) -> Array:
        pd = self._p * self._d
        return np.asarray(2.0 * (pd - self._p * pd.sum(axis=1, keepdims=True)))

    @cached_property
    def ceiling(self) -> Array:
        # 2‖JJ‖ + 2‖Σ d_c ∇²p_c‖ ≤ ½ + 2(0.72 + 0.5), by ∇²p_c = p_c((e_c − p)(e_c − p)ᵀ − J).
        return np.full(len(self._p), 3.0)

    def curve(self, v: Array) -> Array:
        p, d = self._p, self._d
        dp = p * (v - np.sum(p * v, axis=1, keepdims=True))
        pd, turn = (np.sum(part, axis=1, keepdims=True) for part in (p * d, dp * d + p * dp))
        return np.asarray(2.0 * (dp * d + p * dp - dp * pd - p * turn))
