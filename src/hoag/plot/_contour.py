"""f over two hyperparameters, as it was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag.plot import _style as style


class ContourDisplay:
    """The way down, on contours of f where f is known on a grid.

    Without a grid there is the way alone, with the loss at its points in colours: between them
    nothing is known.

    >>> from hoag import KernelRidgeCV
    >>> from hoag.plot import ContourDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRidgeCV(cv=3).fit(X, y)
    >>> display = ContourDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('log γ', 'log α')

    Parameters
    ----------
    result : hoag.Result
        Of two hyperparameters.
    names : list of str or None
        The hyperparameters' names; by default those that the result has.
    surface : tuple (x, y, values) or None
        f on a grid, values[i, j] at (x[j], y[i]); the dots say where.
    loss : str
        What the loss is called.

    Attributes
    ----------
    figure_, ax_ : after `plot`
    """

    def __init__(
        self,
        result: Result,
        names: list[str] | None = None,
        *,
        surface: tuple[Array, Array, Array] | None = None,
        loss: str = "held-out loss",
    ) -> None:
        size = result.evaluation.lam.size
        if size != 2:
            raise InvalidInput(
                f"Contours are of two hyperparameters, and there are {size}: use TuningDisplay."
            )
        self.result, self.names = result, names or style.moved_names(result)
        self.surface, self.loss = surface, loss

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        grid: int = 15,
        **params: Any,
    ) -> ContourDisplay:
        """Draw the way of a fitted estimator, with X and y on contours of f.

        X, y     measure f at grid × grid places around the way
        params   sample_weight and groups, as they were given to fit
        """
        estimator = style.checked(estimator)
        display = cls(
            estimator.result_, style.lam_names(estimator), loss=style.loss_name(estimator)
        )
        if X is not None:
            display.surface = surface(estimator, X, y, grid, params)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> ContourDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        steps = style.solved(self.result)
        lam = np.array([step.evaluation.lam for step in steps])
        if self.surface is None:
            self._points(lam, np.array([step.evaluation.value for step in steps]))
        else:
            self._contours(lam, *self.surface)
        ax.plot(
            *self.result.evaluation.lam,
            "*",
            color=style.BEST,
            ms=15,
            mec=style.INK,
            mew=0.8,
            zorder=4,
        )
        style.numbers(ax.xaxis)
        style.numbers(ax.yaxis)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self

    def _contours(self, lam: Array, x: Array, y: Array, values: Array) -> None:
        from matplotlib.colors import LogNorm

        ax = self.ax_
        known = np.ma.masked_invalid(values)
        least = min(float(known.min()), float(self.result.value))
        rise = 100 * (known / least - 1)
        top = float(rise.max()) or 1.0
        levels = np.geomspace(top / 300, top, 9)
        rise = np.ma.maximum(rise, 0.5 * levels[0])  # the least has no logarithm
        picture = ax.contourf(x, y, rise, levels=levels, norm=LogNorm(levels[0], levels[-1]),
                              cmap="viridis_r", extend="min")  # fmt: skip
        ax.plot(*(part.ravel() for part in np.meshgrid(x, y)), ".", color=style.INK, ms=1.2,
                alpha=0.5)  # fmt: skip
        ax.plot(lam[:, 0], lam[:, 1], "-", color=style.INK, lw=2.6)
        ax.plot(lam[:, 0], lam[:, 1], "o-", color="white", mec=style.INK, ms=4.5, lw=1.4)
        self._bar(picture)

    def _points(self, lam: Array, loss: Array) -> None:
        ax, rise = self.ax_, 100 * (loss / loss.min() - 1)
        ax.plot(lam[:, 0], lam[:, 1], "-", color=style.SOFT, lw=1.2, zorder=1)
        picture = ax.scatter(*lam.T, c=rise, cmap="viridis_r", edgecolors=style.INK, s=34,
                             linewidths=0.6, zorder=2)  # fmt: skip
        for step in {0, int(np.argmin(loss))}:
            ax.annotate(f"{loss[step]:.4g}", lam[step], (8, 6), textcoords="offset points",
                        fontsize="small")  # fmt: skip
        ax.margins(0.15)
        if np.any(rise > 0):
            self._bar(picture)

    def _bar(self, picture: Any) -> None:
        bar = self.ax_.figure.colorbar(picture, ax=self.ax_)
        if self.surface is not None:
            bar.set_ticks(picture.levels[::2], labels=[f"{v:.2g}" for v in picture.levels[::2]])
            bar.ax.minorticks_off()
        else:
            style.numbers(bar.ax.yaxis)
        bar.set_label(f"{self.loss}, % above the least")


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
