"""What hoag raises: each error has a sentence, and the parameter, value and hint that it is about.

>>> import hoag
>>> from hoag.errors import InvalidParameterError
>>> try:
...     hoag.RidgeCV(rule="2se").fit([[0.0], [1.0]], [0.0, 1.0])
... except ValueError as error:  # as of scikit-learn's
...     isinstance(error, hoag.HoagError)
True
"""

from hoag._core.errors import (
    CheckpointMismatchError,
    ClusterLostError,
    DataDamagedError,
    DataNotFoundError,
    HoagError,
    InvalidDataError,
    InvalidInputError,
    InvalidParameterError,
    MissingPackageError,
    NotSupportedError,
    NotWritableError,
    SingularProblemError,
)

__all__ = [
    "CheckpointMismatchError",
    "ClusterLostError",
    "DataDamagedError",
    "DataNotFoundError",
    "HoagError",
    "InvalidDataError",
    "InvalidInputError",
    "InvalidParameterError",
    "MissingPackageError",
    "NotSupportedError",
    "NotWritableError",
    "SingularProblemError",
]
