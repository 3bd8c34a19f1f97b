"""What the first pass over files finds out: statistics of their columns, counts, sizes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidDataError
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.checks import check
from hoag._data.columns import Columns, MeanSquares, mean_squares, measured
from hoag._data.matrices import digest
from hoag._data.raw import Raw, Stream, spans


class ColumnStatistics:
    """What is known of d columns: means, variances, extremes, and how many numbers are missing.

    Sums are about the first number that a column has: a mean of 10⁸ would otherwise leave
    differences of means only half of their digits.

    >>> import numpy as np
    >>> from hoag._data.statistics import ColumnStatistics
    >>> statistics = ColumnStatistics(1)
    >>> for part in ([[1.0], [2.0]], [[6.0]]):
    ...     statistics.add(np.array(part), None)
    >>> statistics.means, statistics.variances
    (array([3.]), array([4.66666667]))
    """

    def __init__(self, d: int) -> None:
        self.shift, self.missing, zero = np.zeros(d), np.zeros(d), np.zeros(d)
        self.columns = Columns(
            MeanSquares(zero, zero, zero), np.full(d, np.inf), np.full(d, -np.inf)
        )

    @property
    def means(self) -> Array:
        return self.shift + self.columns.about.mean

    @property
    def variances(self) -> Array:
        total, _, squares = self.columns.about
        return squares / np.where(total > 0, total, 1.0)

    @property
    def scales(self) -> Array:
        """Standard deviations, 1 for columns that have one value only."""
        found = np.sqrt(self.variances)
        return np.where((self.columns.least < self.columns.most) & (found > 0), found, 1.0)

    def add(self, X: Any, weight: Array | None) -> None:
        """More rows; nan stands for a number that is missing."""
        w = np.ones(X.shape[0]) if weight is None else weight
        if sparse.issparse(X):
            self._join(measured(X, w))
            return
        step = max(1, int(BLOCK_ENTRIES / max(1, X.shape[1])))
        for start, stop in spans(len(X), step):
            self._join(self._of_array(np.asarray(X[start:stop], dtype=np.float64), w[start:stop]))

    def widened(self, d: int) -> None:
        """More columns, all zeros so far: rows of svmlight files do not know how many follow."""
        more, total = d - self.shift.size, self.columns.about.total.max(initial=0.0)
        if more > 0:
            added = ColumnStatistics(more)
            if total:
                added._join(measured(sparse.csr_matrix((1, more)), np.array([total])))
            self._keep(np.concatenate([self.arrays(), added.arrays()], axis=1))

    def _of_array(self, X: Array, w: Array) -> Columns:
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.isnan(X) if np.isnan(X.sum()) else None
        first = X[0] if gaps is None else X[np.argmin(gaps, axis=0), np.arange(X.shape[1])]
        new = (self.columns.about.total == 0) & ~np.isnan(first)
        self.shift = np.where(new, first, self.shift)
        Z = X - self.shift
        if gaps is not None:
            self.missing += gaps.sum(axis=0)
            Z[gaps], w = 0.0, ~gaps * w[:, None]
        return Columns(mean_squares(Z, w), np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0))

    def _join(self, more: Columns) -> None:
        total = np.broadcast_to(more.about.total, self.shift.shape)
        self.columns = self.columns.plus(more._replace(about=more.about._replace(total=total)))

    def arrays(self) -> Array:
        """All of it as one array, for a file; `of` reads it."""
        about, *extremes = self.columns
        return np.stack([self.shift, *about, *extremes, self.missing])

    @staticmethod
    def of(arrays: Array) -> ColumnStatistics:
        found = ColumnStatistics(0)
        found._keep(arrays)
        return found

    def _keep(self, arrays: Array) -> None:
        self.shift, self.missing = arrays[0], arrays[6]
        self.columns = Columns(MeanSquares(*arrays[1:4]), arrays[4], arrays[5])


class Tally:
    """Counts of all partitions that were added; `summary` is plain data, for a file."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.statistics = ColumnStatistics(0)
        self.heights = list[int]()
        self.sparse: bool | None = None
        self.whole = stream.whole
        self.least = 1  # the least index of a feature, 1 if none is below
        self.digest = hashlib.blake2b(digest_size=16)

    def add(self, raw: Raw) -> None:
        check(raw, self.stream.gaps, bool(self.stream.target), self.stream.names)
        is_sparse = bool(sparse.issparse(raw.X))
        self._check_alike(raw, is_sparse)
        self.sparse = is_sparse
        self.statistics.widened(raw.X.shape[1])
        X = raw.X
        if is_sparse and X.shape[1] < self.statistics.shift.size:
            parts = (X.data, X.indices, X.indptr)
            X = sparse.csr_matrix(parts, shape=(X.shape[0], self.statistics.shift.size))
        if raw.y.shape[0]:
            self.statistics.add(X, raw.weight)
        if is_sparse and X.nnz:
            self.least = min(self.least, int(X.indices.min()))
        self.stream.count(raw.codes)
        self.whole = self.whole and bool(np.all(raw.y == np.round(raw.y)))
        self.heights.append(len(raw.y))
        if not self.stream.paths:
            self.digest.update(digest(raw).encode())

    def _check_alike(self, raw: Raw, is_sparse: bool) -> None:
        if self.sparse is None:
            return
        if is_sparse != self.sparse:
            raise InvalidDataError(
                f"X in {raw.where.row(0)} is {'sparse' if is_sparse else 'dense'}, unlike the "
                "partitions before it.\nMake them alike.",
                raw.where.row(0),
                parameter="X",
            )
        d = self.statistics.shift.size
        if raw.X.shape[1] != d and not self.stream.widening:
            raise InvalidDataError(
                f"X has {raw.X.shape[1]} columns in {raw.where.row(0)}, and {d} before it: all "
                "partitions need the same.",
                raw.where.row(0),
                parameter="X",
            )

    def summary(self) -> dict[str, Any]:
        if not sum(self.heights):
            raise InvalidDataError(f"There are no rows: {self.stream.kind} gave nothing to read.")
        return {
            "rows": sum(self.heights), "heights": self.heights, "sparse": bool(self.sparse),
            "whole": self.whole, "digest": self.digest.hexdigest(),
            **self.stream.found(self.statistics.shift.size, self.least),
        }  # fmt: skip

    def columns(self, summary: dict[str, Any]) -> ColumnStatistics:
        """The statistics of the columns that X has in the end."""
        found = ColumnStatistics.of(self.statistics.arrays()[:, summary["first"] :])
        found.widened(summary["features"])
        return found
