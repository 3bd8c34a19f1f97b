"""Tuning one penalty beside scikit-learn's own classes: how many times as fast, and which loss.

Same folds, one thread, one run after another, refit included; the median of a few runs. The rival
is the faster of LogisticRegressionCV(Cs=10) by lbfgs and by newton-cholesky, RidgeCV with ten
alphas, or, where it says so, one fit of LogisticRegression at the C that we chose. The loss is the
mean of held-out rows: ours as reported, and that of the best of the rival's ten.

    python benchmarks/rivals.py [name ...]

A name is a row, or the beginning of several. Text needs HOAG_DATA.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import hoag
from hoag import datasets

ALPHAS = np.logspace(-4, 4, 10)


class Row(NamedTuple):
    """Data, what is fitted, how often, and how many times as fast as the rival it should be."""

    data: Callable[[], tuple[Any, Any]]
    kind: str  # "logistic", "one fit", "ridge folds" or "leave-one-out"
    runs: int
    wanted: float


def tall(n: int, p: int, **options: Any) -> Any:
    return lambda: make_classification(n, p, n_informative=p // 2, random_state=0, **options)


def binary_rows() -> Any:
    rng = np.random.default_rng(0)
    X = sparse.random(50000, 300, 0.05, "csr", random_state=rng, data_rvs=np.ones)
    return X, _labels(X, rng)


def one_hot() -> Any:
    rng, n = np.random.default_rng(0), 100000
    sizes = np.array([2, 2, 2, 5, 8, 12, 20, 30, 50, 100, 278])
    columns = np.minimum((rng.pareto(1.0, (n, sizes.size)) * sizes / 8).astype(int), sizes - 1)
    columns += np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ends = np.arange(0, columns.size + 1, sizes.size)
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), (n, int(sizes.sum())))
    return X, _labels(X, rng)


def _labels(X: Any, rng: Any) -> Any:
    weights = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.3)
    return (X @ weights + rng.logistic(size=X.shape[0]) > 0.5).astype(int)


def numbers(n: int, p: int) -> Any:
    def make() -> Any:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + 3.0
        return X, X @ rng.normal(size=p) / np.sqrt(p) + rng.normal(size=n)

    return make


def text(name: str) -> Any:
    return lambda: datasets.load(name).X_y


def by_rows(kind: str, wanted: float, *shapes: tuple[int, int]) -> dict[str, Row]:
    return {f"{kind} {n}×{p}": Row(numbers(n, p), kind, 7, wanted) for n, p in shapes}


WIDE = ((400, 195), (200, 150), (72, 7129))
LONG = ((300, 10), (5000, 20), (45000, 30))
ROWS: dict[str, Row] = {
    "logistic 1000000×20": Row(tall(1_000_000, 20), "one fit", 3, 1.0),
    "logistic 50000×22, 1:10": Row(
        tall(50000, 22, weights=[0.9], flip_y=0.02), "logistic", 5, 10.0
    ),
    "logistic 50000×54, 7 classes": Row(tall(50000, 54, n_classes=7), "logistic", 1, 10.0),
    "logistic 50000×300 sparse": Row(binary_rows, "logistic", 3, 3.0),
    "logistic 100000×509 one-hot": Row(one_hot, "logistic", 3, 5.0),
    "logistic digits": Row(
        lambda: (load_digits().data / 16, load_digits().target), "logistic", 3, 3.0
    ),
    "logistic breast_cancer": Row(
        lambda: (scale(load_breast_cancer().data), load_breast_cancer().target), "logistic", 7, 8.0
    ),
    "logistic 20news": Row(text("20news"), "one fit", 3, 0.25),
    "logistic imdb": Row(text("imdb"), "one fit", 3, 0.25),
    **by_rows("leave-one-out", 1.5, *LONG),
    **by_rows("ridge folds", 20.0, *LONG),
    **by_rows("ridge folds", 5.0, *WIDE),
}


def ours(kind: str, folds: Any) -> Any:
    if kind == "leave-one-out":
        return hoag.RidgeCV()
    return hoag.RidgeCV(cv=5) if kind == "ridge folds" else hoag.LogisticRegressionCV(cv=folds)


def rivals(kind: str, folds: Any, C: Any) -> dict[str, Any]:
    if kind == "leave-one-out":
        return {"RidgeCV": linear_model.RidgeCV(ALPHAS)}
    if kind == "ridge folds":
        return {"RidgeCV": linear_model.RidgeCV(ALPHAS, cv=5, scoring="neg_mean_squared_error")}
    if kind == "one fit":
        return {"one lbfgs fit": linear_model.LogisticRegression(C=C, max_iter=1000)}
    options = {"cv": folds, "scoring": "neg_log_loss", "max_iter": 1000}
    return {
        solver: linear_model.LogisticRegressionCV(
            Cs=10, solver=solver, use_legacy_attributes=False, l1_ratios=(0,), **options
        )
        for solver in ("lbfgs", "newton-cholesky")
    }


def loss(model: Any) -> float:
    """The least mean held-out loss of a rival's grid; nan for one fit."""
    if isinstance(model, linear_model.RidgeCV):
        return -float(model.best_score_)
    if isinstance(model, linear_model.LogisticRegressionCV):
        return -float(np.mean(np.asarray(model.scores_).reshape(5, -1), axis=0).max())
    return float("nan")


def timed(model: Any, X: Any, y: Any, runs: int) -> float:
    model.fit(X, y)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def main(names: list[str]) -> None:
    print("| data | seconds | rival | times as fast | wanted | loss | its loss |")
    print("|---|---|---|---|---|---|---|")
    for name, row in ROWS.items():
        if names and not any(name.startswith(given) for given in names):
            continue
        if name.split()[-1] in ("20news", "imdb") and not datasets.present(name.split()[-1]):
            continue
        X, y = row.data()
        logistic = row.kind in ("logistic", "one fit")
        folds = list(StratifiedKFold(5).split(np.zeros(len(y)), y)) if logistic else None
        model = ours(row.kind, folds)
        seconds = timed(model, X, y, row.runs)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        C = float(np.exp(-model.lam_[0]))
        found = {key: (timed(r, X, y, max(row.runs // 2, 1)), r)
                 for key, r in rivals(row.kind, folds, C).items()}  # fmt: skip
        best, (rival, fitted) = min(found.items(), key=lambda item: item[1][0])
        print(
            f"| {name} | {seconds:.3g} | {best} {rival:.3g} | {rival / seconds:.2g} | "
            f"{row.wanted:g} | {model.criterion_:.6g} | {loss(fitted):.6g} |",
            f"<!-- peak {peak:.2f} GB -->",
            flush=True,
        )


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main(sys.argv[1:])
