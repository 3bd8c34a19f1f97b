"""λ = to(u): a search moves u, the user's functions get λ.

A search takes steps of about one, and none longer than two. So u should be such that a step of one
is neither tiny nor huge: the logarithm of a penalty, the logit of a share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, logit

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array


@dataclass(frozen=True)
class Scale:
    """λ = to(u) number by number, u = back(λ) and dλ/du = slope(u): a search moves u.

    Parameters
    ----------
    to, back, slope : callable
        u ↦ λ, λ ↦ u and u ↦ dλ/du, on arrays; all three increasing in u.
    kind : str, default="in the range of its scale"
        What λ may be, for messages: "positive", say.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> root = hoag.domains.Scale(lambda u: u**3, np.cbrt, lambda u: 3 * u**2)
    >>> root.back(root.to(np.array([2.0])))
    array([2.])
    """

    to: Callable[[Array], Array]
    back: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    kind: str = "in the range of its scale"

    @staticmethod
    def of(scale: str | float | Scale) -> Scale:
        """By name; or a number, which is one unit of the search; or a Scale as it is."""
        if isinstance(scale, Scale):
            return scale
        if isinstance(scale, str) and scale in NAMED:
            return NAMED[scale]
        if isinstance(scale, (int, float)) and np.isfinite(scale) and scale > 0:
            unit = float(scale)
            return Scale(partial(np.multiply, unit), partial(_over, unit), partial(_all, unit))
        raise InvalidParameterError.of(
            "scale",
            scale,
            f"use {', '.join(map(repr, NAMED))}, a positive number (one unit of the search), a "
            "hoag.domains.Scale, or a structure of these like lam0.",
        )


# Functions with names, so that a result that holds them can be pickled.
def _over(unit: float, lam: Array) -> Array:
    return lam / unit


def _all(unit: float, u: Array) -> Array:
    return np.full(u.shape, unit)


def _spread_share(u: Array) -> Array:
    return np.asarray(expit(u) * expit(-u))


NAMED = {
    "linear": Scale(np.positive, np.positive, np.ones_like),
    "log": Scale(np.exp, np.log, np.exp, "positive"),
    "logit": Scale(expit, logit, _spread_share, "in (0, 1)"),
}


@dataclass(frozen=True, eq=False)
class Scales:
    """A scale for each stretch of λ: `parts` are (how many numbers, their scale)."""

    parts: Sequence[tuple[int, Scale]]

    @property
    def linear(self) -> bool:
        """u is λ itself."""
        return all(scale == NAMED["linear"] for _, scale in self.parts)

    def to(self, u: Array) -> Array:
        return u if self.linear else self._each(u, lambda scale, part: scale.to(part))

    def slope(self, u: Array) -> Array:
        return self._each(u, lambda scale, part: scale.slope(part))

    def back(self, lam: Array, names: Sequence[str], what: str) -> Array:
        """u of a λ; a λ that no u leads to is answered by a sentence."""
        with np.errstate(all="ignore"):
            u = self._each(lam, lambda scale, part: scale.back(part))
        wrong = np.flatnonzero(~np.isfinite(u) & np.isfinite(lam))
        if wrong.size:
            j = int(wrong[0])
            raise InvalidParameterError(
                f"{what} is {lam[j]:g} at {names[j] or j}, and must be {self._kind(j)} there, as "
                "its scale says.",
                what,
                lam[j],
            )
        return u

    def words(self, names: Sequence[str]) -> tuple[str, ...]:
        """What u is called where λ is called so: log λ, say."""
        each = [scale for size, scale in self.parts for _ in range(size)]
        known = [next((w for w, one in NAMED.items() if one == scale), "scaled") for scale in each]
        return tuple(
            name if word == "linear" else f"{word} {name}"
            for word, name in zip(known, names, strict=True)
        )

    def _kind(self, j: int) -> str:
        ends = np.cumsum([size for size, _ in self.parts])
        return self.parts[int(np.searchsorted(ends, j, side="right"))][1].kind

    def _each(self, flat: Array, call: Callable[[Scale, Array], Array]) -> Array:
        out, start = np.empty(flat.size), 0
        for size, scale in self.parts:
            out[start : start + size] = call(scale, flat[start : start + size])
            start += size
        return out
