"""What somebody's h and g come to, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag.autodiff._data import UserData

Product = Callable[[Array], Array]


class Inner(NamedTuple):
    """h, ∇₁h, and products with both its second derivatives, at one (x, λ).

    times    v ↦ ∇²₁h v, shape (p,)
    across   v ↦ ∇²₁,₂hᵀ v, shape (s,)
    """

    h: float
    h_x: Array
    times: Product
    across: Product


class Outer(NamedTuple):
    """g, ∇₁g and ∇₂g at one (x, λ)."""

    g: float
    g_x: Array
    g_lam: Array


class Functions(Protocol):
    """What somebody's h and g come to, on flat arrays x, (p,), and λ, (s,), in the user's units.

    inner    h with its first derivative, and products with the second ones
    push     ∇²₁,₂h w, shape (p,)
    hessian  ∇²₁h as a matrix
    outer    g with its first derivatives
    rows     of training data and of held-out ones, where the functions are sums over them; None
             where that is not known
    part     the same functions on some of these rows, given by their numbers: h without its
             penalty times the first of two scales, g times the second. No numbers: g as it is
    product  what a product with a second derivative costs, in gradients of h
    """

    rows: tuple[int, int] | None
    product: float

    def inner(self, x: Array, lam: Array) -> Inner: ...
    def push(self, x: Array, lam: Array, w: Array) -> Array: ...
    def hessian(self, x: Array, lam: Array) -> Array: ...
    def outer(self, x: Array, lam: Array) -> Outer: ...
    def part(
        self,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
        scales: tuple[float, float],
    ) -> Functions: ...


class BoundFunction(Protocol):
    """One function of the user's on some data: what h, or g, is the sum of. Arrays are NumPy's."""

    def value(self, x: Array, lam: Array) -> Any: ...
    def gradient(self, x: Array, lam: Array) -> tuple[Any, Any]: ...
    def linearised(self, x: Array, lam: Array) -> tuple[Any, Any, Callable[[Array], Any]]: ...
    def times(self, x: Array, lam: Array, v: Array) -> Any: ...
    def across(self, x: Array, lam: Array, v: Array) -> Any: ...
    def push(self, x: Array, lam: Array, w: Array) -> Any: ...
    def hessian(self, x: Array, lam: Array) -> Any: ...
    def outer(self, x: Array, lam: Array) -> tuple[Any, Any, Any]: ...


class UserFunction(Protocol):
    """A function of the user's: bound by `at`; `again` is it, not yet called."""

    def at(self, data: Any) -> BoundFunction: ...
    def again(self) -> UserFunction: ...


class Summed:
    """h = Σ over blocks of the loss + penalty, and g, with their derivatives, on flat arrays.

    scales   what the loss, and g, are multiplied by
    """

    def __init__(
        self,
        loss: UserFunction,
        g: UserFunction,
        penalty: UserFunction | None,
        data: UserData,
        scales: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self._loss, self._g, self._penalty, self._data = loss, g, penalty, data
        self._scales = scales
        # Where blocks come one by one, what products have in common is not kept, but made again.
        self.product = 2.0 if data.many else 1.0
        self.rows = data.rows

    def called(self, x: Array, lam: Array) -> tuple[float, float]:
        """h and g by the user's functions, called once more."""
        loss, g = self._loss.again(), self._g.again()
        h = sum(float(loss.at(block).value(x, lam)) for block in self._data.each())
        if self._penalty is not None:
            h += float(self._penalty.again().at(None).value(x, lam))
        return h, float(g.at(self._data.test).value(x, lam))

    def parts(self) -> Iterator[tuple[float, BoundFunction]]:
        """What h is the sum of, and what each is multiplied by."""
        for block in self._data.each():
            yield self._scales[0], self._loss.at(block)
        if self._penalty is not None:
            yield 1.0, self._penalty.at(None)

    def _sum(self, of: Callable[[BoundFunction], Any]) -> Array:
        return np.asarray(_summed((scale, (of(part),)) for scale, part in self.parts())[0])

    def inner(self, x: Array, lam: Array) -> Inner:
        if self._data.many:
            h, h_x = _summed((scale, part.gradient(x, lam)) for scale, part in self.parts())
            times = partial(self._times, x, lam)
        else:
            kept = [(scale, part.linearised(x, lam)) for scale, part in self.parts()]
            h, h_x = _summed((scale, found[:2]) for scale, found in kept)
            times = partial(_kept_times, [(scale, found[2]) for scale, found in kept])
        return Inner(float(h), h_x, times, partial(self._across, x, lam))

    def _times(self, x: Array, lam: Array, v: Array) -> Array:
        return self._sum(lambda part: part.times(x, lam, v))

    def _across(self, x: Array, lam: Array, v: Array) -> Array:
        return self._sum(lambda part: part.across(x, lam, v))

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        return self._sum(lambda part: part.push(x, lam, w))

    def hessian(self, x: Array, lam: Array) -> Array:
        H = self._sum(lambda part: part.hessian(x, lam))
        return np.asarray((H + H.T) / 2)

    def outer(self, x: Array, lam: Array) -> Outer:
        part = self._g.at(self._data.test)
        g, g_x, g_lam = _summed([(self._scales[1], part.outer(x, lam))])
        return Outer(float(g), g_x, g_lam)

    def part(
        self,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
        scales: tuple[float, float],
    ) -> Summed:
        together = (scales[0] * self._scales[0], scales[1] * self._scales[1])
        some = self._data.part(train, test)
        return Summed(self._loss, self._g, self._penalty, some, together)


def _kept_times(products: Sequence[tuple[float, Product]], v: Array) -> Array:
    return np.asarray(_summed((scale, (times(v),)) for scale, times in products)[0])


def _summed(parts: Iterable[tuple[float, Sequence[Any]]]) -> tuple[Any, ...]:
    """Σ scale · part of several tuples of numbers and arrays, entry by entry."""
    total: list[Any] = []
    for scale, part in parts:
        scaled = [scale * np.asarray(one, dtype=float) for one in part]
        total = [a + b for a, b in zip(total, scaled, strict=True)] if total else scaled
    return tuple(total)
