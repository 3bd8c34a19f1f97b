"""The folds that `cv` stands for, and what is wrong with rows in an order that folds follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn import get_config
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.metadata_routing import process_routing

from hoag._core.errors import InvalidParameterError
from hoag._core.warn import warn


@runtime_checkable
class Splitter(Protocol):
    """What scikit-learn takes for a splitter; a str has a split, too."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any: ...


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
        warn(
            f"The rows are sorted by y, and {found.n_splits} folds that are not shuffled hold out "
            "its lowest and highest values each at once: what they lose there is far more than "
            f"unseen rows would. Give cv=KFold({found.n_splits}, shuffle=True, random_state=0)."
        )
    return found


def _pair(split: Any, k: int) -> tuple[Any, Any]:
    try:
        train, test = split
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"Split {k} of cv is {split!r}:",
            parameter="cv",
            value=split,
            hint="give a number of folds, a splitter of sklearn.model_selection, or pairs of "
            "training and held-out row numbers.",
        ) from None
    return train, test


def _default(y: Any, stratified: bool, folds: int = 5) -> int:
    """Five folds, or as many as the largest class has rows, where that is less."""
    if not stratified:
        return folds
    most = int(np.unique(np.asarray(y), return_counts=True)[1].max())
    if not 2 <= most < folds:
        return folds
    warn(
        f"No class has {folds} rows, so there are {most} folds in place of {folds}, as many as the "
        "largest class has rows: give cv to choose."
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


def checked(splits: Any, n: int) -> list[tuple[Any, Any]]:
    """The splits as row numbers."""
    found = []
    for k, (train, test) in enumerate(splits, start=1):
        try:
            parts = tuple(
                np.arange(n)[rows if rows.size else slice(0)]
                for rows in map(np.asarray, (train, test))
            )
        except IndexError:
            raise InvalidParameterError(
                f"Split {k} of cv names rows that X, of {n} rows, has not.", parameter="cv"
            ) from None
        if parts[0].size == 0:
            raise InvalidParameterError(f"Split {k} of cv has no training rows.", parameter="cv")
        found.append((parts[0], parts[1]))
    return found


def routed(
    estimator: Any, sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the splitter and the scorers are called with."""
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    if get_config()["enable_metadata_routing"]:
        found = process_routing(estimator, "fit", **weight, **params)
        scoring = found.scorer.score if estimator._scoring is not None else {}
        return found.splitter.split, scoring
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        for name in ("offset", "exposure"):
            if name in unknown:
                raise TypeError(
                    f"{type(estimator).__name__}.fit takes no {name}: models with the logarithm as "
                    "their link do, such as hoag.PoissonRegressorCV."
                )
        taken = ", ".join(["X", "y", "sample_weight", *estimator._of_rows])
        raise InvalidParameterError(
            f"{type(estimator).__name__}.fit got {unknown}, which is only supported if "
            f"enable_metadata_routing=True; without it fit takes {taken} and groups.",
            parameter=unknown[0],
            hint="Switch it on with sklearn.set_config(enable_metadata_routing=True).",
        )
    return params, weight


def asks_for_routing(cv: Any) -> Any:
    """The splitter; a number or an iterable stands for one that asks for nothing."""
    return cv if isinstance(cv, Splitter) and not isinstance(cv, str) else check_cv()
