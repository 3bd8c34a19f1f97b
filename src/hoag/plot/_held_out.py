"""What models say of rows that they were not fitted to: pictures for a page, drawn on axes given.

truth, said and weights are of all held-out rows together, each predicted by the model of the fold
that left it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.numeric import Array
from hoag.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

POINTS = 1500  # rows in a picture
BINS = 10  # of predictions
NAMED = 6  # classes with a line of the legend


def folds(ax: Axes, own: Array, base: Array, loss: str, constant: str) -> None:
    """The loss of every fold, of the model and of a constant; a line from one to the other."""
    rows = np.arange(1, len(own) + 1)
    for row, model, other in zip(rows, own, base, strict=True):
        ax.plot((other, model), (row, row), "-", color=style.SOFT, lw=1)
    ax.plot(base, rows, "o", color="none", mec=style.ink(), ms=6, label=constant)
    ax.plot(own, rows, "o", color=style.PATH, ms=7, label="model")
    for values, color in ((base, style.ink()), (own, style.PATH)):
        ax.axvline(float(np.mean(values)), color=color, lw=0.8, ls=(0, (4, 3)), zorder=0)
    ax.set_yticks(rows, [f"fold {row}" for row in rows] if len(rows) <= 12 else [""] * len(rows))
    ax.set_ylim(len(own) + 0.6, 0.4)
    style.numbers(ax.xaxis)
    ax.set_xlabel(loss)
    style.legend(ax, columns=2)


def largest(ax: Axes, coef: Array, names: list[str], top: int = 14) -> None:
    """The largest coefficients, by their size; those below zero to the left."""
    coef = np.ravel(coef)
    order = np.argsort(-np.abs(coef), kind="stable")[:top]
    at = np.arange(order.size)
    colors = [style.PATH if coef[j] > 0 else style.BEST for j in order]
    ax.barh(at, coef[order], height=0.62, color=colors, alpha=0.8)
    ax.axvline(0, color=style.ink(), lw=0.8)
    ax.set_yticks(at, [style.short(names[j]) for j in order], fontsize="small")
    ax.set_ylim(order.size - 0.4, -0.6)
    style.numbers(ax.xaxis)
    ax.set_xlabel("coefficient × SD of column")


def roc(ax: Axes, truth: Any, chances: Array, weights: Array, classes: list[Any]) -> None:
    """True positives by false positives; of more than two classes each against the rest."""
    from sklearn.metrics import auc, roc_curve

    which = range(len(classes)) if len(classes) > 2 else [1]
    curves = []
    for k in which:
        hit = truth == classes[k]
        wrong, right, _ = roc_curve(hit, chances[:, k], sample_weight=weights)
        curves.append((auc(wrong, right), k, wrong, right))
    ax.plot((0, 1), (0, 1), "-", color=style.SOFT, lw=0.8)
    for place, (area, k, wrong, right) in enumerate(sorted(curves, key=lambda one: one[:2])):
        color, dash = style.LOOKS[place] if place < NAMED else (style.SOFT, "-")
        named = place < NAMED
        label = f"{style.short(str(classes[k]), 14)}: {area:.3f}" if named else None
        ax.plot(*_thinned(wrong, right), ls=dash, color=color, lw=1.6 if named else 0.7,
                label=label)  # fmt: skip
    _shares(ax, "share of others taken for it", "share found")
    title = "area under the curve" + (f", the {NAMED} least" if len(curves) > NAMED else "")
    ax.legend(
        title=title, loc="lower right", frameon=False, fontsize="small", title_fontsize="small"
    )


def calibration(ax: Axes, truth: Any, chances: Array, weights: Array, classes: list[Any]) -> None:
    """How often it happened, by what probability it was given: in ten bins of that.

    Of more than two classes every pair of row and class counts, all together.
    """
    which = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    said = chances[:, which].T.ravel()
    hit = np.concatenate([truth == classes[k] for k in which]).astype(float)
    weight = np.tile(weights, which.size)
    bins = np.minimum((BINS * said).astype(int), BINS - 1)
    parts = [bins == k for k in np.unique(bins)]
    x, y = (
        np.array([np.average(values[part], weights=weight[part]) for part in parts])
        for values in (said, hit)
    )
    count = np.array([weight[part].sum() ** 2 / (weight[part] ** 2).sum() for part in parts])
    error = np.sqrt(y * (1 - y) / count)
    ax.plot((0, 1), (0, 1), "-", color=style.SOFT, lw=0.8)
    ax.errorbar(x, y, yerr=error, fmt="o", ms=5, color=style.PATH, elinewidth=1)
    of = f" of {style.short(str(classes[1]), 14)}" if len(classes) == 2 else ""
    _shares(ax, f"predicted probability{of}", "share it happened")


def residuals(ax: Axes, truth: Array, said: Array, outside: float = 0.004) -> None:
    """What is left, by what was predicted; the means of bins say whether a bend was missed.

    Several targets are together, each in units of its standard deviation. The share `outside` of
    rows, above and below, may be out of the picture.
    """
    unit: Any = 1.0
    if truth.ndim == 2:
        unit = np.where(truth.std(axis=0) > 0, truth.std(axis=0), 1.0)
        said = said - truth.mean(axis=0)
        truth = truth - truth.mean(axis=0)
    left, x = np.ravel((truth - said) / unit), np.ravel(said / unit)
    cloud(ax, x, left, np.ones(x.size))
    low, high = np.quantile(left, (outside / 2, 1 - outside / 2))
    room = 0.1 * (high - low) or 1.0
    ax.set_ylim(low - room, high + room)
    style.numbers(ax.xaxis, ax.yaxis)
    ax.set(xlabel="predicted", ylabel="truth − predicted")


def cloud(ax: Axes, x: Array, left: Array, weights: Array) -> None:
    """What is left of rows by x, and its mean in tenths of them."""
    some = slice(None, None, -(-left.size // POINTS))
    ax.plot(x[some], left[some], "o", color=style.PATH, ms=3, alpha=0.6, mew=0)
    ax.axhline(0, color=style.ink(), lw=0.8)
    logs = ax.get_xscale() == "log"
    at, mean, error = tenths(np.log(x) if logs else x, left, weights)
    at = np.exp(at) if logs else at
    ax.errorbar(at, mean, yerr=error, fmt="s-", ms=5, lw=1.2, elinewidth=1.2, color=style.BEST,
                mec=style.DARK, mew=0.6, label="mean ± standard error")  # fmt: skip
    style.legend(ax, columns=1)


def truths(ax: Axes, truth: Array, said: Array, outside: float = 0.0) -> None:
    """The truth by what was predicted, of one target; `outside` as for residuals."""
    some = slice(None, None, -(-truth.size // POINTS))
    ax.plot(said[some], truth[some], "o", color=style.PATH, ms=3, alpha=0.6, mew=0)
    low, high = np.quantile(truth, (outside / 2, 1 - outside / 2))
    ends = [min(said.min(), low), max(said.max(), high)]
    ax.plot(ends, ends, "-", color=style.ink(), lw=0.8)
    if outside:
        ax.set_ylim(*(np.array(ends) + 0.03 * (ends[1] - ends[0]) * np.array([-1, 1])))
        ax.set_xlim(ax.get_ylim())
    style.numbers(ax.xaxis, ax.yaxis)
    ax.set(xlabel="predicted", ylabel="truth")


def weighted(
    first: ArrayLike, second: ArrayLike, weights: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Two numbers of every row, and its weight: 1 where there are none."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return one, other, np.ones(one.size) if weights is None else np.asarray(weights, dtype=float)


def tenths(x: Array, y: Array, weights: Array) -> Array:
    """The means of x and of y in each tenth of rows by x, and the standard error of the latter."""
    found = []
    for part in bins(x):
        share = weights[part] / weights[part].sum()
        mean = share @ y[part]
        found.append((share @ x[part], mean, np.sqrt(share**2 @ (y[part] - mean) ** 2)))
    return np.array(found).T


def bins(values: Array) -> list[Any]:
    """The rows in the order of values, in parts of about as many; equal values stay together."""
    order = np.argsort(values, kind="stable")
    ends = np.linspace(0, order.size, BINS + 1).astype(int)[1:-1]
    cuts = np.searchsorted(values[order], values[order][ends], side="left")
    return [part for part in np.split(order, np.unique(cuts)) if part.size]


def _shares(ax: Axes, x: str, y: str) -> None:
    """Shares along both axes, from 0 to 1."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xlabel=x, ylabel=y)
    style.numbers(ax.xaxis, ax.yaxis)


def _thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """A curve of many corners by some hundred of them."""
    some = np.unique(np.linspace(0, x.size - 1, min(x.size, 300)).astype(int))
    return x[some], y[some]
