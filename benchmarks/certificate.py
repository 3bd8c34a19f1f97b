"""How near the certificate is to the truth.

python benchmarks/certificate.py             random problems of every model
HOAG_DATA=... python benchmarks/certificate.py     and IMDB rows, at several λ and tolerances
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import data
import numpy as np

import hoag
from hoag import models
from hoag.linear import Cholesky

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from test_certificate import draw


def compare(problem: Any, lam: Any, eps: float, reference: Any) -> tuple[float, float, float]:
    """The true error of p, its estimate and its bound."""
    found = hoag.Implicit(problem).evaluate(lam, eps)
    truth = reference.evaluate(lam, 1e-13, found.warm)
    return float(np.linalg.norm(found.grad - truth.grad)), found.error, found.bound


def random_problems(n: int = 1000) -> None:
    rng = np.random.default_rng(0)
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(n):
        setting, problem, lam, eps = draw(rng)
        reference = hoag.Implicit(problem, linear=Cholesky(), certificate=False)
        error, estimate, bound = compare(problem, lam, eps, reference)
        if error > 1e-9:
            name = setting["model"] + (", intercept" if setting.get("intercept") else "")
            rows.setdefault(name, []).append((error, estimate, bound))
    print(
        "\n| model | draws | estimate within factor 2 | bound / true error, median (90 %) | below |"
    )
    print("|---|---|---|---|---|")
    for name in sorted(rows):
        error, estimate, bound = np.array(rows[name]).T
        near = np.mean((estimate < 2 * error) & (estimate > error / 2))
        middle, high = np.quantile(bound / error, [0.5, 0.9])
        below = int(np.sum(bound < error))
        print(
            f"| {name} | {len(error)} | {100 * near:.0f} % | {middle:.1f} ({high:.0f}) | {below} |"
        )


def imdb() -> None:
    root = data.folder()
    if root is None:
        return
    A, y, A_test, y_test, *_ = data.thirds(*data.imdb(root), seed=0)
    problem = models.logistic(A, y, A_test, y_test)
    reference = hoag.Implicit(problem, certificate=False)
    print("\n| IMDB λ | ε | slope of f | true error | estimate | bound |")
    print("|---|---|---|---|---|---|")
    for lam in (-4.0, -2.0, 0.0, 2.0):
        slope = reference.evaluate(np.array([lam]), 1e-8).grad[0]
        for eps in (1e-1, 1e-2, 1e-3, 1e-4):
            error, estimate, bound = compare(problem, np.array([lam]), eps, reference)
            print(
                f"| {lam:g} | {eps:g} | {slope:.1f} | {error:.1e} | {estimate:.1e} | {bound:.1e} |"
            )


if __name__ == "__main__":
    random_problems()
    imdb()
