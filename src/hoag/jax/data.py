"""Pytrees of arrays, for `hoag.own.data`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import tree_util


class JaxArrays:
    """Data as JAX has them."""

    def placed(self, data: Any) -> Any:
        """On the device, floating-point numbers in double precision, for so they are computed with.

        Once: to widen them at every call took as long as the products themselves.
        """
        return tree_util.tree_map(widened, data)

    def take(self, data: Any, which: Any) -> Any:
        """By NumPy: JAX would compile a function for each number of rows."""

        def some(leaf: Any) -> Any:
            return np.asarray(leaf)[which] if np.ndim(leaf) else leaf

        return tree_util.tree_map(some, data)

    def rows(self, data: Any) -> int | None:
        sizes = {np.shape(leaf)[0] for leaf in tree_util.tree_leaves(data) if np.ndim(leaf) > 0}
        return sizes.pop() if len(sizes) == 1 else None


def widened(leaf: Any) -> Any:
    array = jnp.asarray(leaf)
    return array.astype(jnp.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array
