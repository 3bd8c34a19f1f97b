"""Model files that `hoag tune` did not write, and tables that do not fit into memory."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from hoag.cli import main

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io")

MODELS = {"ridge": "t", "cox": "t", "ordinal": "rank", "gam": "t", "logistic": "kind"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model of every kind of notes that was tuned on it."""
    home, rng, n = tmp_path_factory.mktemp("models"), np.random.default_rng(0), 90
    frame = pd.DataFrame({"a": rng.normal(size=n), "kind": rng.choice(["u", "v"], n)})
    frame["t"], frame["e"] = rng.exponential(size=n).round(3), rng.integers(0, 2, n)
    frame["rank"] = np.digitize(frame["a"] + rng.normal(size=n), [-0.5, 0.5])
    frame.to_csv(home / "t.csv", index=False)
    for model, target in MODELS.items():
        more = ["--event", "e"] if model == "cox" else ["--drop", "e"]
        options = ["--target", target, "--model", model, "--save", str(home / f"{model}.skops")]
        assert main(["tune", str(home / "t.csv"), *options, *more, "-q"]) == 0
    return home


def told(folder, model, change, capsys):
    """What is said of a model whose notes somebody has changed."""
    pipeline = sio.load(folder / f"{model}.skops", trusted=[])
    notes = copy.deepcopy(pipeline.hoag_)
    pipeline.hoag_ = change(notes) or notes
    path = folder / "changed.skops"
    sio.dump(pipeline, path)
    capsys.readouterr()
    assert main(["predict", str(path), str(folder / "t.csv")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    line = said.err.strip().splitlines()[-1]
    assert line.startswith("hoag: error: ")
    assert "changed.skops" in line
    return line


@pytest.mark.parametrize("model", MODELS)
def test_only_attributes_of_the_class_are_set(model, folder, capsys):
    line = told(folder, model, lambda n: n["attributes"].update(predict=1, zz=2), capsys)
    assert f"that a model of kind {'gam gaussian' if model == 'gam' else model} has not" in line
    assert "'predict'" in line
    assert "'zz'" in line


WRONG = {
    "model": ["zz", 3, None],
    "kinds": [[], {3: "number"}],
    "targets": ["t", [3]],
    "features": ["many"],
    "attributes": [[], None],
    "missing": [3],
    "judged": [[]],
}


@pytest.mark.parametrize("name", WRONG)
def test_notes_of_other_types_are_refused(name, folder, capsys):
    for value in WRONG[name]:
        for change in (lambda n, v=value: n.update({name: v}), lambda n: n.pop(name) and None):
            line = told(folder, "ridge", change, capsys)
            assert "was not written by this version of hoag tune" in line


CHANGES = {
    "no role": ("cox", lambda n: n["roles"].clear()),
    "no attribute": ("cox", lambda n: n["attributes"].clear()),
    "no attribute of levels": ("ordinal", lambda n: n["attributes"].pop("thresholds_") is None),
    "no parts": ("gam", lambda n: n["attributes"].update(model={})),
    "no columns": ("gam", lambda n: n["attributes"].update(columns={"usual": {}})),
    "no way of missing": ("ridge", lambda n: n["missing"].clear()),
    "another model": ("ridge", lambda n: n.update(model="gam gaussian")),
    "another class": ("ridge", lambda n: n.update(model="logistic")),
    "no days": ("ridge", lambda n: n["kinds"].update(a="date")),
}


@pytest.mark.parametrize("case", CHANGES)
def test_models_that_do_not_fit_together_are_told_with_their_file(case, folder, capsys):
    model, change = CHANGES[case]
    assert "cannot be used (" in told(folder, model, lambda n: change(n) and None, capsys)


@pytest.mark.parametrize("what", [[1, 2], {"a": 1}, Pipeline([("model", "passthrough")])])
def test_what_is_no_model_is_refused(what, folder, capsys):
    path = folder / "other.skops"
    sio.dump(what, path)
    assert main(["predict", str(path), str(folder / "t.csv")]) == 1
    assert "was not written by this version of hoag tune" in capsys.readouterr().err


@pytest.mark.parametrize("message", ["", "Unable to allocate 8 GiB for an array"])
def test_a_table_that_does_not_fit_into_memory_is_told(message, folder, capsys, monkeypatch):
    def none(*arguments, **options):
        raise MemoryError(message)

    monkeypatch.setattr("hoag.cli.tables.read", none)
    table = str(folder / "t.csv")
    for command, advice in (
        (["tune", table, "--target", "t"], "--blocks reads a file in pieces"),
        (["predict", str(folder / "ridge.skops"), table], "some of its rows at a time"),
    ):
        assert main(command) == 1
        said = capsys.readouterr().err
        assert f"{table} and what is computed of it does not fit into the memory" in said
        assert advice in said
        assert message in said
        assert "MemoryError" not in said
