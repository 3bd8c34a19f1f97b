"""Many targets with bands of features, beside himalaya's random search: CPU seconds, test error.

600 rows to tune and train on, 2000 unseen; 200 standard normal features in 4 bands, whose normal
coefficients have the spreads 1, 0.3, 0.05 and 0: in the same order for all targets ("common"), or
in an order of each target's own ("own"). The error is the mean over the targets of the squared
error of unseen rows, divided by their variance (1 − R²); the first row is that of the true
coefficients. Five folds, refit included, one thread. GroupRidgeCV draws weights of the bands,
tries 20 alphas for each draw, and keeps the best draw and alpha for each target.

    python benchmarks/targets.py [--targets 40] [--noise 2] [--draws 20 100]

himalaya is no dependency: without `pip install himalaya` its rows are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401  (a BLAS of its own, which has to be there to be limited)
from threadpoolctl import threadpool_limits

import hoag

try:
    from himalaya.ridge import GroupRidgeCV
except ImportError:
    GroupRidgeCV = None

ROWS, UNSEEN = 600, 2000
SPREADS = np.array([1.0, 0.3, 0.05, 0.0])
BANDS = np.repeat(np.arange(4), 50)
ALPHAS = np.logspace(-3, 5, 20)


class Data(NamedTuple):
    X: Any
    Y: Any
    X_unseen: Any
    Y_unseen: Any
    coef: Any

    def error(self, predicted: Any) -> float:
        squared = np.mean((self.Y_unseen - predicted) ** 2, axis=0)
        return float(np.mean(squared / self.Y_unseen.var(axis=0)))


def data(targets: int, own: bool, noise: float) -> Data:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS + UNSEEN, BANDS.size))
    spreads = np.tile(SPREADS[:, None], targets)
    if own:
        spreads = rng.permuted(spreads, axis=0)
    coef = rng.normal(size=(BANDS.size, targets)) * spreads[BANDS]
    Y = X @ coef + noise * rng.normal(size=(ROWS + UNSEEN, targets))
    return Data(X[:ROWS], Y[:ROWS], X[ROWS:], Y[ROWS:], coef)


def methods(targets: int, draws: list[int]) -> Iterator[tuple[str, Any]]:
    each = BANDS[:, None] + SPREADS.size * np.arange(targets)
    yield "hoag, bands shared by all targets", hoag.RidgeCV(penalties=BANDS, cv=5)
    yield "hoag, bands for each target", hoag.RidgeCV(penalties=each, cv=5)
    for count in draws if GroupRidgeCV is not None else ():
        options = {"n_iter": count, "alphas": ALPHAS, "progress_bar": False}
        yield (
            f"himalaya, {count} draws",
            GroupRidgeCV(
                groups=BANDS, cv=5, fit_intercept=True, random_state=0, solver_params=options
            ),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", type=int, default=40)
    parser.add_argument("--noise", type=float, default=2.0, help="its standard deviation")
    parser.add_argument("--draws", type=int, nargs="*", default=[20, 100], help="of himalaya")
    args = parser.parse_args()
    if GroupRidgeCV is None:
        print("himalaya is not here (pip install himalaya): its rows are left out.\n")
    print("| targets | spreads | method | CPU seconds | error over variance |")
    print("|---|---|---|---|---|")
    for name in ("common", "own"):
        made = data(args.targets, name == "own", args.noise)
        begins = f"| {args.targets} | {name} |"
        print(f"{begins} the true coefficients | | {made.error(made.X_unseen @ made.coef):.4f} |")
        for method, model in methods(args.targets, args.draws):
            start = time.process_time()
            model.fit(made.X, made.Y)
            seconds = time.process_time() - start
            error = made.error(model.predict(made.X_unseen))
            print(f"{begins} {method} | {seconds:.2f} | {error:.4f} |", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
