"""hoag tune and predict for counts, costs, quantiles, outliers, margins, orders and survival."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout

import numpy as np
import pytest
from matplotlib.figure import Figure
from quick import quick
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import scale

import hoag
from hoag import plot
from hoag.cli import NOT_CONVERGED, main
from hoag.cli.report import deviance_residuals
from hoag.errors import InvalidInputError

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io")

FOLDS = KFold(5, shuffle=True, random_state=0)
CLASSES = StratifiedKFold(5, shuffle=True, random_state=0)
X_NAMES = ["age", "size", "wind"]
# The target, the options, the estimator that they ask for, and what it is given for each row.
CASES = {
    "poisson": ("claims", "--exposure years", hoag.PoissonRegressorCV(cv=FOLDS), ("exposure",)),
    "gamma": ("cost", "--offset shift", hoag.GammaRegressorCV(cv=FOLDS), ("offset",)),
    "tweedie": ("total", "--power 1.4", hoag.TweedieRegressorCV(power=1.4, cv=FOLDS), ()),
    "huber": ("rent", "--epsilon 1.5", hoag.HuberRegressorCV(epsilon=1.5, cv=FOLDS), ()),
    "quantile": ("rent", "--quantile .8", hoag.QuantileRegressorCV(quantile=0.8, cv=FOLDS), ()),
    "svc": ("kind", "", hoag.LinearSVCCV(cv=CLASSES), ()),
    "ordinal": ("grade", "", hoag.OrdinalLogisticCV(cv=CLASSES), ()),
    "cox": ("months", "--event died --strata ward", hoag.CoxRegressionCV(cv=CLASSES), ("strata",)),
}  # fmt: skip
GIVEN = {"exposure": "years", "offset": "shift", "strata": "ward"}
SAID = {
    "poisson": "D²", "gamma": "D²", "tweedie": "D²", "huber": "D² of absolute errors",
    "quantile": "share below", "svc": "accuracy", "ordinal": "log loss", "cox": "concordance",
}  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    """Three columns, and targets of every kind that depend on two of them."""
    rng = np.random.default_rng(1)
    n = 150
    X = rng.normal(size=(n, 3)).round(3)
    z = 0.6 * X[:, 0] - 0.4 * X[:, 1]
    table = pd.DataFrame(X, columns=X_NAMES)
    table["years"], table["shift"] = rng.uniform(0.5, 2, n).round(2), rng.normal(size=n).round(2)
    table["claims"] = rng.poisson(table["years"] * np.exp(z + 0.5))
    table["cost"] = np.exp(z + table["shift"]) * rng.gamma(3.0, 20.0, n)
    table["total"] = [rng.gamma(2.0, 10.0, many).sum() for many in rng.poisson(np.exp(z))]
    table["rent"] = 500 + 50 * z + 10 * rng.standard_t(2, n)
    table["kind"] = np.array(["a", "b", "c"])[
        np.digitize(z + 0.5 * rng.normal(size=n), [-0.5, 0.5])
    ]
    table["grade"] = 1 + np.digitize(z + 0.4 * rng.logistic(size=n), [-0.7, 0.0, 0.8])
    time, censored = rng.exponential(np.exp(-z)), rng.exponential(3.0, n)
    table["months"], table["died"] = np.minimum(time, censored).round(3), time <= censored
    table["ward"] = rng.choice(["north", "south"], n)
    return table


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("families") / "t.csv"
    frame.to_csv(path, index=False)
    return path


def arguments(model, file, *more):
    target, options, _, _ = CASES[model]
    used = [target, *re.findall(r"(?:exposure|offset|event|strata) (\w+)", options), *X_NAMES]
    others = [name for name in pd.read_csv(file, nrows=1).columns if name not in used]
    line = ["--target", target, "--drop", ",".join(others), "--model", model, *options.split()]
    return [str(one) for one in ("tune", file, *line, *more)]


FITTED: dict[str, tuple] = {}


def expected(model, frame):
    """The estimator fitted by hand, once, its y, and what it has for each row."""
    if model not in FITTED:
        FITTED[model] = fitted(model, frame)
    return FITTED[model]


def fitted(model, frame):
    target, _, estimator, own = CASES[model]
    y = frame[target].to_numpy()
    if model == "cox":
        y = np.column_stack([y, frame["died"]]).astype(float)
    given = {name: frame[GIVEN[name]].to_numpy() for name in own}
    return clone(estimator).fit(scale(frame[X_NAMES].to_numpy()), y, **given), y, given


@pytest.fixture(scope="module", params=quick(CASES, ["poisson", "ordinal", "cox", "svc"]))
def tuned(request, file, tmp_path_factory):
    """One tune of each model: its JSON, its model file and its page."""
    folder = tmp_path_factory.mktemp(request.param)
    model, page = folder / "m.skops", folder / "page.html"
    line = arguments(request.param, file, "--save", model, "--report", page, "--json")
    with redirect_stdout(io.StringIO()) as out:
        assert main(line) in (0, NOT_CONVERGED)
    return request.param, json.loads(out.getvalue()), model, page.read_text(encoding="utf-8")


def failure(capsys, line):
    assert main([str(one) for one in line]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def predicted(capsys, *line):
    capsys.readouterr()
    assert main(["predict", *map(str, line)]) == 0
    told = capsys.readouterr()
    return pd.read_csv(io.StringIO(told.out)), told.err


def test_what_is_tuned_is_the_estimator(tuned, frame):
    model, found, _, _ = tuned
    by_hand, _, _ = expected(model, frame)
    assert found["model"] == model
    assert found["lam"] == pytest.approx(by_hand.lam_.tolist(), abs=1e-3)
    assert found["held_out_loss"] == pytest.approx(by_hand.criterion_, rel=1e-6)
    # Fold by fold the loss is computed anew, from what the folds' models said.
    assert found["held_out_loss"] == pytest.approx(np.mean(found["held_out_losses"]), rel=0.02)
    assert found["baseline"]["learnt"] is True


def test_the_constant_is_the_model_with_an_endless_penalty(tuned, frame):
    model, found, _, _ = tuned
    by_hand, y, given = expected(model, frame)
    by_hand = clone(by_hand).set_params(bounds=(-1.0, 40.0))
    X = scale(frame[X_NAMES].to_numpy())
    assert found["baseline"]["loss"] == pytest.approx(
        by_hand.criterion_at(30.0, X, y, **given), rel=1e-5
    )


def test_what_is_saved_predicts_what_was_tuned(tuned, frame, file, capsys):
    model, _, saved, _ = tuned
    by_hand, _, given = expected(model, frame)
    X = scale(frame[X_NAMES].to_numpy())
    assert sio.get_untrusted_types(file=saved) == []
    own = {} if model == "cox" else given
    table, told = predicted(capsys, saved, file)
    wanted = by_hand.predict(X, **own)
    name = "log risk" if model == "cox" else CASES[model][0]
    if model in ("svc", "ordinal"):
        assert table[name].tolist() == wanted.tolist()
    else:
        np.testing.assert_allclose(table[name], wanted, rtol=1e-3, atol=1e-3)
    assert SAID[model] in told


def test_probabilities_reasons_and_survival(frame, file, tmp_path, capsys):
    for model in ("ordinal", "cox", "poisson"):
        main(arguments(model, file, "--save", tmp_path / f"{model}.skops", "-q"))
    X = scale(frame[X_NAMES].to_numpy())
    by_hand, _, _ = expected("ordinal", frame)
    table, _ = predicted(capsys, tmp_path / "ordinal.skops", file, "--proba", "--explain", 1)
    assert list(table.columns) == ["grade", "1", "2", "3", "4", "reason 1"]
    np.testing.assert_array_equal(table["grade"], by_hand.predict(X))
    np.testing.assert_allclose(table.iloc[:, 1:5], by_hand.predict_proba(X), atol=1e-3)
    by_hand, y, given = expected("cox", frame)
    table, told = predicted(capsys, tmp_path / "cox.skops", file, "--survival-at", "0.5,2")
    assert f"concordance {by_hand.score(X, y, **given):.4g} on 150 rows" in told
    lasting = by_hand.predict_survival_function(X, [0.5, 2.0], **given)
    assert list(table.columns) == ["log risk", "survival at 0.5", "survival at 2"]
    np.testing.assert_allclose(table.iloc[:, 1:], lasting, atol=1e-3)
    table, _ = predicted(capsys, tmp_path / "poisson.skops", file, "--explain", 3)
    terms = [float(re.search(r"([-+][\d.e-]+)$", cell)[1]) for cell in table.loc[0][1:]]
    rate = np.log(table["claims"] / frame["years"])
    by_hand, _, _ = expected("poisson", frame)
    assert sum(terms) == pytest.approx(rate[0] - by_hand.intercept_, abs=2e-3)
    new = tmp_path / "new.csv"
    frame.drop(columns=["years", "ward"]).to_csv(new, index=False)
    line = ("predict", tmp_path / "poisson.skops", new)
    assert "lacks the column 'years', the exposure of" in failure(capsys, line)
    line = ("predict", tmp_path / "cox.skops", new)
    assert "lacks the column 'ward'" in failure(capsys, (*line, "--survival-at", "1"))
    assert len(predicted(capsys, *line[1:])[0]) == 150  # risks need no strata
    assert "--survival-at is for cox" in failure(
        capsys, ("predict", tmp_path / "ordinal.skops", file, "--survival-at", "1")
    )


def test_a_tweedie_model_is_saved_as_a_mean(file, tmp_path, capsys):
    model = tmp_path / "m.skops"
    line = arguments("tweedie", file, "--save", model, "--json")
    line[line.index("1.4")] = "tuned"
    main(line)
    found = json.loads(capsys.readouterr().out)["family"]
    assert 1 < found["power"] < 2
    assert found["dispersion"] > 0
    pipeline = sio.load(model, trusted=[])
    assert type(pipeline[-1]) is PoissonRegressor
    assert pipeline.hoag_["judged"]["power"] == found["power"]
    table, _ = predicted(capsys, model, file)
    np.testing.assert_allclose(table["total"], pipeline.predict(pd.read_csv(file)), rtol=1e-12)


PAGES = {
    "poisson": (
        "A bend in the squares",
        "rows[&#x27;years&#x27;]",
        "alpha = 1, as in scikit-learn",
    ),
    "gamma": ("The mean that came by the mean", "numpy.exp(rows[", "log of the mean"),
    "tweedie": ("the mean of the target", "--power 1.4", "vary alike"),
    "huber": ("the middle of the target", "outliers", "alpha = 0.0001"),
    "quantile": ("the 0.8 quantile", "How many rows are below what was predicted", "pinball"),
    "svc": ("shaded by their share", "C = 1, as in scikit-learn", "squared hinge loss"),
    "ordinal": ("shaded by their share", "thresholds", "log odds of a higher class"),
    "cox": ("Kaplan and Meier", "--survival-at 1,2,5", "the same risk for all rows"),
}


def test_every_family_has_its_page(tuned):
    model, found, _, page = tuned
    assert page.count("<svg ") == page.count("<figcaption>") == (5 if model == "cox" else 6)
    assert found["baseline"]["sentence"] in page
    assert page.index("lead agrees") < page.index("Rows held out</h2>")
    for word in PAGES[model]:
        assert word in page


@pytest.mark.parametrize("model", ["poisson", "quantile", "ordinal", "cox"])
def test_noise_is_called_noise(model, frame, tmp_path, capsys):
    rng = np.random.default_rng(0)
    noise = frame.copy()
    noise[X_NAMES] = rng.normal(size=(len(frame), 3))
    noise.to_csv(tmp_path / "noise.csv", index=False)
    main(arguments(model, tmp_path / "noise.csv", "--json"))
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"]["learnt"] is False
    assert found["baseline"]["sentence"].startswith("Held-out rows do not show that the model is ")


def test_the_table_has_the_units_of_the_family(file, capsys):
    for model, lines in {
        "poisson": (r"exposure +years", r"deviance [\d.]+ ± [\d.]+ per row", r"score +D² 0\.\d+"),
        "cox": (r"events +\d+", r"number of strata +2", r"per event", r"concordance 0\.[67]\d+"),
        "quantile": (
            r"quantile +0\.8",
            r"share below +0\.\d+",
        ),
    }.items():
        main(arguments(model, file, "-v"))
        shown = capsys.readouterr().out
        for line in lines:
            assert re.search(line, shown), line


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "diabetes --exposure age",
            "is for poisson, gamma and tweedie, and the model is ridge",
        ),
        (
            "diabetes --model huber --quantile 0.5",
            "is for quantile, and the model is huber",
        ),
        ("diabetes --model cox", "--model cox needs --event COLUMN"),
        ("diabetes --model poisson --exposure age --offset bmi", "give one of the two"),
        ("diabetes --model gamma --target bmi", "needs numbers above 0 as its target; row 2 below"),
        ("diabetes --model poisson --target sex", "row 2 below the header has -0.0446416 in 'sex'"),
        ("diabetes --model poisson --exposure bmi", "--exposure needs numbers above 0; row 2"),
        ("diabetes --model cox --event sex", "needs 1 for an event and 0 for none; row 1 below"),
        ("diabetes --model tweedie --power 2.5", "give 1 to 2, 3"),
        ("diabetes --model quantile --quantile 3", "give a number between 0 and 1"),
        ("diabetes --model huber --epsilon 1", "give a number above 1"),
        (
            "diabetes --model poisson --criterion huber",
            "is for logistic and ridge, and the model is poisson",
        ),
        ("diabetes --model huber --cv loo", "--cv loo is for ridge"),
        ("diabetes --model svc --target bmi", "--model svc needs classes; 'bmi' has"),
        ("iris --model ordinal --penalties per-class", "ordinal has shared, per-feature"),
        ("iris --model poisson --exposure target", "by --target and by --exposure"),
    ],
)
def test_wrong_uses_are_told_in_a_sentence(line, told, capsys):
    assert told in failure(capsys, ["tune", *shlex.split(line)])


WRONG = {
    "negative": ("x,y\n1,0\n2,3\n4,-2\n", "poisson", "row 3 below the header has -2 in 'y'"),
    "after a gap": ("x,y\n1,0\n2,\n4,-2\n", "poisson", "row 3 below the header has -2 in 'y'"),
    "zero": ("x,y\n1,2\n2,0\n4,2\n", "gamma", "row 2 below the header has 0 in 'y'"),
    "power": ("x,y\n1,2\n2,0\n4,2\n", "tweedie --power 2", "numbers above 0 as its target; row 2"),
    "text": ("x,y\n1,low\n2,high\n4,low\n", "ordinal", "number its values, the lowest with 1"),
    "words": ("x,y\n1,low\n2,high\n4,low\n", "poisson", "needs a target of numbers; 'y' is text"),
    "years": (
        "x,e,y\n1,2,0\n2,two,3\n",
        "poisson --exposure e",
        "row 2 below the header has 'two'",
    ),
    "gaps": ("x,e,y\n1,2,0\n2,,3\n", "poisson --exposure e", "has missing values in 'e' (1): fill"),
    "event": ("x,e,y\n1,1,5\n2,dead,3\n", "cox --event e", "--event needs numbers; row 2"),
    "times": ("x,e,y\n1,1,5\n2,0,-3\n", "cox --event e", "needs times from 0 on as its target"),
    "score": ("x,e,y\n1,1,5\n2,1,3\n", "cox --event e --scoring r2", "judged by its concordance"),
    "alive": ("x,e,y\n1,0,5\n2,0,3\n", "cox --event e", "every row is censored"),
}


@pytest.mark.parametrize("case", WRONG)
def test_rows_that_a_family_cannot_have(case, tmp_path, capsys):
    content, model, told = WRONG[case]
    (tmp_path / "t.csv").write_text(content)
    line = ["tune", tmp_path / "t.csv", "--target", "y", "--model", *model.split()]
    assert told in failure(capsys, line)


def test_a_score_that_needs_probabilities_is_told_and_not_computed(file, capsys):
    main(arguments("svc", file, "--scoring", "accuracy,neg_log_loss", "--json"))
    told = capsys.readouterr()
    assert "--scoring neg_log_loss cannot be computed here" in told.err
    assert [one["mean"] is None for one in json.loads(told.out)["scores"]] == [False, True]


def test_a_column_may_be_called_like_an_option(frame, tmp_path, capsys):
    columns = {"age": "power", "size": "quantile", "wind": "epsilon"}
    table = frame[[*X_NAMES, "claims"]].rename(columns=columns)
    table.to_csv(tmp_path / "t.csv", index=False)
    line = "--target claims --model poisson --penalties per-feature --bounds 0.5 2 --json"
    main(["tune", str(tmp_path / "t.csv"), *line.split()])
    told = json.loads(capsys.readouterr().out)["warnings"][0]
    assert "on its lower bound" in told


def test_help_names_the_options_with_their_models(capsys):
    with pytest.raises(SystemExit):
        main(["tune", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "--exposure COLUMN what the mean is proportional to, such as years at risk (",
        "--event COLUMN 1 where the time is that of an event",
        "--power P of the mean in the variance, from 1 to 2 (1.5), or tuned (tweedie)",
        "--epsilon E spreads from where on rows are outliers",
    ):
        assert words in told


def test_a_tuned_power_goes_along_when_the_path_is_measured(frame):
    X, y = scale(frame[X_NAMES].to_numpy()), frame["total"].to_numpy()
    model = hoag.TweedieRegressorCV(power="tuned").fit(X, y)
    assert abs(model.power_ - 1.5) > 0.01
    assert model.criterion_at(model.lam_, X, y) == pytest.approx(model.criterion_, rel=1e-6)
    assert model.path(X, y, points=3).loss[1] == pytest.approx(model.criterion_, rel=1e-4)
    with pytest.raises(InvalidInputError, match="X has 2 features"):
        model.criterion_at(model.lam_, X[:, :2], y)


def test_deviance_residuals_are_the_roots_of_the_deviance():
    rng = np.random.default_rng(0)
    mean = rng.uniform(0.2, 5, 60)
    y = rng.poisson(mean).astype(float)
    for power in (1.0, 1.6, 2.0, 3.0):
        y = y if power < 2 else y + 0.5
        left = deviance_residuals(y, mean, power)
        assert np.mean(left**2) == pytest.approx(mean_tweedie_deviance(y, mean, power=power))
        assert np.all((left > 0) == (y > mean))


def test_the_pictures_are_made_of_what_they_are_given():
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(size=2000))
    axes = Figure().subplots(4)
    tenths = plot.TenthsDisplay(3 * mean, mean, rng.uniform(1, 2, 2000)).plot(axes[0])
    np.testing.assert_allclose(tenths.observed_, 3 * tenths.predicted_)
    assert np.all(np.diff(tenths.predicted_) > 0)
    below = plot.BelowDisplay(np.tile([0.0, 0.0, 2.0], 400), np.ones(1200), 2 / 3).plot(axes[1])
    np.testing.assert_allclose(below.shares_, 2 / 3)
    table = plot.ConfusionDisplay([1, 1, 2], [1, 2, 2], [1, 2], [1.0, 2.0, 4.0]).plot(axes[2])
    np.testing.assert_array_equal(table.counts_, [[1, 2], [0, 4]])
    left = plot.DevianceResidualsDisplay(mean, np.log(mean)).plot(axes[3])
    means = left.ax_.containers[0].lines[0]
    np.testing.assert_allclose(np.log(means.get_xdata()), means.get_ydata())


def test_pictures_of_rows_by_a_fitted_model(frame):
    X, axes = scale(frame[X_NAMES].to_numpy()), Figure().subplots(5)
    for ax, kind, model in zip(
        axes,
        ("DevianceResidualsDisplay", "TenthsDisplay", "BelowDisplay", "ConfusionDisplay",
         "SurvivalDisplay"),
        ("poisson", "gamma", "quantile", "ordinal", "cox"),
        strict=True,
    ):  # fmt: skip
        by_hand, y, given = expected(model, frame)
        own = given if model in ("poisson", "gamma") else {}
        shown = vars(plot)[kind].from_estimator(by_hand, X, y, ax=ax, **own)
        assert shown.ax_ is ax
        with pytest.raises(InvalidInputError, match="Give X and y"):
            vars(plot)[kind].from_estimator(by_hand)
        if kind == "ConfusionDisplay":
            assert np.trace(shown.counts_) == pytest.approx(len(y) * by_hand.score(X, y))
        if kind == "DevianceResidualsDisplay":
            mean = by_hand.predict(X, **given)
            deviance = mean_tweedie_deviance(y, mean, power=1)
            assert np.mean(shown.residuals**2) == pytest.approx(deviance)
    with pytest.raises(InvalidInputError, match="for QuantileRegressorCV and its like"):
        plot.BelowDisplay.from_estimator(by_hand, X, y)


def test_survival_curves_are_kaplan_and_meiers():
    estimator = pytest.importorskip("sksurv.nonparametric").kaplan_meier_estimator
    rng = np.random.default_rng(0)
    risk = rng.normal(size=240)
    time, event = rng.exponential(np.exp(-risk)).round(1), rng.random(240) < 0.7
    shown = plot.SurvivalDisplay(time, event, risk).plot(Figure().subplots())
    thirds = np.argsort(np.argsort(risk)) // 80
    for k, (at, survival, _) in enumerate(shown.curves_):
        own = thirds == k
        times, wanted = estimator(event[own], time[own])
        place = np.searchsorted(at[:-1], times, side="right") - 1
        np.testing.assert_allclose(survival[place], wanted, rtol=1e-12)
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert legend[0] == f"low risk: {event[thirds == 0].sum()} events in 80 rows"
