"""Pictures of the tables in benchmarks.md, light and dark, drawn from them and nothing else."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

OURS, THEIRS, THIRD = "#2F8FCE", "#E0702B", "#8C8C8C"
INKS = {"light": "#222832", "dark": "#ced6dd"}


def table(page: str, heading: str):
    """The rows of the first table below a heading, as dicts; empty cells repeat those above."""
    text = page.split(f"## {heading}\n", 1)[1]
    lines = text.split("\n## ", 1)[0].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
    header, _, *body = rows
    for above, row in pairwise(body):
        row[:3] = [cell or up for cell, up in zip(row[:3], above)]
    return [dict(zip(header, row)) for row in body]


def number(cell: str) -> float:
    """The number that a cell begins with, or the middle of “a to b”; nan for words."""
    found = re.match(r"([\d.]+)(?: to ([\d.]+))?", cell)
    if not found:
        return float("nan")
    return float(np.mean([float(part) for part in found.groups() if part]))


def axes(ink: str, height: float):
    figure = Figure(figsize=(5.4, height), layout="constrained")
    ax = figure.subplots()
    ax.tick_params(which="both", colors=ink, labelsize=10)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(ink)
    ax.set_facecolor("none")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.label.set_color(ink)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    return figure, ax


def legend(figure, ax, ink: str):
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper left", frameon=False,
                  labelcolor=ink, fontsize=10, ncols=2)  # fmt: skip


def dots(rows, title, methods, ink):
    """One line a data set, one dot a method: [(label, [value of each method])]."""
    figure, ax = axes(ink, 1.2 + 0.34 * len(rows))
    values = np.array([value for _, value in rows])
    for k, each in enumerate(values):
        ax.plot([np.nanmin(each), np.nanmax(each)], [k, k], color=ink, alpha=0.35, lw=1, zorder=1)
    for j, (name, color, mark) in enumerate(methods):
        ax.plot(values[:, j], range(len(rows)), mark, color=color, ms=8, label=name, zorder=2)
    ax.set_yticks(range(len(rows)), [label for label, _ in rows])
    ax.set_xlabel(title)
    legend(figure, ax, ink)
    return figure


def estimators(page: str, ink: str):
    found: dict = {}
    for row in table(page, "The estimators beside scikit-learn's and Optuna"):
        label = f"{row['data']}, {row['model'].split(',')[0]}"
        found.setdefault(label, []).append(number(row["seconds"]))
    methods = [("hoag", OURS, "o"), ("scikit-learn's grid", THEIRS, "s")]
    methods.append(("Optuna, 30 trials", THIRD, "D"))
    return dots(list(found.items()), "seconds, logarithmic", methods, ink)


def rivals(page: str, ink: str):
    rows = table(page, "One penalty, beside scikit-learn's own classes")
    labels = [short(row["data"]) for row in rows]
    now = [number(row["times as fast"].strip("*")) for row in rows]
    before = [number(row["before"]) for row in rows]
    figure, ax = axes(ink, 1.3 + 0.3 * len(rows))
    places = range(len(rows))
    ax.hlines(places, 1, now, color=OURS, lw=3)
    ax.plot(now, places, "o", color=OURS, ms=7, label="now")
    ax.plot(before, places, "|", color=THIRD, ms=9, mew=2, label="before")
    ax.axvline(1, color=ink, lw=1)
    ax.set_yticks(places, labels)
    ax.set_xlabel("times as fast as scikit-learn, logarithmic")
    legend(figure, ax, ink)
    return figure


def short(label: str) -> str:
    label = label.replace("against one lbfgs fit", "one fit").replace(", against one fit", "")
    label = label.replace("1000000×20", "10⁶×20").replace("leave-one-out", "loo")
    return label.replace("5 folds and refit", "one fit").replace("the same", "one fit")


def paper(page: str, ink: str):
    rows = table(page, "The paper, reproduced")
    sets = [("20news", "20news passes", "o"), ("IMDB", "IMDB passes", "s")]
    sets.append(("Parkinsons", "Parkinsons passes", "D"))
    colors = (OURS, THEIRS, THIRD)
    shown = [row for row in rows if not all(row[key] == "never" for _, key, _ in sets)]
    lines = [(row["method"].replace(" (first split)", "").replace("iterative", "iterative\n")
              .replace(" (bayesian-optimization)", "").replace("HOAG, exact", "HOAG,\nexact")
              .replace("HOAG with", "HOAG with\n").replace("HOAG as", "HOAG as\n")
              .replace("hoag's default", "hoag's default\n"),
              [number(row[key]) for _, key, _ in sets]) for row in shown]  # fmt: skip
    methods = [(name, color, mark) for (name, _, mark), color in zip(sets, colors)]
    return dots(lines, "passes until within 1e-3 of the best, logarithmic", methods, ink)


def draw(page: Path, folder: Path):
    folder.mkdir(exist_ok=True)
    text = page.read_text(encoding="utf-8")
    for name, make in {"estimators": estimators, "rivals": rivals, "paper": paper}.items():
        for mode, ink in INKS.items():
            make(text, ink).savefig(folder / f"{name}-{mode}.svg", transparent=True)
