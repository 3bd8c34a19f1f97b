"""The user's pytrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag.own.trees import Tree


class Given:
    """A pytree of the user's, and how one like it is made of a flat vector, in double precision.

    Leaves that are no arrays, such as the activation of an Equinox module, stay as they are.
    """

    def __init__(self, given: Any, what: str) -> None:
        self._given = given
        paths, self._structure = tree_util.tree_flatten_with_path(given)
        self._leaves = [leaf for _, leaf in paths]
        self._free = [k for k, leaf in enumerate(self._leaves) if _is_number(leaf)]
        names = [_name(path) for path, _ in paths]
        for name, leaf in zip(names, self._leaves, strict=True):
            _check_leaf(leaf, f"{what}: {name}" if name else what)
        if not any(np.size(self._leaves[k]) for k in self._free):
            raise InvalidInput(
                f"{what} has no number in it: give an array, or a structure of them."
            )
        self._what, self._dtypes = what, [jnp.result_type(self._leaves[k]) for k in self._free]
        self.tree = Tree(
            tuple(names[k] for k in self._free),
            tuple(np.shape(self._leaves[k]) for k in self._free),
            self._rebuilt,
            self._taken,
            self._spread,
        )

    def __reduce__(self) -> Any:
        """Pickled as what it was made of, wherever that can be."""
        return Given, (self._given, self._what)

    def made(self, flat: Any) -> Any:
        """A pytree like the user's, of a flat vector that may be a tracer."""
        return self._filled(self.tree.split(flat))

    def _filled(self, parts: Sequence[Any]) -> Any:
        leaves = list(self._leaves)
        for k, part in zip(self._free, parts, strict=True):
            leaves[k] = part
        return tree_util.tree_unflatten(self._structure, leaves)

    def _rebuilt(self, arrays: Sequence[Array]) -> Any:
        pairs = zip(arrays, self._dtypes, strict=True)
        return self._filled([jnp.asarray(array, dtype=dtype) for array, dtype in pairs])

    def _taken(self, other: Any) -> list[Array]:
        leaves, structure = tree_util.tree_flatten(other)
        if structure != self._structure:
            raise InvalidInput(
                f"What was given has another structure than {self._what}: {structure} in place of "
                f"{self._structure}."
            )
        try:
            return [np.asarray(leaves[k], dtype=float) for k in self._free]
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{other!r} was given where numbers were expected, as {self._what} has them."
            ) from None

    def _spread(self, spec: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
        whole = tree_util.tree_unflatten(self._structure, range(len(self._leaves)))
        found: dict[int, Any] = {}

        def below(one: Any, part: Any) -> None:
            found.update((k, one) for k in tree_util.tree_leaves(part))

        try:
            tree_util.tree_map(below, spec, whole, is_leaf=is_leaf)
            return [found[k] for k in self._free]
        except (ValueError, TypeError, KeyError):
            raise InvalidInput(
                f"{spec!r} has another structure than {self._what}: give one entry for all of it, "
                "or a structure like it, or like its upper part."
            ) from None


def _name(path: Any) -> str:
    return str(tree_util.keystr(path, simple=True, separator="/"))


def _is_number(leaf: Any) -> bool:
    if isinstance(leaf, (jax.Array, np.ndarray, np.generic, float)):
        return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))
    return False


def _check_leaf(leaf: Any, where: str) -> None:
    if isinstance(leaf, (str, bytes)):
        raise InvalidInput(f"{where} is the text {leaf!r}: let the functions close over it.")
    if isinstance(leaf, (jax.Array, np.ndarray, np.generic, int)) and not _is_number(leaf):
        kind = jnp.result_type(leaf)
        raise InvalidInput(
            f"{where} is of type {kind}, and has no gradient: make it floating point if it is to "
            "be tuned or fitted; else let the functions close over it."
        )
    if _is_number(leaf) and not np.all(np.isfinite(np.asarray(leaf))):
        raise InvalidInput(f"{where} holds a NaN or an infinity.")
