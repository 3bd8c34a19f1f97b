"""scikit-learn's own tests of three classes, with ours in their place: a plugin, for `make peers`.

    python -m pytest -p peers --pyargs sklearn.linear_model.tests.test_ridge

The names in sklearn.linear_model are ours before scikit-learn's tests are imported, with its
defaults for Cs and alphas and search="grid". Of the tests those are run in which one of the classes
takes part: its name is in the code of the test, or of a function that is a parameter of it, or a
parameter is the class or an instance. Those for other arrays than NumPy's are left out.

What cannot pass stands in expected.txt, with its reason; what is listed and passes is a failure.
The list is of scikit-learn 1.9.
PEERS_SEARCH=default runs the same with the default search of ours, and no list.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import sklearn.linear_model

import hoag
from hoag.linear_model._parameters import parameters

GRID = os.environ.get("PEERS_SEARCH", "grid") == "grid"
SEARCH: Any = "grid" if GRID else None
LISTED = Path(__file__).parent / "expected.txt"


@parameters
class LogisticRegressionCV(hoag.LogisticRegressionCV):
    """By scikit-learn 1.9's defaults."""

    Cs: Any = 10
    search: Any = SEARCH
    use_legacy_attributes: Any = True if GRID else None


@parameters
class RidgeCV(hoag.RidgeCV):
    """Likewise."""

    alphas: Any = (0.1, 1.0, 10.0)
    search: Any = SEARCH


@parameters
class RidgeClassifierCV(hoag.RidgeClassifierCV):
    """Likewise."""

    alphas: Any = (0.1, 1.0, 10.0)
    search: Any = SEARCH


OURS = (LogisticRegressionCV, RidgeCV, RidgeClassifierCV)
NAMES = {kind.__name__ for kind in OURS}


def pytest_configure(config: pytest.Config) -> None:
    for kind in OURS:
        setattr(sklearn.linear_model, kind.__name__, kind)


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    chosen = [item for item in items if takes_part(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
    modules = {item.module.__name__.rpartition(".")[2] for item in items}
    left = {name: why for name, why in expected() if GRID and name.partition("::")[0] in modules}
    for item in items:
        name = f"{item.module.__name__.rpartition('.')[2]}::{item.name}"
        if name in left:
            item.add_marker(pytest.mark.xfail(reason=left.pop(name), strict=True))
    if left:
        raise pytest.UsageError(f"{LISTED.name} has tests that are not there: {sorted(left)}")


def takes_part(item: Any) -> bool:
    """Whether one of the classes does."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return "array_namespace" not in given and any(map(is_of_ours, [item.obj, *given.values()]))


def is_of_ours(value: Any) -> bool:
    """A function whose code names one of the classes, a class, or an instance."""
    if inspect.isfunction(value):
        return not NAMES.isdisjoint(names(inspect.unwrap(value).__code__))
    return value in OURS if inspect.isclass(value) else isinstance(value, OURS)


def names(code: CodeType) -> Iterator[str]:
    """What a code object asks its module for, and those inside of it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names(inner)


def expected() -> Iterator[tuple[str, str]]:
    """Tests and reasons: a line of reason, and below it the tests, indented."""
    reason = ""
    for line in LISTED.read_text().splitlines():
        if line.startswith(" "):
            yield line.strip(), reason
        elif line and not line.startswith("#"):
            reason = line
