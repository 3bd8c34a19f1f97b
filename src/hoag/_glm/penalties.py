"""Penalties Σⱼ exp(λⱼ) ½ xᵀSⱼx: ridge penalties on groups of coefficients, and any other Sⱼ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDING, Array

Penalties = str | npt.ArrayLike

NAMES = ("shared", "per-class", "per-feature", "per-coefficient")


def group_numbers(
    penalties: Penalties, features: int, outputs: int, intercepts: int
) -> npt.NDArray[np.intp]:
    """The group of every entry of x = (W, b), flat; W has shape (features, outputs).

    An array may give one number for each feature, shape (features,), or one for each coefficient,
    shape (features, outputs); the numbers run from 0 to s − 1, and −1 means not penalised.
    """
    feature, output = np.indices((features, outputs))
    if isinstance(penalties, str):
        named: dict[str, Any] = {
            "shared": np.zeros((features, outputs), dtype=np.intp),
            "per-class": output,
            "per-feature": feature,
            "per-coefficient": feature * outputs + output,
        }
        if penalties not in named:
            raise InvalidInput(
                f"penalties = {penalties!r} is not known; use one of {', '.join(NAMES)}, "
                "or an array of group numbers."
            )
        groups = named[penalties]
    else:
        groups = np.asarray(penalties)
        if not np.issubdtype(groups.dtype, np.integer):
            raise InvalidInput(f"Group numbers must be integers, not {groups.dtype}.")
        if groups.shape == (features,):
            groups = np.repeat(groups[:, None], outputs, axis=1)
        if groups.shape != (features, outputs):
            raise InvalidInput(
                f"The array of group numbers has shape {groups.shape}; it needs a number for each "
                f"feature, shape ({features},), or each coefficient, shape ({features}, {outputs})."
            )
        used = np.unique(groups[groups >= 0])
        if groups.min(initial=0) < -1 or not np.array_equal(used, np.arange(used.size)):
            raise InvalidInput(
                "Group numbers must run from 0 to s − 1 without a gap (−1: not penalised); "
                f"found {np.array2string(np.unique(groups), threshold=8)}."
            )
        if used.size == 0:
            raise InvalidInput("All group numbers are −1: there is no hyperparameter to tune.")
    flat = np.asarray(groups, dtype=np.intp).ravel()
    return np.concatenate([flat, np.full(intercepts, -1, dtype=np.intp)])


class Penalty(ABC):
    """penalty(x, λ) of x of shape (size,), with `n_lam` hyperparameters.

    `at(λ)` returns it at one λ. What is smooth enters by its derivatives there; `prox` is the room
    for what is not.

    >>> import numpy as np
    >>> from hoag import glm
    >>> penalty = glm.Quadratic(3, [np.eye(3)])
    >>> penalty.size, penalty.n_lam
    (3, 1)
    """

    size: int
    n_lam: int

    @abstractmethod
    def at(self, lam: Array) -> PenaltyAt: ...

    def isotropic(self, slopes: int) -> bool:
        """Whether it is e^λ ½‖·‖² on the first `slopes` coefficients and λ reaches no other.

        Small spaces that gradients span serve every λ at once then; see hoag._criteria.galerkin.
        """
        return False

    def restricted(self, intercepts: int, directions: int) -> Penalty:
        """The same in an orthonormal basis of so many directions, the intercepts before them."""
        raise InvalidInput("Only a penalty that treats all directions alike can be restricted.")


class PenaltyAt(ABC):
    """A penalty at one λ. Its curvature S(x) may depend on x; here it does not.

    strong_convexity   μ > 0 with S ⪰ μI, or None

    >>> import numpy as np
    >>> from hoag import glm
    >>> at = glm.Quadratic(3, [np.eye(3)]).at(np.zeros(1))
    >>> at.value(np.ones(3)), at.gradient(np.ones(3))
    (1.5, array([1., 1., 1.]))
    """

    strong_convexity: float | None = None

    @abstractmethod
    def value(self, x: Array) -> float: ...
    @abstractmethod
    def gradient(self, x: Array) -> Array: ...
    @abstractmethod
    def product(self, x: Array, v: Array) -> Array:
        """S(x) v."""

    @abstractmethod
    def diagonal(self, x: Array) -> Array:
        """The diagonal of S(x)."""

    @abstractmethod
    def add_to(self, matrix: Array, x: Array) -> None:
        """matrix += S(x), in place."""

    @abstractmethod
    def cross(self, x: Array, v: Array) -> Array:
        """(∂∇penalty/∂λ) v, for v of shape (n_lam,)."""

    @abstractmethod
    def cross_adjoint(self, x: Array, q: Array) -> Array:
        """(∂∇penalty/∂λ)ᵀ q, shape (n_lam,)."""

    def prox(self, x: Array, step: float) -> Array:
        """argmin over u of ½‖u − x‖² + step·penalty(u): for penalties that are not smooth."""
        raise InvalidInput(
            f"{type(self).__name__} is smooth, and solved with by its derivatives: it offers no "
            "proximal step."
        )


class Ridge(Penalty):
    """½ Σⱼ exp(λ[group(j)] − shift) wⱼxⱼ².

    group(j) = −1 means that xⱼ is not penalised, or by a fixed ½ floor·xⱼ². A caller who computes
    in other units than he names λ in gives a `shift`; one whose columns have units of their own
    `weights` w, which are 1 by default.

    >>> import numpy as np
    >>> from hoag import glm
    >>> penalty = glm.Ridge(np.array([0, 0, 1, -1]))  # two groups, and one that is free
    >>> penalty.alpha(np.log([2.0, 5.0]))
    array([2., 2., 5., 0.])
    """

    def __init__(
        self,
        groups: npt.NDArray[np.intp],
        floor: float = 0.0,
        shift: float = 0.0,
        weights: Array | None = None,
    ) -> None:
        self.groups, self.floor, self.shift = groups, floor, shift
        self.weighted = weights is not None
        self.weights = np.broadcast_to(1.0, groups.size) if weights is None else weights
        self.size, self.n_lam = groups.size, int(groups.max(initial=0)) + 1
        self.tuned = _where(groups >= 0)
        self.penalised = self.tuned if floor == 0.0 else slice(groups.size)
        self.unpenalised = np.flatnonzero((groups < 0) & (floor == 0.0))

    def isotropic(self, slopes: int) -> bool:
        return not self.weighted and self.shared(slopes)

    def shared(self, slopes: int) -> bool:
        """Whether one λ reaches the first `slopes` coefficients and no other, weighted or not."""
        return bool(np.all(self.groups[:slopes] == 0) and np.all(self.groups[slopes:] < 0))

    def with_groups(self, groups: npt.NDArray[np.intp]) -> Ridge:
        """The same coefficients, shared by other groups."""
        return Ridge(groups, self.floor, self.shift, self.weights if self.weighted else None)

    def unweighted(self) -> Ridge:
        """The same for coefficients √wⱼ xⱼ, in units in which all weights are 1."""
        return Ridge(self.groups, self.floor, self.shift)

    def restricted(self, intercepts: int, directions: int) -> Ridge:
        groups = np.repeat(np.array([-1, 0]), [intercepts, directions])
        return Ridge(groups, self.floor, self.shift)

    def at(self, lam: Array) -> RidgeAt:
        return RidgeAt(self, lam)

    def alpha(self, lam: Array) -> Array:
        """exp(λ[group(j)] − shift) wⱼ for every coefficient; the floor where λ does not reach."""
        alpha = np.exp(lam - self.shift)[self.groups]
        if self.weighted:
            alpha = alpha * self.weights
        return np.where(self.groups >= 0, alpha, self.floor)

    def of_targets(
        self, groups: npt.NDArray[np.intp], targets: npt.NDArray[np.intp], intercepts: int
    ) -> Ridge:
        """On the slopes of some targets alone, with the λ that reach them, in their order.

        `groups` are those of all slopes, (features, targets).
        """
        some = groups[:, targets].ravel()
        some[some >= 0] = np.unique(some[some >= 0], return_inverse=True)[1]
        weights = None
        if self.weighted:
            own = self.weights[: groups.size].reshape(groups.shape)[:, targets].ravel()
            weights = np.append(own, np.ones(intercepts))
        return Ridge(np.append(some, np.full(intercepts, -1)), self.floor, self.shift, weights)

    def by_group(self, values: Array) -> Array:
        """Σ over the coefficients of each group."""
        return by_group(self.groups, values, self.n_lam)


class RidgeAt(PenaltyAt):
    def __init__(self, penalty: Ridge, lam: Array) -> None:
        self.penalty, self.alpha = penalty, penalty.alpha(lam)

    @property
    def strong_convexity(self) -> float | None:  # type: ignore[override]
        return float(self.alpha.min()) if self.penalty.unpenalised.size == 0 else None

    def value(self, x: Array) -> float:
        return 0.5 * float(np.sum(self.alpha * x**2))

    def gradient(self, x: Array) -> Array:
        return self.alpha * x

    def product(self, x: Array, v: Array) -> Array:
        return self.alpha * v

    def diagonal(self, x: Array) -> Array:
        return self.alpha

    def add_to(self, matrix: Array, x: Array) -> None:
        matrix.flat[:: self.alpha.size + 1] += self.alpha

    def _tuned(self, x: Array) -> Array:
        scaled = self.alpha * x
        return np.where(self.penalty.groups >= 0, scaled, 0.0) if self.penalty.floor else scaled

    def cross(self, x: Array, v: Array) -> Array:
        return np.asarray(self._tuned(x) * v[self.penalty.groups])

    def cross_adjoint(self, x: Array, q: Array) -> Array:
        return self.penalty.by_group(self._tuned(x) * q)

    def prox(self, x: Array, step: float) -> Array:
        return np.asarray(x / (1.0 + step * self.alpha))


class Aside(NamedTuple):
    """What a fixed ½xᵀS₀x is for, where it says nothing of x that anybody believes.

    settled  how many directions it settles that neither data nor other penalties say anything of
    alike    the number of outputs whose common part, which no data show, it holds; 1 for none
    """

    settled: int = 0
    alike: int = 1


class Quadratic(Penalty):
    """Σⱼ exp(λⱼ − shift) ½ xᵀSⱼx with Sⱼ symmetric and positive semidefinite.

    size   the number of coefficients
    terms  one Sⱼ for each hyperparameter: a matrix for all of x, dense or sparse, or a flat array
           for its diagonal; or (slice, Sⱼ) where Sⱼ is for some of the coefficients only, as the
           smoothness of one curve among several is
    fixed  a further ½ xᵀS₀x that no λ scales, such as a little of everything; None for nothing
    aside  what `fixed` is for where it is no prior of x; by default it is a part of that

    >>> import numpy as np
    >>> from hoag import glm, testing
    >>> D = np.diff(np.eye(6), axis=0)  # neighbours should be alike
    >>> penalty = glm.Quadratic(6, [D.T @ D], fixed=np.full(6, 1e-3))
    >>> testing.check_penalty(penalty)
    """

    def __init__(
        self,
        size: int,
        terms: Sequence[Any],
        fixed: Any = None,
        shift: float = 0.0,
        aside: Aside | None = None,
    ) -> None:
        if not terms:
            raise InvalidInput("There is no term, and so no hyperparameter to tune.")
        self.size, self.n_lam, self.shift, self.aside = size, len(terms), shift, aside
        self.terms = [_Block.of(term, size, j) for j, term in enumerate(terms)]
        self.fixed = None if fixed is None else _Block.of(fixed, size, -1)

    def at(self, lam: Array) -> QuadraticAt:
        return QuadraticAt(self, np.exp(lam - self.shift))


class _Block:
    """½ x[some]ᵀ S x[some]."""

    def __init__(self, some: slice, S: Any) -> None:
        self.some, self.S = some, S

    @staticmethod
    def of(term: Any, size: int, j: int) -> _Block:
        some, S = term if isinstance(term, tuple) else (slice(None), term)
        length = len(range(*some.indices(size)))
        S = np.asarray(S, dtype=float) if isinstance(S, (list, np.ndarray)) else S
        if S.shape not in ((length,), (length, length)):
            raise InvalidInput(
                f"Term {j} of the penalty has a matrix of shape {S.shape} for {length} of "
                f"{size} coefficients: it should be ({length}, {length}), or ({length},)."
            )
        return _Block(some, S)

    @property
    def is_diagonal(self) -> bool:
        return len(self.S.shape) == 1

    def product(self, v: Array) -> Array:
        """S v, in the places of x that it concerns."""
        part = v[self.some]
        return np.asarray(self.S * part if self.is_diagonal else self.S @ part)

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.S if self.is_diagonal else self.S.diagonal())

    @cached_property
    def dense(self) -> Array:
        if self.is_diagonal:
            return np.diag(self.S)
        return self.S if isinstance(self.S, np.ndarray) else np.asarray(self.S.toarray())


class QuadraticAt(PenaltyAt):
    def __init__(self, penalty: Quadratic, alpha: Array) -> None:
        self._alpha, self._terms = alpha, penalty.terms
        self._all = list(zip(alpha, penalty.terms, strict=True))
        if penalty.fixed is not None:
            self._all.append((1.0, penalty.fixed))

    def value(self, x: Array) -> float:
        return 0.5 * float(x @ self.gradient(x))

    def gradient(self, x: Array) -> Array:
        return self.product(x, x)

    def product(self, x: Array, v: Array) -> Array:
        total = np.zeros(v.size)
        for a, block in self._all:
            total[block.some] += a * block.product(v)
        return total

    def diagonal(self, x: Array) -> Array:
        total = np.zeros(x.size)
        for a, block in self._all:
            total[block.some] += a * block.diagonal
        return total

    def add_to(self, matrix: Array, x: Array) -> None:
        for a, block in self._all:
            matrix[block.some, block.some] += a * block.dense

    def cross(self, x: Array, v: Array) -> Array:
        total = np.zeros(x.size)
        for a, weight, block in zip(self._alpha, v, self._terms, strict=True):
            total[block.some] += a * weight * block.product(x)
        return total

    def cross_adjoint(self, x: Array, q: Array) -> Array:
        return np.array(
            [a * float(q[b.some] @ b.product(x)) for a, b in zip(self._alpha, self._terms)]
        )


def above_rounding(e: Array) -> npt.NDArray[np.bool_]:
    """Which eigenvalues of a positive semidefinite matrix, in their order, are not zero."""
    return np.asarray(e > e.size * ROUNDING * max(float(e[-1]), 0.0)) if e.size else e > 0


def ranges(matrices: Sequence[Array]) -> tuple[Array, Array]:
    """Orthonormal bases of what some of these semidefinite matrices reach, and of the rest."""
    # Weights that no eigenvalues of different matrices are likely to balance.
    each = [(1 + 1 / (2 + j)) * S / (np.trace(S) or 1.0) for j, S in enumerate(matrices)]
    e, V = np.linalg.eigh(np.sum(each, axis=0))
    kept = above_rounding(e)
    return V[:, kept], V[:, ~kept]


def by_group(groups: npt.NDArray[np.intp], values: Array, n_lam: int) -> Array:
    """Σ over the members of each group, (s,), from one value for each of them; −1 is no group."""
    tuned = groups >= 0
    sums = np.bincount(groups[tuned], weights=values[tuned], minlength=n_lam)
    return sums.astype(np.float64)


def members(groups: npt.NDArray[np.intp], n_lam: int) -> Array:
    """Which column is in which group, as zeros and ones, (p, s)."""
    return np.asarray(groups[:, None] == np.arange(n_lam), dtype=float)


def separable(
    groups: npt.NDArray[np.intp],
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Targets and the λ that reach them, in as many sets as have no λ in common.

    `groups` are those of all slopes, (features, targets); for models whose targets have nothing
    else in common, as those of ridge regression.
    """
    targets, n_lam = groups.shape[1], int(groups.max()) + 1
    tuned = groups >= 0
    which = np.broadcast_to(np.arange(targets), groups.shape)[tuned]
    pairs = np.unique(np.stack([which, targets + groups[tuned]]), axis=1)
    links = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(targets + n_lam,) * 2)
    labels = connected_components(links, directed=False)[1]
    return [
        (np.flatnonzero(labels[:targets] == c), np.flatnonzero(labels[targets:] == c))
        for c in np.unique(labels[:targets])
    ]


def cross_operator(at: PenaltyAt, x: Array, n_lam: int) -> LinearOperator:
    """∂∇penalty/∂λ at x as an operator of shape (size, n_lam)."""
    return LinearOperator(
        (x.size, n_lam),
        matvec=lambda v: at.cross(x, np.ravel(v)),
        rmatvec=lambda q: at.cross_adjoint(x, np.ravel(q)),
        dtype=float,
    )


def _where(mask: npt.NDArray[np.bool_]) -> slice | npt.NDArray[np.intp]:
    """The places where mask holds: a slice where they come first, for it needs no memory."""
    count = int(np.sum(mask))
    return slice(count) if np.all(mask[:count]) else np.flatnonzero(mask)
