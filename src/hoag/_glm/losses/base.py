"""Losses: loss(yᵢ, zᵢ) for all rows at once, with what its first three derivatives need.

`loss.at(y, z)` returns an object that has, for z of shape (n,) or (n, K):

    value                 loss(yᵢ, zᵢ)                          (n,)
    slope                 ∂loss/∂z                              like z
    hvp(v)                ∂²loss/∂z² · v, row by row            like z
    quadratic_forms(V)    vᵀ ∂²loss/∂z² v for the columns v      (n, columns of V)
    gram(Z, s)            Σᵢ sᵢ Zᵢᵀ ∂²lossᵢ/∂z² Zᵢ              (m, m) for Z, (n·K, m)
    third(u, v)           d/dt ∂²loss/∂z²(z + tu) · v           like z
    curvature_bound       the largest eigenvalue of ∂²loss/∂z²  (n,), or a bound on it

A loss that only judges held-out rows (Brier, Huber) need not be convex, and has no more than
value, slope, hvp and curvature_bound, which is a bound on the norm of ∂²loss/∂z² that holds
everywhere: that is what a self_concordance of 0 says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hoag._core.deprecated import deprecated
from hoag._core.numeric import ROUNDOFF, Array


class OuterLossAt(Protocol):
    @property
    def value(self) -> Array: ...
    @property
    def slope(self) -> Array: ...
    @property
    def curvature_bound(self) -> Array: ...
    def hvp(self, v: Array) -> Array: ...


class LossAt(OuterLossAt, Protocol):
    def third(self, u: Array, v: Array) -> Array: ...
    def quadratic_forms(self, V: Array) -> Array: ...
    def gram(self, Z: Array, s: Array) -> Array: ...


class OuterLoss(Protocol):
    """What may judge held-out rows."""

    @property
    def self_concordance(self) -> float: ...
    @property
    def lipschitz(self) -> float | None: ...
    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt: ...


class Loss(ABC):
    """What may fit a model, and judge it.

    self_concordance   c with |d/dt log ∂²loss| ≤ c‖dz/dt‖ along any line; ∞ where none is known:
                       there is no rigorous bound then
    constant_hessian   whether ∂²loss/∂z² is the same at all y and z, as for squares: it is formed
                       once for all x and λ
    lipschitz          a bound on ‖slope‖, or None
    convex             whether ∂²loss/∂z² is never negative
    dispersion         1 where it is −log of a likelihood without a scale of its own, as for
                       classes and counts; None where the scale is estimated, as for squares
    takes              which y it is for, in words
    """

    takes: ClassVar[str] = "numbers"

    self_concordance: float = float("inf")
    constant_hessian: bool = False
    lipschitz: float | None = None
    convex: bool = True
    dispersion: float | None = None
    # Of |curvature| wherever y and z are, for a loss that only judges; None: as it is.
    bound: float | None = None

    def accepts(self, y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which y it is for."""
        return np.ones(len(y), dtype=bool)

    @abstractmethod
    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt: ...

    def offset(self, y: npt.NDArray[Any]) -> Any:
        """What is added to z beside A x."""
        return 0.0

    @property
    def softer(self) -> Loss | None:
        """The same loss, some times as wide where it is curved; its minima lead to those of this.

        Solvers go by it where Newton's steps from where they began lead nowhere; None: no need.
        """
        return None


@deprecated(attributes={"jerk": "third_derivative"})
class ScalarLoss(Loss):
    """A loss of one number z, by its value and first two derivatives; all else follows.

    Derive from it for a loss of one's own: three formulas, elementwise in y and z, and the
    constants below, where they are known. Of several outputs, y and z of shape (n, K), it is the
    sum.

    Attributes
    ----------
    self_concordance : float
        c with |d/dt log ∂²loss| ≤ c‖dz/dt‖ along any line; ∞ where none is known: there is no
        rigorous bound then.
    lipschitz : float or None
        A bound on |slope|.
    constant_hessian : bool
        Whether ∂²loss/∂z² is the same at all y and z, as for squares.
    convex : bool
        Whether ∂²loss/∂z² is never negative.
    dispersion : float or None
        1 where it is −log of a likelihood without a scale of its own; None where the scale is
        estimated, as for squares.

    Examples
    --------
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

    @abstractmethod
    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        """loss(y, z), elementwise."""

    @abstractmethod
    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        """∂loss/∂z, elementwise."""

    @abstractmethod
    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        """∂²loss/∂z², elementwise."""

    def third_derivative(self, y: npt.NDArray[Any], z: Array) -> Array:
        """Where there is no formula, by differences of the second."""
        h = ROUNDOFF ** (1 / 3) * np.maximum(1.0, np.abs(z))
        return np.asarray((self.curvature(y, z + h) - self.curvature(y, z - h)) / (2 * h))

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        """The loss at y and z, each derivative computed once."""
        return ScalarAt(self, y, z)


def softened(loss: OuterLoss) -> Loss | None:
    """The softer loss that leads to this one, where there is one."""
    return loss.softer if isinstance(loss, Loss) else None


def one_loss(loss: OuterLoss, outer: OuterLoss) -> bool:
    """Whether rows are fitted and judged by the same."""
    return type(loss) is type(outer) and vars(loss) == vars(outer)


class ScalarAt:
    """A loss of one number at y and z; or of several outputs, the sum of which it is.

    `each`, `slope`, `curvature` and `third_derivative` are like z, each computed once: by the
    formulas of a `ScalarLoss`, or by a subclass that has something better.
    """

    def __init__(self, loss: Any, y: npt.NDArray[Any], z: Array) -> None:
        self._loss, self._y, self._z = loss, y, z

    @cached_property
    def each(self) -> Array:
        return np.asarray(self._loss.value(self._y, self._z))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self._loss.slope(self._y, self._z))

    @cached_property
    def curvature(self) -> Array:
        return np.asarray(self._loss.curvature(self._y, self._z))

    @cached_property
    def third_derivative(self) -> Array:
        return np.asarray(self._loss.third_derivative(self._y, self._z))

    @cached_property
    def value(self) -> Array:
        return np.asarray(self.each if self.each.ndim == 1 else self.each.sum(axis=1))

    @property
    def curvature_bound(self) -> Array:
        if self._loss.bound is not None:
            return np.full(len(self._y), self._loss.bound)
        return np.asarray(
            self.curvature if self.curvature.ndim == 1 else self.curvature.max(axis=1)
        )

    def hvp(self, v: Array) -> Array:
        return np.asarray(self.curvature * v)

    def third(self, u: Array, v: Array) -> Array:
        return np.asarray(self.third_derivative * u * v)

    def quadratic_forms(self, V: Array) -> Array:
        return np.asarray(self.curvature.reshape(-1, len(V)) @ V**2)

    def gram(self, Z: Array, s: Array) -> Array:
        d = (self.curvature.T * s).T.ravel()
        return np.asarray(Z.T @ (d[:, None] * Z))
