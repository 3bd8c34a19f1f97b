"""λ, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag.plot import _style as style
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to so many hyperparameters each is a line; more are a heat map.
LINES = 12


class StepsDisplay(Display):
    """Where the search evaluated f: a line for each hyperparameter, or for many a heat map.

    Parameters
    ----------
    result : hoag.Result
        What a search found.
    names : list of str or None, default=None
        The hyperparameters' names; by default those that the result has.
    name : str, default="λ"
        What all of them are.
    sign : float or None, default=None
        λ is written as exp(sign·λ): 1 for α, −1 for C. As it is where the sign is None.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import StepsDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    >>> display = StepsDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('step', 'penalty α (weak → strong)')
    """

    def __init__(
        self,
        result: Result,
        names: list[str] | None = None,
        *,
        name: str = "λ",
        sign: float | None = None,
    ) -> None:
        self.result, self.names = result, names or style.moved_names(result)
        self.name, self.sign = self.names[0] if name == "λ" and len(self.names) == 1 else name, sign

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None
    ) -> StepsDisplay:
        """Draw the steps of a fitted estimator.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : not needed
        ax : matplotlib.axes.Axes or None, default=None

        Returns
        -------
        display : StepsDisplay
        """
        estimator = style.checked(estimator)
        word, sign = style.strength(estimator)
        name = "γ and α" if style.has_widths(estimator) else word
        return cls(estimator.result_, style.lam_names(estimator), name=name, sign=sign).plot(ax)

    def _draw(self, ax: Axes) -> None:
        lam = np.array([step.evaluation.lam for step in style.solved(self.result)])
        (self._heat_map if lam.shape[1] > LINES else self._lines)(ax, lam)

    def _lines(self, ax: Axes, lam: Array) -> None:
        steps, looks = np.arange(1, len(lam) + 1), style.looks(lam.shape[1])
        for path, (color, dash) in zip(lam.T, looks, strict=True):
            ax.plot(steps, path, ls=dash, marker="o", ms=3, lw=1.3, color=color)
        style.whole(ax, len(lam))
        style.logs(ax.yaxis, self.sign)
        ax.set_ylabel(style.folded(self.name, ax.yaxis))
        if lam.shape[1] > 1:
            style.beside(ax, lam[-1], self.names, [color for color, _ in looks], right=True)

    def _heat_map(self, ax: Axes, lam: Array) -> None:
        order = np.argsort(lam[-1], kind="stable")
        extent = (0.5, len(lam) + 0.5, 0, lam.shape[1])
        picture = ax.imshow(
            lam.T[order], aspect="auto", origin="lower", extent=extent, interpolation="nearest"
        )
        style.bar(ax, picture, self.name, self.sign)
        style.whole(ax, len(lam))
        ax.set(xlim=extent[:2], yticks=[])
        ax.set_ylabel(f"{lam.shape[1]} hyperparameters,\nthe largest at the end on top")
