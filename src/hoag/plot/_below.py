"""Whether predicted quantiles are quantiles, for small predictions and for large ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._held_out import bins


class BelowDisplay:
    """The share of rows below the quantile τ predicted for them, in tenths by their prediction.

    On the line at τ it is the quantile everywhere; bars are the standard errors of shares.

    >>> import numpy as np
    >>> from hoag.plot import BelowDisplay
    >>> rng = np.random.default_rng(0)
    >>> middle = rng.normal(size=1000)
    >>> display = BelowDisplay(middle + rng.uniform(0, 1, 1000), middle + 0.9, 0.9).plot()
    >>> bool(np.all(np.abs(display.shares_ - 0.9) < 0.1))
    True

    Parameters
    ----------
    truth, predicted : arrays (n,)
    quantile : float, τ
    weights : array (n,) or None

    Attributes
    ----------
    shares_ : array, of every tenth, after `plot`
    figure_, ax_ : after `plot`
    """

    shares_: Array

    def __init__(
        self, truth: Array, predicted: Array, quantile: float, weights: Array | None = None
    ) -> None:
        self.truth, self.predicted, self.quantile = np.asarray(truth), predicted, quantile
        self.weights = np.ones(self.truth.size) if weights is None else np.asarray(weights)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> BelowDisplay:
        """Draw the share of rows below what a fitted QuantileRegressorCV predicts."""
        from hoag.linear_model import QuantileRegressorCV

        said = style.rows(estimator, QuantileRegressorCV, X, y).predict(X)
        return cls(y, said, estimator.quantile, sample_weight).plot(ax)

    def plot(self, ax: Any = None) -> BelowDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        places, shares, errors = [], [], []
        for part in bins(self.predicted):
            own = self.weights[part] / self.weights[part].sum()
            places.append(own @ self.predicted[part])
            shares.append(own @ (self.truth[part] < self.predicted[part]))
            errors.append(np.sqrt(own @ own * self.quantile * (1 - self.quantile)))
        self.shares_ = np.array(shares)
        ax.axhline(self.quantile, color=style.INK, lw=0.8)
        ax.errorbar(places, shares, yerr=errors, fmt="o", ms=5, color=style.PATH, elinewidth=1)
        away = max(np.abs(self.shares_ - self.quantile).max() + max(errors), 0.1)
        ax.set_ylim(max(self.quantile - 1.2 * away, -0.02), min(self.quantile + 1.2 * away, 1.02))
        style.numbers(ax.xaxis)
        style.numbers(ax.yaxis)
        ax.set(xlabel="predicted quantile", ylabel="share of rows below it")
        return self
