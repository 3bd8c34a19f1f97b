"""What a status and a result say, made of what they know."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import hoag
from hoag._core.words import brief, counted, percent
from hoag.optimize import Auto, Grid, Reason


@pytest.fixture(scope="module")
def folds():
    return hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True), intercept=True)


def test_a_reason_is_its_string_and_no_other():
    assert hoag.Status("max_iter", "Stopped.").reason is Reason.MAX_ITER
    assert Reason.MAX_ITER == "max_iter"
    with pytest.raises(ValueError, match="tired"):
        hoag.Status("tired", "Stopped.")


def test_every_reason_is_documented_once():
    documented = [line.split()[0] for line in Reason.__doc__.splitlines() if line[4:5].isupper()]
    assert [name for name in documented if name in Reason.__members__] == list(Reason.__members__)


def test_notes_follow_why_it_ended():
    status = hoag.Status("stalled", "Stalled.").noted("One.", "", "Two.")
    assert str(status) == status.sentence == "Stalled. One. Two."
    assert status.ended == "Stalled."


def test_a_search_says_what_it_searched_and_what_it_found(folds):
    found = hoag.minimize(folds, bounds=(-12, 12))
    begins = f"Searched lam from -12 to 12; best lam = {found.lam[0]:.4g}; loss 1.323e6; cannot "
    assert str(found.status).startswith(begins)
    assert found.status.gain < 1e-4
    assert f"improve by more than {percent(found.status.gain)}." in str(found.status)
    points = hoag.minimize(folds, bounds=(-12, 12), search=Grid(3)).status
    assert str(points).endswith("best lam = -12; loss 1.323e6. All 3 points were evaluated.")
    short = hoag.minimize(folds, bounds=(-12, 12), search=hoag.optimize.Hoag(max_iter=1)).status
    assert "; so far best lam = 0; " in str(short)
    assert str(short).endswith("Raise max_iter or tol.")


def test_an_estimator_says_it_in_its_own_words(folds):
    """C = exp(−λ) has its ends, and its bounds, the other way round."""
    found = Auto().minimize(hoag.plan(folds), hoag.Box(-2, 3), np.zeros(1))
    status = found.worded("C", lambda lam: np.exp(-lam), "validation loss", 12.3).status
    assert str(status) == (
        "Searched C from 0.05 to 7.4; best C = 7.389; validation loss 1.332e6 ± 12; cannot improve "
        "by more than 1e-6 % within these bounds. C = 7.389 is on its upper bound: the best "
        "value may lie beyond."
    )
    assert found.on_bounds() == [(0, 0)]  # of λ


def test_several_of_one_name_are_told_together():
    X, y = load_diabetes(return_X_y=True)
    groups = np.repeat([0, 1], 5)
    problems = hoag.models.folds(hoag.models.ridge, X, y, intercept=True, penalties=groups)
    found = hoag.minimize(problems, bounds=([-9, -9], [6, 7]))
    low = np.min(found.lam)
    assert f"Searched lam (2 values) from -9 to 7; best lam (2 values) from {low:.4g} to " in str(
        found.status
    )
    alone = found.worded(["width", "ridge"], loss="loss").status
    assert str(alone).startswith("Searched width from -9 to 6, ridge from -9 to 7; best width = ")


def test_explain_has_the_cost_and_the_certificate(folds):
    found = hoag.minimize(folds)
    text = found.explain()
    names = [line.split(":")[0] for line in text.splitlines()]
    assert names[:6] == ["Result", "Search", "Loss", "Gradient", "Cost", "Computed"]
    assert f"known to ± {found.evaluation.error:.1e}" in text
    assert f"1 step, {found.cost.passes:.0f} passes over the data" in text
    assert found.chosen in text
    unmeasured = hoag.minimize(folds, search=Grid(3), certificate="none").explain()
    assert 'certificate="estimate"' in unmeasured


@pytest.mark.parametrize(
    ("number", "text"), [(1e-6, "1e-6"), (4e5, "4e5"), (0.63, "0.63"), (-12.0, "-12")]
)
def test_numbers_are_brief(number, text):
    assert brief(number) == text


def test_shares_and_counts():
    assert [percent(share) for share in (8e-5, 0.36, 1.234, 0.0)] == [
        *("0.008 %", "36 %", "123.4 %", "1e-6 %")
    ]
    assert [counted(2, word) for word in ("fold", "pass", "Gram matrix", "minimum")] == [
        *("2 folds", "2 passes", "2 Gram matrices", "2 minima")
    ]
    assert counted(1, "pass") == "1 pass"
