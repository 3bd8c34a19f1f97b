"""Which coefficients the penalties of a linear model reach, and what the data say of these.

A penalty is measured by the energies of what it reaches, μ = Σᵢ sᵢ loss″ (aᵢᵀu)² for directions u
with uᵀSⱼu = 1: where exp(λⱼ) is far above all of them it leaves nothing, and far below them it does
nothing. For a ridge penalty on a group these are the energies of its columns, about.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from hoag._core.domain import Box
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import ROUNDING, Array
from hoag._criteria.base import Criterion
from hoag._criteria.wrapped import Affine, Loads
from hoag._glm.folds import FREE
from hoag._glm.groups import Penalties, group_numbers
from hoag._glm.losses import Multinomial
from hoag._glm.penalties import Aside, Penalty, Quadratic
from hoag._glm.targets import Target
from hoag._glm.units import WEIGHT, Units, auto_box, column_energies, group_energies
from hoag._linalg.symmetric import above_rounding, eigenvalues, eigenvectors, ranges


class Sizes(NamedTuple):
    """The sum, the mean and the least of the energies that every penalty reaches, each (s,)."""

    total: Array
    mean: Array
    least: Array


class Moved(NamedTuple):
    """A criterion of what a search moves, its box, where to start, and how all penalties grow.

    `loads` is the way from there to λ, where a search does not move λ itself.
    """

    criterion: Criterion
    box: Box
    start: Array
    stronger: Array
    loads: Loads | None = None

    def lam(self, moved: Array) -> Array:
        return moved if self.loads is None else self.loads.lam(moved)


class Shares(ABC):
    """Penalties in the units of the rows; λ counts from there once `log_shift` is added.

    `penalties` is what the problems are made with.
    """

    log_shift: float

    @property
    def groups(self) -> Groups | None:
        """The groups of coefficients that share a penalty; None where there are no such groups."""
        return None

    def over(self, criterion: Criterion, box: Box, start: Array) -> Moved:
        """What a search moves, for a criterion of λ and the box that λ has."""
        return Moved(criterion, box, start, np.ones(start.size))

    @property
    @abstractmethod
    def penalties(self) -> Penalties | Penalty: ...

    @property
    @abstractmethod
    def sizes(self) -> Sizes: ...

    @abstractmethod
    def parts(self, coef: Array) -> tuple[Array, float]:
        """The energy of what every penalty reaches of the coefficients, (s,), and of all of it.

        In units of their own, for coefficients in the shape of coef_.
        """

    def box(self, weakest: float | None = None) -> tuple[Box, Array]:
        """ "auto" bounds, and where to start."""
        return auto_box(self.sizes, self.log_shift, weakest)

    def left(self, coef: Array, lam: Array) -> Array:
        """Which share of the linear predictor, squared, every penalty leaves of its coefficients.

        Or, if that is less, the square of 1/(1 + exp(λ)/Σμ), which is the most that the penalty
        leaves of what they would be without it: where all are switched off, each may be a large
        part of the nothing that is left.
        """
        part, whole = self.parts(coef)
        shrunk = expit(np.log(self.sizes.total) + self.log_shift - lam) ** 2
        return np.asarray(np.minimum(part / (whole or 1.0), shrunk))

    def beside_data(self, lam: Array) -> Array:
        """λ − log of the least energy that it reaches: well below 0 a penalty does nothing."""
        return np.asarray(lam - np.log(self.sizes.least) - self.log_shift)


@dataclass(frozen=True, eq=False)
class Groups(Shares):
    """Coefficient (j, k) is in group numbers[j, k], −1 for none; energies[j] = Σᵢ sᵢ loss″ aᵢⱼ²."""

    numbers: npt.NDArray[np.intp]
    energies: Array
    log_shift: float
    scales: float | Array = 1.0  # what coefficients as they are told are multiplied by here

    @staticmethod
    def of(penalties: Penalties, u: Units, target: Target, curvature: float) -> Groups:
        """For a word, or an array of group numbers."""
        shape = u.mean.size, target.outputs
        numbers = group_numbers(penalties, *shape, 0).reshape(shape)
        return Groups(numbers, column_energies(u, curvature), u.log_shift, u.scales)

    @property
    def groups(self) -> Groups:
        return self

    @property
    def penalties(self) -> Penalties:
        return self.numbers

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes(*group_energies(self.energies, self.numbers))

    def parts(self, coef: Array) -> tuple[Array, float]:
        coef = np.atleast_2d(coef) * self.scales
        largest = float(np.max(np.abs(coef), initial=0.0)) or 1.0
        squares = self.energies[:, None] * (coef.T / largest) ** 2
        member = self.numbers >= 0
        each = np.bincount(self.numbers[member], squares[member], minlength=self.sizes.total.size)
        return np.asarray(each), float(squares.sum())


class Structure(ABC):
    """Penalties of a linear estimator that are not given as groups of its coefficients.

    What is given as `penalties=` then; see hoag.penalties.

    Examples
    --------
    >>> import numpy as np
    >>> import hoag
    >>> some = hoag.penalties.quadratic([(slice(0, 3), np.ones(3))], names=["level"])
    >>> isinstance(some, hoag.penalties.Structure), some.names
    (True, ['level'])
    """

    names: Sequence[str]

    @abstractmethod
    def shares(self, u: Units, target: Target, curvature: float) -> Shares:
        """The same for rows and coefficients in units of their own."""


class Quadratics(Structure):
    """Σⱼ exp(λⱼ) ½ wᵀSⱼw on the coefficients w; made by hoag.penalties.quadratic."""

    def __init__(
        self, forms: Sequence[tuple[slice, Any]], names: Sequence[str], centred: Sequence[slice]
    ) -> None:
        self.forms, self.names, self.centred = forms, names, centred

    def __repr__(self) -> str:
        return f"hoag.penalties.quadratic({len(self.forms)} forms: {', '.join(self.names)})"

    def shares(self, u: Units, target: Target, curvature: float) -> Forms:
        features = u.mean.size
        columns = [some for some, _ in self.forms]
        named = [f"The penalty {name!r} is for" for name in self.names]
        named += ["`centred` has"] * len(self.centred)
        for some, what in zip([*columns, *self.centred], named, strict=True):
            if some.stop > features:
                raise InvalidParameterError(
                    f"{what} columns {some.start} to {some.stop - 1}; X has {features}, counted "
                    "from 0.",
                    parameter="penalties",
                )
        return Forms(self, u, target, curvature)


class Forms(Shares):
    """Sⱼ on some columns, the same for every output."""

    def __init__(self, given: Quadratics, u: Units, target: Target, curvature: float) -> None:
        self._given, self._u, self._target, self._curvature = given, u, target, curvature
        self.log_shift = u.log_shift

    @cached_property
    def _grams(self) -> dict[tuple[int, int], Array]:
        """Σᵢ sᵢ loss″ aᵢaᵢᵀ for the columns of every form."""
        u, places = self._u, {(some.start, some.stop) for some, _ in self._given.forms}
        found = {place: np.zeros((place[1] - place[0],) * 2) for place in places}
        for rows, block in u.rows.blocks():
            weights = self._curvature * u.weights[rows]
            by_columns = block.tocsc() if sparse.issparse(block) else block
            for place in places:
                part = by_columns[:, slice(*place)]
                part = part.toarray() if sparse.issparse(part) else part
                found[place] += part.T @ (weights[:, None] * part)
        return found

    @cached_property
    def _roots(self) -> list[tuple[Array, Array]]:
        """V and d with Sⱼ = V diag(d) Vᵀ and d > 0, for every j."""
        found = []
        for _, S in self._given.forms:
            d, V = eigenvectors(dense(S))
            kept = above_rounding(d)
            found.append((V[:, kept], d[kept]))
        return found

    @cached_property
    def sizes(self) -> Sizes:
        found = []
        for (some, _), (V, d) in zip(self._given.forms, self._roots, strict=True):
            unit = V / np.sqrt(d)
            mu = eigenvalues(unit.T @ self._grams[some.start, some.stop] @ unit)
            mu = mu[mu > ROUNDING * max(float(mu[-1]), 0.0)] if mu.size else mu
            mu = mu if mu.size else np.full(1, self._curvature * WEIGHT)  # columns of zeros
            found.append((mu.sum(), mu.mean(), mu.min()))
        return Sizes(*np.array(found, dtype=float).T)

    def parts(self, coef: Array) -> tuple[Array, float]:
        W = np.atleast_2d(coef).T / (float(np.max(np.abs(coef), initial=0.0)) or 1.0)
        each = []
        for (some, _), (V, _) in zip(self._given.forms, self._roots, strict=True):
            reached = V @ (V.T @ W[some])
            each.append(np.sum(reached * (self._grams[some.start, some.stop] @ reached)))
        u = self._u
        z = u.rows.forward(W)
        z = z - (u.weights @ z) / u.weights.sum()
        return np.array(each), float(self._curvature * np.sum(u.weights[:, None] * z**2))

    @cached_property
    def penalties(self) -> Quadratic:
        """Laid out as x is: slopes of all outputs, feature by feature, then intercepts.

        Columns that add up to a constant, as those of a curve do, leave open how much of it is the
        intercept. A fixed penalty on the mean of what they predict settles it, and changes nothing
        else: whatever it would cost, the intercept takes over for nothing. In the same way classes
        may all be shifted alike. And a hair holds what no λ reaches, for such columns may be equal;
        what some λ reach has no other penalty than theirs.
        """
        u, target, K = self._u, self._target, self._target.outputs
        design = target.design(u.rows)
        terms = [
            (slice(some.start * K, some.stop * K), S if K == 1 else np.kron(dense(S), np.eye(K)))
            for some, S in self._given.forms
        ]
        centred = self._given.centred if target.basis is not None else ()
        classes = isinstance(target.loss, Multinomial)
        # A constant that all classes have in common is no intercept's: the hair stays on it.
        fixed = self._hair(() if classes else centred)
        means = u.rows.backward(u.weights) / u.weights.sum() + u.mean / u.c
        for some in centred:
            own, size = means[some], float(np.sum(np.sqrt(u.squares[some] / u.weights.sum())))
            if abs(float(own.sum())) <= ROUNDING**0.5 * size:
                own = np.full(own.size, 1.0 / (own.size * u.c))  # the constant is 0 in every row
            fixed[some, some] += self._curvature * WEIGHT * np.outer(own, own)
        slopes = sparse.kron(fixed, np.eye(K))
        if classes:
            energies = sparse.diags_array(column_energies(u, self._curvature))
            slopes = slopes + sparse.kron(energies, np.full((K, K), 1.0 / K))
        free = sparse.csr_array((design.size - design.slopes,) * 2)
        whole = sparse.block_diag([slopes, free], format="csr")
        aside = Aside(len(centred) * K, K if classes else 1)
        return Quadratic(design.size, terms, whole, self.log_shift, aside)

    def _hair(self, centred: Sequence[slice]) -> Any:
        """FREE Σᵢsᵢ on all w with Sⱼw = 0 for every j, but for constants that are held; sparse."""
        features, hair = self._u.mean.size, FREE * float(self._u.weights.sum())
        found = sparse.lil_array((features, features))
        found.setdiag(hair)
        constants = [(some, np.ones((some.stop - some.start,) * 2)) for some in centred]
        forms = [*self._given.forms, *constants]
        for some in _joined([own for own, _ in forms]):
            matrices = []
            for own, S in forms:
                if some.start <= own.start < some.stop:
                    matrices.append(np.zeros((some.stop - some.start,) * 2))
                    inside = slice(own.start - some.start, own.stop - some.start)
                    matrices[-1][inside, inside] = dense(S)
            _, beyond = ranges(matrices)
            found[some, some] = hair * beyond @ beyond.T
        return found


def _joined(slices: Sequence[slice]) -> list[slice]:
    """Those that overlap as one, in their order."""
    found: list[slice] = []
    for some in sorted(slices, key=lambda some: some.start):
        if found and some.start < found[-1].stop:
            some = slice(found[-1].start, max(found.pop().stop, some.stop))
        found.append(some)
    return found


def dense(S: Any) -> Array:
    """As a square array; a flat one is a diagonal."""
    S = S.toarray() if sparse.issparse(S) else np.asarray(S, dtype=float)
    return np.diag(S) if S.ndim == 1 else S


# ---- by name

UNPENALISED, OTHERS = (
    "free",
    "others",
)  # a label for columns without a penalty; the name of the rest


def numbered(
    penalties: Mapping[Any, Any], names: Sequence[Any] | None, features: int
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """The group number of every column, (features,), and the groups' labels, from {column: label}.

    "free" is −1, not penalised; columns that are not named share a penalty of their own, the last.
    A column is its name, if X has such, or its number.
    """
    columns: list[Any] = [] if names is None else [str(name) for name in names]
    place = dict(enumerate(range(features))) | {name: j for j, name in enumerate(columns)}
    unknown = [key for key in penalties if key not in place]
    if unknown:
        known = columns or list(range(features))
        told = ", ".join(map(str, known[:6])) + (", …" if features > 6 else "")
        hint = "" if columns else "; X has no column names, so give their numbers"
        raise InvalidParameterError(
            f"penalties names {unknown[0]!r}, which is no column of X ({told}){hint}.",
            parameter="penalties",
            value=unknown[0],
        )
    for key, label in penalties.items():
        if not isinstance(label, (str, int, np.integer)):
            raise InvalidParameterError(
                f"penalties has {label!r} for {key!r}:",
                parameter="penalties",
                value=label,
                hint="a dict gives each column the label of its group, such as 'money', and no "
                "strength.",
            )
    labels = list(dict.fromkeys(str(label) for label in penalties.values() if label != UNPENALISED))
    if OTHERS in labels:
        raise InvalidParameterError(
            f"penalties: {OTHERS!r} is what columns that are not named share;",
            parameter="penalties",
            hint="use another label.",
        )
    number = {label: k for k, label in enumerate(labels)}
    rest = len(labels)
    groups = np.full(features, rest, dtype=np.intp)
    for key, label in penalties.items():
        groups[place[key]] = -1 if label == UNPENALISED else number[str(label)]
    return groups, [*labels, OTHERS] if np.any(groups == rest) else labels


def table(names: Sequence[str], lam: Array, interval: Array, plateaus: Any) -> npt.NDArray[Any]:
    """One record for each hyperparameter; pandas.DataFrame(...) makes a frame of it.

    name, lam and its exponential as `value`, the interval's ends as lower and upper, and plateau.
    """
    width = max((len(name) for name in names), default=1) or 1
    kinds = [("name", f"U{width}"), ("lam", float), ("value", float), ("lower", float)]
    found = np.empty(lam.size, dtype=[*kinds, ("upper", float), ("plateau", "U12")])
    found["name"], found["lam"], found["plateau"] = list(names), lam, plateaus
    found["lower"], found["upper"] = interval.T
    with np.errstate(over="ignore"):
        found["value"] = np.exp(lam)
    return found


# ---- by side information

LEVEL = "level"  # the name of what all penalties have in common


class FromFeatures(Structure):
    """λ = α₀ + Zα with a row of Z for each penalty; made by hoag.penalties.from_features.

    Z          (s, r), of mean 0 and mean square 1 in every column
    groups     the number of the penalty of every feature, or coefficient; None: one each
    """

    def __init__(
        self, Z: Array, columns: Sequence[str], groups: npt.NDArray[np.intp] | None
    ) -> None:
        self.Z, self.columns, self.groups = Z, list(columns), groups

    def __repr__(self) -> str:
        told = ", ".join(self.names)
        return f"hoag.penalties.from_features({len(self.Z)} penalties: {told})"

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [LEVEL, *self.columns]

    def shares(self, u: Units, target: Target, curvature: float) -> Loadings:
        features = u.mean.size
        if self.groups is None and len(self.Z) != features:
            raise InvalidParameterError(
                f"from_features got {len(self.Z)} rows of side information, and X has {features} "
                "features:",
                parameter="penalties",
                hint="give one row for each, or groups=… and a row for each group.",
            )
        given = "per-feature" if self.groups is None else self.groups
        return Loadings(self, Groups.of(given, u, target, curvature))


class Loadings(Shares):
    """The penalties of groups, moved by a few α."""

    def __init__(self, given: FromFeatures, groups: Groups) -> None:
        self._given, self._groups = given, groups
        self.log_shift = groups.log_shift

    @property
    def groups(self) -> Groups:
        return self._groups

    @property
    def penalties(self) -> Penalties:
        return self._groups.penalties

    @property
    def sizes(self) -> Sizes:
        return self._groups.sizes

    def parts(self, coef: Array) -> tuple[Array, float]:
        return self._groups.parts(coef)

    def left(self, coef: Array, lam: Array) -> Array:
        """α are no penalties: none is switched off by itself."""
        return np.ones(lam.size)

    def beside_data(self, lam: Array) -> Array:
        """And none is free."""
        return np.zeros(lam.size)

    def over(self, criterion: Criterion, box: Box, start: Array) -> Moved:
        """α₀ anywhere in the box of λ; others as far as a step of one in z crosses half of it."""
        Z = np.column_stack([np.ones(len(self._given.Z)), self._given.Z])
        loads, others = Loads(Z, box.lower, box.upper), Z.shape[1] - 1
        half = float(np.max(box.upper - box.lower)) / 2
        lower = np.r_[box.lower.min(), np.full(others, -half)]
        upper = np.r_[box.upper.max(), np.full(others, half)]
        at = np.r_[start.mean(), np.zeros(others)]
        level = (np.arange(others + 1) == 0).astype(float)
        return Moved(Affine(criterion, loads), Box(lower, upper), at, level, loads)
