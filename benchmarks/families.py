"""Regressions of counts, costs and claims, and the other losses, beside what else tunes them.

    python benchmarks/families.py             50 000 × 300 and 5000 × 30; half an hour
    python benchmarks/families.py --quick     500 × 12, in a minute
    python benchmarks/families.py poisson huber

Rows are simulated: correlated columns, two thirds of them irrelevant, moderate overdispersion. Half
of them are tuned and trained on, by the same 5 folds for everybody; the loss is that of the other
half, which nobody sees. One thread; seconds are the processor's, so that what else the machine does
hardly counts, and the median of three runs, or of one where that took longer than `LONG`.

glum and scikit-learn have no exposure e: they fit y/e with weights e, which has the same minimiser
for counts. glum's path of alphas is its own; scikit-learn's grids have ten alphas. scikit-learn's
QuantileRegressor has an ℓ₁ penalty, ours ℓ₂.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import glum
import numpy as np
from _measure import alone
from sklearn import linear_model, metrics
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import LinearSVC

import hoag
from hoag._core.numeric import Array

POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
LONG = 20.0  # seconds: what takes longer is run once
CUTS = [0.3, 0.6, 0.8]  # shares of ordered classes


class Data(NamedTuple):
    """Rows, y, and the exposure of each row, which is 1 for all but counts."""

    X: Array
    y: Array
    exposure: Array


class Method(NamedTuple):
    name: str
    fit: Callable[[Data], Any]
    predict: Callable[[Any, Data], Array]


def simulated(kind: str, n: int, p: int, seed: int = 0) -> tuple[Data, Data]:
    """Two halves of one simulation."""
    rng = np.random.default_rng(seed)
    common, w = rng.normal(size=(p // 6, p)), np.zeros(p)
    w[: p // 3] = rng.normal(size=p // 3) * 0.5 / np.sqrt(p // 3)
    X = 0.7 * rng.normal(size=(2 * n, p))
    X += 0.7 * rng.normal(size=(2 * n, p // 6)) @ common / np.sqrt(p // 6)
    score = X @ w
    exposure = rng.uniform(0.2, 1.5, 2 * n) if kind == "poisson" else np.ones(2 * n)
    y = _drawn(kind, score, exposure, rng)
    return Data(X[:n], y[:n], exposure[:n]), Data(X[n:], y[n:], exposure[n:])


def _drawn(kind: str, score: Array, exposure: Array, rng: np.random.Generator) -> Array:
    n, mean, extra = score.size, np.exp(score - 1.0), rng.gamma(3.0, 1 / 3, score.size)
    if kind == "poisson":
        return rng.poisson(exposure * mean * extra).astype(float)
    if kind == "gamma":
        return mean * rng.gamma(1.5, 1 / 1.5, n)
    if kind == "tweedie":
        claims = rng.poisson(2 * mean * extra)
        return np.where(claims > 0, rng.gamma(2.0 * np.maximum(claims, 1), 50.0), 0.0)
    if kind == "huber":
        return score + 0.5 * rng.standard_t(1.5, size=n)
    noisy = score + rng.normal(size=n) * (0.5 if kind == "quantile" else 1.0)
    if kind == "svc":
        return (noisy > 0).astype(int)
    return noisy if kind == "quantile" else np.digitize(noisy, np.quantile(noisy, CUTS))


def of_means(kind: str) -> Iterator[Method]:
    """Everybody who tunes a regression with a log link."""
    ours = {
        "poisson": hoag.PoissonRegressorCV,
        "gamma": hoag.GammaRegressorCV,
        "tweedie": hoag.TweedieRegressorCV,
    }[kind]
    power = POWERS[kind]

    def fit_ours(d: Data) -> Any:
        if kind == "poisson":
            return ours(cv=KFold(5)).fit(d.X, d.y, exposure=d.exposure)
        return ours(cv=KFold(5)).fit(d.X, d.y)

    def fit_glum(alphas: int, d: Data) -> Any:
        family = glum.TweedieDistribution(power)
        model = glum.GeneralizedLinearRegressorCV(
            family=family, l1_ratio=0, n_alphas=alphas, cv=KFold(5), n_jobs=1
        )
        return model.fit(d.X, d.y / d.exposure, sample_weight=d.exposure)

    def fit_grid(solver: str, d: Data) -> Any:
        plain = linear_model.TweedieRegressor(power=power, link="log", solver=solver, max_iter=1000)
        grid = GridSearchCV(plain, {"alpha": np.logspace(-4, 2, 10)}, cv=KFold(5))
        return grid.fit(d.X, d.y / d.exposure, sample_weight=d.exposure)

    def scaled(model: Any, d: Data) -> Array:
        return d.exposure * model.predict(d.X)

    yield Method("hoag", fit_ours, scaled)
    yield Method("glum, 10 alphas", lambda d: fit_glum(10, d), scaled)
    yield Method("glum, its 100 alphas", lambda d: fit_glum(100, d), scaled)
    yield Method("grid of 10, newton-cholesky", lambda d: fit_grid("newton-cholesky", d), scaled)
    yield Method("grid of 10, lbfgs", lambda d: fit_grid("lbfgs", d), scaled)


def of_others(kind: str) -> Iterator[Method]:
    """Ours, and scikit-learn's plain model in a grid of ten, where it has one."""
    grids: dict[str, tuple[Any, dict[str, Any], str]] = {
        "huber": (
            linear_model.HuberRegressor(max_iter=1000),
            {"alpha": np.logspace(-4, 4, 10)},
            "neg_mean_absolute_error",
        ),
        "svc": (LinearSVC(max_iter=10000), {"C": np.logspace(-5, 2, 10)}, "accuracy"),
        "quantile": (
            linear_model.QuantileRegressor(quantile=0.9),
            {"alpha": np.logspace(-5, 0, 10)},
            metrics.make_scorer(metrics.mean_pinball_loss, greater_is_better=False, alpha=0.9),
        ),
    }
    ours: dict[str, Any] = {
        "huber": hoag.HuberRegressorCV(cv=KFold(5)),
        "svc": hoag.LinearSVCCV(cv=KFold(5)),
        "quantile": hoag.QuantileRegressorCV(quantile=0.9, cv=KFold(5)),
        "ordinal": hoag.OrdinalLogisticCV(cv=KFold(5)),
    }
    says = {"svc": "decision_function", "ordinal": "predict_proba"}.get(kind, "predict")

    def said(model: Any, d: Data) -> Array:
        return np.asarray(getattr(model, says)(d.X))

    yield Method("hoag", lambda d: ours[kind].fit(d.X, d.y), said)
    if kind in grids:
        model, grid, scoring = grids[kind]
        name = f"grid of 10, {type(model).__name__}" + (", ℓ₁" if kind == "quantile" else "")
        search = GridSearchCV(model, grid, cv=KFold(5), scoring=scoring)
        yield Method(name, lambda d: search.fit(d.X, d.y), said)
    elif kind == "ordinal":
        plain = linear_model.LogisticRegression(max_iter=1000)
        search = GridSearchCV(
            plain, {"C": np.logspace(-4, 4, 10)}, cv=KFold(5), scoring="neg_log_loss"
        )
        name = "grid of 10, LogisticRegression, multinomial"
        yield Method(name, lambda d: search.fit(d.X, d.y), said)


# What unseen rows are judged by, in words and as a function of y and predictions.
LOSSES: dict[str, tuple[str, Callable[[Array, Array], float]]] = {
    "huber": ("mean absolute error", metrics.mean_absolute_error),
    "svc": ("squared hinge", lambda y, z: float(np.mean(np.maximum(1 - (2 * y - 1) * z, 0) ** 2))),
    "quantile": ("pinball loss, 0.9", lambda y, z: metrics.mean_pinball_loss(y, z, alpha=0.9)),
    "ordinal": ("log loss", metrics.log_loss),
}


def judge(kind: str) -> tuple[str, Callable[[Array, Array], float]]:
    if kind not in POWERS:
        return LOSSES[kind]
    return "deviance", lambda y, mu: metrics.mean_tweedie_deviance(y, mu, power=POWERS[kind])


def measured(method: Method, seen: Data) -> tuple[float, Any]:
    """Processor seconds of a fit, and the model."""
    runs: list[float] = []
    while len(runs) < 3 and sum(runs) < LONG:
        start = time.process_time()
        model = method.fit(seen)
        runs.append(time.process_time() - start)
    return float(np.median(runs)), model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[*POWERS, *LOSSES, []])
    parser.add_argument("--quick", action="store_true", help="500 × 12, for a test")
    args = parser.parse_args()
    print("| model | rows | method | seconds | of ours | unseen loss |\n|---|---|---|---|---|---|")
    for kind in args.kinds or [*POWERS, *LOSSES]:
        n, p = (50_000, 300) if kind in POWERS else (5000, 30)
        n, p = (500, 12) if args.quick else (n, p)
        seen, unseen = simulated(kind, n, p)
        what, loss = judge(kind)
        first = 0.0
        for method in of_means(kind) if kind in POWERS else of_others(kind):
            with alone():
                seconds, model = measured(method, seen)
                lost = loss(unseen.y, method.predict(model, unseen))
            first = first or seconds
            print(
                f"| {kind} | {n} × {p} | {method.name} | {seconds:.3g} | {seconds / first:.3g} × | "
                f"{what} {lost:.6g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
