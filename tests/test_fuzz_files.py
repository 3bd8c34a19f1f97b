"""Garbled files of every kind: errors that were written for people come out, and no others."""

from __future__ import annotations

import contextlib
import io
import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hoag
from hoag import cli
from hoag.optimize import _checkpoint as checkpoint

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
sio = pytest.importorskip("skops.io")

# What may come out: InvalidInputError and scikit-learn's are ValueErrors.
TOLD = (ValueError, OSError, ImportError, ArithmeticError)
UNTOLD = (UnicodeError, OverflowError, ZeroDivisionError, FloatingPointError, json.JSONDecodeError)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
FEW = settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=QUIET)
MANY = settings(FEW, max_examples=1500)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One sound file of every kind."""
    folder, rng = tmp_path_factory.mktemp("sound"), np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)).round(3), rng.integers(0, 2, 40)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": rng.choice(["u", "v"], 40), "y": y})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    frame.to_feather(folder / "t.arrow")
    (folder / "t.svm").write_text("".join(f"{b} 1:{r[0]} 3:{r[1]}\n" for r, b in zip(X, y)))
    np.save(folder / "t.npy", X)
    np.savez(folder / "t.npz", X=X, y=y)
    np.savez_compressed(folder / "c.npz", X=X, y=y)
    model = ["--target", "y", "--save", str(folder / "t.skops"), "-q"]
    assert cli.main(["tune", str(folder / "t.csv"), *model]) == 0
    hoag.RidgeCV(cv=3, checkpoint=folder / "t.ckpt").fit(X, y)
    return folder


@st.composite
def harms(draw):
    """A change of some bytes: cut, flipped, put in, or all of them others."""
    kind = draw(st.sampled_from(["cut", "flip", "insert", "replace", "twice"]))
    at, more = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=12))
    words = st.sampled_from(
        [b",", b"\n", b'"', b"\0", b"nan", b"inf", b"1e999", b"-", b":", b"\xff"]
    )
    more = draw(st.one_of(st.just(more), words))
    bit = draw(st.integers(0, 7))

    def harmed(data):
        k = min(int(at * len(data)), len(data) - 1)
        if kind == "cut":
            return data[:k]
        if kind == "flip":
            return data[:k] + bytes([data[k] ^ 1 << bit]) + data[k + 1 :]
        if kind == "replace":
            return more
        return data[:k] + more + data[k:] if kind == "insert" else data + data[k:]

    return harmed


def run(call):
    """Whatever is raised has to be one of those that are told, with a sentence."""
    found = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except TOLD as error:
        found = error
    assert not isinstance(found, UNTOLD), repr(found)
    assert found is None or len(str(found)) > 15, repr(found)


def both(test):
    """A few examples of a test, and many where there is time."""

    @pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)])
    def each(many, request, home, tmp_path):
        chosen = MANY if many else FEW
        chosen(given(harms())(lambda harm: test(home, tmp_path, harm)))()

    each.__name__, each.__doc__ = test.__name__, test.__doc__
    return each


def read(source):
    for i in range(source.partitions):
        source.read(i)


def kinds(test):
    """For each kind of file of rows."""
    names = ["t.csv", "t.parquet", "t.arrow", "t.svm", "t.npy", "t.npz", "c.npz"]

    @pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("name", names)
    def each(name, many, home, tmp_path):
        chosen = MANY if many else FEW
        chosen(given(harms())(lambda harm: test(home, tmp_path, name, harm)))()

    each.__name__ = test.__name__
    return each


@kinds
def test_blocks_of_garbled_files(home, folder, name, harm):
    path = folder / name
    path.write_bytes(harm((home / name).read_bytes()))
    target = "y" if name.startswith("t.") and name[2:] in ("csv", "parquet", "arrow") else None
    target = np.zeros(40) if name == "t.npy" else target
    run(lambda: read(hoag.partitions(path, target, cache=None)))


@both
def test_blocks_of_a_garbled_cache(home, folder, harm):
    path = folder / "t.csv"
    if not path.exists():
        path.write_bytes((home / "t.csv").read_bytes())
    source = hoag.partitions(path, "y", rows=15)
    expected = source.read(1).X.tobytes()
    for part in ("manifest.json", "statistics.npy", "000001.X.npy"):
        file = source.cached.path / part
        before = file.read_bytes()
        file.write_bytes(harm(before))
        found = []
        run(lambda: found.append(hoag.partitions(path, "y", rows=15).read(1).X.tobytes()))  # noqa: B023
        assert found in ([], [expected])
        file.write_bytes(before)


@both
def test_a_garbled_checkpoint(home, folder, harm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).round(3)
    path = folder / "t.ckpt"
    path.write_bytes(harm((home / "t.ckpt").read_bytes()))
    run(lambda: checkpoint.Checkpoint(path, {}))
    run(lambda: hoag.RidgeCV(cv=3, checkpoint=path).fit(X, rng.integers(0, 2, 40)))


def told(arguments, monkeypatch):
    """The exceptions of a command, which were written for people."""
    seen = []
    monkeypatch.setattr(cli, "_one_line", lambda error, asked: seen.append(error) or str(error))
    out, err = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with out, err, contextlib.suppress(SystemExit):  # argparse's
        cli.main(arguments)
    for error in seen:
        run(lambda: (_ for _ in ()).throw(error))  # noqa: B023
    return seen


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.svm"])
@given(harm=harms(), blocks=st.booleans())
@settings(FEW, max_examples=15)
def test_commands_on_garbled_tables(name, harm, blocks, home, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"garbled-{name}"
    path.write_bytes(harm((home / name).read_bytes()))
    target = [] if name == "t.svm" else ["--target", "y"]
    way = "--blocks" if blocks else "--no-blocks"
    more = ["--max-iter", "2", "--cv", "2", "-q", way]
    with pytest.MonkeyPatch.context() as patch:
        told(["tune", str(path), *target, *more], patch)
        for error in told(["predict", str(home / "t.skops"), str(path)], patch):
            assert "cannot be used" not in str(error)


@both
def test_predictions_of_garbled_models(home, folder, harm):
    path = folder / "t.skops"
    path.write_bytes(harm((home / "t.skops").read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        told(["predict", str(path), str(home / "t.csv")], patch)


OPTIONS = ["--target", "--drop", "--category", "--weights", "--missing", "--sep", "--decimal"]
OPTIONS += ["--na", "--encoding", "--model", "--family", "--terms", "--cv", "--bounds", "--tol"]
OPTIONS += ["--starts", "--time-budget", "--exposure", "--event", "--quantile", "--power"]
VALUES = ["y", "a", "kind", "zz", "", "a,b", "-1", "0", "nan", "inf", "1e999", "loo", "reml", ";"]
VALUES += ["gam", "cox", "poisson", "ridge", "s(a)", "s(", "utf-16", "λ", "drop"]


@given(st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), max_size=3))
@FEW
def test_a_command_with_any_options(home, given):
    words = [word for pair in given for word in pair]
    with pytest.MonkeyPatch.context() as patch:
        told(["tune", str(home / "t.csv"), "--max-iter", "2", "-q", "--target", "y", *words], patch)
