"""Names that go: each works until the version in its warning, and says what to use instead.

There is one sentence for functions, parameters, attributes and names of modules, and one rule for
the version: docs/deprecations.md.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def goes(since: str) -> str:
    """The version without what is deprecated since this one: 0.2 → 0.4, 0.9 → 0.11, 1.3 → 2.0."""
    major, minor = map(int, since.split("."))
    return f"{major + 1}.0" if major else f"0.{minor + 2}"


def sentence(old: str, instead: str, since: str = "0.2") -> str:
    """What is said of everything that goes; for those who have a way of their own to warn."""
    return f"{old} is deprecated since hoag {since} and goes in {goes(since)}: use {instead}."


def warn(old: str, instead: str, since: str = "0.2", stacklevel: int = 2) -> None:
    """Of whoever calls the function that calls this one."""
    warnings.warn(sentence(old, instead, since), DeprecationWarning, stacklevel=stacklevel + 1)


def deprecated(
    instead: str = "",
    *,
    since: str = "0.2",
    parameters: Mapping[str, str] | None = None,
    attributes: Mapping[str, str] | None = None,
) -> Callable[[T], T]:
    """Decorates what goes, or what has parameters or attributes that go.

    instead     of a function: what to use in its place
    parameters  of a function, or of a class as it is made: {old name: new name}. A value for the
                old name is given to the new one. In place of the new name may stand what to use;
                the parameter stays until then, and is warned of where it is not its default.
    attributes  of a class: {old name: new name}. An object has one of the two, in its class or of
                its own, and answers to both: also where a subclass was written before.

    >>> @deprecated(parameters={"steps": "max_iter"})
    ... def search(max_iter=100):
    ...     return max_iter
    >>> @deprecated("search")
    ... def look():
    ...     return search()
    >>> @deprecated(attributes={"pieces": "partitions"})
    ... class Halves:
    ...     partitions = 2
    >>> with warnings.catch_warnings(action="ignore"):
    ...     search(steps=3), look(), Halves().pieces
    (3, 100, 2)
    """

    def decorate(thing: T) -> T:
        if isinstance(thing, type):
            if attributes:
                _alias(thing, attributes, since)
            if parameters:
                made: Any = thing
                made.__init__ = _called(made.__init__, thing.__name__, "", parameters, since)
            return thing
        return _called(thing, thing.__qualname__, instead, parameters or {}, since)  # type: ignore[no-any-return]

    return decorate


def _called(
    function: Any, name: str, instead: str, parameters: Mapping[str, str], since: str
) -> Any:
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        if instead:
            warn(name, instead, since)
        for old, new in parameters.items():
            if old not in given or (old in known and given[old] is known[old].default):
                continue
            if new in given:
                raise TypeError(f"{name} got both {old}, which is deprecated, and {new}.")
            warn(f"{name}({old}=…)", f"{new}=…" if new in known else new, since)
            if new in known:
                given[new] = given.pop(old)
        return function(*args, **given)

    return wrapper


def _alias(cls: Any, attributes: Mapping[str, str], since: str) -> None:
    """Either name for the other, where an object has one of them alone."""
    other = {**attributes, **{new: old for old, new in attributes.items()}}

    def __init_subclass__(sub: Any, /, **given: Any) -> None:
        super(cls, sub).__init_subclass__(**given)
        for old, new in attributes.items():
            if old in vars(sub) and new not in vars(sub):
                depth = 2 + (type(sub) is not type)  # ABCMeta is on the way
                warn(f"{sub.__name__}.{old}", f"{sub.__name__}.{new}", since, depth)
                setattr(sub, new, vars(sub)[old])

    def __getattr__(self: Any, name: str) -> Any:
        """Of attributes that are not there otherwise."""
        kind = type(self).__name__
        if name in other and other[name] in {*vars(self), *dir(type(self))}:
            old, new = (name, other[name]) if name in attributes else (other[name], name)
            warn(f"{kind}.{old}", f"{kind}.{new}", since)
            return getattr(self, other[name])
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    cls.__init_subclass__, cls.__getattr__ = classmethod(__init_subclass__), __getattr__


def moved(
    old: str,
    new: str,
    renamed: Mapping[str, str] | None = None,
    *,
    instead: Mapping[str, str] | None = None,
    since: str = "0.2",
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that is now another, in which some names are others too.

    Where both are one module, only the names in `renamed` are old ones. With `instead`, {name: what
    to use}, these names alone are: they have no successor, and are found in `new` until they go.

    >>> import hoag.optimize
    >>> with warnings.catch_warnings(action="ignore"):
    ...     moved("hoag.search", "hoag.optimize", {"Fast": "Auto"})("Grid") is hoag.optimize.Grid
    True
    """
    some = instead or (renamed if old == new else None)

    def __getattr__(name: str) -> Any:
        if name.startswith("__") or (some is not None and name not in some):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        there = (renamed or {}).get(name, name)
        value = getattr(importlib.import_module(new), there)
        warn(f"{old}.{name}", (instead or {}).get(name, f"{new}.{there}"), since)
        return value

    return __getattr__
