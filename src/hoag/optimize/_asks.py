"""What a search asks and says."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Evaluation, Status


@dataclass(frozen=True, eq=False)
class Evaluate:
    """What a search yields to know f at λ, as precisely as `ask` says.

    Parameters
    ----------
    lam : array of shape (s,)
        Where.
    ask : Ask
        How precise, and what of it.
    start : Evaluation, default=None
        From where the inner solvers start; None is afresh.
    told : callable, default=None
        Evaluation ↦ Note, what the trace says about the step, for evaluations that are asked for
        together; otherwise the search yields a Note.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.optimize.Evaluate(np.zeros(1), hoag.criteria.Ask(1e-3)).ask.eps
    0.001
    """

    lam: Array
    ask: Ask
    start: Evaluation | None = None
    told: Callable[[Evaluation], Note] | None = None

    @property
    def from_nowhere(self) -> Ask | None:
        """What is asked, where values at many λ may be had in one go: no steps, and no start."""
        return None if self.ask.whole or self.start is not None else self.ask


@dataclass(frozen=True)
class Note:
    """What a search yields to say something about its last step, for the trace.

    Parameters
    ----------
    step_size : float, default=nan
        The step size, of searches that have one.
    mapping : float, default=nan
        The norm of the projected gradient, of searches that measure it.

    Examples
    --------
    >>> import hoag
    >>> hoag.optimize.Note(step_size=0.5).step_size
    0.5
    """

    step_size: float = np.nan
    mapping: float = np.nan


@dataclass(frozen=True, eq=False)
class EndsAt:
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

    from_nowhere = None

    @property
    def lam(self) -> Array:
        return self.start.lam


class Stopped(Exception):
    """The end of a search where it is deep in its steps, or is ended from outside."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


# The share of itself to which f is computed where a search has no tolerance of its own, and where
# it only compares values.
ACCURACY = 1e-4

T = TypeVar("T")
# Yields an Evaluate, Profile or a list of both, a Verify, Note, EndsAt or Lipschitz(); is sent an
# Evaluation, a list of them, whether to stop, nothing, or a number; and returns what it found out.
Asking = Generator[Any, Any, T]
# A search: returns why it stopped.
Steps = Asking[Status]


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


def whole_number(name: str, value: float) -> int:
    """The setting of this name, which counts something."""
    if not (np.isfinite(value) and int(value) == value and value >= 1):
        raise InvalidParameterError.of(name, value, "give a whole number, at least one.")
    return int(value)
