"""Projected quasi-Newton steps for two hyperparameters or a hundred thousand, in any convex set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from hoag._core.domain import Box, Domain
from hoag._core.numeric import FALLEN, ROUNDING, ROUNDOFF, SUFFICIENT, Array
from hoag._core.result import Ask, Evaluation
from hoag._criteria.base import SETTLED
from hoag._schedules import FLOOR
from hoag.optimize._asks import Asking, Evaluate, Note, Steps, Stopped
from hoag.optimize._steps import (
    AHEAD,
    LONGEST,
    SHORTEST,
    TINY,
    Descent,
    M,
    Mask,
    acting,
    by_one,
    free,
    mapping,
    size,
    steepest,
)

# Pairs (s, y) kept: 12 of the 20 vectors of a search. On MNIST 4, 8 and 16 do the same.
MEMORY = 6
# No scale is below this share of the mean: what has no slope yet may have one later.
LEAST_SCALE = 0.1
# The longest step doubles when f falls by this share of what the slope promises.
GOOD = 0.25
# Where values are too uncertain, the mean of two slopes decides; but after a long step values must
# be known to this share of what was promised: on 20news slopes alone led up a hill. And y is noise
# below this share of the errors of the two gradients, which are estimated high.
FAINT = 0.1
DOWN = 0.01  # the least cosine of a step with the gradient
# After so many refusals p is suspected, and computed again.
REFUSALS = 2
# The first ε as a share of the loss at x₀: far too large, for what is too large costs nothing.
LOOSE = 1e-2
# ε is chosen for an error of this share of p, or of its last change where that is smaller, or the
# pairs would be noise (digits, a penalty a class: 4 times the passes).
AIM = 0.3
# ε changes by these factors; a sequence with this rate bounds it, so that it is summable.
SHRINK, GROW, RATE = 0.1, 2.0, 0.95
# Two ε with the same p, up to this share of its error, say nothing: both may have left x as it was.
SHOWN = 0.01
# A slope that is steep does not keep a search going where the model promises less than this share
# of the tolerance.
CERTAIN = 1e-3


def descend(domain: Domain, lam: Array, tol: float, max_iter: int, exact: bool = False) -> Steps:
    """λ ← P_D(λ − B⁻¹p), no hyperparameter by more than r ≤ 2, until f can only fall by tol·|f|.

    B is an L-BFGS matrix that starts from a diagonal: the sizes of the slopes seen so far. Where λ
    is a logarithm, f″ is about as large as f′, so each hyperparameter moves by about one
    at first, and not only the steepest. r shrinks when f does not fall; the pair of a refused step
    is kept. ε follows the measured error of p; where that is nan, the error is taken to be in
    proportion to ε, as it was when λ was last evaluated with two of them.

    In a domain that is no box a step is argmin over λ + d in D of p·d + ½dᵀBd, and B is σI with the
    last pairs of BFGS. With σ alone it is the step of the spectral projected gradient,
    P_D(λ − p/σ) − λ; with pairs it takes many of those, each a projection and none an evaluation.
    """
    box = domain.as_box()
    args = tol, max_iter, exact
    steps = InSet(domain, *args) if box is None else InBox(box, *args)
    return (yield from steps.from_there(domain.project(lam)))


class SecantModel:
    """B⁻¹p by the two loops of L-BFGS, from a diagonal in proportion to the slopes seen."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array]] = deque(maxlen=MEMORY)
        self.squares: Array | None = None

    def see(self, p: Array) -> None:
        old = p**2 if self.squares is None else self.squares
        self.squares = (old + p**2) / 2

    def solve(self, p: Array, free: Mask) -> Array:
        """B⁻¹p on the free hyperparameters, 0 on the others; pairs with s·y < 0 are left out."""
        r = np.where(free, p, 0.0)
        sizes = np.sqrt(r**2 if self.squares is None else self.squares)
        diagonal = sizes + LEAST_SCALE * float(np.mean(sizes)) + TINY
        kept = []
        for s, y in reversed(self.pairs):
            sy = float(s @ np.where(free, y, 0.0))
            if sy > np.sqrt(ROUNDOFF) * float(np.linalg.norm(s) * np.linalg.norm(y)):
                a = float(s @ r) / sy
                r -= a * np.where(free, y, 0.0)
                kept.append((s, y, sy, a))
        scale = 1.0
        if kept:
            _, y, sy, _ = kept[0]
            scale = sy / float(np.sum(np.where(free, y, 0.0) ** 2 / diagonal))
        r *= scale / diagonal
        for s, y, sy, a in reversed(kept):
            r += np.where(free, (a - float(y @ r) / sy) * s, 0.0)
        return r


class Here(NamedTuple):
    now: Evaluation
    eps: float


class SecantDescent(Descent, ABC):
    """Steps that are taken, refused and learnt from, each with the ε that the next decision needs.

    How a step is made of p, and how much of p the domain lets act, is for those who derive from it.
    """

    ratio = M  # error/ε where that is not measured; ∞ where it is found out at the start

    def __init__(self, domain: Domain, tol: float, max_iter: int, exact: bool) -> None:
        super().__init__(domain, tol, max_iter)
        self.exact, self.model, self.radius = exact, SecantModel(), LONGEST
        self.first = self.most = self.eps = np.inf  # ε
        self.change = np.inf  # the last ‖y‖
        self.stuck: Array | None = None  # a λ that is not known better with a smaller ε

    @abstractmethod
    def _to_least(self, now: Evaluation) -> Array:
        """The step to where the model is least in the domain."""

    def _step(self, now: Evaluation, radius: float) -> Array:
        """As long as the radius allows; without pairs if it hardly descends."""
        step = self._to_least(now)
        step = step * min(1.0, radius / max(float(np.max(np.abs(step))), TINY))
        down = self._slope(now) * float(np.linalg.norm(step)) + TINY
        if -float(now.grad @ step) > DOWN * down or not self.model.pairs:
            return step
        self.model.pairs.clear()
        return self._step(now, radius)

    def _slope(self, now: Evaluation) -> float:
        """‖p‖, without what the domain holds back."""
        return float(np.linalg.norm(self._acting(now)))

    def _acting(self, now: Evaluation) -> Array:
        return acting(now.lam, now.grad, self.domain)

    def _tells(self, step: Array, y: Array, error: float) -> bool:
        """Whether y, up to its error, says how f curves along the step."""
        return bool(np.linalg.norm(y) > FAINT * error)

    def _steep(self, now: Evaluation) -> float:
        """What p promises for a move by one, of λ that have two bounds of their own."""
        bounded = np.all(np.isfinite(self.domain.sides(now.lam.size)), axis=0)
        return steepest(now.lam, np.where(bounded, now.grad, 0.0), self.domain)

    def from_there(self, lam: Array, start: Evaluation | None = None) -> Steps:
        """From λ; or from an evaluation on fewer rows, with all that was learnt there."""
        try:
            yield from self._run(lam, start)
        except Stopped as end:
            return end.status
        raise AssertionError("a descent ends by Stopped")

    def _run(self, lam: Array, start: Evaluation | None) -> Asking[None]:
        here = yield from self._at(lam, self.eps, start)
        here = yield from self._clear(here)
        here = yield from self._going_on(here)
        self.model.see(here.now.grad)
        refusals = 0
        while True:
            step = self._step(here.now, self.radius)
            there = self.domain.project(here.now.lam + step)  # it was inside, up to rounding
            trial = yield from self._at(there, self._next_eps(here), here.now)
            trial = yield from self._clear(trial)
            promise, fall = -float(here.now.grad @ step), self._fall(here, trial, step)
            while fall is None:
                trial = yield from self._refined(trial)
                fall = self._fall(here, trial, step)
            self._learn(here, trial, step)
            if fall >= SUFFICIENT * promise:
                longer = 2.0 if fall >= GOOD * promise else 1.0
                farthest = max(LONGEST, 2.0 * float(np.max(np.abs(step))))
                self.radius = min(farthest, self.radius * longer)
                self.most *= RATE
                refusals = 0
                here = yield from self._going_on(trial)
                self.model.see(here.now.grad)
                continue
            refusals += 1
            length = float(np.max(np.abs(step)))
            share = promise / (promise - fall) if promise > fall else 0.0
            self.radius = length * float(np.clip(share / 2, 0.1, 0.5))
            if refusals % REFUSALS == 0 and self._can_refine(here):
                here = yield from self._refined(here)
                here = yield from self._clear(here)
                here = yield from self._going_on(here)
            elif length < SHORTEST:
                why = f"no step longer than {length:.0e} makes the loss fall"
                raise Stopped(self.stalled(here.now, why))

    def _at(self, lam: Array, eps: float, start: Evaluation | None) -> Asking[Here]:
        if self.spent:
            assert start is not None
            raise Stopped(self.out_of_steps(start))
        now = yield Evaluate(lam, Ask(eps), start)
        self.evaluations, self.eps = self.evaluations + 1, eps
        yield Note(self.radius, mapping(lam, now.grad, self.domain, size(now)))
        return Here(now, eps)

    def _error(self, here: Here) -> float:
        if self.exact:
            return 0.0
        error = here.now.own_errors[1]
        return self.ratio * here.eps if np.isnan(error) else error

    def _can_refine(self, here: Here) -> bool:
        if self.stuck is not None and np.array_equal(self.stuck, here.now.lam):
            return False
        return here.eps > FLOOR * self.first or here.eps == np.inf

    def _refined(self, here: Here) -> Asking[Here]:
        """The same λ with a smaller ε, which shows how large the error was."""
        if here.eps == np.inf:
            self.first = self.most = LOOSE * max(abs(here.now.g), size(here.now))
            return (yield from self._at(here.now.lam, self.first, here.now))
        better = yield from self._at(here.now.lam, SHRINK * here.eps, here.now)
        fallen = better.now.f_error < FALLEN * here.now.f_error
        if not (better.now.converged or here.now.converged or fallen):
            self.stuck = better.now.lam  # twice in vain: the inner solver does no better
        shown = float(np.linalg.norm(better.now.grad - here.now.grad)) / here.eps
        self.ratio = M if self.ratio == np.inf else self.ratio
        if shown > SHOWN * self.ratio:
            self.ratio = shown
        return better

    def _next_eps(self, here: Here) -> float:
        """ε for an error of AIM of the gradient, if it goes on in proportion to ε."""
        wanted, error = AIM * min(self._slope(here.now), self.change), self._error(here)
        factor = float(np.clip(wanted / error, SHRINK, GROW)) if error > 0 else GROW
        return float(np.clip(here.eps * factor, FLOOR * self.first, self.most))

    def _clear(self, here: Here) -> Asking[Here]:
        """Wait at λ while the error hides the gradient, and matters."""
        while (here.eps == np.inf and not self.exact) or (
            self._error(here) > max(self._slope(here.now), self.goal(here.now))
            and self._can_refine(here)
        ):
            here = yield from self._refined(here)
        return here

    def _going_on(self, here: Here) -> Asking[Here]:
        """Stop where there is nothing to gain, once the gradient is known well enough to say so."""
        while True:
            now, error, goal = here.now, self._error(here), self.goal(here.now)
            cut = self._step(now, np.inf)
            ahead = -AHEAD / 2 * float(now.grad @ cut)
            steep = self._steep(now)
            if ahead > goal or (steep > AHEAD * goal and ahead > CERTAIN * goal):
                return here
            hidden = max(error / AHEAD, error * float(np.linalg.norm(cut)))
            hidden = max(hidden, 0.0 if self.exact else _gap(now) / SETTLED)
            unmeasured = np.isnan(now.own_errors[1]) and self.stuck is None
            if hidden <= goal or (unmeasured and not self._can_refine(here)):
                raise Stopped(self.converged(now, ahead / size(now)))
            if not self._can_refine(here):
                raise Stopped(self.stalled(now, f"an error of {error:.1e} hides the gradient"))
            here = yield from self._refined(here)

    def _fall(self, here: Here, trial: Here, step: Array) -> float | None:
        """f(λ) − f(λ + s) by values, else by slopes; None where both are worth computing better."""
        old, new, again = here.now, trial.now, self._can_refine(trial)
        fall, far = old.value - new.value, float(np.max(np.abs(step))) > LONGEST / 2
        if abs(fall) > _gap(old) + _gap(new):
            return fall
        if again and far and _gap(new) > -FAINT * float(old.grad @ step):
            return None
        fall = -0.5 * float((old.grad + new.grad) @ step)
        unsure = 0.5 * (self._error(here) + self._error(trial)) * float(np.linalg.norm(step))
        blurred = self._error(trial) >= AIM * self._error(here)  # else it is `here` that is
        return None if again and blurred and abs(fall) <= unsure else fall

    def _learn(self, here: Here, trial: Here, step: Array) -> None:
        """Keep the pair (s, y), also of a refused step, unless y is noise."""
        y = trial.now.grad - here.now.grad
        self.change = float(np.linalg.norm(self._acting(trial.now) - self._acting(here.now)))
        if self._tells(step, y, self._error(here) + self._error(trial)):
            self.model.pairs.append((step, y))


class InBox(SecantDescent):
    """Steps of L-BFGS on what no bound holds; a box says for each hyperparameter which one does."""

    domain: Box

    def _to_least(self, now: Evaluation) -> Array:
        """−B⁻¹p, cut at ±LONGEST."""
        newton = self.model.solve(now.grad, free(now.lam, now.grad, self.domain))
        return self.domain.project(now.lam - np.clip(newton, -LONGEST, LONGEST)) - now.lam


class InSet(SecantDescent):
    """Steps for a λ of which nothing is known but that it can be projected.

    It need not be a logarithm. So the error that goes with an ε is found out at the start, and a
    step may be twice as long as a good one before it.
    """

    ratio = np.inf

    def __init__(self, domain: Domain, tol: float, max_iter: int, exact: bool) -> None:
        super().__init__(domain, tol, max_iter, exact)
        if exact:
            self.first = self.most = self.eps = 0.0  # there is no ε to choose

    def _tells(self, step: Array, y: Array, error: float) -> bool:
        return abs(float(step @ y)) > AIM * error * float(np.linalg.norm(step))

    def _to_least(self, now: Evaluation) -> Array:
        """By about one at first."""
        matrix = SecantMatrix(self.model.pairs, by_one(self._acting(now), now.grad))
        return least(self.domain, now.lam, now.grad, matrix)


class SecantMatrix:
    """B = σI + Σ w uuᵀ, of the pairs (s, y) with s·y > 0; σ = s·y/s·s of the last, else as given.

    Of y only what lies along steps is ever used, so that the part of p that the domain holds back,
    however large, does no harm: y·y/s·y, the usual σ, would have it.
    """

    def __init__(self, pairs: Iterable[tuple[Array, Array]], sigma: float) -> None:
        upwards = []
        for s, y in pairs:
            sy = float(s @ y)
            if sy > np.sqrt(ROUNDOFF) * float(np.linalg.norm(s) * np.linalg.norm(y)):
                upwards.append((s, y, sy))
                sigma = sy / float(s @ s)
        self.sigma = sigma
        self.terms: list[tuple[float, Array]] = []
        for s, y, sy in upwards:
            Bs = self @ s
            self.terms += [(-1.0 / float(s @ Bs), Bs), (1.0 / sy, y)]

    def __matmul__(self, v: Array) -> Array:
        product = self.sigma * v
        for weight, u in self.terms:
            product += weight * float(u @ v) * u
        return product


def least(domain: Domain, lam: Array, p: Array, B: SecantMatrix, most: int = 100) -> Array:
    """The d with λ + d in D for which p·d + ½dᵀBd is least, by spectral projected gradients."""
    d, slope, t = np.zeros(lam.size), p, 1.0 / B.sigma
    for _ in range(most):
        towards = domain.project(lam + d - t * slope) - lam - d
        promise = -float(slope @ towards)
        if promise <= max(-CERTAIN * float(p @ d), 0.0):
            break
        product, square = B @ towards, float(towards @ towards)
        curvature = max(float(towards @ product), ROUNDOFF * B.sigma * square)
        share = min(1.0, promise / curvature)
        d, slope, t = d + share * towards, slope + share * product, square / curvature
    return d


def _gap(now: Evaluation) -> float:
    """The value is nearer to f(λ) than this."""
    return now.own_errors[0] + ROUNDING * abs(now.value)
