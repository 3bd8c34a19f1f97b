"""True classes against predicted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from hoag._core.numeric import Array
from hoag.plot import _style as style

COUNTED = 12  # classes whose cells have room for their numbers


class ConfusionDisplay:
    """How many rows of each class were taken for which: a row a true class.

    Cells are shaded by their share of the row; those on the diagonal are right.

    >>> from hoag.plot import ConfusionDisplay
    >>> ConfusionDisplay(["a", "a", "b"], ["a", "b", "b"], ["a", "b"]).plot().counts_
    array([[1., 1.],
           [0., 1.]])

    Parameters
    ----------
    truth, predicted : arrays of classes (n,)
    classes : list, in the order in which they are drawn
    weights : array (n,) or None

    Attributes
    ----------
    counts_ : array (classes, classes), the weight of rows, true by predicted
    figure_, ax_ : after `plot`
    """

    def __init__(
        self, truth: Any, predicted: Any, classes: list[Any], weights: Array | None = None
    ) -> None:
        self.classes = classes
        known: npt.NDArray[Any] = np.array(classes)
        hits = [np.asarray(values)[:, None] == known for values in (truth, predicted)]
        weights = np.ones(len(hits[0])) if weights is None else np.asarray(weights)
        self.counts_ = (hits[0] * weights[:, None]).T @ hits[1]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> ConfusionDisplay:
        """Draw the classes of rows by what a fitted classifier predicts."""
        said = style.rows(estimator, ClassifierMixin, X, y).predict(X)
        return cls(y, said, estimator.classes_.tolist(), sample_weight).plot(ax)

    def plot(self, ax: Any = None) -> ConfusionDisplay:
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        size = len(self.classes)
        totals = self.counts_.sum(axis=1, keepdims=True)
        shares = self.counts_ / np.where(totals > 0, totals, 1.0)
        for i, j in np.ndindex(size, size):
            color = style.PATH if i == j else style.BEST
            square = (j - 0.5, i - 0.5)
            ax.add_patch(_square(square, color, 0.75 * float(shares[i, j])))
            if size <= COUNTED:
                ax.text(j, i, f"{self.counts_[i, j]:.10g}", ha="center", va="center",
                        color=style.INK, fontsize="medium" if size <= 6 else "small")  # fmt: skip
        ax.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        names = [style.short(str(name), 12) for name in self.classes]
        ax.set_xticks(range(size), names, rotation=0 if size <= 6 else 90)
        ax.set_yticks(range(size), names)
        ax.tick_params(length=0)
        ax.set(xlabel="predicted", ylabel="true")
        return self


def _square(corner: tuple[float, float], color: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 1.0, 1.0, facecolor=color, alpha=alpha, linewidth=0)
