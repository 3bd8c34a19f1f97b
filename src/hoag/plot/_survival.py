"""How many outlast each time, by their risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.cox import records
from hoag.linear_model import CoxRegressionCV
from hoag.plot import _style as style
from hoag.plot._display import HeldOutDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = 400  # of a curve that are drawn
GROUPS = ("low risk", "middle", "high risk")


class SurvivalDisplay(HeldOutDisplay):
    """Kaplan and Meier's curves of three groups, as many rows in each, by their predicted risk.

        S(t) = Π over event times τ ≤ t of (1 − dτ/nτ),   dτ events among nτ at risk

    Bands are one standard error (Greenwood's). The further the curves are apart, the more the risk
    tells.

    Parameters
    ----------
    time : array (n,)
        When each row was last seen.
    event : array of bool (n,)
        False where a row was last seen at its time.
    risk : array (n,)
        Larger for earlier events.
    weights : array (n,) or None, default=None
        Of the rows.

    Attributes
    ----------
    curves_ : list of (times, survival, standard error), the lowest risk first, after `plot`
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from hoag.plot import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.normal(size=300)
    >>> time = rng.exponential(np.exp(-risk))
    >>> display = SurvivalDisplay(time, np.ones(300, dtype=bool), risk).plot()
    >>> low, middle, high = display.curves_
    >>> bool(np.interp(1.0, low[0], low[1]) > np.interp(1.0, high[0], high[1]))
    True
    """

    curves_: list[tuple[Array, Array, Array]]
    _kind = CoxRegressionCV

    def __init__(
        self,
        time: npt.ArrayLike,
        event: npt.ArrayLike,
        risk: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        self.time, self.event = np.asarray(time, dtype=float), np.asarray(event, dtype=bool)
        self.risk = np.asarray(risk)
        self.weights = np.ones(self.time.size) if weights is None else np.asarray(weights)

    @classmethod
    def _of(cls, estimator: Any, X: Any, y: Any, weights: Any, params: dict[str, Any]) -> Self:
        known = records(y)
        return cls(known["time"], known["event"], estimator.predict(X, **params), weights)

    def _draw(self, ax: Axes) -> None:
        rank = np.argsort(np.argsort(self.risk, kind="stable"), kind="stable")
        third = 3 * rank // rank.size
        self.curves_ = []
        for k, (name, (color, dash)) in enumerate(zip(GROUPS, style.LOOKS[:3], strict=True)):
            own = third == k
            t, s, error = curve = _curve(self.time[own], self.event[own], self.weights[own])
            self.curves_.append(curve)
            some = np.unique(np.linspace(0, t.size - 1, min(t.size, CORNERS)).astype(int))
            t, s, error = t[some], s[some], error[some]
            label = f"{name}: {self.event[own].sum()} events in {own.sum()} rows"
            ax.step(t, s, where="post", color=color, ls=dash, lw=1.6, label=label)
            ax.fill_between(t, np.maximum(s - error, 0), np.minimum(s + error, 1), step="post",
                            color=color, alpha=0.18, lw=0)  # fmt: skip
        ax.set(xlabel="time", ylabel="share that outlasts it", ylim=(-0.02, 1.02))
        ax.set_xlim(left=0.0)
        style.numbers(ax.xaxis, ax.yaxis)
        style.legend(ax, columns=1)


def _curve(time: Array, event: npt.NDArray[np.bool_], weights: Array) -> tuple[Array, Array, Array]:
    """S and its standard error after each time of an event, from time 0 to the last time."""
    at, place = np.unique(time[event], return_inverse=True)
    fallen = np.bincount(place, weights[event], at.size)
    order = np.argsort(time)
    gone = np.append(0.0, np.cumsum(weights[order]))
    left = gone[-1] - gone[np.searchsorted(time[order], at, side="left")]
    survival = np.cumprod(1 - fallen / left)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.cumsum(fallen / (left * (left - fallen)))
        error = np.where(survival > 0, survival * np.sqrt(terms), 0.0)
    ends = survival[-1:] if at.size else np.ones(1), error[-1:] if at.size else np.zeros(1)
    return (
        np.concatenate([[0.0], at, [time.max(initial=0.0)]]),
        np.concatenate([[1.0], survival, ends[0]]),
        np.concatenate([[0.0], error, ends[1]]),
    )
