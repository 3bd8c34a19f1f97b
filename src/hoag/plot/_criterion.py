"""f over λ, as it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag.linear_model._path import Path
from hoag.plot import _style as style
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More folds than these, such as rows left out one by one, are in the standard error alone.
FOLDS = 20


class CriterionDisplay(Display):
    """f(λ) at the places of a path, straight lines between them, ± its standard error over folds.

    Also drawn are the folds' own losses, the minimum, the interval where f is within tol of it,
    and the strongest penalty within one standard error: the one that rule="1se" chose, or else the
    strongest of the places measured. With several penalties all are multiplied by the same.

    Parameters
    ----------
    path : hoag.linear_model.Path
        What was measured, as `estimator.path` has it.
    least, chosen : pair (x, f) or None, default=None
        The minimum, and what another rule chose.
    interval : pair of floats or None, default=None
        Where f is within tol of its least.
    name, loss : str, default="λ" and "loss"
        What to write beside the axes.
    sign : float or None, default=None
        x is written as exp(sign·λ): 1 for α, −1 for C. As λ itself where it is None.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import CriterionDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(cv=5).fit(X, y)
    >>> display = CriterionDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('penalty α (weak → strong)', 'cross-validated squared error')
    """

    def __init__(
        self,
        path: Path,
        *,
        least: tuple[float, float] | None = None,
        chosen: tuple[float, float] | None = None,
        interval: tuple[float, float] | Array | None = None,
        name: str = "λ",
        loss: str = "loss",
        sign: float | None = None,
    ) -> None:
        self.path, self.least, self.chosen, self.interval = path, least, chosen, interval
        self.name, self.loss, self.sign = name, loss, sign

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        path: Path | None = None,
        ax: Axes | None = None,
        around: float = 4.0,
        points: int = 25,
        **params: Any,
    ) -> CriterionDisplay:
        """Draw f around the λ of a fitted estimator.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : the data of `fit`, or None
            Measure f on them; without them, and without a path, the steps of the search are drawn.
        path : hoag.linear_model.Path or None, default=None
            What was measured before, by `estimator.path`.
        ax : matplotlib.axes.Axes or None, default=None
        around : float, default=4.0
            How far to either side of λ.
        points : int, default=25
            Places where f is measured.
        **params : sample_weight and groups, as they were given to `fit`

        Returns
        -------
        display : CriterionDisplay
        """
        estimator = style.checked(estimator)
        if path is None and X is not None:
            path = estimator.path(X, y, around=around, points=points, **params)
        moved, name, sign = moving(estimator)
        if path is None and moved is None:
            raise InvalidParameterError(
                f"{estimator.lam_.size} hyperparameters are moved together, and the search did "
                "not.\nGive X and y, or a path, to measure the criterion there.",
                "X",
            )
        result = estimator.result_
        if path is None:
            path = of_steps(result)
        best = min(style.solved(result), key=lambda step: step.evaluation.highest).evaluation
        origin = estimator.lam_[moved] if moved is not None else 0.0
        shift = float(np.max(estimator.lam_min_ - estimator.lam_))
        least, here = origin + shift, (float(origin), float(result.value))
        ruled = shift != 0.0
        display = cls(
            path,
            least=(float(least), float(best.value)) if ruled else here,
            chosen=here if ruled else None,
            interval=None if moved is None else estimator.lam_interval_[moved],
            name=name,
            loss=style.loss_name(estimator),
            sign=sign,
        )
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        path = self.path
        x, which = places(path)
        loss, error = path.loss[which], path.standard_error[which]
        known = np.isfinite(loss)
        x, which, loss, error = x[known], which[known], loss[known], error[known]
        at = int(np.argmin(loss))
        a, b = self._frame(loss, np.nan_to_num(error), self._folds(which)[:, at], at)
        if self.interval is not None and np.all(np.isfinite(self.interval)):
            ax.axvspan(*self.interval, color=style.BEST, alpha=0.4, lw=0, label="within tol")
        for k, fold in enumerate(self._folds(which)):
            ax.plot(x, a * (fold - b), "-", color=style.SOFT, lw=0.6, zorder=1,
                    label="" if k else "folds")  # fmt: skip
        if np.all(np.isfinite(error)):
            ax.fill_between(x, a * (loss - b - error), a * (loss - b + error), color=style.PATH,
                            alpha=0.2, lw=0, label="± standard error")  # fmt: skip
        off = np.nan_to_num(path.error[which], posinf=0.0)
        ax.errorbar(x, a * (loss - b), yerr=a * off, fmt="o-", ms=2.5, lw=1.4, elinewidth=1,
                    color=style.PATH, label="measured")  # fmt: skip
        self._mark(x, loss, error, at, a, b)
        ax.set_xlabel(self.name)
        if path.folds is not None or x.size > 2:
            ax.set_xlim(x[0], x[-1])
        style.logs(ax.xaxis, self.sign)
        style.legend(ax, columns=3)

    def _folds(self, which: Any) -> Array:
        """A row a fold; none where there are too many to tell apart."""
        folds = self.path.folds
        if folds is None or folds.shape[1] > FOLDS:
            return np.empty((0, which.size))
        return np.asarray(folds[which].T)

    def _frame(self, loss: Array, error: Array, folds: Array, at: int) -> tuple[float, float]:
        """All of f, its band where it is least, and there the folds; elsewhere these may leave it.

        (a, b) of what has to be drawn, a·(loss − b).
        """
        low = float(min(np.min(loss), loss[at] - error[at], *folds))
        high = float(max(np.max(loss), loss[at] + 2 * error[at], *folds))
        a, b = style.losses(self.ax_, self.loss, low, high)
        room = 0.06 * (high - low) or 0.01 * abs(low) or 1.0
        self.ax_.set_ylim(a * (low - room - b), a * (high + room - b))
        style.numbers(self.ax_.yaxis)
        return a, b

    def _mark(self, x: Array, loss: Array, error: Array, at: int, a: float, b: float) -> None:
        ax, least = self.ax_, self.least or (float(x[at]), float(loss[at]))
        limit = least[1] + error[at]
        if np.isfinite(limit):
            ax.axhline(a * (limit - b), color=style.ink(), lw=0.7, ls=(0, (4, 3)), zorder=1)
        one = self.chosen
        if one is None and np.isfinite(limit):
            last = int(np.flatnonzero(loss <= max(limit, loss[at]))[-1])
            if last + 1 < x.size:  # else the strongest is farther than was looked
                one = (float(x[last]), float(loss[last]))
        if one is not None:
            word = "1 SE, chosen" if self.chosen else "strongest in 1 SE"
            ax.plot(one[0], a * (one[1] - b), "s", color=style.BEST, mec=style.ink(), mew=0.7, ms=7,
                    ls="none", label=word, zorder=4, clip_on=False)  # fmt: skip
        word = "minimum" if self.chosen or np.isfinite(limit) else "chosen"
        style.star(ax, least[0], a * (least[1] - b), label=word, zorder=5, clip_on=False)


def moving(estimator: Any) -> tuple[int | None, str, float]:
    """Which hyperparameter a path moves, where it is one, and the name and sign of its axis."""
    if estimator.lam_.size > 1 and not style.has_widths(estimator):
        return None, "all penalties, times", 1.0
    return estimator.lam_.size - 1, *style.strength(estimator)


def places(path: Path) -> tuple[Array, Any]:
    """x along the path, ascending, and which places these are: λ where one moves, else the shift.

    Beyond the bounds the path stands still, and such places are left out.
    """
    moved = np.flatnonzero(np.ptp(path.lam, axis=0) > 0)
    if moved.size == 1 or path.lam.shape[1] == 1:
        return np.unique(path.lam[:, moved[0] if moved.size else 0], return_index=True)
    return path.shift, np.arange(path.shift.size)


def of_steps(result: Result) -> Path:
    """What the search itself evaluated; at a λ to which it returned, the last and most precise."""
    steps = style.solved(result)[::-1]
    lam = np.array([step.evaluation.lam for step in steps])
    _, last = np.unique(lam[:, 0], return_index=True)
    found = [steps[k].evaluation for k in last]
    return Path(
        lam[last, 0] - result.evaluation.lam[0],
        lam[last],
        np.array([one.value for one in found]),
        np.array([one.f_error for one in found]),
        None,
        None,
    )
