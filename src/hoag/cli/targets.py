"""What a target is, and which model that asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.words import listed
from hoag.cli import families
from hoag.cli.columns import DATE, FLAG, NUMBER, TEXT, check_finite, is_too_many, kind, row

LOGISTIC, RIDGE, KERNEL_RIDGE = "logistic", "ridge", "kernel-ridge"

# So many whole numbers are classes, more are a quantity.
MOST_CLASSES = 20


def read(frame: Any, args: Any, where: str) -> tuple[Any, str, str, str]:
    """y as an array, what it holds, the model it is for, and why: "" when that was asked for."""
    found = _kind(frame, where)
    model, why = _choose(args.model, frame, found)
    if args.model == families.GAM:
        model, why = _additive(args.family, frame, found)
    if args.model == "auto" or (args.model == families.GAM and args.family is None):
        families.check_options(args, model)
    return _values(model, families.needs(args, model), frame, found), found, model, why


def _kind(frame: Any, where: str) -> str:
    """What the targets hold, without missing values; several must all be numbers."""
    kinds = {name: kind(name, frame[name]) for name in frame.columns}
    for name, found in kinds.items():
        if found == DATE:
            raise ValueError(
                f"The target '{name}' holds dates, such as {frame[name].iloc[0]}: make numbers of "
                "them, such as days since a day."
            )
    check_finite(frame, where)
    for name in frame.columns:
        if frame[name].nunique() < 2:
            raise ValueError(
                f"The target '{name}' has only one value in {where}, "
                f"'{frame[name].iloc[0]}': there is nothing to learn."
            )
    others = [name for name in kinds if kinds[name] != NUMBER]
    if others and len(kinds) > 1:
        raise ValueError(f"Several targets must all be numbers; {listed(others)} are not.")
    return kinds[frame.columns[0]]


def _choose(asked: str, frame: Any, found: str) -> tuple[str, str]:
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


def _additive(asked: str | None, frame: Any, found: str) -> tuple[str, str]:
    """The additive model for a target: of classes or of numbers, where nobody says."""
    if asked is not None:
        return f"{families.GAM} {asked}", ""
    like, why = _choose("auto", frame, found)
    word = "classes" if like == LOGISTIC else "gaussian"
    return f"{families.GAM} {word}", f"{why}; --family can say otherwise"


def _values(model: str, needed: str, frame: Any, found: str) -> Any:
    """y as an array: classes as text, truth values or whole numbers, quantities as floats."""
    name, rows = frame.columns[0], frame.shape[0]
    if needed == families.ORDERED and found == TEXT:
        raise ValueError(
            f"--model ordinal needs classes in the order of their numbers; '{name}' is text, such "
            f"as '{frame.iloc[0, 0]}': number its values, the lowest with 1."
        )
    if needed not in (families.CLASSES, families.ORDERED):
        if found == TEXT:
            raise ValueError(
                f"{_asked(model)} needs a target of numbers; '{name}' is text, such as "
                f"'{frame.iloc[0, 0]}': use {_asked(_like(model, LOGISTIC))}."
            )
        _check_signs(model, needed, frame[name])
        y = frame.to_numpy(dtype=np.float64)
        return y[:, 0] if y.shape[1] == 1 else y
    distinct = frame[name].nunique()
    if found == NUMBER and not _whole(frame):
        raise ValueError(
            f"{_asked(model)} needs classes; '{name}' has {distinct} different numbers that are "
            f"not whole: use {_asked(_like(model, RIDGE))}."
        )
    if is_too_many(distinct, rows):
        raise ValueError(
            f"The target '{name}' has {distinct} different values in {rows} rows, too many for "
            "classes" + ("." if found == TEXT else f": use {_asked(_like(model, RIDGE))}.")
        )
    if found == TEXT:
        return frame[name].astype(str).to_numpy(dtype=object)
    return frame[name].to_numpy(dtype=bool if found == FLAG else np.int64)


def _check_signs(model: str, needed: str, values: Any) -> None:
    """An error that names the first number that the model cannot have."""
    bad = values <= 0 if needed == families.POSITIVE else values < 0
    if needed != families.NUMBERS and bad.any():
        raise ValueError(
            f"{_asked(model)} needs {needed} as its target; row {row(bad)} below the header has "
            f"{values[bad].iloc[0]:g} in '{values.name}'."
        )


def _asked(model: str) -> str:
    """The option that asks for a model."""
    word = families.plain(model)
    return f"--family {word}" if families.is_additive(model) else f"--model {word}"


def _like(model: str, other: str) -> str:
    """Another model of the same kind, linear or additive."""
    if not families.is_additive(model):
        return other
    return f"{families.GAM} {'classes' if other == LOGISTIC else 'gaussian'}"


def _whole(frame: Any) -> bool:
    numbers = frame.to_numpy(dtype=np.float64)
    return bool(np.all((numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)))
