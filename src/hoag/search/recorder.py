"""The one way by which searches evaluate: everything is recorded, counted and checked here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hoag.criterion import Criterion
from hoag.values import Array, Cost, Evaluation, InnerProblemError, Result, Status, Step

# Called after every evaluation; returning True stops the search.
OnStep = Callable[[Step], bool | None]


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
        self._cost = Cost()
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
        """Append a step, tell the callback, and stop when it, the clock or a number says so."""
        seconds = time.perf_counter() - self._start
        step = Step(len(self.trace) + 1, eps, evaluation, self._cost, seconds, step_size, mapping)
        self.trace.append(step)
        if not np.isfinite(evaluation.value):
            raise Stop(
                "not_finite",
                f"Stopped at step {step.k}: the outer loss is {evaluation.value} at lam = "
                f"{np.array2string(evaluation.lam, threshold=6)}.",
            )
        if self.on_step is not None and self.on_step(step):
            raise Stop("callback", f"Stopped by the callback after step {step.k}.")
        if self.time_budget is not None and seconds >= self.time_budget:
            raise Stop(
                "time_budget",
                f"Stopped after step {step.k}: the time budget of {self.time_budget:g} s is used.",
            )

    def result(self, status: Status) -> Result:
        """The best point of the trace, ranked by g − q·∇₁h; among finite ones if there are any."""

        def rank(step: Step) -> float:
            corrected = step.evaluation.corrected
            return corrected if np.isfinite(corrected) else np.inf

        return Result(min(self.trace, key=rank).evaluation, status, tuple(self.trace))
