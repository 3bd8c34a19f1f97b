"""The paper's figures, from rows; nothing is computed here that a run should have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hoag.bench.cases import CASES
from hoag.bench.draw import LOOKS, Labels, figure, line, smooth, staircase
from hoag.bench.methods import COMPARED, METHODS, SEQUENCES
from hoag.bench.rows import Rows

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
        for ax, by, label in zip(axes[:, column], ("seconds", "passes"),
                                 ("seconds", "passes over the training rows")):  # fmt: skip
            labels = Labels(ax)
            for method in SEQUENCES:
                run = rows.run(name, method)
                if run is None:
                    continue
                line(ax, run[by], run.suboptimality, method)
                text = method.removeprefix("hoag-")
                labels.add(run[by].iloc[-1], run.suboptimality.iloc[-1], text,
                           LOOKS[method]["color"])  # fmt: skip
            _log_axes(ax, label, "relative suboptimality" if column == 0 else "")
            labels.draw()
        axes[0, column].set_title(_title(name))
    return fig


def methods(rows: Rows) -> Any:
    """Above, the suboptimality of each method's answer; below, its loss on validation rows."""
    cases = rows.few()
    fig, axes = figure(2, len(cases), 3.4)
    for column, name in enumerate(cases):
        _medians(axes[0, column], rows, name, "answer")
        _medians(axes[1, column], rows, name, "answer_validation")
        axes[0, column].set_title(_title(name))
        if column == 0:
            axes[0, 0].set_ylabel("relative suboptimality")
            axes[1, 0].set_ylabel("validation loss")
    return fig


def many(rows: Rows) -> Any:
    """Test and validation loss of what each method answers, without a grid."""
    names = [name for name in rows.cases() if CASES[name].many]
    fig, axes = figure(len(names), 2, 3.6)
    for line_of_axes, name in zip(axes, names):
        for ax, column in zip(line_of_axes, ("answer_value", "answer_validation")):
            _medians(ax, rows, name, column)
        line_of_axes[0].set(title=_title(name), ylabel="test loss")
        line_of_axes[1].set(title=CASES[name].model, ylabel="validation loss")
    return fig


def _medians(ax: Any, rows: Rows, name: str, column: str) -> None:
    """One line a method: the median over seeds by the time on the axis."""
    labels, ends, shown = Labels(ax), [], []
    for method in COMPARED:
        runs = rows.of(name, method)
        if not runs:
            continue
        first = max(run.seconds.iloc[0] for run in runs)
        last = max(run.seconds.iloc[-1] for run in runs)
        grid = np.geomspace(first, last, 240) if last > first else np.array([first])
        answer = staircase([run.seconds for run in runs], [run[column] for run in runs], grid)
        line(ax, grid, answer, method, drawstyle="steps-post")
        ends.append((grid[-1], answer[-1], METHODS[method].label, LOOKS[method]["color"]))
        shown.append(answer)
    _log_axes(ax, "seconds", "")
    if column != "answer" and shown:
        flat = np.concatenate(shown)
        low, high = np.nanmin(flat), np.nanmax(flat)
        if not CASES[name].many:  # the extremes of a grid would leave the rest no room
            high = min(high, 3 * low)
        room = (high / low) ** 0.06
        ax.set_ylim(low / room, high * room)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(axis="y", which="both", labelsize=7)
    for end in ends:
        labels.add(*end)
    labels.draw()


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
    for method in ("smbo", "hoag-exponential"):
        run = rows.run(name, method)
        if run is not None:
            look = LOOKS[method]
            ax.plot(run.lam_0, run.f, color=look["color"], marker=look["marker"], ms=5, lw=0,
                    mfc="none", label=METHODS[method].label)  # fmt: skip
    ax.legend(fontsize=8, frameon=False)
    ax.set(xlabel="λ", ylabel="test loss f(λ)", yscale="log")


def _surface(ax: Any, rows: Rows, name: str) -> None:
    table = rows.drawn(name).pivot(index="lam_1", columns="lam_0", values="f")
    above = np.log10(np.maximum(table.to_numpy() / rows.f_star(name, 0) - 1, 1e-3))
    shades = ax.contourf(table.columns, table.index, above, levels=15, cmap="cividis_r")
    ax.figure.colorbar(shades, ax=ax, label="log₁₀ relative suboptimality")
    for method, look in (("smbo", "#D55E00"), ("hoag-exponential", "k")):
        run = rows.run(name, method)
        if run is None:
            continue
        joined = "-" if METHODS[method].gradient else "none"
        ax.plot(run.lam_0, run.lam_1, color=look, ls=joined, marker=LOOKS[method]["marker"], ms=4.5,
                lw=1, mec="w", mew=0.6, label=METHODS[method].label)  # fmt: skip
    ax.legend(fontsize=8, loc="lower right")
    ax.set(xlabel="log γ, width", ylabel="log α, ridge")


def gradient(rows: Rows) -> Any:
    """f with approximate slopes; the slopes beside the true ones; their errors."""
    name = next(case for case in rows.few() if rows.run(case, "certified") is not None)
    run, drawn = rows.run(name, "certified"), rows.drawn(name)
    fig, axes = figure(1, 3, 3.4)
    _tangents(axes[0, 0], run, drawn)
    ax = axes[0, 1]
    ax.axhline(0, color="0.7", lw=0.8)
    bound = np.minimum(run.bound, 1e300)
    ax.fill_between(run.k, run.grad_0 - bound, run.grad_0 + bound, color="#56B4E9", alpha=0.3,
                    lw=0, step="mid")  # fmt: skip
    ax.plot(run.k, run.true_slope, "k-", lw=1.2)
    ax.plot(run.k, run.grad_0, "o", color="#0072B2", ms=4.5, mfc="white")
    span = np.abs(run.true_slope).max()
    ax.set_ylim(-1.6 * span, 1.6 * span)
    ax.set(xlabel="step", ylabel="slope of f")
    ax.text(0.97, 0.95, "line: true\ncircles: approximate\nband: rigorous bound", fontsize=8,
            ha="right", va="top", transform=ax.transAxes)  # fmt: skip
    ax = axes[0, 2]
    labels = Labels(ax)
    for values, text, color, style in (
        (run.bound, "rigorous bound", "#56B4E9", "s-"),
        (run.error, "estimate", "#D55E00", "^--"),
        (np.abs(run.grad_0 - run.true_slope), "true error", "#000000", "o:"),
        (run.eps, "ε", "#888888", "-"),
    ):
        ax.plot(run.k, np.where(np.isfinite(values) & (values > 0), values, np.nan), style,
                color=color, ms=3.5, lw=1.2)  # fmt: skip
        labels.add(run.k.iloc[-1], np.asarray(values)[-1], text, color)
    ax.set(xlabel="step", ylabel="error of the slope", yscale="log")
    labels.draw()
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


def _log_axes(ax: Any, x: str, y: str) -> None:
    ax.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    ax.xaxis.set_minor_formatter("")
    ax.grid(color="0.9", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def possible(rows: Rows) -> list[str]:
    """The figures that can be drawn from these rows."""
    names = rows.few()
    found = {
        "gradient": any(rows.run(name, "certified") is not None for name in names),
        "tolerance": any(rows.run(name, m) is not None for name in names for m in SEQUENCES),
        "methods": any(rows.run(name, m) is not None for name in names for m in COMPARED),
        "many": any(CASES[name].many for name in rows.cases()),
        "costs": any(len(rows.drawn(name)) for name in names),
    }
    return [name for name in FIGURES if found[name]]


FIGURES: dict[str, Callable[[Rows], Any]] = {
    "gradient": gradient,
    "tolerance": tolerance,
    "methods": methods,
    "many": many,
    "costs": costs,
}
