"""Cox regression as a data term: rows compared with each other in place of losses that are added.

h has L(s; z) for the weights s of the training rows. Held-out rows are judged by the
cross-validated partial likelihood of Verweij and van Houwelingen (1993),

    g = L(s + s′; z) − L(s; z),

what the held-out rows add to L at the x that was fitted without them. The likelihood of the
held-out rows alone, L(s′; z), compares them with each other only: of ten rows few pairs are left,
of one none. Here every held-out event is compared with all who were at risk, and every
held-out row counts in the risk sets of the training events; so folds may be small, down to one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotSupportedError,
    check_given,
)
from hoag._core.numeric import Array
from hoag._glm.losses import Loss
from hoag._glm.risk_sets import TIES, RiskSets, RiskSetsAt
from hoag._glm.rows import Rows
from hoag._glm.targets import Part, Target
from hoag._glm.term import DataTerm, Design

# A sign and its risk sets: L, or what rows add to it.
Parts = Sequence[tuple[float, RiskSets]]


class PartialLikelihood(Loss):
    """What stands in for a loss of single rows, which there is none of."""

    dispersion = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> Any:
        raise NotSupportedError("The partial likelihood is no sum over rows.\nAsk its term at x.")


class HeldOutLikelihood(PartialLikelihood):
    """The same for g, which is another function than h's."""


@dataclass(eq=False)
class RiskTerm(DataTerm):
    """Σ ± L(s; z) with z = design(x), a sum over risk sets; the weights are inside.

    y, weights   the events, and what each counts: Σ weights is what g is divided by
    """

    parts: Parts

    row_by_row = False

    def seen_by(self, design: Design) -> DataTerm:
        if not design.touches:
            raise NotSupportedError(
                "Cox regression is not solved for in a small space.\nUse hoag.criteria.Implicit."
            )
        return super().seen_by(design)

    def at_scores(self, z: Array) -> Compared:
        rows = self.design.rows
        filled = rows.shape[0] * rows.shape[1] / max(rows.entries, 1)
        return Compared([(sign, sets.at(z)) for sign, sets in self.parts], filled)


class Compared:
    """Σ ± L at one z: a ScoresTerm of one output.

    passes   of `diagonal`, as much work as a pass over rows without zeros
    """

    def __init__(self, parts: Sequence[tuple[float, RiskSetsAt]], passes: float) -> None:
        self._parts, self.passes = parts, passes
        self.grams = sum(1.0 + at.sets.d.size / max(at.sets.n, 1) for _, at in parts)

    @cached_property
    def value(self) -> float:
        return sum(sign * at.value for sign, at in self._parts)

    @cached_property
    def slope(self) -> Array:
        return _added([sign * at.slope for sign, at in self._parts])

    @cached_property
    def curvature_bound(self) -> Array:
        return np.asarray(np.max([at.weights for _, at in self._parts], axis=0))

    def hvp(self, v: Array) -> Array:
        return _added([sign * at.hvp(v) for sign, at in self._parts])

    def third(self, u: Array, v: Array) -> Array:
        return _added([sign * at.third(u, v) for sign, at in self._parts])

    @property
    def mean_curvature(self) -> float:
        bounds = self.curvature_bound
        return float(bounds.sum() / max(int(np.sum(bounds > 0)), 1))

    def hessian(self, design: Any) -> Array:
        """Aᵀdiag(w)A − MᵀM, with M = √d∘ΠA."""
        each = [(sign, at.weights, at.means(design.rows)) for sign, at in self._parts]
        return _added([sign * (design.gram(w) - M.T @ M) for sign, w, M in each])

    def diagonal(self, design: Any) -> Array:
        each = [(sign, at.weights, at.means(design.rows)) for sign, at in self._parts]
        squares = design.rows.squared_backward
        return _added([sign * (squares(w) - np.sum(M**2, axis=0)) for sign, w, M in each])


def _added(parts: Sequence[Array]) -> Array:
    return np.asarray(np.sum(parts, axis=0))


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
            raise InvalidDataError(
                f"strata has shape {strata.shape}; it is one label for each of {found.size} rows.",
                parameter="strata",
            )
        found["stratum"] = np.unique(strata, return_inverse=True)[1]
    if found.size and not np.any(found["event"]):
        raise InvalidDataError(
            f"{name} has no event: all rows are censored, and there is nothing to fit.",
            parameter=name,
        )
    return found


def _fields(y: npt.NDArray[Any], name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    """By their types, whatever their names and order are."""
    names = y.dtype.names or ()
    kinds = [y.dtype[field].kind for field in names]
    if y.ndim != 1 or sorted(kind in "fiu" for kind in kinds) != [False, True] or "b" not in kinds:
        raise InvalidDataError(
            f"{name} has the fields {', '.join(f'{n}: {y.dtype[n]}' for n in names)}; it needs "
            "two, one of truth values (the event) and one of numbers (the time).",
            parameter=name,
        )
    event, time = names[kinds.index("b")], names[1 - kinds.index("b")]
    return y[time].astype(np.float64), y[event].astype(np.bool_)


def _columns(y: npt.NDArray[Any], name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    if y.ndim != 2 or y.shape[1] != 2:
        raise InvalidDataError(
            f"{name} has shape {y.shape}; it needs two columns, time and event (0 or 1), or to be "
            "a structured array of an event (bool) and a time (float).",
            parameter=name,
        )
    try:
        time, event = y.astype(np.float64).T
    except (TypeError, ValueError):
        raise InvalidDataError(f"{name} holds what is no number.", parameter=name) from None
    _refuse(~np.isin(event, (0.0, 1.0)), event, name, "an event that is neither 0 nor 1")
    return time, event == 1.0


def _refuse(bad: npt.NDArray[np.bool_], values: Array, name: str, what: str) -> None:
    if np.any(bad):
        row = int(np.argmax(bad))
        raise InvalidDataError(
            f"{name} has {what} in row {row}: {values[row]:g}.", f"row {row}", parameter=name
        )


@dataclass(frozen=True, eq=False)
class Survival(Target):
    """Times, events and strata as the target of a linear model without an intercept.

    ties   how events at one time are compared, "breslow" or "efron"
    unit   L(unit·s; z)/unit is computed: what a caller divided the weights by

    >>> import numpy as np
    >>> from hoag._glm.cox import cox_target
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
        raise InvalidParameterError.of("ties", ties, f"use {' or '.join(map(repr, TIES))}.")
    loss: Any = PartialLikelihood()
    return Survival(records(y, strata), loss, loss, 1, None, ties=ties, unit=unit)
