"""Names that have moved go on working, and say where they are now."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import hoag
from hoag import optimize


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("search", "Fast", optimize.Auto),
        ("search", "Look", optimize.Evaluate),
        ("search", "Grid", optimize.Grid),
        ("far", "Source", hoag.data.Source),
        ("far", "Local", hoag.data.LocalEngine),
        ("data", "Piece", hoag.data.Partition),
        ("data", "Blocks", hoag.data.Partitions),
        ("data", "blocks", hoag.partitions),
        ("criteria", "without_folds", hoag.without_folds),
    ],
)
def test_an_old_name_is_the_new_one_and_says_so(module, name, now):
    old = getattr(hoag, module)
    assert old is importlib.import_module(f"hoag.{module}")
    with pytest.warns(DeprecationWarning, match=rf"hoag\.{module}\.{name} is now hoag\."):
        assert getattr(old, name) is now


def test_the_function_that_was_called_blocks():
    with pytest.warns(DeprecationWarning, match=r"hoag\.blocks is now hoag\.partitions"):
        assert hoag.blocks is hoag.partitions


class OldSource(hoag.data.Source):
    """A source as they were written before partitions were called so."""

    def __init__(self, X, y):
        self.X, self.y, self.pieces, self.features = X, y, 2, X.shape[1]

    def read(self, i, rows=True):
        own = slice(0, 50) if i == 0 else slice(50, None)
        return hoag.data.Partition(self.X[own], self.y[own])

    def fingerprint(self):
        return "old"


def test_a_source_of_pieces_is_still_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120) > 0
    with pytest.warns(DeprecationWarning, match=r"OldSource\.pieces is now \.partitions"):
        fitted = hoag.LogisticRegressionCV().fit(OldSource(X, y))
    known = hoag.LogisticRegressionCV().fit(hoag.partitions((X, y), rows=50))
    np.testing.assert_allclose(fitted.coef_, known.coef_, rtol=1e-9)
    with pytest.warns(DeprecationWarning, match=r"Partitions\.pieces is now \.partitions"):
        assert hoag.partitions((X, y), rows=50).pieces == 3
    with pytest.raises(AttributeError, match="portions"):
        OldSource(X, y).portions  # noqa: B018


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        hoag.search.Nothing  # noqa: B018
    with pytest.raises(AttributeError, match="Nothing"):
        hoag.data.Nothing  # noqa: B018
