"""A linear model tuned without folds: by a score of the fit on all rows, as `cv` names it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Result
from hoag._criteria.marginal import MarginalLikelihood
from hoag._criteria.risks import (
    ApproximateLeaveOneOut,
    Cp,
    Information,
    InformationOfSquares,
    Risk,
)
from hoag._criteria.without_folds import without_folds
from hoag._glm.folds import linear_folds
from hoag._glm.targets import Target
from hoag.linear_model._task import Task
from hoag.linear_model._units import Units


def scored_task(
    estimator: Any, u: Units, target: Target, curvature: float, noise: float | None = None
) -> Task:
    """For an estimator whose cv is a word; `noise` is in the units of y as it was given."""
    word, own = estimator.cv, type(target.loss)
    word = "alo" if word in (None, "loo") else word  # the same for squares
    if word != "alo" and type(target.outer) is not own:
        raise InvalidInput(
            f"cv={word!r} judges by the loss that is fitted, and holds out no rows for another "
            "criterion: leave criterion as it is, or use cv='alo' or folds."
        )
    shares, every = estimator._shares(u, target, curvature), np.arange(u.weights.size)
    rows, splits = u.rows, [(every, every[:0])]
    (whole,) = linear_folds(rows, target, splits, u.weights, shares.penalties, u.log_shift)
    variance = None if noise is None else noise / u.y_scale**2
    criterion = without_folds(whole, word, noise=variance, unit=estimator._loss_unit)
    moved = estimator._moved(shares, criterion, u, curvature)

    def models(x: Array) -> list[dict[str, Any]]:
        return [estimator._attributes(u, target, x)]

    def refit(result: Result) -> tuple[dict[str, Any], Cost]:
        estimator._on_refit(whole, u, target, result.evaluation.x, result.lam)
        return models(result.evaluation.x)[0], Cost()

    def predictions(lam: Array) -> tuple[Any, Array]:
        kept = np.flatnonzero(u.weights > 0)
        own = lam if moved.loads is None else moved.loads.lam(lam)
        z = (criterion.predictions(own) + target.offset)[kept]
        return kept, estimator._from_predictor(np.asarray(z * u.y_scale + u.y_mean))

    def degrees(found: Evaluation) -> float:
        while found.parts:  # of what wraps the criterion
            (found,) = found.parts
        return float(criterion.degrees(found))

    per_row, log_of = _units(criterion.risk, estimator, u, target)
    return Task(
        moved.criterion,
        moved.box,
        moved.start,
        per_row,
        models,
        refit,
        u.weights,
        moved.stronger,
        predictions=predictions if isinstance(criterion.risk, ApproximateLeaveOneOut) else None,
        groups=shares,
        log_of=log_of,
        softly=isinstance(criterion.risk, MarginalLikelihood) and criterion.risk.softly,
        degrees=degrees,
    )


def _units(risk: Risk, estimator: Any, u: Units, target: Target) -> tuple[float, float | None]:
    """`per_row` and `log_of` of the task: losses for each row, AIC and BIC as they are."""
    if isinstance(risk, InformationOfSquares):
        return u.y_scale**2, float(risk.observed)
    if isinstance(risk, MarginalLikelihood):
        return 1.0, float(risk.n)
    if isinstance(risk, Cp):
        return u.y_scale**2 / risk.observed, None
    if isinstance(risk, Information):
        return 1.0, None
    return estimator._per_row(u, target, float(u.weights.sum())), None
