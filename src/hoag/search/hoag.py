"""Algorithm 1 of "Hyperparameter optimization with approximate gradient" (Pedregosa, 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hoag.criterion import Criterion
from hoag.schedules import Exponential, Schedule
from hoag.search.recorder import OnStep, Recorder, Stop, check_max_iter, on_bounds
from hoag.search.steps import Adaptive, StepRule, gradient_error
from hoag.values import Array, Box, Evaluation, InvalidInput, Result, Settings, Step


class Hoag(Settings):
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
                 the last steps: AHEAD times the decrease (L/2)(‖λ − P_D(λ − p/L)‖ + error/L)²
                 that one more promises, while no hyperparameter, moved by one, promises more than
                 STEEP times `gain`. 0: never for this reason
    max_iter     the most evaluations
    time_budget  seconds; looked at after every evaluation
    """

    # tol is relative to the first gradient, or to this share of the first loss where that is more.
    LEAST_SCALE = 1e-3

    # Stalled: the step size has shrunk by this factor since the start, so many steps were each
    # shorter than this length, and the gradient mapping is as large as before them.
    STALL_SHRINK = 1e-3
    STALL_STEPS = 10
    STALL_LENGTH = 1e-3

    # Steps of gradient descent gain less and less; together about so many times the next one, with
    # L the least of the last few, for a step that was just halved says little about the curvature.
    AHEAD = 5.0
    STEEP = 5.0
    LAST_STEPS = 5

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
        if step is not None and not hasattr(step, "next"):
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

    def minimize(
        self, criterion: Criterion, domain: Box, lam0: Array, on_step: OnStep | None = None
    ) -> Result:
        recorder = Recorder(criterion, on_step, self.time_budget)
        recorder.same = max(recorder.same, self.gain)
        return recorder.run(lambda recorder: self._descend(recorder, domain, lam0))

    def _descend(self, recorder: Recorder, domain: Box, lam: Array) -> None:
        C = recorder.outer_lipschitz() if self.step.needs_lipschitz else np.nan
        L, scale, warm, waited_with = np.nan, np.nan, None, np.inf
        origin: tuple[float, Evaluation, float] | None = None  # L, p, ε of the last step taken
        for k in range(1, self.max_iter + 1):
            eps = self._tolerance(k)
            now = recorder.evaluate(lam, eps, warm)  # (i), (ii), (iii)
            p = now.grad
            if origin is None:
                L = self.step.first(p)
                scale = max(float(np.linalg.norm(p)), self.LEAST_SCALE * abs(now.value)) or 1.0
            else:
                L = self.step.next(origin[0], C, origin[1], now, (origin[2], eps))
            mapping = float(np.linalg.norm(lam - domain.project(lam - p / scale)))
            recorder.record(now, eps, 1 / L, mapping)
            note = f"{on_bounds(lam, p, domain)} {now.note}".strip()
            self._stop_if_stationary(k, mapping, gradient_error(now, eps) / scale, note)
            self._stop_if_no_gain(recorder.trace, domain, note)
            recorder.stop_if_asked()
            self._stop_if_stalled(recorder.trace)
            warm = now.warm
            # Where the direction is not known yet: stay and let ε shrink, while that helps.
            waits = now.error >= np.linalg.norm(p) and now.error < 0.9 * waited_with
            waited_with = now.error if waits else np.inf
            if waits:
                continue
            origin = (L, replace(now, x=None, warm=None), eps)
            lam = domain.project(lam - p / L)  # (iv)
        last = recorder.trace[-1]
        error = gradient_error(last.evaluation, last.eps) / scale
        if self.gain > self.tol:
            state = f", before the loss had settled to within {self.gain:g} of itself."
        else:
            state = (
                f" with the gradient mapping at {last.mapping:.1e} and its error at {error:.1e}, "
                f"together above tol = {self.tol:g}."
            )
        note = last.evaluation.note
        raise Stop(
            "max_iter", f"Stopped after max_iter = {self.max_iter} steps{state} {note}".rstrip()
        )

    def _tolerance(self, k: int) -> float:
        eps = float(self.schedule(k))
        if not (np.isfinite(eps) and eps >= 0):
            raise InvalidInput(f"The schedule gave ε_{k} = {eps}; it must be a number ≥ 0.")
        return eps

    def _stop_if_stationary(self, k: int, mapping: float, error: float, note: str) -> None:
        if not mapping + error <= self.tol:
            return
        raise Stop(
            "converged",
            f"Converged at step {k}: the gradient mapping is {mapping:.1e} and its error "
            f"{error:.1e}, together at most tol = {self.tol:g}. {note}".rstrip(),
        )

    def _stop_if_no_gain(self, trace: Sequence[Step], domain: Box, note: str) -> None:
        ahead, steep = self._gain_ahead(trace, domain)
        if ahead <= self.gain and steep <= self.STEEP * self.gain:
            raise Stop(
                "converged",
                f"Converged at step {trace[-1].k}: the loss can still fall by about {ahead:.1e} of "
                f"itself, at most the {self.gain:g} asked for. {note}".rstrip(),
            )

    def _gain_ahead(self, trace: Sequence[Step], domain: Box) -> tuple[float, float]:
        """What more steps may gain, and the steepest slope in the box, as shares of the loss."""
        now, eps = trace[-1].evaluation, trace[-1].eps
        L = min(1 / step.step_size for step in trace[-self.LAST_STEPS :])
        step = float(np.linalg.norm(now.lam - domain.project(now.lam - now.grad / L)))
        ahead = self.AHEAD * L / 2 * (step + gradient_error(now, eps) / L) ** 2
        towards = domain.project(now.lam - np.sign(now.grad)) - now.lam
        steep = float(np.max(np.abs(towards * now.grad)))
        size = abs(now.corrected) or 1.0
        return ahead / size, steep / size

    def _stop_if_stalled(self, trace: Sequence[Step]) -> None:
        last = trace[-self.STALL_STEPS - 1 :]
        collapsed = last[-1].step_size < self.STALL_SHRINK * trace[0].step_size
        falling = last[-1].mapping < 0.9 * last[0].mapping
        if len(last) <= self.STALL_STEPS or not collapsed or falling:
            return
        moves = [np.linalg.norm(b.lam - a.lam) for a, b in pairwise(last)]
        waited = min(moves) == 0  # for a smaller ε, which is no collapse
        if max(moves) < self.STALL_LENGTH and last[-1].mapping > self.tol and not waited:
            raise Stop(
                "stalled",
                f"Stalled at step {last[-1].k}: the last {self.STALL_STEPS} steps moved less than "
                f"{self.STALL_LENGTH:g} each, the step size is down to {last[-1].step_size:.1e}, "
                f"and the gradient mapping is still {last[-1].mapping:.1e}, above tol = "
                f"{self.tol:g}. The step rule asks for more descent than g shows at these "
                "tolerances: try Adaptive() with a larger C, or a tighter schedule. "
                f"{last[-1].evaluation.note}".rstrip(),
            )
