"""What standardize=True costs beside columns as they are: CPU seconds, passes, Gram matrices.

Five folds and refit, one thread, the best of seven fits; standard normal columns, of which
standardising changes nothing but the work.

    python benchmarks/standardize.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  (a BLAS of its own, which has to be there to be limited)
from scipy import sparse
from threadpoolctl import threadpool_limits

import hoag

RUNS = 7


def cases() -> Iterator[tuple[str, Any, Any, Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 20))
    z = X @ rng.normal(size=20) / 4
    yield "ridge, 300 000×20", hoag.RidgeCV, X, z + rng.normal(size=z.size)
    yield "logistic, 300 000×20", hoag.LogisticRegressionCV, X, z + rng.logistic(size=z.size) > 0
    S = sparse.random(5000, 8000, 0.005, "csr", rng=rng)
    z = 3 * (S @ rng.normal(size=8000))
    name = "logistic, 5000×8000, sparse"
    yield name, hoag.LogisticRegressionCV, S, z + rng.logistic(size=z.size) > 0
    X = rng.normal(size=(100, 5000))
    z = X[:, :20].sum(axis=1) + rng.normal(size=100)
    yield "ridge, 100×5000", hoag.RidgeCV, X, z
    yield "logistic, 100×5000", hoag.LogisticRegressionCV, X, z > 0


def measured(kind: Any, X: Any, y: Any, standardize: bool) -> str:
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        model = kind(cv=5, standardize=standardize).fit(X, y)
        seconds.append(time.process_time() - start)
    cost = model.result_.cost
    return f"{min(seconds):.2f} | {cost.passes:.0f} | {cost.grams:.0f}"


def main() -> None:
    warnings.simplefilter("ignore")
    of = "CPU seconds | passes | Gram matrices"
    print(f"| | {of} | standardised: {of} |")
    print("|---|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for name, *case in cases():
            plain, scaled = (measured(*case, standardize) for standardize in (False, True))
            print(f"| {name} | {plain} | {scaled} |", flush=True)


if __name__ == "__main__":
    main()
