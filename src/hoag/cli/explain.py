"""Why a prediction is what it is: contributions that add up to how it differs from the mean one.

    Σⱼ coefⱼ (xⱼ − meanⱼ) = prediction − prediction at the means

The terms of columns that were made of one column of the file are added up: those of all its
categories, and the one that says that it is missing. Words of a text stay apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag.cli.families import is_additive

CELLS = 1_000_000  # of contributions at a time


def check(count: int, notes: dict[str, Any], model: str) -> None:
    if count < 0:
        raise ValueError(f"--explain {count}: give how many contributions, from 1 on.")
    if count and notes["model"] == "kernel-ridge":
        raise ValueError(f"--explain is for linear models, and {model} is a kernel-ridge model.")
    if count and len(notes["targets"]) > 1:
        raise ValueError(f"--explain is for one target, and {model} has {len(notes['targets'])}.")


def reasons(
    model: Any,
    X: Any,
    predictions: Any,
    frames: tuple[Any, Any],
    notes: dict[str, Any],
    count: int,
) -> list[list[dict[str, Any]]]:
    """For each row the `count` largest contributions, with the value of the column.

    frames  the columns of the file, and those that were made of them; None for svmlight
    """
    if not count:
        return []
    if is_additive(notes["model"]):
        return _of_terms(model, X, predictions, frames, count)
    sources = list(dict.fromkeys(notes["sources"]))
    place = {name: j for j, name in enumerate(sources)}
    groups = np.array([place[name] for name in notes["sources"]])
    coef = np.atleast_2d(model.coef_)
    outputs = np.zeros(X.shape[0], dtype=int)
    if "classes_" in vars(model) and notes["model"] != "ordinal":
        outputs = np.searchsorted(model.classes_, predictions)
        coef = np.vstack([-coef, coef]) if coef.shape[0] == 1 else coef
    values = [_values(frames, name) for name in sources]
    told, size = list[list[dict[str, Any]]](), max(1, CELLS // X.shape[1])
    for start in range(0, X.shape[0], size):
        here = slice(start, start + size)
        rows = X[here].toarray() if not isinstance(X, np.ndarray) else X[here]
        terms = coef[outputs[here]] * (rows - notes["means"])
        sums = np.zeros((len(rows), len(sources)))
        np.add.at(sums.T, groups, terms.T)
        best = np.argsort(-np.abs(sums), axis=1, kind="stable")[:, :count]
        for i, (own, chosen) in enumerate(zip(sums, best, strict=True), start):
            row = []
            for j in chosen:
                cells = values[j]
                value = None if cells is None else cells[i]
                row.append({"column": sources[j], "value": value, "contribution": float(own[j])})
            told.append(row)
    return told


def _of_terms(
    model: Any, X: Any, predictions: Any, frames: tuple[Any, Any], count: int
) -> list[list[dict[str, Any]]]:
    """The largest terms of each row, as an additive model has them: of mean 0 where it was fitted.

    They add up to how a prediction differs from the intercept, before the link.
    """
    each = model.terms(X)
    outputs = np.zeros(len(each), dtype=int)
    if "classes_" in vars(model):
        outputs = np.searchsorted(model.classes_, predictions)
        each = np.concatenate([-each, each], axis=2) if each.shape[2] == 1 else each
    own = each[np.arange(len(each)), :, outputs]
    best = np.argsort(-np.abs(own), axis=1, kind="stable")[:, :count]
    values = [_values(frames, names[0]) if len(names) == 1 else None for names in model.columns]
    told = []
    for i, chosen in enumerate(best):
        row = []
        for j in chosen:
            cells = values[j]
            name = model.labels[j] if cells is None else model.columns[j][0]
            value = None if cells is None else cells[i]
            row.append({"column": name, "value": value, "contribution": float(own[i, j])})
        told.append(row)
    return told


def shown(reason: dict[str, Any]) -> str:
    """age = 63: +1.2."""
    value = reason["value"]
    value = f"{value:.10g}" if isinstance(value, float) else value
    value = "" if value is None else f" = {value}"
    return f"{reason['column']}{value}: {reason['contribution']:+.4g}"


def _values(frames: tuple[Any, Any], name: str) -> list[Any] | None:
    """A column of the file, or a part of a date; None for a word and svmlight's features."""
    for frame in frames:
        if frame is not None and name in frame.columns:
            cells = zip(frame[name].tolist(), frame[name].isna(), strict=True)
            return ["missing" if no else cell if _plain(cell) else str(cell) for cell, no in cells]
    return None


def _plain(cell: Any) -> bool:
    return isinstance(cell, (str, int, float, bool))
