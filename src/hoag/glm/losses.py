"""Pointwise losses: loss(yᵢ, zᵢ) for all rows at once, with what its first two derivatives need.

`loss.at(y, z)` returns an object that has, for z of shape (n,) or (n, K):

    value      loss(yᵢ, zᵢ)                          (n,)
    slope      ∂loss/∂z                              like z
    curve(v)   ∂²loss/∂z² · v, row by row            like z
    forms(V)   vᵀ ∂²loss/∂z² v for the columns v      (n, columns of V)
    gram(Z, s) Σᵢ sᵢ Zᵢᵀ ∂²lossᵢ/∂z² Zᵢ              (m, m), Z of shape (n·K, m), Zᵢ its K rows
    third(u, v)  d/dt ∂²loss/∂z²(z + tu) · v         like z
    ceiling    the largest eigenvalue of ∂²loss/∂z²  (n,), or a bound on it

and the loss itself has, for the certificate,

    self_concordance   c with |d/dt log ∂²loss| ≤ c‖dz/dt‖ along any line; 0 for a quadratic, ∞
                       where none is known: there is no rigorous bound then
    lipschitz          a bound on ‖slope‖, or None

A loss that only judges held-out rows (Brier, Huber) may bend either way, and has no more than
value, slope, curve and ceiling; its ceiling is a bound on the norm of ∂²loss/∂z² that holds
everywhere, which is what a self_concordance of 0 says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from hoag.values import ROUNDOFF, Array


class OuterLossAt(Protocol):
    @property
    def value(self) -> Array: ...
    @property
    def slope(self) -> Array: ...
    @property
    def ceiling(self) -> Array: ...
    def curve(self, v: Array) -> Array: ...


class LossAt(OuterLossAt, Protocol):
    def third(self, u: Array, v: Array) -> Array: ...
    def forms(self, V: Array) -> Array: ...
    def gram(self, Z: Array, s: Array) -> Array: ...


class OuterLoss(Protocol):
    """What may judge held-out rows."""

    @property
    def self_concordance(self) -> float: ...
    @property
    def lipschitz(self) -> float | None: ...
    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt: ...


class Loss(OuterLoss, Protocol):
    """What may fit a model."""

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt: ...


class ScalarLoss(ABC):
    """A loss of one number z, by its value and first two derivatives; all else follows.

    This is what to derive from for a loss of one's own: three formulas, elementwise in y and z,
    and the two constants of the certificate. `curvature` must not be negative in a loss that fits.

    >>> import hoag
    >>> import numpy as np
    >>> class Cosh(hoag.glm.ScalarLoss):  # squares near 0, absolute values far away
    ...     def value(self, y, z):
    ...         return np.logaddexp(z - y, y - z) - np.log(2)
    ...     def slope(self, y, z):
    ...         return np.tanh(z - y)
    ...     def curvature(self, y, z):
    ...         return 1 / np.cosh(z - y) ** 2
    >>> A, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) / 10
    >>> folds = hoag.models.folds(hoag.models.linear, A, y, loss=Cosh(), cv=3, intercept=True)
    >>> hoag.minimize(folds).converged
    True
    """

    self_concordance: float = float("inf")  # not known: no rigorous bound
    lipschitz: float | None = None

    @abstractmethod
    def value(self, y: npt.NDArray[Any], z: Array) -> Array: ...
    @abstractmethod
    def slope(self, y: npt.NDArray[Any], z: Array) -> Array: ...
    @abstractmethod
    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array: ...

    def jerk(self, y: npt.NDArray[Any], z: Array) -> Array:
        """The third derivative; where there is no formula, by differences of the second."""
        h = ROUNDOFF ** (1 / 3) * np.maximum(1.0, np.abs(z))
        return np.asarray((self.curvature(y, z + h) - self.curvature(y, z - h)) / (2 * h))

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _ScalarAt(self, y, z)


class _DiagonalAt:
    """What a loss of one number z has when `ceiling` is its curvature, `jerk` its derivative."""

    ceiling: Any
    jerk: Any

    def third(self, u: Array, v: Array) -> Array:
        return np.asarray(self.jerk * u * v)

    def curve(self, v: Array) -> Array:
        return np.asarray(self.ceiling * v)

    def forms(self, V: Array) -> Array:
        return np.asarray(self.ceiling[:, None] * V[0] ** 2)

    def gram(self, Z: Array, s: Array) -> Array:
        return np.asarray(Z.T @ ((s * self.ceiling)[:, None] * Z))


class _ScalarAt(_DiagonalAt):
    def __init__(self, loss: ScalarLoss, y: npt.NDArray[Any], z: Array) -> None:
        self._loss, self._y, self._z = loss, y, z

    @cached_property
    def value(self) -> Array:
        return self._loss.value(self._y, self._z)

    @cached_property
    def slope(self) -> Array:
        return self._loss.slope(self._y, self._z)

    @cached_property
    def ceiling(self) -> Array:
        return self._loss.curvature(self._y, self._z)

    @cached_property
    def jerk(self) -> Array:
        return self._loss.jerk(self._y, self._z)


class Logistic:
    """ψ(m) = log(1 + e^(−m)) at the margin m = y z, with y = ±1."""

    self_concordance = 1.0
    lipschitz = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _LogisticAt(y, z)


class _LogisticAt(_DiagonalAt):
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self.y, self.margin = y, y * z

    @cached_property
    def _odds(self) -> Array:
        """e^(−|m|), from which all else follows without overflow or cancellation."""
        return np.exp(-np.abs(self.margin))

    @cached_property
    def value(self) -> Array:
        return np.log1p(self._odds) - np.minimum(self.margin, 0.0)

    @cached_property
    def _wrong(self) -> Array:
        """The probability given to the other class."""
        return np.where(self.margin > 0, self._odds, 1.0) / (1.0 + self._odds)

    @cached_property
    def slope(self) -> Array:
        return -self.y * self._wrong

    @cached_property
    def ceiling(self) -> Array:
        return self._odds / (1.0 + self._odds) ** 2

    @cached_property
    def jerk(self) -> Array:
        return np.asarray(self.y * self.ceiling * (2.0 * self._wrong - 1.0))


class Multinomial:
    """ψ(y, z) = log Σ_c e^(z_c) − z_y, with y the number of the class."""

    # |d/dt log vᵀ∇²ψv| ≤ max_c u_c − min_c u_c ≤ √2‖u‖ along z + tu; both are attained.
    self_concordance = float(np.sqrt(2.0))
    lipschitz = float(np.sqrt(2.0))

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
    def _total(self) -> Array:
        return np.asarray(self._exp @ np.ones(self._exp.shape[1]))  # faster than a sum

    @cached_property
    def _p(self) -> Array:
        return np.asarray(self._exp / self._total[:, None])

    @cached_property
    def value(self) -> Array:
        return np.asarray(np.log(self._total) - self._shifted[self._rows, self.y])

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
    def ceiling(self) -> Array:
        # diag(p) − ppᵀ has norm at most ½ and at most its trace Σ p(1 − p), where 1 − p of the
        # likeliest class is the sum of the others: a confident row keeps its tiny curvature.
        rest = self._p.copy()
        np.put_along_axis(rest, self._top, 0.0, axis=1)
        top = np.take_along_axis(self._p, self._top, axis=1)[:, 0]
        trace = top * rest.sum(axis=1) + np.sum(rest * (1.0 - rest), axis=1)
        return np.asarray(np.minimum(0.5, trace))

    def curve(self, v: Array) -> Array:
        # (diag(p) − ppᵀ) ignores a common shift of v; the likeliest class is moved to 0, so that
        # p·v is a sum of small terms and nothing cancels.
        v = v - np.take_along_axis(v, self._top, axis=1)
        pv = self._p * v
        return np.asarray(pv - self._p * pv.sum(axis=1, keepdims=True))

    def third(self, u: Array, v: Array) -> Array:
        dp = self.curve(u)
        pv, dpv = (np.sum(part * v, axis=1, keepdims=True) for part in (self._p, dp))
        return np.asarray(dp * (v - pv) - self._p * dpv)

    def forms(self, V: Array) -> Array:
        return np.asarray(self._p @ V**2 - (self._p @ V) ** 2)

    def gram(self, Z: Array, s: Array) -> Array:
        n, K = self._p.shape
        spZ = (s[:, None] * self._p).ravel()[:, None] * Z
        mean = (spZ.T.reshape(-1, K) @ np.ones(K)).reshape(-1, n)  # s Σ_k p_k Z_k, (m, n)
        return np.asarray(Z.T @ spZ - (mean / np.where(s > 0, s, 1.0)) @ mean.T)


class Squared:
    """scale · Σ over outputs of (y − z)²; ½ in h, as in scikit-learn's Ridge, and 1 in g."""

    self_concordance = 0.0
    lipschitz = None

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _SquaredAt(y, z, self.scale)


class _SquaredAt:
    def __init__(self, y: npt.NDArray[Any], z: Array, scale: float) -> None:
        self.residual, self.scale = z - y, scale

    @cached_property
    def value(self) -> Array:
        squares = self.scale * self.residual**2
        return squares if squares.ndim == 1 else np.asarray(squares.sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2 * self.scale * self.residual)

    @cached_property
    def ceiling(self) -> Array:
        return np.full(len(self.residual), 2 * self.scale)

    def curve(self, v: Array) -> Array:
        return 2 * self.scale * v

    def third(self, u: Array, v: Array) -> Array:
        return np.zeros_like(v)

    def forms(self, V: Array) -> Array:
        return np.tile(2 * self.scale * np.sum(V**2, axis=0), (len(self.residual), 1))

    def gram(self, Z: Array, s: Array) -> Array:
        each = np.repeat(s, Z.shape[0] // s.size)
        return np.asarray(2 * self.scale * (Z.T @ (each[:, None] * Z)))


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
        self._d = self._p.copy()
        self._d[np.arange(len(y)), y] -= 1.0

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


class Huber:
    """Σ over outputs of r² up to |r| = δ and 2δ|r| − δ² beyond, r = z − y: few outliers decide."""

    self_concordance = 0.0
    lipschitz = None

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt:
        return _HuberAt(y, z, self.delta)


class _HuberAt:
    def __init__(self, y: npt.NDArray[Any], z: Array, delta: float) -> None:
        self._residual, self._delta = z - y, delta

    @cached_property
    def value(self) -> Array:
        size = np.abs(self._residual)
        inner = np.minimum(size, self._delta)
        losses = inner * (2 * size - inner)
        return losses if losses.ndim == 1 else np.asarray(losses.sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2.0 * np.clip(self._residual, -self._delta, self._delta))

    @cached_property
    def ceiling(self) -> Array:
        return np.full(len(self._residual), 2.0)

    def curve(self, v: Array) -> Array:
        return np.where(np.abs(self._residual) < self._delta, 2.0 * v, 0.0)
