"""The loss by what it cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.result import Cost, Result
from hoag.plot import _style as style


class CostDisplay:
    """How far each step is above the least, by passes over the data; and what one fit costs.

    One pass is a product with the rows and one with their transpose; a Gram matrix counts as one.

    >>> from hoag import RidgeCV
    >>> from hoag.plot import CostDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(cv=5).fit(X, y)
    >>> display = CostDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'passes and Gram matrices'

    Parameters
    ----------
    result : hoag.Result
    one_fit : hoag.criteria.Cost or None
        Of the last fit, on all rows, at the λ that was found.
    loss : str
        What the loss is called.

    Attributes
    ----------
    figure_, ax_ : after `plot`
    """

    def __init__(
        self, result: Result, *, one_fit: Cost | None = None, loss: str = "held-out loss"
    ) -> None:
        self.result, self.one_fit, self.loss = result, one_fit, loss

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None
    ) -> CostDisplay:
        """Draw what the steps of a fitted estimator cost; X and y are not needed."""
        estimator = style.checked(estimator)
        fit = vars(estimator).get("refit_cost_")
        display = cls(estimator.result_, one_fit=fit, loss=style.loss_name(estimator))
        return display.plot(ax)

    def plot(self, ax: Any = None) -> CostDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        steps = style.solved(self.result)
        spent = np.array([_work(step.cost) for step in steps])
        highest = np.array([step.evaluation.highest for step in steps])
        least = int(np.argmin(highest))
        best = steps[least].evaluation.value
        rise = 100 * (np.array([step.evaluation.value for step in steps]) / best - 1)
        above = rise > 0
        floor = 0.3 * float(rise[above].min()) if above.any() else 1e-2
        drawn = np.where(above, rise, floor)
        so_far = np.minimum.accumulate(np.where(np.isfinite(highest), drawn, np.inf))
        ax.step(spent, so_far, where="post", color=style.SOFT, lw=1.2)
        ax.plot(spent, drawn, "o", ms=5, color=style.PATH, label="steps")
        ax.plot(spent[least], floor, "v", ms=8, color=style.BEST, mec=style.INK, mew=0.7,
                label="least")  # fmt: skip
        total = _work(self.result.cost)
        ax.plot([spent[-1], total], [floor, floor], ":", color=style.SOFT, lw=1.2)
        ax.plot(total, floor, "|", ms=11, mew=1.5, color=style.INK, label="all, with the last fit")
        if self.one_fit is not None:
            ax.axvline(_work(self.one_fit), color=style.INK, lw=0.9, ls=(0, (4, 3)),
                       label="the last fit alone")  # fmt: skip
        ax.set_yscale("log")
        ax.set_ylim(0.5 * floor, 2 * max(drawn.max(), 10 * floor))
        self._percents(floor)
        ax.set_xlim(-0.02 * total, 1.06 * total)
        style.numbers(ax.xaxis)
        ax.set_ylabel(f"{self.loss},\n% above the least")
        grams = any(step.cost.grams for step in steps)
        ax.set_xlabel("passes and Gram matrices" if grams else self.result.unit)
        style.legend(ax, columns=2)
        return self

    def _percents(self, floor: float) -> None:
        """Powers of ten, and 0 where the least is drawn: a logarithm has no place for it."""
        high = np.log10(self.ax_.get_ylim()[1])
        powers = np.arange(np.ceil(np.log10(1.5 * floor)), np.floor(high) + 1)
        powers = powers[-1 :: -max(1, powers.size // 5)][::-1]
        words = ["0", *(style.number(10.0**power) for power in powers)]
        self.ax_.set_yticks([floor, *10.0**powers], words)
        self.ax_.minorticks_off()


def _work(cost: Cost) -> float:
    return cost.passes + cost.grams
