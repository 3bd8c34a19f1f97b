"""Several penalties: CPU seconds, the loss reported, and one shared penalty beside it.

Five folds, refit included, one thread. The six smooth terms are cubic B-splines of 20 knots each,
2000 rows, with difference penalties and their straight parts free; "above" is how far the loss is
above the best of so many random starts. Parkinsons is kernel ridge with a width for each feature
beside one width, as benchmarks/estimators.py cuts its rows. MNIST is section 4 of
benchmarks/default_search.py: one hold-out, 1440 penalties, passes and seconds to a test loss. Both
need HOAG_DATA.

    python benchmarks/several.py [name ...] [--starts 20]

A name is a case, or how it begins: digits, breast_cancer, parkinsons, smooth, mnist.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import SplineTransformer, scale
from threadpoolctl import threadpool_limits

import hoag
from hoag import datasets

FOLDS = StratifiedKFold(5)


def digits() -> tuple[Any, Any]:
    return load_digits().data / 16, load_digits().target


def cancer() -> tuple[Any, Any]:
    return scale(load_breast_cancer().data), load_breast_cancer().target


def smooth_terms(seed: int) -> tuple[Any, Any, Any]:
    """Rows in a basis in which every term's penalty is ½‖·‖², y, and the group of each column."""
    rng, knots = np.random.default_rng(0), 20
    X = rng.uniform(size=(2000, 6))
    score = 2 * np.sin(2 * np.pi * X[:, 0]) + 8 * (X[:, 1] - 0.5) ** 2
    score += np.sin(12 * np.pi * X[:, 2]) + 2 * X[:, 3] - 1
    splines = SplineTransformer(knots - 2, knots=np.linspace(0, 1, knots - 2)[:, None])
    D = np.diff(np.eye(knots), n=2, axis=0)
    e, V = np.linalg.eigh(D.T @ D)
    columns, groups = [], []
    for j in range(6):
        B = splines.fit_transform(X[:, j : j + 1])
        columns += [B @ np.linspace(-1, 1, knots)[:, None], B @ (V[:, 2:] / np.sqrt(e[2:]))]
        groups += [-1] + [j] * (knots - 2)
    y = np.random.default_rng(100 + seed).uniform(size=2000) < 1 / (1 + np.exp(-score))
    return np.hstack(columns), y.astype(int), np.array(groups)


def timed(model: Any, X: Any, y: Any) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def row(name: str, X: Any, y: Any, several: Any, shared: Any) -> None:
    """A line for a model with several hyperparameters beside the same with one for all."""
    seconds, alone = timed(several, X, y), timed(shared, X, y)
    print(
        f"| {name} | {seconds:.2f} | {several.criterion_:.5f} | {alone:.2f} | "
        f"{shared.criterion_:.5f} | {seconds / alone:.1f} | {len(several.result_.trace)} | "
        f"{several.result_.status.reason} |",
        flush=True,
    )


def logistic(name: str, X: Any, y: Any, penalties: Any, shared: Any = "shared") -> None:
    several, one = (
        hoag.LogisticRegressionCV(penalties=each, cv=FOLDS) for each in (penalties, shared)
    )
    row(name, X, y, several, one)


def parkinsons() -> None:
    from estimators import loss, ours, task

    if not datasets.present("parkinsons"):
        print("<!-- Parkinsons is not here: hoag data fetch parkinsons, and set HOAG_DATA. -->")
        return
    rows = task("parkinsons", "kernel", runs=1, most=1200)
    several, one = ours(rows).set_params(widths="per-feature"), ours(rows)
    row("parkinsons, a width a feature (5 times one width's seconds asked)",
        rows.X, rows.y, several, one)  # fmt: skip
    unseen = [loss(rows, model, rows.X_unseen, rows.y_unseen) for model in (several, one)]
    print(f"<!-- on unseen rows: {unseen[0]:.5f}, with one width {unseen[1]:.5f} -->")


def mnist() -> None:
    from _measure import HEADER, record
    from _measure import row as line
    from default_search import pixels

    if not datasets.present("mnist"):
        print("<!-- MNIST is not here: hoag data fetch mnist, and set HOAG_DATA. -->")
        return
    print(f"\n{HEADER}")
    for what, figure in pixels("mnist", 0).items():
        print(line(record("mnist, 1440 penalties", what, [figure])), flush=True)


def above(seed: int, starts: int) -> float:
    """The loss of the default search over the best of random starts, less one."""
    X, y, groups = smooth_terms(seed)
    problems = hoag.models.folds(
        hoag.models.logistic, X, y, cv=FOLDS, intercept=True, penalties=groups
    )
    criterion, box = hoag.plan(problems), hoag.Box(-14.0, 14.0, size=6)
    found = hoag.optimize.Auto().minimize(criterion, box, np.zeros(6)).value

    def f(lam: Any) -> tuple[float, Any]:
        now = criterion.evaluate(lam)
        return now.value, now.grad

    rng, best = np.random.default_rng(seed), np.inf
    for _ in range(starts):
        start = rng.uniform(-6, 8, size=6)
        best = min(best, minimize(f, start, jac=True, bounds=[(-14, 14)] * 6).fun)
    return found / best - 1


def smooth(starts: int) -> None:
    for seed in range(10):
        X, y, groups = smooth_terms(seed)
        logistic(f"six smooth terms, seed {seed}", X, y, groups, np.where(groups >= 0, 0, -1))
        print(f"<!-- above the best of {starts} starts by {above(seed, starts):.1e} -->")


# By the number of random starts, which only one of them needs.
CASES: dict[str, Callable[[int], None]] = {
    "digits, a class": lambda _: logistic("digits, a class", *digits(), "per-class"),
    "digits, a feature": lambda _: logistic("digits, a feature", *digits(), "per-feature"),
    "breast_cancer": lambda _: logistic("breast_cancer, a feature", *cancer(), "per-feature"),
    "parkinsons": lambda _: parkinsons(),
    "smooth": smooth,
    "mnist": lambda _: mnist(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"beginnings of {', '.join(CASES)}; default: all")
    parser.add_argument("--starts", type=int, default=20)
    args = parser.parse_args()
    print("| data | seconds | loss | seconds, one | loss, one | times as long | steps | ended |")
    print("|---|---|---|---|---|---|---|---|")
    for name, case in CASES.items():
        if not args.names or any(name.startswith(given) for given in args.names):
            case(args.starts)


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
