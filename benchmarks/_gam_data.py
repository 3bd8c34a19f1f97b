"""Additive models whose terms are known: what gam.py simulates.

Every f below is made to have mean 0 and standard deviation 1 over [0, 1]; a linear predictor is a
sum of such terms, times `SPREADS` of its family. Covariates are uniform on [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from hoag._core.numeric import Array

Shape = Callable[[Array], Array]


def two_humps(x: Array) -> Array:
    """f2 of Gu and Wahba (1991): a high hump near 0.2 and a low one near 0.6."""
    return np.asarray(0.2 * x**11 * (10 * (1 - x)) ** 6 + 10 * (10 * x) ** 3 * (1 - x) ** 10)


# Two wiggly ones, a monotone, a straight, a flat and a cyclic one; then what larger models add.
SHAPES: dict[str, Shape] = {
    "waves": lambda x: np.sin(4 * np.pi * x),
    "humps": two_humps,
    "step": lambda x: np.tanh(6 * (x - 0.5)),
    "straight": lambda x: x,
    "nothing": lambda x: 0 * x,
    "cycle": lambda x: np.cos(2 * np.pi * x),
    "bump": lambda x: np.exp(-50 * (x - 0.3) ** 2),
    "slowing": lambda x: np.log(x + 0.1),
    "arch": lambda x: np.sin(np.pi * x),
    "growth": lambda x: np.exp(2 * x),
    "fading": lambda x: np.sin(5 * np.pi * x) * (1 - x),
}
SIX = ["waves", "humps", "step", "straight", "nothing", "cycle"]
EIGHT = [*SIX, "bump", "slowing"]
FORTY = [name for name in SHAPES if name != "nothing"] + 30 * ["nothing"]
SPREADS = {"gaussian": 0.7, "binomial": 0.7, "poisson": 0.35}
CORRELATION = 0.4  # of any two normal scores of which covariates are made, where they depend

# The four functions of mgcv's gamSim(1), and what that adds and scales by for each family.
TEXTBOOK: list[Shape] = [
    lambda x: 2 * np.sin(np.pi * x),
    lambda x: np.exp(2 * x),
    two_humps,
    lambda x: 0 * x,
]
TEXTBOOK_SCALES = {
    "gaussian": (0.0, 1.0, 2.0),
    "binomial": (-5.0, 0.33, 0.0),
    "poisson": (0, 0.2, 0),
}


class Rows(NamedTuple):
    """Covariates, y, and the truth: the linear predictor and its terms."""

    X: Array
    y: Array
    score: Array
    terms: Array


def standardised(shape: Shape) -> Shape:
    values = shape((np.arange(10_000) + 0.5) / 10_000)
    mean, spread = np.mean(values), np.std(values)
    return lambda x: (shape(x) - mean) / (spread or 1.0)


def uniform(n: int, p: int, correlated: bool, rng: np.random.Generator) -> Array:
    """Uniform columns, by normal ones with a common part where they are correlated."""
    if not correlated:
        return rng.uniform(size=(n, p))
    common, own = rng.normal(size=(n, 1)), rng.normal(size=(n, p))
    return np.asarray(ndtr(np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own))


def drawn(family: str, score: Array, noise: float, rng: np.random.Generator) -> Array:
    if family == "gaussian":
        return np.asarray(score + noise * rng.normal(size=score.size))
    if family == "poisson":
        return rng.poisson(np.exp(score)).astype(float)
    return (rng.uniform(size=score.size) < expit(score)).astype(float)


def simulated(
    family: str, shapes: Sequence[str], sizes: tuple[int, int], correlated: bool, seed: int
) -> tuple[Rows, Rows]:
    """Rows to fit on, and fresh ones from the same distribution."""
    rng = np.random.default_rng(seed)
    X = uniform(sum(sizes), len(shapes), correlated, rng)
    each = [standardised(SHAPES[name]) for name in shapes]
    terms = SPREADS[family] * np.column_stack([f(X[:, j]) for j, f in enumerate(each)])
    score = terms.sum(axis=1)
    whole = Rows(X, drawn(family, score, 1.0, rng), score, terms)
    first = sizes[0]
    return Rows(*(a[:first] for a in whole)), Rows(*(a[first:] for a in whole))


def textbook(family: str, n: int, seed: int) -> Rows:
    """gamSim(1, n, dist, scale) with NumPy's random numbers: scale 2, 0.33 and 0.2."""
    rng = np.random.default_rng(seed)
    add, scale, noise = TEXTBOOK_SCALES[family]
    X = rng.uniform(size=(n, len(TEXTBOOK)))
    terms = scale * np.column_stack([f(X[:, j]) for j, f in enumerate(TEXTBOOK)])
    score = terms.sum(axis=1) + scale * add
    return Rows(X, drawn(family, score, noise, rng), score, terms)
