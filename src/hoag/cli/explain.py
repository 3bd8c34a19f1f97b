"""Why a prediction is what it is: contributions that add up to how it differs from the mean one.

    Σⱼ coefⱼ (xⱼ − meanⱼ) = prediction − prediction at the means

The terms of columns that were made of one column of the file are added up: those of all its
categories, and the one that says that it is missing. Words of a text stay apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CELLS = 1_000_000  # of contributions at a time


def check(count: int, notes: dict[str, Any], model: str) -> None:
    if count < 0:
        raise ValueError(f"--explain {count}: give how many contributions, from 1 on.")
    if count and notes["model"] == "kernel-ridge":
        raise ValueError(f"--explain is for linear models, and {model} is a kernel-ridge model.")
    if count and len(notes["targets"]) > 1:
        raise ValueError(f"--explain is for one target, and {model} has {len(notes['targets'])}.")


def reasons(
    model: Any, X: Any, predictions: Any, table: Any, notes: dict[str, Any], count: int
) -> list[list[dict[str, Any]]]:
    """For each row the `count` largest contributions, with the value of the column."""
    if not count:
        return []
    sources = list(dict.fromkeys(notes["sources"]))
    place = {name: j for j, name in enumerate(sources)}
    groups = np.array([place[name] for name in notes["sources"]])
    coef = np.atleast_2d(model.coef_)
    outputs = np.zeros(X.shape[0], dtype=int)
    if "classes_" in vars(model):
        outputs = np.searchsorted(model.classes_, predictions)
        coef = np.vstack([-coef, coef]) if coef.shape[0] == 1 else coef
    told, size = list[list[dict[str, Any]]](), max(1, CELLS // X.shape[1])
    for start in range(0, X.shape[0], size):
        here = slice(start, start + size)
        rows = X[here].toarray() if not isinstance(X, np.ndarray) else X[here]
        terms = coef[outputs[here]] * (rows - notes["means"])
        sums = np.zeros((len(rows), len(sources)))
        np.add.at(sums.T, groups, terms.T)
        best = np.argsort(-np.abs(sums), axis=1, kind="stable")[:, :count]
        for i, (own, chosen) in enumerate(zip(sums, best, strict=True), start):
            named = [(sources[j], float(own[j])) for j in chosen]
            told.append(
                [
                    {"column": name, "value": _value(table, name, i), "contribution": part}
                    for name, part in named
                ]
            )
    return told


def shown(reason: dict[str, Any]) -> str:
    """age = 63: +1.2."""
    value = "" if reason["value"] is None else f" = {reason['value']}"
    return f"{reason['column']}{value}: {reason['contribution']:+.4g}"


def _value(table: Any, name: str, row: int) -> Any:
    """What the file has there; None for a word, a part of a date and svmlight's features."""
    import pandas as pd

    if not table.named or name not in table.rows.columns:
        return None
    value = table.rows[name].iloc[row]
    if pd.isna(value):
        return "missing"
    return value.item() if isinstance(value, np.generic) else value if _plain(value) else str(value)


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))
