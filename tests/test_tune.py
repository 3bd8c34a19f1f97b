"""The commands tune and predict: what is saved predicts what was tuned, and mistakes are told."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pytest
from quick import quick
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import scale

from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV
from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag.cli import NOT_CONVERGED, Progress, main, table

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io")
pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


ILL = ("--target", "ill", "--drop", "id", "--drop", "cost")


@pytest.fixture
def patients():
    """Numbers, text and flags; a class, a quantity, an id."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "dose": rng.exponential(30, n).round(2),
            "ward": rng.choice(["north", "south", "west"], n),
            "smokes": rng.random(n) < 0.5,
        }
    )
    z = 0.1 * (frame["age"] - 50) + 2.0 * (frame["ward"] == "west") - frame["smokes"]
    frame["ill"] = np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    frame["cost"] = 100 + 20 * z + rng.normal(size=n)
    frame["id"] = [f"p{i}" for i in range(n)]
    return frame


def by_hand(frame):
    """The columns as tune makes them: numbers standardised, then flags, then categories."""
    wards = [frame["ward"] == name for name in ("north", "south", "west")]
    numbers = scale(frame[["age", "dose"]].to_numpy(float))
    return np.column_stack([numbers, frame["smokes"], *wards]).astype(float)


def predicted(path):
    return pd.read_csv(path)


def tuned(capsys, *arguments):
    """The JSON of a tune."""
    code = main(["tune", *map(str, arguments), "--json"])
    out = capsys.readouterr().out
    assert code in (0, NOT_CONVERGED)
    return json.loads(out)


def failure(capsys, *arguments):
    """The one line that an error is told in."""
    assert main([str(argument) for argument in arguments]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("hoag: error: ")
    assert told.err.count("\n") == 1
    return told.err


def test_logistic_with_text_columns_there_and_back(patients, tmp_path, capsys):
    file, model, out = tmp_path / "p.csv", tmp_path / "m.skops", tmp_path / "out.csv"
    patients.to_csv(file, index=False)
    found = tuned(capsys, file, *ILL, "--save", model)
    expected = LogisticRegressionCV(cv=StratifiedKFold(5, shuffle=True, random_state=0))
    expected.fit(by_hand(patients), patients["ill"])
    assert found["lam"] == pytest.approx(expected.lam_.tolist(), abs=1e-3)
    assert found["held_out_loss"] == pytest.approx(expected.criterion_, rel=1e-6)
    assert main(["predict", str(model), str(file), "--proba", "--out", str(out)]) == 0
    chances = predicted(out)
    assert list(chances.columns) == ["no", "yes"]
    np.testing.assert_allclose(chances, expected.predict_proba(by_hand(patients)), atol=1e-4)
    accuracy = expected.score(by_hand(patients), patients["ill"])
    assert f"accuracy {accuracy:.4g}, log loss" in capsys.readouterr().err


def test_the_saved_file_is_a_plain_pipeline_for_everybody(patients, tmp_path, capsys):
    file, model = tmp_path / "p.parquet", tmp_path / "m.skops"
    patients.to_parquet(file)
    tuned(capsys, file, *ILL, "--save", model)
    assert sio.get_untrusted_types(file=model) == []
    pipeline = sio.load(model, trusted=[])
    assert type(pipeline) is Pipeline
    assert type(pipeline[-1]) is LogisticRegression
    capsys.readouterr()
    assert main(["predict", str(model), str(file)]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    own = patients[["age", "dose", "ward", "smokes"]]
    assert printed["ill"].tolist() == pipeline.predict(own).tolist()
    assert set(printed["ill"]) == {"yes", "no"}


@pytest.mark.parametrize("cv", ["4", "loo"])
def test_ridge_there_and_back(cv, tmp_path, capsys):
    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    found = tuned(capsys, "diabetes", "--cv", cv, "--seed", 3, "--save", model)
    X, y = load_diabetes(return_X_y=True)
    splits = None if cv == "loo" else KFold(4, shuffle=True, random_state=3)
    expected = RidgeCV(cv=splits, scoring="r2").fit(scale(X), y)
    assert found["model"] == "ridge"
    assert "214 distinct" in found["why"]
    assert found["alpha"] == pytest.approx(expected.alpha_, rel=1e-3)
    assert found["score"]["mean"] == pytest.approx(expected.scores_["r2"].mean(), abs=1e-4)
    assert type(sio.load(model, trusted=[])[-1]) is Ridge
    main(["predict", str(model), "diabetes", "--out", str(out)])
    np.testing.assert_allclose(predicted(out)["target"], expected.predict(scale(X)), rtol=1e-4)
    assert f"R² {expected.score(scale(X), y):.3g}"[:6] in capsys.readouterr().err


@pytest.mark.parametrize("widths", quick(["shared", "per-feature"], ["shared"]))
def test_kernel_ridge_has_an_intercept(widths, patients, tmp_path, capsys):
    file, model, out = tmp_path / "p.tsv", tmp_path / "m.skops", tmp_path / "out.csv"
    patients = patients.head(60)
    patients.to_csv(file, index=False, sep="\t")
    options = "--target cost --drop id --drop ill --model kernel-ridge --cv 3 --max-iter 5"
    found = tuned(capsys, file, *options.split(), "--widths", widths, "--save", model)
    X, y = by_hand(patients), patients["cost"].to_numpy()
    splits = KFold(3, shuffle=True, random_state=0)
    expected = KernelRidgeCV(cv=splits, widths=widths, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five steps may be enough or not
        expected.fit(X, y)
    assert found["lam"] == pytest.approx(expected.lam_.tolist(), abs=1e-3)
    assert found["names"][-1] == "log α"
    assert len(found["names"]) == (2 if widths == "shared" else 7)
    assert sio.get_untrusted_types(file=model) == []
    main(["predict", str(model), str(file), "--out", str(out)])
    np.testing.assert_allclose(predicted(out)["cost"], expected.predict(X), rtol=1e-3)


@pytest.mark.parametrize(
    ("suffix", "opened"), [(".svm", open), (".svm.gz", gzip.open), (".txt.xz", lzma.open)]
)
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_there_and_back(suffix, opened, zero_based, tmp_path, capsys):
    X, y = load_iris(return_X_y=True)
    file, model, out = tmp_path / f"iris{suffix}", tmp_path / "m.skops", tmp_path / "out.csv"
    with opened(file, "wb") as stream:
        dump_svmlight_file(X, y, stream, zero_based=zero_based)
    found = tuned(capsys, file, "--save", model)
    expected = LogisticRegressionCV(cv=StratifiedKFold(5, shuffle=True, random_state=0))
    expected.fit(X, y)
    assert found["columns"] == 4
    assert found["lam"] == pytest.approx(expected.lam_.tolist(), abs=0.05)
    narrow = tmp_path / "narrow.svm"  # neither the first nor the last feature occurs
    Z = X * [0, 1, 1, 0]
    with open(narrow, "wb") as stream:
        dump_svmlight_file(Z, y, stream, zero_based=zero_based)
    plain = sio.load(model, trusted=[])
    for rows, path in ((X, file), (Z, narrow)):
        assert main(["predict", str(model), str(path), "--out", str(out)]) == 0
        assert predicted(out)["label"].tolist() == plain.predict(rows).tolist()
    wide = tmp_path / "wide.svm"
    with open(wide, "wb") as stream:
        dump_svmlight_file(np.hstack([X, X]), y, stream, zero_based=zero_based)
    capsys.readouterr()
    last = 3 if zero_based else 4
    assert f"knows {last - 3} to {last}" in failure(capsys, "predict", model, wide)
    assert "is none" in failure(capsys, "predict", model, "iris")


def test_several_targets(patients, tmp_path, capsys):
    file, model, out = tmp_path / "p.csv", tmp_path / "m.skops", tmp_path / "out.csv"
    patients.to_csv(file, index=False)
    options = "--target cost --target dose --drop id --drop ill --penalties per-target --save"
    found = tuned(capsys, file, *options.split(), model)
    assert found["names"] == ["cost", "dose"]
    assert len(found["lam"]) == 2
    main(["predict", str(model), str(file), "--out", str(out)])
    both = predicted(out)
    assert list(both.columns) == ["cost", "dose"]
    assert np.corrcoef(both["cost"], patients["cost"])[0, 1] > 0.9


@pytest.mark.parametrize("target", ["noise", "signal"])
def test_an_interval_that_is_not_known_is_no_nan(target, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, 0] + 0.1 * rng.normal(size=30) if target == "signal" else rng.normal(size=30)
    file = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv(file, index=False)
    main(["tune", str(file), "--target", "y", "--time-budget", "0.0001", "-v"])
    shown = capsys.readouterr().out
    assert "nan" not in shown
    assert re.search("λ interval +not known\n", shown)
    assert "lam_interval_" in shown  # that there was no time for it


def test_the_table_shows_what_the_json_holds(capsys):
    found = tuned(capsys, "iris", "--penalties", "per-class")
    assert main(["tune", "iris", "--penalties", "per-class", "--verbose"]) == 0
    shown = capsys.readouterr().out
    assert found["converged"] is True
    for value in (*found["lam"], found["score"]["mean"]):
        assert f"{value:.4g}" in shown
    spread = f"{found['held_out_loss']:.5g} ± {found['held_out_loss_error']:.2g}"
    assert f"{spread} per row, mean of 5 folds (shuffled, seed 0)" in shown
    assert (
        f"accuracy {found['score']['mean']:.4g} ± {found['score']['standard_error']:.2g}" in shown
    )
    for fact in (found["sentence"], found["why"], "150 × 4", "passes over the data"):
        assert fact in shown
    assert f"known to ± {found['gradient_error']:.1e}" in shown
    assert found["gradient_bound"] is None
    assert "at most" not in shown


def test_bounds_of_the_error_are_shown_where_there_are_any(capsys):
    arguments = ["breast_cancer", "--certificate", "bound"]
    measured = tuned(capsys, *arguments)
    assert main(["tune", *arguments, "-v"]) == 0
    shown = capsys.readouterr().out
    for number in (measured["gradient_error"], measured["gradient_bound"]):
        assert f"{number:.1e}" in shown
    arguments = ["iris", "--penalties", "per-class", "--certificate", "bound"]
    assert tuned(capsys, *arguments)["gradient_bound"] is None  # one of them is switched off


def test_many_penalties_are_shown_by_name(capsys):
    arguments = ["breast_cancer", "--penalties", "per-feature", "--max-iter", "3"]
    found = tuned(capsys, *arguments)
    assert main(["tune", *arguments, "-v"]) == NOT_CONVERGED
    told = capsys.readouterr()
    line = next(line for line in told.out.splitlines() if line.startswith("strongest"))
    strongest, value = line.split(None, 1)[1].split(",")[0].split(": ")
    lam = dict(zip(found["names"], found["lam"]))
    assert lam[strongest] == max(lam.values())
    assert value == f"{max(lam.values()):.4g}"
    assert len(found["names"]) == len(found["lam"]) == len(found["lam_interval"]) == 30


def test_penalties_on_a_plateau_are_told_in_words(tmp_path, capsys):
    page = tmp_path / "page.html"
    arguments = ["diabetes", "--penalties", "per-feature", "--report", str(page)]
    found = tuned(capsys, *arguments)
    off, free = (
        [name for name, own in zip(found["names"], found["plateaus"]) if own == word]
        for word in ("switched off", "free")
    )
    assert len(found["plateaus"]) == 10
    assert len(off) > 1
    assert len(free) > 1
    assert main(["tune", *arguments, "-v"]) == 0
    shown = capsys.readouterr().out
    assert f", {len(off)} switched off, {len(free)} free" in shown
    for word, own in (("switched off", off), ("free", free)):
        lam = dict(zip(found["names"], found["lam"]))
        ranked = ", ".join(sorted(own, key=lambda name: -lam[name]))
        assert re.search(rf"^{word} +{len(own)} of 10: {ranked}$", shown, re.MULTILINE)
    lam = dict(zip(found["names"], found["lam"]))
    assert f"{off[0]}: {lam[off[0]]:.4g} (switched off)" in shown
    assert page.read_text().count("<td>switched off</td>") == len(off) + 1
    assert tuned(capsys, "diabetes")["plateaus"] == [""]
    assert main(["tune", "diabetes", "-v"]) == 0
    assert "switched off" not in capsys.readouterr().out


def test_a_search_cut_short_is_told_and_written(tmp_path, capsys):
    model, page = tmp_path / "m.skops", tmp_path / "new" / "page.html"
    arguments = ["tune", "iris", "--penalties", "per-feature", "--max-iter", "1"]
    arguments += ["--save", str(model), "--report", str(page)]
    assert main([*arguments, "--quiet"]) == NOT_CONVERGED
    told = capsys.readouterr()
    assert told.out == ""
    assert re.fullmatch(
        "hoag: warning: The search stopped before it had converged, after 1 step, as many as "
        "--max-iter allows: raise that, or --tol.\n",
        told.err,
    )
    assert model.exists()
    assert page.exists()
    assert main([*arguments, "--json"]) == NOT_CONVERGED
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["converged"]) == ("max_iter", False)
    assert "as many as --max-iter allows" in found["warnings"][0]


def test_a_command_that_is_interrupted_goes_on_from_its_checkpoint(tmp_path, capsys, monkeypatch):
    path = tmp_path / "run.ckpt"
    command = (
        "tune",
        "diabetes",
        "--penalties",
        "per-feature",
        "--json",
        "--checkpoint",
        str(path),
    )

    read = []

    def told():
        found = json.loads(capsys.readouterr().out)
        read.append(f"read from the checkpoint '{path}'" in found["sentence"])
        return found["lam"], found["steps"]

    assert main(command[:-2]) == 0
    whole = told()
    step = Progress.step

    def interrupted(progress, text):
        if text.startswith("step 2 "):
            raise KeyboardInterrupt
        step(progress, text)

    monkeypatch.setattr(Progress, "step", interrupted)
    assert main(command) == NOT_CONVERGED
    caught = capsys.readouterr()
    assert json.loads(caught.out)["steps"] == 2
    assert f"The same again with --checkpoint {path} goes on from here" in caught.err
    monkeypatch.undo()
    for _ in range(2):  # to its end, and from it
        assert main(command) == 0
        assert told() == whole
    assert read == [False, False, True]
    assert main([*command, "--tol", "0.01"]) == 1
    assert "tol is 0.0001 there, 0.01 here" in capsys.readouterr().err


def test_json_has_null_for_what_is_not_finite(capsys):
    found = tuned(capsys, "diabetes", "--cv", "loo")
    assert found["gradient_bound"] is None
    assert found["seed"] is None


def test_the_page_is_one_file(tmp_path, capsys):
    page = tmp_path / "page.html"
    tuned(capsys, "wine", "--penalties", "per-feature", "--max-iter", "4", "--report", page)
    text = page.read_text()
    assert list(tmp_path.iterdir()) == [page]
    assert text.count("<svg ") == 7
    assert not re.search(r"https?:|file:|<link|<script|@import|url\((?!#)", text)
    assert str(tmp_path) not in text.replace(f"<td>{page}</td>", "")
    for word in ("malic_acid", "per-feature penalties", "scikit-learn", "log loss"):
        assert word in text


def test_options_reach_the_search(patients, tmp_path, capsys):
    file = tmp_path / "p.csv"
    patients["copies"] = np.tile([1.0, 0.0], 60)
    patients.to_csv(file, index=False)
    base = [file, *ILL]
    plain = tuned(capsys, *base, "--drop", "copies")
    weighted = tuned(capsys, *base, "--weights", "copies")
    assert weighted["features"] == plain["features"] == 6
    assert weighted["lam"] != plain["lam"]
    assert tuned(capsys, *base, "--no-scale", "--drop", "copies")["lam"] != plain["lam"]
    assert tuned(capsys, *base, "--drop", "copies", "--seed", 1)["lam"] != plain["lam"]
    brier = tuned(capsys, *base, "--drop", "copies", "--criterion", "brier", "--cv", 3)
    assert brier["criterion"] == "brier"
    assert len(brier["score"]["folds"]) == 3
    narrow = tuned(capsys, *base, "--drop", "copies", "--bounds", 3, 4)
    assert 3 <= narrow["lam"][0] <= 4
    each = [*base, "--drop", "copies", "--penalties", "per-feature", "--starts", 2]
    assert "2 starts ended in" in tuned(capsys, *each)["sentence"]
    (told,) = narrow["warnings"]
    assert re.search(r"= 3 is on its lower bound.* To look there, widen bounds\.$", told)


def test_columns_are_standardised_inside_folds(tmp_path, capsys):
    """Whatever scales they had before, those of a fold are its own."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X["rare"] = np.where(np.arange(len(y)) % 40 == 0, X["s5"] ** 4, 0.0)
    X.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    base = [tmp_path / "d.csv", "--target", "y", "--model", "ridge"]
    before, inside = (tuned(capsys, *base, *more) for more in ((), ("--standardize",)))
    raw = tuned(capsys, *base, "--standardize", "--no-scale")
    assert inside["lam"] == pytest.approx(raw["lam"], abs=1e-6)
    assert inside["held_out_loss"] == pytest.approx(raw["held_out_loss"], rel=1e-9)
    assert abs(inside["held_out_loss"] / before["held_out_loss"] - 1) > 1e-5


def test_csv_on_standard_input(patients, monkeypatch, capsys):
    content = patients.drop(columns="id").to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert tuned(capsys, "-", "--target", "ill")["rows"] == 120


@pytest.mark.parametrize(
    ("values", "model"),
    [
        ([1, 2, 3] * 10, "logistic"),
        ([0.0, 1.0] * 15, "logistic"),
        ([True, False] * 15, "logistic"),
        (["a", "b"] * 15, "logistic"),
        ([0.5, 1.5] * 15, "ridge"),
        (list(range(30)), "ridge"),
    ],
)
def test_the_model_follows_the_target(values, model, tmp_path, capsys):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.normal(size=30), "y": values}).to_csv(tmp_path / "t.csv", index=False)
    found = tuned(capsys, tmp_path / "t.csv", "--target", "y")
    assert found["model"] == model
    assert found["why"].startswith("the target ")


def test_classes_keep_their_type(tmp_path, capsys):
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40) >= 20, "z": ["1", "b"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for target, labels in (("y", {True, False}), ("z", {"1", "b"})):
        model = tmp_path / f"{target}.skops"
        drop = "z" if target == "y" else "y"
        tuned(capsys, tmp_path / "t.csv", "--target", target, "--drop", drop, "--save", model)
        capsys.readouterr()
        assert main(["predict", str(model), str(tmp_path / "t.csv"), "--json"]) == 0
        told = capsys.readouterr()
        found = json.loads(told.out)
        assert set(found["classes"]) == labels
        assert set(found["predictions"]) <= labels
        assert found["score"]["accuracy"] == pytest.approx(
            np.mean([a == b for a, b in zip(found["predictions"], frame[target], strict=True)])
        )


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("way", ["--no-blocks", "--blocks"])
def test_a_class_of_one_row_is_told_once(way, tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "y": ["no", "yes"] * 29 + ["no", "rare"]})
    table.to_csv(path := tmp_path / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as raw:
        found = tuned(capsys, path, "--target", "y", "--cv", "2", way)
    assert not raw
    assert sum("least populated class" in told for told in found["warnings"]) == 1


def test_a_category_that_reads_like_a_number_stays_text(tmp_path, capsys):
    frame = pd.DataFrame({"code": ["01", "02", "x", "y"] * 20, "y": [5.5, 1.5, 3.25, 4.0] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.skops"
    tuned(capsys, tmp_path / "t.csv", "--target", "y", "--model", "ridge", "--save", model)
    frame[frame["code"].isin(["01", "02"])].head(2).to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", str(model), str(tmp_path / "new.csv")]) == 0
    told = capsys.readouterr()
    assert "not seen" not in told.err
    got = pd.read_csv(io.StringIO(told.out))["y"].tolist()
    assert got == pytest.approx([5.5, 1.5], abs=0.2)


def test_predict_says_what_is_wrong_with_the_rows(patients, tmp_path, capsys):
    file, model, new = tmp_path / "p.csv", tmp_path / "m.skops", tmp_path / "new.csv"
    patients.to_csv(file, index=False)
    tuned(capsys, file, *ILL, "--save", model)
    rows = patients.head(6).drop(columns="ill")
    rows.drop(columns=["age", "ward"]).to_csv(new, index=False)
    assert "lacks 2 of the 4 columns" in (told := failure(capsys, "predict", model, new))
    assert "'age', 'ward'" in told
    rows.assign(age=[1, 2, "old", 3, 4, 5]).to_csv(new, index=False)
    assert "row 3 below the header has 'old'" in failure(capsys, "predict", model, new)
    rows.assign(dose=[1, np.inf, 2, 3, 4, 5]).to_csv(new, index=False)
    assert "not finite in 'dose'" in failure(capsys, "predict", model, new)
    tuned(capsys, file, *ILL, "--save", tmp_path / "whole.skops", "--missing", "error")
    rows.assign(dose=[1, None, None, 3, 4, 5]).to_csv(new, index=False)
    assert "'dose' (2)" in failure(capsys, "predict", tmp_path / "whole.skops", new)
    rows.assign(ward="moon").to_csv(new, index=False)
    assert main(["predict", str(model), str(new)]) == 0
    told = capsys.readouterr()
    assert "hoag: warning: Column 'ward' has values that the model has not seen: 'moon'" in told.err
    assert "accuracy" not in told.err
    assert len(told.out.splitlines()) == 7


def test_no_header_or_reason_is_a_formula_for_a_spreadsheet(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"=cmd()": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["kind"] = np.where(frame["=cmd()"] > 0, "@SUM(A1)", "-1")
    frame["n"] = np.where(frame["b"] > 0, 1, -1)
    file, model = tmp_path / "t.csv", tmp_path / "m.skops"
    frame.to_csv(file, index=False)
    for target, other, header in (("kind", "n", "kind,-1,'@SUM(A1)"), ("n", "kind", "n,-1,1")):
        tuned(capsys, file, "--target", target, "--save", model, "--drop", other)
        main(["predict", str(model), str(file), "--proba", "--explain", "1"])
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{header},reason 1"
        reasons = pd.read_csv(io.StringIO("\n".join(lines)))["reason 1"]
        assert set(reasons.str[:2]) <= {"'=", "b "}
        assert target == "n" or reasons.str.startswith("'=cmd() = ").any()
    assert main(["predict", str(model), str(file)]) == 0
    assert set(capsys.readouterr().out.split()[1:]) == {"-1", "1"}


def test_predicting_imports_no_torch(tmp_path):
    pytest.importorskip("torch")
    model = str(tmp_path / "m.skops")
    assert main(["tune", "iris", "-q", "--save", model]) == 0
    code = (
        "import sys, hoag.cli\n"
        f"hoag.cli.main(['predict', {model!r}, 'iris'])\n"
        "sys.exit(len({'torch', 'dask', 'matplotlib', 'hoag.gam'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_foreign_model_files_are_refused(tmp_path, capsys):
    file = tmp_path / "m.skops"
    sio.dump({"format": 1, "model": LogisticRegressionCV()}, file)
    told = failure(capsys, "predict", file, "iris")
    assert "not known to be safe" in told
    assert "LogisticRegressionCV" in told
    sio.dump(LogisticRegression(), file)
    assert "was not written by this version" in failure(capsys, "predict", file, "iris")
    file.write_bytes(b"PK no zip at all")
    assert "is not a model file" in failure(capsys, "predict", file, "iris")
    assert "There is no model file" in failure(capsys, "predict", tmp_path / "no.skops", "iris")
    main(["tune", "diabetes", "--save", str(file), "-q"])
    assert "--proba is for classes" in failure(capsys, "predict", file, "diabetes", "--proba")


WRONG_TABLES = {
    "only an id": ("n,y\n" + "".join(f"p{i},{i % 2}\n" for i in range(30)),
                   "Column 'n' is left out: 30 different values in 30 rows"),
    "no target": ("a,y\n1,\n2,\n3,\n", "is missing in every row"),
    "infinite": ("a,b,y\n1,2,0\ninf,3,1\n1,2,1\n", "not finite in 'a'"),
    "nearly numbers": ("a,y\n1,0\n?,1\n3,0\n4,1\n", "row 2 below the header has '?'"),
    "only row numbers": (",y\n0,1\n1,0\n2,1\n3,0\n", "as row numbers have"),
    "one class": ("a,y\n1,k\n2,k\n", "only one value"),
    "few rows": ("a,y\n1,k\n2,j\n3,k\n", "--cv 2 is the most"),
    "twice": ("a,y,y\n1,2,3\n2,3,4\n", "has the column 'y' more than once"),
    "a copy": ("a,b,y\n1,3,3\n2,1,1\n4,3,3\n5,1,1\n", "'b' is a copy of the target 'y'"),
    "ragged": ("a,y\n1,2\n1,2,3\n", "Expected 2 fields in line 3"),
    "longer rows": ("a,y\n1,2,3\n1,2,3\n", "more cells"),
    "empty": ("", "is empty"),
    "no rows": ("a,y\n", "has no rows"),
    "nothing left": ("y\n1\n2\n", "is left to predict"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_tables_that_cannot_be_used(case, tmp_path, capsys):
    content, told = WRONG_TABLES[case]
    (tmp_path / "t.csv").write_text(content)
    assert told in failure(capsys, "tune", tmp_path / "t.csv", "--target", "y")


def test_missing_values_are_an_error_when_asked(tmp_path, capsys):
    asked = ("--target", "y", "--missing", "error")
    for content, told in (
        ("a,b,y\n1,,0\n2,,1\n,3,0\n4,4,1\n", "'a' (1), 'b' (2): --missing impute"),
        ("a,y\n1,0\n2,\n3,1\n", "missing values in 'y' (1)"),
    ):
        (tmp_path / "t.csv").write_text(content)
        assert told in failure(capsys, "tune", tmp_path / "t.csv", *asked)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("irs", "Did you mean 'iris'?"),
        ("nothing.csv", "breast_cancer, diabetes, digits, iris, wine"),
        ("iris --target speces", "no column 'speces'"),
        ("iris --target 'sepal lenght (cm)'", "Did you mean 'sepal length (cm)'"),
        ("iris --drop size", "which --drop asks for"),
        ("iris --cv loo", "--cv loo is for ridge"),
        ("iris --widths per-feature", "--widths is for kernel-ridge"),
        ("diabetes --model kernel-ridge --standardize", "--standardize is for linear models"),
        ("diabetes --model gam --standardize", "--standardize is for linear models"),
        ("iris --penalties per-target", "is for ridge; logistic has shared, per-feature"),
        (
            "diabetes --model kernel-ridge --penalties per-feature",
            "--penalties is for linear models",
        ),
        ("diabetes --criterion brier", "ridge has squared_error, huber"),
        ("diabetes --target bmi --model logistic", "that are not whole"),
        ("iris --bounds 3 1", "must not be above"),
        ("iris --criterion brier --cv gcv", "judges held-out rows: --cv gcv has none"),
        ("iris --target target --target target", "--target names 'target' twice"),
        ("iris --target target --drop target", "by --target and by --drop"),
        ("iris --scoring acuracy", "Did you mean 'accuracy'"),
        ("iris --scoring roc_auc", "roc_auc is for two classes, and there are 3"),
        ("iris --sep ;;", "give one character"),
        ("iris --sep , --decimal ,", "cells cannot be told apart"),
        ("iris --bounds -900 3", "they are logs of penalties"),
        ("iris --tol -1", "give a positive number"),
        ("iris --save .", "is a folder"),
        ("iris --starts 0", "give a whole number"),
        ("diabetes --model kernel-ridge --starts 2", "--starts is for linear models"),
    ],
)
def test_wrong_arguments(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert told in failure(capsys, "tune", *shlex.split(arguments))


def test_files_that_are_not_what_they_are_called(tmp_path, capsys):
    for name, content, told in (
        ("a.svm", b"1 1:2\nfoo 1:3\n", "line 2 starts with 'foo 1:3'"),
        ("a.csv.gz", b"no", "not a whole .gz file"),
        ("a.csv.xz", b"no", "not a whole .xz file"),
        ("a.parquet", b"no", "cannot be read as a Parquet file"),
        ("a.csv", b"a,y\n\0\1,1\n", "not a text file"),
        ("a.xlsx", b"no", ".parquet"),
    ):
        (tmp_path / name).write_bytes(content)
        line = failure(capsys, "tune", tmp_path / name)
        assert told in line
        assert "could not convert" not in line


def test_a_csv_without_a_target_names_the_columns(patients, tmp_path, capsys):
    patients.to_csv(tmp_path / "p.csv", index=False)
    assert "'age', 'dose', 'ward'" in failure(capsys, "tune", tmp_path / "p.csv")


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert "skops" in (told := failure(capsys, "tune", "iris", "--save", "m.skops"))
    assert "pip install 'hoag[cli]'" in told


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InvalidParameterError.of("tol", -1, "give a positive number."),
         "--tol -1: give a positive number."),
        (InvalidParameterError("The penalties are too many.", parameter="n_jobs", value=3),
         "--jobs 3: The penalties are too many."),
        (InvalidParameterError.of("max_iter", 0.5, "give a whole number."),
         "--max-iter 0.5: give a whole number."),
        (InvalidDataError("Column 'a' is odd.", parameter="dialect", hint="give na=[…]."),
         "Column 'a' is odd. --na names words for missing values, --drop leaves the column out."),
        (InvalidParameterError.of("alphas", 1, "give several."), "alphas=1: give several."),
    ],
)  # fmt: skip
def test_errors_of_parameters_are_told_of_options(error, line, monkeypatch, capsys):
    def fit(*given, **options):
        raise error

    monkeypatch.setattr(RidgeCV, "fit", fit)
    assert failure(capsys, "tune", "diabetes") == f"hoag: error: {line}\n"


@pytest.mark.parametrize("word", ["alo", "gcv", "aic", "bic", "reml"])
def test_criteria_without_folds_are_judged_by_folds_that_saw_nothing(word, capsys):
    found = tuned(capsys, "diabetes", "--cv", word)
    X, y = load_diabetes(return_X_y=True)
    expected = RidgeCV(cv=word).fit(scale(X), y)
    assert found["chosen_by"] == word
    assert found["lam"] == pytest.approx(expected.lam_.tolist(), abs=1e-6)
    if word == "alo":  # each row is left out once
        assert found["held_out_loss"] == pytest.approx(expected.criterion_)
        return
    losses = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fold = RidgeCV(cv=word).fit(scale(X)[train], y[train])
        losses.append(np.mean((y[test] - fold.predict(scale(X)[test])) ** 2))
    assert found["held_out_losses"] == pytest.approx(losses)


def test_rule_and_shrink_reach_the_estimator(capsys):
    X, y = load_diabetes(return_X_y=True)
    splits = KFold(5, shuffle=True, random_state=0)
    for options, own in (
        (["--rule", "1se"], {"rule": "1se"}),
        (["--shrink", "2.5"], {"penalties": "per-feature", "shrink": 2.5}),
        (["--shrink", "auto"], {"penalties": "per-feature", "shrink": "auto"}),
    ):
        more = ["--penalties", "per-feature"] if "penalties" in own else []
        expected = RidgeCV(cv=splits, **own).fit(scale(X), y)
        found = tuned(capsys, "diabetes", *options, *more)
        assert found["lam"] == pytest.approx(expected.lam_.tolist(), abs=0.02)


def test_the_answer_is_in_the_units_of_the_target(capsys):
    found = tuned(capsys, "diabetes")
    X, y = load_diabetes(return_X_y=True)
    off = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fold = Ridge(found["alpha"]).fit(scale(X)[train], y[train])
        off.append(y[test] - fold.predict(scale(X)[test]))
    off = np.concatenate(off)
    assert found["error"]["rmse"] == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-6)
    assert found["error"]["mae"] == pytest.approx(np.mean(np.abs(off)), rel=1e-6)
    assert main(["tune", "diabetes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The model explains 49 % of the variance (R² 0.4896 ± 0.046 on held")
    assert "a constant explains 0 %" in lines[0]
    assert "off by 54.54 (root mean square) or 44.27 (mean), in units of 'target'" in lines[1]
    assert re.match(r"Penalty: alpha = 2.001, chosen by 5 folds; from 1.22 to 3.26 the", lines[2])
    assert len(lines) == 4


def test_a_traceback_only_when_asked_for(capsys):
    assert main(["tune", "irs", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["--help"], ["tune", "--help"], ["predict", "--help"]])
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys, hoag.cli\n"
        f"try: hoag.cli.main({command!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'sklearn', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(1 if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "usage: hoag" in done.stdout


def test_text_tables_are_aligned():
    lines = table(("name", "rows"), [("a", 5), ("long name", 1200)]).splitlines()
    assert lines == ["name       rows", "---------  ----", "a             5", "long name  1200"]
    assert table((), [("a", "b")]) == "a  b"


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path, capsys):
    target, link, pipe = tmp_path / "kept.html", tmp_path / "link.html", tmp_path / "pipe"
    target.write_text("before")
    link.symlink_to(target)
    os.mkfifo(pipe)
    assert main(["tune", "iris", "--report", str(link)]) == 0
    assert link.is_symlink()
    assert "<html" in target.read_text()
    assert main(["tune", "iris", "--report", str(pipe)]) == 1
    assert "is not a regular file" in capsys.readouterr().err
    assert pipe.is_fifo()
