"""The units in which an estimator computes: whatever the data's, the search sees the same numbers.

A′ = (X − mean)/c with one number c, rows of mean square norm 1; weights s′ that sum to WEIGHT; and
y′ = (y − ȳ)/σ for a regression. Of sparse rows only the columns that are far from 0 are centred,
which are hardly sparse; c is of all columns about their means. One penalty for all is then the same
model with

    λ = λ′ + log(c² Σs / WEIGHT)

so scaling X, y or the weights moves λ and nothing else. A loss that is no square adds what its own
units make of λ (`loss_shift`), and so does an α that stands beside the mean loss, not the sum.
Columns are not scaled one by one: that would be another penalty, which has to be asked for:

    A″ = A′ diag(1/d),   d the spreads of the columns of A among all rows

is divided by one number again, and λ is then the penalty of standardised columns, for a fit on all
rows. A fold whose training rows have spreads d_k penalises by exp(λ) (d_k/d)²: see
hoag._glm.spreads. What centring would do the intercept does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.domain import Box
from hoag._core.errors import InvalidDataError
from hoag._core.numeric import ROUNDING, Array
from hoag._core.warn import warn
from hoag._data.columns import Columns, measured
from hoag._data.standardize import FAR_OFF, Standardiser, far_from_zero, is_constant
from hoag._glm.rows import Rows, standardised
from hoag._glm.spreads import FoldSpreads, column_scales

# What the weights of all rows sum to: losses and gradients are those of a data set of this size,
# for which the tolerance sequences of the paper were made.
WEIGHT = 1000.0

# Squares of larger numbers, and of smaller ones than its inverse, are lost.
LARGEST = float(0.01 * np.sqrt(np.finfo(np.float64).max))

# "auto" bounds. Where λ is this far above the log of a group's energy, its coefficients are zero
# for all purposes; this far below that of its least column, they are not penalised; and no penalty
# may be below rounding beside the energy of the whole group.
ABOVE, BELOW = 10.0, 14.0


@dataclass(frozen=True, eq=False)
class Units:
    """A′, s′ and y′, and the way back from them."""

    rows: Rows
    weights: Array
    mean: Array
    c: float
    total: float
    squares: Array  # Σᵢ s′ᵢ a′ᵢⱼ² for every column; about its mean, where there is an intercept
    y_mean: Any = 0.0
    y_scale: float = 1.0
    loss_shift: float = 0.0  # what the units of the loss add to λ
    gain: float = 1.0  # the loss of y over that of y′
    scales: float | Array = 1.0  # what each column of X is divided by, beside c
    standard: FoldSpreads | None = None  # how folds standardise columns, where they do

    @property
    def log_shift(self) -> float:
        """λ − λ′ for a linear model."""
        return 2 * float(np.log(self.c)) + float(np.log(self.total / WEIGHT)) + self.loss_shift

    def coefficients(self, x: Array, outputs: int, basis: Array | None) -> tuple[Array, Array]:
        """x′ as coefficients (K, p) and intercepts (K,) for X and y as they were given."""
        size = self.mean.size * outputs
        coef = x[:size].reshape(-1, outputs).T * self.y_scale / self.c / self.scales
        intercept = np.zeros(outputs) if basis is None else self.y_scale * (basis @ x[size:])
        if basis is not None:
            intercept = intercept - coef @ self.mean + self.y_mean
        return coef, intercept

    def covariance(self, own: Array, outputs: int, basis: Array | None) -> Array:
        """That of x′ as one of slopes and b, of intercepts Bb, for X and y as they were given.

        b = σb′ − Bᵀ(coef·mean), where B is the basis.
        """
        slopes = self.mean.size * outputs
        scale = np.full(len(own), self.y_scale)
        scale[:slopes] /= self.c
        given = scale[:, None] * own * scale
        if basis is None or not np.any(self.mean):
            return np.asarray(given)
        lift = np.kron(self.mean, basis.T)
        given[slopes:] -= lift @ given[:slopes]
        given[:, slopes:] -= given[:, :slopes] @ lift.T
        return np.asarray(0.5 * (given + given.T))


def units(X: Any, weights: Array, centre: bool, spread_weights: Array | None = None) -> Units:
    """Of rows in memory, centred where there is an intercept to absorb it.

    With `spread_weights`, which are without those of classes, columns are standardised by them. One
    that is constant does nothing beside an intercept; elsewhere it has the scale 1, of X.
    """
    total, scales = float(weights.sum()), None
    if spread_weights is not None:
        scales = column_scales(measured(X, spread_weights).about)
    known, make = measured(X, weights / total, centre), partial(standardised, X)
    u = units_of(known, bool(sparse.issparse(X)), centre, make, scales)
    if spread_weights is not None:
        constant = np.full(u.mean.size, 1.0 / u.c)
        constant = constant if centre else constant / u.scales
        u = replace(u, standard=FoldSpreads(spread_weights, 1.0 / u.c, constant))
    return replace(u, weights=WEIGHT / total * weights, total=total)


def units_of(
    known: Columns,
    is_sparse: bool,
    centre: bool,
    make: Callable[[Standardiser], Rows],
    scales: Array | None = None,
) -> Units:
    """Of rows whose columns are known; `make` has the rows as a standardiser makes them.

    Of sparse rows the columns that are far from 0 are centred; the mean of others is 0, and their
    squares, and c, are about it all the same.
    """
    (total, mean, squares), least, most = known
    biggest = float(max(most.max(initial=0.0), -least.min(initial=0.0)))
    if biggest > LARGEST or 0 < biggest < 1 / LARGEST:
        raise InvalidDataError(
            f"The largest entry of X is {biggest:.1e}, and its square is not a finite number: "
            "rescale X."
        )
    if not 1e-300 < total < 1e300:
        raise InvalidDataError(
            "sample_weight is zero for every row, or too large or too small to add up.",
            parameter="sample_weight",
        )
    squares = squares / total
    moved = np.full(mean.size, centre)
    if is_sparse:
        moved &= far_from_zero(mean, squares)
    constant = moved & is_constant(least, most)
    warn_rounded(np.flatnonzero(constant & (most > least)), most)
    mean, squares = np.where(moved, mean, 0.0), np.where(constant, 0.0, squares)
    far_off = ~constant & (np.abs(mean) > FAR_OFF * np.sqrt(squares))
    spread: float | Array = 1.0 if scales is None else scales
    squares = squares / spread**2
    c = float(np.sqrt(squares.sum())) or 1.0
    standardiser = Standardiser(None, 1.0 / (c * spread))
    if np.any(mean) or np.any(constant):
        scale = np.where(constant, 0.0, 1.0 / (c * spread))
        standardiser = Standardiser(mean, scale, bool(np.any(far_off)))
    rows, weights = make(standardiser), np.empty(0)
    return Units(rows, weights, mean, c, total, WEIGHT * squares / c / c, scales=spread)


def warn_rounded(columns: npt.NDArray[np.intp], sizes: Array) -> None:
    """Columns that are constant only to rounding were not so for the one who made them."""
    if columns.size:
        j = int(columns[0])
        others = f" (and {columns.size - 1} more)" if columns.size > 1 else ""
        warn(
            f"Column {j} of X{others} varies by no more than rounding about {sizes[j]:.2g}, and is "
            "taken for constant: subtract its offset before it is stored."
        )


def warn_hidden(units: Units, curvature: float, box: Box) -> None:
    """Columns so small beside the others that every penalty of the box leaves nothing of them."""
    energies = curvature * units.squares
    with np.errstate(divide="ignore"):
        sizes = np.where(energies > 0, np.log(energies), np.inf) + units.log_shift
    hidden = np.flatnonzero(sizes < float(box.lower.min()) - ABOVE / 2)
    if hidden.size:
        warn(
            f"{hidden.size} of {sizes.size} columns of X, the first of them column {hidden[0]}, "
            "are so small beside the others that every penalty within the bounds leaves nothing "
            "of them: scale the columns (standardize=True), or give bounds=(lower, upper)."
        )


def column_energies(units: Units, curvature: float) -> Array:
    """Σᵢ s′ᵢ loss″ a′ᵢⱼ² for every column; the mean of the others where a column is constant."""
    energies = curvature * units.squares
    usual = float(energies.mean()) or 1.0
    varying = energies > ROUNDING**2 * usual
    if not np.any(varying):
        return np.full(energies.size, usual)
    return np.where(varying, energies, energies[varying].mean())


def group_energies(energies: Array, groups: npt.NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """The sum, mean and least of the energies of every group's columns; groups is (p, K)."""
    size = int(groups.max()) + 1
    features, _ = np.nonzero(groups >= 0)
    numbers = groups[groups >= 0]
    values = energies[features]
    total = np.asarray(np.bincount(numbers, weights=values, minlength=size), dtype=float)
    least = np.full(size, np.inf)
    np.minimum.at(least, numbers, values)
    return total, total / np.bincount(numbers, minlength=size), least


def auto_box(
    sizes: tuple[Array, Array, Array], log_shift: float, weakest: float | None = None
) -> tuple[Box, Array]:
    """Bounds and start for every penalty, from the sum, mean and least of what it reaches.

    Where `weakest` is known, the log of the least energy in any direction, the lower bound is as
    far below that as the upper one is above the whole: columns may be nearly collinear.
    """
    total, mean, least = sizes
    upper = np.log(total) + ABOVE
    lower = np.maximum(np.log(least) - BELOW, np.log(total * ROUNDING))
    if weakest is not None:
        lower = np.minimum(np.full(total.size, weakest - log_shift - ABOVE), upper - 2 * ABOVE)
    start = np.clip(np.log(mean), lower, upper)
    return Box(lower + log_shift, upper + log_shift), start + log_shift
