"""The grammar of formulas, read from left to right without recursion: no length is too much.

    formula   [left ~] summand (+ summand)…       parentheses about summands change nothing
    summand   name | number | name(entry, …)
    entry     value | name = value
    value     name | number | c(value, …)

A name is letters, digits, _ and ., as in R, or anything between quotes or backticks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hoag._core.errors import InvalidInput

Value = str | int | float | tuple["str | int | float", ...]

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[^\W\d][\w.]*)
           |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
           |(?P<quoted>"[^"]*"|'[^']*'|`[^`]*`)
           |(?P<sign>\S))""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """kind: "name" (quoted ones, too), "number", "sign", or "end"; and where it is."""

    kind: str
    text: str
    start: int


class Summand(NamedTuple):
    """s(x, k=5): what is called, "" for a name or number alone; with what; and how it reads."""

    call: str
    entries: tuple[Value, ...]
    options: dict[str, Value]
    text: str


def parsed(formula: str) -> tuple[str | None, list[Summand]]:
    """The left side, None where there is none, and what is added on the right."""
    reader = _Reader(formula)
    return reader.left(), reader.summands()


def shortened(text: str) -> str:
    """A formula in a sentence: quoted, and not all of a long one."""
    return repr(text if len(text) <= 80 else f"{text[:60]} … {text[-15:]}")


class _Reader:
    def __init__(self, formula: str) -> None:
        self.formula, self.place = formula, 0
        self.tokens = list[Token]()
        for found in _TOKEN.finditer(formula):
            kind = str(found.lastgroup)
            text = found[kind]
            if kind == "quoted":
                kind, text = "name", text[1:-1]
            self.tokens.append(Token(kind, text, found.start(found.lastgroup or 0)))
        self.tokens.append(Token("end", "", len(formula)))

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        """The next token, after which the one that follows is the next."""
        found = self.next
        self.place += found.kind != "end"
        return found

    def is_sign(self, *signs: str) -> bool:
        return self.next.kind == "sign" and self.next.text in signs

    def fail(self) -> InvalidInput:
        rest = self.formula[self.next.start :]
        where = f"at {shortened(rest)}" if rest else "for it ends too early"
        return InvalidInput(
            f"The formula {shortened(self.formula)} cannot be read, {where}: write "
            "y ~ s(x) + te(u, v) + z, and other names than those of Python or R in backticks."
        )

    def left(self) -> str | None:
        """What is before ~: a name, or else its text."""
        here = [k for k, one in enumerate(self.tokens) if one.kind == "sign" and one.text == "~"]
        if not here:
            return None
        self.place = here[0] + 1
        if here[0] == 1 and self.tokens[0].kind == "name":
            return self.tokens[0].text or None
        return self.formula[: self.tokens[here[0]].start].strip() or None

    def summands(self) -> list[Summand]:
        found, depth = list[Summand](), 0
        while True:
            while self.is_sign("("):
                self.take()
                depth += 1
            found.append(self.summand())
            while depth and self.is_sign(")"):
                self.take()
                depth -= 1
            if self.next.kind == "end" and not depth:
                return found
            if self.is_sign("-"):
                raise InvalidInput(
                    f"{shortened(self.formula)}: nothing can be taken away; there is always an "
                    "intercept, and a term that is not wanted is left out."
                )
            if self.is_sign("*", ":", "/", "^", "|", "%"):
                raise InvalidInput(
                    f"In {shortened(self.formula)} terms are added, with +: for a surface write "
                    "te(u, v), for a coefficient that varies s(x, by=u)."
                )
            if not self.is_sign("+"):
                raise self.fail()
            self.take()

    def summand(self) -> Summand:
        start = self.next.start
        value = self.single()
        if not (isinstance(value, str) and self.is_sign("(")):
            return Summand("", (value,), {}, self.formula[start : self.next.start].strip())
        self.take()
        entries, options = list[Value](), dict[str, Value]()
        while not self.is_sign(")"):
            one = self.value()
            if isinstance(one, str) and self.is_sign("="):
                self.take()
                if one in options:
                    raise InvalidInput(f"{shortened(self.formula)}: {one!r} is given twice.")
                options[one] = self.value()
            elif options:
                raise self.fail()
            else:
                entries.append(one)
            self.separate()
        self.take()
        text = self.formula[start : self.next.start].strip()
        return Summand(value, tuple(entries), options, text)

    def value(self) -> Value:
        """A name, a number, or c(…) of such."""
        one = self.single()
        if not (one == "c" and self.is_sign("(")):
            return one
        self.take()
        several = list[str | int | float]()
        while not self.is_sign(")"):
            several.append(self.single())
            self.separate()
        self.take()
        return tuple(several)

    def separate(self) -> None:
        """A comma, but for before the end of what is in parentheses."""
        if self.is_sign(")"):
            return
        if not self.is_sign(","):
            raise self.fail()
        self.take()

    def single(self) -> str | int | float:
        sign = -1 if self.is_sign("-") else 1
        if self.is_sign("-", "+"):
            self.take()
            if self.next.kind != "number":
                raise self.fail()
        if self.next.kind == "number":
            return sign * self.number()
        if self.next.kind != "name" or not self.next.text:
            raise self.fail()
        return self.take().text

    def number(self) -> int | float:
        text, most = self.take().text, 15  # digits, or it is no number that anybody means
        if len(text) > most or not float(text) < 10**most:
            raise InvalidInput(
                f"{shortened(self.formula)}: the number {shortened(text)} is too long."
            )
        return int(text) if text.isdecimal() else float(text)
