"""The coefficients over λ, as they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag.linear_model._path import Path
from hoag.plot import _style as style
from hoag.plot._criterion import moving, places
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Coefficients that are drawn in grey, after those with a name.
OTHERS = 60


class CoefficientPathDisplay(Display):
    """coef_ at the places of a path, the mean of the folds' models, the largest by name.

    The largest where the estimator is, at x = `at`. Each is times the standard deviation of its
    column where X is known: what a usual difference in the feature changes.

    Parameters
    ----------
    path : hoag.linear_model.Path
        With coef.
    names : list of str
        A name for each coefficient, as coef_ has them when it is flat.
    scale : array or None, default=None
        What each column's coefficients are multiplied by.
    top : int, default=8
        How many have a name and a colour.
    at : float, default=0.0
        Where the estimator is.
    name : str, default="λ"
        What to write along x.
    sign : float or None, default=None
        x is written as exp(sign·λ): 1 for α, −1 for C. As λ itself where it is None.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import CoefficientPathDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(cv=5).fit(X, y)
    >>> display = CoefficientPathDisplay.from_estimator(model, X, y, top=3)
    >>> len(display.ax_.texts)
    3
    """

    def __init__(
        self,
        path: Path,
        names: list[str],
        *,
        scale: Array | None = None,
        top: int = 8,
        at: float = 0.0,
        name: str = "λ",
        sign: float | None = None,
    ) -> None:
        if path.coef is None:
            raise NotSupportedError(
                "This model has no coef_: there is no path of coefficients to draw."
            )
        self.path, self.names, self.scale, self.top = path, names, scale, top
        self.at, self.name, self.sign = at, name, sign

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        path: Path | None = None,
        ax: Axes | None = None,
        top: int = 8,
        around: float = 4.0,
        points: int = 25,
        **params: Any,
    ) -> CoefficientPathDisplay:
        """Draw the coefficients around the λ of a fitted estimator.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : the data of `fit`, or None
            With X the coefficients are for columns of standard deviation 1.
        path : hoag.linear_model.Path or None, default=None
            What was measured before, by `estimator.path`; without it X and y are needed.
        ax : matplotlib.axes.Axes or None, default=None
        top : int, default=8
            How many have a name and a colour.
        around : float, default=4.0
            How far to either side of λ.
        points : int, default=25
            Places where models are fitted.
        **params : sample_weight and groups, as they were given to `fit`

        Returns
        -------
        display : CoefficientPathDisplay
        """
        estimator = style.checked(estimator)
        if path is None:
            if X is None:
                raise InvalidParameterError(
                    "Give X and y, or a path: coefficients have to be solved for.", "X"
                )
            path = estimator.path(X, y, around=around, points=points, **params)
        moved, name, sign = moving(estimator)
        display = cls(
            path,
            coefficient_names(estimator),
            scale=None if X is None else deviations(X),
            top=top,
            at=0.0 if moved is None else float(estimator.lam_[moved]),
            name=name,
            sign=sign,
        )
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        x, which = places(self.path)
        assert self.path.coef is not None
        coef = self.path.coef[which]
        if self.scale is not None:
            coef = coef * self.scale
        coef = coef.reshape(x.size, -1)
        here = np.abs(coef[int(np.argmin(np.abs(x - self.at)))])
        order = np.argsort(-here, kind="stable")
        for j in order[self.top : self.top + OTHERS]:
            ax.plot(x, coef[:, j], "-", color=style.SOFT, lw=0.5, alpha=0.6, zorder=1)
        named = order[: self.top]
        looks = style.looks(named.size)
        for j, (color, dash) in zip(named, looks, strict=True):
            ax.plot(x, coef[:, j], ls=dash, color=color, lw=1.5)
        ax.axvline(self.at, color=style.ink(), lw=0.7, ls=(0, (4, 3)), zorder=0)
        ax.set_xlim(x[0], x[-1])
        style.logs(ax.xaxis, self.sign)
        style.numbers(ax.yaxis)
        of = "coefficient" + ("" if self.scale is None else " × SD of column")
        ax.set(xlabel=self.name, ylabel=style.folded(of, ax.yaxis))
        words = [self.names[j] for j in named]
        style.beside(ax, coef[0, named], words, [color for color, _ in looks])


def coefficient_names(estimator: Any) -> list[str]:
    """For each entry of coef_, flat: its feature, and its class or target if there are several."""
    features = style.feature_names(estimator)
    rows = estimator.coef_.size // len(features) if "coef_" in vars(estimator) else 1
    if rows <= 1:
        return features
    outputs = vars(estimator).get("classes_", range(rows))
    return [f"{name} → {output}" for output in outputs for name in features]


def deviations(X: Any) -> Array:
    """The standard deviation of every column."""
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))
    return np.asarray(np.std(np.asarray(X, dtype=float), axis=0))
