"""h and g with their derivatives, as NumPy sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from hoag.own.derived import Inner, Outer
from hoag.torch.data import Blocks
from hoag.torch.term import Pull, Term
from hoag.values import Array, InvalidInput


class TorchFunctions:
    """h = Σ over blocks of the loss + penalty, and g, with their derivatives, on flat arrays."""

    def __init__(
        self, loss: Term, g: Term, penalty: Term | None, blocks: Blocks, test: Any
    ) -> None:
        self._loss, self._g, self._penalty, self._blocks = loss, g, penalty, blocks
        self._test = test
        # Where blocks come one by one, what products have in common is not kept, but made again.
        self.product = 2.0 if blocks.many else 1.0
        self.rows: tuple[int, int] | None = None

    def _parts(self) -> Iterator[tuple[Term, Any]]:
        for block in self._blocks.each():
            yield self._loss, block
        if self._penalty is not None:
            yield self._penalty, None

    def check(self, x: Array, lam: Array) -> None:
        """Every function can be called as it will be."""
        for term, data in self._parts():
            term.check(x, lam, data)
        self._g.check(x, lam, self._test)

    def called(self, x: Array, lam: Array) -> tuple[float, float]:
        """h and g alone."""
        h = sum(term.called(x, lam, data) for term, data in self._parts())
        return h, self._g.called(x, lam, self._test)

    def inner(self, x: Array, lam: Array) -> Inner:
        if self._blocks.many:
            h, h_x = _summed(term.gradient(x, lam, data) for term, data in self._parts())
            return Inner(float(h), h_x, partial(self._again, x, lam))
        kept = [term.linearised(x, lam, data) for term, data in self._parts()]
        h, h_x = _summed((h, h_x) for h, h_x, _ in kept)
        return Inner(float(h), h_x, partial(_pulled, [pull for _, _, pull in kept]))

    def _again(self, x: Array, lam: Array, v: Array) -> tuple[Array, Array]:
        Hv, Dv = _summed(term.product(x, lam, data, v) for term, data in self._parts())
        return Hv, Dv

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        pushed = _summed((term.push(x, lam, data, w),) for term, data in self._parts())
        return np.asarray(pushed[0])

    def hessian(self, x: Array, lam: Array) -> Array:
        H = _summed((term.hessian(x, lam, data),) for term, data in self._parts())[0]
        return np.asarray((H + H.T) / 2)

    def outer(self, x: Array, lam: Array) -> Outer:
        return Outer(*self._g.outer(x, lam, self._test))

    def part(self, train: Array, test: Array) -> TorchFunctions:
        raise InvalidInput("These functions have no rows to draw a sample of.")


def _pulled(pulls: Sequence[Pull], v: Array) -> tuple[Array, Array]:
    Hv, Dv = _summed(pull(v) for pull in pulls)
    return Hv, Dv


def _summed(parts: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """The sums of several tuples of numbers and arrays, entry by entry."""
    total: list[Any] = []
    for part in parts:
        total = list(part) if not total else [a + b for a, b in zip(total, part, strict=True)]
    return tuple(total)
