"""What an additive model is made of: η = b + Σⱼ fⱼ, each fⱼ a term of one column or some.

    smooth("age")            a curve
    smooth("hour", cyclic=True)   a curve whose ends meet
    tensor("lat", "lon")     a surface
    linear("dose")           a straight line
    category("site")         a level for each category, shrunk towards their mean

Each is a recipe: `bases` looks at the columns and makes a basis of it, hoag.gam._bases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import ROUNDING
from hoag.gam._bases import Basis, Levels, Line, Recipe, Spline, Surface, Times, Values, numbers
from hoag.gam._errors import bad_terms

# A column is named, or numbered from 0.
Column = str | int


@dataclass(frozen=True)
class Term(ABC):
    """A term of an additive model, before it has seen data.

    `smooth`, `tensor`, `linear` and `category` make terms; terms that were made alike are equal.

    Parameters
    ----------
    columns : tuple of str or int
        The columns that it is a function of.
    by : str, int or None
        The column that it is multiplied by, or of the categories that each have their own.

    Attributes
    ----------
    needs : tuple of str or int
        All columns that it reads, that of `by` the last.

    See Also
    --------
    smooth, tensor, linear, category : They make terms.

    Examples
    --------
    >>> from hoag.gam import Term, smooth
    >>> isinstance(smooth("age"), Term)
    True
    >>> smooth("age", by="site").needs
    ('age', 'site')
    """

    columns: tuple[Column, ...]
    by: Column | None

    _function: ClassVar[str] = ""  # what a formula calls it

    @property
    def needs(self) -> tuple[Column, ...]:
        """All columns that are read, that of `by` the last."""
        return self.columns if self.by is None else (*self.columns, self.by)

    def label(self, names: dict[Column, str]) -> str:
        """As a formula has it, with the names of columns."""
        told = ", ".join(names[column] for column in self.columns)
        return f"{self._function}({told})" if self._function else told

    @abstractmethod
    def basis(self, label: str, values: Values) -> Basis:
        """The basis for the columns as they are given, without `by`."""

    def bases(
        self, names: dict[Column, str], values: Values
    ) -> list[tuple[Basis, tuple[Column, ...]]]:
        """Its bases, for the values of `needs`, each with the columns that it reads.

        By category they are several: a curve for each, and a level for each, which curves have not.
        """
        label = self.label(names)
        if self.by is None:
            return [(self.basis(label, values), self.columns)]
        basis, by, name = self.basis(label, values[:-1]), values[-1], names[self.by]
        if numeric(by):
            return [(Times.number(basis, by, name), self.needs)]
        levels = Levels.of(name, by)
        curves = [Times.category(basis, values, name, level) for level in levels.levels]
        return [(levels, (self.by,)), *((curve, self.needs) for curve in curves)]


@dataclass(frozen=True)
class Smooth(Term):
    recipe: Recipe
    vanish: bool

    _function = "s"

    def basis(self, label: str, values: Values) -> Basis:
        return Spline.of(label, values[0], self.recipe, self.vanish)


@dataclass(frozen=True)
class Tensor(Term):
    recipes: tuple[Recipe, ...]
    vanish: bool

    _function = "te"

    def basis(self, label: str, values: Values) -> Basis:
        columns = [numbers(x, label) for x in values]
        different = len(np.unique(np.column_stack(columns), axis=0))
        pairs = zip(columns, self._with_knots(different), strict=True)
        sides = [Spline.of(label, *pair, False) for pair in pairs]
        sizes = [side.size for side in sides]
        if prod(sizes) > 4 * different:  # which nobody can mean
            product = " × ".join(map(str, sizes))
            what = f"{label} has {prod(sizes)} coefficients, {product}, for {different} different"
            raise bad_terms(f"{what} rows:", sizes, self._advice(different), label)
        return Surface.of(label, sides, self.vanish)

    def _with_knots(self, different: int) -> list[Recipe]:
        """As many knots as there are rows for, where none are given: 7, and 1000 coefficients."""
        for knots in range(7, 1, -1):
            made = [
                one._replace(knots=max(knots, one.degree + 1) if one.cyclic else knots)
                if one.knots is None
                else one
                for one in self.recipes
            ]
            if prod(one.size for one in made) <= min(different, 1000):
                break
        return made

    def _advice(self, different: int) -> str:
        """What to do where there are too few rows."""
        each = int(different ** (1 / len(self.recipes)) * (1 + ROUNDING))
        if each > max(one.degree for one in self.recipes):
            return f"give k={each} in a formula, or knots={each - 2}."
        return "use a surface over fewer columns, or smooth() of each."


@dataclass(frozen=True)
class Linear(Term):
    vanish: bool

    def basis(self, label: str, values: Values) -> Basis:
        return Line.of(label, values[0], self.vanish)


@dataclass(frozen=True)
class Category(Term):
    def basis(self, label: str, values: Values) -> Basis:
        return Levels.of(label, values[0])


def smooth(
    column: Column,
    *,
    knots: int | Sequence[float] | npt.NDArray[np.floating] = 20,
    degree: int = 3,
    order: int = 2,
    cyclic: bool = False,
    spacing: Literal["uniform", "quantile"] = "uniform",
    by: Column | None = None,
    vanish: bool = True,
) -> Smooth:
    """A curve of one column: mgcv's s(x, bs="ps").

        f(x) = Σₖ βₖBₖ(x), B-splines, with the penalty exp(λ) ½ Σ (Δ²β)² on its roughness

    Parameters
    ----------
    column : str or int
        Its name, or its number.
    knots : int or array of float, default=20
        How many, both ends included, or where they are, in order; at most as many as there are
        different values.
    degree : int, default=3
        Of the pieces: 3 is cubic.
    order : int, default=2
        What is penalised: differences of this order, 1 to 3, so that with 2 a straight line is
        free.
    cyclic : bool, default=False
        The ends meet: the first knot and the last are the same place, as hours 0 and 24 are.
        Without knots of one's own these are the least value and the largest.
    spacing : {"uniform", "quantile"}, default="uniform"
        "quantile" has as many rows between any two knots, and the penalty ∫(f″)² in place of
        differences, which mean little there.
    by : str, int or None, default=None
        A column of numbers: f(x)·by, a coefficient that varies with x. Or of categories: a curve
        for each of them, each with its own λ, beside their levels.
    vanish : bool, default=True
        A second λ penalises what the first leaves free, the straight part, so that the whole term
        can vanish: mgcv's select=TRUE, for this term.

    Returns
    -------
    Term
        For the `terms` of an additive model.

    See Also
    --------
    tensor : A surface over two columns or more.
    GAMRegressorCV : The model that terms make.

    Notes
    -----
    P-splines: Wood (2017), Generalized Additive Models, 2nd edition, section 5.3.3; the second
    penalty is that of section 5.4.3. Beyond the ends a curve goes on straight.

    Examples
    --------
    >>> from hoag.gam import smooth
    >>> smooth("hour", cyclic=True, knots=25).columns
    ('hour',)
    """
    recipe = _recipe(_read_knots(knots), degree, order, cyclic, spacing)
    return Smooth((column,), by, recipe, vanish)


def tensor(
    *columns: Column,
    knots: int | Sequence[Any] | None = None,
    degree: int = 3,
    order: int = 2,
    cyclic: bool | Sequence[bool] = False,
    by: Column | None = None,
    vanish: bool = True,
) -> Tensor:
    """A surface over two columns or more: mgcv's te(x, z, bs="ps").

        f(x, z) = Σₖₗ βₖₗ Bₖ(x)Bₗ(z), with a penalty along each side, whatever their units

    Parameters
    ----------
    *columns : str or int
        Their names, or their numbers.
    knots : int, None or a tuple of one for each column, default=None
        As for `smooth`. None is 7 a side, or fewer, so that there are no more coefficients than
        different rows, or than 1000. More than four coefficients for each row are refused.
    degree : int, default=3
        As for `smooth`.
    order : int, default=2
        As for `smooth`.
    cyclic : bool or a tuple of one for each column, default=False
        As for `smooth`.
    by : str, int or None, default=None
        As for `smooth`.
    vanish : bool, default=True
        As for `smooth`: a λ more, for what the others leave free.

    Returns
    -------
    Term
        For the `terms` of an additive model.

    See Also
    --------
    smooth : A curve of one column.

    Notes
    -----
    The surface has the curves of both sides in it: no `smooth` of the same columns is needed beside
    it. Wood (2017), Generalized Additive Models, 2nd edition, section 5.6.

    Examples
    --------
    >>> from hoag.gam import tensor
    >>> tensor("lat", "lon", knots=(7, 9)).columns
    ('lat', 'lon')
    """
    many = len(columns)
    if many < 2 or len(set(columns)) < many:
        what = "one column" if many < 2 else "a column twice"
        message = f"A surface over {', '.join(map(str, columns))} has {what}:"
        raise bad_terms(message, columns, "give two columns or more; for one use smooth().")
    each: dict[str, Any] = {"knots": knots, "cyclic": cyclic}
    for name, given in each.items():
        each[name] = given if isinstance(given, (tuple, list)) else [given] * many
        if len(each[name]) != many:
            hint = f"give one for each of the {many} columns, or one for all."
            raise InvalidParameterError.of(name, given, hint)
    pairs = zip(each["knots"], each["cyclic"], strict=True)
    read = [(None if k is None else _read_knots(k), bool(c)) for k, c in pairs]
    recipes = tuple(_recipe(k, degree, order, c, "uniform") for k, c in read)
    return Tensor(columns, by, recipes, vanish)


def linear(column: Column, *, vanish: bool = False) -> Linear:
    """A straight line, f(x) = βx.

    Parameters
    ----------
    column : str or int
        Its name, or its number.
    vanish : bool, default=False
        A penalty exp(λ) ½ β², by which the line can vanish. Without one it is as in a linear model.

    Returns
    -------
    Term
        For the `terms` of an additive model.

    See Also
    --------
    smooth : A curve.

    Examples
    --------
    >>> from hoag.gam import linear
    >>> linear("dose").columns
    ('dose',)
    """
    return Linear((column,), None, vanish)


def category(column: Column) -> Category:
    """A level for each category, a random effect: mgcv's s(g, bs="re").

        f(x) = β_x, with the penalty exp(λ) ½ Σ (βₖ − their mean)²

    Categories with few rows borrow from the others; one that was never seen has their mean.

    Parameters
    ----------
    column : str or int
        Its name, or its number; of numbers each different one is a category.

    Returns
    -------
    Term
        For the `terms` of an additive model.

    See Also
    --------
    smooth : With ``by="site"`` a curve for each category.

    Examples
    --------
    >>> from hoag.gam import category
    >>> category("site").columns
    ('site',)
    """
    return Category((column,), None)


def numeric(values: npt.NDArray[Any]) -> bool:
    """Whether a column holds numbers; what is true or false is a category."""
    return bool(np.issubdtype(values.dtype, np.number))


def _recipe(knots: Any, degree: int, order: int, cyclic: bool, spacing: str) -> Recipe:
    """Checked."""
    for name, value, least, most in (("degree", degree, 0, 5), ("order", order, 1, 3)):
        if not (isinstance(value, (int, np.integer)) and least <= value <= most):
            hint = f"give a whole number from {least} to {most}."
            raise InvalidParameterError.of(name, value, hint)
    if spacing not in ("uniform", "quantile"):
        raise InvalidParameterError.of("spacing", spacing, "use 'uniform' or 'quantile'.")
    return Recipe(knots, degree, order, cyclic, spacing)


def _read_knots(knots: Any) -> int | tuple[float, ...]:
    """How many, or where they are."""
    if isinstance(knots, (int, np.integer)) and not isinstance(knots, bool) and knots >= 2:
        return int(knots)
    try:
        places = np.ravel(np.asarray(knots, dtype=np.float64))
    except (TypeError, ValueError):
        places = np.zeros(0)
    if places.size < 2 or not np.all(np.isfinite(places)) or not np.all(np.diff(places) > 0):
        hint = "give how many, 2 or more, or where they are: two or more numbers that grow."
        raise InvalidParameterError.of("knots", knots, hint)
    return tuple(places.tolist())
