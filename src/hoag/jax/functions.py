"""h and g with their derivatives, as NumPy sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from hoag.jax.data import Blocks
from hoag.jax.program import Term, Traced
from hoag.own.derived import Inner, Outer
from hoag.values import Array, InvalidInput


class JaxFunctions:
    """h = Σ over blocks of the loss + penalty, and g, with their derivatives, on flat arrays."""

    def __init__(
        self, loss: Term, g: Term, penalty: Term | None, blocks: Blocks, test: Any
    ) -> None:
        self._loss, self._g, self._penalty, self._blocks = loss, g, penalty, blocks
        self._test = test
        # Where blocks come one by one, what products have in common is not kept, but made again.
        self.product = 2.0 if blocks.many else 1.0
        self.rows: tuple[int, int] | None = None

    def called(self, x: Array, lam: Array) -> tuple[float, float]:
        """h and g by the user's functions, called once more and compiled as a whole.

        Outside compiled code JAX would compile each of their operations, which took longer.
        """
        loss, g = self._loss.again(), self._g.again()
        h = sum(loss.at(block).value(x, lam) for block in self._blocks.each())
        if self._penalty is not None:
            h += self._penalty.again().at(None).value(x, lam)
        return h, g.at(self._test).value(x, lam)

    def _parts(self) -> Iterator[Traced]:
        for block in self._blocks.each():
            yield self._loss.at(block)
        if self._penalty is not None:
            yield self._penalty.at(None)

    def inner(self, x: Array, lam: Array) -> Inner:
        if self._blocks.many:
            h, h_x = _summed(part.gradient(x, lam) for part in self._parts())
            return Inner(float(h), h_x, partial(self._again, x, lam))
        kept = [part.linearised(x, lam) for part in self._parts()]
        h, h_x = _summed((h, h_x) for h, h_x, _ in kept)
        times = partial(_times, [times for _, _, times in kept])
        return Inner(float(h), h_x, partial(self._again, x, lam), times)

    def _again(self, x: Array, lam: Array, v: Array) -> tuple[Array, Array]:
        Hv, Dv = _summed(part.product(x, lam, v) for part in self._parts())
        return Hv, Dv

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        return np.asarray(_summed((part.push(x, lam, w),) for part in self._parts())[0])

    def hessian(self, x: Array, lam: Array) -> Array:
        H = _summed((part.hessian(x, lam),) for part in self._parts())[0]
        return np.asarray((H + H.T) / 2)

    def outer(self, x: Array, lam: Array) -> Outer:
        g, (g_x, g_lam) = self._g.at(self._test).outer(x, lam)
        return Outer(float(g), np.array(g_x), np.array(g_lam))

    def part(self, train: Array, test: Array) -> JaxFunctions:
        raise InvalidInput("These functions have no rows to draw a sample of.")


def _times(products: Sequence[Any], v: Array) -> Array:
    return np.asarray(_summed((times(v),) for times in products)[0])


def _summed(parts: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """The sums of several tuples of arrays, entry by entry, as NumPy arrays of their own."""
    total: list[Any] = []
    for part in parts:
        arrays = [np.array(one, dtype=float) for one in part]
        total = arrays if not total else [a + b for a, b in zip(total, arrays, strict=True)]
    return tuple(total)
