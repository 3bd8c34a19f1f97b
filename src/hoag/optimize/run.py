"""The one way by which searches evaluate: everything is counted, recorded and audited here."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core import clock
from hoag._core.domain import Domain
from hoag._core.errors import InnerProblemError, InvalidInput
from hoag._core.numeric import FALLEN, Array
from hoag._core.result import Ask, Cost, Evaluation, Result, Status, Step
from hoag._criteria.base import SETTLED, Criterion
from hoag._criteria.folds import in_threads
from hoag.optimize.asks import (
    ACCURACY,
    Chosen,
    Entry,
    Evaluate,
    Journal,
    Lipschitz,
    Note,
    Profile,
    Steps,
    Verify,
)
from hoag.optimize.checkpoint import OPEN, Place, alone, current
from hoag.optimize.fingerprint import digest

if TYPE_CHECKING:
    from hoag.optimize.base import Search

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


# A certificate that nobody asked for may cost this share of the run.
SHARE = 0.2


class _Stopped(Exception):
    """The callback or the clock has ended the search."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


class Run:
    """Drives one search over one criterion: trace, cost, clock, callback, faults, journal, audit.

    criterion    what is minimised
    on_step      called with every Step; True stops
    time_budget  seconds for everything, the audit too
    certificate  "auto": measure the error of the gradient that is returned, where that costs at
                 most a fifth of the run; "none": do not; "estimate": do; "bound": bound it as well
    replay       the journal of an earlier run, whose answers are taken in place of evaluations
    place        its place in a checkpoint; by default the next one of the checkpoint that is open

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> run = hoag.optimize.Run(hoag.plan(folds))
    >>> run.drive(hoag.optimize.Auto(), hoag.Box(-6, 6), folds[0].lam0).status.reason
    'converged'
    """

    def __init__(
        self,
        criterion: Criterion,
        on_step: OnStep | None = None,
        time_budget: float | None = None,
        certificate: str = "auto",
        replay: Journal | None = None,
        place: Place | None = None,
    ) -> None:
        self._checkpoint = current() if place is None else place.checkpoint
        self._place = place
        if place is None and self._checkpoint is not None:
            self._place = self._checkpoint.place()
        self.criterion, self.on_step, self.time_budget = criterion, on_step, time_budget
        self.certificate = certificate
        self.trace: list[Step] = []
        self.cost = Cost()
        self._entries: list[Entry] = []
        self._answered = 0  # entries up to the last ask whose answer was whole
        self._issued: weakref.WeakValueDictionary[int, Evaluation] = weakref.WeakValueDictionary()
        self._replay = replay
        self._at_stop: dict[int, Evaluation] = {}  # what the search held when it was stopped
        self._best: tuple[int, Evaluation] | None = None  # index in the trace, whole evaluation
        self._last: tuple[int, Evaluation] | None = None
        self._open: tuple[Ask, Evaluation] | None = None  # a step that is not in the trace yet
        self._known: dict[bytes, Evaluation] = {}  # what is verified, by its λ
        self._accuracy = ACCURACY
        self._stop: Status | None = None
        self._vain: tuple[Evaluation | None, int] = (None, 0)
        self._longest = 0.0  # seconds of an evaluation: what is set aside for the audit
        self._earlier, self._start = 0.0, time.perf_counter()

    # ---- the search

    def drive(self, search: Search, domain: Domain, lam0: Array) -> Result:
        """Run the search to its end; whatever ends it, what was found is not lost."""
        if not isinstance(domain, search.domains):
            raise InvalidInput(
                f"{search!r} searches boxes, and {domain!r} is none: use "
                "hoag.optimize.Auto() or hoag.optimize.Hoag(), which need no more than its "
                "projection, or bounds=(lower, upper)."
            )
        with alone():
            if self._place is None:
                return self._driven(search, domain, lam0)
            return self._kept(self._place, search, domain, lam0)

    def _kept(self, place: Place, search: Search, domain: Domain, lam0: Array) -> Result:
        """The same in a checkpoint: from where it is in the file, and back into it."""
        known = place.begun(_beginning(self.criterion, search, domain, lam0))
        if isinstance(known, Result):
            return replace(known, evaluation=self.criterion.rebind(known.evaluation))
        if known is not None:
            self._replay = known
            for found in known.held.values():
                self.criterion.rebind(found)
        try:
            result = self._driven(search, domain, lam0)
        except BaseException as error:
            if self._replay is not None:  # the file knows more
                raise
            place.keep(self._to_go_on_from)
            if not isinstance(error, KeyboardInterrupt) or not self.trace:
                raise
            place.checkpoint.interrupted = True
            best = self._unaudited(self._interrupted)
            x, cost = self.criterion.solution(best.evaluation)
            return replace(best, evaluation=replace(best.evaluation, x=x), cost=best.cost + cost)
        place.keep(self._to_go_on_from if result.status.reason in OPEN else result)
        return result

    @property
    def _to_go_on_from(self) -> Journal:
        """The journal up to the last whole answer, before anything stopped the search."""
        whole, n = self.journal, self._answered
        return Journal(whole.entries[:n], {k: one for k, one in whole.held.items() if k < n})

    def _driven(self, search: Search, domain: Domain, lam0: Array) -> Result:
        self._accuracy = search.accuracy
        try:
            status = self._search(search.steps(domain, lam0, self.criterion.traits))
        except _Stopped as stop:
            status = stop.status
        except clock.TimeUp:
            if self.time_budget is None:  # the deadline is somebody else's
                raise
            raise InvalidInput(
                f"time_budget={self.time_budget:g} s is not enough to compute the loss once, where "
                "the search begins: give more time, or fewer rows."
            ) from None
        except InnerProblemError as error:
            if not self.trace:
                raise
            told = f"Stopped after {len(self.trace)} evaluations, the best of which is returned"
            status = Status("failed", f"{told}: {error}")
        except BaseException as error:
            self._attach(error)
            raise
        if not self.trace:
            raise InvalidInput(f"{search!r} ended without an evaluation: {status}")
        try:
            with clock.until(self._deadline(late=True)):
                return self._audited(status)
        except clock.TimeUp:
            return self._unaudited_whole(status)
        except Exception as error:
            if status.reason != "failed" and not isinstance(error, InnerProblemError):
                self._attach(error)
                raise
            why = f"{status} Its loss could not be computed again: {error}"
            return self._unaudited(Status("failed", why))
        except BaseException as error:
            self._attach(error)
            raise

    def _deadline(self, late: bool) -> float:
        """When the time budget is over; `late`: for what must be done, a little later."""
        if self.time_budget is None:
            return np.inf
        more = max(0.2 * self.time_budget, 0.5) if late else 0.0
        return time.perf_counter() + self.time_budget + more - self.seconds

    @property
    def _out_of_time(self) -> Status:
        budget = "" if self.time_budget is None else f" of {self.time_budget:g} s"
        return Status(
            "time_budget",
            f"Stopped after step {len(self.trace)}: the time budget{budget} is used.",
        )

    def _unaudited_whole(self, status: Status) -> Result:
        """The best as it was found, with its x: there was no time to compute the loss once more."""
        why = f"{status} There was no time to compute its loss once more."
        best = self._unaudited(Status("time_budget", why))
        x, cost = self.criterion.solution(best.evaluation)
        return replace(best, evaluation=replace(best.evaluation, x=x), cost=best.cost + cost)

    def _attach(self, error: BaseException) -> None:
        """Hand out what was found with the exception, without another call to the problem."""
        if self.trace:
            sentence = f"Interrupted by {type(error).__name__}."
            attach(error, self._unaudited(Status("interrupted", sentence)))

    @property
    def _interrupted(self) -> Status:
        assert self._checkpoint is not None
        return Status(
            "interrupted",
            f"Interrupted after step {len(self.trace)}: this is the best so far. "
            f"{self._checkpoint.goes_on}",
        )

    def _search(self, steps: Steps) -> Status:
        answer: Any = None
        try:
            while True:
                asked = steps.send(answer)
                with clock.until(self._deadline(late=not self.trace)):
                    answer = self._answer(asked)
                self._save()
        except StopIteration as end:
            self._close_step()
            status: Status = end.value
            return status if self._stop is None or status.converged else self._stop
        except clock.TimeUp:
            if self.trace and self._stop is None:
                self._end(self._out_of_time)
            if self._stop is not None:
                raise _Stopped(self._stop) from None
            raise
        except BaseException:
            if self._stop is None:
                self._at_stop = dict(self._issued)
            raise
        finally:
            steps.close()

    def _answer(self, asked: Any) -> Any:
        if isinstance(asked, Note):
            self._close_step(asked)
            return self._stop is not None
        self._close_step()
        if self._stop is not None:
            raise _Stopped(self._stop)
        if isinstance(asked, Chosen):
            lams = (step.lam for step in self.trace)
            k = next(k for k, lam in enumerate(lams) if np.array_equal(lam, asked.evaluation.lam))
            self._last = (k, asked.evaluation)
            return None
        if isinstance(asked, Verify):
            return self._verified(asked.evaluation)
        if isinstance(asked, Lipschitz):
            return self._lipschitz()
        if isinstance(asked, (Evaluate, Profile)):
            return self._one(asked)
        before = self.seconds
        known = self._together(asked)
        self._longest = max(self._longest, self.seconds - before)
        found = []
        for k, one in enumerate(asked):
            if self._stop is not None:
                raise _Stopped(self._stop)
            found.append(self._one(one, known[k] if known else None))
            self._close_step()
        return found

    def _together(self, asked: list[Evaluate | Profile]) -> list[Any] | None:
        """What is known in one go, or in threads; None where each is asked for by itself."""
        if not asked or not self._replayed():
            return None
        first = asked[0]
        if isinstance(first, Evaluate) and not first.ask.whole:
            looks = [one for one in asked if isinstance(one, Evaluate)]
            alike = all(look.ask == first.ask and look.start is None for look in looks)
            if alike and len(looks) == len(asked):
                try:
                    return self.criterion.values([look.lam for look in looks], first.ask)
                except InnerProblemError:
                    return None
        if self.criterion.at_once is None:
            return None
        return in_threads(self._computed, ((one,) for one in asked), self.criterion.at_once)

    def _computed(self, asked: Evaluate | Profile) -> Any:
        if isinstance(asked, Evaluate):
            return self._evaluated(asked)
        return self.criterion.profile(asked.start, asked.places)

    def _one(self, asked: Evaluate | Profile, known: Any = None) -> Evaluation:
        """The answer to a Evaluate or Profile; `known` is what was computed of it, if it was."""
        if isinstance(asked, Profile):
            return self._axes(asked, known)
        if asked.ask.whole:
            self._refuse_again(asked.lam)
        before = self.seconds
        found = self._through(
            "evaluate", lambda: known or self._evaluated(asked), asked.lam, asked.ask
        )
        self._longest = max(self._longest, self.seconds - before)
        if asked.ask.whole:
            self._count_vain(found)
        if not asked.ask.free:
            self._open = (asked.ask, found)
            if _overflown(asked.ask, found):
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
            where = np.array2string(lam, threshold=6)
            told = f"the loss at lam = {where} is known no better for being computed again"
            raise _Stopped(Status("stalled", f"Stalled: {told}. {last.note}".rstrip()))

    def _evaluated(self, look: Evaluate) -> Evaluation:
        cost = Cost()
        try:
            start = None if look.start is None else look.start.warm
            found = self.criterion.evaluate(look.lam, look.ask, start)
            if look.ask.whole or not _overflown(look.ask, found):
                return found
            cost = found.cost
        except InnerProblemError:
            if look.ask.whole:
                raise
        nothing = np.full(look.lam.size, np.nan)  # a look aside: not there, then
        return Evaluation(look.lam, np.inf, nothing, f_error=np.inf, cost=cost, converged=False)

    def _axes(self, asked: Profile, known: tuple[Array | None, Cost] | None) -> Evaluation:
        entry, number = self._next("profile"), len(self._entries)
        if entry is not None:
            known = entry.answer
        values, cost = known or self.criterion.profile(asked.start, asked.places)
        self.cost = self.cost + cost
        seen = replace(asked.start, profile=None if values is None else (asked.places, values))
        if self._replay is not None:
            seen = self._replay.held.get(number, seen)
        self._issued[number] = seen
        self._write(Entry("profile", answer=(values, cost), seconds=self.seconds))
        return seen

    def _lipschitz(self) -> float:
        entry = self._next("lipschitz")
        if entry is not None:
            constant, cost = entry.answer
        else:
            constant, cost = self.criterion.outer_lipschitz()
        self.cost = self.cost + cost
        self._write(Entry("lipschitz", answer=(constant, cost), seconds=self.seconds))
        return float(constant)

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
        note = told or Note()
        k = len(self.trace)
        step = Step(k + 1, ask.eps, found, self.cost, self.seconds, note.step_size, note.mapping)
        self.trace.append(replace(step, evaluation=found.light()))
        self._last = (k, found)
        if self._best is None or found.highest <= self._best[1].highest:
            self._best = (k, found)
        self._check_finite(step, ask)
        if self._replay is not None:
            entry = self._next("stop")
            if entry is not None:
                self._end(entry.answer)
            if self._replay is not None or entry is not None:
                return
        if self._checkpoint is not None and self._checkpoint.interrupted:
            self._end(self._interrupted)
        elif told_to_stop(self.on_step, step):
            self._end(Status("callback", f"Stopped by the callback after step {step.k}."))
        elif self.time_budget is not None and self.seconds + self._longest >= self.time_budget:
            self._end(
                Status(
                    "time_budget",
                    f"Stopped after step {step.k}: the time budget of {self.time_budget:g} s is "
                    "used, but for what it takes to compute the loss once more.",
                )
            )

    def _end(self, status: Status) -> None:
        self._stop, self._at_stop = status, dict(self._issued)
        self._write(Entry("stop", answer=status, seconds=self.seconds))

    def _check_finite(self, step: Step, ask: Ask) -> None:
        bad = _overflown(ask, step.evaluation)
        if bad:
            where = np.array2string(step.lam, threshold=6)
            raise _Stopped(
                Status("not_finite", f"Stopped at step {step.k}: {bad} at lam = {where}.")
            )

    # ---- the end

    def _audited(self, status: Status) -> Result:
        """The result, with f computed once more at its λ, from its definition.

        Where the search converged that is its last point, else the best one. While another λ at
        which f was computed seems lower than the best that is verified, it is verified too, in the
        order of what they promise; the lowest of the verified values is returned.
        """
        assert self._best is not None
        assert self._last is not None
        chosen = (self._last if status.converged else self._best)[1]
        # A search that has verified where it ends has compared that with what it scanned, to tol.
        own = self._accuracy if chosen.lam.tobytes() in self._known else 0.0
        first = known = self._verified(chosen)
        if not np.isfinite(known.value):
            reason = "not_finite" if status.converged else status.reason
            why = f"{status} Its loss, computed again, is {known.value}."
            return self._unaudited(Status(reason, why))
        for other in self._promising():
            share = own if self.criterion.traits.exact else self._accuracy
            lower = known.value - known.f_error - share * abs(known.value)
            if self._late or not other.highest < lower:
                break
            rival = self._verified(self._whole(other))
            known = min(rival, known, key=lambda found: found.highest)
        share = self._accuracy * abs(first.value)
        if status.converged and known.highest < first.value - 2 * SETTLED * share:
            where = np.array2string(known.lam, precision=4, threshold=6)
            less = (first.value - known.value) / (abs(first.value) or 1.0)
            status = Status(
                "left_behind",
                f"{status} But the loss was lower at lam = {where}, by {less:.1e} of itself, which "
                "is returned. f has other minima or a flat region here; a search that starts there "
                "may go on.",
            )
        if status.converged and known.f_error > 2 * SETTLED * self._accuracy * abs(known.value):
            status = Status("not_settled", _unsettled(status, known))
        known, left_out = self._certified(known)
        if left_out:
            status = replace(status, sentence=f"{status} {left_out}")
        return Result(known, status, tuple(self.trace), self.cost, self.seconds)

    def _promising(self) -> list[Evaluation]:
        """All at which f was computed on all rows, the lowest first, without (x, q).

        Free looks are among them where these are as exact as any evaluation.
        """
        exact = self.criterion.traits.exact
        asked = [one for one in self._entries if one.what == "evaluate" and one.ask is not None]
        found = [
            one.answer
            for one in asked
            if one.ask is not None and one.ask.rows is None and (exact or not one.ask.free)
        ]
        known = [one for one in found if np.isfinite(one.highest)]
        return sorted(known, key=lambda one: one.highest)

    def _whole(self, light: Evaluation) -> Evaluation:
        """An evaluation with all that verification goes on from, computed again unless held."""
        for _, held in filter(None, (self._best, self._last)):
            if np.array_equal(held.lam, light.lam):
                return held
        ask = Ask(self._accuracy * abs(light.value))
        look = Evaluate(light.lam, ask)
        return self._through("evaluate", lambda: self._evaluated(look), light.lam, ask)

    @property
    def _late(self) -> bool:
        return self.time_budget is not None and self.seconds + self._longest >= self.time_budget

    def _verified(self, found: Evaluation) -> Evaluation:
        """f by its definition at the λ of an evaluation; once for each λ."""
        key = found.lam.tobytes()
        if key not in self._known:
            tol, deadline = self._accuracy * abs(found.value), np.inf
            if self.time_budget is not None:
                deadline = time.perf_counter() + self.time_budget - self.seconds
            self._known[key] = self._through(
                "verify", lambda: self.criterion.verify(found, tol, deadline)
            )
        return self._known[key]

    def _certified(self, found: Evaluation) -> tuple[Evaluation, str]:
        """With the error of p, as far as it is asked for; and what was left out, in a sentence."""
        if self.certificate == "none" or not np.all(np.isfinite(found.grad)):
            return found, ""
        bound = self.certificate == "bound"
        if not np.isnan(found.error) and not bound:
            return found, ""
        if self.certificate == "auto":
            last = self.trace[-1].evaluation.cost
            cost, total = last.passes + last.grams, self.cost.passes + self.cost.grams
            late = self.time_budget is not None and self.seconds >= self.time_budget
            # Exact solves leave the factor of the λ that was just settled.
            dear = cost > SHARE * total and not self.criterion.traits.exact
            if dear or late:
                return found, (
                    "The error of its gradient was not measured, which would take more than a "
                    'fifth of the run: certificate="estimate" does it.'
                )
        known = self._through("certify", lambda: self.criterion.certify(found, bound))
        return replace(
            known, value=found.value, g=found.g, f_error=found.f_error, x=found.x, warm=found.warm
        ), ""

    def _unaudited(self, status: Status) -> Result:
        """The result as it stands: nothing is computed for it."""
        assert self._best is not None
        return Result(self._best[1], status, tuple(self.trace), self.cost, self.seconds)

    # ---- clock and journal

    def _save(self) -> None:
        """An ask is answered: what is known up to here may go into the checkpoint."""
        if self._stop is not None:
            return
        self._answered = len(self._entries)
        if self._place is not None and self._replay is None and self._place.due(self._answered):
            self._place.keep(self._to_go_on_from)

    @property
    def seconds(self) -> float:
        """Since the run began; while a journal is replayed, as it says."""
        if self._replay is not None:
            return self._earlier
        return self._earlier + time.perf_counter() - self._start

    @property
    def journal(self) -> Journal:
        """What was asked and answered so far, to go on from: see `Journal`."""
        entries, held = list(self._entries), {**self._at_stop, **self._issued}
        known = {k: one.answer for k, one in enumerate(entries)}  # that are no more than numbers
        return Journal(entries, {k: one for k, one in held.items() if one is not known.get(k)})

    def _through(
        self,
        what: str,
        compute: Callable[[], Evaluation],
        lam: Array | None = None,
        ask: Ask | None = None,
    ) -> Evaluation:
        """An evaluation, computed or from the journal; counted and written down."""
        entry = self._next(what)
        number = len(self._entries)
        if entry is None:
            found = compute()
        else:
            assert self._replay is not None
            if lam is not None and (entry.lam is None or not np.array_equal(lam, entry.lam)):
                raise InvalidInput(
                    f"Entry {number + 1} of the journal is at another λ than this search asks for: "
                    "it goes on only where all is as it was, the data, the settings, the versions "
                    "of NumPy, SciPy and BLAS, and the number of threads."
                )
            found = self._replay.held.get(number, entry.answer)
        self.cost = self.cost + found.cost
        self._issued[number] = found
        # A search says at its end how the losses of folds have changed since a step of its.
        kept = found.light(folds=ask is not None and not ask.free)
        self._write(Entry(what, lam, ask, kept, self.seconds))
        return found

    def _replayed(self) -> bool:
        """Whether there is no journal, or no more of it."""
        if self._replay is not None and len(self._entries) == len(self._replay.entries):
            self._replay, self._start = None, time.perf_counter()
        return self._replay is None

    def _next(self, what: str) -> Entry | None:
        """The entry of the journal whose turn it is; None where it has come to its end."""
        if self._replayed():
            return None
        assert self._replay is not None
        number = len(self._entries)
        entry = self._replay.entries[number]
        if what == "stop" and entry.what != "stop":
            return None
        if entry.what == "stop" and what != "stop":  # the clock, in the midst of an evaluation
            self._earlier = entry.seconds
            self._end(entry.answer)
            raise _Stopped(entry.answer)
        if entry.what != what:
            raise InvalidInput(
                f"Entry {number + 1} of the journal is of another search: it has "
                f"'{entry.what}' where this one asks for '{what}'."
            )
        self._earlier = entry.seconds
        return entry

    def _write(self, entry: Entry) -> None:
        self._entries.append(entry)


def _unsettled(status: Status, known: Evaluation) -> str:
    if np.isfinite(known.f_error):
        share = known.f_error / (abs(known.value) or 1.0)
        why = f"Computed again, the loss is known only to {share:.1e} of itself."
    else:
        why = "The loss is not known: a fit stopped short of its minimum at the λ returned."
    parts = f"Not converged. {why} {known.note}".rstrip()
    return f"{parts} The search itself ended so: {status}"


def _overflown(ask: Ask, found: Evaluation) -> str:
    """Which part of an evaluation no search can compute with; "" where squares do not overflow."""
    if not np.isfinite(found.value):
        return f"the outer loss is {found.value}"
    parts = {"the outer loss": np.array([found.value])}
    if ask.gradient:
        parts["the gradient"] = found.grad
    if np.isfinite(found.error):
        parts["the error of the gradient"] = np.array([found.error])
    if found.hessian is not None:
        parts["the Hessian of the outer loss"] = found.hessian
    most = np.sqrt(np.finfo(float).max)
    for name, part in parts.items():
        if not np.all(np.isfinite(part)):
            return f"{name} is not finite"
        if np.abs(part).max(initial=0.0) > most:
            return f"{name} is so large that its square overflows"
    return ""


def _beginning(criterion: Criterion, search: Search, domain: Domain, lam0: Array) -> str:
    """By what a run is known again, within one checkpoint."""
    numbers = {name: one for name, one in vars(criterion).items() if isinstance(one, float)}
    return digest(type(criterion), numbers, search, domain, lam0)
