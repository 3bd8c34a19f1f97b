"""Tune two penalties of a ridge regression on a data set that scikit-learn ships.

442 patients, ten measurements of each, and their 55 squares and products: what predicts how the
disease goes on? The measurements deserve another penalty than the products. Shows progress,
compares with one penalty for all columns and with a grid, and draws the way down into demo.png.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV as PlainRidgeCV
from sklearn.preprocessing import PolynomialFeatures, scale
from tqdm import tqdm

import hoag
from hoag.plot import ContourDisplay, CostDisplay

FOLDS, GRID = 5, 15


def main() -> None:
    measured, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(2, include_bias=False).fit_transform(scale(measured))
    group = np.arange(X.shape[1]) >= measured.shape[1]  # 0: measured, 1: squares and products
    print(f"diabetes: {X.shape[0]} rows, {X.shape[1]} columns in two groups, {FOLDS} folds\n")

    with tqdm(desc="tuning two penalties", unit=" steps") as bar:

        def progress(step: hoag.optimize.Step) -> None:
            first, second = np.exp(step.lam)
            loss = step.evaluation.value
            bar.set_postfix_str(f"α = {first:.3g} and {second:.3g}, squared error {loss:.0f}")
            bar.update()

        model = hoag.RidgeCV(
            penalties=group.astype(int),
            standardize=True,
            cv=FOLDS,
            search=hoag.optimize.Auto(starts=1),
            callback=progress,
        )
        model.fit(X, y)

    shared = hoag.RidgeCV(standardize=True, cv=FOLDS).fit(X, y)
    plain = PlainRidgeCV(cv=FOLDS).fit(scale(X), y)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 8.4), height_ratios=(1.25, 1), layout="constrained"
    )
    shown = ContourDisplay.from_estimator(model, X, y, ax=above, grid=GRID)
    assert shown.surface is not None
    along_x, along_y, values = shown.surface
    i, j = np.unravel_index(np.argmin(values), values.shape)
    default = np.log(plain.alpha_)
    print(f"\n{'penalty α of':42}{'measured':>10}{'products':>10}{'squared error':>16}")
    for name, lam, loss in (
        ("hoag, two penalties", model.lam_, model.criterion_),
        (f"best of a {GRID} × {GRID} grid", (along_x[j], along_y[i]), values[i, j]),
        ("hoag, one penalty", np.repeat(shared.lam_, 2), shared.criterion_),
        ("scikit-learn's RidgeCV, α of 0.1, 1 or 10", (default, default),
         shared.criterion_at(default, X, y)),
    ):  # fmt: skip
        first, second = np.exp(lam)
        print(f"{name:42}{first:10.3g}{second:10.3g}{loss:16.1f}")
    cost, fit = (c.passes + c.grams for c in (model.result_.cost, model.refit_cost_))
    print(f"\n{model.result_.status}")
    print(
        f"{model.n_iter_} steps; with the fit on all rows they took the work of {cost / fit:.1f} "
        "fits of one model."
    )
    finish(above, model)
    CostDisplay.from_estimator(model, ax=below)
    below.set_title("What it cost")
    figure.savefig("demo.png", dpi=130)
    print("The way down is in demo.png.")


def finish(ax, model) -> None:  # type: ignore[no-untyped-def]
    """The numbers of the steps, and where both penalties are the same."""
    low, high = ax.get_xlim(), ax.get_ylim()
    ends = np.array([max(low[0], high[0]), min(low[1], high[1])])
    light = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
    ax.plot(ends, ends, "--", color="white", lw=1.2)
    ax.annotate("one penalty for both", ends[:1].repeat(2) + 0.5, (-6, 0), fontsize="small",
                ha="right", textcoords="offset points", bbox=light)  # fmt: skip
    for k, step in enumerate(model.result_.trace, start=1):
        ax.annotate(str(k), step.lam, (0, 9), textcoords="offset points", ha="center",
                    fontsize="small", bbox=light)  # fmt: skip
    ax.set(xlim=low, ylim=high, title="The way down: diabetes, 5 folds")
    ax.set_xlabel("penalty α of the 10 measurements (weak → strong)")
    ax.set_ylabel("penalty α of the 55 squares and products")


if __name__ == "__main__":
    main()
