"""One hyperparameter: the root of p(λ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag.search.recorder import Recorder, Stop, on_bounds
from hoag.search.steps import gradient_error
from hoag.values import Array, Box, Evaluation

# The first tolerance, the paper's ε₁.
FIRST_EPS = 0.1

# A step is taken when the error of p is at most |p|; a side of the root is closed for good only
# when the sign of p there is beyond doubt.
SURE, CERTAIN = 1.0, 0.1
# After a secant step p is expected to be a third of what it was, and wanted to 30 % of that.
NEXT = 0.1
# Near the end the error may be this share of the slope at which nothing is left to gain.
GOAL = 0.5
# A tolerance is shrunk by no more, and no less, than these factors.
SHRINK = (0.01, 0.5)
# Below this share of the loss a tolerance, and a slope, is rounding.
ROUNDING = 1e-14

# The longest step; it doubles while f is concave, which it is where it is flat. Where a look costs
# nothing, the second half of a step is at most SHORT.
LONGEST, SHORT = 2.0, 1.0
# A free look is at least so far away: nearer, differences of p are noise.
LEAST = 0.2

# Free looks over the box: how far apart; how far above and below the start they go at least; and
# how many times the least loss is enough to go no further down.
SPACING, ABOVE, BELOW, RISEN = 3.0, 6.0, 12.0, 1.5
# They are right to this, and too low where the penalty is weak: of λ that look alike, the largest.
DOUBT = 0.02

# The value itself is to be known to so many times `tol`.
SETTLED = 5.0


def descend(recorder: Recorder, domain: Box, lam: Array, tol: float, max_iter: int) -> None:
    """λ ← λ − p/p′ until (|p| + error)²/2p′ is at most tol·f.

    p′ comes from two evaluations, or from a look a little further on where that costs nothing.
    """
    looks = getattr(recorder.criterion, "free_looks", False) and domain.lower < domain.upper
    walk = _by_looks if looks else _by_secants
    now = walk(recorder, domain, lam, tol, max_iter)
    raise Stop(
        "max_iter",
        f"Stopped after max_iter = {max_iter} steps, before the loss had settled to within {tol:g} "
        f"of itself. {now.note}".rstrip(),
    )


def _by_looks(recorder: Recorder, domain: Box, lam: Array, tol: float, max_iter: int) -> Evaluation:
    """ε is the error of p, and evaluations with ε = ∞ are free: between two that are not, λ goes
    to the root of p as it looks now."""
    recorder.same = np.inf  # nothing in the box was overlooked
    lam, warm, curvature = look(recorder, domain, lam)
    root, eps, here = _Root(), FIRST_EPS, np.nan  # f″ by looks far apart is not that of here
    for _ in range(max_iter):
        now = recorder.evaluate(lam, eps, warm)
        root.learn(float(lam[0]), float(now.grad[0]), gradient_error(now, eps))
        gain = _judged(recorder, domain, now, eps, here, tol)
        warm = now.warm
        if gain > tol:
            wanted, warm, here = _root(recorder, domain, now, curvature)
            lam = domain.project(np.array([root.inside(float(lam[0]), float(wanted[0]))]))
            curvature = here
        eps = _goal(now, here, tol)
    return now


def _root(
    recorder: Recorder, domain: Box, now: Evaluation, curvature: float
) -> tuple[Array, Any, float]:
    """The root of p by one free look, where to start from there, and p′."""
    p = now.grad
    size = np.abs(p) / curvature if curvature > 0 else LONGEST
    lam = domain.project(now.lam - np.sign(p) * np.clip(size, LEAST, LONGEST))
    if lam[0] == now.lam[0]:
        return lam, now.warm, curvature
    there = recorder.evaluate(lam, np.inf, now.warm)
    slope = float((there.grad[0] - p[0]) / (lam[0] - now.lam[0]))
    if not slope > 0:
        return lam, there.warm, np.nan
    step = np.clip(-there.grad / slope, -SHORT, SHORT)
    return domain.project(lam + step), there.warm, slope


def look(recorder: Recorder, domain: Box, lam: Array) -> tuple[Array, Any, float]:
    """The least of some values in the box, from strong to weak penalties: λ, warm start and f″.

    For a criterion whose values cost nothing. The window around λ is moved up or down while the
    least is at its end; the parabola through the least and its neighbours says where between them.
    """
    low, high = float(domain.lower[0]), float(domain.upper[0])
    found: dict[float, tuple[float, Any]] = {}
    warm, at = None, min(high, float(lam[0]) + ABOVE)
    while True:
        here = recorder.value(np.array([at]), np.inf, warm)
        warm = here.warm
        found[at] = (here.value, warm)
        best = min(found, key=lambda lam: found[lam][0])
        top, bottom = max(found), min(found)
        found = {k: (v, w if k in (best, top) else None) for k, (v, w) in found.items()}
        risen = found[bottom][0] > RISEN * found[best][0] or bottom <= low
        deep = bottom <= float(lam[0]) - BELOW and bottom < best
        if not (risen or deep):
            at = max(low, bottom - SPACING)
        elif best == top and top < high:
            at, warm = min(high, top + SPACING), found[top][1]
        else:
            break
    warm, places = found[best][1], sorted(found)
    k = places.index(best)
    if k in (0, len(places) - 1):
        return np.array([best]), warm, np.nan
    around = [places[k - 1], best, places[k + 1]]
    a, b, c = np.polyfit(np.array(around) - best, [found[place][0] for place in around], 2)
    if not a > 0:
        return np.array([best]), warm, np.nan
    lowest = abs(c - b**2 / (4 * a))
    move = -b / (2 * a) + np.sqrt(DOUBT * lowest / a)
    return np.array([min(best + move, places[k + 1])]), warm, float(2 * a)


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


def _by_secants(
    recorder: Recorder, domain: Box, lam: Array, tol: float, max_iter: int
) -> Evaluation:
    """ε shrinks when the error of p is too large for the next decision."""
    root, warm, eps = _Root(), None, FIRST_EPS
    for k in range(1, max_iter + 1):
        now = recorder.evaluate(lam, eps, warm)
        warm, at, p, error = now.warm, float(lam[0]), float(now.grad[0]), gradient_error(now, eps)
        root.learn(at, p, error)
        gain = _judged(recorder, domain, now, eps, root.curvature, tol)
        goal = _goal(now, root.curvature, tol)
        flat = LONGEST * (abs(p) + error) <= tol * abs(now.corrected)
        if np.isnan(root.before[0]) and flat:  # a start at the minimum: how does f bend?
            wanted, lam = error, domain.project(lam - np.where(now.grad > 0, SHORT, -SHORT))
        elif error > SURE * abs(p) or gain <= tol:
            wanted = max(goal, SURE * abs(p))
            if eps <= ROUNDING * max(1.0, abs(now.corrected)):
                raise Stop(
                    "stalled",
                    f"Stalled at step {k}: the error of the gradient stays at {error:.1e}, as "
                    f"large as the gradient itself. {now.note}".rstrip(),
                )
        else:
            wanted = max(goal, NEXT * abs(p))
            lam = domain.project(np.array([root.next(at, p)]))
        if error > wanted or (gain <= tol and lam[0] == at):
            eps *= float(np.clip(0.5 * wanted / (error or 1.0), *SHRINK))
    return now


def _goal(now: Evaluation, curvature: float, tol: float) -> float:
    """The error of p below which nothing is left to gain."""
    return GOAL * float(np.sqrt(2 * curvature * tol * abs(now.corrected))) if curvature > 0 else 0.0


def _judged(
    recorder: Recorder, domain: Box, now: Evaluation, eps: float, curvature: float, tol: float
) -> float:
    """The share of the loss that is still to gain; stops where it is at most `tol`.

    (|p| + error)²/2p′: unknown where f is not convex.
    """
    p, error, size = float(now.grad[0]), gradient_error(now, eps), abs(now.corrected) or 1.0
    known = curvature if curvature > 0 else abs(p) or 1.0
    outward = domain.project(now.lam - np.sign(now.grad))[0] == now.lam[0] and p != 0.0
    recorder.record(now, eps, 1 / known, 0.0 if outward else abs(p) / known)
    gain = (abs(p) + error) ** 2 / (2 * curvature) / size if curvature > 0 else np.inf
    if outward and error <= SURE * abs(p):
        _converged(recorder, 0.0, tol, on_bounds(now.lam, now.grad, domain))
    if abs(p) + error <= ROUNDING * size:
        _converged(recorder, 0.0, tol, "There is no slope at all.")
    if gain <= tol and abs(now.corrected - now.value) <= SETTLED * tol * size:
        _converged(recorder, gain, tol)
    recorder.stop_if_asked()
    return gain


def _converged(recorder: Recorder, gain: float, tol: float, note: str = "") -> None:
    last = recorder.trace[-1]
    sentence = (
        f"Converged at step {last.k}: the loss can still fall by about {gain:.1e} of itself, at "
        f"most the {tol:g} asked for."
    )
    raise Stop("converged", " ".join(filter(None, (sentence, note, last.evaluation.note))))
