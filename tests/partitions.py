"""Arrays cut into partitions, for the tests of rows that are not one array in memory."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone

from hoag import data

FITTED = ("coef_", "intercept_", "thresholds_", "lam_", "criterion_")


class Cut(data.Source):
    """X, y and weights between some row numbers; `reads` counts those read with X."""

    def __init__(self, X, y, cuts=(), weight=None):
        self.X, self.y, self.weight = X, y, weight
        self.ends = [0, *cuts, len(y)]
        self.partitions, self.features = len(self.ends) - 1, X.shape[1]
        self.partitions_read = 0

    @property
    def reads(self):
        return self.partitions_read / self.partitions

    def read(self, i, rows=True):
        own = slice(self.ends[i], self.ends[i + 1])
        self.partitions_read += bool(rows)
        weight = None if self.weight is None else self.weight[own]
        return data.Partition(self.X[own] if rows else None, self.y[own], weight)

    def fingerprint(self):
        return "cut"


class Changed(Cut):
    """A Cut of which one partition is changed by a function when it is read with its rows."""

    def __init__(self, X, y, cuts, which, change):
        super().__init__(X, y, cuts)
        self.which, self.change = which, change

    def read(self, i, rows=True):
        partition = super().read(i, rows)
        return self.change(partition) if rows and i == self.which else partition


def relative(found, other):
    """The largest difference, in units of the largest entry."""
    found, other = np.asarray(found), np.asarray(other)
    assert found.shape == other.shape
    size = np.max(np.abs(other), initial=0.0)
    return float(np.max(np.abs(found - other), initial=0.0) / (size or 1.0))


def both(estimator, X, y, weight=None, cuts=(7, 7, 60, 200), kept=None, **given):
    """Fitted in memory, and to partitions; the source. `kept` is X as the partitions have it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        near = clone(estimator).fit(X, y, weight, **given)
        source = Cut(X if kept is None else kept, y, cuts, weight)
        apart = clone(estimator).fit(source, **given)
    return near, apart, source


def agree(near, apart, rel=1e-10, names=FITTED):
    for name in names:
        if name in vars(near):
            known = getattr(near, name)
            assert relative(getattr(apart, name), known) <= rel, name
