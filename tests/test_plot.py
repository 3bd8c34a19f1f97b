"""Pictures of searches: what is drawn is what was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import scale

from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV, optimize
from hoag.errors import InvalidInputError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from hoag import plot  # noqa: E402
from hoag.plot import (  # noqa: E402
    CoefficientPathDisplay,
    ContourDisplay,
    CostDisplay,
    CriterionDisplay,
    PenaltiesDisplay,
    StepsDisplay,
    TuningDisplay,
)
from hoag.plot import _style as style  # noqa: E402

CANCER = load_breast_cancer()
X, Y = scale(CANCER.data), CANCER.target
DIABETES = load_diabetes()
A, B = scale(DIABETES.data), DIABETES.target


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def logistic():
    return LogisticRegressionCV().fit(X, Y)


@pytest.fixture(scope="module")
def path(logistic):
    return logistic.path(X, Y, points=9)


@pytest.fixture(scope="module")
def kernel():
    return KernelRidgeCV(cv=3).fit(A[::4], B[::4])


@pytest.fixture(scope="module")
def each():
    return RidgeCV(penalties="per-feature", cv=5).fit(A, B)


def lines(ax):
    """The lines that have a label, by it."""
    found = {line.get_label(): line for line in ax.lines}
    found |= {c.get_label(): c.lines[0] for c in ax.containers if c.get_label()}
    return found


def drawn(figure):
    """Every piece of text in a figure, as it is written when it is drawn."""
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def test_the_criterion_is_drawn_where_it_was_measured(logistic, path):
    ax = CriterionDisplay.from_estimator(logistic, path=path).ax_
    found = lines(ax)
    np.testing.assert_array_equal(found["measured"].get_xdata(), path.lam[:, 0])
    np.testing.assert_array_equal(found["measured"].get_ydata(), path.loss)
    star = found["minimum"].get_xydata()[0]
    np.testing.assert_array_equal(star, [logistic.lam_[0], logistic.criterion_])
    folds = [line for line in ax.lines if line.get_color() == style.SOFT]
    np.testing.assert_array_equal([line.get_ydata() for line in folds], path.folds.T)
    limit = path.loss[4] + path.standard_error[4]
    within = np.flatnonzero(path.loss <= limit)[-1]
    square = found["strongest in 1 SE"].get_xydata()[0]
    np.testing.assert_array_equal(square, [path.lam[within, 0], path.loss[within]])
    (interval,) = (patch for patch in ax.patches if patch.get_label() == "within tol")
    ends = interval.get_path().transformed(interval.get_patch_transform()).vertices[:, 0]
    np.testing.assert_allclose([ends.min(), ends.max()], logistic.lam_interval_[0])
    assert ax.get_xlabel() == "C (weak → strong penalty)"
    assert len(ax.get_xticks()) > 1
    for place, text in zip(ax.get_xticks(), ax.get_xticklabels()):
        assert float(text.get_text()) == pytest.approx(np.exp(-place))


def test_x_and_y_are_measured_with_their_weights():
    weights = np.linspace(0.5, 2, len(B))
    model = RidgeCV(cv=3).fit(A, B, sample_weight=weights)
    options = {"sample_weight": weights, "around": 1.0, "points": 3}
    display = CriterionDisplay.from_estimator(model, A, B, **options)
    for lam, loss in lines(display.ax_)["measured"].get_xydata():
        at = model.criterion_at(lam, A, B, sample_weight=weights)
        assert loss == pytest.approx(at, rel=1e-6)
    assert display.ax_.get_xlabel() == "penalty α (weak → strong)"


def test_the_rule_of_one_standard_error_is_marked_where_it_chose():
    model = LogisticRegressionCV(rule="1se").fit(X, Y)
    found = lines(CriterionDisplay.from_estimator(model, X, Y, points=5).ax_)
    np.testing.assert_array_equal(
        found["1 SE, chosen"].get_xydata()[0], [model.lam_[0], model.criterion_]
    )
    least = found["minimum"].get_xydata()[0]
    assert least[0] == pytest.approx(model.lam_min_[0])
    assert least[1] == pytest.approx(model.criterion_at(model.lam_min_, X, Y), rel=1e-5)


def test_without_data_there_are_the_steps(logistic, each):
    ax = CriterionDisplay.from_estimator(logistic).ax_
    steps = logistic.result_.trace
    assert len(lines(ax)["measured"].get_xdata()) == len({step.lam[0] for step in steps})
    with pytest.raises(InvalidInputError, match="Give X and y"):
        CriterionDisplay.from_estimator(each)
    with pytest.raises(InvalidInputError, match="Give X and y"):
        CoefficientPathDisplay.from_estimator(logistic)


def test_losses_that_hardly_differ_are_told_as_differences(logistic, path):
    near = replace(path, loss=logistic.criterion_ * (1 + 1e-6 * path.shift**2), folds=None)
    display = CriterionDisplay.from_estimator(logistic, path=near)
    heights = lines(display.ax_)["measured"].get_ydata()
    np.testing.assert_allclose(heights, path.shift**2, atol=1e-6)
    assert "in millionths" in display.ax_.get_ylabel()


def test_no_axis_writes_an_offset(logistic, path, each, kernel):
    made = [
        CriterionDisplay.from_estimator(logistic, path=path),
        CriterionDisplay.from_estimator(logistic),
        CoefficientPathDisplay.from_estimator(logistic, path=path),
        CostDisplay.from_estimator(logistic),
        CostDisplay.from_estimator(each),
        ContourDisplay.from_estimator(kernel),
        PenaltiesDisplay.from_estimator(each),
        StepsDisplay.from_estimator(each),
    ]
    for display in made:
        drawn(display.figure_)
        for ax in display.figure_.axes:
            assert ax.xaxis.get_offset_text().get_text() == ""
            assert ax.yaxis.get_offset_text().get_text() == ""
    assert style.number(7.318e-2 + 1e-6) == "0.073181"
    assert style.number(-2.5e7) == "−25000000"
    assert style.number(3e-12) == "3e−12"


def test_the_largest_coefficients_have_names(logistic, path):
    logistic = LogisticRegressionCV().fit(X, Y)
    logistic.feature_names_in_ = CANCER.feature_names
    display = CoefficientPathDisplay.from_estimator(logistic, X, path=path, top=3)
    largest = np.argsort(-np.abs(path.coef[4, 0]))[:3]
    texts = {text.get_text() for text in display.ax_.texts}
    assert texts == set(CANCER.feature_names[largest])
    curves = [line.get_ydata() for line in display.ax_.lines if len(line.get_xdata()) == 9]
    assert len(curves) == 30
    for j in largest:
        assert any(np.allclose(path.coef[:, 0, j], curve) for curve in curves)


def test_coefficients_are_for_columns_of_one_size(logistic):
    wide = A * np.geomspace(1, 1e4, A.shape[1])
    model = RidgeCV(cv=3).fit(wide, B)
    path = model.path(wide, B, points=3)
    ax = CoefficientPathDisplay.from_estimator(model, wide, path=path).ax_
    first = next(line for line in ax.lines if len(line.get_xdata()) == 3)
    scaled = path.coef * wide.std(axis=0)
    assert np.abs(first.get_ydata()[1]) <= np.abs(scaled[1]).max()
    assert any(np.allclose(line.get_ydata(), scaled[:, np.abs(scaled[1]).argmax()])
               for line in ax.lines if len(line.get_xdata()) == 3)  # fmt: skip
    with pytest.raises(InvalidInputError, match="no coef_"):
        CoefficientPathDisplay(replace(path, coef=None), [])


def test_names_beside_an_axis_keep_apart_and_near():
    places = style.apart(np.array([0.1, 0.11, 0.12, 0.5, 0.99, 1.0]), 0.05)
    assert np.all(np.diff(places) > 0.05 - 1e-12)
    assert places[3] == 0.5
    assert places[:3].mean() == pytest.approx(0.11)
    assert places[-1] <= 1
    assert style.apart(np.empty(0), 0.1).size == 0
    np.testing.assert_allclose(style.apart(np.zeros(4), 0.25), [0, 0.25, 0.5, 0.75])


def test_two_have_contours_of_values_that_were_computed(kernel):
    display = ContourDisplay.from_estimator(kernel, A[::4], B[::4], grid=5)
    u, v, values = display.surface
    assert values[2, 3] == pytest.approx(kernel.criterion_at((u[3], v[2]), A[::4], B[::4]))
    assert values.min() >= kernel.criterion_ * (1 - 1e-6)
    axes = display.ax_.get_xlabel(), display.ax_.get_ylabel()
    assert axes == ("γ (smooth → wiggly)", "penalty α (weak → strong)")
    plain = ContourDisplay.from_estimator(kernel)
    assert plain.surface is None
    assert f"{kernel.criterion_:.4g}" in {text.get_text() for text in plain.ax_.texts}
    with pytest.raises(InvalidInputError, match="two hyperparameters"):
        ContourDisplay.from_estimator(RidgeCV().fit(A, B))


def test_a_look_at_nothing_solved_is_not_drawn(kernel):
    """A quasi-Newton search may begin with the loss at x = 0: no value of f, and none is shown."""
    first, *others = kernel.result_.trace
    at_nothing = replace(first.evaluation, value=0.1 * kernel.criterion_, f_error=np.inf)
    model = KernelRidgeCV(cv=3).fit(A[::4], B[::4])
    trace = (replace(first, evaluation=at_nothing), first, *others)
    model.result_ = replace(model.result_, trace=trace)
    ax = CostDisplay.from_estimator(model).ax_
    assert [bar.get_width() > 0 for bar in ax.patches] == [True] * 3  # nothing is far above
    ax = StepsDisplay.from_estimator(model).ax_
    assert len(ax.lines[0].get_xdata()) == len(trace) - 1


def marked(ax):
    """Where the marks of plateaus are, by their words."""
    found = {line.get_label().split(" (")[0]: line for line in ax.lines}
    return {word: found[word].get_xydata() for word in ("switched off", "free") if word in found}


def test_penalties_are_sorted_and_those_on_a_plateau_marked(each):
    each.feature_names_in_ = np.array(DIABETES.feature_names)
    ax = PenaltiesDisplay.from_estimator(each).ax_
    order = np.argsort(-each.lam_)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [DIABETES.feature_names[j] for j in order]
    for bar, j in zip(ax.patches, order):
        assert bar.get_x() + bar.get_width() == pytest.approx(each.lam_[j])
    off, free = (each.plateaus_ == word for word in ("switched off", "free"))
    assert off.any()
    assert free.any()
    found = marked(ax)
    np.testing.assert_array_equal(found["switched off"][:, 0], np.sort(each.lam_[off])[::-1])
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["within tol of the best", f"switched off ({off.sum()})", f"free ({free.sum()})"]
    image = PenaltiesDisplay.from_estimator(each, image_shape=(2, 5)).ax_
    np.testing.assert_array_equal(image.images[0].get_array(), each.lam_.reshape(2, 5))
    places = {(int(y), int(x)) for x, y in marked(image)["switched off"]}
    assert places == {divmod(int(j), 5) for j in np.flatnonzero(off)}
    few = PenaltiesDisplay.from_estimator(each, most=4).ax_
    assert [text.get_text() for text in few.get_yticklabels()] == names[:2] + names[-2:]
    assert "6 between them" in few.texts[0].get_text()
    with pytest.raises(InvalidInputError, match="pixels"):
        PenaltiesDisplay.from_estimator(each, image_shape=(7, 8))


@pytest.mark.filterwarnings("ignore:lam_", "ignore:Stopped after max_iter")
def test_a_penalty_for_each_coefficient_is_a_map_of_features_and_classes():
    wine, target = load_wine(return_X_y=True)
    wine = scale(wine)[:, :12]
    model = LogisticRegressionCV(
        penalties="per-coefficient", cv=2, tol=1e-2, search=optimize.Auto(tol=1e-2, starts=1)
    )
    model.fit(wine, target)
    ax = PenaltiesDisplay.from_estimator(model).ax_
    lam = model.lam_.reshape(12, 3)
    np.testing.assert_allclose(np.exp(lam.T), model.alpha_)
    order = np.argsort(-lam.mean(axis=1), kind="stable")
    assert np.ptp(lam) > 1
    np.testing.assert_array_equal(ax.images[0].get_array(), lam[order])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"x{j}" for j in order]
    few = PenaltiesDisplay.from_estimator(model, most=4).ax_
    assert few.get_ylabel() == "the 2 strongest and the 2 weakest of 12"
    tiles = PenaltiesDisplay.from_estimator(model, image_shape=(3, 4)).ax_.images[0].get_array()
    np.testing.assert_array_equal(tiles[:3, 5:9], lam[:, 1].reshape(3, 4))
    heat = StepsDisplay.from_estimator(model).ax_.images[0].get_array()
    assert heat.shape[0] == 36
    classes = LogisticRegressionCV(penalties="per-class", cv=2, tol=1e-2).fit(wine, target)
    names = [t.get_text() for t in PenaltiesDisplay.from_estimator(classes).ax_.get_yticklabels()]
    assert names == [str(j) for j in np.argsort(-classes.lam_, kind="stable")]


def test_costs_are_in_fits_of_one_model(logistic, each):
    ax, fit = CostDisplay.from_estimator(each).ax_, work(each.refit_cost_)
    steps = each.result_.trace
    best = min(step.evaluation.highest for step in steps)
    above = [step for step in steps if step.evaluation.value > best]
    found = lines(ax)
    np.testing.assert_allclose(
        found["steps"].get_xdata(), [work(step.cost) / fit for step in above]
    )
    np.testing.assert_allclose(
        found["steps"].get_ydata(), [100 * (s.evaluation.value / best - 1) for s in above], rtol=0.1
    )
    assert found["one fit"].get_xdata()[0] == 1
    assert found["end, with the last fit"].get_xdata()[0] == work(each.result_.cost) / fit > 1
    assert found["best"].get_ydata()[0] == ax.get_ylim()[0] > 0
    assert ax.get_yscale() == "log"
    ax, fit = CostDisplay.from_estimator(logistic).ax_, work(logistic.refit_cost_)
    step, whole = work(logistic.result_.trace[-1].cost), work(logistic.result_.cost)
    assert len(logistic.result_.trace) == 1  # as no step is above it, there are bars
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "one fit",
        "until the best",
        "all",
    ]
    found = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(found, [1, step / fit, whole / fit])
    model = RidgeCV(cv=3, refit=False).fit(A, B)
    ax = CostDisplay.from_estimator(model).ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == ["until the best", "all"]
    assert ax.get_xlabel() == "passes over the data"


def work(cost):
    return cost.passes + cost.grams


def kinds(display):
    return [type(one) for one in display.displays_]


def test_the_overview_has_three_pictures(logistic, path, each, kernel):
    made = TuningDisplay.from_estimator(logistic, X, Y, points=3)
    assert kinds(made) == [CriterionDisplay, CoefficientPathDisplay, CostDisplay]
    first, second, _ = made.axes_
    assert first.get_xlim() == second.get_xlim()
    assert kinds(TuningDisplay.from_estimator(logistic)) == [
        CriterionDisplay, StepsDisplay, CostDisplay]  # fmt: skip
    assert kinds(TuningDisplay.from_estimator(logistic, path=path))[1] is CoefficientPathDisplay
    made = TuningDisplay.from_estimator(each, A, B, points=3)
    assert kinds(made) == [PenaltiesDisplay, CriterionDisplay, CostDisplay]
    assert made.axes_[1].get_xlabel() == "all penalties, times"
    made = TuningDisplay.from_estimator(kernel, A[::4], B[::4], points=3, grid=3)
    assert kinds(made) == [ContourDisplay, CriterionDisplay, CostDisplay]
    moved = lines(made.axes_[1])["measured"].get_xdata()
    assert moved[1] == pytest.approx(kernel.lam_[1])
    many = TuningDisplay.from_estimator(each, image_shape=(2, 5))
    assert len(many.axes_[0].images) == 1


def test_they_draw_on_axes_given_and_refuse_others(logistic, path):
    _, axes = plt.subplots(3, 1)
    display = TuningDisplay.from_estimator(logistic, axes=axes)
    assert display.figure_ is axes[0].figure
    assert list(display.axes_) == list(axes)
    _, ax = plt.subplots(figsize=(3.3, 2.5), layout="constrained")
    for kind in (CriterionDisplay, CoefficientPathDisplay):
        assert kind.from_estimator(logistic, path=path, ax=ax).ax_ is ax
    with pytest.raises(InvalidInputError, match="three axes"):
        TuningDisplay.from_estimator(logistic, axes=axes[0])
    for name in plot.__all__:
        with pytest.raises(InvalidInputError, match="Fit it first"):
            vars(plot)[name].from_estimator(RidgeCV())
