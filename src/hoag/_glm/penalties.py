"""Penalties penalty(x, λ): what a fit adds to its loss, and how λ moves it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import ROUNDING, Array
from hoag._glm.groups import by_group, first_places, members
from hoag._linalg.symmetric import root

Index = npt.NDArray[np.intp]


class Penalty(ABC):
    """penalty(x, λ) of x of shape (size,), with `n_lam` hyperparameters.

    `at(λ)` returns it at one λ. What is smooth enters by its derivatives there; `prox` is the room
    for what is not.

    Attributes
    ----------
    size : int
        p, the number of coefficients.
    n_lam : int
        s, the number of hyperparameters.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> penalty = glm.Quadratic(3, [np.eye(3)])
    >>> penalty.size, penalty.n_lam
    (3, 1)
    """

    size: int
    n_lam: int
    # The number of the λ of every coefficient, −1 for none, where each has one; None elsewhere.
    groups: Index | None = None

    @abstractmethod
    def at(self, lam: Array) -> PenaltyAt:
        """The penalty at one λ."""

    def of_fold(self, floor: float, weights: Array | None) -> Penalty:
        """That of one fold, with what it adds to coefficients that no λ reaches, and its weights.

        Only penalties by groups know of such.
        """
        return self

    def of_all(self, folds: Sequence[Any]) -> Penalty:
        """One for the x of all folds, from that of each."""
        return self

    def isotropic(self, slopes: int) -> bool:
        """Whether it is e^λ ½‖·‖² on the first `slopes` coefficients and λ reaches no other.

        Small spaces that gradients span serve every λ at once then; see hoag._criteria.galerkin.
        """
        return False

    def restricted(self, intercepts: int, directions: int) -> Penalty:
        """The same in an orthonormal basis of so many directions, the intercepts before them."""
        raise NotSupportedError(
            "Only a penalty that treats all directions alike can be restricted."
        )


class PenaltyAt(ABC):
    """A penalty at one λ. Its curvature S(x) may depend on x; here it does not.

    Attributes
    ----------
    strong_convexity : float or None
        μ > 0 with S ⪰ μI, where there is one.
    alpha : array of shape (p,) or None
        α with S = diag(α), where it is diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> at = glm.Quadratic(3, [np.eye(3)]).at(np.zeros(1))
    >>> float(at.value(np.ones(3))), at.gradient(np.ones(3))
    (1.5, array([1., 1., 1.]))
    """

    strong_convexity: float | None = None
    alpha: Array | None = None  # S = diag(α), where it is diagonal

    @abstractmethod
    def value(self, x: Array) -> float:
        """penalty(x)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """∇penalty(x), (p,)."""

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
        raise NotSupportedError(
            f"{type(self).__name__} is smooth, and solved with by its derivatives: it offers no "
            "proximal step."
        )


class QuadraticForm(PenaltyAt):
    """½xᵀSx at one λ, S = S₀ + Σⱼ Eⱼ with Eⱼ = exp(λⱼ)Sⱼ: `apply` and `columns` say all of it.

    X holds one x, of shape (size,), or one in each row: that of every fold, (K, size).

    Attributes
    ----------
    strengths : array of shape (s,)
        exp(λⱼ) in the units of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> at = glm.Ridge(np.array([0, 1, 1])).at(np.log([2.0, 3.0]))
    >>> at.apply(np.ones(3)), at.vjp(np.ones(3), np.ones(3))
    (array([2., 3., 3.]), array([2., 6.]))
    """

    strengths: Array

    @abstractmethod
    def apply(self, X: Array) -> Array:
        """S x, of X's shape."""

    @abstractmethod
    def columns(self, X: Array) -> Array:
        """Eⱼx = ∂(Sx)/∂λⱼ, of shape (*X.shape, s)."""

    def value(self, x: Array) -> Any:
        """½ xᵀSx: a number, or one for each row of X."""
        return 0.5 * np.sum(x * self.apply(x), axis=-1)

    def rounded(self, X: Array) -> Any:
        """What ½ xᵀSx is rounded beside, where its summands cancel."""
        return self.value(X)

    def gradient(self, x: Array) -> Array:
        return self.apply(x)

    def product(self, x: Array, v: Array) -> Array:
        return self.apply(v)

    def matrix(self, size: int) -> Array:
        """S, dense."""
        return self.apply(np.eye(size))

    def diagonal(self, x: Array) -> Array:
        return np.diag(self.matrix(x.size))

    def add_to(self, matrix: Array, x: Array) -> None:
        matrix[...] = self.added(matrix[None])[0]

    def added(self, H: Array) -> Array:
        """H_k + S of every fold, (K, size, size)."""
        return H + self.matrix(H.shape[-1])

    def vjp(self, X: Array, Q: Array) -> Array:
        """(∂Sx/∂λ)ᵀq = qᵀEⱼx, (s,); the sum over the rows of X and Q."""
        return np.asarray(np.tensordot(Q, self.columns(X), axes=Q.ndim))

    def cross(self, x: Array, v: Array) -> Array:
        return np.asarray(self.columns(x) @ v)

    def cross_adjoint(self, x: Array, q: Array) -> Array:
        return self.vjp(x, q)

    def roots(self, size: int, k: int = 0) -> list[Array]:
        """F_j of shape (size, rank) with Sⱼ = F_jF_jᵀ in fold k, for every j."""
        each = np.moveaxis(self.columns(np.eye(size)), -1, 0) / self.strengths[:, None, None]
        return [root(S) for S in each]

    def traces(self, N: Array) -> Array:
        """tr(EⱼN) for every j, (s,), with N symmetric, (size, size)."""
        return np.asarray(np.einsum("iij->j", self.columns(N)))

    def pairs(self, M: Array, N: Array) -> Array:
        """tr(EⱼMEₖN) for every j and k, (s, s), with M and N symmetric."""
        each = self.columns(M), self.columns(N)
        return np.asarray(np.einsum("aij,iak->jk", *each, optimize=True))


class Aside(NamedTuple):
    """What a fixed ½xᵀS₀x is for, where it says nothing of x that anybody believes.

    settled  how many directions it settles that neither data nor other penalties say anything of
    alike    the number of outputs whose common part, which no data show, it holds; 1 for none
    """

    settled: int = 0
    alike: int = 1


class Block:
    """½ x[some]ᵀ S x[some]."""

    def __init__(self, some: slice, S: Any) -> None:
        self.some, self.S = some, S

    @staticmethod
    def of(term: Any, size: int, j: int) -> Block:
        some, S = term if isinstance(term, tuple) else (slice(None), term)
        length = len(range(*some.indices(size)))
        S = np.asarray(S, dtype=float) if isinstance(S, (list, np.ndarray)) else S
        if S.shape not in ((length,), (length, length)):
            raise InvalidParameterError(
                f"Term {j} of the penalty has a matrix of shape {S.shape} for {length} of {size} "
                f"coefficients: it should be ({length}, {length}), or ({length},).",
                where=f"term {j}",
            )
        return Block(some, S)

    @property
    def is_diagonal(self) -> bool:
        return len(self.S.shape) == 1

    def product(self, v: Array) -> Array:
        """S v, in the places of v that it concerns; v may be one vector, or one in each row."""
        part = v[..., self.some]
        return np.asarray(self.S * part if self.is_diagonal else (self.S @ part.T).T)

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.S if self.is_diagonal else self.S.diagonal())

    @cached_property
    def dense(self) -> Array:
        if self.is_diagonal:
            return np.diag(self.S)
        return np.asarray(self.S.toarray() if issparse(self.S) else self.S)


class QuadraticPenalty(Penalty):
    """½xᵀS(λ)x, whose S(λ) every fold, Hessian and profile along an axis can be computed with.

    Derive from it, and write `at(λ)`, which returns a `QuadraticForm`.

    Attributes
    ----------
    shift : float
        λ counts from here: exp(λ − shift) is in the units of the rows.

    Examples
    --------
    >>> from hoag import glm
    >>> issubclass(glm.Ridge, glm.QuadraticPenalty), issubclass(glm.Quadratic, glm.QuadraticPenalty)
    (True, True)
    """

    shift: float = 0.0
    aside: Aside | None = None

    @abstractmethod
    def at(self, lam: Array) -> QuadraticForm:
        """½xᵀSx at one λ."""

    @cached_property
    def terms(self) -> Sequence[Block]:
        """Sⱼ for every j: here what the columns of the identity show of it."""
        each = self._unit.columns(np.eye(self.size))
        return [Block(slice(None), S) for S in np.moveaxis(each, -1, 0)]

    @cached_property
    def fixed(self) -> Block | None:
        """S₀, which no λ scales; None where there is none."""
        S = self._unit.matrix(self.size)
        rest = S - np.sum([term.dense for term in self.terms], axis=0)
        some = bool(np.max(np.abs(rest)) > ROUNDING * np.max(np.abs(S)))
        return Block(slice(None), rest) if some else None

    @property
    def _unit(self) -> QuadraticForm:
        """Where every exp(λⱼ) is 1."""
        return self.at(np.full(self.n_lam, self.shift))


class Ridge(QuadraticPenalty):
    """½ Σⱼ exp(λ[group(j)] − shift) wⱼxⱼ².

    Parameters
    ----------
    groups : array of int, shape (p,)
        group(j); −1 means that xⱼ is not penalised, or by a fixed ½ floor·xⱼ².
    floor : float, default=0
        The fixed penalty of those.
    shift : float, default=0
        λ counts from here, for a caller who computes in other units than he names λ in.
    weights : array of shape (p,), default=None
        w, for columns that have units of their own; None is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> penalty = glm.Ridge(np.array([0, 0, 1, -1]))  # two groups, and one that is free
    >>> penalty.alpha(np.log([2.0, 5.0]))
    array([2., 2., 5., 0.])
    """

    groups: Index

    def __init__(
        self,
        groups: Index,
        floor: float = 0.0,
        shift: float = 0.0,
        weights: Array | None = None,
    ) -> None:
        self.groups, self.floor, self.shift = groups, floor, shift
        self.weighted = weights is not None
        self.weights = np.broadcast_to(1.0, groups.size) if weights is None else weights
        self.size, self.n_lam = groups.size, int(groups.max(initial=0)) + 1
        self.tuned = first_places(groups >= 0)
        self.penalised = self.tuned if floor == 0.0 else slice(groups.size)
        self.unpenalised = np.flatnonzero((groups < 0) & (floor == 0.0))

    def isotropic(self, slopes: int) -> bool:
        """Whether one λ reaches the first `slopes` coefficients alike, and no other."""
        return not self.weighted and self.shared(slopes)

    def shared(self, slopes: int) -> bool:
        """Whether one λ reaches the first `slopes` coefficients and no other, weighted or not."""
        return bool(np.all(self.groups[:slopes] == 0) and np.all(self.groups[slopes:] < 0))

    def of_fold(self, floor: float, weights: Array | None) -> Ridge:
        return Ridge(self.groups, floor, self.shift, weights)

    def of_all(self, folds: Sequence[Ridge]) -> Ridge:
        """They may weigh their coefficients each in its own way."""
        if not any(ridge.weighted for ridge in folds):
            return self
        return Ridge(self.groups, self.floor, self.shift, np.stack([own.weights for own in folds]))

    def with_groups(self, groups: Index) -> Ridge:
        """The same coefficients, shared by other groups."""
        return Ridge(groups, self.floor, self.shift, self.weights if self.weighted else None)

    def unweighted(self) -> Ridge:
        """The same for coefficients √wⱼ xⱼ, in units in which all weights are 1."""
        return Ridge(self.groups, self.floor, self.shift)

    def restricted(self, intercepts: int, directions: int) -> Ridge:
        groups = np.repeat(np.array([-1, 0]), [intercepts, directions])
        return Ridge(groups, self.floor, self.shift)

    def at(self, lam: Array) -> RidgeAt:
        """The penalty at one λ, whose S is diagonal."""
        return RidgeAt(self, lam)

    def alpha(self, lam: Array) -> Array:
        """exp(λ[group(j)] − shift) wⱼ for every coefficient; the floor where λ does not reach."""
        alpha = np.exp(lam - self.shift)[self.groups]
        if self.weighted:
            alpha = alpha * self.weights
        return np.where(self.groups >= 0, alpha, self.floor)

    def of_targets(self, groups: Index, targets: Index, intercepts: int) -> Ridge:
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


class RidgeAt(QuadraticForm):
    """S is diagonal: `alpha`, (size,), or (K, size) where folds weigh their coefficients."""

    alpha: Array

    def __init__(self, penalty: Ridge, lam: Array) -> None:
        self.penalty, self.alpha = penalty, penalty.alpha(lam)
        self.strengths = np.exp(lam - penalty.shift)

    @property
    def strong_convexity(self) -> float | None:  # type: ignore[override]
        return float(self.alpha.min()) if self.penalty.unpenalised.size == 0 else None

    @property
    def _first(self) -> Array:
        return self.alpha if self.alpha.ndim == 1 else self.alpha[0]

    def apply(self, X: Array) -> Array:
        return np.asarray(self.alpha * X)

    def diagonal(self, x: Array) -> Array:
        return self.alpha

    def matrix(self, size: int) -> Array:
        return np.diag(self._first)

    def added(self, H: Array) -> Array:
        H = H.copy()
        np.einsum("kii->ki", H)[:] += self.alpha
        return H

    def columns(self, X: Array) -> Array:
        groups, tuned = self.penalty.groups, np.flatnonzero(self.penalty.groups >= 0)
        found = np.zeros((*X.shape, self.penalty.n_lam))
        found[..., tuned, groups[tuned]] = self.apply(X)[..., tuned]
        return found

    def vjp(self, X: Array, Q: Array) -> Array:
        each = Q * self.apply(X)
        return self.penalty.by_group(each if each.ndim == 1 else each.sum(axis=0))

    def cross(self, x: Array, v: Array) -> Array:
        scaled = self.alpha * x
        if self.penalty.floor:
            scaled = np.where(self.penalty.groups >= 0, scaled, 0.0)
        return np.asarray(scaled * v[self.penalty.groups])

    def roots(self, size: int, k: int = 0) -> list[Array]:
        weights = np.sqrt(self.penalty.weights)
        diagonal = np.diag(weights if weights.ndim == 1 else weights[k])
        return [diagonal[:, self.penalty.groups == j] for j in range(self.penalty.n_lam)]

    def traces(self, N: Array) -> Array:
        return self.penalty.by_group(self._first * np.diag(N))

    def pairs(self, M: Array, N: Array) -> Array:
        member = members(self.penalty.groups, self.penalty.n_lam) * self._first[:, None]
        return np.asarray(member.T @ (M * N) @ member)

    def prox(self, x: Array, step: float) -> Array:
        return np.asarray(x / (1.0 + step * self.alpha))


class Quadratic(QuadraticPenalty):
    """Σⱼ exp(λⱼ − shift) ½ xᵀSⱼx with Sⱼ symmetric and positive semidefinite.

    Parameters
    ----------
    size : int
        The number of coefficients.
    terms : sequence of matrices, or of (slice, matrix)
        One Sⱼ for each hyperparameter: a matrix for all of x, dense or sparse, or a flat array for
        its diagonal; or (slice, Sⱼ) where Sⱼ is for some of the coefficients only, as the
        smoothness of one curve among several is.
    fixed : matrix, default=None
        S₀, for a further ½ xᵀS₀x that no λ scales, such as a little of everything; None for
        nothing.
    shift : float, default=0
        λ counts from here.
    aside : object, default=None
        What `fixed` is for where it is no prior of x; None is that it is a part of it.

    Examples
    --------
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
            raise InvalidParameterError("There is no term, and so no hyperparameter to tune.")
        self.size, self.n_lam, self.shift, self.aside = size, len(terms), shift, aside
        self.terms = [Block.of(term, size, j) for j, term in enumerate(terms)]
        self.fixed = None if fixed is None else Block.of(fixed, size, -1)

    def at(self, lam: Array) -> QuadraticAt:
        """The penalty at one λ."""
        return QuadraticAt(self, np.exp(lam - self.shift))


class QuadraticAt(QuadraticForm):
    def __init__(self, penalty: Quadratic, strengths: Array) -> None:
        self.strengths, self._terms = strengths, penalty.terms
        self._all = list(zip(strengths.tolist(), penalty.terms, strict=True))
        if penalty.fixed is not None:
            self._all.append((1.0, penalty.fixed))

    def apply(self, X: Array) -> Array:
        total = np.zeros(X.shape)
        for a, block in self._all:
            total[..., block.some] += a * block.product(X)
        return total

    def columns(self, X: Array) -> Array:
        found = np.zeros((*X.shape, len(self._terms)))
        for j, (a, block) in enumerate(zip(self.strengths, self._terms, strict=True)):
            found[..., block.some, j] = a * block.product(X)
        return found

    def rounded(self, X: Array) -> Any:
        S = np.abs(self.matrix(X.shape[-1]))
        return 0.5 * np.sum(np.abs(X) * (np.abs(X) @ S), axis=-1)

    def matrix(self, size: int) -> Array:
        S = np.zeros((size, size))
        for a, block in self._all:
            S[block.some, block.some] += a * block.dense
        return S

    def diagonal(self, x: Array) -> Array:
        total = np.zeros(x.size)
        for a, block in self._all:
            total[block.some] += a * block.diagonal
        return total

    def roots(self, size: int, k: int = 0) -> list[Array]:
        found = []
        for term in self._terms:
            own = root(term.dense)
            F = np.zeros((size, own.shape[1]))
            F[term.some] = own
            found.append(F)
        return found

    def traces(self, N: Array) -> Array:
        parts = [(term.some, term.dense) for term in self._terms]
        return self.strengths * [float(np.sum(S * N[some, some])) for some, S in parts]

    def pairs(self, M: Array, N: Array) -> Array:
        """By (SⱼM)·(SₖN)ᵀ over the coefficients of both, the rows of all j one below another."""
        terms = self._terms
        places = np.concatenate([np.arange(len(M))[term.some] for term in terms])
        left = np.concatenate([term.dense @ M[term.some] for term in terms])[:, places]
        right = left
        if N is not M:
            right = np.concatenate([term.dense @ N[term.some] for term in terms])[:, places]
        first = np.cumsum([0, *(len(term.diagonal) for term in terms[:-1])])
        sums = np.add.reduceat(np.add.reduceat(left * right.T, first, axis=0), first, axis=1)
        return np.outer(self.strengths, self.strengths) * sums


def cross_operator(at: PenaltyAt, x: Array, n_lam: int) -> LinearOperator:
    """∂∇penalty/∂λ at x as an operator of shape (size, n_lam)."""
    return LinearOperator(
        (x.size, n_lam),
        matvec=lambda v: at.cross(x, np.ravel(v)),
        rmatvec=lambda q: at.cross_adjoint(x, np.ravel(q)),
        dtype=float,
    )


def of_folds(penalties: Sequence[Penalty]) -> QuadraticPenalty:
    """One penalty for the x of all folds, from that of each."""
    return cast(QuadraticPenalty, penalties[0].of_all(penalties))
