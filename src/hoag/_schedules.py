"""Tolerance sequences ε_k, k = 1, 2, …; any callable k ↦ ε_k will do.

Theorem 2 asks that Σ ε_k < ∞; the paper begins at 0.1 and never goes below 1e-12.

>>> from hoag import solvers
>>> [f"{solvers.QuadraticDecay()(k):.4f}" for k in (1, 2, 3)]
['0.1000', '0.0250', '0.0111']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FLOOR = 1e-12
FIRST = 0.1

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class QuadraticDecay:
    """ε_k = first · k⁻², never below 1e-12.

    Parameters
    ----------
    first : float, default=0.1
        ε₁.

    Examples
    --------
    >>> from hoag.solvers import QuadraticDecay
    >>> [f"{QuadraticDecay()(k):.2g}" for k in (1, 10, 100)]
    ['0.1', '0.001', '1e-05']
    """

    first: float = FIRST

    def __call__(self, k: int) -> float:
        return max(self.first * float(k) ** -2, FLOOR)


@dataclass(frozen=True)
class CubicDecay:
    """ε_k = first · k⁻³, never below 1e-12.

    Parameters
    ----------
    first : float, default=0.1
        ε₁.

    Examples
    --------
    >>> from hoag.solvers import CubicDecay
    >>> [f"{CubicDecay()(k):.2g}" for k in (1, 10, 100)]
    ['0.1', '0.0001', '1e-07']
    """

    first: float = FIRST

    def __call__(self, k: int) -> float:
        return max(self.first * float(k) ** -3, FLOOR)


@dataclass(frozen=True)
class ExponentialDecay:
    """ε_k = first · rateᵏ, never below 1e-12; as printed in the paper, so that ε₁ = 0.09.

    Parameters
    ----------
    first : float, default=0.1
        ε₀, of which ε₁ is the share `rate`.
    rate : float, default=0.9
        ε_{k+1}/ε_k.

    Examples
    --------
    >>> from hoag.solvers import ExponentialDecay
    >>> [f"{ExponentialDecay()(k):.2g}" for k in (1, 10, 100)]
    ['0.09', '0.035', '2.7e-06']
    """

    first: float = FIRST
    rate: float = 0.9

    def __call__(self, k: int) -> float:
        return max(self.first * self.rate**k, FLOOR)


@dataclass(frozen=True)
class Exact:
    """ε_k = eps: the gradient to full precision at every step.

    Parameters
    ----------
    eps : float, default=1e-12
        The tolerance of every step.

    Examples
    --------
    >>> from hoag.solvers import Exact
    >>> [f"{Exact()(k):.2g}" for k in (1, 10, 100)]
    ['1e-12', '1e-12', '1e-12']
    """

    eps: float = FLOOR

    def __call__(self, k: int) -> float:
        return self.eps
