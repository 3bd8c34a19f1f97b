"""The user's pytrees, and their data, in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag.autodiff._data import Arrays
from hoag.autodiff._pytree import Pytree


class JaxTree(Pytree):
    """A pytree of the user's; functions get one like it in double precision.

    Leaves that are no arrays, such as the activation of an Equinox module, stay as they are.
    """

    util = tree_util

    def __init__(self, given: Any, what: str) -> None:
        super().__init__(given, what)
        if not self.size:
            raise InvalidParameterError(
                f"{what} has no number in it.\nGive an array, or a structure of them.", what
            )
        self._given = given
        self._dtypes = [jnp.result_type(leaf) for leaf in self.leaves]

    def __reduce__(self) -> Any:
        """Pickled as what it was made of, wherever that can be."""
        return JaxTree, (self._given, self.what)

    def name(self, path: Any) -> str:
        return str(tree_util.keystr(path, simple=True, separator="/"))

    def is_free(self, leaf: Any) -> bool:
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic, float)):
            return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))
        return False

    def typed(self, arrays: Sequence[Array]) -> list[Any]:
        pairs = zip(arrays, self._dtypes, strict=True)
        return [jnp.asarray(array, dtype=dtype) for array, dtype in pairs]

    def checked(self, leaf: Any, where: str) -> Any:
        free = self.is_free(leaf)
        if isinstance(leaf, (str, bytes)):
            raise InvalidParameterError(
                f"{where} is the text {leaf!r}.\nLet the functions close over it.", where, leaf
            )
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic, int)) and not free:
            kind = jnp.result_type(leaf)
            raise InvalidParameterError(
                f"{where} is of type {kind}, and has no gradient.\nMake it floating point if it "
                "is to be tuned or fitted; else let the functions close over it.",
                where,
                leaf,
            )
        if free and not np.all(np.isfinite(np.asarray(leaf))):
            raise InvalidParameterError(f"{where} holds a NaN or an infinity.", where, leaf)
        return leaf


class JaxArrays(Arrays):
    """Data as JAX has them.

    Floating-point numbers are in double precision, for so they are computed with: to widen them at
    every call took as long as the products themselves.
    """

    util = tree_util

    def leaf(self, leaf: Any) -> Any:
        return widened(leaf)

    def some(self, leaf: Any, which: Any) -> Any:
        """By NumPy: JAX would compile a function for each number of rows."""
        return np.asarray(leaf)[which]


def widened(leaf: Any) -> Any:
    array = jnp.asarray(leaf)
    return array.astype(jnp.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array
