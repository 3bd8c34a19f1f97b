"""Several penalties: CPU seconds, the loss reported, and one shared penalty beside it.

Five folds, refit included, one thread. The six smooth terms are cubic B-splines of 20 knots each,
2000 rows, with difference penalties and their straight parts free; "above" is how far the loss is
above the best of so many random starts.

    python benchmarks/several.py [name ...] [--starts 20]
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


def timed(X: Any, y: Any, penalties: Any) -> tuple[float, Any]:
    start = time.process_time()
    model = hoag.LogisticRegressionCV(penalties=penalties, cv=FOLDS).fit(X, y)
    return time.process_time() - start, model


def row(name: str, X: Any, y: Any, penalties: Any, shared: Any) -> None:
    seconds, model = timed(X, y, penalties)
    alone, one = timed(X, y, shared)
    print(
        f"| {name} | {seconds:.2f} | {model.criterion_:.5f} | {alone:.2f} | {one.criterion_:.5f} | "
        f"{len(model.result_.trace)} | {model.result_.status.reason} |",
        flush=True,
    )


def above(seed: int, starts: int) -> float:
    """The loss of the default search over the best of random starts, less one."""
    X, y, groups = smooth_terms(seed)
    problems = hoag.models.folds(
        hoag.models.logistic, X, y, cv=FOLDS, intercept=True, penalties=groups
    )
    criterion, box = hoag.plan(problems), hoag.Box(-14.0, 14.0, size=6)
    found = hoag.search.Fast().minimize(criterion, box, np.zeros(6)).value

    def f(lam: Any) -> tuple[float, Any]:
        now = criterion.evaluate(lam)
        return now.value, now.grad

    rng, best = np.random.default_rng(seed), np.inf
    for _ in range(starts):
        start = rng.uniform(-6, 8, size=6)
        best = min(best, minimize(f, start, jac=True, bounds=[(-14, 14)] * 6).fun)
    return found / best - 1


CASES: dict[str, Callable[[], None]] = {
    "digits, a class": lambda: row("digits, a class", *digits(), "per-class", "shared"),
    "digits, a feature": lambda: row("digits, a feature", *digits(), "per-feature", "shared"),
    "breast_cancer": lambda: row("breast_cancer, a feature", *cancer(), "per-feature", "shared"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--starts", type=int, default=20)
    args = parser.parse_args()
    print("| data | seconds | loss | seconds, shared | loss, shared | steps | ended |")
    print("|---|---|---|---|---|---|---|")
    for name, case in CASES.items():
        if not args.names or any(name.startswith(given) for given in args.names):
            case()
    if args.names and not any("smooth".startswith(given) for given in args.names):
        return
    for seed in range(10):
        X, y, groups = smooth_terms(seed)
        row(f"six smooth terms, seed {seed}", X, y, groups, np.where(groups >= 0, 0, -1))
        print(f"<!-- above the best of {args.starts} starts by {above(seed, args.starts):.1e} -->")


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
