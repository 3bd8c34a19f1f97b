"""Names that have moved, or are about to go: each works for a release, and says what to use."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar


def moved(old: str, new: str, **renamed: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that is now another, in which some names are others too.

    >>> import hoag.optimize
    >>> with warnings.catch_warnings(action="ignore"):
    ...     moved("hoag.search", "hoag.optimize", Fast="Auto")("Grid") is hoag.optimize.Grid
    True
    """

    def __getattr__(name: str) -> Any:
        if name.startswith("__") or (old == new and name not in renamed):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        there = renamed.get(name, name)
        value = getattr(importlib.import_module(new), there)
        warnings.warn(
            f"{old}.{name} is now {new}.{there}; the old name goes in version 0.4.",
            DeprecationWarning,
            stacklevel=2,
        )
        return value

    return __getattr__


def leaving(old: str, kept: str, **instead: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module some of whose names go; until then they are in another."""

    def __getattr__(name: str) -> Any:
        if name not in instead:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warnings.warn(
            f"{old}.{name} goes in version 0.4: use {instead[name]}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(kept), name)

    return __getattr__


class Renamed:
    """Attributes that have new names: objects that have, or are asked for, the old ones still work.

    >>> class Halves(Renamed):
    ...     renamed = {"pieces": "partitions"}
    ...     pieces = 2
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Halves().partitions
    2
    """

    renamed: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Of attributes that are not there otherwise."""
            for old, new in self.renamed.items():
                other = {old: new, new: old}.get(name)
                if other is not None and other in {*vars(self), *dir(type(self))}:
                    told = f"{type(self).__name__}.{old} is now .{new}; the old name goes in 0.4."
                    warnings.warn(told, DeprecationWarning, stacklevel=2)
                    return getattr(self, other)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
