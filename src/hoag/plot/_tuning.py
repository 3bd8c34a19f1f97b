"""The overview: three pictures of one search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.errors import InvalidParameterError
from hoag.linear_model._path import Path
from hoag.plot import _style as style
from hoag.plot._coefficients import CoefficientPathDisplay
from hoag.plot._contour import ContourDisplay
from hoag.plot._cost import CostDisplay
from hoag.plot._criterion import CriterionDisplay
from hoag.plot._penalties import PenaltiesDisplay
from hoag.plot._steps import StepsDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hoag.plot._display import Display


class TuningDisplay:
    """How λ was found: what f is like, what λ does to the model, and what it cost.

    First the penalties: f over one, contours of two, all of many by name or as an image. Then,
    where the data are given, the coefficients over one penalty, or f where all are moved together;
    else the steps. Last the loss by cost. In a new figure the coefficients are under f.

    Parameters
    ----------
    displays : sequence of Displays of this module, drawn
        Three of them.

    Attributes
    ----------
    displays_ : list of the Displays
    axes_ : list of matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import TuningDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(cv=5).fit(X, y)
    >>> display = TuningDisplay.from_estimator(model, X, y)
    >>> [type(one).__name__ for one in display.displays_]
    ['CriterionDisplay', 'CoefficientPathDisplay', 'CostDisplay']
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, displays: Sequence[Display]) -> None:
        self.displays_ = list(displays)
        self.axes_ = [display.ax_ for display in displays]
        self.figure_ = displays[0].figure_

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        path: Path | None = None,
        image_shape: tuple[int, int] | None = None,
        axes: Sequence[Axes] | None = None,
        grid: int = 15,
        around: float = 4.0,
        points: int = 25,
        **params: Any,
    ) -> TuningDisplay:
        """Draw the search of a fitted estimator of this library.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : the data of `fit`, or None
            Measure f along a path, and for two hyperparameters on a grid × grid.
        path : hoag.linear_model.Path or None, default=None
            What was measured before, in place of X and y.
        image_shape : tuple of int (height, width) or None, default=None
            Where the features are the pixels of an image.
        axes : three matplotlib.axes.Axes or None, default=None
        grid : int, default=15
        around : float, default=4.0
            How far to either side of λ the path goes.
        points : int, default=25
            Places of the path.
        **params : sample_weight and groups, as they were given to `fit`

        Returns
        -------
        display : TuningDisplay
        """
        estimator = style.checked(estimator)
        first, second, last = _three(axes, estimator.lam_.size == 1)
        if path is None and X is not None:
            path = estimator.path(X, y, around=around, points=points, **params)
        shown: Display
        if image_shape is not None or estimator.lam_.size > 2:
            shown = PenaltiesDisplay.from_estimator(estimator, ax=first, image_shape=image_shape)
        elif estimator.lam_.size == 2:
            shown = ContourDisplay.from_estimator(estimator, X, y, ax=first, grid=grid, **params)
        else:
            shown = CriterionDisplay.from_estimator(estimator, path=path, ax=first)
        under: Display
        if path is None:
            under = StepsDisplay.from_estimator(estimator, ax=second)
        elif estimator.lam_.size == 1:
            under = CoefficientPathDisplay.from_estimator(estimator, X, path=path, ax=second)
        else:
            under = CriterionDisplay.from_estimator(estimator, path=path, ax=second)
        return cls([shown, under, CostDisplay.from_estimator(estimator, ax=last)])


def _three(axes: Any, stacked: bool) -> Any:
    """The axes that were given, or new ones, the second under the first if they are stacked."""
    if axes is None:
        plt = style.pyplot()
        if stacked:
            figure = plt.figure(figsize=(11, 7), layout="constrained")
            named = figure.subplot_mosaic("fc;xc", width_ratios=(1.5, 1))
            axes = [named[key] for key in "fxc"]
        else:
            axes = plt.subplots(1, 3, figsize=(14.5, 4.4), layout="constrained")[1]
    axes = np.ravel(axes)
    if axes.size != 3:
        raise InvalidParameterError(
            f"The overview is drawn on three axes; {axes.size} were given.", "axes"
        )
    return axes
