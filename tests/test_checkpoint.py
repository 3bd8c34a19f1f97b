"""Searches that are killed and go on to the same bits, from a file that is read or refused."""

from __future__ import annotations

import hashlib
import re
import warnings

import numpy as np
import pytest
import registry
from quick import quick, quick_pairs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hoag
from hoag import models
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag.glm import ArrayRows, Ridge
from hoag.optimize import Adaptive, Auto, Bayes, Grid, Hoag, Random
from hoag.optimize import _checkpoint as checkpoint

# ---------------------------------------------------------------- what is searched for


def table(n=90, p=4, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    w = rng.normal(size=p if targets is None else (p, targets))
    return X, X @ w + rng.normal(size=n if targets is None else (n, targets))


def classes(n=90, p=4, seed=0):
    X, y = table(n, p, seed=seed)
    return X, np.sign(y)


def own():
    X, y = table(60, 3)
    A, b, C, d = X[:40], y[:40], X[40:], y[40:]
    return hoag.problem(
        h=lambda x, lam: 0.5 * np.sum((A @ x - b) ** 2) + 0.5 * lam[0] * x @ x,
        h_x=lambda x, lam: A.T @ (A @ x - b) + lam[0] * x,
        hessian=lambda x, lam: A.T @ A + lam[0] * np.eye(3),
        cross=lambda x, lam: x[:, None],
        g=lambda x, lam: 0.5 * np.sum((C @ x - d) ** 2),
        g_x=lambda x, lam: C.T @ (C @ x - d),
        g_lam=lambda x, lam: np.zeros(1),
        x0=np.zeros(3),
        lam0=[1.0],
        scale="log",
    )


def leave_one_out():
    X, y = table(40, 5)
    return LeaveOneOut(ArrayRows(X), y, np.ones(40), Ridge(np.zeros(5, dtype=int)))


def bent(n):
    X, noise = table(n, 2)
    return X, np.sin(2 * X[:, 0]) + 0.2 * noise


def kernels():
    return models.folds(models.kernel_ridge, *bent(410), cv=2)


def logistic(X, y, **options):
    return models.folds(models.logistic, X, y, cv=3, intercept=True, **options)


PROBLEMS = {
    "spectral": lambda: models.folds(models.ridge, *table(), cv=3),
    "joint": lambda: logistic(*classes(90, 5)),
    "tall": lambda: logistic(*classes(3000, 12)),
    "space": lambda: logistic(*registry.text(90, 150)),
    "bent-space": lambda: logistic(*classes(200, 120)),
    "bands": lambda: models.folds(models.ridge, *table(), cv=3, penalties="per-feature"),
    "penalties": lambda: logistic(*classes(), penalties="per-feature"),
    "many": lambda: logistic(*registry.text(60, 20), penalties="per-feature"),
    "groups": lambda: hoag.criteria.Implicit(registry.make("logistic", n=60, penalties="groups")),
    "kernels": kernels,
    "leave-one-out": leave_one_out,
    "unrolled": lambda: hoag.criteria.Unrolled(registry.make("ridge", n=60), n_iter=30),
    "own": own,
}
SEARCHES = {
    "fast": Auto(1e-6),
    "hoag": Hoag(max_iter=8),
    "constant": Hoag(step=Adaptive(C="data"), max_iter=4),
    "random": Random(6, seed=1),
    "grid": Grid(3),
    "bayes": Bayes(6),
}
SEARCHED = [(name, "fast") for name in PROBLEMS] + [
    *(("space", "hoag"), ("groups", "hoag"), ("joint", "hoag"), ("own", "hoag")),
    *(("joint", "constant"), ("space", "random"), ("spectral", "grid"), ("own", "bayes")),
]
FITS = {
    "logistic": (hoag.LogisticRegressionCV(cv=3), lambda: registry.text(80, 120)),
    "dense": (hoag.LogisticRegressionCV(cv=3), lambda: classes(90, 5)),
    "penalties": (hoag.RidgeCV(cv=3, penalties="per-feature"), table),
    "targets": (hoag.RidgeCV(cv=3, penalties="per-target"), lambda: table(40, 2, targets=5)),
    "shrink": (
        hoag.RidgeCV(cv=3, penalties="per-feature", shrink="auto"),
        lambda: table(40, 2),
    ),
    "standardize": (hoag.LogisticRegressionCV(cv=3, standardize=True), lambda: classes(30, 40)),
    "alo": (hoag.LogisticRegressionCV(cv="alo"), classes),
    "reml": (hoag.LogisticRegressionCV(cv="reml", penalties="per-feature"), classes),
    "cox": (hoag.CoxRegressionCV(cv=3), lambda: survived(*table(80, 3))),
    "power": (
        hoag.TweedieRegressorCV(cv=3, power="tuned"),
        lambda: (table(60, 2)[0], np.maximum(table(60, 2)[1], 0.0)),
    ),
    "gam": (hoag.GAMRegressorCV(), lambda: table(80, 2)),
}


def survived(X, y):
    known = np.arange(len(y)) % 3 > 0
    return X, np.array(list(zip(known, np.exp(y))), dtype=[("event", bool), ("time", float)])


def minimized(name, search, path=None, **options):
    return hoag.minimize(PROBLEMS[name](), search=SEARCHES[search], checkpoint=path, **options)


def fitted(name, path=None, **options):
    estimator, data = FITS[name]
    estimator = clone(estimator).set_params(checkpoint=path, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data())


READ = " This was read from the checkpoint '[^']*', .* afresh\\."


def said(result):
    """The status, wherever it is from."""
    return result.status.reason, re.sub(READ, "", result.status.sentence)


def bits(result, *more):
    """A digest of where a search ended and of the way there, but for costs and seconds."""
    found = result.evaluation
    xs = found.x if isinstance(found.x, tuple) else (found.x,)
    told = [found.lam, found.value, found.grad, said(result), *xs, *more]
    for step in result.trace:
        told += [step.eps, step.evaluation.lam, step.evaluation.value, step.evaluation.grad]
    seen = [x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode() for x in told]
    return hashlib.sha256(b"\0".join(seen)).hexdigest()


def bits_of_fit(model):
    linear = vars(model).get("model_", model)
    more = [vars(linear).get(name) for name in ("coef_", "intercept_", "dual_coef_")]
    return bits(model.result_, *(np.asarray(one) for one in more if one is not None))


# ---------------------------------------------------------------- killed inside the process


class Killed(BaseException):
    pass


class Killer:
    """Writes that kill the process after the first so many: nothing is written from then on."""

    def __init__(self, monkeypatch):
        self.written, self.last = 0, None
        self.replace = checkpoint.write_atomically
        monkeypatch.setattr(checkpoint, "write_atomically", self)
        self.set = monkeypatch.setattr

    def kills(self, last):
        """After so many writes of all that there may be; None: never."""
        self.written, self.last = 0, last
        self.set(checkpoint.Checkpoint, "share", 1.0 if last is not None else 0.1)

    def __call__(self, path, data):
        if self.last is not None and self.written >= self.last:
            raise Killed
        self.replace(path, data)
        self.written += 1
        if self.written == self.last:
            raise Killed


@pytest.fixture
def killer(monkeypatch):
    return Killer(monkeypatch)


def goes_on(killer, tmp_path, call, told, shares):
    """Whether a search that is killed after some writes ends at the same bits, in the next call."""
    whole = told(call(None))
    killer.kills(10**9)
    assert told(call(tmp_path / "whole")) == whole
    total = killer.written
    assert total >= 2
    for last in sorted({1 + int(share * (total - 2)) for share in shares}):
        path = tmp_path / str(last)
        killer.kills(last)
        with pytest.raises(Killed):
            call(path)
        killer.kills(None)
        assert told(call(path)) == whole, f"killed after write {last} of {total}"
    killer.kills(None)
    assert told(call(path)) == whole  # which reads the result
    assert killer.written == 0


# Whose kind of criterion and whose search another one has.
LONGEST = {("bent-space", "fast"), ("penalties", "fast"), ("space", "hoag"), ("joint", "hoag")}


@pytest.mark.parametrize(
    ("name", "search"), quick_pairs(SEARCHED, lambda *pair: pair not in LONGEST)
)
def test_a_search_that_is_killed_ends_with_the_same_bits(name, search, killer, tmp_path):
    if search == "bayes":
        pytest.importorskip("bayes_opt")
    goes_on(killer, tmp_path, lambda path: minimized(name, search, path), bits, (0, 0.5, 0.9))


@pytest.mark.parametrize("name", quick(FITS, FITS.keys() - {"shrink", "targets"}))
def test_a_fit_that_is_killed_ends_with_the_same_bits(name, killer, tmp_path):
    goes_on(killer, tmp_path, lambda path: fitted(name, path), bits_of_fit, (0.6,))
