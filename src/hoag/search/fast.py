"""The default search: λ tuned for about the price of one fit."""

from __future__ import annotations

from hoag.criterion import Criterion
from hoag.search import many, one
from hoag.search.recorder import OnStep, Recorder, check_max_iter
from hoag.search.scout import scout
from hoag.values import Array, Box, InvalidInput, Result, Settings

# Early values are known to no more than this: only what is lower by more counts as left behind.
LEFT_BEHIND = 1e-2


class Fast(Settings):
    """min over λ in D of f(λ), by secants for one hyperparameter and quasi-Newton steps for more.

    tol          stop when the loss can fall by no more than this share of itself, by its slope,
                 the error of that slope, and the curvature
    max_iter     the most evaluations
    time_budget  seconds; looked at after every evaluation

    The tolerance of each evaluation is what the next decision needs: the sign of the slope, a step,
    the end.
    """

    def __init__(
        self, tol: float = 1e-4, max_iter: int = 100, time_budget: float | None = None
    ) -> None:
        check_max_iter(max_iter)
        if not tol > 0:
            raise InvalidInput(f"tol={tol}: it must be a positive number.")
        self.tol, self.max_iter, self.time_budget = tol, max_iter, time_budget

    def minimize(
        self, criterion: Criterion, domain: Box, lam0: Array, on_step: OnStep | None = None
    ) -> Result:
        recorder = Recorder(criterion, on_step, self.time_budget)
        recorder.same, recorder.certify = LEFT_BEHIND, True
        return recorder.run(lambda recorder: self._descend(recorder, domain, lam0))

    def _descend(self, recorder: Recorder, domain: Box, lam: Array) -> None:
        if lam.size == 1:
            one.descend(recorder, domain, lam, self.tol, self.max_iter)
        lam, cost = scout(recorder.criterion, domain, lam)
        recorder.spend(cost)
        many.descend(recorder, domain, lam, self.tol, self.max_iter)
