"""One hyperparameter: the root of p(λ)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hoag._core.domain import Box
from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Evaluation, Status
from hoag._core.words import percent
from hoag._criteria.base import SETTLED, SPACING, Traits
from hoag._schedules import FIRST
from hoag.optimize._asks import Asking, EndsAt, Evaluate, Note, Steps, Verify
from hoag.optimize._scan import DOUBT, Basin, Scan, scan
from hoag.optimize._steps import AHEAD, LONGEST, Descent, gradient_error, size

# A side of the root is closed for good only when the error of p there is at most this share of p;
# after a secant step p is expected to be a third of what it was, and wanted as well as that.
CERTAIN = 0.1
# A tolerance is at least halved where it is shrunk, and by no more than this factor.
SHRINK = 0.01

# A free value is at least so far away: nearer, differences of p are noise.
LEAST = 0.2


def descend(domain: Box, lam: Array, tol: float, max_iter: int, traits: Traits) -> Steps:
    """λ ← λ − p/p′ until (|p| + error)²/2p′ is at most tol·f.

    p′ comes from two evaluations, or from a free value a little further on.
    """
    search = _RootSearch(domain, tol, max_iter, traits)
    if traits.scan_spacing is not None and domain.lower < domain.upper:
        return (yield from search.by_scan(lam))
    return (yield from search.by_secants(lam))


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


class _End(NamedTuple):
    """Where a descent has ended: as it saw f, as f is by its definition, and why."""

    now: Evaluation
    known: Evaluation
    status: Status

    def order(self) -> tuple[bool, float]:
        """By verified values, those that are none last."""
        return not np.isfinite(self.known.value + self.known.f_error), self.known.value


class _RootSearch(Descent):
    domain: Box

    def __init__(self, domain: Box, tol: float, max_iter: int, traits: Traits) -> None:
        super().__init__(domain, tol, max_iter)
        self.traits, self.exact = traits, traits.exact
        self.spacing = traits.scan_spacing or SPACING
        self.scanned = False  # the whole box

    def _at(self, lam: Array, eps: float, start: Evaluation | None) -> Asking[Evaluation]:
        now: Evaluation = yield Evaluate(lam, Ask(eps), start)
        self.evaluations += 1
        return now

    # ---- where values are free

    def by_scan(self, lam: Array) -> Steps:
        """Minima are found by free values first, then descended to and verified in turn.

        The most promising one first, while another seems lower than the best that was verified. Of
        λ that are as good within tol, the largest is taken.
        """
        self.scanned = self.exact or self.traits.modelled
        seen = yield from self._scan(lam)
        self.domain, best = seen.within(self.domain), None
        for basin in seen.basins:
            if best is not None:
                least = best.known.value
                if self.spent or not basin.value < least - self.tol * abs(least):
                    break
            end = yield from self._descend(basin)
            best = end if best is None else min(end, best, key=_End.order)
        assert best is not None
        if self.exact and best.status.converged and not self.spent:
            best = yield from self._strongest(seen, best)
        yield EndsAt(best.now)
        return replace(best.status.noted(seen.unknown), how=self._how_scanned)

    def _scan(self, lam: Array) -> Asking[Scan]:
        """What is known of f before the first step."""
        if self.traits.begun:  # where it is told to, with f″ as it looks there
            here = yield Evaluate(lam, Ask(free=True))
            _, _, curvature = yield from self._root(here, np.nan, LEAST)
            return Scan([Basin(float(lam[0]), here.value, curvature, here)], [])
        ask = Ask(np.inf, free=True)
        if self.scanned:
            return (yield from scan(self.domain, self.spacing, ask, self.traits.batched))
        risen = (1 + DOUBT) / (1 - DOUBT)  # more than either value may be wrong by
        seen = yield from scan(self.domain, self.spacing, ask, risen=risen, halved=0)
        best = seen.best
        there = seen.strongest(best.value + DOUBT * abs(best.value))
        if there is not None and 0 < there.t - best.lam <= self.spacing:
            best = Basin(there.t, there.value, best.curvature, there.now)
        return Scan([best], [])

    @property
    def _how_scanned(self) -> str:
        """What of the box was seen before the search began, in a sentence."""
        if self.traits.begun:
            return "It began at the best value on a sample of the rows."
        if self.exact:
            return f"The whole interval was scanned, every {self.spacing:.2g} in log units."
        if self.traits.modelled:
            return "The whole interval was scanned, by models of the loss about one fit."
        return (
            "The interval was scanned from strong penalties to weak, by an approximation of the "
            "loss, down to where it has risen."
        )

    def _strongest(self, seen: Scan, best: _End) -> Asking[_End]:
        """The largest λ that was seen within tol of the best, if that is so by verification."""
        least = best.known.value
        there = seen.strongest(least + 0.5 * self.tol * abs(least))
        if there is None or not there.t > best.now.lam[0] + LONGEST:
            return best
        now = yield from self._at(there.now.lam, self.tol * abs(least), there.now)
        yield Note(mapping=0.0)
        known = yield Verify(now)
        if not known.value <= least + self.tol * abs(least):
            return best
        less = max(known.value - least, 0.0) / size(best.known)
        why = (
            f"A weaker penalty lowers the loss by {percent(less)}, less than tol asks for: the "
            "stronger one is taken."
        )
        return _End(now, known, self.converged(now, less, why))

    def _descend(self, basin: Basin) -> Asking[_End]:
        """Between two evaluations that are not free, λ goes to the root of p as it looks now."""
        lam, start, curvature = np.array([basin.lam]), basin.start, basin.curvature
        root, before, first = _Root(), list[Evaluation](), self.evaluations + 1
        eps = FIRST if start is None else max(FIRST, self._goal(start, curvature))
        here = curvature if self.exact else np.nan  # values that are guesses do not tell f″
        status: Status | None
        while True:
            now = yield from self._at(lam, eps, start)
            if self.traits.modelled and abs(now.value - basin.value) > DOUBT * abs(now.value):
                before.append(now)
                basin = yield from self._scanned_again(before)
                if basin.start is not now:
                    if self.spent:
                        status = self.out_of_steps(now)
                        break
                    lam, start, curvature = np.array([basin.lam]), basin.start, basin.curvature
                    continue
            error = gradient_error(now, eps, self.exact)
            root.learn(float(lam[0]), float(now.grad[0]), error)
            judged, ahead = self._judged(now, error, here, root.room), None
            if judged.gain <= self.tol:  # f″ was measured elsewhere: how does f bend from here on?
                ahead = yield from self._root(now, here)
                judged = self._judged(now, error, float(np.minimum(here, ahead[2])), root.room)
            status = judged.status
            refinable = not self.exact and now.f_error > SETTLED * self.tol * abs(now.value)
            if judged.gain <= self.tol and refinable:
                status = None  # more directions are cheaper than to verify f as it is
            yield judged.note
            if status is None and self.spent:
                status = self.out_of_steps(now)
            if status is not None:
                break
            start = now
            if judged.gain > self.tol:
                # The scan's best is in its basin.
                far = LEAST if self.exact and self.evaluations == first else LONGEST
                wanted, start, here = ahead or (yield from self._root(now, curvature, far))
                inside = root.inside(float(lam[0]), float(wanted[0]))
                lam, curvature = self.domain.project(np.array([inside])), here
            # A slope with less than this error gains nothing to speak of, by a long step.
            eps = self._goal(now, here) or 0.1 * self.tol * abs(now.value) / LONGEST
        return _End(now, (yield Verify(now)), status)

    def _scanned_again(self, before: list[Evaluation]) -> Asking[Basin]:
        """f is not what its model says: where is it least, by models about the last x?"""
        ask = Ask(np.inf, free=True)
        basin = (yield from scan(self.domain, self.spacing, ask, start=before[-1])).best
        best = min(before, key=lambda one: one.value)
        known = any(abs(basin.lam - one.lam[0]) < self.spacing / 2 for one in before)
        if known or best.value <= basin.value:
            return Basin(float(best.lam[0]), best.value, np.nan, best)
        return basin

    def _root(
        self, now: Evaluation, curvature: float, far: float = LONGEST
    ) -> Asking[tuple[Array, Any, float]]:
        """The root of p by one free value, where to start from there, and p′.

        That is where p′ says that the root is; `far` away, where p′ is not known.
        """
        p = now.grad
        distance = np.abs(p) / curvature if curvature > 0 else far
        lam = self.domain.project(now.lam - np.sign(p) * np.clip(distance, LEAST, LONGEST))
        if lam[0] == now.lam[0]:
            return lam, now, curvature
        there = yield Evaluate(lam, Ask(free=True), now)
        slope = float((there.grad[0] - p[0]) / (lam[0] - now.lam[0]))
        if not slope > 0:
            return lam, there, np.nan
        step = np.clip(-there.grad / slope, -LONGEST / 2, LONGEST / 2)
        return self.domain.project(lam + step), there, slope

    # ---- where they are not

    def by_secants(self, lam: Array) -> Steps:
        """ε shrinks when the error of p is too large for the next decision."""
        root, eps = _Root(), FIRST
        now: Evaluation | None = None
        while True:
            now = yield from self._at(lam, eps, now)
            at, p, error = float(lam[0]), float(now.grad[0]), gradient_error(now, eps, self.exact)
            root.learn(at, p, error)
            # The secant may be long, and f flatter here than along it.
            careful = root.curvature / AHEAD
            judged = self._judged(now, error, careful, root.room)
            yield judged.note
            if judged.status is not None:
                return judged.status
            gain, goal = judged.gain, self._goal(now, careful)
            flat = LONGEST * (abs(p) + error) <= self.tol * abs(now.value)
            if np.isnan(root.before[0]) and flat:  # a start at the minimum: how does f bend?
                half = np.where(now.grad > 0, LONGEST, -LONGEST) / 2
                wanted, lam = error, self.domain.project(lam - half)
            elif error > abs(p) or gain <= self.tol:
                wanted = max(goal, abs(p))
                if eps <= ROUNDING * max(1.0, abs(now.value)):
                    why = f"the error of the gradient stays at {error:.1e}"
                    return self.stalled(now, f"{why}, as large as the gradient itself")
            else:
                wanted = max(goal, CERTAIN * abs(p))
                lam = self.domain.project(np.array([root.next(at, p)]))
            if error > wanted or (gain <= self.tol and lam[0] == at):
                eps *= float(np.clip(0.5 * wanted / (error or 1.0), SHRINK, 0.5))
            if self.spent:
                return self.out_of_steps(now)

    # ---- what is left to gain

    def _goal(self, now: Evaluation, curvature: float) -> float:
        """The error that p may have near the end: half the slope at which nothing is to gain."""
        if not curvature > 0:
            return 0.0
        return 0.5 * float(np.sqrt(2 * curvature * self.tol * abs(now.value)))

    def _judged(self, now: Evaluation, error: float, curvature: float, room: float) -> _Judged:
        """What is still to gain, (|p| + error)²/2p′, and whether that is at most `tol`.

        Nor is it more than |p| + error times the `room` between places where p has other signs:
        where f has a kink, as it has for losses whose second derivative jumps, p is not small at
        the minimum. It is not known where f is not convex; but where the whole box was scanned, and
        this is the best of it, no more than a step to either side gains by this slope.
        """
        p, loss = float(now.grad[0]), size(now)
        slope = abs(p) + error
        known = curvature if curvature > 0 else abs(p) or 1.0
        outward = self.domain.project(now.lam - np.sign(now.grad))[0] == now.lam[0] and p != 0.0
        note = Note(1 / known, 0.0 if outward else abs(p) / known)
        gain = np.inf
        if curvature > 0:
            gain = slope**2 / (2 * curvature) / loss
        elif self.scanned:
            gain = 2 * LONGEST * slope / loss
        if np.isfinite(room):
            gain = min(gain, room * slope / loss)
        status = None
        if outward and error <= abs(p):
            status = self.converged(now, 0.0)
        elif slope <= ROUNDING * loss:
            status = self.converged(now, 0.0, "The loss is stationary to rounding.")
        elif gain <= self.tol:
            status = self.converged(now, gain)
        return _Judged(gain, note, status)


class _Judged(NamedTuple):
    gain: float  # the share of the loss that is still to gain
    note: Note
    status: Status | None
