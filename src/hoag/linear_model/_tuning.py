"""What an estimator hands to a search, what becomes of its solutions, and how values are reported.

Tuning     f(λ), the box and the start
Fits       from what f's solutions are to models: of folds, or of one fit
Reported   from f to the loss that people are shown
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Result, Step
from hoag._criteria.base import Criterion
from hoag._criteria.marginal import Link
from hoag._criteria.wrapped import Shrunk
from hoag.linear_model._penalties import Shares

if TYPE_CHECKING:
    from hoag.linear_model._grid import OverGrid

# Attributes of a fitted model, by name.
Attributes = dict[str, Any]


@dataclass(frozen=True, eq=False)
class GivenValues:
    """Values that somebody gave, by scikit-learn's name for them, and the λ that they are.

    They bound those λ that `part` says.
    """

    name: str
    values: Array
    lam: Array
    part: slice = field(default_factory=lambda: slice(None))


@dataclass(frozen=True)
class Reported:
    """How f reads outside: per_row · f, or n log of it.

    `log_of` is n where the criterion is exp(c/n) and c is what is reported, or with `softly`
    log(1 + exp(c/n)).
    """

    per_row: float = 1.0
    log_of: float | None = None
    softly: bool = False

    def value(self, f: float) -> float:
        own = self.per_row * f
        return own if self.log_of is None else self.log_of * Link.of(own, self.softly).value

    def slope(self, f: float) -> float:
        """d value/df."""
        if self.log_of is None:
            return self.per_row
        return self.log_of * Link.of(self.per_row * f, self.softly).slope * self.per_row

    def curvature(self, f: float) -> float:
        """d² value/df²."""
        if self.log_of is None:
            return 0.0
        return self.log_of * Link.of(self.per_row * f, self.softly).second * self.per_row**2

    def evaluation(self, found: Evaluation) -> Evaluation:
        """With its derivatives and errors; solutions, and what is linear in f, stay behind."""
        slope, second = self.slope(found.value), self.curvature(found.value)
        linear = self.log_of is None
        hessian = found.hessian
        if hessian is not None:
            hessian = slope * hessian
            hessian = hessian if linear else hessian + second * np.outer(found.grad, found.grad)
        profile, folds, correction = found.profile, found.folds, found.correction
        if profile is not None and linear:
            profile = profile[0], self.per_row * profile[1]
        return replace(
            found,
            value=self.value(found.value),
            g=self.value(found.g),
            grad=slope * found.grad,
            f_error=slope * found.f_error,
            error=slope * found.error,
            bound=slope * found.bound,
            hessian=hessian,
            correction=slope * correction if linear and correction is not None else None,
            folds=slope * folds if linear and folds is not None else None,
            profile=profile if linear else None,
            parts=tuple(self.evaluation(replace(part, tangents=None)) for part in found.parts)
            if linear
            else (),
            x=None,
            warm=None,
        )


class Fits(ABC):
    """What the solutions of a criterion are as models.

    weights   of the held-out rows of each fold, or of each row left out
    """

    weights: Array

    @abstractmethod
    def models(self, x: Any) -> list[Attributes]:
        """The fitted attributes of every fold, from the x of an evaluation."""

    @abstractmethod
    def refit(self, criterion: Criterion, found: Evaluation) -> tuple[Attributes, Cost]:
        """Those of the model on all rows, and what that fit costs."""

    def held_out(self, lam: Array) -> tuple[Any, Array] | None:
        """Rows, and what they are predicted left out of the fit; None where there are folds."""
        return None

    def degrees(self, found: Evaluation) -> float | None:
        """The effective degrees of freedom, where the fit on all rows is what is judged."""
        return None

    def losses(self, x: Any) -> Array | None:
        """What every held-out row loses, where the loss is a sum over rows."""
        return None

    def average(self, x: Any) -> Attributes:
        """The mean of the folds' models: what stands in where there is no fit on all rows."""
        models = self.models(x)
        return {name: np.mean([m[name] for m in models], axis=0) for name in models[0]}

    def tangents(self, found: Evaluation) -> Any:
        """d coef_/dλ of every fold, in the shape of coef_ and (s,), where tangents are known.

        The way from x to coef_ is affine: a tangent is what it makes of x + t less that of x.
        """
        if found.tangents is None or found.x is None:
            return None
        folds = isinstance(found.x, tuple)
        xs, ts = (part if folds else (part,) for part in (found.x, found.tangents))
        here, along = self.models(xs if folds else xs[0]), []
        for j in range(found.lam.size):
            moved = tuple(x + t[..., j] for x, t in zip(xs, ts, strict=True))
            there = self.models(moved if folds else moved[0])
            pairs = zip(there, here, strict=True)
            along.append([to["coef_"] - fro["coef_"] for to, fro in pairs])
        return tuple(np.stack(each, axis=-1) for each in zip(*along, strict=True))


@dataclass(frozen=True, eq=False)
class Tuning:
    """A criterion, where to look, and how its solutions and its value read outside.

    stronger   the direction in which all penalties grow
    shares     of a linear model, which coefficients share a penalty
    shrunk     the criterion, where several penalties are drawn to their mean
    grid       what was found over the values of a grid, where scores chose among these
    average    the mean of the folds' models, where each has chosen its own
    """

    criterion: Criterion
    box: Box
    start: Array
    stronger: Array
    fits: Fits
    reported: Reported
    shares: Shares | None = None
    shrunk: Shrunk | None = None
    grid: OverGrid | None = None
    average: Attributes | None = None

    def evaluation(self, found: Evaluation) -> Evaluation:
        """As people are shown it: of the loss alone, without what shrinkage adds to it."""
        found = found if self.shrunk is None else self.shrunk.plain(found)
        return replace(self.reported.evaluation(found), tangents=self.fits.tangents(found))

    def step(self, step: Step) -> Step:
        return replace(step, evaluation=self.evaluation(replace(step.evaluation, tangents=None)))

    def result(self, result: Result) -> Result:
        trace = tuple(map(self.step, result.trace))
        return replace(result, evaluation=self.evaluation(result.evaluation), trace=trace)

    def refit(self, found: Evaluation) -> tuple[Attributes, Cost]:
        if self.shrunk is not None:
            return self.fits.refit(self.shrunk.inner, self.shrunk.within(found))
        return self.fits.refit(self.criterion, found)
