""" "Where λ may move, beyond a box: anything that can project onto itself.

`hoag.minimize(problem, bounds=D)` takes a pair of bounds, a `hoag.Box`, one of the domains here, or
any object with `project(lam) -> lam`, the nearest point of a closed convex set.

>>> import hoag
>>> import numpy as np
>>> weights = hoag.domains.Simplex()
>>> weights.project(np.array([0.9, 0.5, -1.0]))
array([0.7, 0.3, 0. ])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.scaling import Scale
from hoag._core.settings import Settings
from hoag._core.types import Bounds

__all__ = ["Ball", "Domain", "Ordered", "Product", "Scale", "Simplex"]


class Simplex(Settings, Domain):
    """λ₁, …, λ_s ≥ 0 with λ₁ + … + λ_s = total: weights that share a whole.

    Parameters
    ----------
    total : float, default=1
        What the weights sum to.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.domains.Simplex(total=2.0).project(np.array([3.0, 0.5, 2.5]))
    array([1.25, 0.  , 0.75])
    """

    def __init__(self, total: float = 1.0) -> None:
        if not (np.isfinite(total) and total >= 0):
            raise InvalidParameterError.of("total", total, "give a finite number ≥ 0.")
        self.total = float(total)

    def project(self, lam: Array) -> Array:
        """max(λ − θ, 0), with the θ for which it sums to the total."""
        lam = np.asarray(lam, dtype=float)
        lam = lam - np.max(lam)  # a common shift changes nothing, and sums stay small
        falling = np.sort(lam)[::-1]
        shifts = (np.cumsum(falling) - self.total) / np.arange(1, lam.size + 1)
        theta = shifts[np.flatnonzero(falling >= shifts)[-1]]
        return np.asarray(np.maximum(lam - theta, 0.0))


class Ball(Settings, Domain):
    """‖λ − centre‖ ≤ radius.

    Parameters
    ----------
    radius : float, default=1
        At least 0.
    centre : float or array-like of shape (s,), default=0
        The middle; a number holds for every λ.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.domains.Ball(radius=5.0).project(np.array([30.0, 40.0]))
    array([3., 4.])
    """

    def __init__(self, radius: float = 1.0, centre: npt.ArrayLike = 0.0) -> None:
        self.radius, self.centre = float(radius), np.array(centre, dtype=float)
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise InvalidParameterError.of("radius", radius, "give a finite number ≥ 0.")
        if self.centre.ndim > 1 or not np.all(np.isfinite(self.centre)):
            raise InvalidParameterError.of(
                "centre", centre, "give a number, or one for each hyperparameter, all finite."
            )

    def __repr__(self) -> str:
        where = f", centre={self.centre.tolist()!r}" if np.any(self.centre) else ""
        return f"Ball(radius={self.radius!r}{where})"

    def project(self, lam: Array) -> Array:
        """centre + radius·d/‖d‖ with d = λ − centre, where ‖d‖ exceeds the radius."""
        lam = np.asarray(lam, dtype=float)
        if self.centre.shape not in ((), lam.shape):
            raise InvalidParameterError(
                f"The centre of the ball has {self.centre.size} numbers, for {lam.size} "
                "hyperparameters.",
                "centre",
            )
        away = lam - self.centre
        distance = float(np.linalg.norm(away))
        return (
            lam.copy() if distance <= self.radius else self.centre + self.radius / distance * away
        )


class Ordered(Settings, Domain):
    """lower ≤ λ₁ ≤ λ₂ ≤ … ≤ λ_s ≤ upper: each at least the one before.

    For a sequence that falls, number the hyperparameters the other way.

    Parameters
    ----------
    lower, upper : float
        The bounds of all of them.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.domains.Ordered(-12, 12).project(np.array([1.0, 4.0, 2.0, 20.0]))
    array([ 1.,  3.,  3., 12.])
    """

    def __init__(self, lower: float, upper: float) -> None:
        if not (np.ndim(lower) == np.ndim(upper) == 0):
            hint = "give Ordered(lower, upper) two numbers, which hold for every λ."
            raise InvalidParameterError.of("lower", lower, hint)
        self.lower, self.upper = float(lower), float(upper)
        Box(self.lower, self.upper)  # finite, and not empty, or it says so

    def project(self, lam: Array) -> Array:
        """Means over stretches that are out of order, by pooling neighbours; then clipped."""
        means = isotonic_regression(np.asarray(lam, dtype=float)).x
        return np.asarray(np.clip(means, self.lower, self.upper))

    def sides(self, size: int) -> tuple[Array, Array]:
        """The two bounds, for every λ."""
        return np.full(size, self.lower), np.full(size, self.upper)


class Product(Settings, Domain):
    """D₁ × D₂ × …: a domain of its own for each stretch of λ.

    Parameters
    ----------
    parts : sequence of (int, domain)
        The length of each stretch, and a domain for it, as `hoag.minimize` takes it.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> both = hoag.domains.Product([(1, (-12, 12)), (2, hoag.domains.Simplex())])
    >>> both.project(np.array([20.0, 1.0, 1.0]))
    array([12. ,  0.5,  0.5])
    """

    def __init__(self, parts: Sequence[tuple[int, Bounds]]) -> None:
        for part in parts:
            if not (isinstance(part, tuple) and len(part) == 2 and part[0] >= 1):
                raise InvalidParameterError(
                    f"{part!r} is no part of a product.\nGive pairs (length, domain), each with "
                    "the number of hyperparameters, at least one, and a domain for them.",
                    "parts",
                    part,
                )
        self.parts = tuple((int(length), adopt(domain, int(length))) for length, domain in parts)
        if not self.parts:
            raise InvalidParameterError(
                "Product([]) has no parts.\nGive at least one (length, domain).", "parts"
            )

    @property
    def size(self) -> int:
        """The number of hyperparameters in all stretches."""
        return sum(length for length, _ in self.parts)

    def _stretches(self) -> Iterator[tuple[slice, Domain]]:
        begin = 0
        for length, domain in self.parts:
            yield slice(begin, begin + length), domain
            begin += length

    def project(self, lam: Array) -> Array:
        """Each stretch projected onto its own domain."""
        lam = np.asarray(lam, dtype=float)
        if lam.shape != (self.size,):
            lengths = " + ".join(str(length) for length, _ in self.parts)
            raise InvalidParameterError(
                f"The parts of the product are for {lengths} = {self.size} hyperparameters; there "
                f"are {lam.size}.",
                "bounds",
            )
        return np.concatenate([domain.project(lam[some]) for some, domain in self._stretches()])

    def sides(self, size: int) -> tuple[Array, Array]:
        """The bounds of all stretches, one after another."""
        each = [domain.sides(length) for length, domain in self.parts]
        lower, upper = (np.concatenate(side) for side in zip(*each, strict=True))
        return lower, upper


def product(parts: Sequence[tuple[int, Bounds]]) -> Domain:
    """D₁ × D₂ × … as the simplest domain that it is: boxes make one box.

    >>> import hoag
    >>> hoag.domains.product([(2, (-1, 1)), (1, hoag.Box(0, 5))]).upper
    array([1., 1., 5.])
    >>> hoag.domains.product([(2, hoag.domains.Simplex())])
    Simplex()
    """
    whole = Product(parts)
    if all(isinstance(domain, Box) for _, domain in whole.parts):
        return Box(*whole.sides(whole.size))
    return whole.parts[0][1] if len(whole.parts) == 1 else whole


class _Foreign(Domain):
    """Somebody's own object, of which only `project` is used."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __repr__(self) -> str:
        return repr(self.given)

    def project(self, lam: Array) -> Array:
        return np.array(self.given.project(np.array(lam, dtype=float)), dtype=float)


def is_domain(given: object) -> bool:
    """Whether it can project, as a Box and every other domain can.

    >>> from hoag.domains import Simplex, is_domain
    >>> is_domain(Simplex()), is_domain((-1, 1))
    (True, False)
    """
    return hasattr(given, "project") and not isinstance(given, type)


def adopt(bounds: Bounds, size: int) -> Domain:
    """The domain of `size` hyperparameters that somebody gave; the border where domains enter.

    A pair (lower, upper) or a Box is a Box; a Domain, or an object with `project`, is tried at a
    few points: what is no projection would let a search end anywhere.

    >>> from hoag.domains import Simplex, adopt
    >>> adopt((-1, 1), size=2).upper, adopt(Simplex(), size=3)
    (array([1., 1.]), Simplex())
    """
    if isinstance(bounds, type) and hasattr(bounds, "project"):
        raise InvalidParameterError(
            f"bounds={bounds.__name__} is a class.\nWrite {bounds.__name__}(...).", "bounds"
        )
    if isinstance(bounds, Box) or not hasattr(bounds, "project"):
        return Box.of(bounds, size)
    domain = bounds if isinstance(bounds, Domain) else _Foreign(bounds)
    _check_projection(domain, size)
    return product(domain.parts) if isinstance(domain, Product) else domain


def _check_projection(domain: Domain, size: int) -> None:
    """P(P(u)) = P(u), and no P(v) lies beyond the plane through P(u) across u − P(u).

    The second is what makes P(u) the point of a convex set that is nearest to u, and it implies
    ‖P(u) − P(v)‖ ≤ ‖u − v‖. A projection by iterations has half the digits to be right in.
    """
    rng = np.random.default_rng(0)
    spread = [10.0**power * rng.normal(size=size) for power in (-1, 0, 1) for _ in range(3)]
    middle = _projected(domain, np.zeros(size))
    tried = [(u, _projected(domain, u)) for u in (*(middle + part for part in spread), middle)]
    rough = np.sqrt(ROUNDOFF) * (1.0 + max(float(np.linalg.norm(u)) for u, _ in tried))
    for _, inside in tried:
        moved = float(np.linalg.norm(_projected(domain, inside) - inside))
        if moved > rough:
            raise InvalidParameterError(
                f"{domain!r}: `project` moves a point that it has just projected, by {moved:.1e}. "
                "It must return the nearest point of the domain, and leave points inside alone.",
                "bounds",
                domain,
            )
    for (u, one), (v, other) in combinations(tried, 2):
        beyond = max(float((u - one) @ (other - one)), float((v - other) @ (one - other)))
        if beyond > rough * (1.0 + float(np.linalg.norm(u - one) + np.linalg.norm(v - other))):
            raise InvalidParameterError(
                f"{domain!r}: `project` does not return the nearest point of a convex set: one "
                "that lies between two of its answers is nearer. Searches need the Euclidean "
                "projection onto a closed convex set.",
                "bounds",
                domain,
            )


def _projected(domain: Domain, lam: Array) -> Array:
    found = domain.project(lam)
    if found.shape != lam.shape or not np.all(np.isfinite(found)):
        raise InvalidParameterError(
            f"{domain!r}: `project` made of {lam.size} numbers an array of shape "
            f"{found.shape}{'' if found.shape != lam.shape else ' that is not finite'}. It must "
            "return a finite number for each hyperparameter.",
            "bounds",
            domain,
        )
    return found
