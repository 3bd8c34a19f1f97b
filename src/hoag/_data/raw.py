"""Partitions as they are found, before they are encoded: by their numbers, or one after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.dialect import Dialect
from hoag._data.files import stamp

# The rows of a partition have about so many bytes: 20 blocks of float64, 16 MB. Buffers above 32 MB
# are given back to the system at every read and zeroed again by it, which halves the speed.
PARTITION_BYTES = int(20 * 8 * BLOCK_ENTRIES)


@dataclass(frozen=True)
class ReadOptions:
    """How data are to be read; `known` is the encoding of others that these are like."""

    target: Any = None
    weight: Any = None
    columns: Sequence[str] | None = None
    rows: int | None = None
    dtype: Any = None
    categories: Any = "auto"
    features: int | None = None
    dialect: Dialect = field(default_factory=Dialect)
    known: dict[str, Any] | None = None


class Where(NamedTuple):
    """The place where a partition begins, for sentences about one of its rows.

    header  the file is text with a line that names the columns
    """

    file: str
    start: int = 0
    header: bool = False

    def row(self, r: int) -> str:
        """Row r, as its file counts it: from 0, but the row below a header is row 1."""
        number = self.start + int(r)
        if self.header:
            return f"row {number + 1} below the header of {self.file}"
        return f"row {number} of {self.file}"


class Raw(NamedTuple):
    """Some rows: numbers, nan where a table lacks one, and the codes of categories.

    X is (m, k), an array or a CSR matrix, or None; codes are (m, c), −1 for a missing category, −2
    for one that is not known, or None where there are no categories.
    """

    X: Any
    codes: npt.NDArray[np.int32] | None
    y: npt.NDArray[Any]
    weight: Array | None
    where: Where

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that there are: X, or data, indices and indptr; codes, y, weight."""
        X, sides = self.X, {"codes": self.codes, "y": self.y, "weight": self.weight}
        names = ("data", "indices", "indptr") if sparse.issparse(X) else ()
        found = {name: vars(X)[name] for name in names} or {"X": X}
        return {name: own for name, own in (found | sides).items() if own is not None}


class Reader(ABC):
    """Raw partitions by their numbers.

    rows    how many rows all partitions have; None before somebody went through them
    nbytes  what one pass reads; None likewise
    checked the numbers were looked at when they were written
    own     the arrays that it gives are nobody else's, and may be changed
    paths   the files that it reads
    """

    partitions: int
    features: int
    rows: int | None = None
    nbytes: int | None = None
    checked: bool = False
    own: bool = False
    sparse: bool = False
    slow: bool = False
    paths: Sequence[Path] = ()

    @abstractmethod
    def read(self, i: int, rows: bool = True) -> Raw: ...

    @abstractmethod
    def fingerprint(self) -> str: ...

    def __iter__(self) -> Iterator[Raw]:
        for i in range(self.partitions):
            yield self.read(i)


class Stream(ABC):
    """Raw partitions one after another, from the beginning whenever one asks.

    kind            what is read, for people: "CSV", "svmlight"
    paths, options  from which files, and how
    gaps            numbers may be missing, as nan
    target          rows have a y: else it is nan and nobody checks it
    names           of the columns of X, where they have such
    widening        later partitions may have more columns
    whole           y looks like whole numbers, and was read as any
    """

    kind: str
    paths: Sequence[Path] = ()
    gaps: bool = False
    target: Any = True
    names: Sequence[str] | None = None
    widening: bool = False
    whole: bool = False

    @property
    def options(self) -> tuple[Any, ...]:
        return ()

    @abstractmethod
    def __iter__(self) -> Iterator[Raw]: ...

    def fingerprint(self) -> str:
        return stamp(self.paths, self.kind, *self.options)

    def count(self, codes: npt.NDArray[np.int32] | None) -> None:
        """Told of the categories of some rows, in the first pass."""
        return

    def found(self, columns: int, least: int) -> dict[str, Any]:
        """What the first pass says beside sizes, of so many columns, numbered from `least` on."""
        return {"features": columns, "first": 0}

    def settled(self, summary: dict[str, Any]) -> None:
        """A first pass has found this out; the next ones may rely on it."""
        self.summary = summary


def height(columns: int, itemsize: int, rows: int | None) -> int:
    """How many rows a partition has: as asked, or about PARTITION_BYTES."""
    return rows or max(1, PARTITION_BYTES // max(1, columns * itemsize))


def spans(n: int, step: int) -> list[tuple[int, int]]:
    """(0, step), (step, 2 step), … to n."""
    return [(start, min(start + step, n)) for start in range(0, n, step)]
