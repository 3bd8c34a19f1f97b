"""Every picture reads: its words are whole and apart from each other, on light and on dark."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from hoag import (
    CoxRegressionCV,
    GAMClassifierCV,
    GAMRegressorCV,
    KernelRidgeCV,
    LogisticRegressionCV,
    PoissonRegressorCV,
    QuantileRegressorCV,
    RidgeCV,
)
from hoag.gam import category, smooth, tensor
from hoag.optimize import Auto

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
pd = pytest.importorskip("pandas")

from hoag import plot  # noqa: E402

RNG = np.random.default_rng(0)
Z, NOISE = RNG.normal(size=(200, 3)), RNG.normal(size=200)
COUNTS = RNG.poisson(np.exp(1 + 0.8 * Z[:, 0]))
LIVES = np.zeros(200, dtype=[("event", bool), ("time", float)])
LIVES["event"], LIVES["time"] = RNG.uniform(size=200) < 0.7, RNG.exponential(400, 200)
DIABETES, CANCER = load_diabetes(as_frame=True), load_breast_cancer(as_frame=True)
A, B = (DIABETES.data - DIABETES.data.mean()) / DIABETES.data.std(), DIABETES.target.to_numpy()
X, Y = (CANCER.data - CANCER.data.mean()) / CANCER.data.std(), CANCER.target.to_numpy()
SITES = pd.DataFrame(Z, columns=["age", "latitude", "longitude"])
SITES["site"] = np.resize(["north", "a long name of a site", "south", "west"], 200)
TERMS = [smooth("age", knots=5), tensor("latitude", "longitude", knots=3), category("site")]


def logistic():
    return LogisticRegressionCV().fit(X, Y)


def ridge():
    return RidgeCV(penalties="per-feature", cv=5).fit(A, B)


def kernel():
    return KernelRidgeCV(cv=3).fit(A[::4], B[::4])


def many():
    return LogisticRegressionCV(
        penalties="per-feature", cv=2, tol=1e-2, search=Auto(tol=1e-2, starts=1)
    ).fit(X, Y)


def groups():
    names = dict.fromkeys(A, "all that was measured") | {"age": "what is known", "sex": "asked"}
    return RidgeCV(penalties=names, cv=3).fit(A, B)


def on(Display, make, *data, **options):
    """A picture of a model on some axes, its data as fit had them."""
    return lambda ax: Display.from_estimator(fitted(make), *data, ax=ax, **options)


@cache
def fitted(make):
    return make()


PATH = {"points": 7}
PICTURES = {
    "criterion": on(plot.CriterionDisplay, logistic, X, Y, **PATH),
    "criterion, steps": on(plot.CriterionDisplay, logistic),
    "criterion, several": on(plot.CriterionDisplay, ridge, A, B, **PATH),
    "coefficients": on(plot.CoefficientPathDisplay, logistic, X, Y, **PATH),
    "contour": on(plot.ContourDisplay, kernel, A[::4], B[::4], grid=4),
    "contour, steps": on(plot.ContourDisplay, kernel),
    "penalties": on(plot.PenaltiesDisplay, ridge),
    "penalties, many": on(plot.PenaltiesDisplay, many),
    "penalties, image": on(plot.PenaltiesDisplay, many, image_shape=(5, 6)),
    "steps, one": on(plot.StepsDisplay, logistic),
    "steps": on(plot.StepsDisplay, ridge),
    "steps, groups": on(plot.StepsDisplay, groups),
    "steps, many": on(plot.StepsDisplay, many),
    "cost": on(plot.CostDisplay, ridge),
    "cost, one": on(plot.CostDisplay, logistic),
    "deviance": on(
        plot.DevianceResidualsDisplay, lambda: PoissonRegressorCV().fit(Z, COUNTS), Z, COUNTS
    ),
    "tenths": on(plot.TenthsDisplay, ridge, A, B),
    "tenths, logs": on(plot.TenthsDisplay, lambda: PoissonRegressorCV().fit(Z, COUNTS), Z, COUNTS),
    "below": on(plot.BelowDisplay, lambda: QuantileRegressorCV(quantile=0.9).fit(A, B), A, B),
    "confusion": on(plot.ConfusionDisplay, logistic, X, Y),
    "confusion, many": lambda ax: plot.ConfusionDisplay(
        *(np.arange(130) % 13, np.arange(130) * 7 % 13), [f"class {k}" for k in range(13)]
    ).plot(ax),
    "survival": on(plot.SurvivalDisplay, lambda: CoxRegressionCV().fit(Z, LIVES), Z, LIVES),
}
FIGURES = {
    "tuning": lambda: plot.TuningDisplay.from_estimator(fitted(logistic), X, Y, **PATH),
    "tuning, steps": lambda: plot.TuningDisplay.from_estimator(fitted(kernel)),
    "tuning, several": lambda: plot.TuningDisplay.from_estimator(fitted(ridge), A, B, **PATH),
    "terms": lambda: GAMRegressorCV(TERMS).fit(
        SITES, Z[:, 0] + Z[:, 1] * Z[:, 2] + NOISE
    ).plot_terms(),
    "terms, classes": lambda: GAMClassifierCV(TERMS).fit(
        SITES, np.array(["one", "two", "three"])[np.digitize(Z[:, 0], [-0.5, 0.5])]
    ).plot_terms(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")
    plt.rcdefaults()


def words(figure):
    """The pieces of text that are drawn: ticks beyond the ends of their axis are not."""
    found = [*figure.texts]  # those on its sides, too
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    found += [text for one in legends if one for text in (*one.get_texts(), one.get_title())]
    for ax in figure.axes:
        found += [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            ticks = [t for t in axis.get_major_ticks() if low - room <= t.get_loc() <= high + room]
            found += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text for text in found if text and text.get_visible() and text.get_text().strip()]


def boxes(figure):
    figure.canvas.draw()
    seen = figure.canvas.get_renderer()
    return [(text, text.get_window_extent(seen)) for text in words(figure)]


def collisions(figure):
    """Texts that are cut, or that touch others; of those at a slant only whether they are cut."""
    found, edge = boxes(figure), figure.bbox
    wrong = [
        f"{text.get_text()!r} is cut"
        for text, box in found
        if min(box.x0, box.y0, edge.x1 - box.x1, edge.y1 - box.y1) < -1
    ]
    straight = [(text, box) for text, box in found if text.get_rotation() % 90 == 0]
    for (one, first), (other, second) in combinations(straight, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        if across > 1 and down > 1:
            wrong.append(f"{one.get_text()!r} on {other.get_text()!r}")
    return wrong


def test_what_collides_is_seen():
    _, ax = plt.subplots(figsize=(4, 4))
    ax.text(0.5, 0.5, "here")
    ax.text(0.52, 0.52, "there")
    ax.text(0.9, 0.2, "much too long")
    assert collisions(ax.figure) == ["'much too long' is cut", "'here' on 'there'"]


@pytest.mark.parametrize("size", [(5.2, 3.7), (4.2, 3.0)], ids=["column", "phone"])
@pytest.mark.parametrize("name", PICTURES)
def test_words_are_whole_and_apart(name, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    assert collisions(PICTURES[name](ax).figure_) == []


@pytest.mark.parametrize("name", FIGURES)
def test_words_of_figures_are_whole_and_apart(name):
    assert collisions(FIGURES[name]().figure_) == []


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_lost_on_a_dark_page(name):
    """What is drawn in the colour of text has that of the style: no black on black."""
    plt.style.use("dark_background")
    ax = PICTURES[name](plt.subplots()[1]).ax_
    drawn = [ax, *ax.lines, *ax.texts]
    colors = [one.get_color() for one in drawn[1:]] + [
        text.get_color() for text in words(ax.figure)
    ]
    assert "black" not in colors


def test_a_logarithmic_axis_has_no_zero():
    ax = PICTURES["cost"](plt.subplots()[1]).ax_
    assert ax.get_yscale() == "log"
    assert "0" not in [text.get_text() for text in ax.get_yticklabels()]
    assert ax.get_ylim()[0] > 0


def test_surfaces_have_a_bar_of_colours():
    for name in ("contour", "penalties, image", "steps, many"):
        bars = PICTURES[name](plt.subplots()[1]).figure_.axes[1:]
        assert [bar.get_ylabel() for bar in bars if bar.get_ylabel()] != []
