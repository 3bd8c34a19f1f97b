"""What went wrong, in a sentence; and names that are about to go."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class InvalidInput(ValueError):
    """What the caller passed cannot be used; the message says what, where and what to do.

    >>> import hoag
    >>> try:
    ...     hoag.Box(1, 0)
    ... except hoag.InvalidInput as error:
    ...     print(str(error)[:56])
    The box is empty: lower bound 1 exceeds upper bound 0 at
    """


class InnerProblemError(ArithmeticError):
    """The inner problem has no usable solution at some λ; the message says which and why.

    >>> import hoag
    >>> issubclass(hoag.InnerProblemError, ArithmeticError)
    True
    """


def check_given(**given: Any) -> None:
    """An error for what NumPy would drop silently: masks, and the imaginary parts of numbers.

    The keys are what the caller calls them: X, y, sample_weight. A mask that hides nothing is none.
    """
    for name, values in given.items():
        hidden = _masked(values)
        if hidden:
            raise InvalidInput(
                f"{name} has {hidden} masked value{'s' if hidden > 1 else ''}, and models know no "
                "masks: leave the rows out, or fill them in and give plain numbers, as .filled() "
                "does."
            )
        if _kind(values) == "c":
            raise InvalidInput(
                f"Complex data not supported: {name} holds complex numbers, and models take real "
                "ones. Give their real and imaginary parts as columns of their own."
            )


def _masked(values: Any) -> int:
    """How many values a mask hides."""
    if not isinstance(values, np.ma.MaskedArray):
        return 0
    mask: Any = np.ma.getmaskarray(values)
    fields = mask.dtype.names
    return int(sum(mask[name].sum() for name in fields) if fields else mask.sum())


def _kind(values: Any) -> str:
    """Of numbers, as NumPy names it, of pandas' and Dask's arrays too; "" if that is not told."""
    dtype: Any = values.dtype if "dtype" in dir(values) else None
    return str(dtype.kind) if "kind" in dir(dtype) else ""


def _moved(old: str, new: str) -> None:
    message = f"`{old}` is now `{new}`; the old name goes in version 0.3."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
