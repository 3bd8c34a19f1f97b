"""The axes of the design: what is added on one of them from outside works with all the others.

A section for each axis. What is added implements a published protocol, and is held to the library's
own results and to finite differences. Of the library nothing is changed, but that small data would
be brought to memory whole, and stay where they are here (`out_of_core`).
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

import hoag
from hoag import data, glm, testing

# ---- data: rows in a list of memory-mapped files

ROWS, HEIGHTS, FEATURES = 240, (90, 1, 70, 79), 6


def arrays(labelled):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)) * [1.0, 0.1, 3.0, 1.0, 1.0, 1.0] + 2.0
    z = (X - 2.0) @ rng.normal(size=FEATURES) + 1.5 * rng.normal(size=ROWS)
    return X, (np.where(z > 0, 1, -1) if labelled else z)


@pytest.fixture(params=[False, True], ids=["ridge", "logistic"])
def mapped(request, tmp_path):
    """X, y, and both in several files, each a memory map; whether y are labels."""
    X, y = arrays(request.param)
    parts = []
    for i, some in enumerate(np.split(np.arange(ROWS), np.cumsum(HEIGHTS)[:-1])):
        pair = []
        for name, values in (("X", X[some]), ("y", y[some])):
            path = tmp_path / f"{name}{i}.bin"
            file = np.memmap(path, values.dtype, "w+", shape=values.shape)
            file[:] = values
            file.flush()
            pair.append(np.memmap(path, values.dtype, "r", shape=values.shape))
        parts.append(pair)
    return X, y, parts, request.param


class MappedSource(data.Source):
    """Partitions that are memory maps: all that a source of one's own has to say."""

    def __init__(self, parts):
        self.parts, self.partitions, self.features = parts, len(parts), parts[0][0].shape[1]

    def read(self, i, rows=True):
        X, y = self.parts[i]
        return data.Partition(X if rows else None, np.asarray(y))

    def fingerprint(self):
        return " ".join(str(X.filename) for X, _ in self.parts)


class MappedEngine(data.Engine):
    """The same without the library's threads: an engine of one's own, sums in its own order."""

    def __init__(self, source):
        self.source, self.partitions, self.features = source, source.partitions, source.features

    def gathered(self, call, prepare=None, rows=True):
        self.reads += rows
        read = [self.source.read(i, rows) for i in range(self.partitions)]
        return [call(each if prepare is None else prepare(i, each)) for i, each in enumerate(read)]

    def total(self, call, prepare=None, rows=True):
        first, *others = self.gathered(call, prepare, rows)
        for other in others:
            first = added(first, other)
        return first

    def fingerprint(self):
        return self.source.fingerprint()


def added(a, b):
    """Arrays, numbers, tuples of them, and what has a `plus`."""
    if hasattr(a, "plus"):
        return a.plus(b)
    if isinstance(a, tuple):
        both = [added(*pair) for pair in zip(a, b, strict=True)]
        return type(a)(*both) if hasattr(a, "_fields") else tuple(both)
    return a + b


class MappedRows(glm.Rows):
    """The rows alone, as models take them: blocks that are files."""

    def __init__(self, parts):
        self.files = [X for X, _ in parts]
        n = sum(map(len, self.files))
        self.shape, self.entries = (n, FEATURES), n * FEATURES

    def blocks(self):
        first = 0
        for X in self.files:
            yield slice(first, first + len(X)), X
            first += len(X)

    def take(self, numbers):
        return glm.ArrayRows(np.concatenate(self.files)[numbers])


def same_fit(found, known, rel=1e-9):
    for name in ("coef_", "intercept_", "lam_", "criterion_"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=rel, atol=rel)


@pytest.mark.usefixtures("out_of_core")
@pytest.mark.parametrize("kind", [MappedSource, lambda parts: MappedEngine(MappedSource(parts))])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
def test_mapped_partitions_are_fitted_as_arrays_are(mapped, kind, penalties):
    X, y, parts, labelled = mapped
    estimator = hoag.LogisticRegressionCV if labelled else hoag.RidgeCV
    given = {"cv": KFold(4), "penalties": penalties}
    known, found = estimator(**given).fit(X, y), estimator(**given).fit(kind(parts))
    same_fit(found, known)
    assert found.result_.cost.reads > 0


@pytest.mark.usefixtures("out_of_core")
def test_hypergradients_on_mapped_partitions_are_those_of_differences(mapped):
    _, _, parts, labelled = mapped
    estimator = (hoag.LogisticRegressionCV if labelled else hoag.RidgeCV)(cv=KFold(3))
    criterion = estimator._tuning_for(MappedSource(parts), None, None, {}).criterion
    testing.check_criterion(criterion, np.full(1, 1.5))
    for model in criterion.models:
        testing.check_problem(model, 0.1 * np.ones(model.x0.size), np.full(1, 0.5))


def test_mapped_rows_make_folds_that_are_minimised_as_those_of_arrays(mapped):
    X, y, parts, labelled = mapped
    make = hoag.models.logistic if labelled else hoag.models.ridge
    rows = MappedRows(parts)
    testing.check_rows(rows)
    known, found = (hoag.models.folds(make, A, y, cv=KFold(3), intercept=True) for A in (X, rows))
    for own, other in zip(found, known, strict=True):
        testing.check_same(own, other)
    testing.check_criterion(hoag.plan(found), np.full(1, 1.5))
    results = [hoag.minimize(folds, bounds=(-6.0, 12.0)) for folds in (found, known)]
    np.testing.assert_allclose(*(result.value for result in results), rtol=1e-9)
    np.testing.assert_allclose(*(result.lam for result in results), rtol=1e-9)
