"""The tutorial's family: in forty lines, right, and a scikit-learn estimator like any other."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

PAGE = Path(__file__).parent.parent / "docs" / "new-family.md"
BLOCK = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What somebody has who copies the page into a file: a module, whose classes can be pickled."""
    file = tmp_path_factory.mktemp("tutorial") / "new_family.py"
    file.write_text(BLOCK, encoding="utf-8")
    sys.path.insert(0, str(file.parent))
    try:
        yield vars(importlib.import_module("new_family"))
    finally:
        sys.path.remove(str(file.parent))
        sys.modules.pop("new_family", None)


def test_it_takes_forty_lines():
    lines = [line for line in BLOCK.splitlines() if line.strip()]
    assert len(lines) <= 40


@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_the_minimiser_of_its_objective(page, intercept):
    X, y = page["X"], page["y"]
    model = page["LogCoshRegressorCV"](delta=0.5, fit_intercept=intercept).fit(X, y)
    centre = np.median(y) if intercept else 0.0
    spread = 1.4826 * np.median(np.abs(y - centre))
    A = np.column_stack([X, np.ones(len(y))]) if intercept else X

    def h(x):  # a loss of y is the spread times that of y in units of it
        r = np.abs(y - A @ x) / spread / 0.5
        loss = spread * 0.25 * np.sum(r + np.log1p(np.exp(-2 * r)) - np.log(2))
        return loss + 0.5 * model.alpha_ * np.sum(x[: X.shape[1]] ** 2)

    best = minimize(h, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(model.coef_, best.x[: X.shape[1]], atol=1e-5)
    assert model.intercept_ == pytest.approx(best.x[-1] if intercept else 0.0, abs=1e-5)


def test_parameters_and_criteria_come_with_it(page):
    X, y, kind = page["X"], page["y"], page["LogCoshRegressorCV"]
    model = kind(0.1 + np.arange(3), delta=2.0, cv="alo", standardize=True)
    assert clone(model).get_params()["delta"] == 2.0
    assert "\nalphas : " in kind.__doc__  # documented where it is declared
    model.set_params(alphas=None).fit(X, y)
    assert model.result_.converged
    assert "approximate leave-one-out log-cosh loss" in str(model.result_.status)
    assert model.dof_ > 0


@pytest.mark.filterwarnings("default")
def test_it_passes_scikit_learns_checks(page):
    check_estimator(page["LogCoshRegressorCV"]())
