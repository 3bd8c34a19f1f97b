"""hoag tune --model gam, and hoag predict with what it saves."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.model_selection import KFold

import hoag
from hoag.cli import NOT_CONVERGED, main

pd = pytest.importorskip("pandas")
pytest.importorskip("skops.io")
pytest.importorskip("matplotlib")

N = 160
FORMULA = "s(age, k=8) + te(lat, lon, k=4) + s(hour, k=6, bs=cc) + s(size, k=5, by=site) + site"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    age, size = rng.uniform(20, 70, N).round(1), rng.normal(size=N).round(3)
    site = rng.choice(["north", "south", "3"], N)
    level = pd.Series(site).map({"north": 0.5, "south": -0.5, "3": 0.0}).to_numpy()
    eta = np.sin(age / 9) + level + 0.4 * size
    table = pd.DataFrame({"age": age, "size": size, "site": site})
    table["lat"], table["lon"] = rng.normal(50, 1, N).round(2), rng.normal(9, 1, N).round(2)
    table["hour"], table["years"] = rng.uniform(0, 24, N).round(1), rng.uniform(0.5, 2, N).round(2)
    table["rent"] = (500 + 50 * eta + 20 * rng.normal(size=N)).round(2)
    table["claims"] = rng.poisson(table["years"] * np.exp(eta))
    table["kind"] = np.where(eta + 0.4 * rng.normal(size=N) > 0, "yes", "no")
    table["grade"] = np.digitize(eta + 0.4 * rng.normal(size=N), [-0.5, 0.5])
    table.loc[::20, "age"] = np.nan
    return table


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("gam") / "t.csv"
    frame.to_csv(path, index=False)
    return path


def run(*line):
    with redirect_stdout(io.StringIO()) as out:
        assert main([str(one) for one in line]) in (0, NOT_CONVERGED)
    return out.getvalue()


def failure(capsys, *line):
    assert main([str(one) for one in line]) == 1
    return capsys.readouterr().err


def filled(frame):
    """As the command reads the columns."""
    made = frame.assign(**{"age missing": frame.age.isna().astype(float)})
    return made.assign(age=frame.age.fillna(frame.age.mean()), site=frame.site.astype("category"))


@pytest.fixture(scope="module")
def rent(file, tmp_path_factory):
    """A formula with every kind of basis: its JSON, its model file, its page."""
    folder = tmp_path_factory.mktemp("rent")
    model, page = folder / "m.skops", folder / "page.html"
    out = run("tune", file, "--model", "gam", "--terms", f"rent ~ {FORMULA}", "--save", model,
              "--report", page, "--json")  # fmt: skip
    return json.loads(out), model, page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def by_hand(frame):
    from hoag.gam import from_formula, linear

    terms = from_formula(FORMULA, lambda name: name != "site")[1]
    return hoag.GAMRegressorCV([*terms, linear("age missing", vanish=True)]).fit(
        filled(frame), frame.rent
    )


def test_it_is_the_model_that_the_formula_asks_for(rent, by_hand):
    found, _, _ = rent
    assert found["model"] == "gam gaussian"
    assert found["target"] == "rent"
    assert [one["term"] for one in found["terms"]] == by_hand.labels_
    np.testing.assert_allclose([one["edf"] for one in found["terms"]], by_hand.edf_)
    assert found["chosen_by"] == "reml"
    assert set(found["kinds"]) == {"age", "lat", "lon", "hour", "size", "site"}


def test_what_is_saved_predicts_the_same(rent, by_hand, frame, file):
    told = json.loads(run("predict", rent[1], file, "--json", "--explain", "2"))
    np.testing.assert_allclose(told["predictions"], by_hand.predict(filled(frame)), rtol=1e-9)
    each = by_hand.predict(filled(frame), terms=True)
    own = [[abs(one["contribution"]) for one in row] for row in told["contributions"]]
    np.testing.assert_allclose(own, -np.sort(-np.abs(each), axis=1)[:, :2], rtol=1e-9, atol=1e-9)


def test_rows_are_judged_by_folds_that_did_not_see_them(rent, by_hand, frame):
    from sklearn.base import clone

    X, y, losses = filled(frame), frame.rent.to_numpy(), []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fold = clone(by_hand).fit(X.iloc[train], y[train])
        losses.append(np.mean((y[test] - fold.predict(X.iloc[test])) ** 2))
    np.testing.assert_allclose(rent[0]["held_out_losses"], losses, rtol=1e-6)
    assert rent[0]["held_out_loss"] == pytest.approx(np.mean(losses), rel=1e-6)


def test_the_page_has_the_terms(rent):
    _, _, page = rent
    assert "The terms" in page
    assert "The coefficients" not in page
    assert "<td>te(lat, lon)</td>" in page
    assert "hoag predict" in page
    assert "skops.io" not in page  # scikit-learn has no such class


def test_counts_with_exposure(frame, file, tmp_path):
    out = run("tune", file, "--target", "claims", "--model", "gam", "--family", "poisson",
              "--exposure", "years", "--terms", "s(age, k=6) + site", "--cv", "3", "--json",
              "--missing", "drop", "--save", tmp_path / "m.skops")  # fmt: skip
    found = json.loads(out)
    rows = frame.dropna().reset_index(drop=True)
    assert found["rows"] == len(rows)
    assert found["chosen_by"] == 3
    model = hoag.GAMRegressorCV(
        "s(age, k=6) + site", family="poisson", cv=KFold(3, shuffle=True, random_state=0)
    ).fit(rows, rows.claims, exposure=rows.years)
    rows.to_csv(tmp_path / "new.csv", index=False)
    told = json.loads(run("predict", tmp_path / "m.skops", tmp_path / "new.csv", "--json"))
    expected = model.predict(rows, exposure=rows.years)
    np.testing.assert_allclose(told["predictions"], expected, rtol=1e-9)
    assert 0 < told["score"]["D²"] < 1


@pytest.mark.filterwarnings("ignore:1 of 3 rows have a category:UserWarning")
def test_classes_in_words_and_what_is_printed(frame, file, tmp_path, capsys):
    line = ("tune", file, "--target", "kind", "--model", "gam", "--terms", "s(age, k=6) + site")
    said = run(*line, "--save", tmp_path / "m.skops", "--verbose")
    assert "gam classes (the target is text with 2 values; --family can say otherwise)" in said
    assert "chosen by the marginal likelihood (reml)" in said
    assert "p-value" in said
    new = frame.head(3).assign(site=["east", "north", "3"])
    new.to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    told = json.loads(run("predict", tmp_path / "m.skops", tmp_path / "new.csv", "--json"))
    assert "has not seen: 'east'" in capsys.readouterr().err
    model = hoag.GAMClassifierCV(
        [*hoag.gam.from_formula("s(age, k=6)")[1], hoag.gam.category("site"),
         hoag.gam.linear("age missing", vanish=True)]
    ).fit(filled(frame), frame.kind)  # fmt: skip
    rows = new.assign(**{"age missing": new.age.isna().astype(float)}).fillna(
        {"age": frame.age.mean()}
    )
    np.testing.assert_allclose(told["probabilities"], model.predict_proba(rows), atol=1e-9)


def test_several_classes_and_every_column(frame, file, tmp_path):
    own = ["age", "site", "grade"]
    frame[own].to_csv(tmp_path / "t.csv", index=False)
    found = json.loads(run("tune", tmp_path / "t.csv", "--target", "grade", "--model", "gam",
                           "--json", "--save", tmp_path / "m.skops"))  # fmt: skip
    assert [one["term"] for one in found["terms"]] == ["s(age)", "site", "age missing"]
    assert found["score"]["name"] == "accuracy"
    told = json.loads(run("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--json"))
    assert told["classes"] == [0, 1, 2]
    np.testing.assert_allclose(np.sum(told["probabilities"], axis=1), 1.0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--model ridge --terms s(age)", "--terms is for gam, and the model is ridge"),
        ("--model ridge --family poisson", "--family is for gam"),
        ("--model gam --cv loo", "--cv alo"),
        (
            "--model gam --penalties per-feature",
            "--penalties is for linear models, and the model is gam",
        ),
        ("--model gam --text site", "--text is for linear models"),
        ("--model gam --terms s(agee)", "no column 'agee', which --terms asks for. Did you mean"),
        ("--model gam --terms s(site)", "holds no numbers"),
        ("--model gam --terms s(age", "cannot be read"),
        ("--model gam --exposure years", "the model is gam gaussian"),
        ("--model gam --family gamma --target size", "--family gamma needs numbers above 0"),
        ("--model gam --family poisson --target kind", "use --family classes"),
    ],
)
def test_wrong_options_are_told_in_a_sentence(file, capsys, options, told):
    line = options.split()
    target = [] if "--target" in line else ["--target", "rent"]
    assert told in failure(capsys, "tune", file, *target, *line)


def test_names_that_are_none_in_python_are_quoted(frame, tmp_path):
    named = {"age": "age, in years", "size": "body size"}
    frame.rename(columns=named).dropna().to_csv(tmp_path / "t.csv", index=False)
    formula = "`rent` ~ s(`age, in years`, k=5) + 'body size' + site"
    found = json.loads(
        run("tune", tmp_path / "t.csv", "--model", "gam", "--terms", formula, "--json")
    )
    assert [one["term"] for one in found["terms"]] == ["s(age, in years)", "body size", "site"]


def test_svmlight_has_no_columns_to_name(tmp_path, capsys):
    (tmp_path / "t.svm").write_text("1 1:0.5\n0 1:0.2\n")
    assert "columns with names" in failure(capsys, "tune", tmp_path / "t.svm", "--model", "gam")


def test_what_is_no_likelihood_is_chosen_by_folds(file):
    line = ("tune", file, "--target", "rent", "--model", "gam", "--family", "huber", "--json")
    found = json.loads(run(*line, "--terms", "s(age, k=6)", "--missing", "drop"))
    assert found["chosen_by"] == 5


def test_counts_that_vary_too_much_are_told_once(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=120)})
    table["n"] = rng.negative_binomial(0.7, 0.7 / (0.7 + np.exp(2 + 0.3 * table.a)))
    table.to_csv(tmp_path / "t.csv", index=False)
    line = ("tune", tmp_path / "t.csv", "--target", "n", "--model", "gam", "--family", "poisson")
    plain = json.loads(run(*line, "--terms", "s(a, k=6)", "--json"))
    assert capsys.readouterr().err.count("The counts vary") == 1
    scaled = json.loads(run(*line, "--terms", "s(a, k=6)", "--json", "--scale", "pearson"))
    assert "The counts vary" not in capsys.readouterr().err
    assert [plain["terms"][0]["test"], scaled["terms"][0]["test"]] == ["χ²", "F"]
    assert scaled["terms"][0]["p_value"] > 1e4 * plain["terms"][0]["p_value"]
    wrong = ("tune", tmp_path / "t.csv", "--target", "n", "--model", "ridge", "--scale", "pearson")
    assert "--scale is for gam" in failure(capsys, *wrong)
