"""What a target is, and which model that asks for."""

from __future__ import annotations

from typing import Any

from hoag.cli.columns import FLAG, NUMBER, TEXT, check_finite, check_missing, is_too_many, kind
from hoag.cli.text import listed

LOGISTIC, RIDGE, KERNEL_RIDGE = "logistic", "ridge", "kernel-ridge"
MODELS = (LOGISTIC, RIDGE, KERNEL_RIDGE)

# So many whole numbers are classes, more are a quantity.
MOST_CLASSES = 20


def target_kind(frame: Any, where: str) -> str:
    """What the targets hold; all of several targets must be numbers."""
    advice = "remove those rows, for there is nothing to learn from them"
    check_missing(frame, f"The target in {where}", advice)
    kinds = {name: kind(name, frame[name]) for name in frame.columns}
    check_finite(frame[[name for name in kinds if kinds[name] == NUMBER]], where)
    for name in frame.columns:
        if frame[name].nunique() < 2:
            raise ValueError(
                f"The target '{name}' has only one value in {where}, "
                f"'{frame[name].iloc[0]}': there is nothing to learn."
            )
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    others = [name for name in kinds if kinds[name] != NUMBER]
    if others:
        raise ValueError(f"Several targets must all be numbers; {listed(others)} are not.")
    return NUMBER


def choose(asked: str, frame: Any, found: str) -> tuple[str, str]:
    """The model, and why: "" when it was asked for."""
    if frame.shape[1] > 1:
        if asked not in ("auto", RIDGE):
            raise ValueError(f"--model {asked} has one target; several are for --model ridge.")
        return RIDGE, "" if asked == RIDGE else f"there are {frame.shape[1]} targets"
    if asked != "auto":
        return asked, ""
    distinct = frame.iloc[:, 0].nunique()
    if found == TEXT:
        return LOGISTIC, f"the target is text with {distinct} values"
    if found == FLAG:
        return LOGISTIC, "the target is true or false"
    whole = _whole(frame)
    if whole and distinct <= MOST_CLASSES:
        return LOGISTIC, f"the target has {distinct} distinct values, all whole numbers"
    return RIDGE, f"the target has {distinct} distinct {'whole ' if whole else ''}numbers"


def values(model: str, frame: Any, found: str) -> Any:
    """y as an array: classes as text, truth values or whole numbers, quantities as floats."""
    import numpy as np

    name, rows = frame.columns[0], frame.shape[0]
    if model != LOGISTIC:
        if found == TEXT:
            example = frame.iloc[0, 0]
            raise ValueError(
                f"--model {model} needs a target of numbers; '{name}' is text, such as "
                f"'{example}': use --model logistic."
            )
        y = frame.to_numpy(dtype=np.float64)
        return y[:, 0] if y.shape[1] == 1 else y
    distinct = frame[name].nunique()
    if found == NUMBER and not _whole(frame):
        raise ValueError(
            f"--model logistic needs classes; '{name}' has {distinct} different numbers that are "
            "not whole: use --model ridge."
        )
    if is_too_many(distinct, rows):
        raise ValueError(
            f"The target '{name}' has {distinct} different values in {rows} rows, too many for "
            "classes" + ("." if found == TEXT else ": use --model ridge.")
        )
    return as_classes(frame[name], found)


def as_classes(column: Any, found: str) -> Any:
    """A column of classes in the type that the model keeps them in."""
    import numpy as np

    if found == TEXT:
        return column.astype(str).to_numpy(dtype=object)
    return column.to_numpy(dtype=bool if found == FLAG else np.int64)


def _whole(frame: Any) -> bool:
    import numpy as np

    numbers = frame.to_numpy(dtype=np.float64)
    return bool(np.all((numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)))
