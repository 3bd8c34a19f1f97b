"""The one way by which searches evaluate: everything is recorded, counted and checked here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hoag.criterion import Criterion, solved
from hoag.values import (
    Array,
    Box,
    Cost,
    Evaluation,
    InnerProblemError,
    InvalidInput,
    Result,
    Status,
    Step,
)

# Called after every evaluation; returning True stops the search.
OnStep = Callable[[Step], bool | None]


# Losses that differ by less than this, relatively, are not told apart.
SAME = 1e-7


class Stop(Exception):
    """Raised inside a search to end it; carries the status."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = Status(reason, sentence)


class Recorder:
    """Evaluates a criterion, keeps the trace and the clock, and makes the result.

    A search is written as a function that evaluates until it raises `Stop`; `run` calls it and
    turns whatever ended it into a `Result`, so that no trace is lost.
    """

    def __init__(
        self,
        criterion: Criterion,
        on_step: OnStep | None = None,
        time_budget: float | None = None,
    ) -> None:
        self.criterion, self.on_step, self.time_budget = criterion, on_step, time_budget
        self.trace: list[Step] = []
        self._kept = -1  # the index of the best step so far
        self.same = SAME
        self.certify = False  # what is returned, where evaluations are not certified themselves
        self._cost = Cost()
        self._asked: Stop | None = None
        self._start = time.perf_counter()

    def run(self, search: Callable[[Recorder], None]) -> Result:
        try:
            search(self)
        except Stop as stop:
            return self.result(stop.status)
        except InnerProblemError as error:
            if not self.trace:
                raise
            return self.result(
                Status("failed", f"Stopped after {len(self.trace)} evaluations: {error}")
            )
        except BaseException as error:
            if self.trace:
                error.result = self.result(  # type: ignore[attr-defined]
                    Status("interrupted", f"Interrupted by {type(error).__name__}.")
                )
                error.add_note("What the search had found is in the attribute `result`.")
            raise
        raise AssertionError("a search ends by raising Stop")

    def evaluate(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        return self._count(self.criterion.evaluate(lam, eps, warm))

    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        return self._count(self.criterion.value(lam, eps, warm))

    def outer_lipschitz(self) -> float:
        """The Lipschitz constant of g as the criterion knows it; what it costs is counted."""
        constant, cost = self.criterion.outer_lipschitz()
        self.spend(cost)
        return float(constant)

    def spend(self, cost: Cost) -> None:
        """Count work that was done beside evaluations."""
        self._cost = self._cost + cost

    def _count(self, evaluation: Evaluation) -> Evaluation:
        self._cost = self._cost + evaluation.cost
        return evaluation

    def record(
        self,
        evaluation: Evaluation,
        eps: float,
        step_size: float = np.nan,
        mapping: float = np.nan,
    ) -> None:
        """Append a step and tell the callback; stop when a number is not finite."""
        seconds = time.perf_counter() - self._start
        step = Step(len(self.trace) + 1, eps, evaluation, self._cost, seconds, step_size, mapping)
        self._append(step)
        where = np.array2string(evaluation.lam, threshold=6)
        if not np.isfinite(evaluation.value):
            raise Stop(
                "not_finite",
                f"Stopped at step {step.k}: the outer loss is {evaluation.value} at lam = {where}.",
            )
        if not np.isnan(mapping) and not np.all(np.isfinite(evaluation.grad)):
            raise Stop(
                "not_finite",
                f"Stopped at step {step.k}: the gradient is not finite at lam = {where}.",
            )
        if self.on_step is not None and self.on_step(step):
            self._asked = Stop("callback", f"Stopped by the callback after step {step.k}.")
        elif self.time_budget is not None and seconds >= self.time_budget:
            self._asked = Stop(
                "time_budget",
                f"Stopped after step {step.k}: the time budget of {self.time_budget:g} s is used.",
            )

    def _append(self, step: Step) -> None:
        """Solutions may be large: the best and the last step keep x, the last its warm start."""
        self.trace.append(step)
        best = self._best_index()
        for k in {self._kept, len(self.trace) - 2} - {-1, len(self.trace) - 1}:
            evaluation = self.trace[k].evaluation
            light = evaluation if k == best else replace(evaluation, x=None, warm=None)
            self.trace[k] = replace(self.trace[k], evaluation=light)
        self._kept = best

    def _best_index(self) -> int:
        """The step with the least g − q·∇₁h, plus what that correction was, for it is uncertain."""
        if self.trace[-1].evaluation.x is None:  # values get better as a space grows; so does x
            return len(self.trace) - 1
        candidates = {self._kept, len(self.trace) - 1} - {-1}
        return min(sorted(candidates), key=lambda k: _range(self.trace[k])[1])

    def stop_if_asked(self) -> None:
        """Stop when the callback or the clock said so at the last step."""
        if self._asked is not None:
            raise self._asked

    def result(self, status: Status) -> Result:
        """The best point of the trace, and the status.

        A search that converged returns where it converged. Where another point of the trace is
        lower by more than both uncertainties, it has not: f has other basins and flat regions.
        """
        best, last = self.trace[self._kept], self.trace[-1]
        tie = self.same * abs(last.evaluation.corrected)
        if status.converged and _range(best)[1] < _range(last)[0] - tie:
            status = Status(
                "left_behind",
                f"{status} But the loss was lower at step {best.k}, which is returned: "
                f"{best.evaluation.corrected / last.evaluation.corrected:.4g} times this one. "
                "f has other minima or a flat region here; a search that starts there may go on.",
            )
        elif status.converged:
            best = last
        evaluation = self._solved(self._certified(best.evaluation))
        return Result(evaluation, status, tuple(self.trace))

    def _solved(self, evaluation: Evaluation) -> Evaluation:
        if evaluation.x is not None:
            return evaluation
        x, cost = solved(self.criterion, evaluation)
        self._afterwards(cost)
        return replace(evaluation, x=x)

    def _certified(self, evaluation: Evaluation) -> Evaluation:
        if not self.certify or not hasattr(self.criterion, "certified"):
            return evaluation
        evaluation = self.criterion.certified(evaluation)
        self._afterwards(evaluation.cost)
        return evaluation

    def _afterwards(self, cost: Cost) -> None:
        self.trace[-1] = replace(self.trace[-1], cost=self.trace[-1].cost + cost)


def _range(step: Step) -> tuple[float, float]:
    """f(λ) lies about here: the corrected value, give or take the correction."""
    value, corrected = step.evaluation.value, step.evaluation.corrected
    if not np.isfinite(corrected):
        return np.inf, np.inf
    width = max(abs(corrected - value), SAME * abs(corrected))
    return corrected - width, corrected + width


def on_bounds(lam: Array, p: Array, domain: Box) -> str:
    """Which hyperparameters sit on a bound that the gradient pushes against, in a sentence."""
    low = np.flatnonzero((lam <= domain.lower) & (p > 0))
    high = np.flatnonzero((lam >= domain.upper) & (p < 0))
    if low.size + high.size == 0:
        return ""
    if low.size + high.size > 1:
        return f"{low.size + high.size} of {lam.size} hyperparameters are on a bound."
    side, j = ("lower", int(low[0])) if low.size else ("upper", int(high[0]))
    return f"lam[{j}] = {lam[j]:g} is on its {side} bound: the best value may lie beyond."


def check_max_iter(max_iter: float) -> None:
    if not (np.isfinite(max_iter) and int(max_iter) == max_iter and max_iter >= 1):
        raise InvalidInput(f"max_iter={max_iter}: give a whole number, at least one.")
