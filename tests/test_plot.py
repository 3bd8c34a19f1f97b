"""Pictures of searches: what is drawn is what the search did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import scale

import hoag
from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from hoag.plot import TuningDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_one_hyperparameter_is_a_curve_through_the_steps():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegressionCV().fit(scale(X), y)
    display = TuningDisplay.from_estimator(model)
    path, loss, passes = display.axes_
    lam = np.array([step.lam[0] for step in model.result_.trace])
    np.testing.assert_array_equal(path.lines[0].get_ydata(), lam)
    curve = next(line for line in loss.lines if len(line.get_xdata()) == 400)
    at = np.interp(lam[0], curve.get_xdata(), curve.get_ydata())
    assert at == pytest.approx(model.result_.trace[0].evaluation.value, rel=1e-3)
    costs = [step.cost.passes + step.cost.grams for step in model.result_.trace]
    np.testing.assert_array_equal(passes.lines[1].get_xdata(), costs)
    assert "within tol" in path.texts[0].get_text()


def test_two_are_contours_whose_least_is_at_the_best():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[::4], scale(y)[::4]
    model = KernelRidgeCV(cv=3).fit(X, y)
    for data in ((), (X, y)):
        display = TuningDisplay.from_estimator(model, *data, grid=9)
        assert display.axes_[0].get_xlabel() == "log γ"
        assert display.axes_[0].get_ylabel() == "log α"
    u, v, values = display.surface
    assert values.min() >= model.criterion_ * (1 - 1e-6)
    assert values.min() <= model.criterion_ * 1.05
    assert values[2, 5] == pytest.approx(model.criterion_at((u[5], v[2]), X, y))


def test_a_look_at_nothing_solved_is_not_drawn():
    """A quasi-Newton search may begin with the loss at x = 0: no value of f, and none is shown."""
    X, y = load_diabetes(return_X_y=True)
    model = KernelRidgeCV(cv=3).fit((X - X.mean(0)) / X.std(0), y - y.mean())
    first, *others = model.result_.trace
    at_nothing = replace(first.evaluation, value=0.1 * model.criterion_, f_error=np.inf)
    trace = (replace(first, evaluation=at_nothing), *others)
    model.result_ = replace(model.result_, trace=trace)
    display = TuningDisplay.from_estimator(model)
    for ax in display.axes_[1:]:
        for line in ax.lines:
            assert line.get_ydata().min() > 0.9 * model.criterion_
    x, y, values = display._quadratic(np.array([step.lam for step in display.steps]))
    near = values[np.argmin(np.abs(y - model.lam_[1])), np.argmin(np.abs(x - model.lam_[0]))]
    assert near - values.min() < 0.05 * (values.max() - values.min())


@pytest.mark.filterwarnings("default")
def test_many_are_lines_a_heat_map_or_an_image():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    few = LogisticRegressionCV(penalties="per-class", cv=2, max_iter=2).fit(X, y)
    assert len(TuningDisplay.from_estimator(few).axes_[0].lines) == 10
    each = LogisticRegressionCV(penalties="per-feature", cv=2, max_iter=2).fit(X, y)
    heat = TuningDisplay.from_estimator(each).axes_[0].images[0].get_array()
    assert heat.shape == (64, each.n_iter_ - 1)  # the first one solved for nothing
    picture = TuningDisplay.from_estimator(each, image_shape=(8, 8)).axes_[0].images[0]
    np.testing.assert_array_equal(picture.get_array(), each.lam_.reshape(8, 8))
    with pytest.raises(hoag.InvalidInput, match="pixels"):
        TuningDisplay.from_estimator(each, image_shape=(7, 8))


def marked(ax):
    """The words of the legend, with where their marks are."""
    lines = {line.get_label().split(" (")[0]: line for line in ax.lines}
    return {word: lines[word].get_xydata() for word in ("switched off", "free") if word in lines}


@pytest.mark.filterwarnings("ignore:Stopped at step 3", "ignore:lam_")
def test_penalties_on_a_plateau_are_marked_in_every_picture():
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    each = RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    off, free = (np.flatnonzero(each.plateaus_ == word) for word in ("switched off", "free"))
    assert off.size
    assert free.size
    lines = TuningDisplay.from_estimator(each).axes_[0]
    found = marked(lines)
    np.testing.assert_array_equal(found["switched off"][:, 1], each.result_.trace[-1].lam[off])
    np.testing.assert_array_equal(found["free"][:, 1], each.result_.trace[-1].lam[free])
    told = [text.get_text() for text in lines.get_legend().get_texts()]
    assert told[-2:] == [f"switched off ({off.size})", f"free ({free.size})"]
    image = TuningDisplay.from_estimator(each, image_shape=(2, 5)).axes_[0]
    places = {(int(y), int(x)) for x, y in marked(image)["switched off"]}
    assert places == {divmod(int(j), 5) for j in off}
    wide = RidgeCV(penalties="per-feature", cv=5).fit(np.hstack([X, 0 * X]), y)
    heat = marked(TuningDisplay.from_estimator(wide).axes_[0])
    order = np.argsort(wide.result_.trace[-1].lam, kind="stable")
    rows = np.flatnonzero(wide.plateaus_[order] == "switched off") + 0.5
    np.testing.assert_array_equal(heat["switched off"][:, 1], rows)
    assert rows.size >= 10
    two = RidgeCV(penalties=np.arange(20) // 10, cv=5).fit(np.hstack([X, 0 * X]), y)
    assert TuningDisplay.from_estimator(two).axes_[0].get_ylabel() == "λ[1], switched off"
    kernel = KernelRidgeCV(cv=3, max_iter=3).fit(X[:60], y[:60])
    assert not marked(TuningDisplay.from_estimator(kernel).axes_[0])


def test_it_draws_on_axes_given_and_refuses_others():
    X, y = load_diabetes(return_X_y=True)
    model = RidgeCV().fit(X, y)
    _, axes = plt.subplots(3, 1)
    display = TuningDisplay.from_estimator(model, axes=axes)
    assert display.figure_ is axes[0].figure
    with pytest.raises(hoag.InvalidInput, match="three axes"):
        display.plot(axes[0])
    with pytest.raises(hoag.InvalidInput, match="fit it first"):
        TuningDisplay.from_estimator(RidgeCV())
