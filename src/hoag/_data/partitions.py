"""hoag.partitions: rows in files, or wherever, as partitions that estimators can be fitted to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInputError, InvalidParameterError
from hoag._core.types import ArrayLike, Path
from hoag._core.words import listed, sized
from hoag._data import encoding as encodings
from hoag._data.cache import Cache, Cached, Cursor, Tallied, kept
from hoag._data.checks import check
from hoag._data.dialect import Dialect
from hoag._data.files import UnchangedFiles, stamp
from hoag._data.raw import Reader, ReadOptions, Stream
from hoag._data.readers import reader_of
from hoag._data.source import Partition, Source
from hoag._data.statistics import ColumnStatistics


def partitions(
    data: Any,
    target: str | Path | ArrayLike | None = None,
    *,
    weight: str | ArrayLike | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    dtype: npt.DTypeLike | None = None,
    cache: Path | None = "auto",
    standardise: bool = False,
    categories: str | Sequence[str] = "auto",
    features: int | None = None,
    dialect: Mapping[str, Any] | None = None,
    encoding: dict[str, Any] | None = None,
) -> Partitions:
    """Rows that need not fit into memory, in partitions that are read when they are needed.

    The numbers of .npy files, of .npz archives that are not compressed and of arrays are read where
    they lie. Everything else is parsed once and written to a cache of partitions, from which it is
    read again and again: `cached` says where it is and how many bytes it takes. A cache is used by
    later runs as long as the files have their sizes and times; it may be deleted at any time.

    Columns of tables are encoded as the command line does it: a number that is missing becomes the
    mean, with a column beside it that says where, and text becomes a column of 0 and 1 for each
    category. Means, deviations and categories are those of all rows, found in one pass.

    Parameters
    ----------
    data : path, pattern, list, tuple, sequence, iterable or callable
        Paths of Parquet, Arrow, CSV, svmlight or .npz files, or a list of them or a pattern such as
        "big/*.parquet", all of one kind. (X, y) or (X, y, weight), each an array or the path of an
        .npy file. A sequence of such partitions, each of which is asked for when it is needed, or
        an iterable of them that can be begun anew, or a function that returns one.
    target : str or array, default=None
        The column that is y; beside an .npy or .npz file also the path of an .npy file, or an
        array.
    weight : str or array, default=None
        The column, or array, of the weights of the rows.
    columns : sequence of str, default=None
        The columns of tables that X is made of; all others but target and weight if None.
    rows : int, default=None
        How many rows a partition has. About 16 MB of them if None.
    dtype : dtype, default=None
        Of X: np.float32 takes half the memory, on disk too. If None, float32 stays what it is, and
        other numbers become float64. Means and deviations are summed in float64.
    cache : "auto", path or None, default="auto"
        The folder for the cache. "auto": .hoag-blocks beside the data if that can be written to,
        else in the user's cache folder, and for iterables a temporary one, which is removed with
        the source. None: parsed again at every pass.
    standardise : bool, default=False
        Subtract the mean and divide by the standard deviation; sparse X is only divided.
    categories : "auto" or list of str, default="auto"
        Columns that are categories whatever they hold; text is, in any case.
    features : int, default=None
        How many features svmlight files have; found out if None.
    dialect : dict, default=None
        How CSV files are written, where that is not found out: sep, decimal, encoding, and na, a
        list of words that stand for a missing value.
    encoding : dict, default=None
        That of other partitions, for new rows: their columns, means and categories are used, and
        standardise and columns say nothing. y may be missing then.

    Returns
    -------
    Partitions
        For `fit` of the estimators.

    Raises
    ------
    InvalidDataError
        Where a file, a column or a value cannot be used; the message says where it is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import hoag
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     folder = pathlib.Path(folder)
    ...     np.save(folder / "X.npy", X)
    ...     np.save(folder / "y.npy", X[:, 0] > 0)
    ...     source = hoag.partitions((folder / "X.npy", folder / "y.npy"), rows=300)
    ...     source.partitions, source.read(3).rows
    (4, 100)
    """
    if rows is not None and rows < 1:
        raise InvalidParameterError.of("rows", rows, "a partition has at least one.")
    if dtype is not None and np.dtype(dtype).name not in ("float32", "float64"):
        raise InvalidParameterError.of("dtype", dtype, "np.float32 or np.float64, or None.")
    if isinstance(categories, str) and categories != "auto":
        raise InvalidParameterError.of(
            "categories", categories, "give 'auto' or a list of columns."
        )
    if isinstance(columns, str):
        raise InvalidParameterError.of("columns", columns, "give a list of columns.")
    asked = ReadOptions(target, weight, columns, rows, dtype, categories, features,
                        _dialect(dialect), encoding)  # fmt: skip
    return Partitions(data, asked, cache, standardise)


class Partitions(Source):
    """What `hoag.partitions` makes: partitions of rows, encoded as they are read.

    Attributes
    ----------
    n : int or None
        How many rows there are; None for a sequence that nobody has gone through.
    nbytes : int or None
        About what one pass reads; None likewise.
    cached : (path, int) or None
        The folder and the bytes of the cache that partitions are read from.
    encoding : dict
        Means, scales and categories: plain data, that JSON can hold.

    Examples
    --------
    >>> import numpy as np
    >>> import hoag
    >>> source = hoag.partitions((np.eye(3), [0, 1, 1]), rows=2)
    >>> source
    Partitions of 3 rows and 3 columns, 2 partitions
    >>> source.read(1).X
    array([[0., 0., 1.]])
    """

    def __init__(self, data: Any, asked: ReadOptions, cache: Any, standardise: bool) -> None:
        self._asked, self._cache, self._standardise = asked, cache, standardise
        found = reader_of(data, asked)
        self._files = UnchangedFiles(found.paths)
        self._kind = found.kind if isinstance(found, Stream) else ""
        if not isinstance(found, Stream):
            self._reader: Reader = found
        elif cache is None or cache is False:
            self._reader = Cursor(found)
        else:
            self._reader = kept(found, cache)
        self._checked: set[int] | None = None if self._reader.checked else set()
        summary, statistics = self._first_pass()
        self.encoding: dict[str, Any] = asked.known or encodings.made(
            summary, statistics, standardise
        )
        orders = summary.get("categories", {})
        self._encoder = encodings.Encoder(self.encoding, orders)
        self._whole = bool(summary.get("whole"))
        self.partitions, self.features = self._reader.partitions, self._encoder.features
        self.names = encodings.names_out(self.encoding)
        self.n, self.nbytes = self._reader.rows, self._reader.nbytes
        if asked.features not in (None, self.features):
            raise InvalidParameterError(
                f"features={asked.features}, and X has {self.features} columns.", "features"
            )

    def _first_pass(self) -> tuple[dict[str, Any], ColumnStatistics | None]:
        """What is known of all rows; those that need no cache are gone through to standardise."""
        reader = self._reader
        if isinstance(reader, Tallied):
            return reader.summary, reader.statistics
        summary = {"features": reader.features, "first": 0, "sparse": reader.sparse}
        if not self._standardise or self._asked.known is not None:
            return summary, None
        statistics = ColumnStatistics(reader.features)
        for i, raw in enumerate(reader):
            self._check(i, raw)
            statistics.add(raw.X, raw.weight)
        return summary, statistics

    def _check(self, i: int, raw: Any) -> None:
        if self._checked is not None and i not in self._checked:
            check(raw, target=self._asked.known is None)
            if raw.X is not None:
                self._checked.add(i)

    @property
    def cached(self) -> Cache | None:
        """Where the cache is, and how many bytes it takes; None where there is none."""
        reader = self._reader
        return Cache(reader.folder, reader.nbytes or 0) if isinstance(reader, Cached) else None

    def read(self, i: int, rows: bool = True) -> Partition:
        """Partition i, encoded; with rows=False X may be left out."""
        try:
            raw = self._reader.read(i, rows)
        except (InvalidInputError, OSError):
            self._files.check()  # which tells more
            raise
        if i in (0, self.partitions - 1):  # before and after each pass
            self._files.check()
        self._check(i, raw)
        X = self._encoder.encoded(raw, self._reader.own) if rows else None
        return Partition(X, raw.y.astype(np.int64) if self._whole else raw.y, raw.weight)

    def like(self, data: Any, target: Any = None, weight: Any = None) -> Partitions:
        """Other rows with the same encoding, for predictions.

        Categories that are new have a 0 in every column. y is nan where there is none.
        """
        asked = replace(
            self._asked, known=self.encoding, features=None,
            target=self._sides(target, self._asked.target),
            weight=self._sides(weight, self._asked.weight))  # fmt: skip
        return Partitions(data, asked, self._cache, self._standardise)

    def _sides(self, given: Any, before: Any) -> Any:
        """The name of the same column, but no other data's array."""
        return before if given is None and "numbers" in self.encoding else given

    def fingerprint(self) -> str:
        """Of files, names, sizes, times and options; of arrays and iterables, what they hold.

        Arrays of more than 64 MB are known by as much of them, sequences by three of their
        partitions.
        """
        self._files.check()
        known = json.dumps(self.encoding) if self._asked.known else ""
        return stamp((), self._reader.fingerprint(), self._standardise, known)

    def __repr__(self) -> str:
        n = "rows" if self.n is None else f"{self.n} rows"
        told = f"Partitions of {n} and {self.features} columns, {self.partitions} partitions"
        if self.cached is not None:
            where = f"parsed once from {self._kind} to {self.cached.path}"
            return f"{told}; {where} ({sized(self.cached.bytes)})"
        return f"{told}; parsed from {self._kind} at every pass" if self._kind else told


def _dialect(given: Mapping[str, Any] | None) -> Dialect:
    known = {"sep", "decimal", "encoding", "na"}
    if wrong := sorted(set(given or {}) - known):
        raise InvalidParameterError(
            f"dialect= has {listed(wrong)}, and knows {listed(sorted(known))}.", "dialect", given
        )
    own = dict(given or {})
    return Dialect(**(own | {"na": tuple(own["na"])} if "na" in own else own))
