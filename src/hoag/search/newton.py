"""Several hyperparameters where ∇²f is known: Newton steps within a trust region.

    s = argmin p·s + ½ sᵀ∇²f s   over λ + s in the box and |sⱼ| ≤ r

∇²f may bend downwards. The start is the best of one λ for all; and before a search says that it has
converged, f is looked at along every axis, from bound to bound, by a model of it: where a penalty
has no effect any more, or leaves nothing of its coefficients, no slope leads out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hoag.criteria.base import Traits
from hoag.search.asks import Asking, Axes, Look, Note, Steps, on_bounds, sentence
from hoag.search.curvature import TINY
from hoag.search.quasi_newton import SHORTEST
from hoag.search.root import RISEN, scan
from hoag.search.steps import AHEAD, LONGEST
from hoag.values import DOUBT, ROUNDING, SUFFICIENT, Array, Ask, Box, Evaluation, Status


def descend(
    domain: Box,
    lam: Array,
    tol: float,
    max_iter: int,
    traits: Traits,
    starts: int = 1,
    taken: int = 0,
) -> Steps:
    """λ ← λ + s until f can fall by no more than tol·|f|, by the model or along any axis.

    From the best shared λ; further starts are drawn around it, and the lowest end is returned.
    `taken` evaluations were made before.
    """
    at, start = yield from shared(domain, lam, traits)
    ends: list[tuple[Evaluation, Status]] = []
    begun: list[Evaluation] = []  # the first at the best shared λ
    for k in range(starts):
        search = _Descent(domain, tol, max_iter, taken)
        begun.append((yield from search.at(at + _away(k, at.size), start)))
        ends.append((yield from search.run(begun[-1])))
    best, status = min(ends, key=lambda end: end[0].value)
    gain = little_gained(begun[0].folds, best.folds) if status.converged else ""
    if starts == 1:
        return replace(status, sentence=sentence(status.sentence, gain))
    yield Look(best.lam, Ask(hessian=True), best)  # so that the search ends where f is lowest
    basins = _basins([end.value for end, _ in ends], tol)
    told = f"{starts} starts ended in {basins} basin{'s' if basins > 1 else ''}."
    return replace(status, sentence=sentence(status.sentence, told, gain))


def little_gained(shared: Array | None, own: Array | None) -> str:
    """That one penalty for all may serve as well, where the gain is within its standard error.

    For the losses of folds, or of rows left out, with one penalty and with several.
    """
    if shared is None or own is None or shared.size < 2 or own.size != shared.size:
        return ""
    gains, total = shared - own, float(shared.sum())
    gain, error = float(gains.sum()), float(np.sqrt(gains.size) * gains.std(ddof=1))
    if gain >= error:
        return ""
    return (
        f"Penalties of their own lower the loss by {max(gain, 0.0) / total:.2%} ± "
        f"{error / total:.2%}, the standard error over the held-out parts: one for all may serve "
        "as well."
    )


def _away(k: int, size: int) -> Array:
    """Where the k-th descent starts, less the best shared λ: at −4, and then far around that.

    Weak penalties show coefficients that strong ones hide. Of 60 hard problems the first descent
    ended within 1e-3 of the best of 13 in 48, four of these in 54, four near the shared λ in 51.
    """
    weaker = -2 * LONGEST * min(k, 1)
    draw = np.random.default_rng(k).uniform(-1, 1, size) if k > 1 else np.zeros(size)
    return np.asarray(weaker + 4 * LONGEST * draw)


def _basins(values: list[float], tol: float) -> int:
    """How many different minima, told apart by their values."""
    ordered = np.sort(values)
    return 1 + int(np.sum(np.diff(ordered) > 10 * tol * np.abs(ordered[1:])))


def shared(domain: Box, lam: Array, traits: Traits) -> Asking[tuple[Array, Evaluation | None]]:
    """The best λ that is the same for all, as looks from strong to weak tell, and a start there."""
    low, high = float(domain.lower.min()), float(domain.upper.max())
    if low == high or traits.looks is None:
        return lam, None
    line, ask, answer = Box(low, high, size=1), Ask(np.inf, free=True), None
    asking = scan(line, traits.looks, ask, risen=RISEN)
    seen: list[tuple[Evaluation, Evaluation]] = []  # as the scan sees them, and as they are

    def whole(start: Evaluation | None) -> Evaluation | None:
        return next((real for along, real in seen if along is start), None)

    while True:
        try:
            look = asking.send(answer)
        except StopIteration as end:
            at = domain.project(np.full(domain.size, end.value.lam))
            return at, whole(end.value.start)
        t = look.lam[0]
        found = yield Look(domain.project(np.full(domain.size, t)), look.ask, whole(look.start))
        moved = (domain.lower <= t) & (t <= domain.upper)
        answer = replace(found, lam=look.lam, grad=np.array([found.grad[moved].sum()]))
        seen.append((answer, found))


class _Descent:
    def __init__(self, domain: Box, tol: float, max_iter: int, taken: int) -> None:
        self.domain, self.tol, self.max_iter = domain, tol, max_iter
        self.evaluations = taken
        self.along_axes = "Every axis was looked at from bound to bound."

    def at(self, lam: Array, start: Evaluation | None) -> Asking[Evaluation]:
        now: Evaluation = yield Look(self.domain.project(lam), Ask(hessian=True), start)
        self.evaluations += 1
        mapping = now.lam - self.domain.project(now.lam - now.grad / _size(now))
        yield Note(np.nan, float(np.linalg.norm(mapping)))
        return now

    def run(self, now: Evaluation) -> Asking[tuple[Evaluation, Status]]:
        usual = LONGEST / 2  # shorter first steps stay in the basin of the shared λ
        radius, refused = usual, False
        while True:
            step = self._step(now, radius)
            promise, goal = _promise(now, step), self.tol * _size(now)
            if AHEAD * promise <= goal:
                if radius < usual and not refused:
                    radius = usual
                    continue
                better = yield from self._elsewhere(now, goal)
                if better is None:
                    better = yield from self._shifted(now, goal)
                if better is None:
                    return self._ended("converged", now, AHEAD * promise)
                if self.evaluations >= self.max_iter:
                    return self._ended("max_iter", now, now.value - better.value)
                now = yield from self.at(better.lam, better)
                radius, refused = usual, False
                continue
            if self.evaluations >= self.max_iter:
                return self._ended("max_iter", now, AHEAD * promise)
            trial = yield from self.at(now.lam + step, now)
            fall, length = now.value - trial.value, float(np.max(np.abs(step)))
            if fall >= SUFFICIENT * promise:
                if fall < promise / 2:
                    radius = length / 2
                elif length > radius / 2:
                    radius = min(2 * radius, LONGEST)
                now, refused = trial, False
                continue
            radius, refused = length / 4, True
            if radius < SHORTEST:
                return self._ended("stalled", now, AHEAD * promise)

    def _step(self, now: Evaluation, radius: float) -> Array:
        """The s of the model, no longer than r along any axis."""
        assert now.hessian is not None
        low = np.maximum(self.domain.lower - now.lam, -radius)
        high = np.minimum(self.domain.upper - now.lam, radius)
        return least(now.grad, now.hessian, low, high)

    def _elsewhere(self, now: Evaluation, goal: float) -> Asking[Evaluation | None]:
        """A look at a λ that differs along an axis, or some, and has a lower f, if there is one.

        A model says where f may be lower by more than `goal`; that it is so, looks.
        """
        spans = self.domain.upper - self.domain.lower
        count = int(np.ceil(2 * float(np.max(spans)) / LONGEST)) + 1
        places = np.linspace(self.domain.lower, self.domain.upper, count, axis=1)
        values = yield Axes(now, places)
        if values is None:
            self.along_axes = ""
            return None
        gains = now.value - np.where(np.isfinite(values), values, np.inf)
        most = np.max(gains, axis=1)
        # Of places that promise about as much, the nearest.
        far = np.where(2 * gains >= most[:, None], np.abs(places - now.lam[:, None]), np.inf)
        best = np.take_along_axis(places, np.argmin(far, axis=1)[:, None], axis=1)[:, 0]
        for axes in _tries(most, goal):
            lam = now.lam.copy()
            lam[axes] = best[axes]
            trial: Evaluation = yield Look(lam, Ask(np.inf, gradient=False, free=True), now)
            if trial.value - DOUBT * trial.f_error < now.value:  # worth a closer look
                trial = yield Look(lam, Ask(free=True, gradient=False), trial)
                if trial.value < now.value - goal / 2:
                    return trial
        return None

    def _shifted(self, now: Evaluation, goal: float) -> Asking[Evaluation | None]:
        """A look at a λ that differs by the same along all axes, where no model says what f does.

        With more columns than rows only the ratios of weak penalties matter, and f is flat there.
        """
        assert now.hessian is not None
        if abs(now.grad.sum()) + 0.5 * abs(now.hessian.sum()) > AHEAD * goal:
            return None
        for away in (-LONGEST, LONGEST, -4 * LONGEST, 4 * LONGEST):
            lam = self.domain.project(now.lam + away)
            trial: Evaluation = yield Look(lam, Ask(free=True, gradient=False), now)
            if trial.value < now.value - goal / 2:
                return trial
        return None

    def _ended(self, reason: str, now: Evaluation, gain: float) -> tuple[Evaluation, Status]:
        left = f"the loss can still fall by about {gain / _size(now):.1e} of itself"
        why = {
            "converged": f"Converged at step {self.evaluations}: {left}, at most the {self.tol:g} "
            "asked for.",
            "max_iter": f"Stopped after max_iter = {self.max_iter} steps: {left}.",
            "stalled": f"Stalled at step {self.evaluations}: {left}, and no step makes it fall.",
        }[reason]
        looked = self.along_axes if reason == "converged" else ""
        # A tolerance that was not met matters where f is not known for it.
        unmet = "" if now.f_error <= self.tol * _size(now) else now.note
        note = on_bounds(now.lam, now.grad, self.domain)
        return now, Status(reason, sentence(why, looked, note, unmet))


def least(p: Array, B: Array, low: Array, high: Array) -> Array:
    """A minimum of p·s + ½sᵀBs over low ≤ s ≤ high, from s = 0; B may bend downwards.

    Newton steps in what no bound holds, with |e| in place of the eigenvalues e: down along
    directions that bend downwards, until a bound ends them. Where bounds turn such a step so far
    that it gains little, one along the slope gains more, and brings others to their bounds.
    """
    s, value, steepest = np.zeros(p.size), 0.0, np.linalg.norm(B) + TINY

    def along(d: Array, r: Array) -> tuple[float, Array]:
        t = 1.0
        while t > SHORTEST:
            trial = np.clip(s + t * d, low, high)
            there = float(p @ trial + 0.5 * trial @ B @ trial)
            if there < value + SUFFICIENT * float(r @ (trial - s)):
                return there, trial
            t /= 2
        return value, s

    for _ in range(10 * p.size):
        r = p + B @ s
        free = ~(((s <= low) & (r > 0)) | ((s >= high) & (r < 0)))
        if not np.any(r[free]):
            break
        e, V = np.linalg.eigh(B[np.ix_(free, free)])
        sizes = np.maximum(np.abs(e), ROUNDING * float(np.abs(e).max()) + TINY)
        d = np.zeros(p.size)
        d[free] = -V @ ((V.T @ r[free]) / sizes)
        before = value
        lower, there = along(d, r)
        if before - lower <= 0.5 * abs(before):
            lower, there = min((lower, there), along(-r / steepest, r), key=lambda end: end[0])
        value, s = lower, there
        if before - value <= SUFFICIENT * abs(value):
            break
    return s


def _tries(most: Array, goal: float) -> Iterator[list[int]]:
    """Which axes to move: all that promise a gain, then the half that promises more, and so on."""
    order = [int(j) for j in np.argsort(-most) if most[j] > goal]
    while order:
        yield order
        order = order[: len(order) // 2]


def _promise(now: Evaluation, step: Array) -> float:
    assert now.hessian is not None
    return -float(now.grad @ step + 0.5 * step @ now.hessian @ step)


def _size(now: Evaluation) -> float:
    return abs(now.value) or 1.0
