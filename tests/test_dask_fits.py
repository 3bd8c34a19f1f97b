"""fit on collections of dask: what memory finds, to rounding; and no bit by who computed it."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from scipy import sparse

import hoag
from hoag.errors import InvalidInputError

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da
import joblib
from clusters import settled

from hoag.dask import engine

pytestmark = pytest.mark.usefixtures("out_of_core", "kept_clusters")


def data(seed=0, n=500, d=8):
    """X, and a y for each kind of model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) / 2
    noisy = z + rng.normal(size=n)
    return X, {"ridge": noisy, "logistic": noisy > 0, "poisson": 1.0 * rng.poisson(np.exp(z / 2))}


MODELS = {
    "ridge": hoag.RidgeCV(cv=5),
    "logistic": hoag.LogisticRegressionCV(),
    "poisson": hoag.PoissonRegressorCV(),
}


def blocks(X, y, height=97):
    return da.from_array(X, chunks=(height, X.shape[1])), da.from_array(y, chunks=height)


def new(kind, **options):
    model = MODELS[kind]
    return type(model)(**{**model.get_params(), **options})


def numbers(model):
    return model.coef_, np.asarray(model.intercept_), np.asarray(model.lam_), model.criterion_


def alike(model, other):
    for a, b in zip(numbers(model), numbers(other), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", list(MODELS))
def test_fits_agree_with_memory_and_with_each_other_to_the_bit(kind, one_worker, two_workers):
    X, ys = data()
    here = new(kind).fit(X, ys[kind])
    there = []
    for client in (one_worker, two_workers):
        with client.as_current():
            there.append(new(kind).fit(*blocks(X, ys[kind])))
    alike(*there)
    for a, b in zip(numbers(here), numbers(there[0]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    with two_workers.as_current():
        there = there[0].predict(blocks(X, ys[kind])[0])
    np.testing.assert_allclose(np.asarray(there, dtype=float), here.predict(X), rtol=1e-9)


def like(there, here):
    there, here = np.asarray(there, dtype=float), np.asarray(here, dtype=float)
    np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", list(MODELS))
@pytest.mark.parametrize("kept", ["dense", "sparse"])
def test_predictions_and_scores_are_those_of_memory(kind, kept, two_workers):
    X, ys = data()
    y, weight = ys[kind], np.linspace(0.5, 2.0, len(X))
    model = new(kind).fit(X, y)
    far_X, far_y = blocks(X, y)
    far_weight = da.from_array(weight, chunks=50)
    far_X = far_X.map_blocks(sparse.csr_matrix) if kept == "sparse" else far_X
    methods = [name for name in ("predict_proba", "decision_function") if name in dir(model)]
    with two_workers.as_current():
        for name in ("predict", *methods):
            like(getattr(model, name)(far_X), getattr(model, name)(X))
        like(model.score(far_X, far_y), model.score(X, y))
        like(model.score(far_X, y, weight), model.score(X, y, weight))
        like(model.score(far_X, far_y, far_weight), model.score(X, y, weight))
        with pytest.raises(InvalidInputError, match="score needs the y of these rows"):
            model.score(far_X)
    like(model.score(far_X, far_y), model.score(X, y))  # and where there is no cluster


@pytest.mark.parametrize("kind", list(MODELS))
def test_sparse_columns_far_from_zero_are_those_of_memory(kind, two_workers):
    X, ys = data()
    X = X + np.array([0.0, 1e3, -1e6, 0.0, 1e7, 0.0, 5.0, 0.0])
    far_X, far_y = blocks(X, ys[kind])
    here = new(kind).fit(X, ys[kind])
    with two_workers.as_current():
        there = new(kind).fit(far_X.map_blocks(sparse.csr_array), far_y)
    for name in ("coef_", "lam_", "criterion_"):
        a, b = getattr(here, name), getattr(there, name)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


def test_a_number_that_is_not_finite_is_named_by_a_worker(two_workers):
    X, ys = data()
    X[200, 3] = np.nan
    told = r"X is nan in row 6 of partition 2 \(row 200 of all\), column 3"
    with (
        two_workers.as_current(),
        pytest.raises(InvalidInputError, match=told),
    ):
        new("ridge").fit(*blocks(X, ys["ridge"]))


def test_models_that_need_their_rows_refuse_blocks():
    X, ys = data(n=60)
    far_X, far_y = blocks(X, ys["ridge"])
    for model in (hoag.KernelRidgeCV(), hoag.GAMRegressorCV(cv=3)):
        model.fit(X, ys["ridge"])
        for asked, given in (
            (model.fit, (far_X, far_y)),
            (model.predict, (far_X,)),
            (model.score, (far_X, far_y)),
        ):
            with pytest.raises(InvalidInputError, match="needs its rows in memory"):
                asked(*given)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_lost_within_a_fit_changes_no_bit(kind, how, two_workers):
    X, ys = data()
    settled(two_workers, 2)
    with engine(*blocks(X, ys[kind]), client=two_workers, patience=1.0) as rows:
        wanted = new(kind).fit(rows)
        rounds = rows.reads
    with engine(*blocks(X, ys[kind]), client=two_workers, patience=1.0) as rows:
        rows.total(lambda partition: partition.rows)
        holder = next(address for address, held in rows.loader.held.items() if 0 in held)
        victim, asked, ask = two_workers.run(os.getpid)[holder], [], rows.cluster.ask

        def struck(jobs):
            asked.append(jobs)
            if len(asked) == 5:
                os.kill(victim, how)
            return ask(jobs)

        rows.cluster.ask = struck
        try:
            found = new(kind).fit(rows)
        finally:
            if how == signal.SIGSTOP:
                os.kill(victim, signal.SIGCONT)
        assert len(asked) > 6
        assert rows.rebuilt > rows.partitions
        assert rows.reads == rounds + 1
    alike(found, wanted)
    settled(two_workers, 2)


@pytest.mark.parametrize("options", [{}, {"penalties": "per-feature", "max_iter": 3}])
@pytest.mark.filterwarnings("ignore:Stopped after max_iter=3")
def test_folds_through_joblibs_backend_of_dask(two_workers, options):
    rng = np.random.default_rng(0)
    X = sparse.random(200, 300, 0.05, format="csr", random_state=0)
    y = X @ rng.normal(size=300) + 0.3 * rng.normal(size=200) > 0
    here = hoag.LogisticRegressionCV(cv=3, **options).fit(X, y)
    with joblib.parallel_config(backend="dask", client=two_workers):
        there = hoag.LogisticRegressionCV(cv=3, n_jobs=2, **options).fit(X, y)
    for a, b in zip(numbers(here), numbers(there), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
