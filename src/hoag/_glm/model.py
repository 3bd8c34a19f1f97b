"""Models made of rows: a loss on training rows, a penalty, a loss on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import Array
from hoag._glm import bounds
from hoag._glm.basis import Precondition, Subspace
from hoag._glm.design import RowwiseDesign
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.losses.base import one_loss
from hoag._glm.penalties import Penalty, PenaltyAt, Ridge, cross_operator
from hoag._glm.term import DataTerm, DataTermAt, Images, RowSum
from hoag._linalg.cholesky import Factor
from hoag._linalg.operator import Hessian, Inverse
from hoag._linalg.orthogonal import norm
from hoag.problems import Facts, Ledger, Problem


class LinearModel(Problem):
    """h = Σᵢ sᵢ loss(yᵢ, aᵢᵀx) + penalty(x, λ),  g = Σᵢ s′ᵢ loss′(y′ᵢ, a′ᵢᵀx).

    Made by `hoag.models.logistic`, `multinomial`, `ridge` and `linear`.

    Attributes
    ----------
    train, test : DataTerm
        The two sums over rows.
    penalty : Penalty
        penalty(x, λ).
    x0, lam0 : array of shape (p,) and (s,)
        Where solvers and searches start.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> point = problem.at(problem.x0, problem.lam0)
    >>> point.h_x.shape, point.hessian.shape
    ((10,), (10, 10))
    """

    # Whether the rows are in this process's memory.
    in_memory = True

    def __init__(self, train: DataTerm, test: DataTerm, penalty: Penalty, ledger: Ledger) -> None:
        self.train, self.test, self.penalty, self.ledger = train, test, penalty, ledger
        self.x0 = np.broadcast_to(0.0, penalty.size)  # zeros that need no memory
        self.lam0 = np.zeros(penalty.n_lam)
        self._last: DataTermAt | None = None
        self.schur_guess: Array | None = None  # where the next bound may start; see bounds._Schur

    def folded(self, models: Sequence[LinearModel]) -> RowwiseDesign | None:
        """The rows of all folds of some such models; None where these share too little."""
        return InMemoryDesign.of(models)

    def with_penalty(self, penalty: Penalty) -> LinearModel:
        """The same rows with another penalty."""
        return LinearModel(self.train, self.test, penalty, self.ledger)

    def at(self, x: Array, lam: Array) -> LinearPoint:
        """h and g at x and λ."""
        return LinearPoint(self, x, lam)

    def train_at(self, x: Array) -> DataTermAt:
        """The training term at x. The last one is remembered: λ may change while x stays."""
        if self._last is None or not np.array_equal(self._last.x, x):
            self._last = self.train.at(x)
        return self._last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    @property
    def facts(self) -> Facts:
        design = self.train.design
        side = design.features if self.train.quadratic else design.slopes
        return Facts(
            *(self.penalty.size, side, design.n, self.train.quadratic, design.rows.is_sparse),
            convex=self.train.convex,
        )

    @cached_property
    def judged_alike(self) -> bool:
        """Whether training and held-out rows are the same rows, with one loss for both."""
        train, test = self.train, self.test
        same = train.design is test.design and train.y is test.y
        return same and one_loss(train.loss, test.loss)

    @property
    def one_penalty(self) -> bool:
        """Whether one λ penalises all coefficients alike."""
        return self.penalty.isotropic(self.train.design.slopes)

    def restricted(self, basis: Subspace, m: int) -> LinearModel:
        """The same model for x = Σ cⱼvⱼ, j < m: with Z = AV and Z′ = A′V in place of A and A′."""
        k = basis.intercepts
        train = Images(basis.Z[:, :m], basis.outputs)
        test = train if basis.shared else Images(basis.Z_test[:, :m], basis.outputs)
        penalty = self.penalty.restricted(k, m - k)
        return LinearModel(self.train.seen_by(train), self.test.seen_by(test), penalty, self.ledger)

    def softened(self) -> LinearModel | None:
        train = self.train.softened()
        if train is None:
            return None
        return LinearModel(train, self.test, self.penalty, self.ledger)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> LinearModel:
        """A ridge regression of some of the targets, with the λ that reach them, in their order."""
        design = self.train.design.of_targets(targets)
        apart = self.test.design is not self.train.design
        judged = self.test.design.of_targets(targets) if apart else design
        intercepts = design.size - design.slopes
        return LinearModel(
            self.train.of_targets(targets, design),
            self.test.of_targets(targets, judged),
            cast(Ridge, self.penalty).of_targets(self.groups, targets, intercepts),
            self.ledger,
        )

    @property
    def groups(self) -> npt.NDArray[np.intp]:
        """The group of every slope, (features, outputs)."""
        design, groups = self.train.design, cast(Ridge, self.penalty).groups
        return groups[: design.slopes].reshape(design.features, design.outputs)

    def bound(self, point: Any, q: Array, r: Array) -> float:
        return np.inf if point.penalty.alpha is None else bounds.linear_model(point, q, r)

    def floor(self, point: Any) -> Array | None:
        """The penalties; and where there is none, about, the curvature of the data.

        For an intercept that of all rows, for a slope the mean over columns: no pass over the rows.
        """
        if point.penalty.alpha is None:
            return super().floor(point)
        floor, slopes = point.penalty.alpha.copy(), self.train.design.slopes
        free = cast(Ridge, self.penalty).unpenalised
        if free.size:
            train = point.train
            floor[free[free < slopes]] = train.curvature_trace / slopes
            floor[free[free >= slopes]] = train.mean_curvature * self.train.weights.sum()
        return floor if np.all(floor > 0) else None

    def outer_lipschitz(self) -> float:
        """C = ‖A′‖₂ (Σᵢ s′ᵢ²)^½ · max‖loss′‖, the paper's Lipschitz constant of g."""
        slope = self.test.loss.lipschitz
        if slope is None:
            raise NotSupportedError(
                "C='data' needs a held-out loss with bounded slope; the squared loss has none, so "
                "give Adaptive(C=...) a number.",
                "C",
                "data",
            )
        test, design = self.test, self.test.design
        counted = test.weights > 0  # other rows are only there for the training term

        def forward(v: Array) -> Array:
            return (test.forward(np.ravel(v)).T * counted).T.ravel()

        def backward(u: Array) -> Array:
            shape = (design.n,) if design.width == 1 else (design.n, design.width)
            return test.backward((np.reshape(u, shape).T * counted).T)

        shape = (design.n * design.width, design.size)
        matrix = LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=float)
        size = test.frobenius if min(design.n, design.size) < 2 else norm(matrix)
        return slope * size * float(np.linalg.norm(test.weights))


class LinearPoint:
    """h and g of a linear model at one (x, λ)."""

    def __init__(self, problem: LinearModel, x: Array, lam: Array) -> None:
        self.problem, self.x, self.lam = problem, x, lam
        self.penalty = problem.penalty.at(lam)

    @cached_property
    def train(self) -> DataTermAt:
        return self.problem.train_at(self.x)

    @cached_property
    def test(self) -> DataTermAt:
        at = self.problem.test.at(self.x)
        if self.problem.judged_alike:
            at.scores = RowSum(self.train.loss, self.problem.test.weights)
        return at

    @cached_property
    def h(self) -> float:
        return self.train.value + self.penalty.value(self.x)

    @cached_property
    def h_x(self) -> Array:
        return self.train.gradient + self.penalty.gradient(self.x)

    @cached_property
    def hessian(self) -> LinearHessian:
        return LinearHessian(self.train, self.penalty)

    @cached_property
    def cross(self) -> LinearOperator:
        return cross_operator(self.penalty, self.x, self.lam.size)

    @cached_property
    def g(self) -> float:
        return self.test.value

    @cached_property
    def g_x(self) -> Array:
        return self.test.gradient

    @cached_property
    def g_lam(self) -> Array:
        return np.zeros_like(self.lam)

    @property
    def strong_convexity(self) -> float | None:
        return self.penalty.strong_convexity


class LinearHessian(Hessian):
    """∇²₁h = Aᵀ diag(s loss″) A + S, with S the curvature of the penalty."""

    own_factor = True

    def __init__(self, at: DataTermAt, penalty: PenaltyAt) -> None:
        # Not the point itself, which holds this operator: such a circle keeps its vectors alive.
        super().__init__(at.x.size)
        self._at, self._penalty = at, penalty

    def product(self, v: Array) -> Array:
        return self._at.hvp(v) + self._penalty.product(self._at.x, v)

    def diagonal(self) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ² + Sⱼⱼ, for half a pass."""
        return self._at.diagonal + self._penalty.diagonal(self._at.x)

    def matrix(self) -> Array:
        whole = 0.5 * (self._at.hessian + self._at.hessian.T)
        self._penalty.add_to(whole, self._at.x)
        return whole

    @cached_property
    def _factor(self) -> Inverse:
        term, penalty, K = self._at.term, self._penalty, self._at.term.design.width
        if penalty.alpha is None or not (term.quadratic and term.design.touches):
            return self._charged(self.matrix())
        # One matrix for every λ, and x is (features, K) with a row of intercepts: no target mixes
        # with another, and those with the same penalties share a factor.
        kinds, which = np.unique(penalty.alpha.reshape(-1, K), axis=1, return_inverse=True)
        solves = [self._charged(_with_diagonal(term.constant_gram, kind)) for kind in kinds.T]
        targets = [np.flatnonzero(np.ravel(which) == j) for j in range(len(solves))]

        def each(b: Array) -> Array:
            found = np.empty((b.size // K, K))
            for solve, own in zip(solves, targets, strict=True):
                found[:, own] = solve(b.reshape(-1, K)[:, own])
            return found.ravel()

        return each

    def _charged(self, matrix: Array) -> Inverse:
        """b ↦ matrix⁻¹b, the factor counted by its operations beside those of a Gram matrix."""
        term, p = self._at.term, matrix.shape[0]
        share = 0.0
        if term.design.touches:
            share = 1.0 / (2.0 * max(term.design.rows.entries * term.design.features, 1))
        term.charge(0.0, share * p**3 / 3)
        inverse = Factor(matrix)

        def solve(b: Array) -> Array:
            term.charge(0.0, share * 2 * p**2 * (1 if b.ndim == 1 else b.shape[1]))
            return inverse(b)

        return solve


def by_gram(precondition: Precondition, hessian: LinearHessian) -> Inverse:
    """v ↦ (κ AᵀSA + αI)⁻¹v for the coefficients, κ the mean curvature of the loss; for one penalty.

    A preconditioner for conjugate gradients, once AᵀSA is decomposed; see hoag._glm.basis.
    """
    at, alpha = hessian._at, hessian._penalty.diagonal(hessian._at.x)
    slopes, outputs, kappa = at.term.design.slopes, at.term.design.outputs, at.mean_curvature
    intercept = kappa * float(at.term.weights.sum())

    def product(v: Array) -> Array:
        inner = precondition(v[:slopes].reshape(-1, outputs), kappa, float(alpha[0])).ravel()
        return np.concatenate([inner, v[slopes:] / (intercept + alpha[slopes:])])

    return product


def _with_diagonal(data: Array, alpha: Array) -> Array:
    whole = 0.5 * (data + data.T)
    whole.flat[:: alpha.size + 1] += alpha
    return whole
