"""What a search is of, in a few digests: whether a checkpoint is that of the same search.

Objects are walked down to their arrays and numbers. Two digests are made: of all arrays and sparse
matrices, "the data", and of everything else, "the problem". Users' own problems, whose functions
cannot be looked into, are asked for h and g at two points, to six digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cached_property, partial
from hashlib import blake2b
from inspect import signature
from types import FunctionType, MethodType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from hoag._core.domain import Domain
from hoag._core.numeric import Array
from hoag._core.settings import Settings
from hoag.problems import Ledger

# Members that tell what was computed last, how much that was, or in how many threads and seconds.
PASSING = frozenset(
    (
        *("ledger", "charge", "last", "schur_guess", "flops"),
        *("n_jobs", "time_budget", "compile_seconds"),
    )
)

# The digest of a value, and how people read it: "" where that says nothing, None for its name.
Mark = tuple[str, str | None]
# Parts of a fingerprint, each a few named marks: {"data": {"X": ("9f…", None), …}, …}.
Fingerprint = dict[str, dict[str, Mark]]


@runtime_checkable
class Fingerprinted(Protocol):
    """Data that know their own digest, such as files that are too large to be read for it."""

    def fingerprint(self) -> str: ...


@runtime_checkable
class UserProblem(Protocol):
    """A problem of the user's own."""

    x0: Any
    lam0: Any

    def at(self, x: Array, lam: Array) -> Any: ...


class Digests:
    """Of whatever is fed to them: the arrays, and all else."""

    def __init__(self, *values: Any) -> None:
        self._data, self._other = blake2b(digest_size=16), blake2b(digest_size=16)
        self._numbers: dict[int, int] = {}
        self._met: list[Any] = []  # alive, so that no other object has its id
        for value in values:
            self.feed(value)

    @property
    def data(self) -> str:
        return self._data.hexdigest()

    @property
    def other(self) -> str:
        return self._other.hexdigest()

    def feed(self, value: Any) -> None:
        match value:
            case np.generic():
                return self._say(f"{type(value.item()).__name__} {value.item()!r}")
            case None | bool() | int() | float() | complex() | str() | bytes():
                return self._say(f"{type(value).__name__} {value!r}")
        if id(value) in self._numbers:
            return self._say(f"again {self._numbers[id(value)]}")
        self._numbers[id(value)] = len(self._met)
        self._met.append(value)
        match value:
            case list() | tuple():
                return self._each(f"{len(value)} of", value)
            case Mapping():
                return self._each("pairs", sorted(value.items(), key=lambda pair: repr(pair[0])))
            case set() | frozenset():
                return self._each("set", sorted(value, key=repr))
            case np.ndarray():
                return self._array(value)
            case _ if sparse.issparse(value):
                rows = value.tocsr()
                self._data.update(f"sparse {rows.shape}".encode())
                return self._each("sparse", (rows.data, rows.indices, rows.indptr))
            case Fingerprinted():
                return self._say(f"told {value.fingerprint()}")
            case partial():
                return self._each("partial", (value.func, value.args, value.keywords))
            case type() | FunctionType() | MethodType():
                return self._say(f"{value.__module__}.{value.__qualname__}")
            case slice():
                return self._each("slice", (value.start, value.stop, value.step))
        return self._object(value)

    def _say(self, text: str) -> None:
        self._other.update(text.encode() + b"\0")

    def _each(self, what: str, values: Any) -> None:
        self._say(what)
        for value in values:
            self.feed(value)

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        self._say("array")
        self._data.update(f"{array.dtype.str} {array.shape}".encode())
        if array.dtype.hasobject:
            return self._each("objects", array.ravel().tolist())
        return self._data.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)

    def _object(self, value: Any) -> None:
        kind = type(value)
        own, home = _members(value), kind.__module__.split(".")
        self._say(f"{kind.__module__}.{kind.__qualname__}")
        match value:
            case Ledger():
                return
            case UserProblem() if home[:2] != ["hoag", "_glm"]:
                known = False
                self._say(_computed(value))
                if home[0] == "hoag":  # JAX or PyTorch, say
                    self._say(", ".join(sorted(f"{name} {type(one)}" for name, one in own.items())))
            case Settings() | Domain():
                known = True
            case _:
                known = home[0] == "hoag" or is_dataclass(kind)
        if not known:  # whole numbers and lists of somebody's own may count what happens
            own = {name: one for name, one in own.items() if _is_data(one)}
        self._each("with", sorted(own.items()))


def _members(value: Any) -> dict[str, Any]:
    """What an object was made with: what it computed from that, and remembers, is left out."""
    kind = type(value)
    try:
        own = vars(value)
    except TypeError:
        return {}
    if issubclass(kind, Settings):
        names = [name for name in signature(kind).parameters if name in own]
    else:
        members = [pair for base in kind.__mro__ for pair in vars(base).items()]
        computed = {name for name, member in members if type(member) is cached_property}
        names = [name for name in own if not name.startswith("_") and name not in computed]
    return {name: own[name] for name in names if name not in PASSING}


def _is_data(value: Any) -> bool:
    simple = isinstance(value, (str, float, np.ndarray, Fingerprinted, UserProblem))
    return simple or bool(sparse.issparse(value))


def _computed(problem: UserProblem) -> str:
    """h and g of a user's own problem, at two points."""
    told = []
    try:
        x0, lam = np.asarray(problem.x0, float).ravel(), np.asarray(problem.lam0, float).ravel()
        with np.errstate(all="ignore"):
            for x in (x0, x0 + 0.1 * np.cos(np.arange(x0.size))):
                point = problem.at(x, lam)
                told += [f"{float(point.h):.6g} {float(point.g):.6g}"]
    except Exception as error:  # whatever the user's code raises there
        told.append(type(error).__name__)
    return "; ".join(told)


def digest(*values: Any) -> str:
    """One digest of everything."""
    both = Digests(*values)
    return blake2b(f"{both.data} {both.other}".encode(), digest_size=16).hexdigest()


def of_problem(problem: Any, settings: Mapping[str, Any]) -> Fingerprint:
    """That of `hoag.minimize`."""
    found = Digests(problem)
    return {
        "problem": {"": (found.other, None)},
        "data": {"": (found.data, None)},
        "settings": _marked(settings),
    }


def of_fit(
    kind: str, data: Mapping[str, Any], splits: Any, cv: Any, settings: Mapping[str, Any]
) -> Fingerprint:
    """That of an estimator's fit; `splits` are what cv makes of the rows, if it is no word."""
    word = cv if type(cv) is str else None
    shown = repr(cv)
    if len(shown) > 100 or "\n" in shown or " at 0x" in shown:
        shown = ""
    return {
        "problem": {"": (kind, kind)},
        "data": {name: (digest(value), None) for name, value in data.items()},
        "splits": {"cv": (digest(splits, word), shown)},
        "settings": _marked(settings),
    }


def _marked(settings: Mapping[str, Any]) -> dict[str, Mark]:
    return {name: (digest(value), _shown(value)) for name, value in settings.items()}


def _shown(value: Any) -> str | None:
    """As people read it; None for what is longer than a line."""
    match value:
        case None | bool() | int() | float() | str():
            return repr(value)
        case Settings():
            shown = ((name, _shown(one)) for name, one in _members(value).items())
            inside = ", ".join(f"{name}={text}" for name, text in shown if text is not None)
            return f"{type(value).__name__}({inside})"
    return None


def difference(name: str, their: Mark | None, ours: Mark | None) -> str | None:
    """What a value is there and here; "" where that cannot be shown, None where it is the same."""
    if their is not None and ours is not None and their[0] == ours[0]:
        return None
    there, here = (None if mark is None else mark[1] for mark in (their, ours))
    if there and here and there != here:
        return f"{name} is {there} there, {here} here"
    return name if there is None or here is None else ""
