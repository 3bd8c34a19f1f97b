"""Which fold a row is held out in, by partitions: no list of all rows is ever made.

Numbers of folds are scikit-learn's, row for row: KFold takes rows in their order, a K-th each, and
StratifiedKFold does so within each class. So where a row is among all rows, or among those of its
class, is all there is to know, and that is how many there are in the partitions before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Patterns:
    """Cells of rows that folds treat alike: which folds train on them, and are judged on them.

    train, test   (K, B)
    """

    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    @staticmethod
    def of_folds(K: int) -> Patterns:
        """Cell k is what fold k holds out, and all others train on."""
        return Patterns(~np.eye(K, dtype=bool), np.eye(K, dtype=bool))


def cells_of(code: npt.NDArray[np.int64], terms: int) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The cell of every row, −1 where nobody uses it, and which terms use a cell, (terms, B).

    Bit j of a row's code says whether term j uses it.
    """
    codes, labels = np.unique(code, return_inverse=True)
    used = codes > 0
    seen = (codes[None, used] >> np.arange(terms)[:, None] & 1).astype(bool)
    return np.ravel(labels) - int(not used[0]), seen


class FoldRule(ABC):
    """The cell of every row of a partition; a rule pickles."""

    patterns: Patterns

    @abstractmethod
    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers: ...


@dataclass(frozen=True, eq=False)
class InOrder(FoldRule):
    """KFold(K): the first K-th of all rows is held out first, and so on.

    first   the number of the first row of every partition
    ends    the number after the last row of every fold
    """

    first: Numbers
    ends: Numbers
    patterns: Patterns

    @staticmethod
    def of(rows: Sequence[int], K: int) -> InOrder:
        """For partitions of so many rows."""
        n = int(np.sum(rows))
        if not 2 <= K <= n:
            raise InvalidInput(f"cv={K} folds of {n} rows: give two or more, and at most {n}.")
        sizes = np.full(K, n // K)
        sizes[: n % K] += 1
        return InOrder(_before(np.asarray(rows)), np.cumsum(sizes), Patterns.of_folds(K))

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        numbers = self.first[partition] + np.arange(len(y))
        return np.asarray(np.searchsorted(self.ends, numbers, side="right"))


@dataclass(frozen=True, eq=False)
class ByClass(FoldRule):
    """StratifiedKFold(K): each class is parted in its order, so that folds have equal shares of it.

    first   (partitions, classes): how many rows of a class come before a partition
    ends    (classes, K): the number after the last row of a fold, among those of the class
    """

    classes: npt.NDArray[Any]
    first: Numbers
    ends: Numbers
    patterns: Patterns

    @staticmethod
    def of(counts: Numbers, classes: npt.NDArray[Any], seen: Numbers, K: int) -> ByClass:
        """For counts of each class in each partition; `seen`: in what order classes appear."""
        total = counts.sum(axis=0)
        n = int(total.sum())
        if K < 2 or np.all(total < K):
            raise InvalidInput(
                f"cv={K} folds: the most frequent class has {int(total.max(initial=0))} of {n} "
                "rows. Give at least two folds, and at most so many."
            )
        # All rows sorted by class, the class seen first in front: fold i has places i, i + K, …
        allocation, start = np.zeros((len(classes), K), dtype=np.intp), 0
        for c in seen:
            stop = start + int(total[c])
            places = np.arange(K)
            # so many of the numbers from start to stop − 1 leave a remainder of i
            allocation[c] = (stop - 1 - places) // K - (start - 1 - places) // K
            start = stop
        return ByClass(
            classes,
            np.apply_along_axis(_before, 0, counts),
            np.cumsum(allocation, axis=1),
            Patterns.of_folds(K),
        )

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        found = np.empty(len(y), dtype=np.intp)
        codes = np.searchsorted(self.classes, y)
        for c, ends in enumerate(self.ends):
            own = np.flatnonzero(codes == c)
            upto = np.clip(ends - self.first[partition, c], 0, own.size)
            found[own] = np.repeat(np.arange(len(ends)), np.diff(upto, prepend=0))
        return found


@dataclass(frozen=True, eq=False)
class Listed(FoldRule):
    """Any splits, as lists of rows: the cell of every row, made once, and cut into partitions."""

    parts: list[npt.NDArray[np.int16]]
    patterns: Patterns

    @staticmethod
    def of(rows: Sequence[int], splits: Iterable[tuple[Any, Any]], K: int) -> Listed:
        n = int(np.sum(rows))
        if 2 * K > 62:
            raise InvalidInput(f"{K} splits of out-of-core data: at most 31 are possible.")
        code = np.zeros(n, dtype=np.int64)
        for k, (train, test) in enumerate(splits):
            if any(np.asarray(part).dtype != bool and _repeats(part) for part in (train, test)):
                raise InvalidInput(
                    f"Split {k + 1} of cv draws a row more than once, which out-of-core "
                    "data do not take: give weights, or splits without replacement."
                )
            code[train] |= 1 << k
            code[test] |= 1 << (K + k)
        labels, seen = cells_of(code, 2 * K)
        parts = np.split(labels.astype(np.int16), np.cumsum(rows)[:-1])
        return Listed(list(parts), Patterns(seen[:K], seen[K:]))

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
    patterns: Patterns

    @staticmethod
    def of(rule: FoldRule, classes: npt.NDArray[Any], weights: npt.NDArray[Any]) -> FoldRule:
        """`weights`, (B, classes): of the rows of every cell and class."""
        train, test = rule.patterns.train, rule.patterns.test
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
        patterns = Patterns(
            np.column_stack([train, *more_train]), np.column_stack([test, *more_test])
        )
        return NotJudged(rule, classes, cells, patterns)

    def labels(self, partition: int, y: npt.NDArray[Any]) -> Numbers:
        own = self.rule.labels(partition, y)
        other = self.cells[own, np.searchsorted(self.classes, y)]
        return np.where(own >= 0, other, own)


def _before(rows: Numbers) -> Numbers:
    """How many come before each."""
    return np.cumsum(rows) - rows


def _repeats(rows: Any) -> bool:
    return np.unique(rows).size < np.size(rows)
