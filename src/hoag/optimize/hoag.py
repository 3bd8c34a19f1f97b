"""Algorithm 1 of "Hyperparameter optimization with approximate gradient" (Pedregosa, 2016)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hoag._core.domain import Domain
from hoag._core.errors import InvalidInput
from hoag._core.numeric import FALLEN, Array
from hoag._core.result import Ask, Evaluation, Status
from hoag._criteria.base import Traits
from hoag.optimize.asks import (
    ACCURACY,
    Evaluate,
    Lipschitz,
    Note,
    Steps,
    check_max_iter,
    on_bounds,
    sentence,
)
from hoag.optimize.base import Search
from hoag.optimize.curvature import steepest
from hoag.optimize.steps import AHEAD, Adaptive, StepRule, gradient_error
from hoag.schedules import Exponential, Schedule


class Hoag(Search):
    """λ_{k+1} = P_D(λ_k − p_k/L), with p_k computed only to the tolerance ε_k.

    Where the error of p_k was measured and is as large as p_k, λ stays for the next, smaller ε.

    schedule     k ↦ ε_k, for k = 1, 2, …
    step         Adaptive() as in the paper's experiments, or Constant(L) as in Theorem 2
    tol          stop when the gradient mapping ‖λ − P_D(λ − p/L₁)‖ plus the error of p over L₁ is
                 at most tol. L₁ = ‖p₁‖ is the first L, so a shrinking step does not count: tol is
                 relative to the first gradient, or to 1e-3 of the first loss where that is
                 larger, so that a start near the optimum can stop. An error that was not measured
                 counts as ε_k.
    gain         stop also when the loss can fall by no more than this share of itself, judged from
                 the last steps: five times the decrease (L/2)(‖λ − P_D(λ − p/L)‖ + error/L)² that
                 one more promises, while no hyperparameter, moved by one, promises more than five
                 times `gain`. 0: never for this reason
    max_iter     the most evaluations
    time_budget  seconds; looked at within evaluations, too

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds, search=hoag.optimize.Hoag(gain=1e-4))
    >>> result.converged, len(result.trace) > 1
    (True, True)
    """

    domains = Domain

    # tol is relative to the first gradient, or to this share of the first loss where that is more.
    LEAST_SCALE = 1e-3

    # Stalled: the step size has shrunk by this factor since the start, so many steps were each
    # shorter than it, and the gradient mapping is as large as before them.
    STALLED = 1e-3
    STALL_STEPS = 10

    def __init__(
        self,
        schedule: Schedule | None = None,
        step: StepRule | None = None,
        tol: float = 1e-5,
        gain: float = 0.0,
        max_iter: int = 200,
        time_budget: float | None = None,
    ) -> None:
        check_max_iter(max_iter)
        for name, value in (("schedule", schedule), ("step", step)):
            if isinstance(value, type):
                raise InvalidInput(f"{name}={value.__name__} is a class: write {value.__name__}().")
        if schedule is not None and not callable(schedule):
            raise InvalidInput(f"schedule={schedule!r}: give a function k ↦ ε_k.")
        if step is not None and not isinstance(step, StepRule):
            raise InvalidInput(f"step={step!r}: give Adaptive() or Constant(L).")
        if not tol >= 0:
            raise InvalidInput(f"tol={tol}: it must be a number ≥ 0.")
        self.schedule = schedule or Exponential()
        self.step = step or Adaptive()
        if not gain >= 0:
            raise InvalidInput(f"gain={gain}: it must be a number ≥ 0.")
        self.tol = tol
        self.gain = gain
        self.max_iter = max_iter
        self.time_budget = time_budget

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        return max(ACCURACY, self.gain)

    def steps(self, domain: Domain, lam0: Array, traits: Traits) -> Steps:
        C = (yield Lipschitz()) if self.step.needs_lipschitz else np.nan
        lam, L, scale, waited_with = lam0, np.nan, np.nan, np.inf
        now: Evaluation | None = None
        taken: deque[_Taken] = deque(maxlen=self.STALL_STEPS + 1)
        first_size, most = np.nan, int(self.max_iter or 1)
        origin: tuple[float, Evaluation, float] | None = None  # L, p, ε of the last step taken
        for k in range(1, most + 1):
            eps = self._tolerance(k)
            now = yield Evaluate(lam, Ask(eps), now)  # (i), (ii), (iii)
            p = now.grad
            if origin is None:
                L = self.step.first(p)
                scale = max(float(np.linalg.norm(p)), self.LEAST_SCALE * abs(now.value)) or 1.0
                first_size = 1 / L
            else:
                L = self.step.next(origin[0], C, origin[1], now, (origin[2], eps))
            mapping = float(np.linalg.norm(lam - domain.project(lam - p / scale)))
            yield Note(1 / L, mapping)
            error = gradient_error(now, eps, traits.exact)
            note = sentence(on_bounds(lam, p, domain), now.note)
            taken.append(_Taken(lam, 1 / L, mapping))
            status = (
                self._stationary(k, mapping, error / scale, note)
                or self._no_gain(k, now, error, taken, domain, note)
                or self._stalled(k, taken, first_size, now.note)
            )
            if status is not None:
                return status
            # Where the direction is not known yet: stay and let ε shrink, while that helps.
            waits = now.error >= np.linalg.norm(p) and error < FALLEN * waited_with and error > 0
            waited_with = error if waits else np.inf
            if waits:
                continue
            origin = (L, now.light(), eps)
            lam = domain.project(lam - p / L)  # (iv)
        if self.gain > self.tol:
            state = f", before the loss had settled to within {self.gain:g} of itself."
        else:
            state = (
                f" with the gradient mapping at {mapping:.1e} and its error at "
                f"{error / scale:.1e}, together above tol = {self.tol:g}."
            )
        why = f"Stopped after max_iter = {self.max_iter} steps{state}"
        return Status("max_iter", sentence(why, now.note if now else ""))

    def _tolerance(self, k: int) -> float:
        eps = float(self.schedule(k))
        if not (np.isfinite(eps) and eps >= 0):
            raise InvalidInput(f"The schedule gave ε_{k} = {eps}; it must be a number ≥ 0.")
        return eps

    def _stationary(self, k: int, mapping: float, error: float, note: str) -> Status | None:
        if not mapping + error <= self.tol:
            return None
        why = (
            f"Converged at step {k}: the gradient mapping is {mapping:.1e} and its error "
            f"{error:.1e}, together at most tol = {self.tol:g}."
        )
        return Status("converged", sentence(why, note))

    def _no_gain(
        self,
        k: int,
        now: Evaluation,
        error: float,
        taken: Sequence[_Taken],
        domain: Domain,
        note: str,
    ) -> Status | None:
        """What more steps may gain, and the steepest slope in the box, as shares of the loss."""
        # a step that was just halved says little about the curvature
        L = min(1 / step.size for step in list(taken)[-self.STALL_STEPS // 2 :])
        step = float(np.linalg.norm(now.lam - domain.project(now.lam - now.grad / L)))
        ahead = AHEAD * L / 2 * (step + error / L) ** 2
        steep = steepest(now.lam, now.grad, domain)
        size = abs(now.value) or 1.0
        if not (ahead <= self.gain * size and steep <= AHEAD * self.gain * size):
            return None
        why = (
            f"Converged at step {k}: the loss can still fall by about {ahead / size:.1e} of "
            f"itself, at most the {self.gain:g} asked for."
        )
        return Status("converged", sentence(why, note))

    def _stalled(
        self, k: int, taken: Sequence[_Taken], first_size: float, note: str
    ) -> Status | None:
        last = list(taken)
        collapsed = last[-1].size < self.STALLED * first_size
        falling = last[-1].mapping < FALLEN * last[0].mapping
        if len(last) <= self.STALL_STEPS or not collapsed or falling:
            return None
        moves = [np.linalg.norm(b.lam - a.lam) for a, b in pairwise(last)]
        waited = min(moves) == 0  # for a smaller ε, which is no collapse
        if not (max(moves) < self.STALLED and last[-1].mapping > self.tol and not waited):
            return None
        why = (
            f"Stalled at step {k}: the last {self.STALL_STEPS} steps moved less than "
            f"{self.STALLED:g} each, the step size is down to {last[-1].size:.1e}, and the "
            f"gradient mapping is still {last[-1].mapping:.1e}, above tol = {self.tol:g}. The step "
            "rule asks for more descent than g shows at these tolerances: try Adaptive() with a "
            "larger C, or a tighter schedule."
        )
        return Status("stalled", sentence(why, note))


class _Taken(NamedTuple):
    lam: Array
    size: float
    mapping: float
