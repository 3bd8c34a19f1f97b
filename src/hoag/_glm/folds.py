"""One problem for each split of the rows, all of them on one copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._glm import make as makers
from hoag._glm.groups import Penalties
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty
from hoag._glm.rows import Rows
from hoag._glm.spreads import FoldSpreads
from hoag._glm.targets import Target
from hoag._glm.term import Predictor
from hoag.problems import Charger, Ledger, Problem

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

    With make=hoag.models.linear, `loss` (and `outer`) are options; A may be hoag.glm.Rows. With
    make=hoag.models.cox, `strata` and `ties` are, and a number of folds is stratified by events.
    `cv` is a number of folds, a scikit-learn splitter or an iterable of (train, test) indices.
    The folds of a linear model share one matrix and its transpose, with zero weights on the rows
    that are not theirs, so a product over any fold is a product over all rows: one pass. A held-out
    row of a class that its fold has not seen in training is not counted.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import ShuffleSplit
    >>> X, y = load_diabetes(return_X_y=True)
    >>> len(hoag.models.folds(hoag.models.ridge, X, y, cv=ShuffleSplit(2, random_state=0)))
    2
    """
    check_given(y=y)
    y = np.asarray(y)
    rows = makers.as_rows(A, "A")
    weights = makers.row_weights(sample_weight, rows.shape[0], "sample_weight")
    if rows.shape[0] != len(y):
        raise InvalidInput(f"A has {rows.shape[0]} rows but y has {len(y)} values.")
    if make in makers.READERS:
        reader, names = makers.READERS[make]
        target = reader(y, **{name: options.pop(name) for name in names if name in options})(y)
        shown = target.y["event"].astype(np.intp) if make is makers.cox else y
        classes = target.classes is not None or make is makers.cox
        splits = check_cv(cv, shown, classifier=classes).split(np.zeros(len(y)), shown, groups)
        return list(linear_folds(rows, target, splits, weights, **options))
    if isinstance(A, Rows):
        raise InvalidInput(f"{make} needs an array or a sparse matrix, not {type(A).__name__}.")
    A = makers.matrix(A, "A")
    unit = {"unit": float(A.shape[0]) ** 2} if make is makers.kernel_ridge else {}
    return [
        make(
            *(A[train], y[train], A[test], y[test]),
            sample_weight=weights[train],
            test_weight=weights[test],
            **unit,
            **options,
        )
        for train, test in check_cv(cv, y).split(np.zeros(len(y)), y, groups)
    ]


def linear_folds(
    rows: Rows,
    target: Target,
    splits: Splits,
    weights: Array,
    penalties: Penalties | Penalty = "shared",
    shift: float = 0.0,
    standard: FoldSpreads | None = None,
) -> list[LinearModel]:
    """The folds of a linear model on one matrix.

    With a `standard` the penalties of each fold are those of columns that its own training rows
    standardise.
    """
    models: list[LinearModel] = []
    n, whole = rows.shape[0], target.design(rows)
    plain = makers.as_penalty(penalties, whole, shift)
    splits = list(splits)
    own_weights = _penalty_weights(rows, splits, standard)
    for train, test in splits:
        ledger = Ledger()
        inside = weights * _times_drawn(train, n)
        outside = weights * _times_drawn(test, n)
        if not np.any(inside > 0):
            raise InvalidInput(
                f"Split {len(models) + 1} of cv has no training row with a positive weight."
            )
        missing = target.missing(inside)
        unseen = target.basis is not None and missing.size > 0
        if unseen:
            outside = np.where(target.of_class(missing), 0.0, outside)
        alone = len(splits) == 1 and bool(np.any(outside > 0))
        passes, held_out = Charger(ledger, "passes"), Charger(ledger, "held_out")
        terms = target.terms(rows, (inside, passes), (outside, held_out), alone)
        own = own_weights[len(models)]
        penalty = of_fold(plain, whole, float(inside.sum()), unseen, own)
        models.append(LinearModel(*terms, penalty, ledger))
    if not models:
        raise InvalidInput("cv gives no split of the rows.")
    return models


def _penalty_weights(
    rows: Rows, splits: Sequence[tuple[Any, Any]], standard: FoldSpreads | None
) -> Sequence[Array | None]:
    """What the penalty of every column weighs in each fold; None for 1."""
    if standard is None:
        return [None] * len(splits)
    n, found = rows.shape[0], list[Array | None]()
    some = max(1, int(100 * BLOCK_ENTRIES // n))  # at a time, however many splits there are
    for first in range(0, len(splits), some):
        times = [_times_drawn(train, n) for train, _ in splits[first : first + some]]
        drawn = np.stack(times, axis=1).astype(np.float64)
        found.extend(standard.penalties(rows, drawn))
    return found


def of_fold(
    plain: Penalty, design: Predictor, weight: float, unseen: bool, columns: Array | None
) -> Penalty:
    """With what rows of so much weight leave open, and a weight for each column; of intercepts 1.

    `unseen`: they have none of some class.
    """
    free = plain.groups is not None and bool(np.any(plain.groups[: design.slopes] < 0))
    share = MISSING_CLASS if unseen else FREE if free else 0.0
    if columns is not None:
        levels = np.ones(design.size - design.slopes)
        columns = np.concatenate([np.repeat(columns, design.outputs), levels])
    return plain.of_fold(share * weight, columns)


def _times_drawn(rows: npt.NDArray[Any], n: int) -> npt.NDArray[np.intp]:
    """How often each of the n rows occurs in a split, given as indices or as a mask."""
    rows = np.asarray(rows)
    return rows.astype(np.intp) if rows.dtype == bool else np.bincount(rows, minlength=n)
