"""What an additive model is made of: η = b + Σⱼ fⱼ, each fⱼ a term of one column or some.

    smooth("age")            a curve
    smooth("hour", cyclic=True)   a curve whose ends meet
    tensor("lat", "lon")     a surface
    linear("dose")           a straight line
    category("site")         a level for each category, shrunk towards their mean

Each is a recipe: `fitted` looks at the columns and makes a basis of it, hoag.gam._bases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDING
from hoag.gam._bases import (
    Basis,
    Levels,
    Line,
    Recipe,
    Spline,
    Surface,
    by_levels,
    by_number,
    numbers,
)

# A column is named, or numbered from 0.
Column = str | int


@dataclass(frozen=True)
class Term(ABC):
    """A term, before it has seen data.

    >>> from hoag.gam import Term, smooth
    >>> isinstance(smooth("age"), Term)
    True
    """

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns that it is a function of."""

    @property
    def needs(self) -> tuple[Column, ...]:
        """All columns that are read, that of `by` the last."""
        by = vars(self).get("by")
        return self.columns if by is None else (*self.columns, by)

    @abstractmethod
    def label(self, names: dict[Column, str]) -> str:
        """As a formula has it, with the names of columns."""

    @abstractmethod
    def made(self, label: str, values: list[npt.NDArray[Any]]) -> Basis:
        """The basis for the columns as they are given."""

    def fitted(self, names: dict[Column, str], values: list[npt.NDArray[Any]]) -> list[Basis]:
        """The bases of this term, for the values of `needs`: several where it is by category."""
        by, label = vars(self).get("by"), self.label(names)
        if by is None:
            return [self.made(label, values)]
        basis, own = self.made(label, values[:-1]), values[-1]
        if numeric(own):
            return [by_number(basis, own, names[by])]
        return by_levels(basis, values[:-1], own, names[by])


@dataclass(frozen=True)
class Smooth(Term):
    column: Column
    recipe: Recipe
    by: Column | None
    vanish: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def label(self, names: dict[Column, str]) -> str:
        return f"s({names[self.column]})"

    def made(self, label: str, values: list[npt.NDArray[Any]]) -> Spline:
        (x,) = values
        return Spline.of(label, numbers(x, label), self.recipe, self.vanish)


@dataclass(frozen=True)
class Tensor(Term):
    sides: tuple[Smooth, ...]
    by: Column | None
    vanish: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(side.column for side in self.sides)

    def label(self, names: dict[Column, str]) -> str:
        return f"te({', '.join(names[side.column] for side in self.sides)})"

    def made(self, label: str, values: list[npt.NDArray[Any]]) -> Surface:
        columns = [numbers(x, label) for x in values]
        different = len(np.unique(np.column_stack(columns), axis=0))
        sides = [
            Spline.of(label, x, recipe, False)
            for recipe, x in zip(self._recipes(different), columns, strict=True)
        ]
        size = prod(side.size for side in sides)
        if size > 4 * different:  # which nobody can mean
            raise InvalidInput(
                f"{label} has {size} coefficients, {' × '.join(str(side.size) for side in sides)}, "
                f"for {different} different rows: {self._advice(different)}"
            )
        return Surface.of(label, sides, values, self.vanish)

    def _recipes(self, different: int, usual: int = 7, most: int = 1000) -> list[Recipe]:
        """With as many knots as there are rows for, where none are given.

        `usual` knots a side, and `most` coefficients, where there are rows enough.
        """
        own = [side.recipe for side in self.sides]
        for knots in range(usual, 1, -1):
            made = [
                replace(one, knots=max(knots, one.degree + 1) if one.cyclic else knots)
                if one.knots is None
                else one
                for one in own
            ]
            sizes = [
                (len(one.knots) if isinstance(one.knots, tuple) else one.knots)
                + (-1 if one.cyclic else one.degree - 1)
                for one in made
            ]
            if prod(sizes) <= min(different, most):
                break
        return made

    def _advice(self, different: int) -> str:
        """What to do where there are too few rows."""
        each = int(different ** (1 / len(self.sides)) * (1 + ROUNDING))
        if each > max(side.recipe.degree for side in self.sides):
            return f"give k={each} in a formula, or knots={each - 2}."
        return "use a surface over fewer columns, or smooth() of each."


@dataclass(frozen=True)
class Linear(Term):
    column: Column
    vanish: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def label(self, names: dict[Column, str]) -> str:
        return names[self.column]

    def made(self, label: str, values: list[npt.NDArray[Any]]) -> Line:
        return Line.of(label, numbers(values[0], label), self.vanish)


@dataclass(frozen=True)
class Category(Term):
    column: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def label(self, names: dict[Column, str]) -> str:
        return names[self.column]

    def made(self, label: str, values: list[npt.NDArray[Any]]) -> Levels:
        return Levels.of(label, values[0])


def smooth(
    column: Column,
    *,
    knots: Any = 20,
    degree: int = 3,
    order: int = 2,
    cyclic: bool = False,
    spacing: Literal["uniform", "quantile"] = "uniform",
    by: Column | None = None,
    vanish: bool = True,
) -> Smooth:
    """f(x) = Σₖ βₖBₖ(x), B-splines, with the penalty exp(λ) ½ Σ (Δ²β)² on how it bends.

    column   its name, or its number
    knots    how many, both ends included, or where they are, in order; at most as many as there are
             different values
    degree   of the pieces: 3 is cubic
    order    what is penalised: differences of this order, so that with 2 a straight line is free
    cyclic   the ends meet: the first knot and the last are the same place, as hours 0 and 24 are;
             without knots of one's own, the least value and the largest are
    spacing  "uniform", or "quantile": as many rows between any two knots, and ∫(f″)² in place of
             differences, which mean little there
    by       a column of numbers: f(x)·by, a coefficient that varies with x; or of categories: a
             curve for each of them, each with its own λ
    vanish   a second λ penalises what the first leaves free, the straight part, so that the whole
             term can go

    >>> from hoag.gam import smooth
    >>> smooth("hour", cyclic=True, knots=25).columns
    ('hour',)
    """
    recipe = Recipe(_read_knots(knots), degree, order, cyclic, spacing)
    return Smooth(column, _checked(recipe), by, vanish)


def _read_knots(knots: Any) -> int | tuple[float, ...]:
    """How many, or where they are."""
    if isinstance(knots, (int, np.integer)) and not isinstance(knots, bool):
        if not knots >= 2:
            raise InvalidInput(f"knots={knots}: a curve has two ends, so give 2 or more.")
        return int(knots)
    try:
        places = np.ravel(np.asarray(knots, dtype=np.float64))
    except (TypeError, ValueError):
        places = np.zeros(0)
    if places.size < 2 or not np.all(np.isfinite(places)):
        raise InvalidInput(
            f"knots={knots!r}: give a whole number, how many there are, or two or more numbers, "
            "where they are."
        )
    return tuple(places.tolist())


def _checked(recipe: Recipe) -> Recipe:
    whole = (int, np.integer)
    if not (isinstance(recipe.degree, whole) and 0 <= recipe.degree <= 5):
        raise InvalidInput(
            f"degree={recipe.degree!r}: the pieces are of degree 0 to 5, 3 are cubic."
        )
    if not (isinstance(recipe.order, whole) and 1 <= recipe.order <= 3):
        raise InvalidInput(f"order={recipe.order!r}: differences of order 1, 2 or 3 are penalised.")
    if recipe.spacing not in ("uniform", "quantile"):
        raise InvalidInput(f"spacing={recipe.spacing!r}: use 'uniform' or 'quantile'.")
    return recipe


def tensor(
    *columns: Column,
    knots: Any = None,
    degree: int = 3,
    order: int = 2,
    cyclic: Any = False,
    by: Column | None = None,
    vanish: bool = True,
) -> Tensor:
    """f(x, z) = Σₖₗ βₖₗ Bₖ(x)Bₗ(z), a surface with a penalty along each side, whatever their units.

    columns, knots, degree, order, cyclic, by, vanish   as for smooth(); knots and cyclic may be a
             tuple, one for each column. None is 7 knots a side, or fewer, so that there are no more
             coefficients than different rows, or than 1000; more than four for each row are refused

    The surface has the curves of both sides in it: no smooth() of the same columns is needed beside
    it.

    >>> from hoag.gam import tensor
    >>> tensor("lat", "lon", knots=(7, 9)).columns
    ('lat', 'lon')
    """
    if len(columns) < 2:
        raise InvalidInput("A surface is over two columns or more: for one use smooth().")
    many = len(columns)
    if len(set(columns)) < many:
        raise InvalidInput(f"A surface over {', '.join(map(str, columns))} has a column twice.")
    counts = knots if isinstance(knots, (tuple, list)) else [knots] * many
    around = cyclic if isinstance(cyclic, (tuple, list)) else [cyclic] * many
    for name, own in (("knots", counts), ("cyclic", around)):
        if len(own) != many:
            raise InvalidInput(f"{name} has {len(own)} entries for {many} columns.")
    sides = []
    for column, k, c in zip(columns, counts, around, strict=True):
        given = None if k is None else _read_knots(k)
        recipe = _checked(Recipe(given, degree, order, bool(c), "uniform"))
        sides.append(Smooth(column, recipe, None, False))
    return Tensor(tuple(sides), by, vanish)


def linear(column: Column, *, vanish: bool = False) -> Linear:
    """f(x) = βx, without a penalty; with `vanish` one that can take it away.

    >>> from hoag.gam import linear
    >>> linear("dose").columns
    ('dose',)
    """
    return Linear(column, vanish)


def category(column: Column) -> Category:
    """f(x) = β_x, a level for each category, with the penalty exp(λ) ½ Σ (βₖ − their mean)².

    Categories with few rows borrow from the others; one that was never seen has their mean.

    >>> from hoag.gam import category
    >>> category("site").columns
    ('site',)
    """
    return Category(column)


def numeric(values: npt.NDArray[Any]) -> bool:
    """Whether a column holds numbers; what is true or false is a category."""
    return bool(np.issubdtype(values.dtype, np.number))
