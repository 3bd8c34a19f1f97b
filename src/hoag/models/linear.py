"""Linear models: a loss on training rows, an ℓ₂ penalty on groups, a loss on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, svds

from hoag.models import bounds
from hoag.models.rows import DataTerm, DataTermAt
from hoag.problem import Ledger
from hoag.values import Array, InvalidInput


class LinearProblem:
    """h = Σᵢ sᵢ loss(yᵢ, aᵢᵀx) + ½ Σⱼ exp(λ[group(j)]) xⱼ²,  g = Σᵢ s′ᵢ loss′(y′ᵢ, a′ᵢᵀx).

    Made by `logistic`, `multinomial` and `ridge`. group(j) = −1 means that xⱼ is not penalised,
    or by a fixed ½ floor·xⱼ². A caller who computes in other units than he names λ in gives a
    `shift`: the penalty is exp(λ − shift).
    """

    def __init__(
        self,
        train: DataTerm,
        test: DataTerm,
        groups: npt.NDArray[np.intp],
        ledger: Ledger,
        floor: float = 0.0,
        shift: float = 0.0,
    ) -> None:
        self.train, self.test, self.groups, self.ledger = train, test, groups, ledger
        self.floor, self.shift = floor, shift
        self.tuned = _where(groups >= 0)
        self.penalised = self.tuned if floor == 0.0 else slice(groups.size)
        self.unpenalised = np.flatnonzero((groups < 0) & (floor == 0.0))
        self.x0 = np.broadcast_to(0.0, groups.size)  # zeros that need no memory
        self.lam0 = np.zeros(int(groups.max()) + 1)
        self._last: DataTermAt | None = None
        self.schur_guess: Array | None = None  # where the next bound may start; see bounds._Schur

    def at(self, x: Array, lam: Array) -> LinearPoint:
        return LinearPoint(self, x, lam)

    def train_at(self, x: Array) -> DataTermAt:
        """The training term at x. The last one is remembered: λ may change while x stays."""
        if self._last is None or not np.array_equal(self._last.x, x):
            self._last = self.train.at(x)
        return self._last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def alpha(self, lam: Array) -> Array:
        """exp(λ[group(j)]) for every coefficient; the floor, usually 0, where λ does not reach."""
        return np.where(self.groups >= 0, np.exp(lam - self.shift)[self.groups], self.floor)

    def by_group(self, values: Array) -> Array:
        """Σ over the coefficients of each group."""
        kept = self.tuned
        sums = np.bincount(self.groups[kept], weights=values[kept], minlength=self.lam0.size)
        return sums.astype(np.float64)

    def bound(self, point: LinearPoint, q: Array, r: Array) -> float:
        return bounds.linear_model(point, q, r)

    def criterion(self, inner: Any = None, linear: Any = None) -> Any:
        """How the default search sees this problem; see hoag.models.subspace."""
        from hoag.models.subspace import criterion_for

        return criterion_for(self, inner, linear)

    def outer_lipschitz(self) -> float:
        """C = ‖A′‖₂ (Σᵢ s′ᵢ²)^½ · max‖loss′‖, the paper's Lipschitz constant of g."""
        slope = self.test.loss.lipschitz
        if slope is None:
            raise InvalidInput(
                "C='data' needs a held-out loss with bounded slope; the squared loss has none, "
                "so give Adaptive(C=...) a number."
            )
        test, rows = self.test, self.test.rows
        counted = test.weights > 0  # other rows are only there for the training term
        if min(rows.n, rows.size) < 2:
            return slope * test.frobenius * float(np.linalg.norm(test.weights))

        def forward(v: Array) -> Array:
            return (test.forward(np.ravel(v)).T * counted).T.ravel()

        def backward(u: Array) -> Array:
            shape = (rows.n,) if rows.outputs == 1 else (rows.n, rows.outputs)
            return test.backward((np.reshape(u, shape).T * counted).T)

        matrix = LinearOperator(
            (rows.n * rows.outputs, rows.size),
            matvec=forward,
            rmatvec=backward,
            dtype=float,
        )
        start = np.ones(min(matrix.shape))
        norm = float(svds(matrix, k=1, return_singular_vectors=False, v0=start)[0])
        return slope * norm * float(np.linalg.norm(test.weights))


def _where(mask: npt.NDArray[np.bool_]) -> slice | npt.NDArray[np.intp]:
    """The places where mask holds: a slice where they come first, for it needs no memory."""
    count = int(np.sum(mask))
    return slice(count) if np.all(mask[:count]) else np.flatnonzero(mask)


class LinearPoint:
    """h and g of a linear model at one (x, λ)."""

    def __init__(self, problem: LinearProblem, x: Array, lam: Array) -> None:
        self.problem, self.x, self.lam = problem, x, lam
        self.alpha = problem.alpha(lam)

    @cached_property
    def train(self) -> DataTermAt:
        return self.problem.train_at(self.x)

    @cached_property
    def test(self) -> DataTermAt:
        return self.problem.test.at(self.x)

    @cached_property
    def h(self) -> float:
        return self.train.value + 0.5 * float(np.sum(self.alpha * self.x**2))

    @cached_property
    def h_x(self) -> Array:
        return self.train.gradient + self.alpha * self.x

    @cached_property
    def hessian(self) -> LinearHessian:
        return LinearHessian(self.problem.train, self.train, self.alpha)

    @cached_property
    def cross(self) -> LinearOperator:
        """∂∇₁h/∂λ_k = αⱼxⱼ in the rows j of group k, 0 elsewhere."""
        problem = self.problem
        scaled = self.alpha * self.x
        if problem.floor:
            scaled = np.where(problem.groups >= 0, scaled, 0.0)
        return LinearOperator(
            (self.x.size, self.lam.size),
            matvec=lambda v: scaled * np.ravel(v)[problem.groups],
            rmatvec=lambda q: problem.by_group(scaled * np.ravel(q)),
            dtype=float,
        )

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
        return float(self.alpha.min()) if self.problem.unpenalised.size == 0 else None


class LinearHessian(LinearOperator):  # type: ignore[misc]
    """∇²₁h = Aᵀ diag(s loss″) A + diag(α)."""

    def __init__(self, term: DataTerm, at: DataTermAt, alpha: Array) -> None:
        # Not the point itself, which holds this operator: such a circle keeps its vectors alive.
        super().__init__(float, (alpha.size, alpha.size))
        self._term, self._at, self._alpha = term, at, alpha

    def _matvec(self, v: Array) -> Array:
        v = np.ravel(v)
        return self._at.curve(v) + self._alpha * v

    _rmatvec = _matvec

    def diagonal(self) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ² + αⱼ, for half a pass."""
        return self._at.curvature_diagonal + self._alpha

    def cholesky(self) -> Callable[[Array], Array]:
        """b ↦ H⁻¹b, by a factor that is formed once for each point."""
        return self._inverse

    @cached_property
    def _inverse(self) -> Callable[[Array], Array]:
        train, alpha = self._term, self._alpha
        rows, quadratic = train.rows, train.loss.self_concordance == 0
        if rows.outputs == 1:
            d = train.weights * self._at.loss.curve(np.ones(rows.n))
            return self._factored((train.constant_gram if quadratic else train.gram(d)), alpha)
        if not quadratic:
            return self._factored(self._blocks(), alpha)
        # Several targets: x is (features, K) with a row of intercepts, and targets do not mix.
        columns = alpha.reshape(-1, rows.outputs).T
        if np.all(columns == columns[0]):
            solve = self._factored(train.constant_gram, columns[0])
            return lambda b: solve(b.reshape(-1, rows.outputs)).ravel()
        solves = [self._factored(train.constant_gram, column) for column in columns]
        return lambda b: np.stack(
            [solve(c) for solve, c in zip(solves, b.reshape(-1, rows.outputs).T, strict=True)],
            axis=1,
        ).ravel()

    def _blocks(self) -> Array:
        """Aᵀ diag(s ∂²loss/∂z_k∂z_l) A for every pair of outputs, in the order of x."""
        train = self._term
        rows, K = train.rows, train.rows.outputs
        width = rows.features + (rows.Q is not None)
        whole = np.empty((width, K, width, K))
        for k, unit in enumerate(np.eye(K)):
            column = train.row_weights * self._at.loss.curve(np.tile(unit, (rows.n, 1)))
            for l in range(k + 1):  # noqa: E741
                whole[:, k, :, l] = whole[:, l, :, k] = train.gram(column[:, l])
        if rows.Q is None:
            return whole.reshape(rows.size, rows.size)
        p, size = rows.features, rows.weights
        inner = whole[:p, :, :p, :].reshape(size, size)
        border = whole[:p, :, p, :].reshape(size, K) @ rows.Q
        return np.block([[inner, border], [border.T, rows.Q.T @ whole[p, :, p, :] @ rows.Q]])

    def _factored(self, data: Array, alpha: Array) -> Callable[[Array], Array]:
        """b ↦ (data + diag(alpha))⁻¹b."""
        train, p = self._term, alpha.size
        a_pass = 4.0 * max(train.rows.entries, 1)  # in floating point operations
        train.charge(p**3 / 3 / a_pass)
        factor = cho_factor(0.5 * (data + data.T) + np.diag(alpha))

        def solve(b: Array) -> Array:
            train.charge(2 * p**2 * (1 if b.ndim == 1 else b.shape[1]) / a_pass)
            return np.asarray(cho_solve(factor, b))

        return solve
