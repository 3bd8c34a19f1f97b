"""What the pictures share: colours, axes, how numbers and names are written.

Colours are of middle brightness, so that they read on white, on black and in grey; ink is the
colour of text, which a page replaces by its own where it is black.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.errors import InvalidParameterError, MissingPackageError
from hoag._core.numeric import Array
from hoag._core.result import Result, Step
from hoag.linear_model._base import TunedEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

PATH, BEST, SOFT = "#2277BB", "#D55E00", "#808080"
DARK = "#111111"  # on colours that are light everywhere

# Lines that have to be told apart, in grey too.
LOOKS = (
    (PATH, "-"), (BEST, "--"), ("#009E73", "-."), ("#B0559A", ":"),
    ("#808000", "-"), ("#4D8FD6", "--"), ("#A0522D", "-."), ("#708090", ":"),
)  # fmt: skip

ABOVE = "% above the best".replace(" ", "\N{NO-BREAK SPACE}")  # in one line of a label
SIZE = (5.2, 3.7)  # inches: a column of a page, and on a phone all of its width
LONG = 22  # characters of a name
LITTLE = 0.01  # per cent: steps whose losses differ by less are as good as one
CLOSE = 1e-3  # values that differ by less of themselves are shown as differences
WIDE = 12.5  # characters of a label for each inch of it


def axes(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The axes that were given, or those of a new figure."""
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingPackageError.of("hoag.plot", "matplotlib", "'hoag[plot]'") from None
    return plt


def ink() -> str:
    """The colour of text: black, or what the style has in its place."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def looks(many: int) -> list[tuple[str, str]]:
    return [LOOKS[k % len(LOOKS)] for k in range(many)]


def checked(estimator: Any) -> TunedEstimator:
    """The estimator, which has to be fitted, and one of this library."""
    if not isinstance(estimator, TunedEstimator) or "result_" not in vars(estimator):
        raise InvalidParameterError(
            f"This {type(estimator).__name__} has no result_.\nFit it first, with an estimator of "
            "hoag.",
            "estimator",
        )
    return estimator


def rows(estimator: Any, kind: type, X: Any, y: Any) -> Any:
    """The estimator, fitted and of a kind that says what is drawn, for rows that are given."""
    if not isinstance(checked(estimator), kind):
        name, other = kind.__name__, type(estimator).__name__
        raise InvalidParameterError(
            f"This picture is for {name} and its like, and this is a {other}.", "estimator"
        )
    if X is None or y is None:
        raise InvalidParameterError(
            "Give X and y, best of rows that the model was not fitted to.", "X"
        )
    return estimator


def solved(result: Result) -> list[Step]:
    """The steps whose f is known: a search may begin with a scan where nothing is solved for."""
    steps = [step for step in result.trace if np.isfinite(step.evaluation.highest)]
    return steps or list(result.trace)


def loss_name(estimator: Any) -> str:
    """What is minimised: a loss of held-out rows, or an analytic criterion."""
    return str(estimator._judged_by())


def feature_names(estimator: Any) -> list[str]:
    given = vars(estimator).get("feature_names_in_")
    if given is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in given]


def strength(estimator: Any) -> tuple[str, float]:
    """The name and the sign of the axis of λ: scikit-learn's word for exp(sign·λ)."""
    if "C_" in estimator._named(estimator.lam_):
        return "C (weak → strong penalty)", -1.0
    return "penalty α (weak → strong)", 1.0


def lam_names(estimator: Any) -> list[str]:
    """Whose each λ is, as short as in a list."""
    names = [str(name) for name in estimator._lam_names()]
    if has_widths(estimator):
        return [*(name.replace("width", "γ") for name in names[:-1]), "α"]
    return names


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


def inches(axis: Any) -> float:
    """How long an axis is, before anything is written beside it."""
    box = axis.axes.get_window_extent()
    return float(box.width if axis.axis_name == "x" else box.height) / float(axis.axes.figure.dpi)


def room(axis: Any) -> int:
    """How many ticks an axis has room for."""
    return int(np.clip(inches(axis) * (1.3 if axis.axis_name == "x" else 2.25), 2, 6))


def numbers(*axes: Axis) -> None:
    """Round numbers on each axis, as many as there is room for, each written as it is."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(room(axis), steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(number))


def powers(axis: Axis) -> None:
    """Ticks of a logarithmic axis."""
    low, high = np.log10(axis.get_view_interval())
    ticks = decades(low, high, room(axis))
    axis.set_ticks(ticks, [power(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def logs(axis: Axis, sign: float | None) -> None:
    """Ticks of an axis of λ, written as exp(sign·λ); as λ itself where sign is None."""
    if sign is None:
        numbers(axis)
    else:
        axis.set_ticks(*log_ticks(*axis.get_view_interval(), sign, room(axis)))


def log_ticks(low: float, high: float, sign: float, most: int) -> tuple[Array, list[str]]:
    """Places between two λ, and what exp(sign·λ) is there."""
    low, high = sorted(sign * end / np.log(10) for end in (low, high))
    ticks = decades(low, high, most)
    return sign * np.log(ticks), [power(tick) for tick in ticks]


def decades(low: float, high: float, most: int) -> Array:
    """Round numbers from 10^low to 10^high: powers of ten, or 1, 2 and 5 times these, or others."""
    from matplotlib.ticker import MaxNLocator

    exponents = np.arange(np.ceil(low), np.floor(high) + 1)
    if exponents.size > 2:
        return np.asarray(10.0 ** exponents[exponents % np.ceil(exponents.size / most) == 0])
    ends = 10.0**low, 10.0**high
    fine = np.outer(10.0 ** np.arange(np.floor(low), high), [1, 2, 5]).ravel()
    for ticks in (fine, MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(*ends)):
        inside = ticks[(ticks >= ends[0] * (1 - 1e-9)) & (ticks <= ends[1] * (1 + 1e-9))]
        if inside.size > 1:
            break
    return np.asarray(inside[:: -(-inside.size // most)])


def power(value: float) -> str:
    exponent = np.log10(value)
    if abs(exponent) > 4.5 and np.isclose(exponent, np.round(exponent)):
        return f"$10^{{{exponent:.0f}}}$"
    return number(float(f"{value:.6g}"))


def bar(ax: Axes, picture: Any, label: str = "", sign: float | None = None) -> Any:
    """A bar of the picture's colours beside the axes; of λ, if there is a sign, as in `logs`."""
    made = ax.figure.colorbar(picture, ax=ax)
    if sign is None:
        numbers(made.ax.yaxis)
    else:
        low, high = picture.get_clim()
        places, words = log_ticks(low, high, sign, room(made.ax.yaxis))
        made.set_ticks(places.tolist(), labels=words)
    made.set_label(folded(label, ax.yaxis))
    return made


def folded(label: str, axis: Any) -> str:
    """A label in as many lines as it takes to be no longer than its axis."""
    return "\n".join(textwrap.wrap(label, max(14, int(WIDE * inches(axis)))))


def losses(ax: Axes, name: str, least: float, most: float) -> tuple[float, float]:
    """Write the loss on the y axis; (a, b) of what has to be drawn, a·(loss − b).

    Where all are within a thousandth they are drawn as what they are above the least, in parts
    of a million of it.
    """
    numbers(ax.yaxis)
    if 0 < most - least < CLOSE * least:
        ax.set_ylabel(f"{name} above\n{least:.6g}, in millionths of it")
        return 1e6 / least, least
    ax.set_ylabel(folded(name, ax.yaxis))
    return 1.0, 0.0


def whole(ax: Axes, many: int) -> None:
    """Steps along x, from 1 to so many."""
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel="step", xlim=(1, many) if many > 1 else (0.5, 1.5))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))


def star(ax: Axes, x: float, y: float, **look: Any) -> None:
    """The best of all."""
    ax.plot(x, y, "*", color=BEST, mec=DARK, mew=0.7, ms=13, ls="none", **look)


def legend(ax: Any, columns: int, below: float = 34.0) -> Any:
    """Under the axes and their label, so many points `below`, without a frame."""
    from matplotlib.transforms import offset_copy

    under = offset_copy(ax.transAxes, ax.figure, y=-below, units="points")
    return ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=under, ncols=columns,
        frameon=False, fontsize="small", handlelength=1.6, columnspacing=1.2, borderaxespad=0.0,
    )  # fmt: skip


def beside(ax: Axes, y: Array, names: list[str], colors: list[str], right: bool = False) -> None:
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
