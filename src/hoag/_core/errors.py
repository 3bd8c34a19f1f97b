"""What went wrong, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np


class HoagError(Exception):
    """The base of every error that hoag raises: a sentence, and what it is about.

    Parameters
    ----------
    message : str
        What is wrong, as a sentence.
    parameter : str, default=""
        The parameter, or the argument, that it is about, by the name that the caller gave it.
    value : object, default=None
        What was given for it.
    hint : str, default=""
        What to do, as a sentence; the message of the exception ends with it.
    where : str, default=""
        The place in the data: a column, a row, a file, a fold.

    Examples
    --------
    >>> import hoag
    >>> try:
    ...     hoag.RidgeCV(rule="2se").fit([[0.0], [1.0]], [0.0, 1.0])
    ... except hoag.HoagError as error:
    ...     print(error.parameter, error.value, "|", error.hint)
    rule 2se | use 'best' or '1se'.
    """

    def __init__(
        self,
        message: str,
        *,
        parameter: str = "",
        value: object = None,
        hint: str = "",
        where: str = "",
    ) -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.message, self.parameter, self.value = message, parameter, value
        self.hint, self.where = hint, where

    def __reduce__(self) -> Any:
        """Errors travel from workers with all that they know."""
        return _again, (type(self), dict(vars(self)), self.args)


def _again(kind: type[HoagError], known: dict[str, Any], args: tuple[str, ...]) -> HoagError:
    error = kind.__new__(kind, *args)
    vars(error).update(known)
    return error


class InvalidInput(HoagError, ValueError):
    """What the four below were before 0.2: it goes when every package raises one of them."""


class InvalidParameterError(InvalidInput):
    """A parameter has a value that it cannot have, or does not go with another.

    `InvalidParameterError.of("rule", "2se", "use 'best' or '1se'.")` reads "rule='2se': use 'best'
    or '1se'."

    Examples
    --------
    >>> from hoag.errors import InvalidParameterError
    >>> str(InvalidParameterError.of("rule", "2se", "use 'best' or '1se'."))
    "rule='2se': use 'best' or '1se'."
    """

    @classmethod
    def of(cls, parameter: str, value: object, hint: str) -> InvalidParameterError:
        """The usual one: what was given, and what can be."""
        return cls(f"{parameter}={value!r}:", parameter=parameter, value=value, hint=hint)


class InvalidDataError(InvalidInput):
    """Rows, y, weights or files that cannot be used; the message says where, and what to do.

    Examples
    --------
    >>> from hoag.errors import InvalidDataError
    >>> issubclass(InvalidDataError, ValueError)
    True
    """


class NotSupportedError(InvalidInput):
    """What is asked for makes sense and is not there; the message says what to use instead.

    Examples
    --------
    >>> from hoag.errors import NotSupportedError
    >>> issubclass(NotSupportedError, ValueError)
    True
    """


class SingularProblemError(HoagError, ArithmeticError):
    """The inner problem has no usable solution at some λ; the message says which and why.

    Examples
    --------
    >>> from hoag.errors import SingularProblemError
    >>> issubclass(SingularProblemError, ArithmeticError)
    True
    """


InnerProblemError = SingularProblemError  # until nobody asks for it


class CheckpointMismatchError(InvalidInput):
    """A checkpoint is of other data or other settings than the search that should go on from it.

    Examples
    --------
    >>> from hoag.errors import CheckpointMismatchError
    >>> issubclass(CheckpointMismatchError, ValueError)
    True
    """


class ClusterLostError(HoagError, RuntimeError):
    """Workers went away with the rows that they held.

    Examples
    --------
    >>> from hoag.errors import ClusterLostError
    >>> issubclass(ClusterLostError, RuntimeError)
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
