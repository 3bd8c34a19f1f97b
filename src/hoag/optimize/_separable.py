"""Hyperparameters in sets that have nothing to do with each other: one small search for each.

    min over λ of Σ_t f_t(λ_t) = Σ_t min over λ_t of f_t(λ_t)

All sets begin at the best λ that is the same for all their penalties, found with factors that all
share, or where scans along the axes from there lead, which many share too. Then some sets at a
time are searched to their end, and that is a step of the trace: whoever stops the search between
two steps keeps what was found, and the others at the best λ that is the same for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from threadpoolctl import threadpool_limits

from hoag._core import clock
from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Reason, Result, Status, Step
from hoag._criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag._criteria.folds import in_threads
from hoag._criteria.separable import Separable
from hoag.optimize import _newton as newton
from hoag.optimize import _quasi_newton as quasi_newton
from hoag.optimize import _root as root
from hoag.optimize._asks import Steps
from hoag.optimize._checkpoint import Checkpoint, Slot, current
from hoag.optimize._journal import Record
from hoag.optimize._run import OnStep, Run, Search, attach, told_to_stop


class Onward(Search):
    """Steps from where it is told to begin; the box is scanned only for one λ.

    starts, lead   as in `newton.descend`
    """

    by_steps = False

    def __init__(
        self,
        tol: float,
        max_iter: int,
        time_budget: float | None = None,
        starts: int = 1,
        lead: tuple[Array, float] | None = None,
    ) -> None:
        self.tol = self.accuracy = tol
        self.max_iter, self.time_budget = max_iter, time_budget
        self.starts, self.lead = starts, lead

    def steps(self, domain: Box, lam0: Array, traits: Traits) -> Steps:
        most = self.max_iter or 1
        if traits.has_hessian:
            here = replace(traits, scan_spacing=None)
            return newton.descend(domain, lam0, self.tol, most, here, self.starts, self.lead)
        if lam0.size == 1:
            return root.descend(domain, lam0, self.tol, most, traits)
        return quasi_newton.descend(domain, lam0, self.tol, most, traits.exact)


class SeparableSearch:
    """Every set searched by itself, and what is known of all of them so far."""

    batches = 10  # steps of the trace, about

    def __init__(
        self,
        search: Onward,
        criterion: Criterion,
        domain: Box,
        budget: float | None,
        certificate: str,
    ) -> None:
        self.search, self.certificate = search, certificate
        self.criterion = cast(Separable, criterion)
        self.boxes, self.trace = self.criterion.boxes(domain), list[Step]()
        self.sides = np.column_stack(domain.sides(domain.size))
        self.record = Record(time_budget=budget)
        self.found = self._at_shared()
        self.leads: dict[int, Array] = {}
        self.ended: dict[int, Result] = {}

    def _spend(self, *costs: Cost) -> None:
        self.record.cost = sum(costs, self.record.cost)

    def _at_shared(self) -> list[Evaluation]:
        """Each set at the best λ that is the same for all its penalties; f is known there."""
        low = min(float(box.lower.min()) for box in self.boxes)
        high = max(float(box.upper.max()) for box in self.boxes)
        count = int(np.ceil((high - low) / (SPACING / 3))) + 1
        places = np.linspace(low, high, count)
        values, cost = self.criterion.alike([float(t) for t in places])
        self._spend(cost)
        found = []
        for box, own in zip(self.boxes, values, strict=True):
            inside = (box.lower.min() <= places) & (places <= box.upper.max())
            best = int(np.argmin(np.where(inside | ~np.any(inside), own, np.inf)))
            lam = box.project(np.full(box.size, places[best]))
            found.append(Evaluation(lam, float(own[best]), no_gradient(lam)))
        return found

    def run(self, on_step: OnStep | None) -> Result:
        checkpoint = current()
        try:
            # Thousands of factors, too small for several threads, which would wait for each other.
            with threadpool_limits(1, "blas"):
                return self.result(self._run(on_step, checkpoint))
        except BaseException as error:
            first = checkpoint is not None and not checkpoint.interrupted
            if checkpoint is not None and first and isinstance(error, KeyboardInterrupt):
                checkpoint.interrupted = True
                return self.result(checkpoint.interruption(self._so_far))
            if self.ended:
                why = f"Interrupted by {type(error).__name__} {self._so_far}."
                attach(error, self._made(Status(Reason.INTERRUPTED, why)))
            raise

    def _run(self, on_step: OnStep | None, checkpoint: Checkpoint | None) -> Status:
        """Part of them after part, until all are searched or something stops that."""
        many, record = len(self.found), self.record
        self._scan_along()
        for some in np.array_split(np.arange(many), min(many, self.batches)):
            before = record.seconds
            try:
                with clock.until(record.deadline()):
                    self._search([int(t) for t in some])
            except clock.TimeUp:
                return record.out_of_time(self._so_far)
            record.longest = record.seconds - before
            if checkpoint is not None and checkpoint.interrupted:
                return checkpoint.interruption(self._so_far)
            if told_to_stop(on_step, self.trace[-1]) and len(self.ended) < many:
                return Status(Reason.CALLBACK, f"Stopped by the callback {self._so_far}.")
            if record.late and len(self.ended) < many:
                return record.out_of_time(self._so_far)
        return self._status()

    @property
    def _so_far(self) -> str:
        return f"with {len(self.ended)} of {len(self.found)} sets of penalties tuned"

    def _search(self, some: Sequence[int]) -> None:
        """Search some sets to their end; a step of the trace."""
        checkpoint = current()
        slots = [None if checkpoint is None else checkpoint.slot() for _ in some]
        results = in_threads(self._one, zip(some, slots), self.criterion.n_jobs)
        for t, result in zip(some, results, strict=True):
            self.ended[t], self.found[t] = result, result.evaluation
            self._spend(result.cost)
        now = replace(self.criterion.joined(self.found), cost=Cost()).light()
        k, record = len(self.trace) + 1, self.record
        self.trace.append(Step(k, 0.0, now, record.cost, record.seconds))

    def _scan_along(self) -> None:
        """Where each set is led: every λ to where f is least along its axis, all at once.

        Sets that begin at the same λ share the scan, so that it costs little; from there a search
        takes half the steps. Of places within tol of the least the nearest: f may be flat beyond.
        """
        places = [newton.scan_places(box) for box in self.boxes]
        values, cost = self.criterion.axes_alike([now.lam for now in self.found], places)
        self._spend(cost)
        for t, (now, there, along) in enumerate(zip(self.found, places, values, strict=True)):
            if along is None:
                continue
            there = np.insert(there, 0, now.lam, axis=1)
            along = np.insert(along, 0, now.value, axis=1)
            most = along.min(axis=1, keepdims=True) + self.search.tol * abs(now.value)
            far = np.where(along <= most, np.abs(there - there[:, :1]), np.inf)
            self.leads[t] = there[np.arange(len(there)), np.argmin(far, axis=1)]

    def _one(self, t: int, slot: Slot | None) -> Result:
        part: Criterion = self.criterion.parts[t]
        search, start = self.search, self.found[t]
        if t in self.leads:
            lead = self.leads[t], start.value
            search = Onward(search.tol, search.max_iter or 1, starts=search.starts, lead=lead)
        run = Run(part, None, None, self.certificate, slot=slot)
        return run.drive(search, self.boxes[t], start.lam)

    def result(self, status: Status) -> Result:
        """Of all sets; those that were not searched are evaluated where they began."""
        for t, part in enumerate(self.criterion.parts):
            if t not in self.ended:
                begun = part.evaluate(self.found[t].lam, Ask())
                self.found[t] = part.verify(begun, self.search.tol * abs(begun.value))
                self._spend(begun.cost, self.found[t].cost)
        return self._made(status)

    def _made(self, status: Status) -> Result:
        now = self.criterion.joined(self.found)
        return Result(
            *(now, status, tuple(self.trace), self.record.cost, self.record.seconds),
            searched=self.sides,
            chosen=str(self.criterion.chosen or ""),
        )

    def _status(self) -> Status:
        """That of all sets: converged where all of them are."""
        each = [self.ended[t].status for t in range(len(self.found))]
        steps = [len(result.trace) for result in self.ended.values()]
        how = f"Each of {len(each)} sets of penalties was searched by itself, in {min(steps)} to "
        how += f"{max(steps)} steps. Every axis was scanned from bound to bound."
        one, starts = sum(status.basins == 1 for status in each), ""
        if self.search.starts > 1:
            starts = (
                f"{self.search.starts} starts ended in one minimum for {one} of {len(each)} sets "
                "of penalties."
            )
        if all(status.converged for status in each):
            gain = float(np.max([status.gain for status in each]))
            return Status(Reason.CONVERGED, gain=gain, how=how).noted(starts)
        reason, _ = Counter(s.reason for s in each if not s.converged).most_common(1)[0]
        first = next(t for t, status in enumerate(each) if status.reason == reason)
        good = sum(status.converged for status in each)
        targets = ", ".join(map(str, self.criterion.targets[first][:3]))
        why = f"{good} of {len(each)} sets of penalties converged. For target {targets}"
        return Status(reason, f"{why}: {each[first]}", how=how).noted(starts)
