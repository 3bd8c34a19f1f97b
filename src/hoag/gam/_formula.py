"""y ~ s(age) + te(lat, lon) + site: terms in the manner of R's mgcv.

    formula   [left ~] summand (+ summand)…       parentheses about summands change nothing
    summand   name | number | name(entry, …)
    entry     value | name = value
    value     name | number | c(value, …)

    s(x, k=, bs=, by=, m=)   smooth(); bs="cc" and "cp" are cyclic, others are as they are here
    te(x, z, k=, bs=, by=)   tensor()
    x                        linear(), or category() where the column holds no numbers

A name is letters, digits, _ and ., as in R, or anything between quotes or backticks, as in
s("body mass"). `k` is the number of coefficients, as in mgcv. Formulas are read from left to right
without recursion, so that none is too long, and no code of theirs is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from hoag._core.errors import InvalidParameterError
from hoag.gam._errors import bad_terms
from hoag.gam._terms import Column, Term, category, linear, smooth, tensor

Single = str | int | float
Value = Single | tuple[Single, ...]

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[^\W\d][\w.]*)
           |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
           |(?P<quoted>"[^"]*"|'[^']*'|`[^`]*`)
           |(?P<sign>\S)
           |(?P<end>\Z))""",
    re.VERBOSE,
)
_CYCLIC = ("cc", "cp")
_BASES = ("ps", "cr", "bs", "tp", "ts", "cs", *_CYCLIC)
_WHOLE = {"k": "3 or more, of coefficients", "m": "1, 2 or 3, the order of differences"}
_NONE = ("None", "NA", "NULL")  # as mgcv's by=NA: there is none


def from_formula(
    formula: str, numeric: Callable[[Column], bool] = lambda column: True
) -> tuple[str | None, list[Term]]:
    """The terms of a formula in the manner of mgcv.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ s(age, k=10) + te(lat, lon) + site"``, or its right side alone.
    numeric : callable, default=always True
        Whether a column holds numbers: one that stands alone is a line then, and else a level for
        each category.

    Returns
    -------
    left : str or None
        The name on the left, None where there is none.
    terms : list of Term
        Those on the right.

    Raises
    ------
    InvalidParameterError
        What cannot be read, or is known to mgcv and not here, in a sentence.

    See Also
    --------
    smooth, tensor, linear, category : The same terms in Python.

    Examples
    --------
    >>> from hoag.gam import from_formula
    >>> target, terms = from_formula("y ~ s(age, k=10) + te(lat, lon) + dose")
    >>> target, [term.columns for term in terms]
    ('y', [('age',), ('lat', 'lon'), ('dose',)])
    """
    reader = _Reader(formula)
    left = reader.left()
    terms = [term for one in reader.summands() if (term := one.term(numeric)) is not None]
    if not terms:
        raise reader.error("has no term", "write y ~ s(x) + te(u, v) + z.")
    return left, terms


def _shortened(text: str) -> str:
    """A formula in a sentence: quoted, and not all of a long one."""
    return repr(text if len(text) <= 80 else f"{text[:60]} … {text[-15:]}")


class _Reader:
    """A formula, token by token."""

    def __init__(self, formula: str) -> None:
        self.formula, self.tokens, self.place = formula, [*_TOKEN.finditer(formula)], 0

    @property
    def next(self) -> re.Match[str]:
        return self.tokens[self.place]

    @property
    def start(self) -> int:
        """Where the next token is."""
        return self.next.start(self.next.lastgroup or 0)

    def takes(self, *signs: str) -> bool:
        """Whether the next token is one of these signs, after which the one that follows is."""
        found = self.next["sign"] in signs
        self.place += found
        return found

    def error(self, what: str, hint: str, summand: str = "") -> InvalidParameterError:
        about = f"{_shortened(summand)}:" if summand else f"The formula {_shortened(self.formula)}"
        return bad_terms(f"{about} {what}:", self.formula, hint)

    def unreadable(self) -> InvalidParameterError:
        rest = self.formula[self.start :]
        where = f"at {_shortened(rest)}" if rest else "for it ends too early"
        hint = "write y ~ s(x) + te(u, v) + z, and names that are none in R in backticks."
        return self.error(f"cannot be read, {where}", hint)

    def left(self) -> str | None:
        """What is before ~: a name, or else its text."""
        for k, one in enumerate(self.tokens):
            if one["sign"] == "~":
                self.place, text = k + 1, self.formula[: one.start("sign")].strip()
                return (text[1:-1] if k == 1 and self.tokens[0]["quoted"] else text) or None
        return None

    def summands(self) -> list[_Summand]:
        found, depth = list[_Summand](), 0
        while True:
            while self.takes("("):
                depth += 1
            found.append(self.summand())
            while depth and self.takes(")"):
                depth -= 1
            if self.start == len(self.formula) and not depth:
                return found
            if self.takes("-"):
                hint = "leave out what is not wanted; there is always an intercept."
                raise self.error("takes something away", hint)
            if self.takes("*", ":", "/", "^", "|", "%"):
                hint = "write te(u, v) for a surface, s(x, by=u) for a coefficient that varies."
                raise self.error("has another sign than + between terms", hint)
            if not self.takes("+"):
                raise self.unreadable()

    def summand(self) -> _Summand:
        start, name = self.start, self.single()
        entries, options = list[Value](), dict[str, Value]()
        called = isinstance(name, str) and self.takes("(")
        while called and not self.takes(")"):
            one = self.value()
            if isinstance(one, str) and self.takes("="):
                if one in options:
                    raise self.error(f"has {one!r} given twice", "give it once.")
                options[one] = self.value()
            elif options:
                raise self.unreadable()
            else:
                entries.append(one)
            self.separate()
        text = self.formula[start : self.start].strip()
        if not called:
            entries.append(name)
        return _Summand(self, str(name) if called else "", entries, options, text)

    def value(self) -> Value:
        """A name, a number, or c(…) of such."""
        one = self.single()
        if not (one == "c" and self.takes("(")):
            return one
        several = list[Single]()
        while not self.takes(")"):
            several.append(self.single())
            self.separate()
        return tuple(several)

    def separate(self) -> None:
        """A comma, but for before the end of what is in parentheses."""
        if self.next["sign"] != ")" and not self.takes(","):
            raise self.unreadable()

    def single(self) -> Single:
        minus = self.takes("-")
        signed = minus or self.takes("+")
        name, text = self.next["name"] or (self.next["quoted"] or "")[1:-1], self.next["number"]
        if not text and (signed or not name):
            raise self.unreadable()
        self.place += 1
        if not text:
            return name
        if len(text) > 15 or not float(text) < 1e15:
            raise self.error("has a number of more than 15 digits", "shorten it.")
        number = int(text) if text.isdecimal() else float(text)
        return -number if minus else number


class _Summand(NamedTuple):
    """s(x, k=5): what is called, "" for a name or number alone; with what; and how it reads."""

    reader: _Reader
    call: str
    entries: list[Value]
    options: dict[str, Value]
    text: str

    def term(self, numeric: Callable[[Column], bool]) -> Term | None:
        """None for the intercept, which is always there."""
        call, options = self.call, self.options
        columns = [self.column(entry, "") for entry in self.entries]
        if not call:
            (one,) = columns
            if isinstance(one, str):
                return linear(one) if numeric(one) else category(one)
            if one == 1:
                return None
            raise self.reader.error(f"has {one!r}, and always an intercept", "leave it out.")
        if len(columns) == 1 and call in ("linear", "category", "factor") and not options:
            return linear(columns[0]) if call == "linear" else category(columns[0])
        if len(columns) == 1 and call == "s":
            if options.get("bs") == "re":
                self.check(("bs", "k"))
                return category(columns[0])
            return smooth(columns[0], **self.arguments(1))
        if len(columns) > 1 and call in ("te", "s"):
            return tensor(*columns, **self.arguments(len(columns)))
        what = f"has {_shortened(self.text)}, which is not known"
        hint = "use s(x), te(u, v), factor(x) or a column; compute anything else before."
        raise self.reader.error(what, hint)

    def error(self, what: str, hint: str) -> InvalidParameterError:
        return self.reader.error(what, hint, self.text)

    def column(self, value: Value, name: str) -> Column:
        if isinstance(value, (str, int)):
            return value
        raise self.error(f"{name}{_told(value)} is no column", "compute it before, and name it.")

    def check(self, known: tuple[str, ...]) -> None:
        for name in self.options:
            if name not in known:
                raise self.error(f"it has no {name!r} here", f"known are {', '.join(known)}.")

    def arguments(self, columns: int) -> dict[str, Any]:
        """mgcv's k, bs, by and m as ours."""
        self.check(("k", "bs", "by", "m"))
        bases = self.each("bs", columns, "ps")
        for basis in bases:
            if basis not in _BASES:
                raise self.error(f"bs={_told(basis)} is unknown", f"use {', '.join(_BASES)}.")
        around = tuple(basis in _CYCLIC for basis in bases)
        found: dict[str, Any] = {}
        if any(around):
            found["cyclic"] = around if columns > 1 else around[0]
        counts = [self.whole("k", k, 3) for k in self.each("k", columns, -1)]
        if max(counts) >= 0:
            if self.call == "s" and not isinstance(self.options["k"], tuple):  # k is of all
                counts = [max(round(k ** (1 / columns)), 3) for k in counts]
            # cubic pieces have two coefficients more than knots, or one less, around
            pairs = zip(counts, around, strict=True)
            knots = [None if k < 0 else max(k + 1 if c else k - 2, 2) for k, c in pairs]
            found["knots"] = knots if len(set(knots)) > 1 else knots[0]
        if self.options.get("by", "NA") not in _NONE:
            found["by"] = self.column(self.options["by"], "by=")
        if "m" in self.options:
            found["order"] = self.whole("m", self.options["m"], 1, 3)
        return found

    def each(self, name: str, columns: int, usual: Value) -> tuple[Any, ...]:
        """An option for every column: one for all of them, or c(…) of as many."""
        given = self.options.get(name, usual)
        if not isinstance(given, tuple):
            return (given,) * columns
        if len(given) != columns:
            many = f"{len(given)} entries for {columns} column{'s' if columns > 1 else ''}"
            raise self.error(f"{name}={_told(given)} has {many}", "give one for each, or for all.")
        return given

    def whole(self, name: str, value: Any, least: int, most: float = float("inf")) -> int:
        """k below 0 is mgcv's word for its default."""
        whole = isinstance(value, (int, float)) and value == int(value)
        if whole and (least <= value <= most or (name == "k" and value < 0)):
            return int(value)
        hint = f"give a whole number, {_WHOLE[name]}."
        raise self.error(f"{name}={_told(value)} cannot be", hint)


def _told(value: Any) -> str:
    """As a formula has it."""
    return f"c({', '.join(map(_told, value))})" if isinstance(value, tuple) else repr(value)
