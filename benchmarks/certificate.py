"""How near the certificate is to the truth.

python benchmarks/certificate.py             random problems of every model; unscaled columns
HOAG_DATA=... python benchmarks/certificate.py     and IMDB rows, at several λ and tolerances
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _data import thirds
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hoag
from hoag import datasets, models, solvers

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from test_certificate import draw, exact


def random_problems(n: int = 1000) -> None:
    rng = np.random.default_rng(0)
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(n):
        setting, problem, lam, eps = draw(rng)
        found = hoag.criteria.Implicit(problem).evaluate(lam, eps)
        truth = exact(setting, problem, lam, found)
        if truth is None:
            continue
        error = float(np.linalg.norm(found.grad - truth.grad))
        if error > 1e-9:
            free = setting.get("intercept") or setting.get("penalties") == "partly-free"
            name = str(setting["model"]).replace("ridge-2", "ridge")
            name += ", some coefficients free" if free else ""
            rows.setdefault(name, []).append((error, found.error, found.bound))
    print(
        "\n| model | draws | estimate within a factor 2 | bound / true error | infinite | below |"
    )
    print("|---|---|---|---|---|---|")
    for name in sorted(rows):
        error, estimate, bound = np.array(rows[name]).T
        near = np.mean((estimate < 2 * error) & (estimate > error / 2))
        finite = np.isfinite(bound)
        middle, high = np.quantile(bound[finite] / error[finite], [0.5, 0.9])
        print(
            f"| {name} | {len(error)} | {100 * near:.0f} % | {middle:.2g} ({high:.2g}) | "
            f"{int(np.sum(~finite))} | {int(np.sum(bound < error))} |"
        )


def unscaled_columns() -> None:
    """breast_cancer as it comes: columns from 1e-3 to 1e3, where the estimate is at its worst."""
    A, y = load_breast_cancer(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
    problem = models.logistic(A[train], y[train], A[test], y[test])
    reference = hoag.criteria.Implicit(problem, linear=solvers.Cholesky(), certificate=False)
    print("\n| breast_cancer, unscaled: λ | ε | linear solver | true error | estimate |")
    print("|---|---|---|---|---|")
    for value in (-6.0, 0.0, 6.0):
        for name, solver in (
            ("CG", solvers.CG()),
            ("CG, Jacobi", solvers.CG(preconditioner=solvers.jacobi)),
        ):
            lam = np.array([value])
            found = hoag.criteria.Implicit(problem, linear=solver).evaluate(lam, 0.1)
            error = abs(found.grad[0] - reference.evaluate(lam, 1e-13, found.warm).grad[0])
            print(f"| {value:g} | 0.1 | {name} | {error:.1e} | {found.error:.1e} |")


def imdb() -> None:
    if not datasets.present("imdb"):
        return
    A, y, A_test, y_test, *_ = thirds(*datasets.load("imdb").X_y, seed=0)
    problem = models.logistic(A, y, A_test, y_test)
    reference = hoag.criteria.Implicit(problem, certificate=False)
    print("\n| IMDB λ | ε | slope of f | true error | estimate | bound |")
    print("|---|---|---|---|---|---|")
    for value in (-4.0, -2.0, 0.0, 2.0):
        lam = np.array([value])
        for eps in (1e-1, 1e-2, 1e-3, 1e-4):
            found = hoag.criteria.Implicit(problem).evaluate(lam, eps)
            truth = reference.evaluate(lam, 1e-8, found.warm)
            error = abs(found.grad[0] - truth.grad[0])
            print(
                f"| {value:g} | {eps:g} | {truth.grad[0]:.1f} | {error:.1e} | "
                f"{found.error:.1e} | {found.bound:.1e} |"
            )


if __name__ == "__main__":
    random_problems()
    unscaled_columns()
    imdb()
