"""The folds that `cv` stands for, and what is wrong with rows in an order that folds follow."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from hoag._core.errors import InvalidInput
from hoag.linear_model._task import LEVEL


def splitter(cv: Any, y: Any, stratified: bool) -> Any:
    """scikit-learn's splitter for `cv`; of classes that have fewer rows, None is fewer folds."""
    if cv is None:
        cv = _default(y, stratified)
    if isinstance(cv, np.ndarray) and cv.ndim == 0:  # it has an iterator, which fails
        cv = cv.item()
    if isinstance(cv, Iterable) and "split" not in dir(cv):
        cv = [_pair(split, k) for k, split in enumerate(cv, start=1)]
    found = check_cv(cv, y, classifier=stratified)
    if type(found) is KFold and not found.shuffle and in_order(y, stratified):
        warnings.warn(
            f"The rows are sorted by y, and {found.n_splits} folds that are not shuffled hold out "
            "its lowest and highest values each at once: what they lose there is far more than "
            f"unseen rows would. Give cv=KFold({found.n_splits}, shuffle=True, random_state=0).",
            UserWarning,
            stacklevel=LEVEL + 1,
        )
    return found


def _pair(split: Any, k: int) -> tuple[Any, Any]:
    try:
        train, test = split
    except (TypeError, ValueError):
        raise InvalidInput(
            f"Split {k} of cv is {split!r}: give a number of folds, a splitter of "
            "sklearn.model_selection, or pairs of training and held-out row numbers."
        ) from None
    return train, test


def _default(y: Any, stratified: bool, folds: int = 5) -> int:
    """Five folds, or as many as the largest class has rows, where that is less."""
    if not stratified:
        return folds
    most = int(np.unique(np.asarray(y), return_counts=True)[1].max())
    if not 2 <= most < folds:
        return folds
    warnings.warn(
        f"No class has {folds} rows, so there are {most} folds in place of {folds}, as many as the "
        "largest class has rows: give cv to choose.",
        UserWarning,
        stacklevel=LEVEL + 2,
    )
    return most


def in_order(y: Any, classes: bool, fewest: int = 20) -> bool:
    """Whether y rises, or falls, from row to row; classes: whether the rows of each are together.

    Fewer rows than `fewest` may be so by chance, or by hand.
    """
    y = np.asarray(y)
    if y.ndim != 1 or y.size < fewest:
        return False
    if classes:
        return 0 < int(np.sum(y[1:] != y[:-1])) == np.unique(y).size - 1
    return bool(np.any(y != y[0]) and (np.all(y[1:] >= y[:-1]) or np.all(y[1:] <= y[:-1])))
