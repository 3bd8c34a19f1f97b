"""Partitions: sums in a tree, folds and samples by partition, reading ahead, errors."""

from __future__ import annotations

import gc
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import Changed, Cut, agree, both
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from threadpoolctl import threadpool_info, threadpool_limits

import hoag
from hoag import data
from hoag._data.engine import LocalEngine, TreeSum
from hoag._data.fold_rule import InOrder, Listed, NotJudged, below, drawn, rule_of
from hoag._data.standardize import Standardiser
from hoag._data.target import PartitionedColumn
from hoag.errors import InvalidInputError

FEW = settings(max_examples=25, deadline=None)
SIZES = st.integers(1, 40)
SEEDS = st.integers(0, 2**32 - 1)


# ---- the tree


def leaves(n, seed):
    """Floats of many sizes and both signs, so that the order in which they are added shows."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 10.0 ** rng.integers(-8, 9, size=n)


def summed(pairs):
    tree = TreeSum()
    for node, value in pairs:
        tree.add(node, value)
    return tree.total


@FEW
@given(n=SIZES, seed=SEEDS, data=st.data())
def test_sums_do_not_depend_on_who_adds_first(n, seed, data):
    values = leaves(n, seed)
    known = summed([((0, i), float(v)) for i, v in enumerate(values)])
    order = data.draw(st.permutations(range(n)))
    assert summed([((0, i), float(values[i])) for i in order]) == known
    # nodes that somebody else has added up, by trees of their own
    level = data.draw(st.integers(0, 5))
    width = 2**level
    parts = []
    for j in range(-(-n // width)):
        own = range(j * width, min((j + 1) * width, n))
        if len(own) == width:
            parts.append(((level, j), summed([((0, i), float(values[i])) for i in own])))
        else:
            parts += [((0, i), float(values[i])) for i in own]
    shuffled = data.draw(st.permutations(parts))
    assert summed(shuffled) == known
    assert known == pytest.approx(float(np.sum(values)), abs=1e-12 * np.abs(values).sum())


def test_plain_sums_do_depend_on_it():
    """Else the test above says nothing."""
    values = leaves(40, 0)
    orders = [np.random.default_rng(k).permutation(40) for k in range(20)]
    assert len({sum(values[order].tolist()) for order in orders}) > 3
    assert len({summed([((0, i), float(values[i])) for i in order]) for order in orders}) == 1


@FEW
@given(n=SIZES, seed=SEEDS)
def test_tuples_arrays_and_what_adds_itself_are_summed_alike(n, seed):
    values = leaves(n, seed)
    pairs = [((0, i), (float(v), np.array([v, -v]))) for i, v in enumerate(values)]
    number, array = summed(pairs)
    known = summed([((0, i), float(v)) for i, v in enumerate(values)])
    assert number == known
    np.testing.assert_array_equal(array, [known, -known])


# ---- folds

PARTITIONS = st.lists(st.integers(0, 120), max_size=6).map(sorted)


def splits_of(rule, source):
    """The splits that a rule makes, as lists of rows."""
    labels = [rule.labels(i, source.read(i).y) for i in range(source.partitions)]
    label = np.concatenate(labels)
    assert [len(own) for own in labels] == [source.read(i).rows for i in range(source.partitions)]

    def rows(used):
        return np.flatnonzero((label >= 0) & np.append(used, False)[label])

    return [(rows(a), rows(b)) for a, b in zip(rule.train, rule.test, strict=True)]


def same_splits(found, known):
    assert len(found) == len(known)
    for (train, test), (own_train, own_test) in zip(found, known, strict=True):
        np.testing.assert_array_equal(train, np.sort(own_train))
        np.testing.assert_array_equal(test, np.sort(own_test))


def ruled(cv, y, cuts, stratified, groups=None):
    source = Cut(np.zeros((len(y), 1)), y, [min(cut, len(y)) for cut in cuts])
    column = PartitionedColumn.of(LocalEngine(source), stratified)
    return splits_of(rule_of(cv, column, stratified, groups), source)


@FEW
@given(n=st.integers(5, 120), K=st.integers(2, 5), cuts=PARTITIONS)
def test_folds_in_order_are_those_of_kfold(n, K, cuts):
    y = np.arange(n, dtype=float)
    known = list(KFold(K).split(y))
    same_splits(ruled(K, y, cuts, False), known)
    same_splits(ruled(KFold(K), y, cuts, True), known)


@pytest.mark.filterwarnings("ignore:The least populated class")
@FEW
@given(
    n=st.integers(12, 120),
    K=st.integers(2, 5),
    cuts=PARTITIONS,
    classes=st.integers(2, 4),
    kind=st.sampled_from(["drawn", "sorted", "backwards", "rare"]),
    strings=st.booleans(),
    seed=SEEDS,
)
def test_folds_by_class_are_those_of_stratified_kfold(n, K, cuts, classes, kind, strings, seed):
    y = np.random.default_rng(seed).integers(0, classes, n)
    if kind == "rare":
        y = np.where(np.arange(n) == n // 2, 9, np.minimum(y, 1))
    y = {"sorted": np.sort(y), "backwards": np.sort(y)[::-1]}.get(kind, y)
    y = np.array([f"class {label}" for label in y]) if strings else y
    if np.unique(y, return_counts=True)[1].max() < K:
        return
    known = list(StratifiedKFold(K).split(y, y))
    same_splits(ruled(K, y, cuts, True), known)
    same_splits(ruled(StratifiedKFold(K), y, cuts, True), known)


def test_a_rare_class_is_told_of():
    y = np.array([0, 1] * 20 + [2])
    with pytest.warns(UserWarning, match="only 1 members"):
        ruled(5, y, (7,), True)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@settings(max_examples=8, deadline=None)
@given(n=st.integers(20, 120), cuts=PARTITIONS, seed=st.integers(0, 1000))
def test_any_other_splitter_is_listed(n, cuts, seed):
    rng = np.random.default_rng(seed)
    y, groups = rng.integers(0, 2, n), rng.integers(0, 6, n)
    y[:10], groups[:6] = np.arange(10) % 2, np.arange(6)
    for cv in (
        ShuffleSplit(3, random_state=seed),
        GroupKFold(3),
        TimeSeriesSplit(4),
        PredefinedSplit(groups % 4 - 1),
        KFold(4, shuffle=True, random_state=seed),
        StratifiedKFold(3, shuffle=True, random_state=seed),
    ):
        known = list(cv.split(np.zeros(n), y, groups))
        same_splits(ruled(cv, y, cuts, True, groups), known)
        same_splits(ruled(known, y, cuts, True), known)


def test_splits_that_partitions_do_not_take():
    with pytest.raises(InvalidInputError, match="more than once"):
        Listed.of([4, 2], [([0, 0, 1], [2])], 1)
    with pytest.raises(InvalidInputError, match="at most 31"):
        Listed.of([40], LeaveOneOut().split(np.zeros(40)), 40)


def test_rows_of_an_unseen_class_are_not_judged():
    y = np.array([2, 2, 0, 1] + [0, 1] * 4)  # KFold(3) has both rows of class 2 in its first part
    rule = InOrder.of([4, 0, 8], 3)
    label = np.concatenate([rule.labels(i, part) for i, part in enumerate((y[:4], y[:0], y[4:]))])
    weights = np.array([[np.sum((label == b) & (y == c)) for c in range(3)] for b in range(3)])
    new = NotJudged.of(rule, np.arange(3), weights.astype(float))
    source = Cut(np.zeros((12, 1)), y, (4, 4))
    (train, test), *others = splits_of(new, source)
    np.testing.assert_array_equal(train, np.arange(4, 12))
    np.testing.assert_array_equal(test, [2, 3])
    same_splits(others, list(KFold(3).split(y))[1:])
    seen = NotJudged.of(rule, np.arange(2), weights[:, :2].astype(float))
    assert seen is rule  # nothing to leave out


# ---- samples


@FEW
@given(n=st.integers(1, 500), cuts=PARTITIONS, seed=st.integers(0, 100), share=st.floats(0, 1))
def test_samples_are_nested_and_the_same_in_partitions(n, cuts, seed, share):
    rows, labels = np.arange(n), np.arange(n) % 5 - 1
    draws = drawn(rows, seed)
    parts = np.split(rows, [min(cut, n) for cut in cuts])
    np.testing.assert_array_equal(np.concatenate([drawn(part, seed) for part in parts]), draws)
    assert np.all((draws >= 0) & (draws < 1))
    few, many = below(draws, labels, share / 2), below(draws, labels, share)
    assert set(few) <= set(many)
    assert set(labels[few]) == set(labels[labels >= 0])  # of every block at least one row
    np.testing.assert_array_equal(below(draws, labels, 1.0), np.flatnonzero(labels >= 0))


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_draws_are_uniform(seed):
    n = 200_000
    draws = drawn(np.arange(n), seed)
    counts = np.histogram(draws, bins=100, range=(0, 1))[0]
    assert np.sum((counts - n / 100) ** 2 / (n / 100)) < 170  # χ² of 99 degrees
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.01
    assert abs(np.corrcoef(draws, drawn(np.arange(n), seed + 1))[0, 1]) < 0.01


# ---- who reads


class Slow(Cut):
    """Keeps weak references to its partitions, and the number of those begun."""

    def __init__(self, n=20):
        super().__init__(np.zeros((10 * n, 3)), np.zeros(10 * n), range(10, 10 * n, 10))
        self.alive, self.begun = [], 0

    def read(self, i, rows=True):
        self.begun = max(self.begun, i + 1)
        X = np.full((10, 3), float(i))
        self.alive.append(weakref.ref(X))
        return data.Partition(X, np.zeros(10))

    def living(self):
        return sum(ref() is not None for ref in self.alive)


def readers():
    return [t for t in threading.enumerate() if t.name.startswith("hoag-read-ahead")]


@pytest.mark.parametrize("ahead", [0, 1, 2, 5])
def test_a_few_partitions_are_read_ahead_and_none_is_kept(ahead):
    source, seen = Slow(), []

    def look(partition):
        time.sleep(0.002)  # let the reader go as far as it may
        i = int(partition.X[0, 0])
        seen.append((source.begun - i - 1, source.living()))
        return float(partition.X.sum())

    engine = LocalEngine(source, ahead, threads=1)
    assert engine.total(look) == 30 * sum(range(20))
    gc.collect()
    assert max(before for before, _ in seen) <= ahead
    assert max(alive for _, alive in seen) <= ahead + 2
    assert source.living() == 0
    assert engine.reads == 1
    assert not readers()


def fail(partition):
    if partition.X[0, 0] == 3:
        raise ZeroDivisionError("as it was")
    return 0.0


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("hoag-partitions")]


@pytest.mark.parametrize("threads", [2, 5])
def test_partitions_computed_at_a_time_give_the_same_bits_and_are_not_kept(threads):
    source, seen = Slow(), []

    def look(partition):
        seen.append((threading.get_ident(), source.living()))
        time.sleep(0.002)
        return 0.1 + float(partition.X[0, 0]) ** 3

    with threadpool_limits(1, "blas"):
        known = LocalEngine(Slow(), threads=1).total(
            lambda partition: 0.1 + float(partition.X[0, 0]) ** 3
        )
    engine = LocalEngine(source, 1, threads)
    assert engine.total(look) == known
    assert [int(i) for i in engine.gathered(lambda partition: partition.X[0, 0])] == list(range(20))
    gc.collect()
    assert len({thread for thread, _ in seen}) > 1
    assert max(alive for _, alive in seen) <= 1 + threads + 1
    assert source.living() == 0
    assert engine.reads == 2
    assert not readers()
    assert not workers()


def test_as_many_threads_as_blas_may_use():
    def where(partition):
        time.sleep(0.002)
        return {threading.get_ident()}

    with threadpool_limits(1, "blas"):
        assert LocalEngine(Slow()).gathered(where) == [{threading.get_ident()}] * 20
    before, inside = blas_threads(), []

    def look(partition):
        inside.extend(blas_threads())
        return 0.0

    LocalEngine(Slow(), threads=2).total(look)
    assert set(inside) == {1}
    assert blas_threads() == before


def test_threads_raise_as_one_does_and_ignore_what_it_ignores():
    source = Slow()
    with pytest.raises(ZeroDivisionError, match="as it was"):
        LocalEngine(source, threads=3).total(fail)
    assert not readers()
    assert not workers()
    assert source.begun <= 3 + 1 + 2 + 3
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LocalEngine(Slow(), threads=2).total(lambda partition: np.ones(1) / 0.0) == np.inf


@FEW
@given(
    n=st.integers(1, 30),
    p=st.integers(1, 5),
    away=st.sampled_from([0.0, 1.0, 90.0]),
    outputs=st.integers(1, 3),
    seed=SEEDS,
)
def test_products_with_standardised_rows_are_those_of_a_copy(n, p, away, outputs, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + away
    scale = rng.uniform(0.1, 2.0, size=p) * (rng.random(p) > 0.2)
    for standardiser in (
        Standardiser(np.full(p, away), scale),
        Standardiser(np.full(p, away), 0.3),
        Standardiser(None, 0.3),
    ):
        A = standardiser.of(X)
        W, R = rng.normal(size=(4, p, outputs)), rng.normal(size=(n, 4, outputs))
        seen, shift = standardiser.columns(W)
        close = {"rtol": 1e-11, "atol": 1e-12 * (1 + away) * n}
        z = np.einsum("ij,cjo->ico", X, seen) + shift
        np.testing.assert_allclose(z, np.einsum("ij,cjo->ico", A, W), **close)
        kept = np.einsum("ij,ico->cjo", X, R)
        found = standardiser.gathered(kept, R.sum(axis=0))
        np.testing.assert_allclose(found, np.einsum("ij,ico->cjo", A, R), **close)


def test_the_reader_ends_when_the_consumer_raises():
    source = Slow()
    with pytest.raises(ZeroDivisionError, match="as it was"):
        LocalEngine(source, threads=1).total(fail)
    assert not readers()
    assert source.begun <= 3 + 1 + 2
    gc.collect()
    assert source.living() <= 1  # the traceback may hold one


@pytest.mark.usefixtures("out_of_core")
def test_a_read_that_fails_raises_as_itself():
    def broken(partition):
        raise OSError("the disk has gone")

    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    with pytest.raises(OSError, match="the disk has gone"):
        hoag.LogisticRegressionCV().fit(Changed(X, y, (20, 40), 1, broken))
    assert not readers()
    calls = []

    def later(partition):
        calls.append(0)
        return broken(partition) if len(calls) > 5 else partition

    with pytest.raises(OSError, match="the disk has gone"):
        hoag.LogisticRegressionCV().fit(Changed(X, y, (20, 40), 1, later))


def test_a_class_that_one_fold_alone_has_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5])
    y[:3] = 7  # KFold's first part has them all
    estimator = hoag.LogisticRegressionCV(cv=KFold(3), bounds=(0.0, 6.0), max_iter=2)
    near, apart, _ = both(estimator, X, y, rng.uniform(0.2, 2.0, size=60), cuts=(2,))
    agree(near, apart)
