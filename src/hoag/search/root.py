"""One hyperparameter: the root of p(λ)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hoag.criteria.base import SETTLED, SPACING, Traits
from hoag.schedules import FIRST
from hoag.search.asks import Asking, Look, Note, Steps, on_bounds, sentence
from hoag.search.steps import AHEAD, LONGEST, gradient_error
from hoag.values import ROUNDING, Array, Ask, Box, Evaluation, Status

# A side of the root is closed for good only when the error of p there is at most this share of p;
# after a secant step p is expected to be a third of what it was, and wanted as well as that.
CERTAIN = 0.1
# A tolerance is at least halved where it is shrunk, and by no more than this factor.
SHRINK = 0.01

# A free look is at least so far away: nearer, differences of p are noise.
LEAST = 0.2

# Free looks over the box: how many times the least loss is enough to go no further down. They go
# two spacings above the start at least, and four below.
RISEN = 1.5
# They are right to this, and too low where the penalty is weak: of λ that look alike, the largest.
DOUBT = 0.02


def descend(domain: Box, lam: Array, tol: float, max_iter: int, traits: Traits) -> Steps:
    """λ ← λ − p/p′ until (|p| + error)²/2p′ is at most tol·f.

    p′ comes from two evaluations, or from a look a little further on where that costs nothing.
    """
    if traits.looks is not None and domain.lower < domain.upper:
        return (yield from _by_looks(domain, lam, tol, max_iter, traits))
    return (yield from _by_secants(domain, lam, tol, max_iter, traits.exact))


def _by_looks(domain: Box, lam: Array, tol: float, max_iter: int, traits: Traits) -> Steps:
    """Looks are free: between two evaluations that are not, λ goes to the root of p as it looks
    now."""
    exact, spacing = traits.exact, traits.looks or SPACING
    scanned, ask = exact or traits.modelled, Ask(np.inf, free=True)
    if traits.begun:
        basin = yield from _begun(domain, lam)
    elif scanned:
        basin = yield from scan(domain, spacing, ask, traits.together)
    else:
        basin = yield from look(domain, lam, spacing)
    lam, start, curvature = np.array([basin.lam]), basin.start, basin.curvature
    root, before = _Root(), list[Evaluation]()
    eps = FIRST if start is None else max(FIRST, _goal(start, curvature, tol))
    here = curvature if exact else np.nan  # looks that are guesses do not tell f″
    for k in range(1, max_iter + 1):
        now = yield Look(lam, Ask(eps), start)
        if traits.modelled and abs(now.value - basin.value) > DOUBT * abs(now.value):
            # f is not what its model says: what about the rest of the box, by models about this x?
            before.append(now)
            basin = yield from scan(domain, spacing, ask, start=now)
            best = min(before, key=lambda one: one.value)
            known = any(abs(basin.lam - one.lam[0]) < spacing / 2 for one in before)
            if known or best.value <= basin.value:
                basin = _Basin(float(best.lam[0]), best.value, np.nan, best)
            if basin.start is not now:
                lam, start, curvature = np.array([basin.lam]), basin.start, basin.curvature
                continue
        error = gradient_error(now, eps, exact)
        root.learn(float(lam[0]), float(now.grad[0]), error)
        room = root.room
        judged = _judged(k, domain, now, error, here, tol, room, scanned)
        ahead = None
        if judged.gain <= tol:  # f″ was measured elsewhere: how does f bend from here on?
            ahead = yield from _root(domain, now, here)
            bend = float(np.minimum(here, ahead[2]))
            judged = _judged(k, domain, now, error, bend, tol, room, scanned)
        if judged.gain <= tol and now.f_error > SETTLED * tol * abs(now.value):
            judged = judged._replace(status=None)  # more directions are cheaper than to settle f
        yield judged.note
        if judged.status is not None:
            why = sentence(judged.status.sentence, _looked_at(traits))
            return replace(judged.status, sentence=why)
        start = now
        if judged.gain > tol:
            far = LEAST if exact and k == 1 else LONGEST  # the scan's best is in its basin
            wanted, start, here = ahead or (yield from _root(domain, now, curvature, far))
            lam = domain.project(np.array([root.inside(float(lam[0]), float(wanted[0]))]))
            curvature = here
        # A slope with less than this error gains nothing to speak of, by a long step.
        eps = _goal(now, here, tol) or 0.1 * tol * abs(now.value) / LONGEST
    return _out_of_steps(max_iter, tol, now)


def _begun(domain: Box, lam: Array) -> Asking[_Basin]:
    """Where a search is told to begin, with f″ as it looks there."""
    here = yield Look(lam, Ask(free=True))
    _, _, curvature = yield from _root(domain, here, np.nan, LEAST)
    return _Basin(float(lam[0]), here.value, curvature, here)


def _looked_at(traits: Traits) -> str:
    """What of the box was seen before the search began, in a sentence."""
    if traits.begun:
        return "It began at the best of a sample of the rows."
    if traits.exact:
        return f"The whole box was looked at, every {traits.looks:.2g} in lam."
    if traits.modelled:
        return "The whole box was looked at, by models of f about one fit to all rows."
    return "The box around the start was looked at, by an approximation of f."


def _root(
    domain: Box, now: Evaluation, curvature: float, far: float = LONGEST
) -> Asking[tuple[Array, Any, float]]:
    """The root of p by one free look, where to start from there, and p′.

    The look is where p′ says that the root is; `far` away, where p′ is not known.
    """
    p = now.grad
    size = np.abs(p) / curvature if curvature > 0 else far
    lam = domain.project(now.lam - np.sign(p) * np.clip(size, LEAST, LONGEST))
    if lam[0] == now.lam[0]:
        return lam, now, curvature
    there = yield Look(lam, Ask(free=True), now)
    slope = float((there.grad[0] - p[0]) / (lam[0] - now.lam[0]))
    if not slope > 0:
        return lam, there, np.nan
    step = np.clip(-there.grad / slope, -LONGEST / 2, LONGEST / 2)
    return domain.project(lam + step), there, slope


def scan(
    domain: Box,
    spacing: float,
    ask: Ask,
    together: bool = False,
    start: Evaluation | None = None,
    risen: float = np.inf,
) -> Asking[_Basin]:
    """The least f from bound to bound: λ, f, f″ and where to start from.

    Or from the upper bound down to where f has risen to so many times the least.

    For a criterion whose values and slopes cost next to nothing. Wherever p changes from − to +
    between two looks there is a minimum, which the cubic through both values and slopes places.
    Of minima that look alike, each is looked at.
    """
    low, high = float(domain.lower[0]), float(domain.upper[0])
    places = np.linspace(high, low, max(int(np.ceil((high - low) / spacing)), 1) + 1)
    looks: list[Evaluation] = []
    if together:
        looks = yield [Look(np.array([place]), ask) for place in places]
    else:
        for place in places:
            looks.append((yield Look(np.array([place]), ask, looks[-1] if looks else start)))
            least = min(abs(one.value) for one in looks)
            if looks[-1].value > risen * least and looks[-1].grad[0] < 0:
                break
    found = [_Basin(float(now.lam[0]), now.value, np.nan, now) for now in looks]
    basins = [min(found, key=lambda basin: basin.value)]
    for right, left in pairwise(looks):
        if left.grad[0] < 0 < right.grad[0]:
            basins.append(_between(left, right))
    best = min(basins, key=lambda basin: basin.value)
    alike = [b for b in basins if b.value <= best.value + DOUBT * abs(best.value)]
    if len(alike) > 1:
        for k, basin in enumerate(alike):
            now = yield Look(np.array([basin.lam]), ask, basin.start)
            alike[k] = _Basin(basin.lam, now.value, basin.curvature, now)
        best = min(alike, key=lambda basin: basin.value)
    return best


class _Basin(NamedTuple):
    lam: float
    value: float
    curvature: float
    start: Evaluation | None


def _between(left: Evaluation, right: Evaluation) -> _Basin:
    """The minimum of the cubic with the values and slopes of both, slopes − and +."""
    a, h = float(left.lam[0]), float(right.lam[0] - left.lam[0])
    rise, p, q = right.value - left.value, h * float(left.grad[0]), h * float(right.grad[0])
    c, d = 3 * rise - 2 * p - q, p + q - 2 * rise  # f = f₀ + pt + ct² + dt³
    t = -p / (c + np.sqrt(c * c - 3 * d * p))  # where p + 2ct + 3dt² = 0 and f bends upwards
    value = left.value + t * (p + t * (c + t * d))
    nearer = left if t < 0.5 else right
    return _Basin(a + t * h, float(value), float(2 * c + 6 * d * t) / h**2, nearer)


def look(domain: Box, lam: Array, spacing: float = SPACING) -> Asking[_Basin]:
    """The least of some values in the box, from strong to weak penalties.

    For a small space, whose values cost nothing and are no more than a guess. The window around λ
    is moved up or down while the least is at its end; the parabola through the least and its
    neighbours says where between them.
    """
    low, high = float(domain.lower[0]), float(domain.upper[0])
    values: dict[float, float] = {}
    start: Evaluation | None = None
    at = min(high, float(lam[0]) + 2 * spacing)
    starts: dict[float, Evaluation] = {}
    while True:
        start = yield Look(np.array([at]), Ask(free=True, gradient=False), start)
        values[at], starts[at] = start.value, start
        best, top, bottom = min(values, key=values.__getitem__), max(values), min(values)
        starts = {k: v for k, v in starts.items() if k in (best, top)}
        deep = bottom <= float(lam[0]) - 4 * spacing and bottom < best
        seen = values[bottom] > RISEN * values[best] or deep
        if not (seen or bottom <= low):
            at = max(low, bottom - spacing)
        elif best == top and top < high:
            at, start = min(high, top + spacing), starts[top]
        else:
            break
    places = sorted(values)
    k = places.index(best)
    if k in (0, len(places) - 1):
        return _Basin(best, values[best], np.nan, starts[best])
    around = [places[k - 1], best, places[k + 1]]
    a, b, c = np.polyfit(np.array(around) - best, [values[place] for place in around], 2)
    if not a > 0:
        return _Basin(best, values[best], np.nan, starts[best])
    lowest = abs(c - b**2 / (4 * a))
    move = -b / (2 * a) + np.sqrt(DOUBT * lowest / a)
    return _Basin(min(best + move, places[k + 1]), values[best], float(2 * a), starts[best])


@dataclass
class _Root:
    """Where the root of p may lie, and how p changes."""

    low: float = -np.inf
    high: float = np.inf
    curvature: float = np.nan
    longest: float = LONGEST
    here: tuple[float, float, float] = (np.nan, np.nan, np.nan)  # λ, p and its error
    before: tuple[float, float, float] = (np.nan, np.nan, np.nan)  # at the last λ but one

    def learn(self, lam: float, p: float, error: float) -> None:
        if lam != self.here[0]:
            self.before = self.here
        self.here = (lam, p, error)
        moved, change = lam - self.before[0], p - self.before[1]
        noise = 2 * (error + self.before[2])
        if abs(change) > noise:
            self.curvature = change / moved
            self.longest = LONGEST if self.curvature > 0 else 2 * self.longest
        elif self.curvature > (most := (abs(change) + noise) / abs(moved)):
            self.curvature = most  # f has become flatter since it was measured
        if error <= CERTAIN * abs(p):
            self.low, self.high = (self.low, lam) if p > 0 else (lam, self.high)

    @property
    def room(self) -> float:
        """How wide the part is that the root may lie in."""
        return self.high - self.low if self.low < self.high else np.inf

    def next(self, lam: float, p: float) -> float:
        """λ − p/p′, no further than `longest`, and on the side where the root is."""
        step = -p / self.curvature if self.curvature > 0 else -np.sign(p) * self.longest
        return self.inside(lam, lam + float(np.clip(step, -self.longest, self.longest)))

    def inside(self, lam: float, wanted: float) -> float:
        """Where it is wanted, or half the way to the edge beyond which the root cannot be."""
        if self.low < wanted < self.high or self.low >= self.high:
            return wanted
        edge = self.low if wanted <= self.low else self.high
        return 0.5 * (lam + edge)


def _by_secants(domain: Box, lam: Array, tol: float, max_iter: int, exact: bool) -> Steps:
    """ε shrinks when the error of p is too large for the next decision."""
    root, eps = _Root(), FIRST
    now: Evaluation | None = None
    for k in range(1, max_iter + 1):
        now = yield Look(lam, Ask(eps), now)
        at, p, error = float(lam[0]), float(now.grad[0]), gradient_error(now, eps, exact)
        root.learn(at, p, error)
        # The secant may be long, and f flatter here than along it.
        careful = root.curvature / AHEAD
        judged = _judged(k, domain, now, error, careful, tol, root.room)
        yield judged.note
        if judged.status is not None:
            return judged.status
        gain, goal = judged.gain, _goal(now, careful, tol)
        flat = LONGEST * (abs(p) + error) <= tol * abs(now.value)
        if np.isnan(root.before[0]) and flat:  # a start at the minimum: how does f bend?
            wanted, lam = error, domain.project(lam - np.where(now.grad > 0, LONGEST, -LONGEST) / 2)
        elif error > abs(p) or gain <= tol:
            wanted = max(goal, abs(p))
            if eps <= ROUNDING * max(1.0, abs(now.value)):
                why = (
                    f"Stalled at step {k}: the error of the gradient stays at {error:.1e}, as "
                    "large as the gradient itself."
                )
                return Status("stalled", sentence(why, now.note))
        else:
            wanted = max(goal, CERTAIN * abs(p))
            lam = domain.project(np.array([root.next(at, p)]))
        if error > wanted or (gain <= tol and lam[0] == at):
            eps *= float(np.clip(0.5 * wanted / (error or 1.0), SHRINK, 0.5))
    return _out_of_steps(max_iter, tol, now)


def _goal(now: Evaluation, curvature: float, tol: float) -> float:
    """The error that p may have near the end: half the slope at which nothing is left to gain."""
    return 0.5 * float(np.sqrt(2 * curvature * tol * abs(now.value))) if curvature > 0 else 0.0


class _Judged(NamedTuple):
    gain: float  # the share of the loss that is still to gain
    note: Note
    status: Status | None


def _judged(
    k: int,
    domain: Box,
    now: Evaluation,
    error: float,
    curvature: float,
    tol: float,
    room: float,
    scanned: bool = False,
) -> _Judged:
    """What is still to gain, (|p| + error)²/2p′, and whether that is at most `tol`.

    Nor is it more than |p| + error times the `room` between places where p has other signs: where
    f has a kink, as it has for losses whose second derivative jumps, p is not small at the minimum.
    It is not known where f is not convex; but where the whole box was looked at, and this is the
    best of it, no more than a step to either side gains by this slope.
    """
    p, size = float(now.grad[0]), abs(now.value) or 1.0
    known = curvature if curvature > 0 else abs(p) or 1.0
    outward = domain.project(now.lam - np.sign(now.grad))[0] == now.lam[0] and p != 0.0
    note = Note(1 / known, 0.0 if outward else abs(p) / known)
    gain = np.inf
    if curvature > 0:
        gain = (abs(p) + error) ** 2 / (2 * curvature) / size
    elif scanned:
        gain = 2 * LONGEST * (abs(p) + error) / size
    if np.isfinite(room):
        gain = min(gain, room * (abs(p) + error) / size)
    status = None
    if outward and error <= abs(p):
        status = _converged(k, now, 0.0, tol, on_bounds(now.lam, now.grad, domain))
    elif abs(p) + error <= ROUNDING * size:
        status = _converged(k, now, 0.0, tol, "There is no slope at all.")
    elif gain <= tol:
        status = _converged(k, now, gain, tol)
    return _Judged(gain, note, status)


def _converged(k: int, now: Evaluation, gain: float, tol: float, note: str = "") -> Status:
    why = (
        f"Converged at step {k}: the loss can still fall by about {gain:.1e} of itself, at "
        f"most the {tol:g} asked for."
    )
    return Status("converged", sentence(why, note, now.note))


def _out_of_steps(max_iter: int, tol: float, now: Evaluation | None) -> Status:
    why = (
        f"Stopped after max_iter = {max_iter} steps, before the loss had settled to within {tol:g} "
        "of itself."
    )
    return Status("max_iter", sentence(why, now.note if now else ""))
