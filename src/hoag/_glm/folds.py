"""One problem for each split of the rows, all on one copy of the data, which is checked here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from hoag._core.errors import InvalidDataError, InvalidParameterError, check_given
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._glm.groups import Penalties, group_numbers
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.rows import ArrayRows, Rows
from hoag._glm.spreads import FoldSpreads
from hoag._glm.targets import Target
from hoag._glm.term import Predictor
from hoag.problems import Charger, Ledger

Splits = Iterable[tuple[Any, Any]]

# Where a class has no training row its intercept would run to minus infinity; a penalty on the
# intercepts of this share of the summed weights stops it where the class has probability 1e-5.
MISSING_CLASS = 1e-6
# Features that are not penalised may be constant or equal, and in a multinomial model they are
# determined only up to a common shift of the classes; a penalty of this share determines them.
FREE = 1e-10


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
    plain = as_penalty(penalties, whole, shift)
    splits = list(splits)
    own_weights = _penalty_weights(rows, splits, standard)
    for train, test in splits:
        ledger = Ledger()
        inside = weights * _times_drawn(train, n)
        outside = weights * _times_drawn(test, n)
        if not np.any(inside > 0):
            raise InvalidDataError(
                f"Split {len(models) + 1} of cv has no training row with a positive weight.",
                f"split {len(models) + 1}",
                parameter="cv",
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
        raise InvalidParameterError("cv gives no split of the rows.", "cv")
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


def as_penalty(penalties: Penalties | Penalty, design: Predictor, shift: float = 0.0) -> Penalty:
    """A ridge penalty by groups, or the penalty that somebody made, on the coefficients or all."""
    if not isinstance(penalties, Penalty):
        intercepts = design.size - design.slopes
        groups = group_numbers(penalties, design.features, design.outputs, intercepts)
        return Ridge(groups, shift=shift)
    if penalties.size != design.size:
        raise InvalidParameterError(
            f"The penalty is on {penalties.size} coefficients; this model has {design.size}, "
            f"{design.size - design.slopes} of them intercepts, which come last.",
            "penalties",
        )
    return penalties


def as_rows(A: Any, name: str) -> Rows:
    return A if isinstance(A, Rows) else ArrayRows(matrix(A, name))


def check_sparse(A: Any, name: str) -> Any:
    """A; entries that are stored in parts are added up in a copy, for squares are of the sum.

    scikit-learn fits a malformed matrix silently, or crashes on it, or on converting it.
    """
    if not sparse.issparse(A):
        return A
    try:
        if A.format == "coo":
            sparse.coo_array((A.data, (A.row, A.col)), shape=A.shape)  # which looks at its indices
        elif A.format in ("csr", "csc", "bsr"):
            if not A.indptr[-1] == A.indices.size == len(A.data):
                raise ValueError("its arrays disagree in size")
            A.check_format(full_check=True)
            if not A.has_canonical_format:
                A = A.copy()
                A.sum_duplicates()
    except ValueError as error:
        why = str(error).rstrip(".")
        raise InvalidDataError(
            f"{name} is a malformed sparse matrix: {why}.", parameter=name
        ) from error
    return A


def matrix(A: Any, name: str) -> Any:
    check_given(**{name: A})
    A = check_sparse(A, name)
    return check_array(A, accept_sparse="csr", dtype=np.float64, input_name=name)


def row_weights(weights: Any, n: int, name: str) -> Array:
    if weights is None:
        return np.ones(n)
    check_given(**{name: weights})
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name=name)
    if weights.shape != (n,):
        raise InvalidDataError(
            f"{name} has shape {weights.shape}; there are {n} rows.", parameter=name
        )
    if np.any(weights < 0) or not np.any(weights > 0):
        raise InvalidDataError(
            f"{name} must be non-negative, and positive for some row.", parameter=name
        )
    return np.asarray(weights)
