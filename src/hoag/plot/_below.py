"""Whether predicted quantiles are quantiles, for small predictions and for large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hoag._core.numeric import Array
from hoag.linear_model import QuantileRegressorCV
from hoag.plot import _style as style
from hoag.plot._display import HeldOutDisplay
from hoag.plot._held_out import bins, weighted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class BelowDisplay(HeldOutDisplay):
    """The share of rows below the quantile τ predicted for them, in tenths by their prediction.

    On the line at τ it is the quantile everywhere; bars are the standard errors of shares.

    Parameters
    ----------
    truth, predicted : array (n,)
        What came, and what was predicted, of every row.
    quantile : float
        τ.
    weights : array (n,) or None, default=None
        Of the rows.

    Attributes
    ----------
    shares_ : array, of every tenth, after `plot`
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from hoag.plot import BelowDisplay
    >>> rng = np.random.default_rng(0)
    >>> middle = rng.normal(size=1000)
    >>> display = BelowDisplay(middle + rng.uniform(0, 1, 1000), middle + 0.9, 0.9).plot()
    >>> bool(np.all(np.abs(display.shares_ - 0.9) < 0.1))
    True
    """

    shares_: Array
    _kind = QuantileRegressorCV

    def __init__(
        self,
        truth: ArrayLike,
        predicted: ArrayLike,
        quantile: float,
        weights: ArrayLike | None = None,
    ) -> None:
        self.truth, self.predicted, self.weights = weighted(truth, predicted, weights)
        self.quantile = quantile

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        return cls(y, estimator.predict(X, **params), estimator.quantile, weights)

    def _draw(self, ax: Axes) -> None:
        places, shares, errors = [], [], []
        for part in bins(self.predicted):
            own = self.weights[part] / self.weights[part].sum()
            places.append(own @ self.predicted[part])
            shares.append(own @ (self.truth[part] < self.predicted[part]))
            errors.append(np.sqrt(own @ own * self.quantile * (1 - self.quantile)))
        self.shares_ = np.array(shares)
        ax.axhline(self.quantile, color=style.ink(), lw=0.8)
        ax.errorbar(places, shares, yerr=errors, fmt="o", ms=5, color=style.PATH, elinewidth=1)
        away = max(np.abs(self.shares_ - self.quantile).max() + max(errors), 0.1)
        ax.set_ylim(max(self.quantile - 1.2 * away, -0.02), min(self.quantile + 1.2 * away, 1.02))
        style.numbers(ax.xaxis, ax.yaxis)
        ax.set(xlabel="predicted quantile", ylabel="share of rows below it")
