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
        told += _largest(sums, sources, values, count, start)
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
    values = [_values(frames, names[0]) if len(names) == 1 else None for names in model.columns]
    each_name = zip(values, model.labels, model.columns, strict=True)
    names = [label if cells is None else first for cells, label, (first, *_) in each_name]
    return _largest(own, names, values, count)


def _largest(
    contributions: Any, names: list[str], values: list[Any], count: int, first: int = 0
) -> list[list[dict[str, Any]]]:
    """The `count` largest of each row, which are those of the file from the first on."""
    best = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :count]
    return [
        [
            {
                "column": names[j],
                "value": None if values[j] is None else values[j][i],
                "contribution": float(own[j]),
            }
            for j in chosen
        ]
        for i, (own, chosen) in enumerate(zip(contributions, best, strict=True), first)
    ]


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
