"""As somebody writes who adds a loss, a search or a criterion."""

from typing import Any

import numpy as np
import numpy.typing as npt

import hoag
from hoag.criteria import Ask, Criterion, Evaluation

Array = npt.NDArray[np.float64]


class Cosh(hoag.glm.ScalarLoss):
    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(np.logaddexp(z - y, y - z) - np.log(2))

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(np.tanh(z - y))

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(1 / np.cosh(z - y) ** 2)


class Bowl(Criterion):
    @property
    def lam0(self) -> Array:
        return np.zeros(1)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        return Evaluation(lam, float(1 + (lam[0] - 2) ** 2), 2 * (lam - 2))


class Halfspace(hoag.domains.Domain):
    def project(self, lam: Array) -> Array:
        return np.asarray(lam - max(float(np.mean(lam)), 0.0))


A, y = np.eye(3), np.arange(3.0)
problem = hoag.models.linear(Cosh(), A, y, A, y)
print(hoag.minimize(problem).lam, hoag.minimize(Bowl(), bounds=Halfspace()).converged)
