"""The loss by what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Cost, Result
from hoag.plot import _style as style
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CostDisplay(Display):
    """How far each step is above the best, by the work until then, in fits of one model.

    Work is counted in passes over the data: a product with the rows and one with their transpose,
    or a Gram matrix, is one. Where all steps are as good as one, bars say what it took.

    Parameters
    ----------
    result : hoag.Result
        What a search found.
    one_fit : hoag.criteria.Cost or None, default=None
        Of the last fit, on all rows, at the λ that was found: the unit of work. Without it, work
        is in passes.
    loss : str, default="loss"
        What the loss is called.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import CostDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(cv=5).fit(X, y)
    >>> display = CostDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'work, in fits of one model'
    """

    def __init__(self, result: Result, *, one_fit: Cost | None = None, loss: str = "loss") -> None:
        self.result, self.one_fit, self.loss = result, one_fit, loss

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None
    ) -> CostDisplay:
        """Draw what the steps of a fitted estimator cost.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : not needed
        ax : matplotlib.axes.Axes or None, default=None

        Returns
        -------
        display : CostDisplay
        """
        estimator = style.checked(estimator)
        fit = vars(estimator).get("refit_cost_")
        display = cls(estimator.result_, one_fit=fit, loss=style.loss_name(estimator))
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        steps = style.solved(self.result)
        unit = _work(self.one_fit) if self.one_fit is not None else 0.0
        spent = np.array([_work(step.cost) for step in steps]) / (unit or 1.0)
        total = _work(self.result.cost) / (unit or 1.0)
        least = int(np.argmin([step.evaluation.highest for step in steps]))
        loss = np.array([step.evaluation.value for step in steps])
        rise = 100 * (loss / loss[least] - 1)
        if rise.max() > style.LITTLE:
            self._way(ax, spent, rise, least)
            ax.axvline(total, color=style.SOFT, lw=1.2, ls=":", label="end, with the last fit")
            if unit:
                ax.axvline(1.0, color=style.ink(), lw=0.9, ls=(0, (4, 3)), label="one fit")
            style.legend(ax, columns=2)
        else:
            bars = {"one fit": 1.0 if unit else 0.0, "until the best": spent[least], "all": total}
            words = [word for word, work in bars.items() if work]
            ax.barh(words, [bars[word] for word in words], 0.5, color=style.PATH, alpha=0.8)
            ax.set_ylim(len(words) - 0.4, -0.6)
        ax.set_xlim(0, 1.06 * max(total, 1.0))
        style.numbers(ax.xaxis)
        ax.set_xlabel("work, in fits of one model" if unit else self.result.unit)

    def _way(self, ax: Axes, spent: Array, rise: Array, least: int) -> None:
        """The steps above the best on a logarithmic axis, which the best is at the end of."""
        above = rise > 0
        floor = 0.4 * float(rise[above].min())
        ax.set_yscale("log")
        ax.plot(spent[above], rise[above], "o", ms=5, color=style.PATH, label="steps")
        ax.step(spent, np.minimum.accumulate(np.where(above, rise, floor)), where="post",
                color=style.SOFT, lw=1.2, zorder=1)  # fmt: skip
        ax.plot(spent[least], floor, "v", ms=9, color=style.BEST, mec=style.ink(), mew=0.7,
                ls="none", label="best", zorder=4, clip_on=False)  # fmt: skip
        ax.set_ylim(floor, 3 * max(float(rise.max()), 3 * floor))
        style.powers(ax.yaxis)
        ax.set_ylabel(style.folded(f"{self.loss}, {style.ABOVE}", ax.yaxis))


def _work(cost: Cost) -> float:
    return cost.passes + cost.grams
