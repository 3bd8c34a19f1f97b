"""What a search is of, in a few digests: whether a checkpoint is that of the same search.

Objects are walked down to their arrays and numbers. Two digests are made: of all arrays and sparse
matrices, "the data", and of everything else, "the problem". People's own problems, whose functions
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

# Parts of a fingerprint, each a few named digests or texts: {"data": {"X": "#9f…", "y": "#0…"}, …}.
Fingerprint = dict[str, dict[str, str]]


@runtime_checkable
class Fingerprinted(Protocol):
    """Data that know their own digest, such as files that are too large to be read for it."""

    def fingerprint(self) -> str: ...


@runtime_checkable
class Asked(Protocol):
    """People's own problems."""

    x0: Any
    lam0: Any

    def at(self, x: Array, lam: Array) -> Any: ...


class Walk:
    """Digests of whatever is fed to it."""

    def __init__(self) -> None:
        self._data, self._other = blake2b(digest_size=16), blake2b(digest_size=16)
        self._numbers: dict[int, int] = {}
        self._met: list[Any] = []  # alive, so that no other object has its id

    @property
    def data(self) -> str:
        return self._data.hexdigest()

    @property
    def other(self) -> str:
        return self._other.hexdigest()

    def feed(self, value: Any) -> Walk:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
            plain = value.item() if isinstance(value, np.generic) else value
            return self._say(f"{type(plain).__name__} {plain!r}")
        if id(value) in self._numbers:
            return self._say(f"again {self._numbers[id(value)]}")
        self._numbers[id(value)] = len(self._met)
        self._met.append(value)
        if isinstance(value, (list, tuple)):
            return self._each(f"{len(value)} of", value)
        if isinstance(value, Mapping):
            return self._each("pairs", sorted(value.items(), key=lambda pair: repr(pair[0])))
        if isinstance(value, (set, frozenset)):
            return self._each("set", sorted(value, key=repr))
        if isinstance(value, np.ndarray):
            return self._array(value)
        if sparse.issparse(value):
            rows = value.tocsr()
            self._data.update(f"sparse {rows.shape}".encode())
            return self._each("sparse", (rows.data, rows.indices, rows.indptr))
        if isinstance(value, Fingerprinted):
            return self._say(f"told {value.fingerprint()}")
        if isinstance(value, partial):
            return self._each("partial", (value.func, value.args, value.keywords))
        if isinstance(value, (type, FunctionType, MethodType)):
            return self._say(f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, slice):
            return self._each("slice", (value.start, value.stop, value.step))
        return self._object(value)

    def _say(self, text: str) -> Walk:
        self._other.update(text.encode() + b"\0")
        return self

    def _each(self, what: str, values: Any) -> Walk:
        self._say(what)
        for value in values:
            self.feed(value)
        return self

    def _array(self, array: np.ndarray[Any, Any]) -> Walk:
        self._say("array")
        self._data.update(f"{array.dtype.str} {array.shape}".encode())
        if array.dtype.hasobject:
            return self._each("objects", array.ravel().tolist())
        self._data.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return self

    def _object(self, value: Any) -> Walk:
        kind = type(value)
        self._say(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, Ledger):
            return self
        own, home = _members(value), kind.__module__.split(".")
        asked = isinstance(value, Asked) and home[:2] != ["hoag", "_glm"]
        if isinstance(value, Asked) and asked:
            self._say(_computed(value))
            if home[0] == "hoag":  # JAX or PyTorch, say
                self._say(", ".join(sorted(f"{name} {type(one)}" for name, one in own.items())))
        known = home[0] == "hoag" or is_dataclass(kind) or isinstance(value, (Settings, Domain))
        if asked or not known:  # whole numbers and lists of somebody's own may count what happens
            own = {name: one for name, one in own.items() if _is_data(one)}
        return self._each("with", sorted(own.items()))


def _members(value: Any) -> dict[str, Any]:
    """What an object was made with: what it computed from that, and remembers, is left out."""
    if isinstance(value, Settings):
        kept = vars(value)
        return {
            name: kept[name]
            for name in signature(type(value)).parameters
            if name in kept and name not in PASSING
        }
    computed = {
        name
        for kind in type(value).__mro__
        for name, member in vars(kind).items()
        if isinstance(member, cached_property)
    }
    try:
        own = vars(value)
    except TypeError:
        return {}
    return {
        name: one
        for name, one in own.items()
        if not name.startswith("_") and name not in PASSING and name not in computed
    }


def _is_data(value: Any) -> bool:
    simple = isinstance(value, (str, float, np.ndarray, Fingerprinted, Asked))
    return simple or bool(sparse.issparse(value))


def _computed(problem: Asked) -> str:
    """h and g of somebody's own problem, at two points."""
    told = []
    try:
        x0, lam = np.asarray(problem.x0, float).ravel(), np.asarray(problem.lam0, float).ravel()
        with np.errstate(all="ignore"):
            for x in (x0, x0 + 0.1 * np.cos(np.arange(x0.size))):
                point = problem.at(x, lam)
                told += [f"{float(point.h):.6g} {float(point.g):.6g}"]
    except Exception as error:  # whatever somebody's own code raises there
        told.append(type(error).__name__)
    return "; ".join(told)


def digest(*values: Any) -> str:
    """One digest of everything."""
    walk = Walk()
    for value in values:
        walk.feed(value)
    both = blake2b(f"{walk.data} {walk.other}".encode(), digest_size=16)
    return f"#{both.hexdigest()}"


def told(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings by their names, as people read them; what is longer than a line by its digest."""
    return {
        name: _shown(value) if _is_short(value) else digest(value)
        for name, value in settings.items()
    }


def _shown(value: Any) -> str:
    if not isinstance(value, Settings):
        return repr(value)
    own = _members(value)
    shown = [f"{name}={_shown(one)}" for name, one in own.items() if _is_short(one)]
    rest = "" if len(shown) == len(own) else f", {digest(value)[:9]}"
    return f"{type(value).__name__}({', '.join(shown)}{rest})"


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, Settings))


def of_problem(problem: Any, settings: Mapping[str, Any]) -> Fingerprint:
    """That of `hoag.minimize`."""
    walk = Walk().feed(problem)
    return {
        "problem": {"": f"#{walk.other}"},
        "data": {"": f"#{walk.data}"},
        "settings": told(settings),
    }


def of_fit(
    kind: str, data: Mapping[str, Any], splits: Any, cv: Any, settings: Mapping[str, Any]
) -> Fingerprint:
    """That of an estimator's fit; `splits` are what cv makes of the rows, if it is no word."""
    word = cv if isinstance(cv, str) else None
    return {
        "problem": {"": kind},
        "data": {name: digest(value) for name, value in data.items()},
        "splits": {"cv": f"{digest(splits, word)} {_line(cv)}"},
        "settings": told(settings),
    }


def _line(value: Any) -> str:
    """How it is shown, where that is a line and no address in memory."""
    shown = repr(value)
    return "" if len(shown) > 100 or "\n" in shown or " at 0x" in shown else shown


def difference(name: str, their: str | None, ours: str | None) -> str | None:
    """What a part of a fingerprint is there and here; "" where that cannot be shown, None if same.

    Digests begin with #, and may be followed by what they are of as people read it: that is shown,
    and not compared.
    """
    if their is not None and ours is not None and _compared(their) == _compared(ours):
        return None
    shown = [_read(text) for text in (their, ours)]
    if None not in shown and shown[0] != shown[1]:
        return f"{name} is {shown[0]} there, {shown[1]} here"
    told = any(" " in text for text in (their, ours) if text is not None and text.startswith("#"))
    return "" if told else name


def _compared(text: str) -> str:
    return text.split(" ", 1)[0] if text.startswith("#") else text


def _read(text: str | None) -> str | None:
    """As people read it; None where there is nothing to read."""
    if text is None:
        return None
    return text if not text.startswith("#") else text.partition(" ")[2] or None
