"""Losses of positive means: μ = exp(z), and half or all of the deviance of y from μ.

With the unit deviance d(y, μ) of a family, 0 where μ = y,

    loss(y, z) = scale · d(y, exp(z))      ½ in h, as in scikit-learn's regressors, and 1 in g

so that what is reported of held-out rows is their mean deviance. Scaling y scales the loss:

    loss(cy, z + log c) = c^(2 − power) loss(y, z)

An offset is a constant added to z, and exposure e is the offset log e.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import DiagonalAt, LossAt

# Means beyond e^±300 times that of y, about, are all the same; their squares are still numbers.
LARGEST_LOG = float(np.floor(0.425 * np.log(np.finfo(float).max)))


class LogLink(ABC):
    """A family of deviances with μ = exp(z)."""

    power: float  # of the variance, φ μ^power
    self_concordance: float = 1.0  # |loss‴| ≤ loss″, for all of them that are convex
    lipschitz: float | None = None
    convex: bool = True
    dispersion: float | None = None  # φ is estimated, where the family has one
    takes: ClassVar[str]  # which y the family is for, in words

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale

    @abstractmethod
    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt: ...

    @abstractmethod
    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        """Which y it takes."""

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


class LogLinkAt(DiagonalAt):
    """Of y and z; exp(z) and exp(−z) are computed once."""

    def __init__(self, scale: float, y: npt.NDArray[Any], z: Array) -> None:
        self.twice, self.y, self.z = 2.0 * scale, y, np.clip(z, -LARGEST_LOG, LARGEST_LOG)

    @cached_property
    def mu(self) -> Array:
        return np.exp(self.z)

    @cached_property
    def inverse(self) -> Array:
        return np.exp(-self.z)
