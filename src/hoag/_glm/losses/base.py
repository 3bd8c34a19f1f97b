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

and for criteria that count degrees of freedom

    dispersion         1 where it is −log of a likelihood without a scale of its own, as for
                       classes and counts; None where the scale is estimated, as for squares

and, where it may fit a model, `convex`: whether ∂²loss/∂z² is never negative.

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

from hoag._core.numeric import ROUNDOFF, Array


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
    """What may fit a model; `convex` says whether ∂²loss/∂z² is never negative."""

    @property
    def convex(self) -> bool: ...
    @property
    def dispersion(self) -> float | None: ...
    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt: ...


class ScalarLoss(ABC):
    """A loss of one number z, by its value and first two derivatives; all else follows.

    This is what to derive from for a loss of one's own: three formulas, elementwise in y and z,
    and the two constants of the certificate. Where `curvature` may be negative, say convex = False.

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
    convex: bool = True
    dispersion: float | None = None

    @property
    def softer(self) -> ScalarLoss | None:
        """The same loss, some times as wide where it bends; its minima lead to those of this.

        Solvers go by it where Newton's steps from where they began lead nowhere; None: no need.
        """
        return None

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


def softened(loss: OuterLoss) -> ScalarLoss | None:
    """The softer loss that leads to this one, where there is one."""
    return loss.softer if isinstance(loss, ScalarLoss) else None


def one_loss(loss: OuterLoss, outer: OuterLoss) -> bool:
    """Whether rows are fitted and judged by the same."""
    return type(loss) is type(outer) and vars(loss) == vars(outer)


class DiagonalAt:
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


class _ScalarAt(DiagonalAt):
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
