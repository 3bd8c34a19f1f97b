"""λ, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag.plot import _style as style

# Up to so many hyperparameters each is a line; more are a heat map.
LINES = 12


class StepsDisplay:
    """Where the search evaluated f: a line for each hyperparameter, or for many a heat map.

    >>> from hoag import RidgeCV
    >>> from hoag.plot import StepsDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    >>> display = StepsDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'step'

    Parameters
    ----------
    result : hoag.Result
    names : list of str or None
        The hyperparameters' names; by default those that the result has.

    Attributes
    ----------
    figure_, ax_ : after `plot`
    """

    def __init__(self, result: Result, names: list[str] | None = None) -> None:
        self.result, self.names = result, names or style.moved_names(result)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None
    ) -> StepsDisplay:
        """Draw the steps of a fitted estimator; X and y are not needed."""
        estimator = style.checked(estimator)
        return cls(estimator.result_, style.lam_names(estimator)).plot(ax)

    def plot(self, ax: Any = None) -> StepsDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        lam = np.array([step.evaluation.lam for step in style.solved(self.result)])
        style.whole(ax)
        if lam.shape[1] > LINES:
            self._heat_map(lam)
        else:
            self._lines(lam)
        return self

    def _lines(self, lam: Array) -> None:
        ax, steps = self.ax_, np.arange(1, len(lam) + 1)
        looks = [style.LOOKS[j % len(style.LOOKS)] for j in range(lam.shape[1])]
        for path, (color, dash) in zip(lam.T, looks, strict=True):
            ax.plot(steps, path, ls=dash, marker="o", ms=3, lw=1.3, color=color)
        style.numbers(ax.yaxis)
        if lam.shape[1] == 1:
            ax.set_ylabel(self.names[0])
        else:
            ax.set_ylabel("λ")
            ax.set_xlim(1, max(2, len(lam)))
            colors = [color for color, _ in looks]
            style.beside(ax, lam[-1], self.names, colors, right=True)

    def _heat_map(self, lam: Array) -> None:
        ax, order = self.ax_, np.argsort(lam[-1], kind="stable")
        extent = (0.5, len(lam) + 0.5, 0, lam.shape[1])
        picture = ax.imshow(
            lam.T[order], aspect="auto", origin="lower", extent=extent, interpolation="nearest"
        )
        ax.figure.colorbar(picture, ax=ax, label="λ")
        ax.set_yticks([])
        ax.set_ylabel(f"{lam.shape[1]} hyperparameters,\nby their last λ")
