"""Which fold a row is held out in, by partitions: no list of all rows is ever made; and samples.

Numbers of folds are scikit-learn's, row for row: KFold takes rows in their order, a K-th each, and
StratifiedKFold does so within each class. So where a row is among all rows, or among those of its
class, is all there is to know, and that is how many there are in the partitions before.

Samples are the same rows in memory and in partitions, and the larger hold the smaller: every row
draws a number by itself, from its place among all rows, and a sample is the rows that drew less
than its share of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag._core.warn import warn
from hoag._data.target import PartitionedColumn

Numbers = npt.NDArray[np.intp]


def cells_of(code: npt.NDArray[np.int64], terms: int) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The cell of every row, −1 where nobody uses it, and which terms use a cell, (terms, B).

    Bit j of a row's code says whether term j uses it.
    """
    codes, labels = np.unique(code, return_inverse=True)
    used = codes > 0
    seen = (codes[None, used] >> np.arange(terms)[:, None] & 1).astype(bool)
    return np.ravel(labels) - int(not used[0]), seen


class FoldRule(ABC):
    """The cell of every row of a partition, which folds treat alike; a rule pickles.

    train, test   (K, B): which folds train on a cell, and are judged on it
    """

    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    @abstractmethod
    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers: ...


@dataclass(frozen=True, eq=False)
class InOrder(FoldRule):
    """KFold(K): the first K-th of all rows is held out first, and so on; or StratifiedKFold(K),
    which does so within each class.

    classes    all rows are as of one class if None
    first      (partitions, classes): how many rows of a class come before a partition
    ends       (classes, K): the number after the last row of a fold, among those of the class
    """

    classes: npt.NDArray[Any] | None
    first: Numbers
    ends: Numbers
    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    @staticmethod
    def of(rows: Sequence[int], K: int) -> InOrder:
        """For partitions of so many rows."""
        n = int(np.sum(rows))
        if not 2 <= K <= n:
            raise InvalidParameterError(
                f"cv={K} folds of {n} rows.\nGive two or more, and at most {n}.", "cv", K
            )
        return InOrder._of(np.reshape(rows, (-1, 1)), None, np.zeros(1, dtype=np.intp), K)

    @staticmethod
    def by_class(counts: Numbers, classes: npt.NDArray[Any], seen: Numbers, K: int) -> InOrder:
        """For counts of each class in each partition; `seen`: in what order classes appear."""
        total = counts.sum(axis=0)
        if K < 2 or np.all(total < K):
            raise InvalidParameterError(
                f"cv={K} folds: the most frequent class has {int(total.max(initial=0))} of "
                f"{int(total.sum())} rows.\nGive at least two folds, and at most so many.",
                "cv",
                K,
            )
        return InOrder._of(counts, classes, seen, K)

    @staticmethod
    def _of(counts: Numbers, classes: npt.NDArray[Any] | None, seen: Numbers, K: int) -> InOrder:
        # All rows sorted by class, the class seen first in front: fold i has places i, i + K, …
        total, folds = counts.sum(axis=0), np.arange(K)
        allocation, start = np.zeros((total.size, K), dtype=np.intp), 0
        for c in seen:
            stop = start + int(total[c])
            # so many of the numbers from start to stop − 1 leave a remainder of i
            allocation[c] = (stop - 1 - folds) // K - (start - 1 - folds) // K
            start = stop
        first = np.cumsum(counts, axis=0) - counts
        held = np.eye(K, dtype=bool)  # cell k is what fold k holds out, and all others train on
        return InOrder(classes, first, np.cumsum(allocation, axis=1), ~held, held)

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        found = np.empty(len(y), dtype=np.intp)
        codes = np.zeros(len(y)) if self.classes is None else np.searchsorted(self.classes, y)
        for c, ends in enumerate(self.ends):
            own = np.flatnonzero(codes == c)
            upto = np.clip(ends - self.first[partition, c], 0, own.size)
            found[own] = np.repeat(np.arange(len(ends)), np.diff(upto, prepend=0))
        return found


@dataclass(frozen=True, eq=False)
class Listed(FoldRule):
    """Any splits, as lists of rows: the cell of every row, made once, and cut into partitions."""

    parts: list[npt.NDArray[np.int16]]
    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    @staticmethod
    def of(rows: Sequence[int], splits: Iterable[tuple[Any, Any]], K: int) -> Listed:
        n = int(np.sum(rows))
        if 2 * K > 62:
            raise NotSupportedError(
                f"{K} splits of out-of-core data: at most 31 are possible.", "cv", K
            )
        code = np.zeros(n, dtype=np.int64)
        for k, (train, test) in enumerate(splits):
            if any(np.asarray(part).dtype != bool and _repeats(part) for part in (train, test)):
                raise NotSupportedError(
                    f"Split {k + 1} of cv draws a row more than once, which out-of-core data do "
                    "not take.\nGive weights, or splits without replacement.",
                    "cv",
                    where=f"split {k + 1}",
                )
            code[train] |= 1 << k
            code[test] |= 1 << (K + k)
        labels, seen = cells_of(code, 2 * K)
        parts = np.split(labels.astype(np.int16), np.cumsum(rows)[:-1])
        return Listed(list(parts), seen[:K], seen[K:])

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        return self.parts[partition].astype(np.intp)


@dataclass(frozen=True, eq=False)
class NotJudged(FoldRule):
    """Another rule, without judging a fold on rows of classes that it has not seen in training.

    cells   (B, classes): the cell that rows of a class go to instead, or their own
    """

    rule: FoldRule
    classes: npt.NDArray[Any]
    cells: Numbers
    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    @staticmethod
    def of(rule: FoldRule, classes: npt.NDArray[Any], weights: npt.NDArray[Any]) -> FoldRule:
        """`weights`, (B, classes): of the rows of every cell and class."""
        train, test = rule.train, rule.test
        B = train.shape[1]
        cells = np.tile(np.arange(B)[:, None], (1, len(classes)))
        more_train: list[Any] = []
        more_test: list[Any] = []
        unseen = train.astype(float) @ weights == 0  # (K, classes)
        for b in range(B):
            for c in np.flatnonzero(np.any(unseen & test[:, [b]], axis=0)):
                cells[b, c] = B + len(more_train)
                more_train.append(train[:, b])
                more_test.append(test[:, b] & ~unseen[:, c])
        if not more_train:
            return rule
        train, test = (np.column_stack(part) for part in ((train, *more_train), (test, *more_test)))
        return NotJudged(rule, classes, cells, train, test)

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        own = self.rule.labels(partition, y)
        other = self.cells[own, np.searchsorted(self.classes, y)]
        return np.where(own >= 0, other, own)


def rule_of(cv: Any, column: PartitionedColumn, stratified: bool, groups: Any = None) -> FoldRule:
    """Which rows are held out together: as scikit-learn has it, row for row."""
    cv = 5 if cv is None else cv
    if isinstance(cv, KFold) and not cv.shuffle:
        return InOrder.of(column.rows, cv.n_splits)
    in_order = isinstance(cv, StratifiedKFold) and not cv.shuffle
    if in_order or (isinstance(cv, Integral) and stratified):
        K = cv.n_splits if in_order else int(cv)
        fewest = int(column.by_partition.sum(axis=0).min())
        if fewest < K:
            warn(
                f"The least populated class in y has only {fewest} members, which is less than "
                f"n_splits={K}."
            )
        return InOrder.by_class(column.by_partition, column.classes, column.order, K)
    if isinstance(cv, Integral):
        return InOrder.of(column.rows, int(cv))
    # Any other splitter sees all of y, and makes lists of all rows.
    y = np.concatenate(column.engine.gathered(attrgetter("y"), rows=False))
    cv = check_cv(cv, y, classifier=stratified)
    splits = cv.split(np.zeros(len(y)), y, groups)  # one after another: each is as long as y
    return Listed.of(column.rows, splits, int(cv.get_n_splits(np.zeros(len(y)), y, groups)))


def _repeats(rows: Any) -> bool:
    return np.unique(rows).size < np.size(rows)


def drawn(rows: npt.NDArray[np.intp], seed: int = 0) -> Array:
    """Uniform numbers in [0, 1), one for each row, from its number alone (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)) * 2.0**-53)


def below(draws: Array, labels: npt.NDArray[np.intp], share: float) -> npt.NDArray[np.intp]:
    """The rows that drew less than a share, and of every cell at least the one that drew least."""
    chosen = (draws < share) & (labels >= 0)
    for b in np.unique(labels[labels >= 0]):
        own = labels == b
        if not np.any(chosen & own):
            chosen[np.flatnonzero(own)[np.argmin(draws[own])]] = True
    return np.flatnonzero(chosen)
