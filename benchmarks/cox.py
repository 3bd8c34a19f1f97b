"""Cox regression on three groups of genes: concordance and likelihood on unseen rows, CPU seconds.

400 rows to fit on and 400 unseen ones, three groups of 1000 columns: strong effects, in all columns
or in fifty, a thousand weak ones, none. Times are exponential, half of them censored. Ours, five
folds, with a penalty for each group and with one, beside scikit-survival's CoxnetSurvivalAnalysis,
whose alpha is found by GridSearchCV over a path of its own, 20 values down to a tenth of the first
(below which concordance falls, and a fit takes minutes), five folds, by concordance. "deviance" is
twice what the unseen rows add to the negative log partial likelihood, for each event of theirs; "no
model" has w = 0. Means over seeds ± standard errors; one thread.

    python benchmarks/cox.py [--seeds 10] [--strong 1000 50] [--newton]

--strong is how many columns of the first group have an effect. --newton times one fit of
scikit-survival's CoxPHSurvivalAnalysis: a grid of ten alphas and five folds takes 51 of them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from threadpoolctl import threadpool_limits

import hoag
from hoag._glm.risk_sets import RiskSets
from hoag.linear_model import concordance

ROWS, GENES = 400, 1000
GROUPS = np.repeat([0, 1, 2], GENES)


def genes(seed: int, strong: int) -> tuple[Any, Any]:
    """Rows, those to fit on first, and their times and events."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(2 * ROWS, 3 * GENES)), np.zeros(3 * GENES)
    w[:strong] = rng.normal(size=strong) * 1.5 / np.sqrt(strong)
    w[GENES : 2 * GENES] = rng.normal(size=GENES) / np.sqrt(GENES)
    z = X @ w
    fallen = rng.exponential(size=2 * ROWS) * np.exp(-z)
    censored = rng.exponential(size=2 * ROWS) * np.exp(-rng.permutation(z))
    y = np.zeros(2 * ROWS, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = fallen <= censored, np.minimum(fallen, censored)
    return X, y


def deviance(X: Any, y: Any, coef: Any) -> float:
    """2 (L of all rows − L of the rows to fit on), for each unseen event."""
    inside, none = np.arange(2 * ROWS) < ROWS, np.zeros(2 * ROWS, dtype=int)
    values = [
        RiskSets(y["time"], y["event"], none, weights * 1.0).at(X @ coef).value
        for weights in (np.ones(2 * ROWS), inside)
    ]
    return 2 * float(values[0] - values[1]) / int(y["event"][~inside].sum())


def ours(penalties: Any) -> Callable[[Any, Any], Any]:
    def fit(X: Any, y: Any) -> Any:
        return hoag.CoxRegressionCV(penalties=penalties).fit(X, y).coef_

    return fit


def coxnet(l1_ratio: float) -> Callable[[Any, Any], Any]:
    def fit(X: Any, y: Any) -> Any:
        plain = CoxnetSurvivalAnalysis(l1_ratio=l1_ratio, n_alphas=20, alpha_min_ratio=0.1)
        alphas = [[alpha] for alpha in plain.fit(X, y).alphas_]
        splits = list(StratifiedKFold(5).split(X, y["event"]))
        grid = GridSearchCV(plain, {"alphas": alphas}, cv=splits, error_score=0.5).fit(X, y)
        return grid.best_estimator_.coef_[:, 0]

    return fit


METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "hoag, a penalty for each group": ours(GROUPS),
    "hoag, one penalty": ours("shared"),
    "CoxnetSurvivalAnalysis, l1_ratio=0.01": coxnet(0.01),
    "CoxnetSurvivalAnalysis, l1_ratio=0.5": coxnet(0.5),
    "no model": lambda X, y: np.zeros(X.shape[1]),
}


def told(values: list[float]) -> str:
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.3f} ± {spread:.3f}"


def newton() -> None:
    X, y = genes(0, GENES)
    start = time.process_time()
    CoxPHSurvivalAnalysis(alpha=1000.0).fit(X[:ROWS], y[:ROWS])
    print(f"CoxPHSurvivalAnalysis, one fit: {time.process_time() - start:.0f} s")


def line(strong: int, name: str, fit: Callable[[Any, Any], Any], seeds: int) -> None:
    pairs, deviances, seconds = [], [], []
    for seed in range(seeds):
        X, y = genes(seed, strong)
        start = time.process_time()
        coef = fit(X[:ROWS], y[:ROWS])
        seconds.append(time.process_time() - start)
        pairs.append(concordance(y[ROWS:], X[ROWS:] @ coef))
        deviances.append(deviance(X, y, coef))
    figures = f"{told(pairs)} | {told(deviances)} | {np.mean(seconds):.1f}"
    print(f"| {strong} | {name} | {figures} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--strong", type=int, nargs="+", default=[GENES, 50])
    parser.add_argument("--newton", action="store_true")
    args = parser.parse_args()
    if args.newton:
        newton()
        return
    print("| strong | method | concordance | deviance | seconds |\n|---|---|---|---|---|")
    for strong in args.strong:
        for name, fit in METHODS.items():
            line(strong, name, fit, args.seeds)


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
