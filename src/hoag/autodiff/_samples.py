"""Functions that are sums, or means, over rows: on a sample of these, and in parts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import Array
from hoag.autodiff._functions import Functions

Indices = npt.NDArray[np.intp]
# Of training rows and of held-out rows.
Pair = tuple[Indices, Indices]
# Whether h without its penalty, and g, are sums over their rows; else they are means.
Sums = tuple[bool, bool]

NONE = np.zeros(0, dtype=np.intp)


def drawn(rows: tuple[int, int], count: int, seed: int) -> Pair:
    """`count` of the training rows and as many of the held-out ones, or all that there are.

    A larger sample holds the smaller ones: both are the beginning of one order.
    """
    rng = np.random.default_rng(seed)
    train, test = (rng.permutation(n) for n in rows)
    return train[:count], test[: max(count, 1)]


def split(rows: tuple[int, int], count: int) -> list[Pair]:
    """Disjoint parts of one size; held-out rows stay together where they are fewer than parts."""

    def parts(n: int) -> list[Indices]:
        size = n // count
        return [np.arange(k * size, (k + 1) * size) if size else NONE for k in range(count)]

    return list(zip(*(parts(n) for n in rows), strict=True))


def sums_or_means(
    functions: Functions, x: Array, lam: Array, which: Pair, roundoff: float, count: int = 4
) -> Sums:
    """Whether h without its penalty is Σᵢ hᵢ over its rows, or (1/n)Σᵢ hᵢ; and the same of g.

    That is tried, and not assumed: on some rows F is compared with what F gives on parts of them,
    values and gradients near x, where no loss is 0 by chance.
    """
    parts = split((which[0].size, which[1].size), count)
    near = x + 1e-2 * np.random.default_rng(0).normal(size=x.size)
    pieces = [(which[0][train], which[1][test]) for train, test in parts]
    joined: Pair = tuple(np.concatenate(some) for some in zip(*pieces, strict=True))  # type: ignore[assignment]
    nothing = _values(functions, joined, (0.0, 0.0), near, lam)
    whole = _values(functions, joined, (1.0, 1.0), near, lam)
    each = [_values(functions, piece, (1.0, 1.0), near, lam) for piece in pieces]
    found = []
    for k, name in enumerate(("h", "g")):
        if joined[k].size == 0:
            found.append(False)
            continue
        total = np.sum([part[k] - nothing[k] for part in each], axis=0)
        found.append(_is_sum(name, whole[k] - nothing[k], total, count, roundoff))
    return found[0], found[1]


def _values(
    functions: Functions, which: Pair, scales: tuple[float, float], x: Array, lam: Array
) -> tuple[Array, Array]:
    part = functions.part(*which, scales)
    inner, outer = part.inner(x, lam), part.outer(x, lam)
    return np.append(inner.h_x, inner.h), np.concatenate([[outer.g], outer.g_x, outer.g_lam])


def _is_sum(name: str, whole: Array, total: Array, count: int, roundoff: float) -> bool:
    tol = np.sqrt(roundoff) * float(np.linalg.norm(whole))
    if np.linalg.norm(total - whole) <= tol:
        return True
    if np.linalg.norm(total / count - whole) <= tol:
        return False
    where = "train" if name == "h" else "test"
    penalty = (
        " If it adds a penalty to a sum over rows, give that as penalty=, a function of x and lam."
        if name == "h"
        else ""
    )
    raise NotSupportedError(
        f"{name} is neither a sum nor a mean over the rows of {where}: on {count} parts of some "
        f"rows it comes to {total[-1]:.6g} in sum, on all of these together to {whole[-1]:.6g}, "
        f"so that no sample stands for the rest.{penalty} hoag.optimize.Auto() goes by all rows.",
        name,
    )
