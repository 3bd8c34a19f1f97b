"""Tolerance sequences ε_k, k = 1, 2, …; any callable k ↦ ε_k will do.

Theorem 2 asks that Σ ε_k < ∞; the paper begins at 0.1 and never goes below 1e-12.

>>> from hoag import schedules
>>> [f"{schedules.Quadratic()(k):.4f}" for k in (1, 2, 3)]
['0.1000', '0.0250', '0.0111']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FLOOR = 1e-12
FIRST = 0.1

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class Quadratic:
    """ε_k = first · k⁻².

    >>> from hoag.schedules import Quadratic
    >>> [f"{Quadratic()(k):.2g}" for k in (1, 10, 100)]
    ['0.1', '0.001', '1e-05']
    """

    first: float = FIRST

    def __call__(self, k: int) -> float:
        return max(self.first * float(k) ** -2, FLOOR)


@dataclass(frozen=True)
class Cubic:
    """ε_k = first · k⁻³.

    >>> from hoag.schedules import Cubic
    >>> [f"{Cubic()(k):.2g}" for k in (1, 10, 100)]
    ['0.1', '0.0001', '1e-07']
    """

    first: float = FIRST

    def __call__(self, k: int) -> float:
        return max(self.first * float(k) ** -3, FLOOR)


@dataclass(frozen=True)
class Exponential:
    """ε_k = first · rateᵏ; as printed in the paper, so that ε₁ = 0.09.

    >>> from hoag.schedules import Exponential
    >>> [f"{Exponential()(k):.2g}" for k in (1, 10, 100)]
    ['0.09', '0.035', '2.7e-06']
    """

    first: float = FIRST
    rate: float = 0.9

    def __call__(self, k: int) -> float:
        return max(self.first * self.rate**k, FLOOR)


@dataclass(frozen=True)
class Exact:
    """ε_k = 1e-12: the gradient to full precision at every step.

    >>> from hoag.schedules import Exact
    >>> [f"{Exact()(k):.2g}" for k in (1, 10, 100)]
    ['1e-12', '1e-12', '1e-12']
    """

    eps: float = FLOOR

    def __call__(self, k: int) -> float:
        return self.eps
