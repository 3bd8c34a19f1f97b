"""Names that have moved go on working, and say where they are now."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import hoag
from hoag import optimize
from hoag._core.deprecated import deprecated, goes

GOES = r"is deprecated since hoag 0\.2 and goes in 0\.4: use"


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("search", "Fast", optimize.Auto),
        ("search", "Look", optimize.Evaluate),
        ("search", "Grid", optimize.Grid),
        ("far", "Source", hoag.data.Source),
        ("far", "Local", hoag.data.LocalEngine),
        ("data", "Piece", hoag.data.Partition),
        ("inner", "CG", hoag.solvers.LinearSystem),
        ("inner", "Newton", hoag.solvers.Newton),
        ("linear", "CG", hoag.solvers.CG),
        ("schedules", "Cubic", hoag.solvers.CubicDecay),
        ("unrolled", "LBFGS", hoag.criteria.UnrolledLBFGS),
        ("data", "Blocks", hoag.data.Partitions),
        ("data", "blocks", hoag.partitions),
        ("datasets", "DataNotFound", hoag.errors.DataNotFoundError),
        ("datasets", "DataDamaged", hoag.errors.DataDamagedError),
    ],
)
def test_an_old_name_is_the_new_one_and_says_so(module, name, now):
    old = getattr(hoag, module)
    assert old is importlib.import_module(f"hoag.{module}")
    with pytest.warns(DeprecationWarning, match=rf"hoag\.{module}\.{name} {GOES} hoag\."):
        assert getattr(old, name) is now


@pytest.mark.parametrize(("name", "now"), hoag._HOMES.items())
def test_what_left_the_top_of_the_package_is_in_one_of_its_modules(name, now):
    with pytest.warns(DeprecationWarning, match=rf"hoag\.{name} {GOES} {re.escape(now)}\.") as seen:
        old = getattr(hoag, name)
    assert seen[0].filename == __file__
    assert name not in dir(hoag)
    home, _, there = now.rpartition(".")
    module = importlib.import_module(home)
    assert old is getattr(module, there)
    assert there in module.__all__


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
    with pytest.warns(DeprecationWarning, match=rf"OldSource\.pieces {GOES} OldSource\.partitions"):
        fitted = hoag.LogisticRegressionCV().fit(OldSource(X, y))
    known = hoag.LogisticRegressionCV().fit(hoag.partitions((X, y), rows=50))
    np.testing.assert_allclose(fitted.coef_, known.coef_, rtol=1e-9)
    with pytest.warns(
        DeprecationWarning, match=rf"Partitions\.pieces {GOES} Partitions\.partitions"
    ):
        assert hoag.partitions((X, y), rows=50).pieces == 3
    with pytest.raises(AttributeError, match="portions"):
        OldSource(X, y).portions  # noqa: B018


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        hoag.search.Nothing  # noqa: B018
    with pytest.raises(AttributeError, match="Nothing"):
        hoag.data.Nothing  # noqa: B018


@deprecated("hoag.plan")
def old(x):
    """What it does."""
    return x + 1


def test_a_function_that_goes_works_and_says_what_to_use():
    with pytest.warns(DeprecationWarning, match=rf"old {GOES} hoag\.plan\.") as seen:
        assert old(1) == 2
    assert seen[0].filename == __file__
    assert old.__doc__ == "What it does."


@deprecated(parameters={"steps": "max_iter", "starts": "search=Auto(starts=…)"})
class Model:
    def __init__(self, max_iter=100, *, starts=None):
        self.max_iter, self.starts = max_iter, starts


def test_parameters_that_go():
    with pytest.warns(DeprecationWarning, match=rf"Model\(steps=…\) {GOES} max_iter=…\.") as seen:
        assert Model(steps=3).max_iter == 3
    assert seen[0].filename == __file__
    with pytest.warns(
        DeprecationWarning, match=rf"Model\(starts=…\) {GOES} search=Auto\(starts=…\)"
    ):
        assert Model(starts=4).starts == 4
    assert Model(max_iter=5, starts=None).max_iter == 5  # as clone() gives it: no warning
    assert list(inspect.signature(Model).parameters) == ["max_iter", "starts"]
    with pytest.raises(TypeError, match="both steps, which is deprecated, and max_iter"):
        Model(steps=3, max_iter=4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stops'"):
        Model(stops=3)


@deprecated(attributes={"pieces": "partitions"})
class Base:
    """Its subclasses say `partitions`, once they have been written anew."""


def test_attributes_that_go_have_either_name_and_classes_too():
    with pytest.warns(DeprecationWarning, match=rf"Old\.pieces {GOES} Old\.partitions") as seen:

        class Old(Base):
            pieces = 2

    assert seen[0].filename == __file__
    assert Old().partitions == Old.partitions == 2
    new = Base()
    new.partitions = 3
    with pytest.warns(DeprecationWarning, match=rf"Base\.pieces {GOES} Base\.partitions") as seen:
        assert new.pieces == 3
    assert seen[0].filename == __file__
    with pytest.raises(AttributeError, match="'Base' object has no attribute 'partitions'"):
        Base().partitions  # noqa: B018


def test_the_old_name_of_a_value():
    with pytest.warns(DeprecationWarning, match=rf"Evaluation\.corrected {GOES} Evaluation\.value"):
        assert hoag.criteria.Evaluation(np.zeros(1), 2.0, np.zeros(1)).corrected == 2.0


@pytest.mark.parametrize(("since", "version"), [("0.2", "0.4"), ("0.9", "0.11"), ("1.3", "2.0")])
def test_what_goes_goes_two_versions_later_and_from_1_on_with_the_next_major_one(since, version):
    assert goes(since) == version


def test_nothing_has_stayed_longer_than_its_warning_said():
    now = tuple(map(int, hoag.__version__.split(".")[:2]))
    said = [
        ast.literal_eval(keyword.value)
        for path in Path(hoag.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("deprecated", "moved")
        for keyword in node.keywords
        if keyword.arg == "since"
    ]
    default = inspect.signature(deprecated).parameters["since"].default
    late = [since for since in [*said, default] if tuple(map(int, goes(since).split("."))) <= now]
    assert not late
