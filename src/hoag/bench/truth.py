"""f(λ) solved tightly, outside every count: what suboptimality is measured with."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from hoag import inner, linear
from hoag.criteria.implicit import Implicit
from hoag.values import Array, Box

# g − q·∇₁h is second order in this, so that f is right to about 1e-8, relatively.
TIGHT = 1e-3
# Slopes are first order in it.
TIGHTER = 1e-10


class Truth(Protocol):
    def f(self, lams: Array) -> Array:
        """f at each row of an array (m, s)."""
        ...


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
        self._knots: dict[float, tuple[float, float]] = {}

    def f(self, lams: Array) -> Array:
        return np.asarray(self._spline()(lams[:, 0]))

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
        return bool(self._knots)

    def restore(self, knots: Array) -> None:
        """Rows of `knots()`, solved earlier."""
        self._knots = {float(lam): (float(f), float(slope)) for lam, f, slope in knots}

    def knots(self) -> Array:
        """(λ, f, f′) as rows."""
        self._spline()
        return np.array([[lam, *self._knots[lam]] for lam in sorted(self._knots)])

    def _spline(self) -> CubicHermiteSpline:
        if not self._knots:
            self._make()
        lam, f, slope = np.array([[k, *v] for k, v in sorted(self._knots.items())]).T
        return CubicHermiteSpline(lam, f, slope)

    def _make(self) -> None:
        low, high = float(self._domain.lower[0]), float(self._domain.upper[0])
        places = np.linspace(high, low, round((high - low) / self.SPACING) + 1)
        warm = self._solve(places, None)
        wanted = self._halved(set(places))
        while wanted and len(self._knots) < self.MOST_KNOTS:
            before = self._spline()
            warm = self._solve(np.array(sorted(wanted)), warm)
            off = {m for m in wanted if abs(before(m) - self._knots[m][0]) > self._allowed(m)}
            wanted = self._halved(off)

    def _solve(self, places: Array, warm: Any) -> Any:
        for place in places:
            found = self._criterion.evaluate(np.array([place]), TIGHT, warm)
            self._knots[float(place)] = (found.value, float(found.grad[0]))
            warm = found.warm
        return warm

    def _allowed(self, place: float) -> float:
        """`ERROR` of f at the minimum, and a thousandth of the way down from elsewhere."""
        least = min(f for f, _ in self._knots.values())
        return max(self.ERROR * least, 1e-3 * (self._knots[place][0] - least))

    def _halved(self, beside: set[float]) -> set[float]:
        """The middles of the intervals that touch `beside`."""
        lam = sorted(self._knots)
        pairs = [(a, b) for a, b in pairwise(lam) if a in beside or b in beside]
        return {(a + b) / 2 for a, b in pairs}


class Solved:
    """f of few hyperparameters by a factorisation at every λ."""

    def __init__(self, problem: Any) -> None:
        direct = linear.Cholesky()
        self._criterion = Implicit(problem, inner.Newton(direct), direct, certificate=False)

    def f(self, lams: Array) -> Array:
        return np.array([self._criterion.value(lam, 1e-9).value for lam in lams])
