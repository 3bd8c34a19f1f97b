"""Many penalties, one, and what lies between: the loss on rows that nobody tuned or trained on.

    HOAG_DATA=<folder> python benchmarks/shrink.py                all, a quarter of an hour
    python benchmarks/shrink.py diabetes noise                    some of them, by how they begin
    python benchmarks/shrink.py --seeds 2 --quick                 fewer seeds, and no large data

Every case is tuned four times: one penalty for all ("shared"), one for each feature or group
("of their own"), the same drawn to their mean with shrink="auto" ("shrunk"), and penalties that
side information explains (hoag.penalties.from_features). Losses are means over seeds of the data or
the split, as shares of the lower of the first two; "1.000" is as good as the better of them. τ are
the shrink_ of all seeds. Seeds begin at 100: what the code does was chosen on seeds below 20.
One thread; seconds are the processor's, of all four, the mean over seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import hoag
from hoag import datasets

FIRST = 100  # of the seeds
UNSEEN = 10_000  # rows of MNIST
WAYS = ("shared", "own", "shrunk", "from features")


class Case(NamedTuple):
    """An estimator with penalties of their own, rows to tune on, unseen ones, and what is known."""

    estimator: Any
    X: Any
    y: Any
    X_unseen: Any
    y_unseen: Any
    Z: Any
    groups: Any = None


def loss(model: Any, X: Any, y: Any) -> float:
    if hasattr(model, "predict_proba"):
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    return float(np.mean((y - model.predict(X)) ** 2))


def split(X: Any, y: Any, seed: int) -> tuple[Any, ...]:
    """Two thirds of a table, standardised, and the rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    seen, unseen = np.split(order, [2 * len(y) // 3])
    scaler = StandardScaler().fit(X[seen])
    return scaler.transform(X[seen]), y[seen], scaler.transform(X[unseen]), y[unseen]


def about_columns(A: Any, y: Any) -> Any:
    """What a column is like, without y: how heavy its tails are, and how like the others."""
    alike = np.abs(np.corrcoef(A.T)).mean(axis=0)
    return np.column_stack([np.log(np.mean(A**4, axis=0)), alike])


def diabetes(seed: int) -> Case:
    A, y, B, z = split(*load_diabetes(return_X_y=True), seed)
    return Case(hoag.RidgeCV(penalties="per-feature"), A, y, B, z, about_columns(A, y))


def breast_cancer(seed: int) -> Case:
    A, y, B, z = split(*load_breast_cancer(return_X_y=True), seed)
    model = hoag.LogisticRegressionCV(penalties="per-feature")
    return Case(model, A, y, B, z, about_columns(A, y))


def diabetes_and_noise(seed: int) -> Case:
    """50 columns of noise beside the 10; the side information says which are of a kind, at 80 %."""
    rng, (X, y) = np.random.default_rng(seed), load_diabetes(return_X_y=True)
    A, y, B, z = split(np.c_[X, rng.normal(size=(len(y), 50))], y, seed)
    hint = (np.arange(60) < 10) ^ (rng.uniform(size=60) < 0.2)
    return Case(hoag.RidgeCV(penalties="per-feature"), A, y, B, z, hint.astype(float))


def few_of_many(seed: int) -> Case:
    """400 rows of 60 normal features, of which 5 matter; side information of pure noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4400, 60))
    y = X[:, :5].sum(axis=1) + 2 * rng.normal(size=4400)
    model = hoag.RidgeCV(penalties="per-feature")
    return Case(model, X[:400], y[:400], X[400:], y[400:], rng.normal(size=60))


def noise_groups(seed: int, binary: bool = False, real: int = 3) -> Case:
    """300 rows of 20 groups of 8 columns, of which 3 matter; Z tells a group's kind, at 90 %."""
    rng, n, many, size = np.random.default_rng(seed), 300, 20, 8
    X, w = rng.normal(size=(10 * n, many * size)), np.zeros(many * size)
    w[: real * size] = 2 * rng.normal(size=real * size) / np.sqrt(real * size)
    score = X @ w
    y = score + 2 * rng.normal(size=len(X))
    if binary:
        y = (rng.uniform(size=len(X)) < 1 / (1 + np.exp(-score))).astype(int)
    groups = np.repeat(np.arange(many), size)
    model = (hoag.LogisticRegressionCV if binary else hoag.RidgeCV)(penalties=groups)
    hint = (np.arange(many) < real) ^ (rng.uniform(size=many) < 0.1)
    hint[0], hint[-1] = True, False  # no constant column
    return Case(model, X[:n], y[:n], X[n:], y[n:], hint.astype(float), groups)


def genes(seed: int) -> Case:
    """72 rows of 7129 columns in 12 groups, with common factors; 2 groups tell the class.

    Z is the log of a group's size, and how much its columns vary together.
    """
    rng, n, p, many = np.random.default_rng(seed), 72, 7129, 12
    groups = np.sort(rng.integers(many, size=p))
    groups[:many] = np.arange(many)  # none is empty
    factors = rng.normal(size=(n + 1000, many))
    X = rng.normal(size=(n + 1000, p)) + 0.3 * factors[:, groups]
    score = 2 * (factors[:, 0] + factors[:, 1])
    y = (score + rng.logistic(size=len(X)) > 0).astype(int)
    A = X[:n]
    together = [np.mean(A[:, groups == g].mean(axis=1) ** 2) for g in range(many)]
    Z = np.column_stack([np.log(np.bincount(groups)), np.log(together)])
    model = hoag.LogisticRegressionCV(penalties=groups)
    return Case(model, A, y[:n], X[n:], y[n:], Z, groups)


def mnist(seed: int, rows: int) -> Case:
    """12 × 12 pixels, 10 classes; Z is the mean, log variance and distance from the centre.

    Three folds, for the time that a penalty for each pixel takes.
    """
    X, y = datasets.load("mnist").X_y
    order = np.random.default_rng(seed).permutation(len(y))
    seen, unseen = order[:rows], order[-UNSEEN:]
    A, (i, j) = X[seen], np.divmod(np.arange(144), 12)
    spread = np.log(A.var(axis=0) + 1e-3 * A.var())
    Z = np.column_stack([A.mean(axis=0), spread, np.hypot(i - 5.5, j - 5.5)])
    model = hoag.LogisticRegressionCV(penalties="per-feature", cv=3, max_iter=60)
    return Case(model, A, y[seen], X[unseen], y[unseen], Z)


def words(seed: int, rows: int = 2000, least: int = 3) -> Case:
    """20news, two classes: the words of at least 3 of 2000 texts; Z is the log of in how many."""
    X, y = datasets.load("20news").X_y
    order = np.random.default_rng(seed).permutation(len(y))
    seen, unseen = order[:rows], order[rows:]
    A = sparse.csr_matrix(X[seen])
    count = np.bincount(A.indices, minlength=A.shape[1])
    kept = np.flatnonzero(count >= least)
    model = hoag.LogisticRegressionCV(penalties="per-feature", cv=3, max_iter=60)
    return Case(model, A[:, kept], y[seen], X[unseen][:, kept], y[unseen], np.log(count[kept]))


class Row(NamedTuple):
    name: str
    make: Callable[[int], Case]
    seeds: int
    needs: str = ""


ROWS = (
    Row("diabetes, 10 penalties", diabetes, 10),
    Row("breast_cancer, 30", breast_cancer, 10),
    Row("diabetes and noise, 60", diabetes_and_noise, 10),
    Row("few of 60 features matter", few_of_many, 10),
    Row("noise groups, 3 of 20 real", noise_groups, 10),
    Row("noise groups, two classes", lambda seed: noise_groups(seed, binary=True), 10),
    Row("groups, all of 20 real", lambda seed: noise_groups(seed, real=20), 10),
    Row("genes, 72×7129 in 12 groups", genes, 3),
    Row("MNIST 1000, 144", lambda seed: mnist(seed, 1000), 2, "mnist"),
    Row("20news 2000, a penalty a word", words, 1, "20news"),
    Row("MNIST 10 000, 144", lambda seed: mnist(seed, 10_000), 1, "mnist"),
)


def ways(case: Case) -> Iterator[Any]:
    """The four models, unfitted."""
    own = case.estimator
    yield clone(own).set_params(penalties="shared")
    yield own
    yield clone(own).set_params(shrink="auto")
    known = hoag.penalties.from_features(case.Z, groups=case.groups)
    yield clone(own).set_params(penalties=known)


def measured(row: Row, seeds: int) -> str:
    losses, taus, start = [], [], time.process_time()
    for seed in range(FIRST, FIRST + seeds):
        case, found = row.make(seed), []
        for model in ways(case):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(case.X, case.y)
            found.append(loss(model, case.X_unseen, case.y_unseen))
            taus += [model.shrink_] if model.shrink == "auto" else []
        losses.append(found)
    mean = np.mean(losses, axis=0)
    shares = mean / mean[:2].min()
    seconds = (time.process_time() - start) / seeds
    told = ", ".join("∞" if t == np.inf else f"{t:g}" for t in sorted(taus, reverse=True))
    figures = " | ".join(f"{share:.3f}" for share in shares)
    verdict = "reached" if shares[2] <= 1.01 else f"missed by {shares[2] - 1.01:.1%}"
    return f"| {row.name} | {mean[0]:.4g} | {figures} | {told} | {verdict} | {seconds:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases, by how their names begin")
    parser.add_argument("--seeds", type=int, help="at most so many a case")
    parser.add_argument("--quick", action="store_true", help="no data that have to be there")
    args = parser.parse_args()
    titles = ["data, and how many", "shared, loss", *WAYS, "τ", "≤ 1.01", "seconds"]
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for row in ROWS:
        if args.names and not any(row.name.startswith(name) for name in args.names):
            continue
        if row.needs and (args.quick or not datasets.present(row.needs)):
            continue
        with threadpool_limits(1):
            print(measured(row, min(row.seeds, args.seeds or row.seeds)), flush=True)


if __name__ == "__main__":
    main()
