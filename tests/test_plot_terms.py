"""Pictures of the terms of additive models: what is drawn is what predict(terms=True) says."""

from __future__ import annotations

import numpy as np
import pytest
from quick import quick_pairs

from hoag import GAMClassifierCV, GAMRegressorCV, RidgeCV
from hoag.errors import InvalidInputError
from hoag.gam import category, linear, smooth, tensor

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
pd = pytest.importorskip("pandas")

from hoag.plot import TermsDisplay  # noqa: E402

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(20, 80, N),
        "hour": RNG.uniform(1, 23, N),
        "lat": RNG.normal(50, 1, N),
        "lon": RNG.normal(9, 2, N),
        "dose": RNG.exponential(2, N),
        "site": RNG.choice(["north", "south", "west"], N),
        "noise": RNG.normal(size=N),
    }
)
CLOCK = smooth("hour", cyclic=True, knots=np.linspace(0, 24, 9))
ETA = (
    np.sin(FRAME.age / 10)
    + np.cos(FRAME.hour * np.pi / 12)
    + 0.3 * (FRAME.lat - 50) * (FRAME.lon - 9)
    + 0.1 * FRAME.dose
    + FRAME.site.map({"north": -1.0, "south": 1.0, "west": 0.0})
).to_numpy()
ERRORS = 0.3 * RNG.normal(size=N)
POWERS = np.vander(FRAME.noise, 5)
# so that noise has nothing to say
ERRORS -= POWERS @ np.linalg.lstsq(POWERS, ERRORS, rcond=None)[0]
Y = ETA + ERRORS


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    terms = [
        *(smooth("age", knots=10), CLOCK, tensor("lat", "lon", knots=4), linear("dose")),
        *(category("site"), smooth("noise", knots=5)),
    ]
    return GAMRegressorCV(terms).fit(FRAME, Y)


def titled(display):
    return {ax.get_title(loc="left"): ax for ax in display.axes_}


def written(figure):
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def test_curves_and_bands_are_those_of_predict(model):
    ax = titled(model.plot_terms(interval=0.9))["s(age)"]
    x, f = ax.lines[1].get_xydata().T
    rows = pd.concat([FRAME.iloc[:1]] * x.size).assign(age=x)
    each, low, high = model.predict(rows, terms=True, interval=0.9)
    np.testing.assert_allclose(f, each[:, 0], atol=1e-10)
    band = ax.collections[0].get_paths()[0].vertices
    for place, bottom, top in zip(x[::20], low[::20, 0], high[::20, 0]):
        own = band[np.isclose(band[:, 0], place), 1]
        np.testing.assert_allclose([own.min(), own.max()], [bottom, top], atol=1e-10)
    assert x[0] == FRAME.age.min()
    assert x[-1] == FRAME.age.max()


def test_every_kind_is_drawn_on_one_scale(model):
    display = model.plot_terms()
    axes = titled(display)
    assert set(axes) == {"s(age)", "s(hour)", "te(lat, lon)", "dose", "site"}
    assert list(model.plateaus_).index("gone") == 5
    assert "Gone, and not drawn: s(noise)." in written(display.figure_)
    assert any(text == f"edf {model.edf_[0]:.1f}" for text in written(display.figure_))
    flat = [ax for name, ax in axes.items() if name != "te(lat, lon)"]
    assert len({ax.get_ylim() for ax in flat}) == 1
    assert len({ax.get_ylim() for ax in titled(model.plot_terms(share_y=False)).values()}) == 5
    assert axes["s(hour)"].get_xlim() == (0.0, 24.0)  # once around, further than the rows are
    words = [text.get_text() for text in axes["site"].get_xticklabels()]
    assert words == ["north", "west", "south"]
    heights = axes["site"].containers[0].lines[0].get_ydata()
    assert np.all(np.diff(heights) > 0)
    numbered = [ax.yaxis.get_tick_params()["labelleft"] for ax in display.axes_]
    assert numbered == [True, False, True, True, False]  # the surface has an axis of its own
    turned = titled(model.plot_terms(terms=["te(lat, lon)", "s(age)", "dose"]))
    assert turned["s(age)"].yaxis.get_tick_params()["labelleft"]
    surface = axes["te(lat, lon)"]
    assert surface.get_xlabel() == "lat"
    assert surface.get_ylabel() == "lon"
    assert any(text.get_text() == "0" for text in surface.texts)  # a contour with its height


def test_terms_are_chosen_by_label_and_number(model):
    assert list(titled(model.plot_terms(terms=["site", 0, -1]))) == ["site", "s(age)", "s(noise)"]
    _, ax = plt.subplots()
    display = model.plot_terms(terms="dose", axes=ax, interval=None)
    assert display.axes_ == [ax]
    assert not ax.collections


def test_residuals_are_what_is_left_with_the_term_added(model):
    display = TermsDisplay.of(model, FRAME, Y, residuals=True)
    each = model.predict(FRAME, terms=True)
    left = Y - model.predict(FRAME)
    np.testing.assert_allclose(display.panels[0].rows[1], each[:, 0] + left, atol=1e-10)
    np.testing.assert_allclose(display.panels[4].rows[1], each[:, 4] + left, atol=1e-10)
    assert len(display.plot().axes_[4].lines) > 1


def test_working_residuals_of_counts_and_classes():
    years = RNG.uniform(0.5, 2, N)
    y = RNG.poisson(years * np.exp(0.4 * ETA))
    terms = [smooth("age", knots=6), category("site")]
    counts = GAMRegressorCV(terms, family="poisson").fit(FRAME, y, exposure=years)
    display = TermsDisplay.of(counts, FRAME, y, residuals=True, exposure=years)
    mean = counts.predict(FRAME, exposure=years)
    own = counts.predict(FRAME, terms=True)[:, 0]
    np.testing.assert_allclose(display.panels[0].rows[1], own + (y - mean) / mean)
    assert display.adds == "the log of the mean"
    ill = np.where(Y > 0, "ill", "well")
    classes = GAMClassifierCV(terms).fit(FRAME, ill)
    display = TermsDisplay.of(classes, FRAME, ill, residuals=True)
    chance = classes.predict_proba(FRAME)[:, 1]
    own = classes.decision_function(FRAME, terms=True)[:, 0]
    expected = own + ((ill == "well") - chance) / (chance * (1 - chance))
    np.testing.assert_allclose(display.panels[0].rows[1], expected)
    assert display.adds == "the log odds of well"


def test_by_has_a_panel_for_each_level_or_the_coefficient():
    slope = {"north": -1.0, "south": 1.0, "west": 0.0}
    y = FRAME.site.map(slope) * FRAME.age / 30 + FRAME.dose * np.sin(FRAME.hour / 4)
    terms = [smooth("age", knots=5, by="site"), smooth("hour", knots=6, by="dose")]
    model = GAMRegressorCV(terms).fit(FRAME, y + 0.1 * RNG.normal(size=N))
    display = TermsDisplay.of(model, terms=range(5))
    level, varying = display.panels[1], display.panels[4]
    assert level.label == "s(age)[site=north]"
    assert varying.label == "s(hour)·dose"
    assert level.rug[0].size == int(np.sum(FRAME.site.iloc[model._seen.rows] == "north"))
    np.testing.assert_allclose(varying.values[:, 0], np.sin(varying.x / 4), atol=0.15)
    assert titled(display.plot())["s(hour)·dose"].get_ylabel() == "times dose"


def test_several_classes_have_a_line_each_and_a_surface_each():
    y = np.array(["a", "b", "c"])[np.digitize(Y, [-0.7, 0.7])]
    terms = [smooth("age", knots=5), tensor("lat", "lon", knots=3), category("site")]
    model = GAMClassifierCV(terms).fit(FRAME, y)
    display = model.plot_terms(terms=[0, 1, 2])
    assert len(display.axes_) == 1 + 3 + 1
    each = model.decision_function(FRAME, terms=True)
    for k, line in enumerate(display.axes_[0].lines[1:4]):
        expected = each[np.argmin(FRAME.age), 0, k]
        assert line.get_ydata()[0] == pytest.approx(expected)
    told = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert told == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match="several classes"):
        model.plot_terms(FRAME, y, residuals=True)


@pytest.mark.parametrize(
    ("many", "shape"),
    quick_pairs(
        [(1, (1, 1)), (2, (1, 2)), (6, (2, 3)), (40, (8, 5))], lambda many, shape: many < 40
    ),
)
def test_the_grid_and_the_room_for_its_text(model, many, shape):
    display = TermsDisplay.of(model, terms=[0] * many)
    display.gone = [f"s(a column with a long name {j})" for j in range(8)]
    figure = display.plot().figure_
    rows, columns = display.axes_[0].get_gridspec().get_geometry()
    assert (rows, columns) == shape
    figure.canvas.draw()
    seen = figure.canvas.get_renderer()
    boxes = [ax.get_tightbbox(seen) for ax in display.axes_]
    note = figure._supxlabel.get_window_extent(seen)
    assert note.x1 <= figure.bbox.x1
    assert note.y0 >= 0
    assert all(box.y0 >= note.y1 - 1 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)
    assert all(box.width > 0.5 * figure.bbox.width / columns for box in boxes)


def test_a_curve_without_rows_under_it_is_no_measure():
    x = np.concatenate([[0.0], RNG.uniform(9, 10, 300)])
    y = np.where(x < 1, 0.0, np.sin(9 * x)) + 0.01 * RNG.normal(size=301)
    model = GAMRegressorCV([smooth(0, knots=30)]).fit(x[:, None], y)
    ax = model.plot_terms().axes_[0]
    assert np.ptp(ax.lines[1].get_ydata()) > 10
    assert np.ptp(ax.get_ylim()) < 4


def test_little_is_kept_of_many_rows():
    X = RNG.uniform(size=(5000, 2))
    model = GAMRegressorCV([smooth(0, knots=4), linear(1)]).fit(X, X[:, 0] + RNG.normal(size=5000))
    kept = model._seen.values[0]
    assert kept.size <= 304
    assert kept.min() == X[:, 0].min()
    assert kept.max() == X[:, 0].max()


def test_wrong_calls_are_told_in_sentences(model):
    for options, told in (
        ({"terms": "s(weight)"}, "There is no term 's\\(weight\\)': the model has s\\(age\\)"),
        ({"terms": []}, "terms is empty"),
        ({"residuals": True}, "Give X and y"),
        ({"interval": 95}, "give a probability"),
        ({"exposure": [1.0]}, "only matter for residuals"),
        ({"axes": plt.subplots()[1]}, "There are 5 panels, and axes for 1"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            model.plot_terms(**options)
    with pytest.raises(InvalidInputError, match="this is a RidgeCV"):
        TermsDisplay.from_estimator(RidgeCV().fit(FRAME[["age"]], Y))
    with pytest.raises(InvalidInputError, match="Fit it first"):
        GAMRegressorCV().plot_terms()
