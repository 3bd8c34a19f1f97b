"""What a search is, and the one way by which searches evaluate: counted, recorded and verified."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hoag._core import clock
from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidParameterError, SingularProblemError
from hoag._core.numeric import FALLEN, Array
from hoag._core.result import Ask, Cost, Evaluation, Reason, Result, Status, Step
from hoag._core.settings import Settings
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.folds import in_threads
from hoag.optimize._asks import (
    ACCURACY,
    EndsAt,
    Evaluate,
    Lipschitz,
    Note,
    Profile,
    Steps,
    Stopped,
    Verify,
)
from hoag.optimize._checkpoint import OPEN, Slot, alone, current
from hoag.optimize._fingerprint import digest
from hoag.optimize._journal import Journal, Record
from hoag.optimize._verification import Verification, overflow

# Called after every evaluation; returning True stops the search.
OnStep = Callable[[Step], bool | None]


def told_to_stop(on_step: OnStep | None, step: Step) -> bool:
    """Whether the callback says so; raising StopIteration is one more way to say it."""
    try:
        return on_step is not None and bool(on_step(step))
    except StopIteration:
        return True


def attach(error: BaseException, found: Result) -> None:
    """Hand out with an exception what a search had found."""
    error.result = found  # type: ignore[attr-defined]
    error.add_note("What the search had found is in the attribute `result`.")


class Search(Settings, ABC):
    """A way to minimise a criterion over a domain: `steps` is all that it has to say.

    Derive from it, and write `steps`, a generator. `now = yield Evaluate(lam, Ask(eps), before)`
    evaluates, and every evaluation on all rows is a step of the trace, one on a sample if a Note
    follows. `yield Note(...)` adds to the last step, and is answered by whether the callback or the
    clock has ended the search, for those that would think long about the next λ.
    `return Status(reason, why)` ends: "converged" says that the last λ is the answer, or the one
    that `yield EndsAt(...)` named; with any other reason the best one seen is.

    Attributes
    ----------
    domains : type
        The domains that it can search: Box, or Domain for all that have `project`. With another one
        a run says so, and `steps` is not asked.
    accuracy : float
        The share of itself to which f is verified at the end.
    by_steps : bool
        Its evaluations are to be as the paper's: solved to the ε asked for, with the error of p
        measured.
    time_budget : float or None
        Seconds; it ends evaluations, too.
    max_iter : int or None
        The most steps, if that is known.
    certificate : str
        Whether the error of the gradient at the end is measured: see `Run`.

    See Also
    --------
    hoag.testing.check_search : Whether it stays in the domain, stops, and can be replayed.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> class Halving(hoag.optimize.Search):  # the sign of p halves the box
    ...     def steps(self, domain, lam0, traits):
    ...         low, high = domain.lower, domain.upper
    ...         for k in range(20):
    ...             ask = hoag.criteria.Ask(eps=0.1 / 2**k)
    ...             found = yield hoag.optimize.Evaluate((low + high) / 2, ask)
    ...             low, high = (low, found.lam) if found.grad[0] > 0 else (found.lam, high)
    ...         return hoag.Status("converged", "The box has been halved twenty times.")
    >>> print(hoag.minimize(folds, search=Halving()).status.why)
    The box has been halved twenty times.
    """

    domains: type[Domain] = Box
    accuracy: float = ACCURACY
    by_steps: bool = True
    time_budget: float | None = None
    max_iter: int | None = None
    certificate: str = "auto"

    @property
    def most_steps(self) -> int | None:
        """The most lines that a trace may have, if that is known."""
        return self.max_iter

    @abstractmethod
    def steps(self, domain: Any, lam0: Array, traits: Traits) -> Steps:
        """The requests of the search, from lam0, for a criterion with these traits."""

    def seeded(self, seed: int) -> Search:
        """The same search with another seed, where it draws random numbers."""
        other = copy.copy(self)
        if "seed" in vars(self):
            vars(other)["seed"] = seed
        return other

    def minimize(
        self,
        criterion: Criterion,
        domain: Domain,
        lam0: Array,
        on_step: OnStep | None = None,
        certificate: str | None = None,
    ) -> Result:
        """Where f is least in the domain, as `Run` records it."""
        certificate = certificate or self.certificate
        return Run(criterion, on_step, self.time_budget, certificate).drive(self, domain, lam0)


class Run:
    """Drives one search over one criterion: trace, clock, callback, faults, journal, verification.

    Parameters
    ----------
    criterion : Criterion
        What is minimised.
    on_step : callable, default=None
        Called with every `Step`; returning True stops.
    time_budget : float, default=None
        Seconds for everything, verification too.
    certificate : {"auto", "none", "estimate", "bound"}, default="auto"
        "auto" measures the error of the gradient that is returned, where that costs at most a fifth
        of the run; "none" does not; "estimate" does; "bound" bounds it as well.
    replay : Journal, default=None
        The journal of an earlier run, whose answers are taken in place of evaluations.
    slot : object, default=None
        Its slot in a checkpoint; None is the next one of the checkpoint that is open.
    before : Result, default=None
        The result of a search by which this one begins, whose cost and time count.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> run = hoag.optimize.Run(hoag.plan(folds))
    >>> run.drive(hoag.optimize.Auto(), hoag.Box(-6, 6), folds[0].lam0).converged
    True
    """

    def __init__(
        self,
        criterion: Criterion,
        on_step: OnStep | None = None,
        time_budget: float | None = None,
        certificate: str = "auto",
        replay: Journal | None = None,
        slot: Slot | None = None,
        before: Result | None = None,
    ) -> None:
        self._checkpoint = current() if slot is None else slot.checkpoint
        if slot is None and self._checkpoint is not None:
            slot = self._checkpoint.slot()
        self._slot = slot
        self.criterion, self.on_step = criterion, on_step
        self.certificate, self.accuracy = certificate, ACCURACY
        self.trace: list[Step] = []
        self.record = Record(replay, before, time_budget)
        self.verified: dict[bytes, Evaluation] = {}  # f by its definition, by λ
        self.sides: Array | None = None  # of the domain, (s, 2)
        self.best: Evaluation  # whole evaluations of steps of the trace
        self.last: Evaluation
        self._open: tuple[Ask, Evaluation] | None = None  # a step that is not in the trace yet
        self._vain: tuple[Evaluation | None, int] = (None, 0)

    @property
    def cost(self) -> Cost:
        """What was spent so far."""
        return self.record.cost

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return self.record.seconds

    @property
    def verification(self) -> Verification:
        """Made when it is asked for: kept here, it and the run would keep each other alive."""
        return Verification(self)

    @property
    def journal(self) -> Journal:
        """What was asked and answered so far, to go on from: see `Journal`."""
        return self.record.journal

    # ---- driving

    def drive(self, search: Search, domain: Domain, lam0: Array) -> Result:
        """Run the search to its end; whatever ends it, what was found is not lost."""
        if not isinstance(domain, search.domains):
            raise InvalidParameterError(
                f"{search!r} searches boxes, and {domain!r} is none.\nUse hoag.optimize.Auto() or "
                "hoag.optimize.Hoag(), which need no more than its projection, or bounds=(lower, "
                "upper).",
                "bounds",
                domain,
            )
        self.sides = np.column_stack(domain.sides(lam0.size))
        with alone():
            if self._slot is None:
                return self._driven(search, domain, lam0)
            return self._kept(self._slot, search, domain, lam0)

    def _kept(self, slot: Slot, search: Search, domain: Domain, lam0: Array) -> Result:
        """The same in a checkpoint: from where it is in the file, and back into it."""
        match slot.begun(_beginning(self.criterion, search, domain, lam0)):
            case Result() as known:
                return replace(known, evaluation=self.criterion.rebind(known.evaluation))
            case Journal() as known:
                self.record.replay = known
                for found in known.held.values():
                    self.criterion.rebind(found)
        try:
            result = self._driven(search, domain, lam0)
        except BaseException as error:
            if self.record.replay is not None:  # the file knows more
                raise
            slot.keep(self.record.to_go_on_from)
            if not isinstance(error, KeyboardInterrupt) or not self.trace:
                raise
            slot.checkpoint.interrupted = True
            why = slot.checkpoint.interruption(self._so_far)
            return self.verification.unverified(why, with_x=True)
        slot.keep(self.record.to_go_on_from if result.status.reason in OPEN else result)
        return result

    def _driven(self, search: Search, domain: Domain, lam0: Array) -> Result:
        self.accuracy = search.accuracy
        try:
            status = self._searched(search.steps(domain, lam0, self.criterion.traits))
        except Stopped as stop:
            status = stop.status
        except clock.TimeUp:
            if self.record.budget == np.inf:  # the deadline is somebody else's
                raise
            raise InvalidParameterError(
                f"time_budget={self.record.budget:g} s is not enough to compute the loss once, "
                "where the search begins.\nGive more time, or fewer rows.",
                "time_budget",
                self.record.budget,
            ) from None
        except SingularProblemError as error:
            if not self.trace:
                raise
            told = f"Stopped after {len(self.trace)} evaluations, the best of which is returned"
            status = Status(Reason.FAILED, f"{told}: {error}")
        except BaseException as error:
            self._attach(error)
            raise
        if not self.trace:
            raise InvalidParameterError(
                f"{search!r} ended without an evaluation: {status}", "search", search
            )
        return self._verified(status)

    def _verified(self, status: Status) -> Result:
        """The result of a search that has ended so."""
        unverified = self.verification.unverified
        try:
            with clock.until(self.record.deadline(late=True)):
                return self.verification.result(status)
        except clock.TimeUp:
            why = f"{status.ended} There was no time to compute its loss once more."
            return unverified(replace(status, reason=Reason.TIME_BUDGET, why=why), with_x=True)
        except Exception as error:
            if status.reason is not Reason.FAILED and not isinstance(error, SingularProblemError):
                self._attach(error)
                raise
            why = f"{status.ended} Its loss could not be computed again: {error}"
            return unverified(replace(status, reason=Reason.FAILED, why=why))
        except BaseException as error:
            self._attach(error)
            raise

    def _attach(self, error: BaseException) -> None:
        """Hand out what was found with the exception, without another call to the problem."""
        if self.trace:
            why = Status(Reason.INTERRUPTED, f"Interrupted by {type(error).__name__}.")
            attach(error, self.verification.unverified(why))

    @property
    def _so_far(self) -> str:
        return f"after step {len(self.trace)}"

    def _searched(self, steps: Steps) -> Status:
        """Every ask of the search answered, until it ends or is stopped."""
        answer, record, slot = None, self.record, self._slot
        try:
            while True:
                asked = steps.send(answer)
                with clock.until(record.deadline(late=not self.trace)):
                    answer = self._answer(asked)
                if record.stop is None:  # what is known up to here may go into the checkpoint
                    record.answered = len(record.entries)
                    if slot is not None and record.replay is None and slot.checkpoint.due:
                        slot.keep(record.to_go_on_from)
        except StopIteration as end:
            self._close_step()
            status: Status = end.value
            return status if record.stop is None or status.converged else record.stop
        except clock.TimeUp:
            if self.trace and record.stop is None:
                record.end(record.out_of_time(self._so_far))
            if record.stop is not None:
                raise Stopped(record.stop) from None
            raise
        except BaseException:
            if record.stop is None:
                record.hold()
            raise
        finally:
            steps.close()

    # ---- answers

    def _answer(self, asked: Any) -> Any:
        match asked:
            case Note():
                self._close_step(asked)
                return self.record.stop is not None
        self._close_step()
        self._check_going()
        match asked:
            case Evaluate() | Profile():
                return self._one(asked)
            case Verify():
                return self.verification.verified(asked.evaluation)
            case EndsAt():
                self.last = asked.evaluation
                return None
            case Lipschitz():
                return self.record.counted("lipschitz", self.criterion.outer_lipschitz)
        return self._several(asked)

    def _check_going(self) -> None:
        if self.record.stop is not None:
            raise Stopped(self.record.stop)

    def _several(self, asked: Sequence[Evaluate | Profile]) -> list[Evaluation]:
        before = self.seconds
        known = self._together(asked)
        self.record.longest = max(self.record.longest, self.seconds - before)
        found = []
        for k, one in enumerate(asked):
            self._check_going()
            found.append(self._one(one, known[k] if known else None))
            self._close_step()
        return found

    def _together(self, asked: Sequence[Evaluate | Profile]) -> Sequence[Any] | None:
        """What is known in one go, or in threads; None where each is asked for by itself."""
        if not asked or self.record.replaying:
            return None
        asks = {one.from_nowhere for one in asked}
        if len(asks) == 1 and (ask := asks.pop()) is not None:
            try:
                return self.criterion.values([one.lam for one in asked], ask)
            except SingularProblemError:
                return None
        if self.criterion.at_once is None:
            return None
        return in_threads(self.computed, ((one,) for one in asked), self.criterion.at_once)

    def computed(self, asked: Evaluate | Profile) -> Any:
        """What the criterion says, of a free value only if a search can compute with it."""
        match asked:
            case Profile():
                return self.criterion.profile(asked.start, asked.places)
        cost, ask = Cost(), asked.ask
        try:
            start = None if asked.start is None else asked.start.warm
            found = self.criterion.evaluate(asked.lam, ask, start)
            if ask.whole or not overflow(ask, found):
                return found
            cost = found.cost
        except SingularProblemError:
            if ask.whole:
                raise
        nothing = np.full(asked.lam.size, np.nan)
        return Evaluation(asked.lam, np.inf, nothing, f_error=np.inf, cost=cost, converged=False)

    def _one(self, asked: Evaluate | Profile, known: Any = None) -> Evaluation:
        """The answer to an ask; `known` is what was computed of it, if it was."""
        match asked:
            case Profile():
                number = len(self.record.entries)
                values = self.record.counted("profile", lambda: known or self.computed(asked))
                profile = None if values is None else (asked.places, values)
                return self.record.issue(number, replace(asked.start, profile=profile))
        lam, ask = asked.lam, asked.ask
        if ask.whole:
            self._refuse_again(lam)
        before = self.seconds
        found = self.record.evaluation("evaluate", lambda: known or self.computed(asked), lam, ask)
        self.record.longest = max(self.record.longest, self.seconds - before)
        if ask.whole:
            self._count_vain(found)
        if not ask.free:
            self._open = (ask, found)
            if overflow(ask, found):
                self._close_step()  # ends the search, before it computes with what is no number
            elif asked.told is not None:
                self._close_step(asked.told(found))
        return found

    def _count_vain(self, found: Evaluation) -> None:
        """How often in a row a λ was evaluated, not solved for, and known no better than before."""
        last, count = self._vain
        same = last is not None and np.array_equal(last.lam, found.lam)
        better = found.converged or last is None or found.f_error < FALLEN * last.f_error
        self._vain = (found.light(), count + 1 if same and not better else 0)

    def _refuse_again(self, lam: Array) -> None:
        last, count = self._vain
        if last is not None and count >= 2 and np.array_equal(last.lam, lam):
            self._close_step()
            why = (
                f"Stalled: the loss at lam = {_shown(lam)} stays inexact when it is computed again."
            )
            raise Stopped(Status(Reason.STALLED, why).noted(last.note))

    # ---- the trace

    def _close_step(self, told: Note | None = None) -> None:
        """The last whole evaluation becomes a step of the trace, and is told about.

        One on a sample does so only if the search has something to say about it.
        """
        if self._open is None:
            return
        (ask, found), self._open = self._open, None
        if told is None and not ask.whole:
            return
        note, k = told or Note(), len(self.trace) + 1
        step = Step(k, ask.eps, found, self.cost, self.seconds, note.step_size, note.mapping)
        self.trace.append(replace(step, evaluation=found.light()))
        self.last = found
        if k == 1 or found.highest <= self.best.highest:
            self.best = found
        bad = overflow(ask, found)
        if bad:
            why = f"Stopped at step {k}: {bad} at lam = {_shown(found.lam)}."
            raise Stopped(Status(Reason.NOT_FINITE, why))
        entry = self.record.next("stop")
        if entry is not None:
            self.record.end(entry.answer)
        elif self.record.replay is None:
            self._look_around(step)

    def _look_around(self, step: Step) -> None:
        """Whether Ctrl-C, the callback or the clock stops the search after this step."""
        record, checkpoint = self.record, self._checkpoint
        if checkpoint is not None and checkpoint.interrupted:
            record.end(checkpoint.interruption(self._so_far))
        elif told_to_stop(self.on_step, step):
            record.end(Status(Reason.CALLBACK, f"Stopped by the callback {self._so_far}."))
        elif record.late:
            but = ", but for what it takes to compute the loss once more"
            record.end(record.out_of_time(self._so_far, but))


def _shown(lam: Array) -> str:
    return np.array2string(lam, threshold=6)


def _beginning(criterion: Criterion, search: Search, domain: Domain, lam0: Array) -> str:
    """By what a run is known again, within one checkpoint."""
    numbers = {name: one for name, one in vars(criterion).items() if isinstance(one, float)}
    return digest(type(criterion), numbers, search, domain, lam0)
