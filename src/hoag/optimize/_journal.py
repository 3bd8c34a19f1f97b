"""What a run was asked and answered: written down, and taken from the journal of an earlier run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from hoag._core.errors import CheckpointMismatchError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Reason, Result, Status
from hoag._core.storable import storable
from hoag.optimize._asks import Stopped


@storable
@dataclass(frozen=True, eq=False)
class JournalEntry:
    """One line of a journal: what was asked or what happened, and the answer in numbers."""

    what: str  # "evaluate", "profile", "verify", "certify", "solution", "lipschitz" or "stop"
    lam: Array | None = None
    ask: Ask | None = None
    answer: Any = None
    seconds: float = 0.0


@storable
@dataclass(eq=False)
class Journal:
    """What every request of a search was answered, and the few evaluations that it goes on from.

    Replayed into the same search, on the same criterion, a journal brings it to the same place:
    Run(..., replay=journal). It pickles.

    Parameters
    ----------
    entries : list of JournalEntry, default=[]
        The answers, as numbers.
    held : dict of int to Evaluation, default={}
        The whole evaluations, with (x, q), that the search or the run still holds: those and no
        others may be asked to start from.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> run = hoag.optimize.Run(hoag.plan(folds))
    >>> result = run.drive(hoag.optimize.Grid(3), hoag.Box(-3, 3), folds[0].lam0)
    >>> [entry.what for entry in run.journal.entries][:3]
    ['evaluate', 'evaluate', 'evaluate']
    """

    entries: list[JournalEntry] = field(default_factory=list)
    held: dict[int, Evaluation] = field(default_factory=dict)

    def before_stop(self) -> Journal:
        """The journal up to where the clock or a callback stopped the search, to go on with it."""
        stops = [k for k, entry in enumerate(self.entries) if entry.what == "stop"]
        return Journal(self.entries[: stops[0]], self.held) if stops else self


class Record:
    """The journal of a run while it is written, with what its answers cost, and the clock.

    replay       the journal of an earlier run, whose answers are taken in place of computing them
    before       the result of a search that came before: its cost and its seconds count
    time_budget  seconds for all of it
    """

    def __init__(
        self,
        replay: Journal | None = None,
        before: Result | None = None,
        time_budget: float | None = None,
    ) -> None:
        self.entries: list[JournalEntry] = []
        self.replay = replay
        self.cost = Cost() if before is None else before.cost
        self.budget = np.inf if time_budget is None else time_budget
        if before is not None:
            self.budget = max(self.budget, before.seconds)
        self.longest = 0.0  # seconds of an evaluation: what is set aside for verification
        self.stop: Status | None = None
        self._issued: WeakValueDictionary[int, Evaluation] = WeakValueDictionary()
        self._at_stop: dict[int, Evaluation] = {}  # what the search held when it was stopped
        self.answered = 0  # entries up to the last ask whose answer was whole
        self._earlier = 0.0 if before is None else before.seconds
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the search began; while a journal is replayed, as it says."""
        if self.replay is not None:
            return self._earlier
        return self._earlier + time.perf_counter() - self._start

    def deadline(self, late: bool = False) -> float:
        """When the time budget is over; `late`: for what must be done, a little later."""
        more = max(0.2 * self.budget, 0.5) if late else 0.0
        return time.perf_counter() + self.budget + more - self.seconds

    @property
    def late(self) -> bool:
        """Whether the budget is used, but for what it takes to compute the loss once more."""
        return self.seconds + self.longest >= self.budget

    def out_of_time(self, so_far: str, but: str = "") -> Status:
        given = np.isfinite(self.budget)
        budget, more = (f" of {self.budget:g} s", " Raise time_budget.") if given else ("", "")
        why = f"Stopped {so_far}: the time budget{budget} is used{but}.{more}"
        return Status(Reason.TIME_BUDGET, why)

    # ---- answers, computed or from the journal

    def evaluation(
        self,
        what: str,
        compute: Callable[[], Evaluation],
        lam: Array | None = None,
        ask: Ask | None = None,
    ) -> Evaluation:
        number, entry = len(self.entries), self.next(what)
        if entry is None:
            found = compute()
        elif lam is None or (entry.lam is not None and np.array_equal(lam, entry.lam)):
            found = entry.answer
        else:
            raise CheckpointMismatchError(
                f"Entry {number + 1} of the journal is at another λ than this search asks for: it "
                "goes on only where all is as it was, the data, the settings, the versions of "
                "NumPy, SciPy and BLAS, and the number of threads."
            )
        found = self.issue(number, found)
        self.cost = self.cost + found.cost
        # A search says at its end how the losses of folds have changed since a step of its.
        kept = found.light(folds=ask is not None and not ask.free)
        self._write(what, kept, lam, ask)
        return found

    def counted(self, what: str, compute: Callable[[], tuple[Any, Cost]]) -> Any:
        """A number or an array that comes with its cost."""
        entry = self.next(what)
        answer, cost = compute() if entry is None else entry.answer
        self.cost = self.cost + cost
        self._write(what, (answer, cost))
        return answer

    def issue(self, number: int, found: Evaluation) -> Evaluation:
        """Hand out an evaluation: the one that the journal holds, if it holds it."""
        if self.replay is not None:
            found = self.replay.held.get(number, found)
        self._issued[number] = found
        return found

    def end(self, status: Status) -> None:
        """The search is stopped from outside."""
        self.stop = status
        self.hold()
        self._write("stop", status)

    def hold(self) -> None:
        """Keep alive what the search holds now."""
        self._at_stop = dict(self._issued)

    def _write(
        self, what: str, answer: Any, lam: Array | None = None, ask: Ask | None = None
    ) -> None:
        self.entries.append(JournalEntry(what, lam, ask, answer, self.seconds))

    # ---- the journal of an earlier run

    @property
    def replaying(self) -> bool:
        """Whether there is an earlier journal, and more of it."""
        if self.replay is not None and len(self.entries) == len(self.replay.entries):
            self.replay, self._start = None, time.perf_counter()
        return self.replay is not None

    def next(self, what: str) -> JournalEntry | None:
        """The entry of the earlier journal whose turn it is; None where it has come to its end."""
        if not self.replaying:
            return None
        assert self.replay is not None
        number = len(self.entries)
        entry = self.replay.entries[number]
        if what == "stop" and entry.what != "stop":
            return None
        if entry.what == "stop" and what != "stop":  # the clock, in the midst of an evaluation
            self._earlier = entry.seconds
            self.end(entry.answer)
            raise Stopped(entry.answer)
        if entry.what != what:
            raise CheckpointMismatchError(
                f"Entry {number + 1} of the journal is of another search: it has '{entry.what}' "
                f"where this one asks for '{what}'."
            )
        self._earlier = entry.seconds
        return entry

    # ---- to go on from

    @property
    def journal(self) -> Journal:
        entries, held = list(self.entries), {**self._at_stop, **self._issued}
        known = {k: one.answer for k, one in enumerate(entries)}  # that are no more than numbers
        return Journal(entries, {k: one for k, one in held.items() if one is not known.get(k)})

    @property
    def to_go_on_from(self) -> Journal:
        """The journal up to the last whole answer, before anything stopped the search."""
        whole, n = self.journal, self.answered
        return Journal(whole.entries[:n], {k: one for k, one in whole.held.items() if k < n})
