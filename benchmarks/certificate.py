"""How near the certificate is to the truth.

python benchmarks/certificate.py             random problems of every model
HOAG_DATA=... python benchmarks/certificate.py     and IMDB rows, at several λ and tolerances
"""

from __future__ import annotations

import sys
from pathlib import Path

import data
import numpy as np

import hoag
from hoag import models

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from test_certificate import draw, exact


def random_problems(n: int = 1000) -> None:
    rng = np.random.default_rng(0)
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(n):
        setting, problem, lam, eps = draw(rng)
        found = hoag.Implicit(problem).evaluate(lam, eps)
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


def imdb() -> None:
    root = data.folder()
    if root is None:
        return
    A, y, A_test, y_test, *_ = data.thirds(*data.imdb(root), seed=0)
    problem = models.logistic(A, y, A_test, y_test)
    reference = hoag.Implicit(problem, certificate=False)
    print("\n| IMDB λ | ε | slope of f | true error | estimate | bound |")
    print("|---|---|---|---|---|---|")
    for value in (-4.0, -2.0, 0.0, 2.0):
        lam = np.array([value])
        for eps in (1e-1, 1e-2, 1e-3, 1e-4):
            found = hoag.Implicit(problem).evaluate(lam, eps)
            truth = reference.evaluate(lam, 1e-8, found.warm)
            error = abs(found.grad[0] - truth.grad[0])
            print(
                f"| {value:g} | {eps:g} | {truth.grad[0]:.1f} | {error:.1e} | "
                f"{found.error:.1e} | {found.bound:.1e} |"
            )


if __name__ == "__main__":
    random_problems()
    imdb()
