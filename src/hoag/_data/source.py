"""Partitions of rows, and the sources by which they can be had again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.deprecated import deprecated
from hoag._core.numeric import Array


class Partition(NamedTuple):
    """Rows that follow each other: X, y and their weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d), or None
        The rows; None where only y and the weights were asked for.
    y : array of shape (m,) or (m, K)
        The targets.
    weight : array of shape (m,), default=None
        The weights; None where all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag.data import Partition
    >>> Partition(np.zeros((3, 2)), np.ones(3)).rows
    3
    """

    X: Any
    y: npt.NDArray[Any]
    weight: Array | None = None

    @property
    def rows(self) -> int:
        """m, how many rows there are."""
        return len(self.y)

    @property
    def weights(self) -> Array:
        """The weights as numbers, 1 where there are none."""
        return np.ones(self.rows) if self.weight is None else self.weight


@deprecated(attributes={"pieces": "partitions"})
class Source(ABC):
    """Rows in partitions, each of which can be read again and is then the same.

    Derive from it, and write `partitions`, `features`, `read` and `fingerprint`.

    Attributes
    ----------
    partitions : int
        How many there are.
    features : int
        d, the columns of every X.
    names : sequence of str or None
        What the columns are called; None where nobody has named them.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import data
    >>> class Halves(data.Source):
    ...     partitions, features = 2, 3
    ...     def read(self, i, rows=True):
    ...         rng = np.random.default_rng(i)
    ...         return data.Partition(rng.normal(size=(4, 3)), rng.normal(size=4))
    ...     def fingerprint(self):
    ...         return "two halves, drawn"
    >>> sum(Halves().read(i).rows for i in range(2))
    8
    """

    partitions: int
    features: int
    names: Sequence[str] | None = None

    @abstractmethod
    def read(self, i: int, rows: bool = True) -> Partition:
        """Partition i; with rows=False X may be left out."""

    @abstractmethod
    def fingerprint(self) -> str:
        """What distinguishes these data from others, for checkpoints."""


def numbered(i: int, partition: Partition) -> tuple[int, Partition]:
    """What asks with its number prepares a partition by this."""
    return i, partition
