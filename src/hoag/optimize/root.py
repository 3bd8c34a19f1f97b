"""One hyperparameter: the root of p(λ)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hoag._core.domain import Box
from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Evaluation, Status
from hoag._criteria.base import SETTLED, SPACING, Traits
from hoag.optimize.asks import Asking, Chosen, Evaluate, Note, Steps, Verify, sentence
from hoag.optimize.scan import DOUBT, Basin, Scan, look, scan
from hoag.optimize.steps import (
    AHEAD,
    LONGEST,
    converged,
    gradient_error,
    not_settled,
    on_bounds,
    out_of_steps,
    size,
    stalled,
)
from hoag.schedules import FIRST

# A side of the root is closed for good only when the error of p there is at most this share of p;
# after a secant step p is expected to be a third of what it was, and wanted as well as that.
CERTAIN = 0.1
# A tolerance is at least halved where it is shrunk, and by no more than this factor.
SHRINK = 0.01

# A free look is at least so far away: nearer, differences of p are noise.
LEAST = 0.2


def descend(domain: Box, lam: Array, tol: float, max_iter: int, traits: Traits) -> Steps:
    """λ ← λ − p/p′ until (|p| + error)²/2p′ is at most tol·f.

    p′ comes from two evaluations, or from a look a little further on where that costs nothing.
    """
    if traits.scan_spacing is not None and domain.lower < domain.upper:
        return (yield from _by_looks(domain, lam, tol, max_iter, traits))
    return (yield from _by_secants(domain, lam, tol, max_iter, traits.exact))


def _by_looks(domain: Box, lam: Array, tol: float, max_iter: int, traits: Traits) -> Steps:
    """Looks are free: minima are found by them first, then descended to and verified in turn.

    The most promising one first, while another seems lower than the best that was verified. Of λ
    that are as good within tol, the largest is taken.
    """
    seen = yield from _seen(domain, lam, traits)
    within, best, taken = seen.within(domain), None, 0
    for basin in seen.basins:
        if best is not None and not basin.value < best.known.value - tol * abs(best.known.value):
            break
        if taken < max_iter:
            end = yield from _descend(within, basin, tol, max_iter, traits, taken)
            taken, best = end.steps, min([end] + ([best] if best else []), key=_End.order)
    assert best is not None
    if traits.exact and best.status.converged and taken < max_iter:
        best = yield from _strongest(within, seen, best, tol, taken)
    yield Chosen(best.now)
    why = sentence(best.status.sentence, _looked_at(traits), seen.unknown)
    return replace(best.status, sentence=why)


def _seen(domain: Box, lam: Array, traits: Traits) -> Asking[Scan]:
    """What is known of f before the first step."""
    spacing, ask = traits.scan_spacing or SPACING, Ask(np.inf, free=True)
    if traits.begun:
        return Scan([(yield from _begun(domain, lam))], [])
    if traits.exact or traits.modelled:
        return (yield from scan(domain, spacing, ask, traits.batched))
    return Scan([(yield from look(domain, lam, spacing))], [])


class _End(NamedTuple):
    """Where a descent has ended: as it saw f, as f is by its definition, and why."""

    now: Evaluation
    known: Evaluation
    status: Status
    steps: int  # of all descents up to here

    def order(self) -> tuple[bool, float]:
        """By verified values, those that are none last."""
        return not np.isfinite(self.known.value + self.known.f_error), self.known.value


def _strongest(domain: Box, seen: Scan, best: _End, tol: float, taken: int) -> Asking[_End]:
    """The largest λ that was seen within tol of the best, if that is so by verification."""
    least = best.known.value
    there = seen.strongest(least + 0.5 * tol * abs(least))
    if there is None or not there.lam[0] > best.now.lam[0] + LONGEST:
        return best
    now = yield Evaluate(there.lam, Ask(tol * abs(least)), there)
    yield Note(mapping=0.0)
    known = yield Verify(now)
    if not known.value <= least + tol * abs(least):
        return best
    less = max(known.value - least, 0.0) / size(best.known)
    why = (
        f"The loss at lam = {best.now.lam[0]:.4g} is lower by {less:.1e} of itself, which is less "
        "than was asked for: the stronger penalty is taken."
    )
    status = converged(taken + 1, less, tol, on_bounds(now, domain), why, now.note)
    return _End(now, known, status, taken + 1)


def _descend(
    domain: Box, basin: Basin, tol: float, max_iter: int, traits: Traits, taken: int
) -> Asking[_End]:
    """Between two evaluations that are not free, λ goes to the root of p as it looks now."""
    exact, spacing = traits.exact, traits.scan_spacing or SPACING
    scanned, ask = exact or traits.modelled, Ask(np.inf, free=True)
    lam, start, curvature = np.array([basin.lam]), basin.start, basin.curvature
    root, before = _Root(), list[Evaluation]()
    eps = FIRST if start is None else max(FIRST, _goal(start, curvature, tol))
    here = curvature if exact else np.nan  # looks that are guesses do not tell f″
    status = None
    for k in range(taken + 1, max_iter + 1):
        now = yield Evaluate(lam, Ask(eps), start)
        if traits.modelled and abs(now.value - basin.value) > DOUBT * abs(now.value):
            # f is not what its model says: what about the rest of the box, by models about this x?
            before.append(now)
            basin = (yield from scan(domain, spacing, ask, start=now)).best
            best = min(before, key=lambda one: one.value)
            known = any(abs(basin.lam - one.lam[0]) < spacing / 2 for one in before)
            if known or best.value <= basin.value:
                basin = Basin(float(best.lam[0]), best.value, np.nan, best)
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
        refinable = not exact and now.f_error > SETTLED * tol * abs(now.value)
        if judged.gain <= tol and refinable:
            judged = judged._replace(status=None)  # more directions are cheaper than to settle f
        yield judged.note
        if judged.status is not None:
            status = judged.status
            break
        start = now
        if judged.gain > tol:
            far = LEAST if exact and k == taken + 1 else LONGEST  # the scan's best is in its basin
            wanted, start, here = ahead or (yield from _root(domain, now, curvature, far))
            lam = domain.project(np.array([root.inside(float(lam[0]), float(wanted[0]))]))
            curvature = here
        # A slope with less than this error gains nothing to speak of, by a long step.
        eps = _goal(now, here, tol) or 0.1 * tol * abs(now.value) / LONGEST
    status = status or out_of_steps(max_iter, not_settled(tol), now.note)
    return _End(now, (yield Verify(now)), status, k)


def _begun(domain: Box, lam: Array) -> Asking[Basin]:
    """Where a search is told to begin, with f″ as it looks there."""
    here = yield Evaluate(lam, Ask(free=True))
    _, _, curvature = yield from _root(domain, here, np.nan, LEAST)
    return Basin(float(lam[0]), here.value, curvature, here)


def _looked_at(traits: Traits) -> str:
    """What of the box was seen before the search began, in a sentence."""
    if traits.begun:
        return "It began at the best of a sample of the rows."
    if traits.exact:
        return f"The whole box was looked at, every {traits.scan_spacing:.2g} in lam."
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
    distance = np.abs(p) / curvature if curvature > 0 else far
    lam = domain.project(now.lam - np.sign(p) * np.clip(distance, LEAST, LONGEST))
    if lam[0] == now.lam[0]:
        return lam, now, curvature
    there = yield Evaluate(lam, Ask(free=True), now)
    slope = float((there.grad[0] - p[0]) / (lam[0] - now.lam[0]))
    if not slope > 0:
        return lam, there, np.nan
    step = np.clip(-there.grad / slope, -LONGEST / 2, LONGEST / 2)
    return domain.project(lam + step), there, slope


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
        now = yield Evaluate(lam, Ask(eps), now)
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
                why = f"the error of the gradient stays at {error:.1e}, as large as the gradient"
                return stalled(k, f"{why} itself", now.note)
        else:
            wanted = max(goal, CERTAIN * abs(p))
            lam = domain.project(np.array([root.next(at, p)]))
        if error > wanted or (gain <= tol and lam[0] == at):
            eps *= float(np.clip(0.5 * wanted / (error or 1.0), SHRINK, 0.5))
    return out_of_steps(max_iter, not_settled(tol), now.note if now else "")


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
    p, loss = float(now.grad[0]), size(now)
    known = curvature if curvature > 0 else abs(p) or 1.0
    outward = domain.project(now.lam - np.sign(now.grad))[0] == now.lam[0] and p != 0.0
    note = Note(1 / known, 0.0 if outward else abs(p) / known)
    gain = np.inf
    if curvature > 0:
        gain = (abs(p) + error) ** 2 / (2 * curvature) / loss
    elif scanned:
        gain = 2 * LONGEST * (abs(p) + error) / loss
    if np.isfinite(room):
        gain = min(gain, room * (abs(p) + error) / loss)
    status = None
    if outward and error <= abs(p):
        status = converged(k, 0.0, tol, on_bounds(now, domain), now.note)
    elif abs(p) + error <= ROUNDING * loss:
        status = converged(k, 0.0, tol, "f is stationary to rounding.", now.note)
    elif gain <= tol:
        status = converged(k, gain, tol, now.note)
    return _Judged(gain, note, status)
