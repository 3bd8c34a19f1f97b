"""`hoag tune` on files that are read in blocks: the same numbers, and refusals in sentences."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from hoag.cli import main, tables

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io")
pytest.importorskip("pyarrow")

N = 240


@pytest.fixture(scope="module")
def frame():
    """Numbers, categories and flags, some of them missing, and targets of all kinds."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N).astype(float),
            "dose": rng.exponential(30, N).round(2),
            "ward": rng.choice(["north", "south", "west"], N),
            "smokes": rng.random(N) < 0.5,
        }
    )
    z = 0.05 * (found["age"] - 50) + (found["ward"] == "west") - found["smokes"]
    found["ill"] = np.where(rng.random(N) < 1 / (1 + np.exp(-z)), "yes", "no")
    found["grade"] = np.digitize(z + rng.logistic(size=N), [-1, 1]).astype(float)
    found["cost"] = 100 + 20 * z + rng.normal(size=N)
    found["visits"] = rng.poisson(np.exp(0.3 * z))
    found["price"] = np.exp(0.2 * z) * rng.gamma(3.0, size=N)
    found.loc[::7, "age"] = np.nan
    found.loc[::11, "ward"] = None
    return found


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    frame.to_csv(folder / "p.csv", index=False)
    frame.to_csv(folder / "semicolons.csv.gz", index=False, sep=";", decimal=",")
    frame.to_parquet(folder / "p.parquet")
    return folder


TARGETS = ("ill", "grade", "cost", "visits", "price")


def for_target(target):
    return ("--target", target, "--drop", ",".join(name for name in TARGETS if name != target))


@pytest.fixture
def tune(capsys):
    def run(path, *options):
        code = main(["tune", str(path), "--json", *options])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out), err

    return run


def both(tune, path, *options):
    return (tune(path, *options, how)[0] for how in ("--blocks", "--no-blocks"))


def check_alike(blocks, whole):
    np.testing.assert_allclose(blocks["lam"], whole["lam"], rtol=1e-6, atol=1e-8)
    for name in ("held_out_loss", "held_out_losses", "held_out_loss_error", "lam_interval"):
        np.testing.assert_allclose(blocks[name], whole[name], rtol=1e-5, err_msg=name)
    for name in ("loss", "gain", "gains", "standard_error"):
        mine, others = blocks["baseline"][name], whole["baseline"][name]
        np.testing.assert_allclose(mine, others, rtol=1e-5, atol=1e-9, err_msg=name)
    for name in ("rows", "columns", "features", "names", "model", "kinds", "missing", "read_as"):
        assert blocks[name] == whole[name], name
    assert blocks["baseline"]["learnt"] == whole["baseline"]["learnt"]


@pytest.mark.parametrize(
    ("file", "target", "options"),
    [
        ("p.csv", "ill", ()),
        ("p.parquet", "ill", ("--criterion", "brier", "--no-scale")),
        ("semicolons.csv.gz", "cost", ()),
        ("p.csv", "cost", ("--standardize",)),
        ("p.parquet", "cost", ("--penalties", "per-feature")),
        ("p.csv", "visits", ("--model", "poisson")),
        ("p.parquet", "price", ("--model", "gamma")),
        ("p.parquet", "visits", ("--model", "tweedie", "--power", "1.2")),
        ("p.csv", "cost", ("--model", "huber")),
        ("p.csv", "cost", ("--model", "quantile", "--quantile", "0.7")),
        ("p.csv", "grade", ("--model", "svc", "--category", "smokes")),
        ("p.parquet", "grade", ("--model", "ordinal", "--cv", "3")),
    ],
)
def test_blocks_and_a_whole_file_have_the_same_numbers(tune, files, file, target, options):
    blocks, whole = both(tune, files / file, *for_target(target), *options)
    check_alike(blocks, whole)
    assert blocks["reads"] >= 1
    assert blocks["score"]["name"] == "d2"
    if "huber" in options:
        assert blocks["family"]["outliers"] == whole["family"]["outliers"] > 0


def test_svmlight(tune, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.5)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, (X[:, 0] + rng.normal(size=150) > 0) + 1, str(path), zero_based=False)
    blocks, whole = both(tune, path)
    check_alike(blocks, whole)
    save = str(tmp_path / "m.skops")
    tune(path, "--blocks", "--save", save)
    assert main(["predict", save, str(path)]) == 0


@pytest.mark.parametrize(
    ("target", "options"),
    [("ill", ()), ("grade", ("--model", "ordinal")), ("cost", ("--model", "huber"))],
)
def test_a_saved_model_predicts_alike(tune, files, frame, capsys, tmp_path, target, options):
    new = frame.drop(columns=target).head(20).copy()
    new.loc[0, "ward"], new.loc[1, "dose"], new.loc[2, "smokes"] = "east", np.nan, True
    new.to_csv(tmp_path / "new.csv", index=False)
    said = []
    for how in ("--blocks", "--no-blocks"):
        model = str(tmp_path / f"m{how}.skops")
        tune(files / "p.parquet", *for_target(target), how, *options, "--save", model)
        assert sio.get_untrusted_types(file=model) == []
        code = main(["predict", model, str(tmp_path / "new.csv"), "--json", "--explain", "2"])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert "'east'" in err
        assert "'dose' lacks 1 values" in err
        said.append(json.loads(out))
    mine, others = said
    if target == "cost":
        np.testing.assert_allclose(mine["predictions"], others["predictions"], rtol=1e-6)
    else:
        assert mine["predictions"] == others["predictions"]
        assert mine["classes"] == others["classes"]
        np.testing.assert_allclose(mine["probabilities"], others["probabilities"], rtol=1e-6)
    for mine_of, others_of in zip(mine["contributions"], others["contributions"], strict=True):
        assert str(mine_of)[:12] == str(others_of)[:12]


def test_weights(tune, files):
    found, _ = tune(files / "p.csv", *for_target("cost"), "--weights", "dose", "--blocks")
    whole, _ = tune(files / "p.csv", *for_target("cost"), "--weights", "dose", "--no-blocks")
    # Means and deviations are weighted in blocks, and not in scikit-learn's scaler.
    assert found["held_out_loss"] == pytest.approx(whole["held_out_loss"], rel=0.01)
    assert found["baseline"]["loss"] == pytest.approx(whole["baseline"]["loss"], rel=1e-9)


def test_the_switch_by_size(tune, files, monkeypatch):
    options = (*for_target("cost"), "--max-iter", "3")
    found, err = tune(files / "p.csv", *options)
    assert found["blocks"] is None
    assert "blocks" not in err
    monkeypatch.setattr(tables, "SHARE", 1e-12)
    found, err = tune(files / "p.csv", *options)
    cache = found["blocks"]
    assert cache["cache"].startswith(str(files / ".hoag-blocks"))
    assert cache["cache_bytes"] > 0
    assert "is read in blocks, for it would take about " in err
    assert f"its cache {cache['cache']} takes " in err
    assert err.count("\n") == 1
    assert tune(files / "p.csv", *options, "--no-blocks")[0]["blocks"] is None
    assert tune("diabetes", "--max-iter", "3")[0]["blocks"] is None
    monkeypatch.setattr(tables, "free", lambda: None)
    assert tune(files / "p.csv", *options)[0]["blocks"] is None


def test_the_cache_can_be_in_another_folder_and_quiet_says_nothing(tune, files, tmp_path):
    options = (*for_target("cost"), "--blocks", "--cache", str(tmp_path / "kept"), "--quiet")
    found, err = tune(files / "p.parquet", *options)
    assert found["blocks"]["cache"].startswith(str(tmp_path / "kept"))
    assert err == ""


def test_what_a_file_would_take(files, frame, tmp_path):
    path = files / "p.parquet"
    assert tables.needed(path, ".parquet", "") >= 8 * frame.size
    size = (files / "p.csv").stat().st_size
    assert tables.needed(files / "p.csv", ".csv", "") == 2 * size
    (tmp_path / "bad.parquet").write_bytes(b"none")
    assert tables.needed(tmp_path / "bad.parquet", ".parquet", "") == 4
    assert tables.free() is None or tables.free() > 1e6


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "kernel-ridge"),
        ("--model", "gam"),
        ("--model", "cox", "--event", "smokes"),
        ("--model", "ridge", "--cv", "loo"),
        ("--scoring", "r2"),
        ("--report", "page.html"),
        ("--missing", "drop"),
        ("--text", "ward"),
        ("--model", "poisson", "--exposure", "dose"),
        ("--model", "tweedie", "--power", "tuned"),
        ("--target", "price"),
    ],
)
def test_what_needs_rows_in_memory_is_refused(files, capsys, options):
    assert main(["tune", str(files / "p.csv"), "--target", "cost", "--blocks", *options]) == 1
    err = capsys.readouterr().err
    assert "all rows in memory" in err
    assert "--no-blocks" in err
    assert err.count("\n") == 1


def test_columns_that_are_of_no_use(tune, files, frame, tmp_path):
    more = frame[["age", "ward", "cost"]].copy()
    more["id"] = [f"p{i}" for i in range(N)]
    more["day"] = pd.date_range("2020-01-01", periods=N)
    more["one"] = 1.0
    more["zip"] = np.arange(N) % 50 + 10000
    for name in ("more.csv", "more.parquet"):
        getattr(more, f"to_{name[5:]}")(tmp_path / name, index=False)
        found, err = tune(tmp_path / name, "--target", "cost", "--blocks")
        assert set(found["left_out"]) == {"id", "day"}
        assert "'day' is left out: dates are not read in blocks" in err
        assert "'id' is left out: 240 different values" in err
        assert "'one' has one value only" in err
        assert "--category 'zip'" in err


def test_mistakes_are_told_in_options(files, frame, tmp_path, capsys):
    def error(path, *options):
        assert main(["tune", str(path), "--blocks", *options]) == 1
        return capsys.readouterr().err

    assert "Name it with --target; " in error(files / "p.csv")
    assert "has no column 'cst'" in error(files / "p.csv", "--target", "cst")
    assert "There is no file" in error(tmp_path / "p.csv", "--target", "cost")
    assert "--blocks is for files" in error("iris")
    assert "--missing impute fills them" in error(
        files / "p.csv", *for_target("cost"), "--missing", "error"
    )
    assert "The target 'age' is missing" in error(files / "p.csv", "--target", "age")
    frame.assign(again=frame["cost"]).to_csv(tmp_path / "copy.csv", index=False)
    assert "a copy of the target" in error(tmp_path / "copy.csv", "--target", "cost")
    ids = pd.DataFrame({"y": np.arange(30_000) % 7, "name": "same"})
    ids.loc[25_000:, "name"] = [f"n{i}" for i in range(5_000)]
    ids.to_parquet(tmp_path / "late.parquet")
    told = error(tmp_path / "late.parquet", "--target", "y")
    assert "'name' has more than 1000 different values" in told
    assert "--category takes each value for a category, --drop leaves the column out." in told
    assert "=[" not in told
