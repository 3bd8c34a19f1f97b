"""Reverse-mode differentiation of the few vector operations that iterative methods are made of.

A method written with +, −, *, /, @ and `apply` on `Var`s runs forward and leaves on the tape what
is needed to go back. Vectors are (p,) arrays and scalars are floats; v @ w is their dot product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Takes the adjoint of an output and returns those of the inputs, in order.
Pullback = Callable[[Any], Sequence[Any]]


class Var:
    """A value on a tape."""

    __array_ufunc__ = None  # array * Var comes to Var.__rmul__

    def __init__(self, tape: Tape, value: Any, index: int) -> None:
        self.tape, self.value, self.index = tape, value, index

    def __add__(self, other: Any) -> Var:
        return self.tape.apply(self.value + _value(other), [self, other], lambda a: (a, a))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Var:
        return self.tape.apply(self.value - _value(other), [self, other], lambda a: (a, -a))

    def __rsub__(self, other: Any) -> Var:
        return Var.__add__(-self, other)

    def __neg__(self) -> Var:
        return self.tape.apply(-self.value, [self], lambda a: (-a,))

    def __mul__(self, other: Any) -> Var:
        x, y = self.value, _value(other)
        return self.tape.apply(x * y, [self, other], lambda a: (_like(a * y, x), _like(a * x, y)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Var:
        x, y = self.value, _value(other)
        return self.tape.apply(
            x / y, [self, other], lambda a: (_like(a / y, x), _like(-a * x / y**2, y))
        )

    def __matmul__(self, other: Any) -> Var:
        x, y = self.value, _value(other)
        return self.tape.apply(float(x @ y), [self, other], lambda a: (a * y, a * x))


class Tape:
    """The operations done so far, with their pullbacks."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, list[Any], Pullback]] = []
        self._count = 0

    def variable(self, value: Any) -> Var:
        self._count += 1
        return Var(self, value, self._count)

    def apply(self, value: Any, inputs: Sequence[Any], pullback: Pullback) -> Var:
        """Record value = F(inputs); plain numbers and arrays among the inputs are constants."""
        out = self.variable(value)
        indices = [i.index if isinstance(i, Var) else None for i in inputs]
        self._nodes.append((out.index, indices, pullback))
        return out

    def checkpoint(self, function: Callable[..., Any], *inputs: Any) -> Var:
        """function(*inputs), remembered only by its inputs: going back runs it once more."""
        values = [_value(i) for i in inputs]

        def pullback(adjoint: Any) -> Sequence[Any]:
            inner = Tape()
            variables = [inner.variable(value) for value in values]
            out = function(*variables)
            return inner.gradients(out, adjoint, variables)

        return self.apply(function(*values), inputs, pullback)

    def gradients(self, output: Var, adjoint: Any, wanted: Sequence[Var]) -> list[Any]:
        """⟨adjoint, output⟩ differentiated with respect to each wanted variable."""
        adjoints: dict[int, Any] = {output.index: adjoint}
        keep = {var.index for var in wanted}
        for index, inputs, pullback in reversed(self._nodes):
            if index not in adjoints:
                continue
            a = adjoints[index] if index in keep else adjoints.pop(index)
            for i, contribution in zip(inputs, pullback(a), strict=True):
                if i is not None:
                    adjoints[i] = adjoints[i] + contribution if i in adjoints else contribution
        return [adjoints.get(var.index, np.zeros_like(var.value)) for var in wanted]


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Var) else x


def _like(adjoint: Any, x: Any) -> Any:
    """The adjoint of a scalar that multiplied a vector is the sum over its entries."""
    return float(np.sum(adjoint)) if np.ndim(x) == 0 and np.ndim(adjoint) > 0 else adjoint
