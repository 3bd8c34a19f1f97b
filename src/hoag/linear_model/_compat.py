"""What differs between scikit-learn's versions, and what of it is private: imported here alone."""

from __future__ import annotations

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


__all__ = [
    "CallbackSupportMixin",
    "SparseCoefMixin",
    "_check_sample_weight",
    "_get_feature_names",
    "with_callbacks",
]
