"""Pointwise losses: loss(yᵢ, zᵢ) for all rows at once, with what its first two derivatives need.

`loss.at(y, z)` returns an object that has, for z of shape (n,) or (n, K):

    value      loss(yᵢ, zᵢ)                          (n,)
    slope      ∂loss/∂z                              like z
    curve(v)   ∂²loss/∂z² · v, row by row            like z
    ceiling    the largest eigenvalue of ∂²loss/∂z²  (n,), or a bound on it

and the loss itself has, for the certificate,

    self_concordance   c with |d/dt log ∂²loss| ≤ c‖dz/dt‖ along any line; 0 for a quadratic
    lipschitz          a bound on ‖slope‖, or None
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from hoag.values import Array


class LossAt(Protocol):
    @property
    def value(self) -> Array: ...
    @property
    def slope(self) -> Array: ...
    @property
    def ceiling(self) -> Array: ...
    def curve(self, v: Array) -> Array: ...


class Loss(Protocol):
    @property
    def self_concordance(self) -> float: ...
    @property
    def lipschitz(self) -> float | None: ...
    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt: ...


class Logistic:
    """ψ(m) = log(1 + e^(−m)) at the margin m = y z, with y = ±1."""

    self_concordance = 1.0
    lipschitz = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _LogisticAt(y, z)


class _LogisticAt:
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self.y, self.margin = y, y * z

    @cached_property
    def value(self) -> Array:
        return np.logaddexp(0.0, -self.margin)

    @cached_property
    def _wrong(self) -> Array:
        return np.asarray(expit(-self.margin))  # the probability given to the other class

    @cached_property
    def slope(self) -> Array:
        return -self.y * self._wrong

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self._wrong * expit(self.margin))

    def curve(self, v: Array) -> Array:
        return self.ceiling * v


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
    def _log_p(self) -> Array:
        return np.asarray(self.z - logsumexp(self.z, axis=1, keepdims=True))

    @cached_property
    def _p(self) -> Array:
        return np.exp(self._log_p)

    @cached_property
    def value(self) -> Array:
        return np.asarray(-self._log_p[self._rows, self.y])

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
