"""Whether predicted means come true."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._held_out import bins

WIDE = 10.0  # means that differ by such a factor are drawn on logarithmic axes


class TenthsDisplay:
    """The mean of y by the mean that was predicted, in tenths of the rows by their prediction.

    On the line predictions mean what they say; bars are standard errors.

    >>> import numpy as np
    >>> from hoag.plot import TenthsDisplay
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.uniform(1, 9, 500)
    >>> display = TenthsDisplay(rng.poisson(mean), mean).plot()
    >>> display.observed_.size
    10

    Parameters
    ----------
    truth, predicted : arrays (n,)
    weights : array (n,) or None

    Attributes
    ----------
    predicted_, observed_, error_ : arrays, a number for each tenth, after `plot`
    figure_, ax_ : after `plot`
    """

    predicted_: Array
    observed_: Array
    error_: Array

    def __init__(self, truth: Array, predicted: Array, weights: Array | None = None) -> None:
        self.truth, self.predicted = np.asarray(truth, dtype=float), np.asarray(predicted)
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
        **given: Any,
    ) -> TenthsDisplay:
        """Draw what came of rows by what a fitted regression predicts; give offsets, too."""
        said = style.rows(estimator, RegressorMixin, X, y).predict(X, **given)
        return cls(y, said, sample_weight).plot(ax)

    def plot(self, ax: Any = None) -> TenthsDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        found = np.array([self._means(part) for part in bins(self.predicted)])
        x, y, error = self.predicted_, self.observed_, self.error_ = found.T
        every = np.concatenate([x, y])
        logs = bool(np.all(y - error > 0) and x.max() > WIDE * x.min())
        ends = np.array([every.min(), every.max()])
        ax.plot(ends, ends, "-", color=style.SOFT, lw=0.8)
        ax.errorbar(x, y, yerr=error, fmt="o", ms=5, color=style.PATH, elinewidth=1)
        if logs:
            ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            (style.powers if logs else style.numbers)(axis)
        ax.set(xlabel="mean predicted", ylabel="mean observed")
        return self

    def _means(self, part: Any) -> tuple[float, float, float]:
        """Of a tenth: what was predicted, what came, and the standard error of that."""
        share = self.weights[part] / self.weights[part].sum()
        said, came = share @ self.predicted[part], share @ self.truth[part]
        spread = np.sqrt(share**2 @ (self.truth[part] - came) ** 2)
        return float(said), float(came), float(spread)
