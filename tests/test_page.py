"""The page of hoag tune: what it says first, what its figures are made of, how it looks."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

pytest.importorskip("matplotlib")
pytest.importorskip("skops")

from matplotlib.figure import Figure

from hoag.cli import main
from hoag.cli.report import Page, svg
from hoag.plot import _held_out as held_out


def reported(tmp_path, *arguments):
    """The page of a tuned table."""
    page = tmp_path / "page.html"
    assert main(["tune", *map(str, arguments), "--report", str(page), "-q"]) == 0
    return page.read_text(encoding="utf-8")


def order(text, *words):
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_the_answer_comes_first_and_what_to_do_last(tmp_path):
    model = tmp_path / "m.skops"
    text = reported(tmp_path, "breast_cancer", "--save", model)
    order(text, "<h1>", "lead agrees", "The model is right about 97.9 % of held-out rows",
          "On rows held out (5 folds): accuracy", "of an untuned model (C = 1", ">The loss</h2>",
          ">The coefficients</h2>", ">Rows held out</h2>", ">What to do next</h2>", "<pre>",
          "hoag predict", "skops.io.load", ">In numbers</h2>")  # fmt: skip
    assert text.count("<svg ") == 6
    assert re.search(r"tuning gains \S+, (not )?more than the standard error of that, ", text)


def test_the_untuned_model_is_scikit_learns(tmp_path):
    text = reported(tmp_path, "diabetes")
    said = float(re.search(r"untuned model \(alpha = 1, .*?\) is ([\d.]+): tuning", text)[1])
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    losses = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        plain = Ridge(1.0).fit(X[train], y[train])
        losses.append((y[test] - plain.predict(X[test])) ** 2)
    assert said == pytest.approx(np.concatenate(losses).mean(), rel=1e-4)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_noise_is_called_noise(kind, tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 12)), columns=[f"x{j}" for j in range(12)])
    frame["y"] = rng.choice(["a", "b"], 300) if kind == "classes" else rng.normal(size=300)
    frame.to_csv(tmp_path / "noise.csv", index=False)
    text = reported(tmp_path, tmp_path / "noise.csv", "--target", "y")
    order(text, '<p class="lead disagrees">Held-out rows do not show', "no proof that the columns",
          "worse than a constant.", "These may be chance", "hardly better than a constant, as far "
          "as these rows tell")  # fmt: skip
    assert "hoag predict" not in text


@pytest.mark.parametrize(
    ("options", "figures", "words"),
    [
        (("diabetes", "--model", "kernel-ridge"), 5, ("The kernel", "log γ", "gamma = 1/p")),
        (("diabetes", "--cv", "loo"), 6, ("each row left out once", "R²")),
        (("diabetes", "--penalties", "per-feature"), 7, ("By strength", "switched off", "bmi")),
        (("iris",), 6, ("by logistic on iris", "each.html")),
    ],
    ids=["kernel", "left out", "many", "classes"],
)
def test_every_model_has_its_page(options, figures, words, tmp_path):
    text = reported(tmp_path, *options)
    assert text.count("<svg ") == text.count("<figcaption>") == figures
    for word in words:
        assert word in text


def test_several_targets_and_classes_are_on_one_page(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
    frame["u"], frame["v"] = frame.a + 0.1 * rng.normal(size=90), 100 * frame.b
    frame.to_csv(tmp_path / "two.csv", index=False)
    text = reported(tmp_path, tmp_path / "two.csv", "--target", "u,v")
    assert "All targets, in standard deviations." in text
    assert "u, v, by ridge" in text


def test_figures_are_in_the_ink_of_the_page():
    figure = Figure(figsize=(3, 2))
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="black")
    ax.set_xlabel("letters")
    made = svg(figure, 'a "caption" & more')
    assert made == svg(figure, 'a "caption" & more')
    assert made.startswith('<svg viewBox="0 0 216 144" role="img" aria-label="a &quot;caption')
    assert "#000000" not in made
    assert "stroke: currentColor" in made
    assert "<text" not in made  # outlines
    assert not re.search(r"https?:|<metadata|<!--|\d\.\d{3,}[ \"]L", made)
    page = Page("t")
    page.figures([(figure, "one"), (figure, "two")])
    page.code("a < b")
    text = page.html()
    assert text.count("<svg ") == 2
    assert "<pre><code>a &lt; b</code></pre>" in text
    assert "prefers-color-scheme: dark" in text


@pytest.fixture
def predicted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "yes", "no")
    chances = LogisticRegression().fit(X, y).predict_proba(X)
    return SimpleNamespace(y=y, chances=chances, weights=np.ones(400), classes=["no", "yes"])


def test_roc_and_calibration_are_what_scikit_learn_computes(predicted):
    ax = Figure().subplots()
    held_out.roc(ax, predicted.y, predicted.chances, predicted.weights, predicted.classes)
    area = roc_auc_score(predicted.y == "yes", predicted.chances[:, 1])
    assert ax.get_legend().get_texts()[0].get_text() == f"yes: {area:.3f}"
    ax = Figure().subplots()
    held_out.calibration(ax, predicted.y, predicted.chances, predicted.weights, predicted.classes)
    (dots,) = ax.containers
    share, given = calibration_curve(predicted.y == "yes", predicted.chances[:, 1], n_bins=10)
    np.testing.assert_allclose(dots.lines[0].get_xdata(), given)
    np.testing.assert_allclose(dots.lines[0].get_ydata(), share)


def test_residuals_show_a_bend_that_was_missed():
    x = np.linspace(-1, 1, 500)
    ax = Figure().subplots()
    held_out.residuals(ax, x + x**2 - 1 / 3, x)
    means = ax.containers[0].lines[0].get_ydata()
    assert means[0] > 0.3
    assert means[-1] > 0.3
    assert means[len(means) // 2] < -0.2
    ax = Figure().subplots()
    held_out.residuals(ax, np.full(7, 3.0), np.full(7, 3.0))  # nothing is left
