"""Terms that have seen their columns: the columns of a design matrix, and how they are penalised.

A basis makes B, sparse, of shape (n, size), so that f = Bβ, and says which Sⱼ penalise β. Where the
columns of B add up to a constant, f is only known up to one: it is `centred`, at mean 0 over the
rows that were fitted, and the intercept has the rest. No column is dropped for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDING, Array
from hoag._linalg.orthogonal import principal
from hoag._linalg.symmetric import eigenvectors, rank

Values = list[npt.NDArray[Any]]


class Form(NamedTuple):
    """Sⱼ of a basis, (size, size), what it penalises, in a word, and whether the rest is free."""

    name: str
    S: Array
    bends: bool


@dataclass(frozen=True, eq=False)
class Basis:
    """What bases have in common.

    label    as a formula has it
    size     columns of B
    forms    its penalties
    centred  whether the columns of B add up to a constant
    kind     "curve", "surface", "line" or "levels": how it is drawn
    inputs   how many columns of the data it is a function of
    """

    label: str
    size: int
    forms: tuple[Form, ...]
    centred: bool
    kind: str
    inputs: int

    def design(self, values: Values) -> Any:
        """B for some rows, CSR."""
        raise NotImplementedError

    def strange(self, values: Values) -> npt.NDArray[np.bool_]:
        """Which rows have a category that was not there in fit."""
        return np.zeros(len(values[0]), dtype=bool)

    @property
    def vanishes(self) -> bool:
        """Whether nothing is left where all its penalties are at infinity."""
        if not self.forms:
            return False
        whole = np.sum([form.S / np.trace(form.S) for form in self.forms], axis=0)
        return rank(whole, ROUNDING**0.5) >= self.size - int(self.centred)

    @property
    def names(self) -> list[str]:
        """What each λ is called."""
        return [f"{self.label}{': ' if form.name else ''}{form.name}" for form in self.forms]


@dataclass(frozen=True)
class Recipe:
    """What a curve is to be like; see hoag.gam.smooth."""

    knots: Any
    degree: int
    order: int
    cyclic: bool
    spacing: str


@dataclass(frozen=True, eq=False)
class Spline(Basis):
    """f(x) = Σₖ βₖBₖ(x) on knots; straight on beyond the ends."""

    splines: SplineTransformer
    ends: tuple[float, float]

    @staticmethod
    def of(label: str, x: Array, recipe: Recipe, vanish: bool) -> Spline:
        knots = _knots(label, x, recipe)
        splines = SplineTransformer(
            knots=knots[:, None],
            degree=recipe.degree,
            extrapolation="periodic" if recipe.cyclic else "linear",
            sparse_output=True,
        ).fit(knots[:, None])
        size = int(splines.n_features_out_)
        if recipe.order >= size:
            raise InvalidInput(
                f"{label} has {size} coefficients, too few for differences of order "
                f"{recipe.order}: raise knots."
            )
        gaps = np.diff(knots)
        even = bool(np.allclose(gaps, gaps[0]))
        S = _differences(size, recipe) if even else _roughness(splines.bsplines_[0], recipe, size)
        bends = Form("", S, True)
        forms = (bends, *_rest(S, "straight part")) if vanish else (bends,)
        ends = float(knots[0]), float(knots[-1])
        return Spline(label, size, forms, True, "curve", 1, splines, ends)

    def design(self, values: Values) -> Any:
        x = numbers(values[0], self.label)
        return sparse.csr_matrix(self.splines.transform(x[:, None]))


@dataclass(frozen=True, eq=False)
class Surface(Basis):
    """f(x, z, …) = Σ βₖₗ… Bₖ(x)Bₗ(z)…"""

    sides: tuple[Spline, ...]

    @staticmethod
    def of(label: str, sides: Sequence[Spline], values: Values, vanish: bool) -> Surface:
        sizes = [side.size for side in sides]
        forms, whole = [], np.zeros((int(np.prod(sizes)),) * 2)
        for j, side in enumerate(sides):
            each = [side.forms[0].S if j == k else np.eye(m) for k, m in enumerate(sizes)]
            S = reduce(lambda one, other: np.asarray(np.kron(one, other)), each)
            forms.append(Form(f"along {j + 1}", S, True))
            whole += S / np.trace(S)
        rest = _rest(whole, "flat part") if vanish else ()
        return Surface(
            *(label, len(whole), (*forms, *rest), True, "surface", len(sides), tuple(sides))
        )

    def design(self, values: Values) -> Any:
        product = None
        for side, x in zip(self.sides, values, strict=True):
            B = side.design([x])
            product = B if product is None else _rows_crossed(product, B)
        return product


@dataclass(frozen=True, eq=False)
class Line(Basis):
    """f(x) = β(x − mean)/spread."""

    mean: float
    spread: float

    @staticmethod
    def of(label: str, x: Array, vanish: bool) -> Line:
        mean, spread = float(x.mean()), float(x.std())
        if not spread > ROUNDING * abs(mean):
            raise InvalidInput(f"The column of {label} is constant: leave it out.")
        forms = (Form("", np.eye(1), False),) if vanish else ()
        return Line(label, 1, forms, False, "line", 1, mean, spread)

    def design(self, values: Values) -> Any:
        x = numbers(values[0], self.label)
        return sparse.csr_matrix(((x - self.mean) / self.spread)[:, None])


@dataclass(frozen=True, eq=False)
class Levels(Basis):
    """f(x) = β_x; for a level that was not there the mean of all."""

    levels: npt.NDArray[Any]

    @staticmethod
    def of(label: str, x: npt.NDArray[Any]) -> Levels:
        levels = known_levels(label, x)
        L = len(levels)
        forms = (Form("", np.eye(L) - 1.0 / L, False),)
        return Levels(label, L, forms, True, "levels", 1, levels)

    def strange(self, values: Values) -> npt.NDArray[np.bool_]:
        """Which rows have a level that was not there."""
        return coded(values[-1], self.levels) < 0

    def design(self, values: Values) -> Any:
        codes = coded(values[0], self.levels)
        known = np.flatnonzero(codes >= 0)
        strange = np.flatnonzero(codes < 0)
        L = len(self.levels)
        rows = np.concatenate([known, np.repeat(strange, L)])
        columns = np.concatenate([codes[known], np.tile(np.arange(L), strange.size)])
        data = np.concatenate([np.ones(known.size), np.full(strange.size * L, 1.0 / L)])
        return sparse.csr_matrix((data, (rows, columns)), shape=(len(codes), L))


@dataclass(frozen=True, eq=False)
class Times(Basis):
    """f(x)·s, with s the column of `by`; or on the rows of one level, where f has mean 0 then.

    The mean of a level is for the term of levels that stands beside it: `means` are those of B over
    its rows.
    """

    basis: Basis
    level: Any = None
    means: Array | None = None

    def design(self, values: Values) -> Any:
        B, own = self.basis.design(values[:-1]), values[-1]
        if self.level is None:
            return sparse.csr_matrix(sparse.diags_array(own.astype(np.float64)) @ B)
        inside = np.flatnonzero(words(own) == self.level)
        block = B[inside].toarray() - self.means
        places = np.repeat(inside, self.size), np.tile(np.arange(self.size), inside.size)
        return sparse.csr_matrix((block.ravel(), places), shape=(len(own), self.size))

    @property
    def ends(self) -> Any:
        return self.basis.ends  # type: ignore[attr-defined]


def by_number(basis: Basis, by: npt.NDArray[Any], name: str) -> Times:
    """A coefficient that varies: with `vanish` its mean can vanish, too."""
    if not np.all(np.isfinite(by.astype(np.float64))):
        raise InvalidInput(f"The column that {basis.label} is multiplied by has a NaN.")
    forms = list(basis.forms)
    if len(forms) > sum(form.bends for form in forms):
        bends = [form for form in forms if form.bends]
        whole = np.sum([form.S / np.trace(form.S) for form in bends], axis=0)
        forms = [*bends, *_rest(whole, "what is left", constants=True)]
    return Times(
        *(f"{basis.label}·{name}", basis.size, tuple(forms), False, basis.kind, basis.inputs + 1),
        basis,
    )


def by_levels(basis: Basis, values: Values, by: npt.NDArray[Any], name: str) -> list[Basis]:
    """A curve for each category, and a level for each, which the curves do not have."""
    found: list[Basis] = [Levels.of(name, by)]
    found[0] = _last(found[0], basis.inputs)
    for level in known_levels(name, by):
        label = f"{basis.label}[{name}={level}]"
        inside = np.flatnonzero(words(by) == level)
        means = np.asarray(basis.design([x[inside] for x in values]).mean(axis=0)).ravel()
        shape = basis.size, basis.forms, True, basis.kind, basis.inputs + 1
        found.append(Times(label, *shape, basis, level, means))
    return found


@dataclass(frozen=True, eq=False)
class _Last(Basis):
    """A basis of the last of the columns that are handed to it."""

    basis: Basis

    def design(self, values: Values) -> Any:
        return self.basis.design(values[-1:])

    def strange(self, values: Values) -> npt.NDArray[np.bool_]:
        return self.basis.strange(values[-1:])

    @property
    def levels(self) -> Any:
        return self.basis.levels  # type: ignore[attr-defined]


def _last(basis: Basis, inputs: int) -> _Last:
    return _Last(
        *(basis.label, basis.size, basis.forms, basis.centred, basis.kind, inputs + 1), basis
    )


def numbers(values: npt.NDArray[Any], label: str) -> npt.NDArray[np.float64]:
    """A column as finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"The column of {label} holds no numbers: use category(), or turn it into numbers."
        ) from None
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise InvalidInput(
            f"The column of {label} has a NaN or an infinity in row {bad[0]}"
            + (f" and {bad.size - 1} more" if bad.size > 1 else "")
            + ": drop or fill such rows first."
        )
    return found


def known_levels(label: str, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The categories of a column, in order, as they read."""
    levels = np.unique(words(x))
    if 2 * len(levels) > len(x):
        raise InvalidInput(
            f"The column of {label} has {len(levels)} categories for {len(x)} rows: what they add "
            "cannot be told from noise. Leave it out, or make fewer of them."
        )
    if len(levels) < 2:
        raise InvalidInput(f"The column of {label} has one category only: leave it out.")
    return levels


def words(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Categories as they read; numbers that are whole without a point."""
    if x.dtype.kind == "f" and not np.all(np.isfinite(x)):
        raise InvalidInput("A column of categories has a NaN: give such rows a category.")
    if x.dtype.kind == "f" and np.all(x == np.rint(x)):
        x = x.astype(np.int64)
    return x.astype(str)


def coded(x: npt.NDArray[Any], levels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The number of each category, −1 where it is none of them."""
    own = words(np.asarray(x))
    if set(levels) <= {"False", "True"}:  # as other tables write it
        also = {"0": "False", "1": "True", "false": "False", "true": "True"}
        own = np.array([also.get(word, word) for word in own])
    codes = np.searchsorted(levels, own).clip(max=len(levels) - 1)
    return np.where(levels[codes] == own, codes, -1)


def renamed(basis: Basis, label: str) -> Basis:
    return replace(basis, label=label)


def _knots(label: str, x: Array, recipe: Recipe) -> Array:
    """Where the pieces meet, both ends included."""
    if isinstance(recipe.knots, tuple):
        knots = np.asarray(recipe.knots, dtype=np.float64)
        if knots.size < 2 or np.any(np.diff(knots) <= 0):
            raise InvalidInput(f"The knots of {label} must be two or more numbers that grow.")
        return knots
    different = np.unique(x)
    if different.size < 3:
        raise InvalidInput(
            f"The column of {label} has {different.size} different value"
            f"{'s' if different.size > 1 else ''}: no curve is seen in that; use linear() or "
            "category()."
        )
    many = min(int(recipe.knots), different.size)
    if recipe.spacing == "quantile":
        knots = np.unique(np.quantile(x, np.linspace(0, 1, many)))
    else:
        knots = np.linspace(different[0], different[-1], many)
        fullest = float(np.histogram(x, knots)[0].max()) / x.size
        if many > 4 and fullest > 0.9:
            warnings.warn(
                f"{fullest:.0%} of the rows are between two of the {many} knots of {label}: no "
                "curve is seen there. Use spacing='quantile', or transform the column.",
                UserWarning,
                stacklevel=2,
            )
    if recipe.cyclic and many <= recipe.degree:
        raise InvalidInput(
            f"{label} is cyclic, with {many} knots: pieces of degree {recipe.degree} need "
            f"{recipe.degree + 1} or more."
        )
    return np.asarray(knots)


def _differences(size: int, recipe: Recipe) -> Array:
    """DᵀD with D the differences of the order that is penalised; around, where it is cyclic."""
    D = np.eye(size)
    for _ in range(recipe.order):
        D = np.roll(D, -1, axis=0) - D if recipe.cyclic else np.diff(D, axis=0)
    return np.asarray(D.T @ D)


def _roughness(spline: BSpline, recipe: Recipe, size: int) -> Array:
    """∫ f^(order)(t)² dt, by Gauss's rule on each piece, on an interval of length 1."""
    order, degree = recipe.order, int(spline.k)
    inner = spline.t[degree:-degree] if degree else spline.t
    width = float(inner[-1] - inner[0])
    places, weights = np.polynomial.legendre.leggauss(max(degree - order + 1, 1))
    middles, halves = (inner[1:] + inner[:-1]) / 2, np.diff(inner) / 2
    t = (middles[:, None] + halves[:, None] * places).ravel()
    w = (halves[:, None] * weights).ravel() / width
    bent = np.asarray(spline.derivative(order)(t)).reshape(t.size, -1)[:, :size] * width**order
    if recipe.cyclic:  # the last ones are the first ones, gone around
        whole = np.asarray(spline.derivative(order)(t)).reshape(t.size, -1) * width**order
        bent = whole[:, :size].copy()
        bent[:, : whole.shape[1] - size] += whole[:, size:]
    return np.asarray(bent.T @ (w[:, None] * bent))


def _rest(S: Array, name: str, constants: bool = False) -> tuple[Form, ...]:
    """UUᵀ with U what S leaves free, but for constants; none where there is nothing."""
    e, V = eigenvectors(S)
    U = V[:, e <= ROUNDING**0.5 * e[-1]]
    if not constants:
        one = np.ones(len(S)) / np.sqrt(len(S))
        U = U - np.outer(one, one @ U)
    U = principal(U, 0.5)
    return (Form(name, U @ U.T, False),) if U.shape[1] else ()


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
