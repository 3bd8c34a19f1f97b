"""Tables as people have them, through tune, report and predict: what is made of their columns."""

from __future__ import annotations

import datetime
import decimal
import json
import re
import time

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import Pipeline
from test_tune import failure, predicted, tuned

from hoag import LogisticRegressionCV
from hoag.cli import main

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io")
pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


def through(capsys, folder, file, *options, predict=()):
    """A table through tune, report and predict: the JSON, the page, the predictions, stderr."""
    model, page, out = folder / "m.skops", folder / "page.html", folder / "out.csv"
    found = tuned(capsys, file, *options, "--save", model, "--report", page)
    assert sio.get_untrusted_types(file=model) == []
    assert type(sio.load(model, trusted=[])) is Pipeline
    assert main(["predict", str(model), str(file), "--out", str(out), *predict]) == 0
    return found, page.read_text(encoding="utf-8"), predicted(out), capsys.readouterr().err


@pytest.fixture
def passengers():
    """Missing ages and cabins, names, tickets, an id, dates, one constant; who survived."""
    rng = np.random.default_rng(0)
    n = 500
    sex, deck = rng.choice(["male", "female"], n, p=[0.65, 0.35]), rng.choice([1, 2, 3], n)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.normal(30, 14, n).clip(1, 80).round(1))
    cabins = [f"{'ABCDEF'[i % 6]}{i % 97}" for i in range(n)]
    z = 2.4 * (sex == "female") - (deck - 2) - 0.02 * np.nan_to_num(age - 30) - 1
    return pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Survived": (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int),
            "Pclass": deck,
            "Name": [f"Smith, Mr. John {i}" for i in range(n)],
            "Sex": sex,
            "Age": age,
            "Fare": rng.exponential(30, n).round(2),
            "Cabin": np.where(deck == 1, cabins, None),
            "Embarked": rng.choice(["S", "C", "Q", None], n, p=[0.7, 0.2, 0.08, 0.02]),
            "Boarded": [f"1912-04-{day:02d}" for day in rng.integers(1, 28, n)],
            "zip": [f"{number:05d}" for number in rng.integers(500, 99999, n)],
            "ship": "Titanic",
        }
    )


def test_a_table_like_that_of_the_titanic(passengers, tmp_path, capsys):
    file = tmp_path / "titanic.csv"
    passengers.to_csv(file, index=False)
    base = ("--target", "Survived", "--scoring", "roc_auc,accuracy")
    found, page, out, told = through(
        capsys, tmp_path, file, *base, predict=("--proba", "--explain", "3")
    )
    assert found["missing"]["columns"].keys() == {"Age", "Embarked"}
    assert found["left_out"].keys() == {"Name", "Cabin", "ship"}
    assert found["kinds"]["Boarded"] == "date"
    assert [score["name"] for score in found["scores"]] == ["roc_auc", "accuracy"]
    assert found["scores"][0]["mean"] > 0.75
    assert found["baseline"]["learnt"]
    assert "titanic.csv" in page
    assert out["reason 3"].str.contains("Boarded weekday = ").any()
    assert list(out.columns) == ["Survived", "0", "1", "reason 1", "reason 2", "reason 3"]
    assert out["reason 1"].str.match(r"(Sex|Pclass|Age) = \w+.*: [+-]\d").mean() > 0.8
    assert "not seen" not in told
    assert "lacks" not in told
    sentences = " ".join(found["warnings"])
    for sentence in (
        "Column 'Name' is left out: 500 different values",
        "--text 'Name' makes numbers of its words",
        "Column 'ship' is left out: one value only.",
        "Column 'zip' is used as a quantity, and may be a code",
        "leave it out with --drop 'PassengerId'",
    ):
        assert sentence in sentences
    asked = ("--drop", "PassengerId,ship", "--drop", "zip", "--category", "Cabin", "--text", "Name")
    quiet, _, _, _ = through(capsys, tmp_path, file, *base, *asked)
    assert quiet["warnings"] == []
    assert quiet["left_out"] == {}
    assert quiet["kinds"]["Cabin"] == "category"
    assert quiet["kinds"]["Name"] == "words"
    main(["tune", str(file), *base, *asked, "-v"])
    shown = capsys.readouterr().out
    assert re.search(r"missing +Cabin \d+, Age \d+, Embarked \d+ \(numbers become the mean", shown)
    assert re.search(r"columns +number: 3, words: 1, category: 3, date: 1", shown)


def test_a_semicolon_table_in_latin_1_with_decimal_commas(tmp_path, capsys):
    rng = np.random.default_rng(1)
    n = 300
    size = rng.normal(170, 10, n).round(1)
    place = rng.choice(["Köln", "München", "Zürich"], n)
    days = pd.Series(pd.to_datetime("2019-01-01") + pd.to_timedelta(np.arange(n) * 3, unit="D"))
    price = 1000 + 5 * (size - 170) + 30 * (place == "Köln") + rng.normal(0, 5, n)
    german = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in price]
    frame = pd.DataFrame({"Größe": size, "Ort": place, "Tag": days.dt.strftime("%d.%m.%Y")})
    frame["Preis"] = german
    file = tmp_path / "preise.csv"
    frame.to_csv(file, sep=";", decimal=",", encoding="latin-1", index=False)
    found, page, out, told = through(
        capsys, tmp_path, file, "--target", "Preis", predict=("--explain", "2")
    )
    assert found["read_as"] == (
        "Windows-1252, as most Latin-1 is, separated by semicolons, with decimal commas"
    )
    assert found["model"] == "ridge"
    assert found["kinds"] == {"Größe": "number", "Ort": "category", "Tag": "date"}
    assert found["score"]["mean"] > 0.95
    assert "Preis" in page
    np.testing.assert_allclose(out["Preis"], price, atol=30)
    assert out["reason 1"].str.startswith("Größe = ").mean() > 0.7
    assert "R² 0.9" in told
    asked = ("--sep", ";", "--decimal", ",", "--encoding", "latin-1")
    assert tuned(capsys, file, "--target", "Preis", *asked)["lam"] == found["lam"]
    assert "not utf-8 text" in failure(capsys, "tune", file, "--encoding", "utf-8")
    assert "--encoding utf-9: it is not known" in failure(
        capsys, "tune", file, "--encoding", "utf-9"
    )
    assert "single column" in failure(capsys, "tune", file, "--sep", "|")


@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_parquet_of_many_rows(n, tmp_path, capsys):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(n, 8)), columns=list("abcdefgh"))
    frame["shop"] = pd.Categorical(rng.choice(["north", "south", "west"], n))
    frame["when"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 900 * 24, n), unit="h"
    )
    frame["member"] = pd.array(rng.random(n) < 0.5, dtype="boolean")
    frame.loc[::7, "member"] = pd.NA
    frame.loc[::5, "a"] = np.nan
    frame["sales"] = frame["b"] + (frame["shop"] == "west") + rng.normal(size=n)
    file = tmp_path / "sales.parquet"
    frame.to_parquet(file)
    start = time.process_time()
    found, _, out, told = through(capsys, tmp_path, file, "--target", "sales")
    assert time.process_time() - start < 5 + n / 10_000  # about 3 s on one core for 100 000
    assert found["rows"] == len(out) == n
    assert found["missing"]["columns"] == {"a": n // 5, "member": -(-n // 7)}
    assert found["features"] == 8 + 1 + 1 + 2 + 3 + 12 + 7 + 24
    assert found["baseline"]["learnt"]
    assert "R² 0.5" in told


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_target_of_noise_is_no_success(kind, tmp_path, capsys):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 12)), columns=[f"x{j}" for j in range(12)])
    frame["y"] = rng.choice(["a", "b"], 300) if kind == "classes" else rng.normal(size=300)
    file = tmp_path / "noise.csv"
    frame.to_csv(file, index=False)
    found, page, _, _ = through(capsys, tmp_path, file, "--target", "y")
    baseline = found["baseline"]
    assert not baseline["learnt"]
    assert baseline["sentence"].startswith("Held-out rows do not show that the model is better ")
    assert "it is no proof that the columns say nothing" in baseline["sentence"]
    assert "Held-out rows do not show" in page
    main(["tune", str(file), "--target", "y"])
    assert capsys.readouterr().out.startswith(baseline["sentence"])


def test_many_penalties_that_fit_the_folds_of_noise_are_no_success(tmp_path, capsys):
    file, learnt, doubted = tmp_path / "noise.csv", 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(150, 10)), columns=[f"x{j}" for j in range(10)])
        frame.assign(y=rng.normal(size=150)).to_csv(file, index=False)
        found = tuned(capsys, file, "--target", "y", "--penalties", "per-feature", "--starts", 1)
        baseline = found["baseline"]
        learnt += baseline["learnt"]
        if baseline["gain"] > 2 * baseline["standard_error"] and not baseline["learnt"]:
            doubted += 1
            assert baseline["sentence"].startswith("Held-out rows do not show ")
            assert "gain on noise, too" in baseline["sentence"]
    assert learnt <= 1  # one of 40 is to be expected
    assert doubted >= 2
    found = tuned(capsys, "diabetes", "--penalties", "per-feature", "--starts", 1)
    one = tuned(capsys, "diabetes")["baseline"]
    assert found["baseline"]["learnt"]
    assert found["baseline"]["one_for_all"]["gain"] == pytest.approx(one["gain"], rel=1e-6)
    assert found["baseline"]["gain"] > one["gain"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("iris",), "the shares of the classes"),
        (("iris", "--criterion", "brier"), "the shares of the classes"),
        (("breast_cancer", "--criterion", "brier", "--cv", "3"), "the shares of the classes"),
        (("diabetes",), "the mean of the target"),
        (("diabetes", "--criterion", "huber"), "the mean of the target"),
        (("diabetes", "--cv", "loo"), "the mean of the target"),
        (("diabetes", "--target", "target", "--target", "bmi"), "the mean of the target"),
        (("diabetes", "--weights", "age"), "the mean of the target"),
    ],
)
def test_the_folds_average_to_the_criterion_and_an_endless_penalty_to_the_baseline(
    options, what, tmp_path, capsys, monkeypatch
):
    if "--weights" in options:
        frame = load_diabetes(as_frame=True).frame
        frame["age"] = np.linspace(0.5, 2, len(frame))
        frame.to_csv(tmp_path / "d.csv", index=False)
        options = (tmp_path / "d.csv", "--target", "target", *options[1:])
    found = tuned(capsys, *options)
    baseline = found["baseline"]
    assert baseline["what"] == what
    assert baseline["loss"] - baseline["gain"] == pytest.approx(found["held_out_loss"], rel=1e-3)
    if found["cv"] != "loo":
        gains = np.subtract(baseline["folds"], found["held_out_losses"])
        assert baseline["gains"] == pytest.approx(gains)
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        assert baseline["standard_error"] == pytest.approx(error)
    nothing = tuned(capsys, *options, "--bounds", 40, 40)
    assert nothing["baseline"]["gain"] == pytest.approx(0, abs=1e-4 * baseline["loss"])
    assert not nothing["baseline"]["learnt"]


@pytest.fixture
def shops():
    rng = np.random.default_rng(4)
    n = 90
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "open": rng.random(n) < 0.4,
            "town": rng.choice(["x", "y", "z"], n),
        }
    )
    frame["sold"] = 3 * frame["a"] + (frame["town"] == "x") + frame["open"] + rng.normal(size=n) / 9
    return frame


def test_missing_values_are_the_mean_with_an_indicator(shops, tmp_path, capsys):
    file, model, new, out = (tmp_path / name for name in ("s.csv", "m.skops", "n.csv", "o.csv"))
    holed = shops.assign(open=shops["open"].astype(object), town=shops["town"].astype(object))
    holed.loc[::4, "a"], holed.loc[::5, "town"], holed.loc[::6, "open"] = np.nan, np.nan, np.nan
    holed.to_csv(file, index=False)
    found = tuned(capsys, file, "--target", "sold", "--save", model)
    assert found["features"] == 2 + 1 + 2 + 4  # a, b; open; a and open missing; x, y, z, missing
    pipeline = sio.load(model, trusted=[])
    made = pipeline[0].transform(holed.drop(columns="sold").astype({"open": float}))
    a = holed["a"]
    np.testing.assert_allclose(made[:, 0], ((a - a.mean()) / a.std(ddof=0)).fillna(0), atol=1e-12)
    np.testing.assert_array_equal(made[::6, 2], 0)  # shops are closed more often
    np.testing.assert_array_equal(made[:, 3], a.isna())
    np.testing.assert_array_equal(made[:, 8], holed["town"].isna())
    # b lacked nothing when the model was tuned; where it is the mean, the prediction is the same.
    holed.assign(b=np.nan).drop(columns="sold").to_csv(new, index=False)
    assert main(["predict", str(model), str(new), "--out", str(out)]) == 0
    assert "Column 'b' lacks 90 values, and lacked none" in capsys.readouterr().err
    at_mean = predicted(out)
    holed.assign(b=holed["b"].mean()).to_csv(new, index=False)
    main(["predict", str(model), str(new), "--out", str(out)])
    np.testing.assert_allclose(at_mean["sold"], predicted(out)["sold"])


def test_rows_with_missing_values_can_be_dropped(shops, tmp_path, capsys):
    file, whole = tmp_path / "s.csv", tmp_path / "whole.csv"
    holed = shops.copy()
    holed.loc[::4, "a"], holed.loc[:10, "sold"] = np.nan, np.nan
    holed.to_csv(file, index=False)
    holed.dropna().to_csv(whole, index=False)
    found = tuned(capsys, file, "--target", "sold", "--missing", "drop")
    assert found["lam"] == tuned(capsys, whole, "--target", "sold")["lam"]
    assert found["missing"]["rows_left_out"] == len(holed) - len(holed.dropna())
    assert "11 of 90 rows have no target and are left out" in found["warnings"][0]
    holed.assign(a=np.nan).to_csv(file, index=False)
    assert tuned(capsys, file, "--target", "sold", "--missing", "drop")["left_out"].keys() == {"a"}


def test_contributions_add_up_to_what_differs_from_the_mean(shops, tmp_path, capsys):
    file, model = tmp_path / "s.csv", tmp_path / "m.skops"
    shops.loc[::4, "a"] = np.nan
    shops["kind"] = np.where(shops["sold"] > 0, "good", "bad")
    shops.to_csv(file, index=False)
    tuned(capsys, file, "--target", "sold", "--drop", "kind", "--save", model)
    assert main(["predict", str(model), str(file), "--explain", "99", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    sums = [sum(part["contribution"] for part in row) for row in found["contributions"]]
    made = np.array(found["predictions"])
    np.testing.assert_allclose(sums, made - made.mean(), atol=1e-9)
    sizes = [[abs(part["contribution"]) for part in row] for row in found["contributions"]]
    assert all(row == sorted(row, reverse=True) for row in sizes)
    first = {part["column"]: part["value"] for part in found["contributions"][1]}
    assert first["a"] == pytest.approx(shops["a"][1])
    assert first["town"] == shops["town"][1]
    assert {part["column"]: part["value"] for part in found["contributions"][0]}["a"] == "missing"
    tuned(capsys, file, "--target", "kind", "--drop", "sold", "--save", model)
    main(["predict", str(model), str(file), "--explain", "99", "--json"])
    found = json.loads(capsys.readouterr().out)
    sums = np.array([sum(part["contribution"] for part in row) for row in found["contributions"]])
    odds = np.log([max(p) / min(p) for p in found["probabilities"]])  # for the class predicted
    signs = np.where(np.array(found["predictions"]) == "good", 1, -1)
    assert np.ptp(signs * (odds - sums)) < 1e-6
    tuned(capsys, "diabetes", "--model", "kernel-ridge", "--max-iter", 1, "--save", model)
    assert "for linear models" in failure(capsys, "predict", model, "diabetes", "--explain", "2")


def test_words_of_a_text_become_numbers(tmp_path, capsys):
    rng = np.random.default_rng(5)
    words = ["good", "bad", "cheap", "dear", "room", "bed", "food"]
    reviews = [" ".join(rng.choice(words, 6)) for _ in range(200)]
    frame = pd.DataFrame({"review": reviews, "stars": ["good" in text for text in reviews]})
    frame.loc[3, "review"] = None
    file, model = tmp_path / "r.csv", tmp_path / "m.skops"
    frame.to_csv(file, index=False)
    found = tuned(capsys, file, "--target", "stars", "--text", "review", "--save", model)
    assert found["features"] == 7
    assert found["score"]["mean"] > 0.9
    main(["predict", str(model), str(file), "--explain", "1"])
    out = capsys.readouterr().out
    assert out.count("review: good: ") > 190
    frame.assign(review="a b").to_csv(file, index=False)
    told = failure(capsys, "tune", file, "--target", "stars", "--text", "review")
    assert "the column has none of two letters or more" in told


def test_dates_become_days_and_their_parts(tmp_path, capsys):
    n = 800
    days = pd.Series(pd.date_range("2020-01-01", periods=n, freq="D"))
    sold = 5.0 * (days.dt.day_of_week == 5) + 0.01 * np.arange(n)
    sold += np.random.default_rng(6).normal(size=n) / 10
    file, model = tmp_path / "d.csv", tmp_path / "m.skops"
    scores = {}
    for style in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ"):
        frame = pd.DataFrame({"day": days.dt.strftime(style), "sold": sold})
        frame.to_csv(file, index=False)
        found = tuned(capsys, file, "--target", "sold", "--save", model)
        assert found["features"] == 1 + 12 + 7
        assert found["warnings"] == []
        scores[style] = found["score"]["mean"]
    assert min(scores.values()) == pytest.approx(max(scores.values()), abs=1e-9)
    assert min(scores.values()) > 0.98
    frame.head(5).assign(day="soon").to_csv(file, index=False)
    assert "held dates when the model was tuned; here is 'soon'" in failure(
        capsys, "predict", model, file
    )
    few = pd.DataFrame({"day": ["03/04/2020", "05/06/2020", None] * 20, "sold": sold[:60]})
    few.to_csv(file, index=False)
    (told,) = tuned(capsys, file, "--target", "sold")["warnings"]
    assert "'day' has dates such as 03/04/2020, which are read as month before day" in told


def test_numbers_as_categories_are_the_same_in_every_file(tmp_path, capsys):
    codes = np.tile([1.0, 2.0, np.nan, 30.0], 20)
    frame = pd.DataFrame({"code": codes, "y": np.nan_to_num(codes, nan=7.0) % 5 + 0.5})
    frame["y"] += np.random.default_rng(7).normal(size=80) / 100
    file, model, out = tmp_path / "c.parquet", tmp_path / "m.skops", tmp_path / "o.csv"
    frame.to_parquet(file)
    tuned(capsys, file, "--target", "y", "--category", "code", "--save", model)
    frame.dropna().astype({"code": int}).to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(model), str(tmp_path / "new.csv"), "--out", str(out)]) == 0
    assert "not seen" not in capsys.readouterr().err
    np.testing.assert_allclose(predicted(out)["y"], frame.dropna()["y"], atol=0.2)


def test_a_word_for_missing_values(shops, tmp_path, capsys):
    file, model = tmp_path / "s.csv", tmp_path / "m.skops"
    shops["a"] = shops["a"].round(3).astype(str)
    shops.loc[3::9, "a"] = "?"
    shops.to_csv(file, index=False)
    assert "row 4 below the header has '?'. Correct it, or use --na '?'" in failure(
        capsys, "tune", file, "--target", "sold"
    )
    found = tuned(capsys, file, "--target", "sold", "--na", "?", "--save", model)
    assert found["missing"]["columns"] == {"a": 10}
    assert main(["predict", str(model), str(file), "--na", "?"]) == 0


def test_types_of_parquet_files(shops, tmp_path, capsys):
    file, model, n = tmp_path / "s.parquet", tmp_path / "m.skops", len(shops)
    shops["cents"] = [decimal.Decimal(k % 7) / 4 for k in range(n)]
    shops["day"] = [datetime.date(2020, 1, 1 + k % 9) for k in range(n)]
    shops["hour"] = pd.date_range("2021-01-01", periods=n, freq="h", tz="Europe/Berlin")
    shops["whole"] = pd.array([k % 5 or None for k in range(n)], dtype="Int64")
    shops["took"] = pd.to_timedelta(np.arange(n) % 11, unit="h")
    shops["group"] = pd.Categorical(np.array(["x", "y", "z"])[np.arange(n) % 3])
    shops.to_parquet(file)
    found = tuned(capsys, file, "--target", "sold", "--save", model)
    kinds = ("number", "number", "flag", "category", "number", "date", "date", "number", "number")
    assert tuple(found["kinds"].values()) == (*kinds, "category")
    assert found["missing"]["columns"] == {"whole": 18}
    assert main(["predict", str(model), str(file), "--explain", "99"]) == 0
    assert "whole = missing: " in capsys.readouterr().out


def test_progress_has_a_total_on_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    page = str(tmp_path / "page.html")
    assert main(["tune", "diabetes", "--report", page]) == 0
    lines = capsys.readouterr().err.split("\r\033[K")
    assert [re.match(r"\[(\d of \d), \d s\] (\w+)", line).groups() for line in lines if line] == [
        ("1 of 4", "reading"),
        *[("2 of 4", "tuning")] * sum("tuning" in line for line in lines),
        ("3 of 4", "comparing"),
        ("4 of 4", "writing"),
    ]
    assert any("step 1 of ≤ 100, held-out loss" in line for line in lines)
    assert lines[-1] == ""
    assert main(["tune", "diabetes", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_grouped_digits_are_numbers(tmp_path, capsys):
    rng = np.random.default_rng(8)
    size = rng.integers(500, 3_000_000, 100)
    frame = pd.DataFrame({"people": [f"{number:,}" for number in size], "tax": size * 2.5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = tuned(capsys, tmp_path / "t.csv", "--target", "tax")
    assert found["kinds"] == {"people": "number"}
    assert found["score"]["mean"] > 0.99


def test_a_score_that_cannot_be_computed_is_told(tmp_path, capsys):
    frame = pd.DataFrame({"a": np.arange(40.0), "y": ["no", "yes"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = tuned(capsys, tmp_path / "t.csv", "--target", "y", "--scoring", "f1,accuracy")
    assert found["score"]["mean"] is None
    assert found["scores"][1]["mean"] >= 0
    assert any("--scoring f1 cannot be computed here" in told for told in found["warnings"])


def test_a_pickle_name_is_said_to_be_skops(tmp_path, capsys):
    assert main(["tune", "iris", "-q", "--save", str(tmp_path / "m.pkl")]) == 0
    assert "m.pkl is in the format of skops" in capsys.readouterr().err


def test_the_warnings_of_a_fit_are_told(tmp_path, capsys):
    X = np.random.default_rng(9).normal(size=(60, 3)) * [1, 1, 1e-9]
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=np.sign(X[:, 0]).astype(int))
    frame.to_csv(tmp_path / "t.csv", index=False)
    told = tuned(capsys, tmp_path / "t.csv", "--target", "y", "--no-scale")["warnings"]
    with pytest.warns(UserWarning, match="column 2") as caught:
        LogisticRegressionCV().fit(X, frame["y"])
    assert str(caught[0].message) in told


def test_an_error_names_the_row_of_the_file(capsys, tmp_path):
    rows = ["t,a", ",1", ",2", *(f"{k % 2}.5,{k}" for k in range(30))]
    rows[9] = "1.5,oops"  # the ninth below the header, after two without a target
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(rows) + "\n")
    assert "row 9 below the header has 'oops'" in failure(capsys, "tune", file, "--target", "t")
