"""One problem for each split of the rows, all of them on one copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from hoag.models import make as makers
from hoag.models.linear import LinearProblem
from hoag.models.penalties import Penalties, group_numbers
from hoag.models.rows import DataTerm, Matrix, Rows
from hoag.models.targets import Target, binary, labels, multiclass, regression
from hoag.problem import Charger, Ledger, Problem
from hoag.values import Array, InvalidInput

Splits = Iterable[tuple[Any, Any]]

# Where a class has no training row its intercept would run to minus infinity; a penalty on the
# intercepts of this share of the summed weights stops it where the class has probability 1e-5.
MISSING_CLASS = 1e-6
# Features that are not penalised may be constant or equal, and in a multinomial model they are
# determined only up to a common shift of the classes; a penalty of this share settles that.
FREE = 1e-10


def folds(
    make: Callable[..., Problem],
    A: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> list[Problem]:
    """One problem for each split of the rows: `make` is logistic, multinomial, ridge, ….

    `cv` is a number of folds, a scikit-learn splitter or an iterable of (train, test) indices.
    The folds of a linear model share one matrix and its transpose, with zero weights on the rows
    that are not theirs, so a product over any fold is a product over all rows: one pass. A held-out
    row of a class that its fold has not seen in training is not counted.
    """
    A, y = makers.matrix(A, "A"), np.asarray(y)
    classifier = make in (makers.logistic, makers.multinomial)
    weights = makers.row_weights(sample_weight, A.shape[0], "sample_weight")
    if A.shape[0] != len(y):
        raise InvalidInput(f"A has {A.shape[0]} rows but y has {len(y)} values.")
    splits = check_cv(cv, y, classifier=classifier).split(A, y, groups)
    intercept = options.pop("intercept", False)
    if make is makers.ridge:
        target = regression(y, intercept)
    elif classifier:
        encode = binary if make is makers.logistic else multiclass
        target = encode(y, labels(y, options.pop("classes", None)), intercept)
    else:
        unit = float(A.shape[0]) ** 2 if make is makers.kernel_ridge else None
        return [
            make(
                *(A[train], y[train], A[test], y[test]),
                sample_weight=weights[train],
                test_weight=weights[test],
                **({} if unit is None else {"unit": unit}),
                **options,
            )
            for train, test in splits
        ]
    return list(linear_folds(Matrix(A), target, splits, weights, **options))


def linear_folds(
    matrix: Matrix,
    target: Target,
    splits: Splits,
    weights: Array,
    penalties: Penalties = "shared",
    shift: float = 0.0,
) -> list[LinearProblem]:
    """The folds of a linear model on one matrix."""
    problems: list[LinearProblem] = []
    intercepts = 0 if target.basis is None else target.basis.shape[1]
    groups = group_numbers(penalties, matrix.A.shape[1], target.outputs, intercepts)
    free = bool(np.any(groups[: groups.size - intercepts] < 0))
    splits = list(splits)
    for train, test in splits:
        ledger, n = Ledger(), matrix.A.shape[0]
        inside = weights * _times_drawn(train, n)
        outside = weights * _times_drawn(test, n)
        if not np.any(inside > 0):
            raise InvalidInput(
                f"Split {len(problems) + 1} of cv has no training row with a positive weight."
            )
        floor = FREE * float(inside.sum()) if free else 0.0
        unseen = target.missing(inside)
        if target.basis is not None and unseen.size:
            floor = MISSING_CLASS * float(inside.sum())
            outside = np.where(target.of_class(unseen), 0.0, outside)
        alone = len(splits) == 1 and bool(np.any(outside > 0))
        passes, held_out = Charger(ledger, "passes"), Charger(ledger, "held_out")
        train_term = _term(matrix, target, target.loss, inside, passes, alone)
        test_term = _term(matrix, target, target.outer, outside, held_out, alone)
        if not alone:
            test_term.rows = train_term.rows  # so that predictions are computed once
        problems.append(LinearProblem(train_term, test_term, groups, ledger, floor, shift))
    if not problems:
        raise InvalidInput("cv gives no split of the rows.")
    return problems


def _term(
    matrix: Matrix, target: Target, loss: Any, weights: Array, charge: Charger, alone: bool
) -> DataTerm:
    """One term of a split: on all rows, which folds share, or on its own where it is alone."""
    y = target.y
    if alone:
        kept = np.flatnonzero(weights > 0)
        matrix, y, weights = matrix.rows(kept), y[kept], weights[kept]
    return DataTerm(Rows(matrix, target.outputs, target.basis), loss, y, weights, charge)


def _times_drawn(rows: npt.NDArray[Any], n: int) -> npt.NDArray[np.intp]:
    """How often each of the n rows occurs in a split, given as indices or as a mask."""
    rows = np.asarray(rows)
    return rows.astype(np.intp) if rows.dtype == bool else np.bincount(rows, minlength=n)
