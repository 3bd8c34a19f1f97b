"""h and g with their derivatives, as NumPy sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.jax.data import Blocks, on_device, rows_of, take
from hoag.jax.program import Term, Traced
from hoag.own.functions import Inner, Outer
from hoag.values import Array


class JaxFunctions:
    """h = Σ over blocks of the loss + penalty, and g, with their derivatives, on flat arrays."""

    def __init__(
        self,
        loss: Term,
        g: Term,
        penalty: Term | None,
        blocks: Blocks,
        test: Any,
        scales: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self._loss, self._g, self._penalty, self._blocks = loss, g, penalty, blocks
        self._test, self._scales = test, scales
        # Where blocks come one by one, what products have in common is not kept, but made again.
        self.product = 2.0 if blocks.many else 1.0
        n = rows_of(blocks.whole)
        self.rows: tuple[int, int] | None = None if n is None else (n, rows_of(test) or 0)

    def called(self, x: Array, lam: Array) -> tuple[float, float]:
        """h and g by the user's functions themselves, outside compiled code."""
        h = sum(self._loss.called(x, lam, block) for block in self._blocks.each())
        if self._penalty is not None:
            h += self._penalty.called(x, lam, None)
        return h, self._g.called(x, lam, self._test)

    def _parts(self) -> Iterator[Traced]:
        for block in self._blocks.each():
            yield self._loss.at(block, self._scales[0])
        if self._penalty is not None:
            yield self._penalty.at(None)

    def inner(self, x: Array, lam: Array) -> Inner:
        if self._blocks.many:
            h, h_x = _summed(part.gradient(x, lam) for part in self._parts())
            return Inner(float(h), h_x, partial(self._again, x, lam))
        kept = [part.linearised(x, lam) for part in self._parts()]
        h, h_x = _summed((h, h_x) for h, h_x, _ in kept)
        return Inner(float(h), h_x, partial(_pulled, [pull for _, _, pull in kept]))

    def _again(self, x: Array, lam: Array, v: Array) -> tuple[Array, Array]:
        Hv, Dv = _summed(part.product(x, lam, v) for part in self._parts())
        return Hv, Dv

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        return np.asarray(_summed((part.push(x, lam, w),) for part in self._parts())[0])

    def hessian(self, x: Array, lam: Array) -> Array:
        H = _summed((part.hessian(x, lam),) for part in self._parts())[0]
        return np.asarray((H + H.T) / 2)

    def outer(self, x: Array, lam: Array) -> Outer:
        g, g_x, g_lam = self._g.at(self._test, self._scales[1]).outer(x, lam)
        return Outer(float(g), g_x, g_lam)

    def part(
        self,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
        scales: tuple[float, float],
    ) -> JaxFunctions:
        return JaxFunctions(
            *(self._loss, self._g, self._penalty, self._blocks.part(train)),
            on_device(take(self._test, test)) if test.size else self._test,
            (scales[0] * self._scales[0], scales[1] * self._scales[1]),
        )


def _pulled(pulls: Sequence[Any], v: Array) -> tuple[Array, Array]:
    Hv, Dv = _summed(pull(v) for pull in pulls)
    return Hv, Dv


def _summed(parts: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """The sums of several tuples of arrays, entry by entry."""
    total: list[Any] = []
    for part in parts:
        total = [a + b for a, b in zip(total, part, strict=True)] if total else list(part)
    return tuple(total)
