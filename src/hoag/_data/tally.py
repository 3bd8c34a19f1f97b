"""What the first pass over a stream finds out: sizes, statistics, categories, what is wrong."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidInput
from hoag._data.checks import check
from hoag._data.matrices import digest
from hoag._data.raw import Raw, Stream
from hoag._data.statistics import ColumnStatistics
from hoag._data.svmlight import Svmlight
from hoag._data.tables import Tables


class Tally:
    """Counts of all partitions that were added; `summary` is plain data, for a file."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.tables = stream if isinstance(stream, Tables) else None
        self.statistics = ColumnStatistics(0)
        self.heights = list[int]()
        self.sparse: bool | None = None
        self.weighted = False
        self.whole = self.tables is not None and self.tables.whole
        self.least = 1  # the least index of a feature, 1 if none is below
        self.digest = hashlib.blake2b(digest_size=16)

    def add(self, raw: Raw) -> None:
        names = None if self.tables is None else [*self.tables.numbers, *self.tables.flags]
        check(raw, self.stream.gaps, bool(self.stream.target), names)
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
        if self.tables is not None and raw.codes is not None:
            for own, codes in zip(self.tables.levels, raw.codes.T, strict=True):
                own.count(codes)
        self.weighted |= raw.weight is not None
        self.whole = self.whole and bool(np.all(raw.y == np.round(raw.y)))
        self.heights.append(len(raw.y))
        if not self.stream.paths:
            self.digest.update(digest(raw).encode())

    def _check_alike(self, raw: Raw, is_sparse: bool) -> None:
        if self.sparse is None:
            return
        if is_sparse != self.sparse:
            raise InvalidInput(
                f"X in {raw.where.row(0)} is {'sparse' if is_sparse else 'dense'}, unlike the "
                "partitions before it: make them alike."
            )
        d = self.statistics.shift.size
        if raw.X.shape[1] != d and not isinstance(self.stream, Svmlight):
            raise InvalidInput(
                f"X has {raw.X.shape[1]} columns in {raw.where.row(0)}, and {d} before it: all "
                "partitions need the same."
            )

    def summary(self) -> dict[str, Any]:
        if not sum(self.heights):
            raise InvalidInput(f"There are no rows: {self.stream.kind} gave nothing to read.")
        d, first = self.statistics.shift.size, 0
        if isinstance(self.stream, Svmlight) and self.stream.width is None:
            first = self.least
            d = _width(d - first, self.stream.asked)
        known: dict[str, Any] = {
            "rows": sum(self.heights), "heights": self.heights, "features": d, "first": first,
            "sparse": bool(self.sparse), "weighted": self.weighted, "whole": self.whole,
            "digest": self.digest.hexdigest(),
        }  # fmt: skip
        if self.tables is not None:
            own = self.tables.levels
            known |= {
                "numbers": self.tables.numbers, "flags": self.tables.flags,
                "categories": {levels.name: list(levels.codes) for levels in own},
                "counts": {levels.name: levels.counts.tolist() for levels in own},
                "lacking": {levels.name: levels.missing for levels in own},
            }  # fmt: skip
        return known

    def columns(self, summary: dict[str, Any]) -> ColumnStatistics:
        """The statistics of the columns that X has in the end."""
        found = ColumnStatistics.of(self.statistics.arrays()[:, summary["first"] :])
        found.widened(summary["features"])
        return found


def _width(seen: int, asked: int | None) -> int:
    """How many features svmlight files have."""
    if asked is not None and seen > asked:
        raise InvalidInput(f"features={asked}, and the files have {seen}: give at least as many.")
    return max(seen, 0) if asked is None else asked
