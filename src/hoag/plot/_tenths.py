"""Whether predicted means come true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._display import HeldOutDisplay
from hoag.plot._held_out import tenths, weighted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

WIDE = 10.0  # means that differ by such a factor are drawn on logarithmic axes


class TenthsDisplay(HeldOutDisplay):
    """The mean of y by the mean that was predicted, in tenths of the rows by their prediction.

    On the line predictions mean what they say; bars are standard errors.

    Parameters
    ----------
    truth, predicted : array (n,)
        What came, and what was predicted, of every row.
    weights : array (n,) or None, default=None
        Of the rows.

    Attributes
    ----------
    predicted_, observed_, error_ : array, a number for each tenth, after `plot`
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from hoag.plot import TenthsDisplay
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.uniform(1, 9, 500)
    >>> display = TenthsDisplay(rng.poisson(mean), mean).plot()
    >>> display.observed_.size
    10
    """

    predicted_: Array
    observed_: Array
    error_: Array
    _kind = RegressorMixin

    def __init__(
        self, truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        self.truth, self.predicted, self.weights = weighted(truth, predicted, weights)

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        return cls(y, estimator.predict(X, **params), weights)

    def _draw(self, ax: Axes) -> None:
        x, y, error = tenths(self.predicted, self.truth, self.weights)
        self.predicted_, self.observed_, self.error_ = x, y, error
        every = np.concatenate([x, y])
        logs = bool(np.all(y - error > 0) and x.max() > WIDE * x.min())
        ends = np.array([every.min(), every.max()])
        ax.plot(ends, ends, "-", color=style.SOFT, lw=0.8)
        ax.errorbar(x, y, yerr=error, fmt="o", ms=5, color=style.PATH, elinewidth=1)
        if logs:
            ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            (style.powers if logs else style.numbers)(axis)
        ax.set(xlabel="predicted mean", ylabel="observed mean")
