"""What is left of counts, costs and other y with a positive mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hoag.linear_model._regressors import LogLinkRegressor
from hoag.plot import _style as style
from hoag.plot._display import HeldOutDisplay
from hoag.plot._held_out import cloud, weighted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class DevianceResidualsDisplay(HeldOutDisplay):
    """sign(y − μ) √d(y, μ) by μ: where the means of tenths leave 0, something was missed.

    d is the deviance of the family, so that rows of small and of large means vary alike.

    Parameters
    ----------
    predicted : array (n,)
        The means that were predicted, above 0.
    residuals : array (n,)
        Of the deviance.
    weights : array (n,) or None, default=None
        Of rows in the means of tenths.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from hoag.plot import DevianceResidualsDisplay
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.uniform(1, 9, 300)
    >>> y = mean * rng.gamma(5.0, 0.2, 300)
    >>> left = np.sign(y - mean) * np.sqrt(2 * (y / mean - 1 - np.log(y / mean)))
    >>> DevianceResidualsDisplay(mean, left).plot().ax_.get_xlabel()
    'predicted mean'
    """

    _kind = LogLinkRegressor

    def __init__(
        self, predicted: ArrayLike, residuals: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        self.predicted, self.residuals, self.weights = weighted(predicted, residuals, weights)

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        said, y = estimator.predict(X, **params), np.asarray(y, dtype=float)
        deviance = 2 * estimator._family.loss(estimator).at(y, np.log(said)).value
        return cls(said, np.sign(y - said) * np.sqrt(np.maximum(deviance, 0.0)), weights)

    def _draw(self, ax: Axes) -> None:
        ax.set_xscale("log")
        cloud(ax, self.predicted, self.residuals, self.weights)
        style.powers(ax.xaxis)
        style.numbers(ax.yaxis)
        ax.set(xlabel="predicted mean", ylabel="deviance residual")
