"""What differs between scikit-learn's versions, and what of it is private: imported here alone."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.validation import _check_sample_weight, _get_feature_names

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn import callback
    from sklearn.callback import CallbackSupportMixin

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


def with_callbacks(fit: Method) -> Method:
    """scikit-learn's decorator of this name, where it has one; what it decorates keeps its type."""
    managed: Method = callback.with_callbacks(fit) if HAS_CALLBACKS else fit
    return managed


def of_classes(scorer: Any, classes: Any) -> Any:
    """A scorer that knows all classes, also where the rows that it is asked about lack some."""
    if "_score_func" not in dir(scorer):
        return scorer
    known = inspect.signature(scorer._score_func).parameters
    if "labels" not in known:
        return scorer
    found, more = copy.copy(scorer), {"labels": classes}
    if len(classes) == 2 and "pos_label" in known:
        more["pos_label"] = classes[-1]
    found._kwargs = more | scorer._kwargs
    return found


__all__ = [
    "CallbackSupportMixin",
    "SparseCoefMixin",
    "_check_sample_weight",
    "_get_feature_names",
    "of_classes",
    "with_callbacks",
]
