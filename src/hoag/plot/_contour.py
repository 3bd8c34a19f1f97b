"""f over two hyperparameters, as it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag.plot import _style as style
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContourDisplay(Display):
    """The way down, on contours of f where f is known on a grid.

    Without a grid there is the way alone, with the loss at its points in colours: between them
    nothing is known.

    Parameters
    ----------
    result : hoag.Result
        Of two hyperparameters.
    names : list of str or None, default=None
        The hyperparameters' names; by default those that the result has.
    surface : tuple of arrays (x, y, values) or None, default=None
        f on a grid, values[i, j] at (x[j], y[i]); the dots say where.
    loss : str, default="loss"
        What the loss is called.
    sign : float or None, default=None
        Axes are written as exp(sign·λ): 1 for α, −1 for C. As λ itself where it is None.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import KernelRidgeCV
    >>> from hoag.plot import ContourDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRidgeCV(cv=3).fit(X, y)
    >>> display = ContourDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('γ (smooth → wiggly)', 'penalty α (weak → strong)')
    """

    def __init__(
        self,
        result: Result,
        names: list[str] | None = None,
        *,
        surface: tuple[Array, Array, Array] | None = None,
        loss: str = "loss",
        sign: float | None = None,
    ) -> None:
        size = result.evaluation.lam.size
        if size != 2:
            raise NotSupportedError(
                f"Contours are of two hyperparameters, and there are {size}.\nUse TuningDisplay."
            )
        self.result, self.names = result, names or style.moved_names(result)
        self.surface, self.loss, self.sign = surface, loss, sign

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Axes | None = None,
        grid: int = 15,
        **params: Any,
    ) -> ContourDisplay:
        """Draw the way of a fitted estimator, with X and y on contours of f.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : the data of `fit`, or None
            Measure f at grid × grid places around the way.
        ax : matplotlib.axes.Axes or None, default=None
        grid : int, default=15
        **params : sample_weight and groups, as they were given to `fit`

        Returns
        -------
        display : ContourDisplay
        """
        estimator = style.checked(estimator)
        (word, sign), names = style.strength(estimator), style.lam_names(estimator)
        if style.has_widths(estimator):
            names = ["γ (smooth → wiggly)", word]
        else:
            names = [f"{word.replace(' (', f' of {style.short(name)} (')}" for name in names]
        display = cls(estimator.result_, names, loss=style.loss_name(estimator), sign=sign)
        if X is not None:
            display.surface = surface(estimator, X, y, grid, params)
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        steps = style.solved(self.result)
        lam = np.array([step.evaluation.lam for step in steps])
        if self.surface is None:
            self._points(ax, lam, np.array([step.evaluation.value for step in steps]))
            for k, name in enumerate("xy"):  # not closer than anyone wants to know λ
                low, high = np.min(lam[:, k]), np.max(lam[:, k])
                room = max(0.15 * (high - low), 0.5 * (1.5 - (high - low)))
                ax.set(**{f"{name}lim": (low - room, high + room)})
        else:
            self._contours(ax, lam, *self.surface)
        style.star(ax, *self.result.evaluation.lam, zorder=4)
        style.logs(ax.xaxis, self.sign)
        style.logs(ax.yaxis, self.sign)
        ax.set_xlabel(style.folded(self.names[0], ax.xaxis))
        ax.set_ylabel(style.folded(self.names[1], ax.yaxis))

    def _contours(self, ax: Axes, lam: Array, x: Array, y: Array, values: Array) -> None:
        from matplotlib.colors import LogNorm

        known = np.ma.masked_invalid(values)
        least = min(float(known.min()), float(self.result.value))
        rise = 100 * (known / least - 1)
        top = float(rise.max()) or 1.0
        levels = np.geomspace(top / 300, top, 9)
        rise = np.ma.maximum(rise, 0.5 * levels[0])  # the least has no logarithm
        picture = ax.contourf(x, y, rise, levels=levels, norm=LogNorm(levels[0], levels[-1]),
                              cmap="viridis_r", extend="min")  # fmt: skip
        ax.plot(*(part.ravel() for part in np.meshgrid(x, y)), ".", color=style.DARK, ms=1.2,
                alpha=0.5)  # fmt: skip
        ax.plot(lam[:, 0], lam[:, 1], "-", color=style.DARK, lw=2.6)
        ax.plot(lam[:, 0], lam[:, 1], "o-", color="white", mec=style.DARK, ms=4.5, lw=1.4)
        made = style.bar(ax, picture, self._above())
        made.set_ticks(levels[::2], labels=[f"{level:.2g}" for level in levels[::2]])
        made.ax.minorticks_off()

    def _points(self, ax: Axes, lam: Array, loss: Array) -> None:
        rise = 100 * (loss / loss.min() - 1)
        ax.plot(lam[:, 0], lam[:, 1], "-", color=style.SOFT, lw=1.2, zorder=1)
        picture = ax.scatter(lam[:, 0], lam[:, 1], c=rise, cmap="viridis_r", s=34,
                             edgecolors=style.DARK, linewidths=0.6, zorder=2)  # fmt: skip
        ax.annotate(f"{loss.min():.4g}", lam[np.argmin(loss)], (8, 6),
                    textcoords="offset points", fontsize="small")  # fmt: skip
        if np.any(rise > style.LITTLE):
            style.bar(ax, picture, self._above())

    def _above(self) -> str:
        return f"{self.loss}, {style.ABOVE}"


def surface(
    estimator: Any, X: Any, y: Any, grid: int, params: dict[str, Any]
) -> tuple[Array, Array, Array]:
    """f, solved tightly, on a grid around the steps."""
    lam = np.array([step.evaluation.lam for step in style.solved(estimator.result_)])
    low, high = lam.min(axis=0), lam.max(axis=0)
    room = np.maximum(0.15 * (high - low), 1.5)
    along_x, along_y = np.linspace(low - room, high + room, grid).T
    values = [[estimator.criterion_at((u, v), X, y, **params) for u in along_x] for v in along_y]
    return along_x, along_y, np.array(values)
