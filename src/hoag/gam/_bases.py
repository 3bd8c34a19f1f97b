"""Terms that have seen their columns: the columns of a design matrix, and how they are penalised.

A basis makes B, sparse, of shape (n, size), so that f = Bβ, and says which Sⱼ penalise β. Where the
columns of B add up to a constant, f is only known up to one: it is `centred`, at mean 0 over the
rows that were fitted, and the intercept has the rest. No column is dropped for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from hoag._core.numeric import ROUNDING, Array
from hoag._core.warn import warn
from hoag._linalg.orthogonal import principal
from hoag._linalg.symmetric import eigenvectors, rank
from hoag.gam._errors import bad_column, bad_terms

Values = list[npt.NDArray[Any]]


class PenaltyMatrix(NamedTuple):
    """Sⱼ of a basis, (size, size), what it penalises, and whether that is roughness.

    The other matrices penalise what roughness leaves free, such as the straight part of a curve.
    """

    name: str
    S: Array
    roughness: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Basis(ABC):
    """What bases have in common.

    label      as a formula has it
    size       columns of B
    penalties  its penalty matrices
    kind       "curve", "surface", "line" or "levels": how it is drawn
    centred    whether the columns of B add up to a constant
    unit       what a unit of its columns is in the data
    """

    label: str
    size: int
    penalties: tuple[PenaltyMatrix, ...]
    kind: str
    centred: bool = True
    unit: float = 1.0

    @abstractmethod
    def design(self, values: Values) -> Any:
        """B for some rows, CSR."""

    def unseen(self, values: Values) -> npt.NDArray[np.bool_]:
        """Which rows have a category that was not there in fit."""
        return np.zeros(len(values[0]), dtype=bool)

    @property
    def vanishes(self) -> bool:
        """Whether nothing is left where all its penalties are at infinity."""
        if not self.penalties:
            return False
        return rank(_total(self.penalties), ROUNDING**0.5) >= self.size - int(self.centred)

    @property
    def names(self) -> list[str]:
        """What each λ is called."""
        return [": ".join(filter(None, (self.label, one.name))) for one in self.penalties]


class Recipe(NamedTuple):
    """What a curve is to be like; see hoag.gam.smooth. Places of knots are a tuple."""

    knots: int | tuple[float, ...] | None
    degree: int = 3
    order: int = 2
    cyclic: bool = False
    spacing: str = "uniform"

    @property
    def size(self) -> int:
        """How many coefficients it has at most; of fewer different values there are fewer."""
        knots = len(self.knots) if isinstance(self.knots, tuple) else int(self.knots or 0)
        return knots + (-1 if self.cyclic else self.degree - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Spline(Basis):
    """f(x) = Σₖ βₖBₖ(x) on knots; straight on beyond the ends."""

    kind: str = "curve"
    splines: SplineTransformer
    ends: tuple[float, float]

    @staticmethod
    def of(label: str, x: npt.NDArray[Any], recipe: Recipe, vanish: bool) -> Spline:
        knots = _knots(label, numbers(x, label), recipe)
        beyond = "periodic" if recipe.cyclic else "linear"
        splines = SplineTransformer(
            knots=knots[:, None], degree=recipe.degree, extrapolation=beyond, sparse_output=True
        ).fit(knots[:, None])
        size = int(splines.n_features_out_)
        if recipe.order >= size:
            what = f"{label} has {size} coefficients, too few for order={recipe.order}:"
            raise bad_terms(what, recipe.knots, "give more knots.", label)
        gaps = np.diff(knots)
        even = bool(np.allclose(gaps, gaps[0]))
        S = _differences(size, recipe) if even else _roughness(splines.bsplines_[0], recipe.order)
        roughness = (PenaltyMatrix("", S, True),)
        penalties = (*roughness, *_null_space(roughness, "straight part", vanish))
        ends = float(knots[0]), float(knots[-1])
        return Spline(label=label, size=size, penalties=penalties, splines=splines, ends=ends)

    def design(self, values: Values) -> Any:
        x = numbers(values[0], self.label)
        return sparse.csr_matrix(self.splines.transform(x[:, None]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface(Basis):
    """f(x, z, …) = Σ βₖₗ… Bₖ(x)Bₗ(z)…"""

    kind: str = "surface"
    sides: tuple[Spline, ...]

    @staticmethod
    def of(label: str, sides: Sequence[Spline], vanish: bool) -> Surface:
        sizes, along = [side.size for side in sides], []
        for j, side in enumerate(sides):
            before, after = np.eye(prod(sizes[:j])), np.eye(prod(sizes[j + 1 :]))
            S = np.kron(np.kron(before, side.penalties[0].S), after)
            along.append(PenaltyMatrix(f"along {j + 1}", S, True))
        penalties = (*along, *_null_space(along, "flat part", vanish))
        return Surface(label=label, size=prod(sizes), penalties=penalties, sides=tuple(sides))

    def design(self, values: Values) -> Any:
        each = (side.design([x]) for side, x in zip(self.sides, values, strict=True))
        return reduce(_rows_crossed, each)


@dataclass(frozen=True, eq=False, kw_only=True)
class Line(Basis):
    """f(x) = β(x − mean)/unit, with the spread of x as its unit."""

    kind: str = "line"
    centred: bool = False
    mean: float

    @staticmethod
    def of(label: str, values: npt.NDArray[Any], vanish: bool) -> Line:
        x = numbers(values, label)
        mean, spread = float(x.mean()), float(x.std())
        if not spread > ROUNDING * abs(mean):
            raise bad_column(label, "is constant", "leave it out.")
        S = (PenaltyMatrix("", np.eye(1), False),) if vanish else ()
        return Line(label=label, size=1, penalties=S, mean=mean, unit=spread)

    def design(self, values: Values) -> Any:
        x = numbers(values[0], self.label)
        return sparse.csr_matrix(((x - self.mean) / self.unit)[:, None])


@dataclass(frozen=True, eq=False, kw_only=True)
class Levels(Basis):
    """f(x) = β_x; for a level that was not there the mean of all."""

    kind: str = "levels"
    levels: npt.NDArray[Any]

    @staticmethod
    def of(label: str, x: npt.NDArray[Any]) -> Levels:
        levels = np.unique(categories(x, label))
        L, n = len(levels), len(x)
        if n < 2 * L:
            what = f"has {L} categories for {n} rows, whose effects cannot be told from noise"
            raise bad_column(label, what, "leave it out, or join categories.")
        if L < 2:
            raise bad_column(label, "has one category only", "leave it out.")
        S = PenaltyMatrix("", np.eye(L) - 1.0 / L, False)
        return Levels(label=label, size=L, penalties=(S,), levels=levels)

    def unseen(self, values: Values) -> npt.NDArray[np.bool_]:
        return self._codes(values[0]) < 0

    def design(self, values: Values) -> Any:
        mean = sparse.csr_matrix(np.full((1, self.size), 1.0 / self.size))
        rows = sparse.vstack([sparse.identity(self.size), mean], format="csr")
        return rows[self._codes(values[0])]  # the last for −1

    def _codes(self, x: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The number of each row's level, −1 where it is none of them."""
        own = categories(np.asarray(x), self.label)
        if set(self.levels) <= {"False", "True"}:  # as other tables write it
            also = {"0": "False", "1": "True", "false": "False", "true": "True"}
            own = np.array([also.get(word, word) for word in own])
        codes = np.searchsorted(self.levels, own).clip(max=self.size - 1)
        return np.where(self.levels[codes] == own, codes, -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Times(Basis):
    """f(x)·u, with u the last column, that of `by`; or f(x) on the rows of one level of u.

    Of a level f has mean 0 over its rows, where `means` are those of the columns of B: the mean of
    y there is for the levels, a term of their own.
    """

    basis: Basis
    level: str | None = None
    means: Array | None = None

    @staticmethod
    def number(basis: Basis, by: npt.NDArray[Any], name: str) -> Times:
        """A coefficient that varies: with `vanish` its mean can vanish, too."""
        numbers(by, name)
        roughness = [one for one in basis.penalties if one.roughness]
        vanish = len(roughness) < len(basis.penalties)
        rest = _null_space(roughness, "what is left", vanish, constants=True)
        return Times(
            label=f"{basis.label}·{name}", size=basis.size, penalties=(*roughness, *rest),
            kind=basis.kind, centred=False, basis=basis,
        )  # fmt: skip

    @staticmethod
    def category(basis: Basis, values: Values, name: str, level: str) -> Times:
        """On the rows with this level, by which f is centred."""
        inside = np.flatnonzero(categories(values[-1], name) == level)
        means = np.asarray(basis.design([x[inside] for x in values[:-1]]).mean(axis=0)).ravel()
        return Times(
            label=f"{basis.label}[{name}={level}]", size=basis.size, penalties=basis.penalties,
            kind=basis.kind, basis=basis, level=level, means=means,
        )  # fmt: skip

    def design(self, values: Values) -> Any:
        B, by = self.basis.design(values[:-1]), values[-1]
        if self.level is None:
            return sparse.csr_matrix(sparse.diags_array(by.astype(np.float64)) @ B)
        inside = categories(by, self.label) == self.level
        return sparse.csr_matrix(np.where(inside[:, None], B.toarray() - self.means, 0.0))


def numbers(values: npt.NDArray[Any], label: str) -> npt.NDArray[np.float64]:
    """A column as finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_column(label, "holds no numbers", "use category().") from None
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        more = f" and {bad.size - 1} more" if bad.size > 1 else ""
        what = f"has a NaN or an infinity in row {bad[0]}{more}"
        raise bad_column(label, what, "drop such rows, or fill them in.")
    return found


def categories(x: npt.NDArray[Any], label: str) -> npt.NDArray[Any]:
    """Categories as they read; numbers that are whole without a point."""
    if x.dtype.kind == "f":
        if not np.all(np.isfinite(x)):
            raise bad_column(label, "of categories has a NaN", "give such rows a category.")
        x = x.astype(np.int64) if np.all(x == np.rint(x)) else x
    return x.astype(str)


def _knots(label: str, x: Array, recipe: Recipe) -> Array:
    """Where the pieces meet, both ends included."""
    if isinstance(recipe.knots, tuple):
        return np.asarray(recipe.knots, dtype=np.float64)
    different = np.unique(x)
    if different.size < 3:
        what = f"has {different.size} different value{'s' * (different.size > 1)}, too few to bend"
        raise bad_column(label, what, "use linear() or category().")
    many = min(int(recipe.knots or 0), different.size)
    if recipe.cyclic and many <= recipe.degree:
        hint = f"degree={recipe.degree} needs {recipe.degree + 1} or more."
        raise bad_terms(f"{label} is cyclic, with {many} knots:", recipe.knots, hint, label)
    if recipe.spacing == "quantile":
        return np.unique(np.quantile(x, np.linspace(0, 1, many)))
    knots = np.linspace(different[0], different[-1], many)
    fullest = float(np.histogram(x, knots)[0].max()) / x.size
    if many > 4 and fullest > 0.9:
        warn(
            f"{fullest:.0%} of the rows are between two of the {many} knots of {label}: no "
            "curve is seen there. Use spacing='quantile', or transform the column."
        )
    return knots


def _differences(size: int, recipe: Recipe) -> Array:
    """DᵀD with D the differences of the order that is penalised; around, where it is cyclic."""
    D = np.eye(size)
    for _ in range(recipe.order):
        D = np.roll(D, -1, axis=0) - D if recipe.cyclic else np.diff(D, axis=0)
    return np.asarray(D.T @ D)


def _roughness(spline: BSpline, order: int) -> Array:
    """∫ f^(order)(t)² dt, by Gauss's rule on each piece, on an interval of length 1."""
    degree = int(spline.k)
    inner = spline.t[degree:-degree] if degree else spline.t
    width = float(inner[-1] - inner[0])
    places, weights = np.polynomial.legendre.leggauss(max(degree - order + 1, 1))
    middles, halves = (inner[1:] + inner[:-1]) / 2, np.diff(inner) / 2
    t = (middles[:, None] + halves[:, None] * places).ravel()
    w = (halves[:, None] * weights).ravel() / width
    D = np.asarray(spline.derivative(order)(t)) * width**order
    return np.asarray(D.T @ (w[:, None] * D))


def _total(penalties: Sequence[PenaltyMatrix]) -> Array:
    """Their sum, each with a trace of 1."""
    return np.asarray(sum(one.S / np.trace(one.S) for one in penalties))


def _null_space(
    penalties: Sequence[PenaltyMatrix], name: str, vanish: bool, constants: bool = False
) -> tuple[PenaltyMatrix, ...]:
    """UUᵀ with U what these leave free, but for constants; none where there is nothing."""
    if not vanish:
        return ()
    e, V = eigenvectors(_total(penalties))
    U = V[:, e <= ROUNDING**0.5 * e[-1]]
    U = principal(U if constants else U - U.mean(axis=0), 0.5)
    return (PenaltyMatrix(name, U @ U.T, False),) if U.shape[1] else ()


def _rows_crossed(A: Any, B: Any) -> Any:
    """aᵢ ⊗ bᵢ for every row, sparse."""
    n, many = A.shape[0], np.diff(B.indptr)
    counts = np.diff(A.indptr)
    starts = np.repeat(B.indptr[:-1], counts)
    lengths = np.repeat(many, counts)
    total = int(lengths.sum())
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    picked = np.arange(total) - first + np.repeat(starts, lengths)
    data = np.repeat(A.data, lengths) * B.data[picked]
    columns = np.repeat(A.indices.astype(np.int64), lengths) * B.shape[1] + B.indices[picked]
    indptr = np.concatenate([[0], np.cumsum(counts * many)])
    return sparse.csr_matrix((data, columns, indptr), shape=(n, A.shape[1] * B.shape[1]))
