"""How lines are drawn: told apart in print and by the colour-blind, and labelled where they end."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.numeric import Array

# Okabe and Ito's colours; every line also has a dash and a marker of its own.
LOOKS: dict[str, dict[str, Any]] = {
    "hoag-exponential": {"color": "#0072B2", "ls": "-", "marker": "o", "lw": 2.2},
    "hoag-quadratic": {"color": "#D55E00", "ls": "--", "marker": "s", "lw": 1.4},
    "hoag-cubic": {"color": "#009E73", "ls": "-.", "marker": "^", "lw": 1.4},
    "hoag-exact": {"color": "#000000", "ls": ":", "marker": "x", "lw": 1.6},
    "grid": {"color": "#000000", "ls": ":", "marker": "s", "lw": 1.4},
    "random": {"color": "#888888", "ls": "--", "marker": "x", "lw": 1.4},
    "smbo": {"color": "#D55E00", "ls": "-.", "marker": "D", "lw": 1.4},
    "iterdiff": {"color": "#009E73", "ls": "--", "marker": "^", "lw": 1.4},
    "hoag-secant": {"color": "#56B4E9", "ls": "-", "marker": "P", "lw": 1.4},
    "default": {"color": "#CC79A7", "ls": "-", "marker": "*", "lw": 1.4},
    "tpe": {"color": "#B08900", "ls": ":", "marker": "v", "lw": 1.4},
}

LEADER = {"arrowstyle": "-", "lw": 0.5, "alpha": 0.6, "shrinkA": 0, "shrinkB": 0}

End = tuple[float, float, str]  # of a line: x, y and colour

# Labels stand at least so far apart, as a share of the axis' height.
APART = 0.075


def figure(rows: int, columns: int, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # without pyplot, which would keep every figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Labels at the ends of lines need room to the right of every axis.
    layout = ConstrainedLayoutEngine(wspace=0.27, rect=(0, 0, 1 - 0.24 / columns, 1))
    fig = Figure(figsize=(4.8 * columns, height * rows), layout=layout)
    return fig, fig.subplots(rows, columns, squeeze=False)


def line(ax: Any, x: Any, y: Any, method: str, **more: Any) -> End:
    """With about eight markers; where it ends, and its method's colour."""
    every = max(1, len(x) // 8)
    ax.plot(x, y, ms=4.5, markevery=every, mfc="white", **LOOKS[method] | more)
    return np.asarray(x)[-1], np.asarray(y)[-1], LOOKS[method]["color"]


def label(ax: Any, ends: dict[str, End]) -> None:
    """Names beside the ends of lines, moved apart where they would overlap, with thin leaders."""
    low, high = sorted(ax.get_ylim())  # a line that ends outside is pointed at where it left
    to_axes = ax.transAxes.inverted().transform
    placed = []
    for text, (x, y, color) in ends.items():
        if np.isfinite(x) and np.isfinite(y):
            end = (x, np.clip(y, low, high))
            height = to_axes(ax.transData.transform(end))[1]
            placed.append((float(np.clip(height, 0, 1)), end, text, color))
    placed.sort(key=lambda place: place[0])
    for height, (_, end, text, color) in zip(_spread([place[0] for place in placed]), placed):
        note = ax.annotate(
            text,
            xy=end,
            xytext=(1.03, height),
            textcoords=ax.transAxes,
            color=color,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops=LEADER | {"color": color},
        )
        note.set_in_layout(False)


def _spread(heights: list[float]) -> Array:
    """Ascending heights, moved as little as may be so that neighbours are `APART`."""
    placed = np.array(heights)
    for _ in range(200):
        for k in np.flatnonzero(np.diff(placed) < APART - 1e-9):
            short = APART - (placed[k + 1] - placed[k])
            if short > 0:
                placed[k] -= short / 2
                placed[k + 1] += short / 2
    return np.asarray(placed - placed.min(initial=0.0))


def smooth(drawn: Any, low: float = -np.inf, high: float = np.inf) -> tuple[Array, Array]:
    """A curve through its values and slopes, between two λ."""
    from scipy.interpolate import CubicHermiteSpline

    drawn = drawn.sort_values("lam_0")
    low, high = max(low, drawn.lam_0.min()), min(high, drawn.lam_0.max())
    t = np.linspace(low, high, 400)
    return t, CubicHermiteSpline(drawn.lam_0, drawn.f, drawn.grad_0)(t)


def staircase(runs: list[Any], column: str, grid: Array) -> Array:
    """The median, over runs, of what each had answered by each time of a grid; nan before."""
    reached = [np.searchsorted(run.seconds, grid, side="right") for run in runs]
    answers = [np.r_[np.inf, run[column]][k] for run, k in zip(runs, reached)]
    found = np.median(answers, axis=0)
    return np.where(np.isfinite(found), found, np.nan)
