"""The paper's figures, from rows; nothing is computed here that a run should have."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.cases import CASES
from paper.draw import LOOKS, figure, label, line, smooth, staircase
from paper.methods import COMPARED, METHODS, SEQUENCES
from paper.rows import Rows

# Whose points are drawn on a cost function.
ON_COSTS = ("smbo", "hoag-exponential")

TITLES = {
    "gradient": "The gradient, approximately",
    "tolerance": "Tolerance sequences",
    "methods": "Methods",
    "many": "One penalty for each coefficient",
    "costs": "The cost functions",
}


def _title(name: str) -> str:
    case = CASES[name]
    return f"{name} (for {case.stands_for})" if case.is_stand_in else name


def tolerance(rows: Rows) -> Any:
    """Suboptimality of every step of the first seed, against seconds and against passes."""
    cases = rows.few()
    fig, axes = figure(2, len(cases), 3.2)
    for column, name in enumerate(cases):
        runs = rows.first_split(name, SEQUENCES)
        for ax, by in zip(axes[:, column], ("seconds", "passes")):
            ends = {
                method.removeprefix("hoag-"): line(ax, run[by], run.suboptimality, method)
                for method, run in runs.items()
            }
            _log_axes(ax, by if by == "seconds" else "passes over the training rows")
            label(ax, ends)
        axes[0, column].set_title(_title(name))
    for ax in axes[:, 0]:
        ax.set_ylabel("relative suboptimality")
    return fig


def methods(rows: Rows) -> Any:
    """Above, the suboptimality of each method's answer; below, its loss on validation rows."""
    cases = rows.few()
    fig, axes = figure(2, len(cases), 3.4)
    for column, name in enumerate(cases):
        _medians(axes[0, column], rows, name, "answer")
        _medians(axes[1, column], rows, name, "answer_validation")
        axes[0, column].set_title(_title(name))
    axes[0, 0].set_ylabel("relative suboptimality")
    axes[1, 0].set_ylabel("validation loss")
    return fig


def many(rows: Rows) -> Any:
    """Test and validation loss of what each method answers, without a grid."""
    names = rows.many()
    fig, axes = figure(len(names), 2, 3.6)
    for (left, right), name in zip(axes, names):
        _medians(left, rows, name, "answer_value")
        _medians(right, rows, name, "answer_validation")
        left.set(title=_title(name), ylabel="test loss")
        right.set(title=CASES[name].model, ylabel="validation loss")
    return fig


def _medians(ax: Any, rows: Rows, name: str, column: str) -> None:
    """One line a method: the median over seeds by the time on the axis."""
    ends, shown = {}, []
    for method in COMPARED:
        runs = rows.of(name, method)
        if not runs:
            continue
        first, last = (max(run.seconds.iloc[k] for run in runs) for k in (0, -1))
        grid = np.geomspace(first, last, 240) if last > first else np.array([first])
        answer = staircase(runs, column, grid)
        ends[METHODS[method].label] = line(ax, grid, answer, method, drawstyle="steps-post")
        shown.append(answer)
    _log_axes(ax, "seconds")
    if column != "answer" and shown:
        low, high = np.nanmin(np.concatenate(shown)), np.nanmax(np.concatenate(shown))
        if not CASES[name].many:  # the extremes of a grid would leave the rest no room
            high = min(high, 3 * low)
        room = (high / low) ** 0.06
        ax.set_ylim(low / room, high * room)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(axis="y", which="both", labelsize=7)
    label(ax, ends)


def costs(rows: Rows) -> Any:
    """f over the domain, with the paths of HOAG and SMBO on it."""
    cases = [name for name in rows.few() if len(rows.drawn(name))]
    fig, axes = figure(1, len(cases), 3.6)
    for ax, name in zip(axes[0], cases):
        (_curve if CASES[name].curve else _surface)(ax, rows, name)
        ax.set_title(_title(name))
    return fig


def _curve(ax: Any, rows: Rows, name: str) -> None:
    ax.plot(*smooth(rows.drawn(name)), color="0.35", lw=1.2)
    for method, run in rows.first_split(name, ON_COSTS).items():
        look = LOOKS[method]
        ax.plot(run.lam_0, run.f, color=look["color"], marker=look["marker"], ms=5, lw=0,
                mfc="none", label=METHODS[method].label)  # fmt: skip
    ax.legend(fontsize=8, frameon=False)
    ax.set(xlabel="λ", ylabel="test loss f(λ)", yscale="log")


def _surface(ax: Any, rows: Rows, name: str) -> None:
    table = rows.drawn(name).pivot(index="lam_1", columns="lam_0", values="f")
    above = np.log10(np.maximum(table.to_numpy() / rows.f_star(name) - 1, 1e-3))
    shades = ax.contourf(table.columns, table.index, above, levels=15, cmap="cividis_r")
    ax.figure.colorbar(shades, ax=ax, label="log₁₀ relative suboptimality")
    looks = {"smbo": {"color": "#D55E00", "ls": "none"}, "hoag-exponential": {"color": "k"}}
    for method, run in rows.first_split(name, ON_COSTS).items():
        ax.plot(run.lam_0, run.lam_1, marker=LOOKS[method]["marker"], ms=4.5, lw=1, mec="w",
                mew=0.6, label=METHODS[method].label, **looks[method])  # fmt: skip
    ax.legend(fontsize=8, loc="lower right")
    ax.set(xlabel="log γ, width", ylabel="log α, ridge")


def gradient(rows: Rows) -> Any:
    """f with approximate slopes; the slopes beside the true ones; their errors."""
    name = rows.few("certified")[0]
    run = rows.run(name, "certified")
    fig, ((left, ax, right),) = figure(1, 3, 3.4)
    _tangents(left, run, rows.drawn(name))
    ax.axhline(0, color="0.7", lw=0.8)
    bound = np.minimum(run.bound, 1e300)
    ax.fill_between(run.k, run.grad_0 - bound, run.grad_0 + bound, color="#56B4E9", alpha=0.3,
                    lw=0, step="mid")  # fmt: skip
    ax.plot(run.k, run.true_slope, "k-", lw=1.2)
    ax.plot(run.k, run.grad_0, "o", color="#0072B2", ms=4.5, mfc="white")
    span = np.abs(run.true_slope).max()
    ax.set(xlabel="step", ylabel="slope of f", ylim=(-1.6 * span, 1.6 * span))
    ax.text(0.97, 0.95, "line: true\ncircles: approximate\nband: rigorous bound", fontsize=8,
            ha="right", va="top", transform=ax.transAxes)  # fmt: skip
    ends = {}
    for values, text, color, style in (
        (run.bound, "rigorous bound", "#56B4E9", "s-"),
        (run.error, "estimate", "#D55E00", "^--"),
        (np.abs(run.grad_0 - run.true_slope), "true error", "#000000", "o:"),
        (run.eps, "ε", "#888888", "-"),
    ):
        drawn = np.where(np.isfinite(values) & (values > 0), values, np.nan)
        right.plot(run.k, drawn, style, color=color, ms=3.5, lw=1.2)
        ends[text] = run.k.iloc[-1], values.iloc[-1], color
    right.set(xlabel="step", ylabel="error of the slope", yscale="log")
    label(right, ends)
    fig.suptitle(f"{_title(name)}: {CASES[name].model}", fontsize=11)
    return fig


def _tangents(ax: Any, run: Any, drawn: Any) -> None:
    low, high = run.lam_0.min(), run.lam_0.max()
    room = max(0.35 * (high - low), 0.5)
    ax.plot(*smooth(drawn, low - room, high + room), color="0.35", lw=1.2)
    reach = 0.09 * (high - low + 2 * room)
    for _, step in run.iterrows():
        t = np.array([-reach, reach])
        ax.plot(step.lam_0 + t, step.f + step.grad_0 * t, color="#0072B2", lw=1.4)
        ax.plot(step.lam_0, step.f, "o", color="#0072B2", ms=4, mfc="white")
    ax.set(xlabel="λ", ylabel="test loss f(λ)")
    ax.margins(y=0.12)


def _log_axes(ax: Any, x: str) -> None:
    ax.set(xscale="log", yscale="log", xlabel=x)
    ax.xaxis.set_minor_formatter("")
    ax.grid(color="0.9", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def possible(rows: Rows) -> list[str]:
    """The figures that can be drawn from these rows."""
    found = {
        "gradient": rows.few("certified"),
        "tolerance": any(rows.few(method) for method in SEQUENCES),
        "methods": any(rows.few(method) for method in COMPARED),
        "many": rows.many(),
        "costs": any(len(rows.drawn(name)) for name in rows.few()),
    }
    return [name for name in FIGURES if found[name]]


FIGURES = {draw.__name__: draw for draw in (gradient, tolerance, methods, many, costs)}
