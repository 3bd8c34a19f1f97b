"""How lines are drawn: told apart in print and by the colour-blind, and labelled where they end."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag.values import Array

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

# Labels stand at least so far apart, as a share of the axis' height.
APART = 0.075


def figure(rows: int, columns: int, height: float = 3.0) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # without pyplot, which would keep every figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Labels at the ends of lines need room to the right of every axis.
    layout = ConstrainedLayoutEngine(wspace=0.27, rect=(0, 0, 1 - 0.24 / columns, 1))
    fig = Figure(figsize=(4.8 * columns, height * rows), layout=layout)
    axes = fig.subplots(rows, columns, squeeze=False)
    return fig, axes


def line(ax: Any, x: Any, y: Any, method: str, markers: int = 8, **more: Any) -> None:
    x, y = np.asarray(x, float), np.asarray(y, float)
    every = max(1, len(x) // markers)
    ax.plot(x, y, ms=4.5, markevery=every, mfc="white", **LOOKS[method] | more)


class Labels:
    """Names beside the ends of lines, moved apart where they would overlap, with thin leaders."""

    def __init__(self, ax: Any) -> None:
        self._ax, self._ends = ax, list[tuple[float, float, str, str]]()

    def add(self, x: float, y: float, text: str, color: str) -> None:
        if np.isfinite(x) and np.isfinite(y):
            self._ends.append((float(x), float(y), text, color))

    def draw(self) -> None:
        ax = self._ax
        if not self._ends:
            return
        to_axes = ax.transAxes.inverted().transform
        low, high = sorted(ax.get_ylim())  # a line that ends outside is pointed at where it left
        self._ends = [(x, float(np.clip(y, low, high)), t, c) for x, y, t, c in self._ends]
        places = [to_axes(ax.transData.transform(end[:2])) for end in self._ends]
        order = np.argsort([place[1] for place in places], kind="stable")
        heights = _spread([float(np.clip(places[k][1], 0, 1)) for k in order])
        for k, height in zip(order, heights):
            x, y, text, color = self._ends[k]
            label = ax.annotate(
                text,
                xy=(x, y),
                xytext=(1.03, height),
                textcoords=ax.transAxes,
                color=color,
                fontsize=8,
                va="center",
                annotation_clip=False,
                arrowprops=LEADER | {"color": color},
            )
            label.set_in_layout(False)


def _spread(heights: list[float]) -> Array:
    """Ascending heights, moved as little as may be so that neighbours are `APART`."""
    placed = np.array(heights)
    for _ in range(200):
        gaps = np.diff(placed)
        close = np.flatnonzero(gaps < APART - 1e-9)
        if not close.size:
            break
        for k in close:
            short = APART - (placed[k + 1] - placed[k])
            if short > 0:
                placed[k] -= short / 2
                placed[k + 1] += short / 2
    low = min(0.0, float(placed[0]))
    return placed - low


def smooth(drawn: Any, low: float = -np.inf, high: float = np.inf) -> tuple[Array, Array]:
    """A curve through its values and slopes, between two λ."""
    from scipy.interpolate import CubicHermiteSpline

    drawn = drawn.sort_values("lam_0")
    low, high = max(low, drawn.lam_0.min()), min(high, drawn.lam_0.max())
    t = np.linspace(low, high, 400)
    return t, CubicHermiteSpline(drawn.lam_0, drawn.f, drawn.grad_0)(t)


def staircase(times: list[Any], values: list[Any], grid: Array) -> Array:
    """The median, over runs, of what each had answered by each time of a grid; nan before."""
    answers = []
    for t, v in zip(times, values):
        index = np.searchsorted(np.asarray(t, float), grid, side="right") - 1
        answers.append(np.where(index >= 0, np.asarray(v, float)[np.maximum(index, 0)], np.inf))
    found = np.median(np.array(answers), axis=0)
    return np.where(np.isfinite(found), found, np.nan)
