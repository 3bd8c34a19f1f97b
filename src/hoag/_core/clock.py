"""The time by which whatever runs has to end, looked at inside every loop that may be long.

`until` says when, `check` raises `TimeUp` where that is over: solvers, sums over folds and scans
call it at every turn. Whoever said when catches it; without a deadline nothing ever happens.

>>> import time
>>> from hoag._core import clock
>>> with clock.until(time.perf_counter() - 1.0):
...     try:
...         clock.check()
...     except clock.TimeUp:
...         print("over")
over
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))


class TimeUp(Exception):
    """The deadline is over."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Until time.perf_counter() is past the deadline, or an earlier one that holds already."""
    token = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check() -> None:
    """Raise TimeUp where the deadline is over."""
    deadline = _DEADLINE.get()
    if deadline < float("inf") and time.perf_counter() >= deadline:
        raise TimeUp


def carried(call: Callable[..., T]) -> Callable[..., T]:
    """The call, with the deadline of now wherever it is made: threads and processes see no other.

    A call without a deadline is carried as it is.
    """
    deadline = _DEADLINE.get()
    return call if deadline == float("inf") else partial(_under, deadline, call)


def _under(deadline: float, call: Callable[..., T], *arguments: Any) -> T:
    with until(deadline):
        return call(*arguments)
