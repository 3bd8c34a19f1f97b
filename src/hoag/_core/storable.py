"""Classes whose objects a checkpoint may hold, each declared where it is made."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

# By the names with which files call them, and the names.
STORABLE: dict[str, type] = {}
NAMES: dict[type, str] = {}


def storable(kind: type[T]) -> type[T]:
    """Declare that objects of a class may stand in a file: a decorator.

    For a class that is made again of its members: a dataclass, a NamedTuple, or one whose members
    are its state.
    """
    NAMES[kind] = name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("hoag.")
    STORABLE[name] = kind
    return kind
