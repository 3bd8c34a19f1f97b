"""f of one hyperparameter from bound to bound: where its minima are, before any is descended to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hoag._core.domain import Box
from hoag._core.result import Ask, Evaluation
from hoag.optimize.asks import Asking, Evaluate

# Free values from strong to weak: how many times the least loss is enough to go no further down.
RISEN = 1.5
# Approximations are right to this, and too low where the penalty is weak: the largest λ of those.
DOUBT = 0.02
# An interval is halved while the cubic over it may be wrong by more than this share of the least
# loss, and with that below it; down to this width, and so many times in all.
WHOLE, FINEST, HALVED = 1e-3, 0.05, 200


class Basin(NamedTuple):
    """A minimum as the scan sees it, with f″ and where to start from."""

    lam: float
    value: float
    curvature: float
    start: Evaluation | None


class Scan(NamedTuple):
    """What was seen: minima, the most promising first, and all values, from strong to weak."""

    basins: list[Basin]
    seen: list[Evaluation]
    unknown: str = ""  # why f is not known below the last of these

    @property
    def best(self) -> Basin:
        return self.basins[0]

    def within(self, domain: Box) -> Box:
        """The part of the domain in which f is known."""
        if not self.unknown:
            return domain
        return Box(float(self.seen[-1].lam[0]), float(domain.upper[0]))

    def strongest(self, value: float) -> Evaluation | None:
        """The largest λ at which f seems to be no higher than this."""
        return next((one for one in self.seen if one.value <= value), None)


def scan(
    domain: Box,
    spacing: float,
    ask: Ask,
    together: bool = False,
    start: Evaluation | None = None,
    risen: float = np.inf,
) -> Asking[Scan]:
    """The minima of f from bound to bound.

    Or from the upper bound down to where f has risen to so many times the least.

    For a criterion whose values and slopes cost next to nothing. Wherever p changes from − to +
    between two places there is a minimum, which the cubic through both values and slopes places.
    Where cubics that meet disagree about f″, places are added between. Each of the minima
    that are about as low as the least is evaluated.
    """
    low, high = float(domain.lower[0]), float(domain.upper[0])
    places = np.linspace(high, low, max(int(np.ceil((high - low) / spacing)), 1) + 1)
    values: list[Evaluation] = []
    if together:
        values = yield [Evaluate(np.array([place]), ask) for place in places]
    else:
        for place in places:
            values.append((yield Evaluate(np.array([place]), ask, values[-1] if values else start)))
            least = min(abs(one.value) for one in values)
            if values[-1].value > risen * least and values[-1].grad[0] < 0:
                break
    values, unknown = _known(values)
    if unknown and len(values) > 1:
        values = yield from _edged(values, low, ask)
    values = yield from _refined(values, ask, together)
    basins = sorted(_minima(values), key=lambda basin: basin.value)
    close = [b for b in basins if b.value <= basins[0].value + DOUBT * abs(basins[0].value)]
    if len(close) > 1:
        for k, basin in enumerate(close):
            now = yield Evaluate(np.array([basin.lam]), ask, basin.start)
            close[k] = Basin(basin.lam, now.value, basin.curvature, now)
        basins[: len(close)] = sorted(close, key=lambda basin: basin.value)
    return Scan(basins, values, unknown)


def _known(values: list[Evaluation]) -> tuple[list[Evaluation], str]:
    """Those at which f is known, and why it is not below them."""
    known = [k for k, one in enumerate(values) if np.isfinite(one.value + one.f_error)]
    if not known:
        return values, ""
    last = max(known)
    why = values[last + 1].note if last + 1 < len(values) else ""
    return [values[k] for k in known], why


def _edged(values: list[Evaluation], low: float, ask: Ask) -> Asking[list[Evaluation]]:
    """With places towards the last at which f is known, above the one at which it is not."""
    there = max(low, float(values[-1].lam[0]) - abs(float(values[-2].lam[0] - values[-1].lam[0])))
    while values[-1].lam[0] - there > FINEST:
        half = 0.5 * (float(values[-1].lam[0]) + there)
        found = yield Evaluate(np.array([half]), ask, values[-1])
        if np.isfinite(found.value + found.f_error):
            values = [*values, found]
        else:
            there = half
    return values


def _minima(values: Sequence[Evaluation]) -> list[Basin]:
    """The least of all values, and what lies between slopes − and +; from strong to weak."""
    least = min(values, key=lambda one: one.value)
    found = [Basin(float(least.lam[0]), least.value, np.nan, least)]
    for right, left in pairwise(values):
        if left.grad[0] < 0 < right.grad[0]:
            found.append(_between(left, right))
    return found


def _refined(values: list[Evaluation], ask: Ask, together: bool) -> Asking[list[Evaluation]]:
    """With places added wherever a lower minimum than the least so far may hide between two."""
    left = HALVED
    while left > 0 and len(values) > 2 and np.isfinite(values[0].value):  # or nothing is known
        wanted = _doubtful(values)[:left]
        if not wanted:
            break
        left -= len(wanted)
        halves = [np.array([0.5 * (values[k].lam[0] + values[k + 1].lam[0])]) for k in wanted]
        if together:
            found = yield [Evaluate(lam, ask) for lam in halves]
        else:
            found = []
            for k, lam in zip(wanted, halves, strict=True):
                found.append((yield Evaluate(lam, ask, values[k])))
        values = sorted([*values, *_known(found)[0]], key=lambda one: -float(one.lam[0]))
    return values


def _doubtful(values: Sequence[Evaluation]) -> list[int]:
    """The intervals, by their upper ends, whose cubic may hide what is lower than the least.

    Two cubics that meet differ in f″ by J there. A cubic over h is wrong by h⁴f⁗/384 and J is about
    h²f⁗/6, so that h²J/64 is its error; four times of that is allowed for.
    """
    lam, f, p = (
        np.array([float(x) for x in xs])
        for xs in zip(*((one.lam[0], one.value, one.grad[0]) for one in values), strict=True)
    )
    h = lam[:-1] - lam[1:]
    chord = (f[:-1] - f[1:]) / h
    upper = (4 * p[:-1] + 2 * p[1:] - 6 * chord) / h  # f″ at the upper end of each interval
    lower = (6 * chord - 2 * p[:-1] - 4 * p[1:]) / h
    jump = np.zeros(lam.size)
    jump[1:-1] = np.abs(lower[:-1] - upper[1:])
    error = h**2 * np.maximum(jump[:-1], jump[1:]) / 16
    least = float(np.min(f))
    bottom = np.array([_bottom(*pair) for pair in pairwise(values)])
    worth = WHOLE * abs(least)
    doubtful = (error > worth) & (bottom - error < least - worth) & (h > FINEST)
    return [int(k) for k in np.flatnonzero(doubtful)]


def _bottom(right: Evaluation, left: Evaluation) -> float:
    """The least of the cubic between two places."""
    ends = min(left.value, right.value)
    if left.grad[0] < 0 < right.grad[0]:
        return min(ends, _between(left, right).value)
    return ends


def _between(left: Evaluation, right: Evaluation) -> Basin:
    """The minimum of the cubic with the values and slopes of both, slopes − and +."""
    a, h = float(left.lam[0]), float(right.lam[0] - left.lam[0])
    rise, p, q = right.value - left.value, h * float(left.grad[0]), h * float(right.grad[0])
    c, d = 3 * rise - 2 * p - q, p + q - 2 * rise  # f = f₀ + pt + ct² + dt³
    t = -p / (c + np.sqrt(c * c - 3 * d * p))  # where p + 2ct + 3dt² = 0 and f bends upwards
    value = left.value + t * (p + t * (c + t * d))
    nearer = left if t < 0.5 else right
    return Basin(a + t * h, float(value), float(2 * c + 6 * d * t) / h**2, nearer)
