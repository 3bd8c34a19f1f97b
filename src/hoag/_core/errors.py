"""What went wrong, in a sentence."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import numpy as np


class HoagError(Exception):
    """The base of every error that hoag raises: a sentence, and what it is about.

    Parameters
    ----------
    message : str
        What is wrong, as a sentence; and on a second line what to do, which is the `hint`.
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
    ...     hoag.optimize.Auto(tol=-1.0)
    ... except hoag.HoagError as error:
    ...     print(error.parameter, error.value, "|", error.hint)
    tol -1.0 | it must be a positive number.
    """

    def __init__(
        self,
        message: str,
        parameter: str = "",
        value: object = None,
        *,
        hint: str = "",
        where: object = "",
    ) -> None:
        what, _, to_do = message.rpartition("\n")
        self.message, self.hint = (what, to_do) if what else (message, hint)
        super().__init__(f"{self.message} {self.hint}".rstrip())
        self.parameter, self.value, self.where = parameter, value, str(where)

    def __reduce__(self) -> Any:
        """Errors travel from workers with all that they know."""
        return _again, (type(self), dict(vars(self)), self.args)


def _again(kind: type[HoagError], known: dict[str, Any], args: tuple[str, ...]) -> HoagError:
    error = kind.__new__(kind, *args)
    vars(error).update(known)
    error.args = args
    return error


class InvalidInputError(HoagError, ValueError):
    """What was given cannot be used: a parameter, data, what is not there, another checkpoint.

    Examples
    --------
    >>> from hoag.errors import InvalidInputError
    >>> issubclass(InvalidInputError, ValueError)
    True
    """


class InvalidParameterError(InvalidInputError):
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
        shown = shorten(repr(value), 200, placeholder=" …")
        return cls(f"{parameter}={shown}:", parameter, value, hint=hint)


class InvalidDataError(InvalidInputError):
    """Rows, y, weights or files that cannot be used; the message says where, and what to do.

    Examples
    --------
    >>> from hoag.errors import InvalidDataError
    >>> issubclass(InvalidDataError, ValueError)
    True
    """

    def __init__(
        self,
        message: str,
        where: object = "",
        *,
        parameter: str = "",
        value: object = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, parameter, value, hint=hint, where=where)


class NotSupportedError(InvalidInputError):
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


class CheckpointMismatchError(InvalidInputError):
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


class MissingPackageError(HoagError, ImportError):
    """A package that is needed for this is not installed; the hint installs it.

    Examples
    --------
    >>> from hoag.errors import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """

    @classmethod
    def of(cls, what: str, package: str, install: str = "") -> MissingPackageError:
        """`what` is that which needs it; `install` is what pip is asked for."""
        hint = f"pip install {install or package}."
        return cls(f"{what} needs {package}:", value=package, hint=hint)


class NotWritableError(HoagError, OSError):
    """A file, or a folder, cannot be written; the message says which and why.

    Examples
    --------
    >>> from hoag.errors import NotWritableError
    >>> issubclass(NotWritableError, OSError)
    True
    """


class DataNotFoundError(HoagError, FileNotFoundError):
    """A file of a data set is in no folder, and cannot be downloaded; the message says where.

    Examples
    --------
    >>> from hoag.errors import DataNotFoundError
    >>> issubclass(DataNotFoundError, FileNotFoundError)
    True
    """


class DataDamagedError(HoagError, OSError):
    """A file of a data set cannot be read; the message names it.

    Examples
    --------
    >>> from hoag.errors import DataDamagedError
    >>> issubclass(DataDamagedError, OSError)
    True
    """


def check_given(**given: Any) -> None:
    """An error for what NumPy would drop silently: masks, and the imaginary parts of numbers.

    The keys are what the caller calls them: X, y, sample_weight. A mask that hides nothing is none.
    """
    for name, values in given.items():
        hidden = _masked(values)
        if hidden:
            raise InvalidDataError(
                f"{name} has {hidden} masked value{'s' if hidden > 1 else ''}, and models know no "
                "masks.\nLeave the rows out, or fill them in and give plain numbers, as .filled() "
                "does.",
                parameter=name,
            )
        if _kind(values) == "c":
            raise InvalidDataError(
                f"Complex data not supported: {name} holds complex numbers, and models take real "
                "ones.\nGive their real and imaginary parts as columns of their own.",
                parameter=name,
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
