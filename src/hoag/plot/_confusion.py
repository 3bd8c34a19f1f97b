"""True classes against predicted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._display import HeldOutDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

FLAT = 30  # characters of all names that have room side by side
COUNTED = 12  # classes whose cells have room for their numbers


class ConfusionDisplay(HeldOutDisplay):
    """How many rows of each class were taken for which: a row a true class.

    Cells are shaded by their share of the row; those on the diagonal are right.

    Parameters
    ----------
    truth, predicted : array of classes (n,)
        The class of every row, and the one that was predicted.
    classes : sequence
        In the order in which they are drawn.
    weights : array (n,) or None, default=None
        Of the rows.

    Attributes
    ----------
    counts_ : array (classes, classes), the weight of rows, true by predicted
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag.plot import ConfusionDisplay
    >>> ConfusionDisplay(["a", "a", "b"], ["a", "b", "b"], ["a", "b"]).plot().counts_
    array([[1., 1.],
           [0., 1.]])
    """

    counts_: Array
    _kind = ClassifierMixin

    def __init__(
        self,
        truth: npt.ArrayLike,
        predicted: npt.ArrayLike,
        classes: Sequence[object],
        weights: npt.ArrayLike | None = None,
    ) -> None:
        self.classes = classes
        known: npt.NDArray[Any] = np.array(classes)
        hits = [np.asarray(values)[:, None] == known for values in (truth, predicted)]
        weights = np.ones(len(hits[0])) if weights is None else np.asarray(weights)
        self.counts_ = (hits[0] * weights[:, None]).T @ hits[1]

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        return cls(y, estimator.predict(X, **params), estimator.classes_.tolist(), weights)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Rectangle

        size = len(self.classes)
        totals = self.counts_.sum(axis=1, keepdims=True)
        shares = self.counts_ / np.where(totals > 0, totals, 1.0)
        for i, j in np.ndindex(size, size):
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1.0, 1.0, linewidth=0,
                                   facecolor=style.PATH if i == j else style.BEST,
                                   alpha=0.75 * float(shares[i, j])))  # fmt: skip
            if size <= COUNTED:
                ax.text(j, i, f"{self.counts_[i, j]:.10g}", ha="center", va="center",
                        color=style.ink(), fontsize="medium" if size <= 6 else "small")  # fmt: skip
        ax.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        names = [style.short(str(name), 12) for name in self.classes]
        across = sum(len(name) + 2 for name in names) > FLAT
        small = "medium" if size <= 6 else "small" if size <= COUNTED else 6.5
        ax.set_xticks(range(size), names, rotation=90 if across else 0, fontsize=small)
        ax.set_yticks(range(size), names, fontsize=small)
        ax.tick_params(length=0)
        ax.set(xlabel="predicted", ylabel="true")
