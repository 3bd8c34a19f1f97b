"""Rows as the benchmarks split and scale them, and the names that hoag.datasets had for that."""

from __future__ import annotations

import _data
import numpy as np
import pytest

from hoag import datasets


def test_thirds_are_disjoint_and_the_same_for_the_same_seed():
    X, y = np.arange(32).reshape(16, 2), np.arange(16)
    parts = _data.thirds(X, y, seed=0)
    assert [len(part) for part in parts] == [5] * 6
    rows = np.concatenate(parts[1::2])
    assert rows.tolist() == np.random.default_rng(0).permutation(16)[:15].tolist()
    for A, b in zip(parts[::2], parts[1::2]):
        assert np.array_equal(A, X[b])
    assert not np.array_equal(_data.thirds(X, y, seed=1)[1], parts[1])


def test_rows_are_standardised_and_targets_centred_by_the_training_rows():
    rng = np.random.default_rng(0)
    A, B = rng.normal(3, 2, (50, 3)), rng.normal(3, 2, (10, 3))
    A[:, 2] = B[:, 2] = 0.1
    train, test = _data.standardised_by(A, B)
    assert np.allclose(train.mean(axis=0), 0)
    assert np.allclose(train.std(axis=0), [1, 1, 0])
    assert np.allclose(test[:, :2], ((B - A.mean(axis=0)) / A.std(axis=0))[:, :2])
    assert np.allclose(test[:, 2], 0)
    y, y_test = _data.centred_by(A[:, 0], B[:, 0])
    assert abs(y.mean()) < 1e-12
    assert np.allclose(y_test, B[:, 0] - A[:, 0].mean())


@pytest.mark.parametrize("name", ["thirds", "standardised_by", "centred_by"])
def test_what_hoag_datasets_had_works_for_a_release(name):
    y = np.arange(12.0)
    with pytest.warns(
        DeprecationWarning, match=f"hoag.datasets.{name} is deprecated .*: use (skl|y -)"
    ):
        old = getattr(datasets, name)
    given = (y[:, None], y, 0) if name == "thirds" else (y[:, None], y[:, None])
    for one, other in zip(old(*given), getattr(_data, name)(*given), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_name_that_never_was_is_an_error():
    with pytest.raises(AttributeError, match=r"module 'hoag.datasets' has no attribute 'halves'"):
        datasets.halves  # noqa: B018
