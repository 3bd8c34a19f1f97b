"""y ~ s(age) + te(lat, lon) + site: terms in the manner of R's mgcv.

    s(x, k=, bs=, by=, m=)   smooth(); bs="cc" and "cp" are cyclic, others are as they are here
    te(x, z, k=, bs=, by=)   tensor()
    x                        linear(), or category() where the column holds no numbers

No code of a formula is run; hoag.gam._grammar reads it. A name that is none in R is quoted,
s("body mass"), or in backticks. `k` is the number of coefficients, as in mgcv.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hoag._core.errors import InvalidInput
from hoag.gam._grammar import Summand, Value, parsed, shortened
from hoag.gam._terms import Column, Term, category, linear, smooth, tensor

_CYCLIC = ("cc", "cp")
_KNOWN = ("ps", "cr", "bs", "tp", "ts", "cs", *_CYCLIC)
_NONE = ("None", "NA", "NULL")  # as mgcv's by=NA: there is none


def from_formula(
    formula: str, numeric: Callable[[Column], bool] = lambda column: True
) -> tuple[str | None, list[Term]]:
    """The name on the left, None where there is none, and the terms on the right.

    `numeric` says whether a column holds numbers: for columns that stand alone.

    >>> from hoag.gam import from_formula
    >>> target, terms = from_formula("y ~ s(age, k=10) + te(lat, lon) + dose")
    >>> target, [term.columns for term in terms]
    ('y', [('age',), ('lat', 'lon'), ('dose',)])
    """
    left, summands = parsed(formula)
    terms = [_term(one, numeric, formula) for one in summands]
    found = [term for term in terms if term is not None]
    if not found:
        raise InvalidInput(f"The formula {shortened(formula)} has no term.")
    return left, found


def _term(one: Summand, numeric: Callable[[Column], bool], formula: str) -> Term | None:
    if not one.call:
        (name,) = one.entries
        if isinstance(name, str):
            return linear(name) if numeric(name) else category(name)
        if name == 1:
            return None  # the intercept, which is always there
        raise InvalidInput(
            f"{shortened(formula)}: there is always an intercept; leave {name!r} out."
        )
    columns = [_column(entry, one) for entry in one.entries]
    if one.call in ("category", "factor", "linear") and len(columns) == 1 and not one.options:
        return linear(columns[0]) if one.call == "linear" else category(columns[0])
    if one.call == "s" and len(columns) == 1 and one.options.get("bs") == "re":
        _check_names(one, ("bs", "k"))
        return category(columns[0])
    if one.call == "s" and len(columns) == 1:
        return smooth(columns[0], **_arguments(one, 1))
    if one.call in ("te", "s") and len(columns) > 1:
        return tensor(*columns, **_arguments(one, len(columns)))
    raise InvalidInput(
        f"{shortened(one.text)} in {shortened(formula)}: known are s(x), te(u, v), factor(x) and "
        "names of columns; what else is wanted is computed before."
    )


def _column(entry: Value, one: Summand) -> Column:
    if isinstance(entry, (str, int)):
        return entry
    raise InvalidInput(
        f"{_told(entry)} in {shortened(one.text)} is no column: compute it before, and name it."
    )


def _check_names(one: Summand, known: tuple[str, ...]) -> None:
    for name in one.options:
        if name not in known:
            kind = f"{one.call}(bs='re')" if known == ("bs", "k") else f"{one.call}()"
            raise InvalidInput(
                f"{shortened(one.text)}: {kind} has no {name!r} here; known are {', '.join(known)}."
            )


def _arguments(one: Summand, columns: int) -> dict[str, Any]:
    """mgcv's k, bs, by and m as ours."""
    _check_names(one, ("k", "bs", "by", "m"))
    bases = _each(one, "bs", columns, "ps")
    for basis in bases:
        if basis not in _KNOWN:
            raise InvalidInput(
                f"{shortened(one.text)}: bs={_told(basis)} is not known; {', '.join(_KNOWN)} are."
            )
    around = tuple(basis in _CYCLIC for basis in bases)
    found: dict[str, Any] = {}
    if any(around):
        found["cyclic"] = around if columns > 1 else around[0]
    counts = [_whole(one, "k", k, "of coefficients") for k in _each(one, "k", columns, -1)]
    if any(k >= 0 for k in counts):  # below 0 is mgcv's word for its default
        if columns > 1 and one.call == "s" and not isinstance(one.options["k"], tuple):
            # of s(u, v) k is of all
            counts = [k if k < 3 else max(round(k ** (1 / columns)), 3) for k in counts]
        knots = tuple(_knots(one, k, c) for k, c in zip(counts, around, strict=True))
        found["knots"] = knots if columns > 1 and len(set(knots)) > 1 else knots[0]
    if "by" in one.options and one.options["by"] not in _NONE:
        by = one.options["by"]
        if not isinstance(by, (str, int)):
            raise InvalidInput(f"{shortened(one.text)}: by={_told(by)} is no column: name one.")
        found["by"] = by
    if "m" in one.options:
        order = _whole(one, "m", one.options["m"], "the order of the differences penalised")
        if not 1 <= order <= 3:
            raise InvalidInput(f"{shortened(one.text)}: m={order} should be 1, 2 or 3.")
        found["order"] = order
    return found


def _each(one: Summand, name: str, columns: int, usual: Value) -> tuple[Any, ...]:
    """An option for every column: one for all of them, or c(…) of as many."""
    given = one.options.get(name, usual)
    if not isinstance(given, tuple):
        return (given,) * columns
    if len(given) != columns:
        raise InvalidInput(
            f"{shortened(one.text)}: {name}={_told(given)} has {len(given)} entries for {columns} "
            f"column{'s' if columns > 1 else ''}."
        )
    return given


def _whole(one: Summand, name: str, value: Any, what: str) -> int:
    if isinstance(value, (int, float)) and value == int(value):
        return int(value)
    raise InvalidInput(
        f"{shortened(one.text)}: {name}={_told(value)} should be a whole number, {what}."
    )


def _knots(one: Summand, k: int, cyclic: bool) -> int | None:
    """So many knots as k coefficients have, of cubic pieces; around, one more than those."""
    if k < 0:
        return None
    if k < 3:
        raise InvalidInput(f"{shortened(one.text)}: k={k} is too few for a curve: give 3 or more.")
    return max(k + 1 if cyclic else k - 2, 2)


def _told(value: Any) -> str:
    """As a formula has it."""
    if isinstance(value, tuple):
        return f"c({', '.join(map(_told, value))})"
    return repr(value)
