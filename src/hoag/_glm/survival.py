"""Times until an event, some of which are censored: y of Cox regression, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import Array
from hoag._glm.cox import HeldOutLikelihood, PartialLikelihood, RiskTerm
from hoag._glm.risk_sets import TIES, RiskSets
from hoag._glm.rows import Rows
from hoag._glm.targets import Part, Target
from hoag._glm.term import DataTerm

# How times, events and strata are kept together, one record for each row.
RECORD = np.dtype([("time", np.float64), ("event", np.bool_), ("stratum", np.intp)])


def records(y: Any, strata: Any = None, name: str = "y") -> npt.NDArray[Any]:
    """y as records of time, event and the number of the stratum.

    y is a structured array of two fields, one of truth values (the event) and one of numbers (the
    time), as scikit-survival's, or an array of two columns, time and event (0 or 1).
    """
    check_given(**{name: y}, strata=strata)
    y = np.asarray(y)
    if y.dtype == RECORD and y.ndim == 1:
        found: npt.NDArray[Any] = y.copy()
    else:
        time, event = _fields(y, name) if y.dtype.names else _columns(y, name)
        found = np.zeros(len(time), dtype=RECORD)
        found["time"], found["event"] = time, event
        bad = ~np.isfinite(found["time"])
        _refuse(bad, found["time"], name, "a time that is no finite number")
        _refuse(found["time"] < 0, found["time"], name, "a negative time")
    if strata is not None:
        strata = np.asarray(strata)
        if strata.shape != found.shape:
            raise InvalidInput(
                f"strata has shape {strata.shape}; it is one label for each of {found.size} rows."
            )
        found["stratum"] = np.unique(strata, return_inverse=True)[1]
    if found.size and not np.any(found["event"]):
        raise InvalidInput(
            f"{name} has no event: all rows are censored, and there is nothing to fit."
        )
    return found


def _fields(y: npt.NDArray[Any], name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    """By their types, whatever their names and order are."""
    names = y.dtype.names or ()
    kinds = [y.dtype[field].kind for field in names]
    if y.ndim != 1 or sorted(kind in "fiu" for kind in kinds) != [False, True] or "b" not in kinds:
        raise InvalidInput(
            f"{name} has the fields {', '.join(f'{n}: {y.dtype[n]}' for n in names)}; it needs "
            "two, one of truth values (the event) and one of numbers (the time)."
        )
    event, time = names[kinds.index("b")], names[1 - kinds.index("b")]
    return y[time].astype(np.float64), y[event].astype(np.bool_)


def _columns(y: npt.NDArray[Any], name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    if y.ndim != 2 or y.shape[1] != 2:
        raise InvalidInput(
            f"{name} has shape {y.shape}; it needs two columns, time and event (0 or 1), or to be "
            "a structured array of an event (bool) and a time (float)."
        )
    try:
        time, event = y.astype(np.float64).T
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} holds what is no number.") from None
    _refuse(~np.isin(event, (0.0, 1.0)), event, name, "an event that is neither 0 nor 1")
    return time, event == 1.0


def _refuse(bad: npt.NDArray[np.bool_], values: Array, name: str, what: str) -> None:
    if np.any(bad):
        row = int(np.argmax(bad))
        raise InvalidInput(f"{name} has {what} in row {row}: {values[row]:g}.")


@dataclass(frozen=True, eq=False)
class Survival(Target):
    """Times, events and strata as the target of a linear model without an intercept.

    ties   how events at one time are compared, "breslow" or "efron"
    unit   L(unit·s; z)/unit is computed: what a caller divided the weights by

    >>> import numpy as np
    >>> from hoag._glm.survival import cox_target
    >>> cox_target(np.array([[2.0, 1], [5.0, 0]])).y["event"]
    array([ True, False])
    """

    ties: str = "breslow"
    unit: float = 1.0

    def sets(self, weights: Array) -> RiskSets:
        y = self.y
        return RiskSets(y["time"], y["event"], y["stratum"], weights, self.ties, self.unit)

    def terms(self, rows: Rows, train: Part, test: Part, alone: bool) -> tuple[DataTerm, DataTerm]:
        """L of the training rows, and what the held-out rows add to it."""
        (inside, passes), (outside, held_out) = train, test
        design, event, fits = self.design(rows), self.y["event"], self.sets(inside)
        both = self.sets(inside + outside) if np.any(outside > 0) else fits
        fitted = RiskTerm(design, PartialLikelihood(), event, inside * event, passes, [(1.0, fits)])
        parts = [(1.0, both), (-1.0, fits)]
        judged = RiskTerm(design, HeldOutLikelihood(), event, outside * event, held_out, parts)
        return fitted, judged


def cox_target(y: Any, strata: Any = None, ties: str = "breslow", unit: float = 1.0) -> Survival:
    """y as Cox regression reads it."""
    if ties not in TIES:
        raise InvalidInput(f"ties={ties!r}: use {' or '.join(map(repr, TIES))}.")
    loss: Any = PartialLikelihood()
    return Survival(records(y, strata), loss, loss, 1, None, ties=ties, unit=unit)
