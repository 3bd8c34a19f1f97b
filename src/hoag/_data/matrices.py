"""Readers of rows that are numbers already: arrays, sparse matrices, people's own sequences."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidDataError, check_given
from hoag._core.numeric import Array
from hoag._data.arrays import InArray, Rowwise, whole
from hoag._data.files import stamp
from hoag._data.raw import PARTITION_BYTES, Raw, Reader, ReadOptions, Stream, Where, height, spans


class ArrayReader(Reader):
    """Rows that are in arrays: y and weights beside X, whose parts are arrays in turn."""

    def __init__(
        self, name: str, parts: Sequence[Rowwise], sides: Sides, asked: ReadOptions
    ) -> None:
        self.name, self.sides, self.asked = name, sides, asked
        self.arrays = [*parts, *sides.arrays]
        self.dtype, self.slow = number_type(parts[0].dtype, asked.dtype, name), parts[0].slow
        self.paths = list(dict.fromkeys(part.path for part in self.arrays if part.path))
        self.nbytes = sum(part.nbytes for part in self.arrays)

    def _cut(self, shape: tuple[int, ...], spans: list[tuple[int, int]]) -> None:
        self.sides.check(shape[0], self.name)
        (self.rows, self.features), self.spans, self.partitions = shape, spans, len(spans)

    @abstractmethod
    def take(self, start: int, stop: int) -> Any:
        """Some rows of X."""

    def read(self, i: int, rows: bool = True) -> Raw:
        start, stop = self.spans[i]
        X = self.take(start, stop) if rows else None
        return Raw(X, None, *self.sides.take(start, stop), Where(self.name, start))

    def fingerprint(self) -> str:
        told = [part.facts() for part in self.arrays]
        return stamp((), told, self.asked.rows, str(self.asked.dtype))


class Dense(ArrayReader):
    """Rows of an array."""

    def __init__(self, X: Rowwise, sides: Sides, asked: ReadOptions) -> None:
        if len(X.shape) != 2:
            raise InvalidDataError(
                f"{X.name} has the shape {X.shape}: X needs two dimensions.", X.name
            )
        super().__init__(X.name, [X], sides, asked)
        self.X, self.own = X, X.path is not None
        step = height(X.shape[1], self.dtype.itemsize, asked.rows)
        self._cut(X.shape, spans(X.shape[0], step))

    def take(self, start: int, stop: int) -> Any:
        return self.X.take(start, stop).astype(self.dtype, copy=False)


class Csr(ArrayReader):
    """Rows of a sparse matrix, given by the three arrays of CSR."""

    sparse = True

    def __init__(
        self, parts: dict[str, Rowwise], shape: tuple[int, int], sides: Sides, asked: ReadOptions,
        name: str,
    ) -> None:  # fmt: skip
        self.data, self.indices = parts["data"], parts["indices"]
        super().__init__(name, [self.data, self.indices, parts["indptr"]], sides, asked)
        self.indptr = whole(parts["indptr"])
        item = self.dtype.itemsize + self.indices.dtype.itemsize
        cuts = spans(shape[0], asked.rows) if asked.rows else _even(self.indptr, item)
        self._cut(shape, cuts)

    def take(self, start: int, stop: int) -> Any:
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        data = self.data.take(first, last).astype(self.dtype, copy=False)
        parts = (data, self.indices.take(first, last), self.indptr[start : stop + 1] - first)
        return sparse.csr_matrix(parts, shape=(stop - start, self.features))


class Joined(Reader):
    """The partitions of several readers, one after another."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        first = readers[0]
        for other in readers[1:]:
            if other.features != first.features or other.sparse != first.sparse:
                raise InvalidDataError(
                    f"{_called(first)} has {first.features} columns and {_called(other)} has "
                    f"{other.features}: all files need the same columns, all sparse or none.",
                    _called(other),
                )
        self.readers, self.sparse, self.features = readers, first.sparse, first.features
        self.paths = list(dict.fromkeys(path for reader in readers for path in reader.paths))
        self.slow = any(reader.slow for reader in readers)
        self.own = all(reader.own for reader in readers)
        self.ends = list(accumulate(reader.partitions for reader in readers))
        self.partitions = self.ends[-1]
        self.rows = sum(reader.rows or 0 for reader in readers)
        self.nbytes = sum(reader.nbytes or 0 for reader in readers)

    def read(self, i: int, rows: bool = True) -> Raw:
        which = bisect_right(self.ends, i)
        return self.readers[which].read(i - (self.ends[which - 1] if which else 0), rows)

    def fingerprint(self) -> str:
        return " ".join(reader.fingerprint() for reader in self.readers)


class Items(Reader):
    """A sequence of (X, y) or (X, y, weight) of somebody's own; each is read when it is needed."""

    def __init__(self, items: Any, dtype: Any) -> None:
        self.items, self.dtype, self.partitions = items, dtype, len(items)
        first = self.read(0).X
        self.features, self.sparse = first.shape[1], bool(sparse.issparse(first))

    def read(self, i: int, rows: bool = True) -> Raw:
        found = raw_of(self.items[i], Where(f"partition {i}"), self.dtype)
        if i and found.X.shape[1] != self.features:
            raise InvalidDataError(
                f"Partition {i} has {found.X.shape[1]} columns and partition 0 has "
                f"{self.features}: all need the same.",
                f"partition {i}",
            )
        return found

    def fingerprint(self) -> str:
        """Of the first partition, the last and the one in the middle, and how many there are."""
        known = hashlib.blake2b(f"{self.partitions}".encode(), digest_size=16)
        for i in sorted({0, self.partitions // 2, self.partitions - 1}):
            known.update(digest(self.read(i)).encode())
        return known.hexdigest()


class Sides:
    """What stands beside X: y and the weights; nan for each y where nobody has given one."""

    def __init__(self, y: Rowwise | None, weight: Rowwise | None) -> None:
        self.y, self.weight = y, weight
        self.arrays = [side for side in (y, weight) if side is not None]

    def check(self, n: int, name: str) -> None:
        for side in self.arrays:
            if not side.shape or side.shape[0] != n:
                raise InvalidDataError(
                    f"{name} has {n} rows and {side.name} has the shape {side.shape}: each row "
                    "needs one.",
                    side.name,
                )

    def take(self, start: int, stop: int) -> tuple[npt.NDArray[Any], Array | None]:
        y = self.y.take(start, stop) if self.y else np.full(stop - start, np.nan)
        y = y if y.dtype.isnative else y.astype(y.dtype.newbyteorder("="))
        weight = self.weight.take(start, stop).astype(np.float64) if self.weight else None
        return y, weight


class Restarted(Stream):
    """What somebody's function, or iterable, gives when it is begun anew."""

    kind = "an iterable"

    def __init__(self, begin: Callable[[], Any], dtype: Any) -> None:
        self.begin, self.dtype = begin, dtype

    def __iter__(self) -> Iterator[Raw]:
        for i, item in enumerate(self.begin()):
            yield raw_of(item, Where(f"partition {i}"), self.dtype)

    def fingerprint(self) -> str:
        """Of all that the first pass gave."""
        return str(self.summary["digest"])


class OneByOne(Stream):
    """A reader whose partitions are cheap one after another only."""

    kind = "compressed .npz"

    def __init__(self, reader: Reader, asked: ReadOptions) -> None:
        self.reader, self.paths, self.asked = reader, reader.paths, asked
        self.target = asked.known is None

    @property
    def options(self) -> tuple[Any, ...]:
        given = (self.asked.target, self.asked.weight)
        names = [name if isinstance(name, str) else None for name in given]
        return names, self.asked.rows, str(self.asked.dtype)

    def fingerprint(self) -> str:
        return self.reader.fingerprint()

    def __iter__(self) -> Iterator[Raw]:
        return iter(self.reader)


def raw_of(item: Any, where: Where, dtype: Any) -> Raw:
    """(X, y) or (X, y, weight) as somebody gave it."""
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        raise InvalidDataError(
            f"{where.file.capitalize()} is {type(item).__name__}.\nGive (X, y) or (X, y, weight).",
            where.file,
        )
    X, y, weight = (*item, None)[:3]
    at = where.file
    check_given(**{f"X of {at}": X, f"y of {at}": y, f"The weight of {at}": weight})
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    if X.ndim != 2 or y.ndim not in (1, 2) or len(y) != X.shape[0]:
        raise InvalidDataError(
            f"{where.file.capitalize()} has X of shape {X.shape} and y of shape {y.shape}: X "
            "needs two dimensions, and y a value for each row.",
            where.file,
        )
    X = X.astype(number_type(X.dtype, dtype, f"X of {where.file}"), copy=False)
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != (len(y),):
            raise InvalidDataError(
                f"{where.file.capitalize()} has {len(y)} rows and weights of shape {weight.shape}.",
                where.file,
            )
    return Raw(X, None, y, weight, where)


def number_type(found: np.dtype[Any], asked: Any, name: str) -> np.dtype[Any]:
    """What X is read as: as asked; else float32 stays and other numbers become float64."""
    if found.kind not in "fiub":
        raise InvalidDataError(f"{name} holds {found}, and X needs numbers.", parameter=name)
    if asked is not None:
        return cast("np.dtype[Any]", np.dtype(asked))
    return np.dtype(np.float32 if found.kind == "f" and found.itemsize <= 4 else np.float64)


def digest(raw: Raw) -> str:
    """What tells the numbers of a partition from others."""
    return " ".join(InArray(part, name).facts() for name, part in raw.arrays.items())


def _even(indptr: npt.NDArray[Any], item: int) -> list[tuple[int, int]]:
    """Rows in partitions of about PARTITION_BYTES, by how many numbers each row stores."""
    n = len(indptr) - 1
    size = indptr.astype(np.int64) * item + 8 * np.arange(n + 1)
    cuts = np.searchsorted(size, np.arange(PARTITION_BYTES, int(size[-1]), PARTITION_BYTES))
    ends = np.unique([0, *cuts, n]).tolist()
    return list(pairwise(ends))


def _called(reader: Reader) -> str:
    return str(reader.read(0, rows=False).where.file) if reader.partitions else "An empty file"
