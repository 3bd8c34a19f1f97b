"""f along a line from bound to bound: where its minima are, before any is descended to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Ask, Evaluation
from hoag.optimize._asks import Asking, Evaluate

# Free values from strong to weak: how many times the least loss is enough to go no further down.
RISEN = 1.5
# Approximations are right to this, and too low where the penalty is weak: the largest λ of those.
DOUBT = 0.02
# An interval is halved while the cubic over it may be wrong by more than this share of the least
# loss, and with that below it; down to this width, and so many times in all.
WHOLE, FINEST, HALVED = 1e-3, 0.05, 200


class Place(NamedTuple):
    """f and its slope at t·d, and the evaluation that they are of."""

    t: float
    value: float
    slope: float
    now: Evaluation

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.value + self.now.f_error))


class Basin(NamedTuple):
    """A minimum as the scan sees it, with f″ and where to start from."""

    lam: float
    value: float
    curvature: float
    start: Evaluation | None


class Scan(NamedTuple):
    """What was seen: minima, the most promising first, and all values, from strong to weak."""

    basins: list[Basin]
    seen: list[Place]
    unknown: str = ""  # why f is not known below the last of these

    @property
    def best(self) -> Basin:
        return self.basins[0]

    def within(self, domain: Box) -> Box:
        """The part of the domain in which f is known."""
        if not self.unknown:
            return domain
        return Box(self.seen[-1].t, float(domain.upper[0]))

    def strongest(self, value: float) -> Place | None:
        """The largest λ at which f seems to be no higher than this."""
        return next((one for one in self.seen if one.value <= value), None)


class _Line(NamedTuple):
    """t·d as far as it is in a box, and what is asked there."""

    domain: Box
    direction: Array
    ask: Ask

    def at(self, t: float, start: Evaluation | None = None) -> Asking[Place]:
        now = yield Evaluate(self.domain.project(t * self.direction), self.ask, start)
        return self.place(t, now)

    def together(self, ts: Sequence[float]) -> Asking[list[Place]]:
        found = yield [Evaluate(self.domain.project(t * self.direction), self.ask) for t in ts]
        return [self.place(t, now) for t, now in zip(ts, found, strict=True)]

    def place(self, t: float, now: Evaluation) -> Place:
        lam = t * self.direction
        moved = (self.domain.lower <= lam) & (lam <= self.domain.upper)
        return Place(t, now.value, float(now.grad[moved] @ self.direction[moved]), now)


def scan(
    domain: Box,
    spacing: float,
    ask: Ask,
    together: bool = False,
    start: Evaluation | None = None,
    risen: float = np.inf,
    direction: Array | None = None,
    halved: int = HALVED,
) -> Asking[Scan]:
    """The minima of f along a direction of zeros and ones, from bound to bound.

    Or from the upper bound down to where f has risen to so many times the least.

    For a criterion whose values and slopes cost next to nothing. Wherever p changes from − to +
    between two places there is a minimum, which the cubic through both values and slopes places.
    Where cubics that meet disagree about f″, places are added between, at most so many as `halved`.
    Each of the minima that are about as low as the least is evaluated.
    """
    line = _Line(domain, np.ones(1) if direction is None else direction, ask)
    sides = domain.line(line.direction)
    low, high = float(sides.lower[0]), float(sides.upper[0])
    ts = np.linspace(high, low, max(int(np.ceil((high - low) / spacing)), 1) + 1).tolist()
    values: list[Place] = []
    if together:
        values = yield from line.together(ts)
    else:
        for t in ts:
            values.append((yield from line.at(t, values[-1].now if values else start)))
            least = min(abs(one.value) for one in values)
            if values[-1].value > risen * least and values[-1].slope < 0:
                break
    values, unknown = _known(values)
    if unknown and len(values) > 1:
        values = yield from _edged(values, low, line)
    values = yield from _refined(values, line, together, halved)
    basins = sorted(_minima(values), key=lambda basin: basin.value)
    close = [b for b in basins if b.value <= basins[0].value + DOUBT * abs(basins[0].value)]
    if len(close) > 1:
        for k, basin in enumerate(close):
            there = yield from line.at(basin.lam, basin.start)
            close[k] = Basin(basin.lam, there.value, basin.curvature, there.now)
        basins[: len(close)] = sorted(close, key=lambda basin: basin.value)
    return Scan(basins, values, unknown)


def _known(values: list[Place]) -> tuple[list[Place], str]:
    """Those at which f is known, and why it is not below them."""
    known = [k for k, one in enumerate(values) if one.known]
    if not known:
        return values, ""
    last = max(known)
    why = values[last + 1].now.note if last + 1 < len(values) else ""
    return [values[k] for k in known], why


def _edged(values: list[Place], low: float, line: _Line) -> Asking[list[Place]]:
    """With places towards the last at which f is known, above the one at which it is not."""
    there = max(low, values[-1].t - abs(values[-2].t - values[-1].t))
    while values[-1].t - there > FINEST:
        found = yield from line.at(0.5 * (values[-1].t + there), values[-1].now)
        if found.known:
            values = [*values, found]
        else:
            there = found.t
    return values


def _minima(values: Sequence[Place]) -> list[Basin]:
    """The least of all values, and what lies between slopes − and +; from strong to weak."""
    least = min(values, key=lambda one: one.value)
    found = [Basin(least.t, least.value, np.nan, least.now)]
    for right, left in pairwise(values):
        if left.slope < 0 < right.slope:
            found.append(_between(left, right))
    return found


def _refined(values: list[Place], line: _Line, together: bool, left: int) -> Asking[list[Place]]:
    """With places added wherever a lower minimum than the least so far may hide between two."""
    while left > 0 and len(values) > 2 and np.isfinite(values[0].value):  # or nothing is known
        wanted = _doubtful(values)[:left]
        if not wanted:
            break
        left -= len(wanted)
        halves = [0.5 * (values[k].t + values[k + 1].t) for k in wanted]
        if together:
            found = yield from line.together(halves)
        else:
            found = []
            for k, t in zip(wanted, halves, strict=True):
                found.append((yield from line.at(t, values[k].now)))
        values = sorted([*values, *_known(found)[0]], key=lambda one: -one.t)
    return values


def _doubtful(values: Sequence[Place]) -> list[int]:
    """The intervals, by their upper ends, whose cubic may hide what is lower than the least.

    Two cubics that meet differ in f″ by J there. A cubic over h is wrong by h⁴f⁗/384 and J is about
    h²f⁗/6, so that h²J/64 is its error; four times of that is allowed for.
    """
    t, f, p = np.array([one[:3] for one in values]).T
    h = t[:-1] - t[1:]
    chord = (f[:-1] - f[1:]) / h
    upper = (4 * p[:-1] + 2 * p[1:] - 6 * chord) / h  # f″ at the upper end of each interval
    lower = (6 * chord - 2 * p[:-1] - 4 * p[1:]) / h
    jump = np.zeros(t.size)
    jump[1:-1] = np.abs(lower[:-1] - upper[1:])
    error = h**2 * np.maximum(jump[:-1], jump[1:]) / 16
    least = float(np.min(f))
    bottom = np.array([_bottom(*pair) for pair in pairwise(values)])
    worth = WHOLE * abs(least)
    doubtful = (error > worth) & (bottom - error < least - worth) & (h > FINEST)
    return [int(k) for k in np.flatnonzero(doubtful)]


def _bottom(right: Place, left: Place) -> float:
    """The least of the cubic between two places."""
    ends = min(left.value, right.value)
    if left.slope < 0 < right.slope:
        return min(ends, _between(left, right).value)
    return ends


def _between(left: Place, right: Place) -> Basin:
    """The minimum of the cubic with the values and slopes of both, slopes − and +."""
    h = right.t - left.t
    rise, p, q = right.value - left.value, h * left.slope, h * right.slope
    c, d = 3 * rise - 2 * p - q, p + q - 2 * rise  # f = f₀ + pt + ct² + dt³
    t = -p / (c + np.sqrt(c * c - 3 * d * p))  # where p + 2ct + 3dt² = 0 and f bends upwards
    value = left.value + t * (p + t * (c + t * d))
    nearer = left if t < 0.5 else right
    return Basin(left.t + t * h, float(value), float(2 * c + 6 * d * t) / h**2, nearer.now)
