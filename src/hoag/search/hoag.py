"""Algorithm 1 of "Hyperparameter optimization with approximate gradient" (Pedregosa, 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hoag.criterion import Criterion
from hoag.schedules import Exponential, Schedule
from hoag.search.recorder import OnStep, Recorder, Stop
from hoag.search.steps import Adaptive, StepRule
from hoag.values import Array, Box, InvalidInput, Result, Step


class Hoag:
    """λ_{k+1} = P_D(λ_k − p_k/L), with p_k computed only to the tolerance ε_k.

    schedule     k ↦ ε_k, for k = 1, 2, …
    step         Adaptive() as in the paper's experiments, or Constant(L) as in Theorem 2
    tol          stop when the gradient mapping ‖λ − P_D(λ − p/L₁)‖, plus the measured error of p
                 over L₁, is at most tol; L₁ is the first L, so a shrinking step does not count
    max_iter     the most evaluations
    time_budget  seconds; looked at after every evaluation
    """

    # Stalled: the step size has shrunk by this factor since the start, so many steps were each
    # shorter than this length, and the gradient mapping is as large as before them.
    STALL_SHRINK = 1e-3
    STALL_STEPS = 10
    STALL_LENGTH = 1e-3

    def __init__(
        self,
        schedule: Schedule | None = None,
        step: StepRule | None = None,
        tol: float = 1e-5,
        max_iter: int = 200,
        time_budget: float | None = None,
    ) -> None:
        if max_iter < 1:
            raise InvalidInput(f"max_iter={max_iter}: at least one evaluation is needed.")
        self.schedule = schedule or Exponential()
        self.step = step or Adaptive()
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget

    def minimize(
        self, criterion: Criterion, domain: Box, lam0: Array, on_step: OnStep | None = None
    ) -> Result:
        recorder = Recorder(criterion, on_step, self.time_budget)
        return recorder.run(lambda recorder: self._descend(recorder, domain, lam0))

    def _descend(self, recorder: Recorder, domain: Box, lam: Array) -> None:
        C = self.step.lipschitz(recorder.criterion)
        L = first_L = np.nan
        before, warm, eps_before = None, None, np.nan
        for k in range(1, self.max_iter + 1):
            eps = self._tolerance(k)
            now = recorder.evaluate(lam, eps, warm)  # (i), (ii), (iii)
            p = now.grad
            if before is None:
                L = first_L = self.step.first(p)
            else:
                L = self.step.next(L, C, before, now, (eps_before, eps))
            mapping = float(np.linalg.norm(lam - domain.project(lam - p / first_L)))
            recorder.record(now, eps, 1 / L, mapping)
            if not np.all(np.isfinite(p)):
                raise Stop("not_finite", f"Stopped at step {k}: the gradient is not finite.")
            self._stop_if_stationary(k, mapping, now.error / first_L, now.converged, now.note)
            self._stop_if_stalled(recorder.trace)
            before, warm, eps_before = now, now.warm, eps
            lam = domain.project(lam - p / L)  # (iv)
        raise Stop(
            "max_iter",
            f"Stopped after max_iter = {self.max_iter} steps with the gradient mapping at "
            f"{recorder.trace[-1].mapping:.1e}, above tol = {self.tol:g}.",
        )

    def _tolerance(self, k: int) -> float:
        eps = float(self.schedule(k))
        if not (np.isfinite(eps) and eps >= 0):
            raise InvalidInput(f"The schedule gave ε_{k} = {eps}; it must be a number ≥ 0.")
        return eps

    def _stop_if_stationary(
        self, k: int, mapping: float, error: float, solved: bool, note: str
    ) -> None:
        known = 0.0 if np.isnan(error) else error
        if mapping + known > self.tol:
            return
        if not solved and np.isnan(error):  # nothing says that this gradient is right
            return
        measured = "not measured" if np.isnan(error) else f"{error:.1e}"
        raise Stop(
            "converged",
            f"Converged at step {k}: the gradient mapping is {mapping:.1e} and its error "
            f"{measured}, together at most tol = {self.tol:g}." + (f" {note}" if note else ""),
        )

    def _stop_if_stalled(self, trace: Sequence[Step]) -> None:
        last = trace[-self.STALL_STEPS - 1 :]
        collapsed = last[-1].step_size < self.STALL_SHRINK * trace[0].step_size
        falling = last[-1].mapping < 0.9 * last[0].mapping
        if len(last) <= self.STALL_STEPS or not collapsed or falling:
            return
        moves = [np.linalg.norm(b.lam - a.lam) for a, b in pairwise(last)]
        if max(moves) < self.STALL_LENGTH and last[-1].mapping > self.tol:
            raise Stop(
                "stalled",
                f"Stalled at step {last[-1].k}: the last {self.STALL_STEPS} steps moved less than "
                f"{self.STALL_LENGTH:g} each, the step size is down to {last[-1].step_size:.1e}, "
                f"and the gradient mapping is still {last[-1].mapping:.1e}, above tol = "
                f"{self.tol:g}. The step rule may be too strict: try Adaptive() with a larger C.",
            )
