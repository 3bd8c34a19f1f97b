"""hoag's estimators beside scikit-learn's own and Optuna: seconds, held-out loss, third-set loss.

Each data set is cut in two: rows to tune and train on, by the same 5 folds for everybody (leave-
one-out for ridge), and rows that nobody sees. The held-out loss is that of the penalty chosen,
recomputed in the same way for everybody; seconds are the median of a few runs on one thread.

    python benchmarks/estimators.py [name ...]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import optuna
from sklearn import linear_model
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import hoag
from hoag import datasets

optuna.logging.set_verbosity(optuna.logging.WARNING)
TRIALS = 30


class Task(NamedTuple):
    """Rows to tune on, rows that nobody sees, and how often to run."""

    name: str
    kind: str
    X: Any
    y: Any
    X_unseen: Any
    y_unseen: Any
    runs: int


def tasks() -> Iterator[Callable[[], Task]]:
    yield lambda: task("breast_cancer", "logistic", 5)
    yield lambda: task("digits", "logistic", 3)
    yield lambda: task("diabetes", "ridge", 5)
    yield lambda: task("diabetes", "kernel", 3)
    if datasets.present("parkinsons"):
        yield lambda: task("parkinsons", "kernel", 1, most=1200)
    if datasets.present("20news"):
        yield lambda: task("20news", "logistic", 1, unseen=2 / 3)
    if datasets.present("imdb"):
        yield lambda: task("imdb", "logistic", 1, unseen=2 / 3)
    if datasets.present("mnist"):
        yield lambda: task("mnist", "logistic", 1, most=3000)


def task(name: str, kind: str, runs: int, unseen: float = 1 / 3, most: int = 0) -> Task:
    X, y = datasets.load(name).X_y
    order = np.random.default_rng(0).permutation(len(y))
    seen, rest = np.split(order, [int(len(y) * (1 - unseen))])
    if most:
        seen, rest = seen[:most], rest[:5000]
    parts = X[seen], X[rest]
    y_parts = y[seen], y[rest]
    if name in ("breast_cancer", "diabetes", "parkinsons"):
        scaler = StandardScaler().fit(parts[0])
        parts = scaler.transform(parts[0]), scaler.transform(parts[1])
    if name == "digits":
        parts = parts[0] / 16, parts[1] / 16
    if kind == "kernel":
        y_parts = y_parts[0] - y_parts[0].mean(), y_parts[1] - y_parts[0].mean()
    return Task(name, kind, parts[0], y_parts[0], parts[1], y_parts[1], runs)


def folds(task: Task) -> list[Any]:
    splitter = StratifiedKFold(5) if task.kind == "logistic" else KFold(5)
    return list(splitter.split(task.X, task.y))


def ours(task: Task) -> Any:
    if task.kind == "ridge":
        return hoag.RidgeCV()
    if task.kind == "kernel":
        return hoag.KernelRidgeCV(cv=folds(task), fit_intercept=False)  # as the others
    return hoag.LogisticRegressionCV(cv=folds(task))


def theirs(task: Task) -> Any:
    if task.kind == "ridge":
        return linear_model.RidgeCV(alphas=np.logspace(-4, 4, 10))
    if task.kind == "kernel":
        grid = {"alpha": np.logspace(-5, 3, 10), "gamma": np.logspace(-5, 1, 10)}
        return GridSearchCV(
            KernelRidge(kernel="rbf"), grid, cv=folds(task), scoring="neg_mean_squared_error"
        )
    return linear_model.LogisticRegressionCV(
        Cs=10, cv=folds(task), scoring="neg_log_loss", max_iter=1000, use_legacy_attributes=False
    )


class OptunaSearch:
    """30 trials of Optuna's default sampler over the bounds of the grids above, then a fit."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def fit(self, X: Any, y: Any) -> OptunaSearch:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(self._objective, n_trials=TRIALS)
        self.lam_ = np.array([study.best_params[name] for name in sorted(study.best_params)])
        self.model_ = plain(self.task, self.lam_).fit(X, y)
        return self

    def _objective(self, trial: Any) -> float:
        task = self.task
        if task.kind == "kernel":
            lam = [trial.suggest_float("a", -11.5, 2.3), trial.suggest_float("b", -11.5, 6.9)]
        else:
            lam = [trial.suggest_float("a", -9.2, 9.2)]
        if task.kind == "ridge":
            model = linear_model.RidgeCV(alphas=[np.exp(lam[0])]).fit(task.X, task.y)
            return -float(model.best_score_)
        losses = []
        for train, test in folds(task):
            model = plain(task, lam).fit(task.X[train], task.y[train])
            losses.append(len(test) * loss(task, model, task.X[test], task.y[test]))
        return sum(losses) / len(task.y)


def plain(task: Task, lam: Any) -> Any:
    if task.kind == "logistic":
        return linear_model.LogisticRegression(C=float(np.exp(-lam[0])), max_iter=1000)
    if task.kind == "ridge":
        return linear_model.Ridge(alpha=float(np.exp(lam[0])))
    gamma, alpha = np.exp(lam)
    return KernelRidge(kernel="rbf", gamma=float(gamma), alpha=float(alpha))


def loss(task: Task, model: Any, X: Any, y: Any) -> float:
    if task.kind == "logistic":
        return float(log_loss(y, model.predict_proba(X), labels=np.unique(task.y)))
    return float(np.mean((y - model.predict(X)) ** 2))


def chosen(model: Any) -> Any:
    """λ as the search left it."""
    if hasattr(model, "lam_"):
        return model.lam_
    if hasattr(model, "best_params_"):
        return np.log([model.best_params_["gamma"], model.best_params_["alpha"]])
    return np.log([model.alpha_]) if hasattr(model, "alpha_") else -np.log([model.C_])


def main(names: list[str]) -> None:
    print(f"{'data':15}{'model':10}{'rows':>7}{'columns':>9}  {'method':28}"
          f"{'seconds':>9}{'held out':>13}{'unseen':>13}  λ")  # fmt: skip
    for make in tasks():
        task = make()
        if names and task.name not in names:
            continue
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judge = ours(task)
            for method, build in (
                ("hoag", ours),
                ("scikit-learn, grid", theirs),
                ("Optuna, 30 trials", OptunaSearch),
            ):
                seconds = []
                for _ in range(task.runs):
                    start = time.perf_counter()
                    model = build(task).fit(task.X, task.y)
                    seconds.append(time.perf_counter() - start)
                lam = chosen(model)
                fitted = model.model_ if method.startswith("Optuna") else model
                held_out = judge.criterion_at(lam, task.X, task.y)
                print(f"{task.name:15}{task.kind:10}{task.X.shape[0]:7}{task.X.shape[1]:9}  "
                      f"{method:28}{np.median(seconds):9.3f}{held_out:13.6g}"
                      f"{loss(task, fitted, task.X_unseen, task.y_unseen):13.6g}  "
                      f"{np.array2string(np.ravel(lam), precision=3)}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
