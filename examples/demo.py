"""Tune the penalty of a logistic regression on a data set that scikit-learn ships.

Shows progress, compares with scikit-learn's default C and with a grid of 10 values, and draws the
path of λ on the curve f(λ) into demo.png.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

import hoag

FOLDS = 5
START = 6.0  # far too much penalty; the search looks around before it begins


def main() -> None:
    A, y = load_breast_cancer(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    problems = hoag.models.folds(hoag.models.logistic, A, y, cv=FOLDS, intercept=True)
    print(f"breast_cancer: {A.shape[0]} rows, {A.shape[1]} features, {FOLDS}-fold log loss\n")

    with tqdm(desc="tuning λ", unit=" steps") as bar:

        def progress(step: hoag.Step) -> None:
            loss = step.evaluation.value / len(y)
            bar.set_postfix_str(f"λ = {step.lam[0]:+.3f}, held-out loss {loss:.5f}")
            bar.update()

        result = hoag.minimize(problems, lam0=START, callback=progress, certificate="bound")

    criterion = hoag.plan(problems)

    def held_out(lam: float) -> float:
        return criterion.value(np.array([lam]), 1e-8).value / len(y)

    grid = np.linspace(-12, 12, 10)
    on_grid = [held_out(lam) for lam in grid]
    best = int(np.argmin(on_grid))
    found = result.evaluation
    print(f"\n{'':28}{'C':>12}{'λ = −log C':>14}{'held-out loss':>16}")
    for name, lam, loss in (
        ("hoag", result.lam[0], held_out(result.lam[0])),
        ("scikit-learn's default", 0.0, held_out(0.0)),
        ("best of a 10-point grid", grid[best], on_grid[best]),
    ):
        print(f"{name:28}{np.exp(-lam):12.4g}{lam:14.4f}{loss:16.6f}")
    print(f"\n{result.status}")
    print(
        f"At λ = {result.lam[0]:.4f} the slope of the summed loss is {found.grad[0]:+.1e}, "
        f"estimated to be off by {found.error:.1e} and certainly by less than {found.bound:.1e}."
    )
    cost = result.cost
    print(
        f"{len(result.trace)} steps, {cost.passes:.0f} passes over the data "
        f"({cost.certificate:.0f} of them for the certificate), {cost.grams:.0f} Gram matrices."
    )
    draw(result, held_out, grid, on_grid, len(y))
    print("The path of λ on the curve is in demo.png.")


def draw(result: hoag.Result, held_out, grid, on_grid, n: int) -> None:  # type: ignore[no-untyped-def]
    path = np.array([step.lam[0] for step in result.trace])
    heights = np.array([step.evaluation.value for step in result.trace]) / n
    curve = np.linspace(-8, 8, 121)
    fig, ax = plt.subplots(figsize=(7, 4.3), layout="constrained")
    ax.plot(curve, [held_out(lam) for lam in curve], color="0.65", lw=2, zorder=1)
    ax.plot(path, heights, "-", color="#0072B2", lw=1, zorder=2)
    ax.scatter(path, heights, s=28, color="#0072B2", zorder=3, label="steps of hoag")
    ax.scatter(grid, on_grid, marker="s", s=26, color="#D55E00", zorder=2, label="10-point grid")
    ax.scatter(0, held_out(0.0), marker="D", s=36, color="black", zorder=2,
               label="scikit-learn's default, C = 1")  # fmt: skip
    for k in range(min(6, len(path))):
        ax.annotate(str(k + 1), (path[k], heights[k]), (6, -10), textcoords="offset points")
    ax.axvline(result.lam[0], color="#0072B2", lw=0.8, ls=":")
    ax.text(result.lam[0] - 0.1, 0.55, f"λ = {result.lam[0]:.3f}", color="#0072B2", rotation=90,
            ha="right", va="center", transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xlim(curve[0], curve[-1])
    ax.set_yscale("log")
    ax.set_xlabel("λ = log of the penalty (C = exp(−λ))")
    ax.set_ylabel("mean held-out log loss")
    ax.set_title("f(λ) for breast_cancer, 5 folds, and the way down")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("{x:g}")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.12, 1))
    fig.savefig("demo.png", dpi=130)


if __name__ == "__main__":
    main()
