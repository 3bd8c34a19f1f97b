"""Losses of positive means: μ = exp(z), and half or all of the deviance of y from μ.

With the unit deviance d(y, μ) of a family, 0 where μ = y,

    loss(y, z) = scale · d(y, exp(z))      ½ in h, as in scikit-learn's regressors, and 1 in g

so that what is reported of held-out rows is their mean deviance. Scaling y scales the loss:

    loss(cy, z + log c) = c^(2 − power) loss(y, z)

With a = power − 1 and b = 2 − power all derivatives are those of μᵇ and yμ⁻ᵃ,

    loss′ = 2 scale (μᵇ − yμ⁻ᵃ),  loss″ = 2 scale (bμᵇ + ayμ⁻ᵃ),  loss‴ = 2 scale (b²μᵇ − a²yμ⁻ᵃ)

An offset is a constant added to z, and exposure e is the offset log e.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._glm.losses.base import Loss, LossAt, ScalarAt

# Means beyond e^±300 times that of y, about, are all the same; their squares are still numbers.
LARGEST_LOG = float(np.floor(0.425 * np.log(np.finfo(float).max)))


class LogLink(Loss):
    """A family of deviances with μ = exp(z)."""

    power: float  # of the variance, φ μ^power
    self_concordance = 1.0  # |loss‴| ≤ loss″, for all of them that are convex
    takes: ClassVar[str] = "positive numbers"  # which y the family is for, in words

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale

    @abstractmethod
    def half_deviance(self, y: Array, z: Array, rising: Any, falling: Any) -> Array:
        """½d(y, exp(z)), given μᵇ and yμ⁻ᵃ."""

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _DevianceAt(self, y, np.clip(z, -LARGEST_LOG, LARGEST_LOG))

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        """Which y it takes."""
        return np.asarray(y > 0)

    def mean(self, z: Array) -> Array:
        """What z predicts of y."""
        with np.errstate(over="ignore", under="ignore"):
            mu = np.exp(z)
        lost = int(np.sum((mu == 0) | np.isinf(mu)))
        if lost:
            warnings.warn(
                f"{lost} of {np.size(mu)} predictions exp(z) are no number of double precision, "
                f"and 0 or inf: z goes from {np.min(z):.4g} to {np.max(z):.4g}, for numbers from "
                "-745 to 709. Such rows are too far from those that were fitted.",
                RuntimeWarning,
                stacklevel=4,
            )
        return np.asarray(mu)


class _DevianceAt(ScalarAt):
    """At y and z; either power of μ is computed once."""

    def __init__(self, loss: LogLink, y: npt.NDArray[Any], z: Array) -> None:
        super().__init__(loss, y, z)
        self._a, self._b, self._twice = loss.power - 1.0, 2.0 - loss.power, 2.0 * loss.scale

    @cached_property
    def _rising(self) -> Any:
        """μᵇ."""
        return np.exp(self._b * self._z) if self._b else 1.0

    @cached_property
    def _falling(self) -> Any:
        """yμ⁻ᵃ."""
        return self._y * np.exp(-self._a * self._z) if self._a else self._y

    @cached_property
    def each(self) -> Array:
        parts = self._rising, self._falling
        return np.asarray(self._twice * self._loss.half_deviance(self._y, self._z, *parts))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self._twice * (self._rising - self._falling))

    @cached_property
    def curvature(self) -> Array:
        return np.asarray(self._twice * (self._b * self._rising + self._a * self._falling))

    @cached_property
    def third_derivative(self) -> Array:
        a, b = self._a, self._b
        return np.asarray(self._twice * (b**2 * self._rising - a**2 * self._falling))


class Poisson(LogLink):
    """scale · 2(y log(y/μ) − y + μ) with μ = exp(z), for y ≥ 0.

    dispersion   φ of the variance φμ: 1 for counts that are Poisson's, None where it is estimated
    """

    power = 1.0
    takes = "counts and other numbers that are not negative"

    def __init__(self, scale: float = 0.5, dispersion: float | None = 1.0) -> None:
        super().__init__(scale)
        self.dispersion = dispersion

    def half_deviance(self, y: Array, z: Array, rising: Any, falling: Any) -> Array:
        return np.asarray(xlogy(y, y) - y * (1 + z) + rising)

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y >= 0)


class Gamma(LogLink):
    """scale · 2(y/μ − 1 − log(y/μ)) with μ = exp(z), for y > 0: costs, durations."""

    power = 2.0

    def half_deviance(self, y: Array, z: Array, rising: Any, falling: Any) -> Array:
        return np.asarray(falling - 1 - np.log(y) + z)


class InverseGaussian(LogLink):
    """scale · (y − μ)²/(y μ²) with μ = exp(z), for y > 0: positive numbers with a heavy tail.

    It is concave where μ > 2y: the fit is a local minimum, as scikit-learn's with power=3 is.
    """

    power = 3.0
    self_concordance = float("inf")
    convex = False

    def half_deviance(self, y: Array, z: Array, rising: Any, falling: Any) -> Array:
        return np.asarray(0.5 * y * (rising - 1 / y) ** 2)


class Tweedie(LogLink):
    """The deviance of the family whose variance is φ μ^p, 1 < p < 2, with μ = exp(z), for y ≥ 0:

    scale · 2(y^(2 − p)/((1 − p)(2 − p)) − y μ^(1 − p)/(1 − p) + μ^(2 − p)/(2 − p))

    Such y are sums of a Poisson number of gamma variables, such as claims, zero for most. p = 1 is
    the Poisson deviance, p = 2 the gamma deviance; both have losses of their own.
    """

    takes = "numbers that are not negative"

    def __init__(self, power: float, scale: float = 0.5) -> None:
        super().__init__(scale)
        if not 1 < power < 2:
            raise InvalidParameterError.of("power", power, "it lies between 1 and 2 for this loss.")
        self.power = float(power)

    def half_deviance(self, y: Array, z: Array, rising: Any, falling: Any) -> Array:
        a, b = self.power - 1.0, 2.0 - self.power
        return np.asarray(falling / a + rising / b - np.power(y, b) / (a * b))

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y >= 0)


class Offset(Loss):
    """loss(yᵢ, zᵢ + oᵢ): y is given with its offsets beside it, shape (n, 2)."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.self_concordance, self.lipschitz = loss.self_concordance, loss.lipschitz
        self.convex, self.dispersion = loss.convex, loss.dispersion

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return self.loss.at(y[:, 0], z + y[:, 1])

    def offset(self, y: npt.NDArray[Any]) -> Any:
        return y[:, 1]
