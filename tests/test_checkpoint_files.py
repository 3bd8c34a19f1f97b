"""What stands in a checkpoint, what is refused, and what is said when it cannot be written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from test_checkpoint import bits, bits_of_fit, classes, fitted, minimized, table

import hoag
from hoag import models
from hoag.errors import InvalidInputError
from hoag.optimize import Auto, Hoag
from hoag.optimize import _checkpoint as checkpoint
from hoag.optimize import _storage as storage
from hoag.optimize._journal import JournalEntry

# ---------------------------------------------------------------- killed from outside


def killed(folder, kills, seed):
    command = [sys.executable, "kills.py", str(folder), str(kills), str(seed)]
    home = Path(__file__).parent
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_a_search_that_is_killed_at_any_instant_ends_with_the_same_bits(kills, tmp_path):
    found = killed(tmp_path, kills, seed=kills)
    assert found["killed"] >= kills // 2
    assert found["other"] == 0
    assert found["control"] >= 1  # without warm starts the bits are others: the test can fail


# ---------------------------------------------------------------- values in and out


def test_values_keep_their_bits_and_what_they_share():
    odd = np.array([np.nan, -np.nan, np.inf, -0.0, 5e-324, 0.1])
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    cube = np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
    value = {
        "numbers": (1, True, None, 0.1, -0.0, float("inf"), "λ", slice(1, None)),
        3: [odd, np.float32(0.1), np.int64(7), np.zeros(0), np.zeros((0, 3)), np.array(2.0)],
        "axes": (table, cube, table),
        "found": hoag.criteria.Evaluation(
            odd, float("nan"), odd, warm=table, cost=hoag.criteria.Cost(passes=0.1)
        ),
    }
    again = storage.unpack(storage.pack(value))
    assert repr(again["numbers"]) == repr(value["numbers"])
    for one, other in zip(again[3], value[3], strict=True):
        assert type(one) is type(other)
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    assert [one.strides for one in again["axes"]] == [one.strides for one in value["axes"]]
    assert again["axes"][0] is again["axes"][2] is again["found"].warm
    assert again["found"].lam.tobytes() == odd.tobytes()
    assert again["found"].cost == hoag.criteria.Cost(passes=0.1)


def test_a_journal_is_packed_with_what_its_entries_share_and_no_class_of_anybodys():
    class Odd(list):
        """What no file holds."""

    shared = hoag.criteria.Evaluation(np.zeros(1), 1.0, np.zeros(1), warm=np.arange(20.0))
    entries = [JournalEntry("evaluate", shared.lam, hoag.criteria.Ask(0.1), shared)]
    again = storage.unpack(storage.pack(hoag.optimize.Journal(entries, {0: shared})))
    assert again.entries[0].answer is again.held[0]
    assert again.entries[0].ask == hoag.criteria.Ask(0.1)
    np.testing.assert_array_equal(again.held[0].warm, shared.warm)
    with pytest.raises(storage.UnstorableError):
        storage.pack(hoag.optimize.Journal([*entries, Odd()], {}))


def test_a_checkpoint_is_an_archive_that_numpy_opens_and_that_runs_nothing(tmp_path):
    minimized("joint", "fast", tmp_path / "run.ckpt")
    with zipfile.ZipFile(tmp_path / "run.ckpt") as file:
        assert file.testzip() is None
        head = json.loads(file.read("head.json"))
        assert {name.rsplit(".", 1)[1] for name in file.namelist()} == {"json", "npy"}
    assert head["hoag_checkpoint"] == checkpoint.Checkpoint.version
    with np.load(tmp_path / "run.ckpt", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files if name.endswith(".npy"))
    with pytest.raises(KeyError):
        storage.unpack(storage.Stored('{"number":0,"class":"os.system","with":{}}', []))


# ---------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "run.ckpt"
    minimized("spectral", "fast", path)
    return path.read_bytes()


def test_a_checkpoint_cut_at_any_byte_is_refused(small, tmp_path):
    for size in range(len(small)):
        with pytest.raises(storage.DamagedError):
            storage.opened(small[:size])
    for size in (0, 1, len(small) // 2, len(small) - 1):
        (tmp_path / "run.ckpt").write_bytes(small[:size])
        with pytest.raises(InvalidInputError, match=r"run.ckpt is no checkpoint, or a damaged one"):
            minimized("spectral", "fast", tmp_path / "run.ckpt")
        assert (tmp_path / "run.ckpt").read_bytes() == small[:size]  # nobody's file is written over


def test_a_checkpoint_with_any_bit_flipped_is_refused(small, tmp_path):
    for place in range(len(small)):
        for bit in (1 << place % 8, 1 << (place + 3) % 8):
            wrong = bytearray(small)
            wrong[place] ^= bit
            with pytest.raises(storage.DamagedError):
                storage.opened(bytes(wrong))
    (tmp_path / "run.ckpt").write_bytes(small + b"\0")
    with pytest.raises(InvalidInputError, match="damaged"):
        minimized("spectral", "fast", tmp_path / "run.ckpt")


def test_a_checkpoint_of_a_newer_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "version", 4)
    minimized("spectral", "fast", tmp_path / "run.ckpt")
    monkeypatch.undo()
    with pytest.raises(
        InvalidInputError, match=r"format 4, and this version of hoag reads format 3"
    ):
        minimized("spectral", "fast", tmp_path / "run.ckpt")


def test_a_checkpoint_of_another_version_of_hoag_is_refused(tmp_path, monkeypatch):
    minimized("spectral", "fast", tmp_path / "run.ckpt")
    monkeypatch.setattr(hoag, "__version__", "9.0")
    with pytest.raises(
        InvalidInputError, match=r"the version of hoag differs \(version is .* 9.0 h"
    ):
        minimized("spectral", "fast", tmp_path / "run.ckpt")


def other_searches():
    X, y = table()
    yield "the data differ", lambda: models.folds(models.ridge, X + 1e-15, y, cv=3), {}
    yield "the data differ", lambda: models.folds(models.ridge, X, y[::-1].copy(), cv=3), {}
    yield "differ", lambda: models.folds(models.ridge, X, y, cv=4), {}
    yield "the problem differs", lambda: models.folds(models.logistic, X, np.sign(y), cv=3), {}
    same = lambda: models.folds(models.ridge, X, y, cv=3)  # noqa: E731
    yield r"search is Auto\(tol=1e-06.* there, Auto\(tol=0.01", same, {"search": Auto(0.01)}
    yield r"search is Auto.*Hoag\(", same, {"search": Hoag()}
    yield "settings differ .bounds", same, {"bounds": (-3, 3)}
    yield "settings differ .lam0", same, {"lam0": 1.0}
    yield "certificate is 'auto' there, 'bound' here", same, {"certificate": "bound"}


@pytest.mark.parametrize("case", list(other_searches()), ids=range(9))
def test_a_checkpoint_of_another_search_is_refused(case, small, tmp_path):
    words, make, options = case
    path = tmp_path / "run.ckpt"
    path.write_bytes(small)
    with pytest.raises(InvalidInputError, match=f"checkpoint of another search: .*{words}"):
        hoag.minimize(make(), **{"search": Auto(1e-6), "checkpoint": path} | options)
    assert path.read_bytes() == small


def test_peoples_own_problems_are_told_apart_by_what_they_compute(tmp_path):
    def minimize(centre):
        problem = hoag.problem(
            h=lambda x, lam: 0.5 * np.sum((x - centre) ** 2) + 0.5 * lam[0] * x @ x,
            h_x=lambda x, lam: x - centre + lam[0] * x,
            hessian=lambda x, lam: (1 + lam[0]) * np.eye(2),
            cross=lambda x, lam: x[:, None],
            g=lambda x, lam: np.sum((x - 1.0) ** 2),
            g_x=lambda x, lam: 2 * (x - 1.0),
            g_lam=lambda x, lam: np.zeros(1),
            x0=np.zeros(2),
            lam0=[1.0],
            scale="log",
        )
        return hoag.minimize(problem, checkpoint=tmp_path / "run.ckpt")

    assert bits(minimize(2.0)) == bits(minimize(2.0))
    with pytest.raises(InvalidInputError, match="the problem differs"):
        minimize(2.001)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 1e-2}, r"tol is 0.0001 there, 0.01 here"),
        ({"cv": 4}, r"another search: the splits differ \(cv is 3 there, 4 here\)\."),
        ({"fit_intercept": False}, "fit_intercept is True there, False here"),
        ({"bounds": (-3, 3)}, "bounds"),
    ],
)
def test_an_estimator_says_what_differs(options, words, tmp_path):
    fitted("dense", tmp_path / "run.ckpt")
    with pytest.raises(InvalidInputError, match=words):
        fitted("dense", tmp_path / "run.ckpt", **options)


def test_a_result_that_was_read_says_so(tmp_path):
    told = f"This was read from the checkpoint '{tmp_path / 'run.ckpt'}', where the same search had"
    first, again = (fitted("dense", tmp_path / "run.ckpt") for _ in range(2))
    assert told not in str(first.result_.status)
    assert str(again.result_.status).startswith(f"{first.result_.status} {told}")
    assert again.result_.status.converged
    path = tmp_path / "plain.ckpt"
    assert "read from" not in str(minimized("joint", "fast", path).status)
    assert str(minimized("joint", "fast", path).status).count("This was read from") == 1
    path, (X, y) = tmp_path / "power.ckpt", table()  # of several runs
    tweedie = hoag.TweedieRegressorCV(power="tuned", cv=3, checkpoint=path)
    first, again = (str(tweedie.fit(X, np.abs(y)).result_.status) for _ in range(2))
    assert "read from" not in first
    assert again.count("This was read from") == 1


def test_a_search_that_went_on_was_not_read(tmp_path):
    path = tmp_path / "run.ckpt"
    stopped = minimized("joint", "fast", path, callback=lambda step: step.k == 1)
    assert stopped.status.reason == "callback"
    assert "read from" not in str(minimized("joint", "fast", path).status)


def test_what_does_not_matter_to_the_search_may_differ(tmp_path):
    first = fitted("dense", tmp_path / "run.ckpt")
    later = {"scoring": ["roc_auc"], "n_jobs": 2, "search": Auto(time_budget=100.0)}
    later["callback"] = print
    assert bits_of_fit(fitted("dense", tmp_path / "run.ckpt", **later)) == bits_of_fit(first)
    with pytest.raises(InvalidInputError, match=r"the data differ \(X, y\); the splits differ\."):
        hoag.LogisticRegressionCV(cv=3, checkpoint=tmp_path / "run.ckpt").fit(*classes(90, 5, 1))
    shuffled = hoag.RidgeCV(cv=KFold(3, shuffle=True), checkpoint=tmp_path / "other.ckpt")
    shuffled.fit(*table())
    with pytest.raises(InvalidInputError, match=r"search: the splits differ\."):
        shuffled.fit(*table())


def test_words_and_arguments_of_rows_are_named(tmp_path):
    X, y = table()
    hoag.RidgeCV(cv="gcv", checkpoint=tmp_path / "words.ckpt").fit(X, y)
    for cv, told in (("loo", "'gcv' there, 'loo' here"), (4, "'gcv' there, 4 here")):
        with pytest.raises(InvalidInputError, match=rf": the splits differ \(cv is {told}\)\."):
            hoag.RidgeCV(cv=cv, checkpoint=tmp_path / "words.ckpt").fit(X, y)
    counts = hoag.PoissonRegressorCV(checkpoint=tmp_path / "counts.ckpt")
    counts.fit(X, np.abs(np.round(y)), exposure=np.linspace(1.0, 2.0, len(y)))
    with pytest.raises(InvalidInputError, match=r"search: the data differ \(exposure\)\."):
        counts.fit(X, np.abs(np.round(y)), exposure=np.linspace(1.0, 3.0, len(y)))


def test_rows_in_pieces_say_what_differs(tmp_path):
    X, y = table()

    def fit(X=X, cv=4, **options):
        options |= {"cv": cv, "checkpoint": tmp_path / "run.ckpt"}
        return hoag.RidgeCV(**options).fit(hoag.partitions((X, y), rows=20))

    first = fit()
    assert bits_of_fit(fit(cv=KFold(4))) == bits_of_fit(first)
    for options, told in (
        ({"cv": 3}, r"the splits differ \(cv is 4 there, 3 here\)\."),
        ({"fit_intercept": False}, r"the settings differ \(fit_intercept is True there, False h"),
        ({"X": X + 1.0}, r"the data differ \(rows\)\."),
    ):
        with pytest.raises(InvalidInputError, match=rf"of another search: {told}"):
            fit(**options)
    shuffled = KFold(4, shuffle=True)
    with pytest.raises(InvalidInputError, match=r"cv is 4 there, KFold\(.*shuffle=True\) here\)"):
        fit(cv=shuffled)
    (tmp_path / "run.ckpt").unlink()
    fit(cv=shuffled)
    with pytest.raises(InvalidInputError, match=r"search: the splits differ\."):
        fit(cv=shuffled)


def test_data_that_know_their_digest_are_asked_for_it():
    from hoag.optimize._fingerprint import digest

    class Source:
        def __init__(self, told):
            self.rows, self.told = np.zeros(3), told

        def fingerprint(self):
            return self.told

    assert digest(Source("a")) == digest(Source("a")) != digest(Source("b"))


def test_a_path_that_cannot_be_a_checkpoint_is_told_before_the_work(tmp_path):
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "run.ckpt", "there is no folder"),
        (3, "give the path of a file"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            minimized("spectral", "fast", path)


# ---------------------------------------------------------------- disks that are full, or read-only


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_nothing_is_reported_once_and_stops_nothing(
    number, tmp_path, monkeypatch
):
    def full(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match=f"could not be written .{os.strerror(number)}") as caught:
        found = minimized("joint", "fast", tmp_path / "run.ckpt")
    assert len(caught) == 1
    assert bits(found) == bits(minimized("joint", "fast"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_last_checkpoint_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    minimized("joint", "fast", path, callback=lambda step: step.k == 2)
    before = path.read_bytes()
    replaced = os.replace

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space left"):
        whole = minimized("joint", "fast", path)
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "replace", replaced)
    assert bits(minimized("joint", "fast", path)) == bits(whole)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_path_that_becomes_a_pipe_is_reported_once_and_stops_nothing(tmp_path):
    def planted(step):
        if step.k == 1:
            path.unlink()
            os.mkfifo(path)

    path = tmp_path / "run.ckpt"
    with pytest.warns(UserWarning, match="is not a regular file") as caught:
        found = minimized("joint", "fast", path, callback=planted)
    assert len(caught) == 1
    assert bits(found) == bits(minimized("joint", "fast"))
    assert path.is_fifo()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.warns(UserWarning, match="could not be written"):
        assert minimized("spectral", "fast", tmp_path / "run.ckpt").converged
    tmp_path.chmod(0o700)


# ---------------------------------------------------------------- Ctrl-C, clocks, callbacks


def interrupting(after):
    def stop(step):
        if step.k == after:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize(
    ("name", "after"), [("joint", 2), ("space", 1), ("bands", 2), ("groups", 2)]
)
def test_ctrl_c_returns_the_best_so_far_and_the_next_call_goes_on(name, after, tmp_path):
    path = tmp_path / "run.ckpt"
    found = minimized(name, "fast", path, callback=interrupting(after))
    assert found.status.reason == "interrupted"
    assert f"The same again with checkpoint='{path}' goes on" in str(found.status)
    assert len(found.trace) == after
    assert found.x is not None
    assert bits(minimized(name, "fast", path)) == bits(minimized(name, "fast"))
    with pytest.raises(KeyboardInterrupt):  # as it is without a checkpoint
        minimized(name, "fast", callback=interrupting(after))


@pytest.mark.parametrize("name", ["logistic", "penalties", "targets", "shrink", "gam"])
def test_ctrl_c_ends_a_fit_with_the_best_so_far(name, tmp_path):
    path = tmp_path / "run.ckpt"
    from test_checkpoint import FITS

    estimator, data = FITS[name]
    stopped = hoag.linear_model._base.clone(estimator)
    stopped.set_params(checkpoint=path, callback=interrupting(1))
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        stopped.fit(*data())
    assert stopped.result_.status.reason == "interrupted"
    assert np.all(np.isfinite(stopped.predict(data()[0])))
    assert bits_of_fit(fitted(name, path)) == bits_of_fit(fitted(name))


def test_ctrl_c_in_the_first_of_several_runs_and_a_second_one(tmp_path, monkeypatch):
    """The search of one shared penalty comes first: a run of its own, of which nobody is told."""
    path, keep, places = tmp_path / "run.ckpt", checkpoint.Slot.keep, []

    def interrupt(place, run):
        keep(place, run)
        places.append(place)
        looks = [] if isinstance(run, hoag.Result) else [entry.ask for entry in run.entries]
        if place is places[0] and sum(ask.whole for ask in looks) == 2:
            monkeypatch.setattr(checkpoint.Slot, "keep", keep)
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Slot, "keep", interrupt)
    monkeypatch.setattr(checkpoint.Checkpoint, "share", 1.0)
    found = minimized("penalties", "fast", path)
    assert found.status.reason == "interrupted"
    assert found.lam.size == 4
    monkeypatch.undo()
    assert bits(minimized("penalties", "fast", path)) == bits(minimized("penalties", "fast"))


def test_a_stop_by_the_clock_or_a_callback_is_gone_on_from(tmp_path):
    path, whole = tmp_path / "run.ckpt", bits(minimized("groups", "fast"))
    stopped = minimized("groups", "fast", path, callback=lambda step: step.k == 3)
    assert stopped.status.reason == "callback"
    again = minimized("groups", "fast", path, callback=lambda step: step.k == 3)
    assert bits(again) == bits(stopped)
    seen = []
    assert bits(minimized("groups", "fast", path, callback=lambda s: seen.append(s.k))) == whole
    assert seen[0] == 3
    problem = models.folds(models.logistic, *classes(), cv=3, penalties="per-feature")
    late = hoag.minimize(problem, search=Auto(time_budget=0.0), checkpoint=tmp_path / "late")
    assert late.status.reason == "time_budget"
    more = hoag.minimize(problem, search=Auto(), checkpoint=tmp_path / "late")
    assert bits(more) == bits(hoag.minimize(problem, search=Auto()))


def test_an_error_leaves_a_checkpoint_to_go_on_from(tmp_path):
    path = tmp_path / "run.ckpt"

    def fail(step):
        if step.k == 2:
            raise RuntimeError("no connection")

    with pytest.raises(RuntimeError, match="no connection"):
        minimized("groups", "fast", path, callback=fail)
    seen = []
    found = minimized("groups", "fast", path, callback=lambda step: seen.append(step.k))
    assert seen[0] == 2
    assert bits(found) == bits(minimized("groups", "fast"))


# ---------------------------------------------------------------- criteria of one's own


class Bowl(hoag.criteria.Criterion):
    """1 + ‖λ − 1‖², with a start that no file can hold, if asked."""

    lam0 = np.zeros(2)

    def __init__(self, exotic):
        self.exotic, self.asked = exotic, 0

    def _evaluate(self, lam, ask, warm):
        self.asked += 1
        left = {"lam": lam, "odd": lambda: 0} if self.exotic else {"lam": lam, "seen": (1, "a")}
        return hoag.criteria.Evaluation(
            lam, 1.0 + np.sum((lam - 1) ** 2), 2 * (lam - 1), x=lam, warm=left
        )


def test_a_start_that_cannot_be_kept_is_told_and_the_search_begins_anew(tmp_path):
    plainly, exotic = tmp_path / "plain", tmp_path / "exotic"
    hoag.minimize(Bowl(False), search=Hoag(), checkpoint=plainly)
    again = Bowl(False)
    hoag.minimize(again, search=Hoag(), checkpoint=plainly)
    assert again.asked == 0
    with pytest.warns(UserWarning, match=r"cannot keep .* builtins.function is no") as caught:
        first = hoag.minimize(Bowl(True), search=Hoag(), checkpoint=exotic)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="begins anew"):
        again = hoag.minimize(Bowl(True), search=Hoag(), checkpoint=exotic)
    assert bits(again) == bits(first)


def test_searches_inside_a_search_have_no_place_in_its_checkpoint(tmp_path):
    class Nested(Bowl):
        def _evaluate(self, lam, ask, warm):
            hoag.minimize(Bowl(False), search=Auto())
            return super()._evaluate(lam, ask, warm)

    hoag.minimize(Nested(False), search=Hoag(), checkpoint=tmp_path / "run.ckpt")
    head, _ = storage.opened((tmp_path / "run.ckpt").read_bytes())
    assert head["values"] == 1


def test_targets_that_are_searched_in_threads_are_kept_too(tmp_path):
    path = tmp_path / "run.ckpt"
    found = fitted("targets", path, n_jobs=2)
    assert storage.opened(path.read_bytes())[0]["values"] == 5
    assert (
        bits_of_fit(fitted("targets", path)) == bits_of_fit(found) == bits_of_fit(fitted("targets"))
    )
