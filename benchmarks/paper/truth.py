"""f(λ) solved tightly, outside every count: what suboptimality is measured with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from hoag import solvers
from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._criteria.implicit import Implicit

# g − q·∇₁h is second order in this, so that f is right to about 1e-8, relatively.
TIGHT = 1e-3
# Slopes are first order in it.
TIGHTER = 1e-10


class Curve:
    """f of one λ by cubic Hermite interpolation of tight values and slopes.

    Knots lie `SPACING` apart over the domain; intervals near the minimum, where the value would be
    seen to be off by more than `ERROR` of f, are halved until it is not.
    """

    SPACING = 0.5
    ERROR = 1e-7
    MOST_KNOTS = 400

    def __init__(self, problem: Any, domain: Box) -> None:
        self._criterion, self._domain = Implicit(problem, certificate=False), domain
        self._knots = np.empty((0, 3))

    def f(self, lams: Array) -> Array:
        """f at each row of an array (m, 1)."""
        return np.asarray(CubicHermiteSpline(*self.knots().T)(lams[:, 0]))

    def slopes(self, lams: Array) -> Array:
        """f′ solved at each λ itself, for a spline's slope is less precise than its value."""
        warm, found = None, []
        for lam in lams:
            evaluation = self._criterion.evaluate(lam, TIGHTER, warm)
            found.append(float(evaluation.grad[0]))
            warm = evaluation.warm
        return np.array(found)

    @property
    def known(self) -> bool:
        return len(self._knots) > 0

    def restore(self, knots: Array) -> None:
        """Rows of `knots()`, solved earlier."""
        self._knots = knots

    def knots(self) -> Array:
        """(λ, f, f′) as rows, in the order of λ."""
        if not self.known:
            self._make()
        return self._knots

    def _make(self) -> None:
        low, high = float(self._domain.lower[0]), float(self._domain.upper[0])
        places = np.linspace(high, low, round((high - low) / self.SPACING) + 1)
        warm = self._solve(places, None)
        off = places
        while off.size and len(self._knots) < self.MOST_KNOTS:
            lam = self._knots[:, 0]
            touched = np.isin(lam, off)
            middles = ((lam[:-1] + lam[1:]) / 2)[touched[:-1] | touched[1:]]
            before = self.f(middles[:, None])
            warm = self._solve(middles, warm)
            f = self._knots[np.isin(self._knots[:, 0], middles), 1]
            least = self._knots[:, 1].min()
            # `ERROR` of f at the minimum, and a thousandth of the way down from elsewhere.
            allowed = np.maximum(self.ERROR * least, 1e-3 * (f - least))
            off = middles[np.abs(before - f) > allowed]

    def _solve(self, places: Array, warm: Any) -> Any:
        """Add knots, each solved from the solution before; the last solution."""
        solved = []
        for place in places:
            found = self._criterion.evaluate(np.array([place]), TIGHT, warm)
            solved.append((place, found.value, found.grad[0]))
            warm = found.warm
        knots = np.concatenate([self._knots, solved])
        self._knots = knots[np.argsort(knots[:, 0])]
        return warm


class Solved:
    """f of few hyperparameters by a factorisation at every λ."""

    def __init__(self, problem: Any) -> None:
        direct = solvers.Cholesky()
        self._criterion = Implicit(problem, solvers.Newton(direct), direct, certificate=False)

    def f(self, lams: Array) -> Array:
        return np.array([self._criterion.value(lam, 1e-9).value for lam in lams])
