"""What every picture on one pair of axes is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from hoag.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class Display:
    """Numbers, and `plot`, which draws them."""

    ax_: Axes
    figure_: Figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where; by default in a new figure.

        Returns
        -------
        display : this object, with figure_ and ax_
        """
        self.ax_ = ax = style.axes(ax, self._size())
        self.figure_ = ax.figure  # type: ignore[assignment]
        self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Of a new figure, in inches."""
        return style.SIZE

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


class HeldOutDisplay(Display):
    """What a model predicts of rows, best of rows that it was not fitted to."""

    _kind: type  # of the estimators that it is about

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **params: Any,
    ) -> Self:
        """Draw what a fitted estimator predicts of rows.

        Parameters
        ----------
        estimator : a fitted estimator of hoag, of a kind that this picture is about
        X, y : the rows, best such that the model was not fitted to
        sample_weight : array (n,) or None, default=None
        ax : matplotlib.axes.Axes or None, default=None
            Where; by default in a new figure.
        **params : what `predict` takes beside X, such as offset or exposure

        Returns
        -------
        display : the picture, drawn
        """
        made = style.rows(estimator, cls._kind, X, y)
        return cls._of(made, X, y, sample_weight, params).plot(ax)

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        raise NotImplementedError
