"""What is left of counts, costs and other y with a positive mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._held_out import POINTS, bins


class DevianceResidualsDisplay:
    """sign(y − μ) √d(y, μ) by μ: where the means of tenths leave 0, something was missed.

    d is the deviance of the family, so that rows of small and of large means vary alike.

    >>> import numpy as np
    >>> from hoag.plot import DevianceResidualsDisplay
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.uniform(1, 9, 300)
    >>> y = mean * rng.gamma(5.0, 0.2, 300)
    >>> left = np.sign(y - mean) * np.sqrt(2 * (y / mean - 1 - np.log(y / mean)))
    >>> DevianceResidualsDisplay(mean, left).plot().ax_.get_xlabel()
    'predicted mean'

    Parameters
    ----------
    predicted : array (n,), the means that were predicted, above 0
    residuals : array (n,), of the deviance

    Attributes
    ----------
    figure_, ax_ : after `plot`
    """

    def __init__(self, predicted: Array, residuals: Array) -> None:
        self.predicted, self.residuals = np.asarray(predicted), np.asarray(residuals)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, **given: Any
    ) -> DevianceResidualsDisplay:
        """Draw what a fitted estimator leaves of rows; give offset or exposure, too."""
        from hoag.linear_model._positive_mean import PositiveMeanRegressor

        said = style.rows(estimator, PositiveMeanRegressor, X, y).predict(X, **given)
        y = np.asarray(y, dtype=float)
        deviance = estimator._family(1.0).at(y, np.log(said)).value
        return cls(said, np.sign(y - said) * np.sqrt(np.maximum(deviance, 0.0))).plot(ax)

    def plot(self, ax: Any = None) -> DevianceResidualsDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        x, left = self.predicted, self.residuals
        some = slice(None, None, -(-left.size // POINTS))
        ax.plot(x[some], left[some], "o", color=style.PATH, ms=3, alpha=0.6, mew=0)
        ax.axhline(0, color=style.INK, lw=0.8)
        parts = bins(x)
        at = np.array([np.exp(np.log(x[part]).mean()) for part in parts])
        mean = np.array([left[part].mean() for part in parts])
        error = [left[part].std() / np.sqrt(part.size) for part in parts]
        ax.errorbar(at, mean, yerr=error, fmt="s-", ms=5, lw=1.2, elinewidth=1.2, color=style.BEST,
                    mec=style.INK, mew=0.6, label="mean ± standard error")  # fmt: skip
        ax.set_xscale("log")
        style.powers(ax.xaxis)
        style.numbers(ax.yaxis)
        ax.set(xlabel="predicted mean", ylabel="deviance residual")
        style.legend(ax, columns=1)
        return self
