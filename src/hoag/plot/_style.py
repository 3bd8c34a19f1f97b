"""What the pictures share: colours, axes, how numbers and names are written.

Colours are of middle brightness, so that they read on white, on black and in grey; ink is black,
which a page replaces by the colour of its text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Result, Step

INK, PATH, BEST, SOFT = "black", "#2277BB", "#D55E00", "#808080"

# Lines that have to be told apart, in grey too.
LOOKS = (
    (PATH, "-"), (BEST, "--"), ("#009E73", "-."), ("#B0559A", ":"),
    ("#808000", "-"), ("#4D8FD6", "--"), ("#A0522D", "-."), ("#708090", ":"),
)  # fmt: skip

LOSSES = {
    "log_loss": "log loss",
    "brier": "Brier loss",
    "squared_error": "squared error",
    "huber": "Huber loss",
    "deviance": "deviance",
    "pinball": "pinball loss",
    "huber_and_spread": "Huber loss with spread",
    "squared_hinge": "squared hinge loss",
    "partial_likelihood": "deviance of the partial likelihood",
}

SIZE = (5.2, 3.7)  # inches: a column of a page, and on a phone all of its width
LONG = 22  # characters of a name
CLOSE = 1e-3  # values that differ by less of themselves are shown as differences


def axes(ax: Any, size: tuple[float, float] = SIZE) -> Any:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("hoag.plot needs matplotlib: pip install 'hoag[plot]'.") from None
    return plt


def checked(estimator: Any) -> Any:
    """The estimator, which has to be fitted, and one of this library."""
    from hoag.linear_model._base import TunedEstimator

    if not isinstance(estimator, TunedEstimator) or "result_" not in vars(estimator):
        raise InvalidInput(
            f"This {type(estimator).__name__} has no result_: fit it first, with an estimator "
            "of hoag."
        )
    return estimator


def rows(estimator: Any, kind: type, X: Any, y: Any) -> Any:
    """The estimator, fitted and of a kind that says what is drawn, for rows that are given."""
    if not isinstance(checked(estimator), kind):
        name, other = kind.__name__, type(estimator).__name__
        raise InvalidInput(f"This picture is for {name} and its like, and this is a {other}.")
    if X is None or y is None:
        raise InvalidInput("Give X and y, best of rows that the model was not fitted to.")
    return estimator


def solved(result: Result) -> list[Step]:
    """The steps whose f is known: a search may begin with a look where nothing is solved for."""
    steps = [step for step in result.trace if np.isfinite(step.evaluation.highest)]
    return steps or list(result.trace)


def judged_by(estimator: Any) -> str:
    """The loss of held-out rows, as one of the words of LOSSES."""
    return str(estimator.get_params(deep=False).get("criterion", estimator._loss))


def loss_name(estimator: Any) -> str:
    return f"held-out {LOSSES.get(judged_by(estimator), 'loss')}"


def feature_names(estimator: Any) -> list[str]:
    given = vars(estimator).get("feature_names_in_")
    if given is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in given]


def lam_names(estimator: Any) -> list[str]:
    """What to write beside each λ: what it is where there is one, else whose it is."""
    names = [str(name) for name in estimator._lam_names()]
    if has_widths(estimator):
        return [*(name.replace("width", "log γ") for name in names[:-1]), "log α"]
    return names if len(names) > 1 else ["λ = log α"]


def has_widths(estimator: Any) -> bool:
    """Whether all hyperparameters but the last, the ridge, are widths of a kernel."""
    return bool(estimator._lam_of_features().size < estimator.lam_.size)


def moved_names(result: Result) -> list[str]:
    """What a search moved, for axes: hyperparameters by their names, on the scales they have."""
    if result.layout is not None:
        return list(result.layout.axes)
    return list(result.names) or [f"lam[{j}]" for j in range(result.evaluation.lam.size)]


def short(name: str, most: int = LONG) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def number(value: float, position: Any = None) -> str:
    """As a tick is written: all of it, never as a difference to something beside the axis."""
    text = f"{value:.10g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return text.replace("-", "\N{MINUS SIGN}")


def numbers(axis: Any) -> None:
    """Round numbers on an axis, as many as there is room for, each written as it is."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    box = axis.axes.get_window_extent()
    across = axis.axis_name == "x"
    points = 72 * (box.width / 55 if across else box.height / 32) / axis.axes.figure.dpi
    axis.set_major_locator(MaxNLocator(int(np.clip(points, 2, 6)), steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(number))


def powers(axis: Any) -> None:
    """Places on a logarithmic axis: powers of ten, with 2 and 5 times these, or round numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    numbers(axis)
    if decades > 0.8:
        axis.set_major_locator(LogLocator(10, subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(number))


def losses(ax: Any, name: str, least: float, most: float) -> tuple[float, float]:
    """Write the loss on the y axis; (a, b) of what has to be drawn, a·(loss − b).

    Where all are within a thousandth they are drawn as what they are above the least, in parts
    of a million of it.
    """
    numbers(ax.yaxis)
    if least > 0 and most - least < CLOSE * least:
        ax.set_ylabel(f"{name} above\n{least:.6g}, in millionths of it")
        return 1e6 / least, least
    ax.set_ylabel(name)
    return 1.0, 0.0


def whole(ax: Any) -> None:
    """Steps along x."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("step")
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))


def strengths(ax: Any, word: str, sign: float) -> None:
    """Over the axis of λ, that of word = exp(sign·λ), in powers of ten, or where λ has ticks."""
    ends = ax.get_xlim()
    low, high = (float(end) / np.log(10) for end in ends)
    powers = np.arange(np.ceil(low), np.floor(high) + 1)
    powers = powers[powers % max(1, round((high - low) / 5)) == 0]
    places, words = powers * np.log(10), [_power(sign * power) for power in powers]
    if powers.size < 2:
        places = np.array([t for t in ax.get_xticks() if ends[0] <= t <= ends[1]])
        words = [f"{np.exp(sign * place):.3g}" for place in places]
    above = ax.secondary_xaxis("top")
    above.set_xticks(places, words)
    above.tick_params(length=3)
    above.set_xlabel(word)


def _power(exponent: float) -> str:
    return f"{10.0**exponent:g}" if abs(exponent) <= 3 else f"$10^{{{exponent:.0f}}}$"


def legend(ax: Any, columns: int, below: float = 34.0) -> Any:
    """Under the axes and their label, so many points `below`, without a frame."""
    from matplotlib.transforms import offset_copy

    under = offset_copy(ax.transAxes, ax.figure, y=-below, units="points")
    return ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=under, ncols=columns,
        frameon=False, fontsize="small", handlelength=1.6, columnspacing=1.2, borderaxespad=0.0,
    )  # fmt: skip


def beside(ax: Any, y: Array, names: list[str], colors: list[str], right: bool = False) -> None:
    """Names beside the axes, each at the height of its y or as near as there is room."""
    if not right:
        ax.yaxis.tick_right()
        ax.yaxis.set_label_position("right")
    size, edge, out = 8.0, float(right), 1.0 if right else -1.0
    height = 72 * ax.get_window_extent().height / ax.figure.dpi
    low, high = ax.get_ylim()
    wanted = (np.asarray(y, dtype=float) - low) / (high - low)
    room = min(1.35 * size / height, 1.0 / max(len(names), 1))
    order = np.argsort(wanted)
    for k, place in zip(order, apart(wanted[order], room), strict=True):
        ax.plot((edge, edge + 0.03 * out), (wanted[k], place), "-", color=colors[k], lw=0.7,
                clip_on=False, transform=ax.transAxes, scalex=False, scaley=False)  # fmt: skip
        ax.text(edge + 0.04 * out, place, short(names[k]), color=colors[k], fontsize=size,
                ha="left" if right else "right", va="center", transform=ax.transAxes)  # fmt: skip


def apart(wanted: Array, room: float) -> Array:
    """Ascending places in [0, 1], `room` from each other, near those that are wanted.

    Neighbours that are too close become a block around the mean of what they want.
    """
    blocks: list[tuple[float, int]] = []  # where each begins, and how many it has
    for place in np.clip(wanted, 0.0, 1.0):
        start, size = float(place), 1
        while blocks and blocks[-1][0] + blocks[-1][1] * room > start:
            before, more = blocks.pop()
            start = (before * more + (start - more * room) * size) / (more + size)
            size += more
        start = max(0.0, min(start, 1.0 - room * (size - 1)))
        blocks.append((start, size))
    spread = [start + room * np.arange(size) for start, size in blocks]
    return np.concatenate(spread) if spread else np.empty(0)
