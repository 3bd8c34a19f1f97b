"""What a search asks and says, and the journal of what it was answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Ask, Evaluation, Status


@dataclass(frozen=True, eq=False)
class Evaluate:
    """What a search wants to know: f at λ, as `ask` says, from where `start` ended.

    `told` makes of the answer what the trace says about the step, for looks that are asked for
    together; else the search yields a Note.

    >>> import hoag
    >>> import numpy as np
    >>> hoag.optimize.Evaluate(np.zeros(1), hoag.Ask(1e-3)).ask.eps
    0.001
    """

    lam: Array
    ask: Ask
    start: Evaluation | None = None
    told: Callable[[Evaluation], Note] | None = None


@dataclass(frozen=True)
class Note:
    """What a search has to say about its last step, for the trace.

    >>> import hoag
    >>> hoag.optimize.Note(step_size=0.5).step_size
    0.5
    """

    step_size: float = np.nan
    mapping: float = np.nan


@dataclass(frozen=True, eq=False)
class Chosen:
    """Says which of its evaluations a search ends at, where that is not the last one."""

    evaluation: Evaluation


@dataclass(frozen=True, eq=False)
class Verify:
    """Asks for f at the λ of an evaluation by its definition, outside any approximation."""

    evaluation: Evaluation


@dataclass(frozen=True)
class Lipschitz:
    """Asks for the Lipschitz constant of g in x."""


@dataclass(frozen=True, eq=False)
class Profile:
    """Asks for f along every axis from an evaluation, by a model: at places of shape (s, L).

    Answered by the same evaluation with what was seen in `profile`, if there is such a model.
    """

    start: Evaluation
    places: Array


# The share of itself to which f is computed where a search has no tolerance of its own, and where
# it only compares values.
ACCURACY = 1e-4

T = TypeVar("T")
# Yields a Evaluate, Axes or a list of both, a Verify, a Note, Chosen or Lipschitz(); is sent an
# Evaluation, a list of them, whether to stop, nothing, or a number; and returns what it found out.
Asking = Generator[Any, Any, T]
# A search: returns why it stopped.
Steps = Asking[Status]


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of a journal: what was asked or what happened, and the answer in numbers."""

    what: str  # "evaluate", "profile", "verify", "certify", "solution", "lipschitz" or "stop"
    lam: Array | None = None
    ask: Ask | None = None
    answer: Any = None
    seconds: float = 0.0


@dataclass(eq=False)
class Journal:
    """What every ask was answered, and the few evaluations that a search goes on from.

    `entries` are numbers. `held` has the whole evaluations, with (x, q), that the search or the run
    still holds: those and no others may be asked to start from. Replayed into the same search, on
    the same criterion, a journal brings it to the same place: Run(..., replay=journal). It pickles.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> run = hoag.optimize.Run(hoag.plan(folds))
    >>> result = run.drive(hoag.optimize.Grid(3), hoag.Box(-3, 3), folds[0].lam0)
    >>> [entry.what for entry in run.journal.entries][:3]
    ['evaluate', 'evaluate', 'evaluate']
    """

    entries: list[Entry] = field(default_factory=list)
    held: dict[int, Evaluation] = field(default_factory=dict)

    def before_stop(self) -> Journal:
        """The journal up to where the clock or a callback stopped the search, to go on with it."""
        stops = [k for k, entry in enumerate(self.entries) if entry.what == "stop"]
        return Journal(self.entries[: stops[0]], self.held) if stops else self


def abreast(searches: Sequence[Asking[T]]) -> Asking[list[T]]:
    """Several searches side by side: what each asks for next is asked for together."""
    ends: dict[int, T] = {}
    answers: list[Any] = [None] * len(searches)
    going = list(enumerate(searches))
    while going:
        asked, still = [], []
        for (k, search), answer in zip(going, answers, strict=True):
            try:
                asked.append(search.send(answer))
                still.append((k, search))
            except StopIteration as end:
                ends[k] = end.value
        going, answers = still, (yield asked) if asked else []
    return [ends[k] for k in range(len(searches))]


def sentence(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def check_max_iter(max_iter: float) -> None:
    if not (np.isfinite(max_iter) and int(max_iter) == max_iter and max_iter >= 1):
        raise InvalidInput(f"max_iter={max_iter}: give a whole number, at least one.")
