"""When are finer penalties worth it? By the loss on rows that neither training nor tuning saw.

First tables of a few hundred rows, two thirds of them to tune and train on, means of five splits.
Then MNIST, one hold-out against five folds: 1000 digits to tune and train on, 5000 unseen. The
criterion is what the search saw; how far the loss on unseen rows is above it is how far it
overfitted what it was tuned on.

    HOAG_DATA=<folder> python benchmarks/overfitting.py [rows of MNIST]
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import hoag
from hoag import datasets

UNSEEN = 5000
SPLITS = 5


def few_of_many(seed: int) -> tuple[Any, Any]:
    """600 rows of 60 normal features, of which 5 matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 60))
    return X, X[:, :5].sum(axis=1) + 2 * rng.normal(size=600)


def with_noise(seed: int) -> tuple[Any, Any]:
    """diabetes with 50 columns of noise beside its 10."""
    X, y = load_diabetes(return_X_y=True)
    return np.c_[X, np.random.default_rng(seed).normal(size=(len(y), 50))], y


def tables() -> None:
    print(f"{'data':24}{'penalties':14}{'criterion':>10}{'unseen':>10}")
    for name, load, estimator in (
        ("breast_cancer", lambda _: load_breast_cancer(return_X_y=True), hoag.LogisticRegressionCV),
        ("diabetes", lambda _: load_diabetes(return_X_y=True), hoag.RidgeCV),
        ("diabetes + 50 of noise", with_noise, hoag.RidgeCV),
        ("5 of 60 matter", few_of_many, hoag.RidgeCV),
    ):
        for penalties in ("shared", "per-feature"):
            criteria, losses = [], []
            for seed in range(SPLITS):
                X, y = load(seed)
                order = np.random.default_rng(seed).permutation(len(y))
                seen, unseen = np.split(order, [2 * len(y) // 3])
                scaler = StandardScaler().fit(X[seen])
                A, B = scaler.transform(X[seen]), scaler.transform(X[unseen])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = estimator(penalties=penalties).fit(A, y[seen])
                criteria.append(model.criterion_)
                if hasattr(model, "predict_proba"):
                    losses.append(log_loss(y[unseen], model.predict_proba(B)))
                else:
                    losses.append(np.mean((y[unseen] - model.predict(B)) ** 2))
            print(f"{name:24}{penalties:14}{np.mean(criteria):10.4g}{np.mean(losses):10.4g}",
                  flush=True)  # fmt: skip


def mnist(rows: int) -> None:
    if not datasets.present("mnist"):
        print("MNIST is not here: hoag data fetch mnist.")
        return
    A, y = datasets.load("mnist").X_y
    order = np.random.default_rng(0).permutation(len(y))
    seen, unseen = order[:rows], order[rows : rows + UNSEEN]
    print(f"{'penalties':18}{'number':>7}  {'validation':18}{'criterion':>10}{'unseen':>9}"
          f"{'steps':>7}{'seconds':>9}")  # fmt: skip
    for penalties in ("shared", "per-class", "per-feature", "per-coefficient"):
        for name, cv in (
            ("one hold-out, 1/3", StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)),
            ("5 folds", StratifiedKFold(5, shuffle=True, random_state=0)),
        ):
            start = time.perf_counter()
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = hoag.LogisticRegressionCV(penalties=penalties, cv=cv, max_iter=60)
                model.fit(A[seen], y[seen])
            seconds = time.perf_counter() - start
            loss = log_loss(y[unseen], model.predict_proba(A[unseen]))
            print(f"{penalties:18}{model.lam_.size:7}  {name:18}{model.criterion_:10.4f}{loss:9.4f}"
                  f"{model.n_iter_:7}{seconds:9.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    tables()
    mnist(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
