"""Out-of-core data at the border: what is taken for it, its y, and predictions for its rows."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from hoag._core.errors import InvalidDataError, InvalidParameterError, check_given
from hoag._core.numeric import Array
from hoag._data.checks import check_partitions, wrong_number, wrong_side
from hoag._data.engine import Engine, LocalEngine
from hoag._data.source import Partition, Source, numbered


def adopt(X: Any, y: Any = None, sample_weight: Any = None) -> Engine | None:
    """The partitions of X, if it is out-of-core data; None if it is in memory.

    This is the border where such data enter: a source that hoag.partitions made, or an engine,
    which have y and weights of their own; or collections of Dask.
    """
    check_given(X=X, y=y, sample_weight=sample_weight)
    if not is_out_of_core(X):
        return None
    if isinstance(X, (Source, Engine)):
        if y is not None or sample_weight is not None:
            raise InvalidParameterError(
                "Partitions have their y and weights with them.\nName these in "
                'hoag.partitions(..., target="...", weight="..."), and call fit(source) alone.',
                "y",
            )
        return LocalEngine(X) if isinstance(X, Source) else X
    from hoag.dask import engine

    found: Engine = engine(X, y, sample_weight)
    return found


def is_out_of_core(X: Any) -> bool:
    """Whether X is what `adopt` takes."""
    if isinstance(X, (Source, Engine)):
        return True
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def with_own_y(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """What a score is of: X, y and the weights.

    Partitions have y and weights of their own, which are gathered; those that are given beside X,
    or beside partitions in their place, are taken as they are.
    """
    check_given(X=X, y=y, sample_weight=sample_weight)
    own = isinstance(X, (Source, Engine))
    if y is None and not own:
        raise InvalidParameterError(
            "score needs the y of these rows.\nCall score(X, y). Only sources, as of "
            "hoag.partitions, have it with them.",
            "y",
        )
    if (own and y is not None) or not is_out_of_core(X):
        return X, y, sample_weight
    if own and sample_weight is not None:
        raise InvalidParameterError(
            "Partitions have their weights with them, and these are given for rows whose y is "
            "not.\nCall score(source) alone, or score(source, y, sample_weight).",
            "sample_weight",
        )
    engine = adopt(X, y, sample_weight)
    assert engine is not None
    kept = engine.gathered(attrgetter("y", "weight"), rows=False)
    ys, weights = zip(*kept, strict=True)
    found = np.concatenate(ys)
    if not len(found):
        raise InvalidDataError("There are no rows to score.")
    if found.dtype.kind == "f" and np.all(np.isnan(found)):
        raise InvalidDataError(
            "These rows have no y to compare predictions with.\nName it, as in "
            'hoag.partitions(..., target="...") or source.like(..., target="..."), or call '
            "score(source, y).",
            parameter="y",
        )
    check_partitions((len(y), wrong_side(y, weight)) for y, weight in kept)
    weighted = any(own is not None for own in weights)
    each = [np.ones(len(y)) if own is None else own for y, own in kept]
    return engine, found, np.concatenate(each) if weighted else None


def predicted(engine: Engine, coef: Array, intercept: Any) -> Array:
    """X @ coef.T + intercept for all rows, in their order."""
    asked = partial(_predicted, coef=coef, intercept=intercept, names=engine.names)
    return np.concatenate(engine.gathered(asked, prepare=numbered))


def _predicted(own: tuple[int, Partition], coef: Array, intercept: Any, names: Any) -> Array:
    (i, partition), features = own, coef.shape[-1]
    if partition.X.shape[1] != features:
        raise InvalidDataError(
            f"X has {partition.X.shape[1]} features, and the model was fitted on {features}.",
            parameter="X",
        )
    if (wrong := wrong_number(partition.X, names, fill=False)) is not None:
        raise wrong.in_partition(i)
    return np.asarray(partition.X @ coef.T + intercept)
