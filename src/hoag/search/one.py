"""One hyperparameter: the root of p(λ), by safeguarded secants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag.search.recorder import Recorder, Stop
from hoag.search.steps import gradient_error
from hoag.values import Array, Box, Evaluation

# The first tolerance, the paper's ε₁.
FIRST_EPS = 0.1

# A step is taken when the error of p is at most this share of |p|; before that λ stays.
SURE = 1.0
# A side of the root is closed for good only when the sign of p there is beyond doubt.
CERTAIN = 0.1
# After a secant step p is expected to be a third of what it was, and wanted to 30 % of that.
NEXT = 0.1
# Near the end the error may be this share of the slope at which nothing is left to gain.
GOAL = 0.5

# The longest step; it doubles while f is concave, which it is where it is flat.
LONGEST = 2.0

# How far apart the first looks over the box are, where they cost nothing.
SPACING = 3.0
# They begin so far above the start, go at least so far below it, and on where the least is at an
# end.
ABOVE, BELOW = 6.0, 12.0
# None is taken further down than where the loss has risen so many times above the least.
RISEN = 1.5
# They are right to this, and too low where the penalty is weak: of λ that look alike, the largest.
DOUBT = 0.02

# A slope of this share of the loss is rounding.
FLAT = 1e-14

# The value itself is to be known to so many times `tol`.
SETTLED = 5.0


@dataclass
class _Root:
    """Where the root of p may lie, and how p changes."""

    low: float
    high: float
    curvature: float = np.nan
    longest: float = LONGEST
    last: tuple[float, float, float] | None = None  # λ, p and its error

    def learn(self, lam: float, p: float, error: float) -> None:
        if self.last is not None and lam != self.last[0]:
            change, noise = p - self.last[1], error + self.last[2]
            if abs(change) > 2 * noise:
                self.curvature = change / (lam - self.last[0])
                self.longest = LONGEST if self.curvature > 0 else 2 * self.longest
        self.last = (lam, p, error)
        if error <= CERTAIN * abs(p):
            self.low, self.high = (self.low, lam) if p > 0 else (lam, self.high)

    def next(self, lam: float, p: float) -> float:
        """λ − p/p′, no further than `longest`, and on the side where the root is."""
        step = -p / self.curvature if self.curvature > 0 else -np.sign(p) * self.longest
        wanted = lam + float(np.clip(step, -self.longest, self.longest))
        if self.low < wanted < self.high or self.low >= self.high:
            return wanted
        edge = self.low if wanted <= self.low else self.high
        return 0.5 * (lam + edge)

    def gain(self, p: float, error: float) -> float:
        """What the loss can still fall by: (|p| + error)²/2p′; unknown where f is not convex."""
        return (abs(p) + error) ** 2 / (2 * self.curvature) if self.curvature > 0 else np.inf


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
        risen = found[bottom][0] > RISEN * found[best][0] or bottom <= low
        deep = bottom <= float(lam[0]) - BELOW and bottom < best
        if not (risen or deep):
            at = max(low, bottom - SPACING)
        elif best == top and top < high:
            at, warm = min(high, top + SPACING), found[top][1]
        else:
            break
    places = sorted(found)
    k = places.index(best)
    if k in (0, len(places) - 1):
        return np.array([best]), found[best][1], np.nan
    below, above = places[k - 1] - best, places[k + 1] - best
    slopes = [
        (found[places[j]][0] - found[best][0]) / d for j, d in ((k - 1, below), (k + 1, above))
    ]
    curvature = 2 * (slopes[1] - slopes[0]) / (above - below)
    if not curvature > 0:
        return np.array([best]), found[best][1], np.nan
    middle = -(slopes[0] - 0.5 * curvature * below) / curvature
    lowest = found[best][0] - 0.5 * curvature * middle**2
    stronger = np.sqrt(2 * DOUBT * abs(lowest) / curvature)
    return np.array([best + min(middle + stronger, above)]), found[best][1], curvature


def descend(recorder: Recorder, domain: Box, lam: Array, tol: float, max_iter: int) -> None:
    low, high = float(domain.lower[0]), float(domain.upper[0])
    root, warm = _Root(-np.inf, np.inf), None
    eps = FIRST_EPS
    measures = getattr(recorder.criterion, "free_looks", False)
    if measures and low < high:
        lam, warm, root.curvature = look(recorder, domain, lam)
        recorder.same = np.inf  # nothing in the box was overlooked
    for k in range(1, max_iter + 1):
        now = recorder.evaluate(lam, eps, warm)
        warm, at, p = now.warm, float(lam[0]), float(now.grad[0])
        error, size = gradient_error(now, eps), abs(now.corrected) or 1.0
        root.learn(at, p, error)
        outward = (at <= low and p > 0) or (at >= high and p < 0)
        curvature = root.curvature if root.curvature > 0 else abs(p) or 1.0
        recorder.record(now, eps, 1 / curvature, 0.0 if outward else abs(p) / curvature)
        gain = root.gain(p, error) / size
        if outward and error <= SURE * abs(p):
            _converged(k, 0.0, tol, now, f"lam[0] = {at:g} is on its bound.")
        if abs(p) + error <= FLAT * size:
            _converged(k, 0.0, tol, now, "There is no slope at all.")
        settled = abs(now.corrected - now.value) <= SETTLED * tol * size
        if gain <= tol and settled:
            _converged(k, gain, tol, now)
        recorder.stop_if_asked()
        goal = GOAL * np.sqrt(2 * root.curvature * tol * size) if root.curvature > 0 else 0.0
        wanted = max(goal, SURE * abs(p))
        if error > SURE * abs(p) or gain <= tol:
            if _exhausted(now, error, eps):
                raise Stop("stalled", _stalled(k, now, error))
        else:
            lam = domain.project(np.array([root.next(at, p)]))
            wanted = max(goal, NEXT * abs(p))
        if measures and not gain <= tol and lam[0] != at:  # the root as this space sees it
            there = recorder.evaluate(lam, np.inf, warm)
            slope = float((there.grad[0] - p) / (lam[0] - at))
            if slope > 0:
                root.curvature = slope
                step = float(np.clip(-there.grad[0] / slope, -LONGEST, LONGEST))
                lam, warm = domain.project(lam + step), there.warm
                wanted = goal
        if measures:
            eps = wanted
        elif error > wanted:
            eps *= float(np.clip(0.5 * wanted / error, 0.01, 0.5))
    raise Stop(
        "max_iter",
        f"Stopped after max_iter = {max_iter} steps, before the loss had settled to within {tol:g} "
        f"of itself. {now.note}".rstrip(),
    )


def _exhausted(now: Evaluation, error: float, eps: float) -> bool:
    """Whether a smaller tolerance would change nothing."""
    return eps < 1e-13 * max(1.0, abs(now.corrected))


def _converged(k: int, gain: float, tol: float, now: Evaluation, note: str = "") -> None:
    raise Stop(
        "converged",
        f"Converged at step {k}: the loss can still fall by about {gain:.1e} of itself, at most "
        f"the {tol:g} asked for. {note} {now.note}".rstrip().replace("  ", " "),
    )


def _stalled(k: int, now: Evaluation, error: float) -> str:
    return (
        f"Stalled at step {k}: the error of the gradient stays at {error:.1e}, as large as the "
        f"gradient itself. {now.note}".rstrip()
    )
