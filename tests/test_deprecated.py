"""Names that have moved go on working, and say where they are now."""

from __future__ import annotations

import importlib

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
        ("criteria", "without_folds", hoag.without_folds),
    ],
)
def test_an_old_name_is_the_new_one_and_says_so(module, name, now):
    old = getattr(hoag, module)
    assert old is importlib.import_module(f"hoag.{module}")
    with pytest.warns(DeprecationWarning, match=rf"hoag\.{module}\.{name} is now hoag\."):
        assert getattr(old, name) is now


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        hoag.search.Nothing  # noqa: B018
