"""Where λ may be: a closed convex set, known by its projection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInputError, InvalidParameterError
from hoag._core.numeric import ROUNDING, Array
from hoag._core.types import Bounds


class Domain(ABC):
    """D, the closed convex set that λ may move in: its projection is all that it has to say.

    Derive from it, and write `project`; `contains` and `sides` follow, and may be overridden by
    what is faster or says more.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> class Halves(hoag.domains.Domain):  # λ₁ + λ₂ + … ≤ 0
    ...     def project(self, lam):
    ...         return lam - max(np.mean(lam), 0.0)
    >>> Halves().project(np.array([3.0, 1.0]))
    array([ 1., -1.])
    >>> Halves().contains(np.array([3.0, 1.0]))
    False
    """

    @abstractmethod
    def project(self, lam: Array) -> Array:
        """P_D(λ), the point of D nearest to λ."""

    def contains(self, lam: Array) -> bool:
        """Whether projecting moves λ by no more than rounding."""
        moved = float(np.linalg.norm(np.asarray(lam) - self.project(lam)))
        return moved <= ROUNDING * (1.0 + float(np.linalg.norm(lam)))

    def sides(self, size: int) -> tuple[Array, Array]:
        """The bounds of each λ by itself, lower and upper; ±∞ where there is none."""
        return np.full(size, -np.inf), np.full(size, np.inf)

    def as_box(self) -> Box | None:
        """Itself where it is a box; None where it is another set."""
        return None

    def shown(self, lam: Array) -> Array:
        """λ for people: in their units, where a search moves something else."""
        return lam

    def told(self, lam: Array, j: int, what: str = "lam") -> str:
        """The j-th hyperparameter and its value, for people."""
        return f"{what}[{j}] = {self.shown(lam)[j]:g}"


@dataclass(frozen=True, eq=False)
class Box(Domain):
    """D = [lower₁, upper₁] × … × [lower_s, upper_s].

    Parameters
    ----------
    lower, upper : float or array-like of shape (s,)
        The bounds; a number holds for every λ.
    size : int, default=None
        s, where both bounds are numbers.

    Raises
    ------
    InvalidParameterError
        Where a bound is not finite, a lower one exceeds the upper one, or shapes do not fit.

    Examples
    --------
    >>> import hoag
    >>> box = hoag.Box(-12, [12, 3], size=2)
    >>> box.project([20.0, 20.0])
    array([12.,  3.])
    >>> box.contains([0.0, 5.0])
    False
    """

    lower: Array
    upper: Array

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, size: int | None = None) -> None:
        low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
        shapes = (low.shape, high.shape)
        wanted = (
            (size,) if size is not None else max(shapes, key=lambda shape: np.prod(shape)) or (1,)
        )
        try:
            low, high = np.broadcast_to(low, wanted).copy(), np.broadcast_to(high, wanted).copy()
        except ValueError:
            low = np.empty(())
        if low.ndim != 1:
            raise InvalidParameterError(
                f"The bounds have shapes {shapes[0]} and {shapes[1]}, which do not fit "
                f"{'each other' if size is None else f'{size} hyperparameters'}.\nGive two "
                "numbers, or one pair of flat arrays with a value for each hyperparameter.",
                "bounds",
            )
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidParameterError(
                "The bounds must be finite numbers: the domain has to be compact.", "bounds"
            )
        empty = np.flatnonzero(low > high)
        if empty.size:
            j = int(empty[0])
            raise InvalidParameterError(
                f"The box is empty: lower bound {low[j]:g} exceeds upper bound {high[j]:g} at "
                f"hyperparameter {j}.\nBounds are (lower, upper), each a number or an array, not a "
                "list of pairs.",
                "bounds",
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @staticmethod
    def of(bounds: Bounds, size: int) -> Box:
        """The box with `size` sides that somebody gave: a Box, or a pair (lower, upper)."""
        try:
            pair: Any = bounds
            lower, upper = (pair.lower, pair.upper) if isinstance(pair, Box) else pair
            return Box(np.asarray(lower, float), np.asarray(upper, float), size=size)
        except InvalidInputError:
            raise
        except (TypeError, ValueError):
            raise InvalidParameterError.of(
                "bounds",
                bounds,
                "give a pair (lower, upper) of numbers or arrays, in log units, such as (-12, "
                "12), or a hoag.Box.",
            ) from None

    @property
    def size(self) -> int:
        """s, the number of hyperparameters."""
        return int(self.lower.size)

    def as_box(self) -> Box | None:
        """Itself."""
        return self

    def project(self, lam: Array) -> Array:
        """P_D(λ), the nearest point of the box."""
        return np.clip(lam, self.lower, self.upper)

    def contains(self, lam: Array) -> bool:
        """Whether lower ≤ λ ≤ upper, exactly."""
        return bool(np.all(lam >= self.lower) and np.all(lam <= self.upper))

    def sides(self, size: int) -> tuple[Array, Array]:
        """Its bounds, lower and upper."""
        return self.lower, self.upper

    def line(self, direction: Array) -> Box:
        """Where t may be for some coordinate of t·d to be in the box, for a d of zeros and ones."""
        own = direction > 0
        return Box(float(self.lower[own].min()), float(self.upper[own].max()), size=1)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n points drawn uniformly, shape (n, s)."""
        return rng.uniform(self.lower, self.upper, size=(n, self.size))

    def grid(self, per_axis: int) -> Iterator[Array]:
        """The per_axisˢ points of an equally spaced grid, the last coordinate fastest."""
        axes = np.linspace(self.lower, self.upper, per_axis)
        for index in np.ndindex(*(per_axis,) * self.size):
            yield axes[list(index), np.arange(self.size)]
