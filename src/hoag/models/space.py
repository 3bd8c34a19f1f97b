"""Small spaces of coefficients, and a linear model inside one of them.

x = Σ c_j v_j with v_j orthonormal, one penalty on all coefficients, and intercepts that are not
penalised as the first coordinates of c. In c the problem is

    h = Σᵢ sᵢ loss(yᵢ, (Z c)ᵢ) + ½ e^λ ‖c‖²,  Z = A V of shape (n, m),   g with Z′ = A′V
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from hoag.models.linear import LinearProblem
from hoag.models.losses import LossAt
from hoag.models.rows import Matrix
from hoag.values import Array

# A direction that is this much in the space already (of its squared norm) is rounding.
NOTHING_NEW = 1e-8
# A gradient this small beside α‖x‖, one of its two parts, is rounding of them.
ROUNDING = 1e-11

# Up to so many dense columns their Gram matrix is decomposed.
FEW = 1000

# (gradient of shape (features, outputs), mean curvature κ, α) ↦ the direction.
Precondition = Callable[[Array, float, float], Array]


def gram_inverse(matrix: Matrix, weights: Array) -> Precondition:
    """(κ AᵀSA + αI)⁻¹ for every κ and α, by one eigendecomposition: for few, dense columns."""
    values, vectors = eigh(matrix.gram(weights))
    values = np.maximum(values, 0.0)[:, None]
    return partial(_by_eigenvectors, values, vectors)


def diagonal_inverse(matrix: Matrix, weights: Array) -> Precondition:
    """The same with the diagonal of AᵀSA."""
    squares = matrix.column_squares(weights)[:, None]
    return partial(_by_diagonal, squares)


def _by_eigenvectors(
    values: Array, vectors: Array, gradient: Array, kappa: float, alpha: float
) -> Array:
    return np.asarray(vectors @ ((vectors.T @ gradient) / (kappa * values + alpha)))


def _by_diagonal(squares: Array, gradient: Array, kappa: float, alpha: float) -> Array:
    return np.asarray(gradient / (kappa * squares + alpha))


def preconditioner(matrix: Matrix, weights: Array) -> Precondition | None:
    """Dense columns may differ in scale and go together; for tf-idf the diagonal misleads."""
    if sparse.issparse(matrix.A):
        return None
    few = matrix.A.shape[1] <= FEW
    return (gram_inverse if few else diagonal_inverse)(matrix, weights)


def setup_passes(matrix: Matrix, outputs: int) -> float:
    """What the preconditioner costs: 2np² operations for a Gram matrix are p/2 passes."""
    if sparse.issparse(matrix.A):
        return 0.0
    features = matrix.A.shape[1]
    return (features / 2 if features <= FEW else 0.5) / outputs


def _as_it_is(gradient: Array, kappa: float, alpha: float) -> Array:
    return gradient


class Space:
    """V, Z = A V and Z′ = A′V, column after column; the first of them are the intercepts.

    Columns are flat, of n·K numbers for K outputs. Without a preconditioner all v_j are Aᵀw_j, and
    w_j is kept in place of v_j: nothing with an entry for each column of sparse rows. Only ever
    added to, so that an older, smaller view of it stays valid.
    """

    def __init__(
        self, problem: LinearProblem, size: int, precondition: Precondition | None = None
    ) -> None:
        rows, test = problem.train.rows, problem.test.rows
        self.problem, self.precondition, self.outputs = problem, precondition, rows.outputs
        self.shared = rows is test  # folds on one matrix: Z has the held-out rows, too
        basis = np.zeros((rows.outputs, 0)) if rows.Q is None else rows.Q
        self.intercepts = basis.shape[1]
        self.size = self.intercepts + size
        n, n_test = rows.n * rows.outputs, test.n * rows.outputs
        self.stored = np.zeros((rows.weights if precondition else n, self.size), order="F")
        self.Z = np.zeros((n, self.size), order="F")
        self.Z[:, : self.intercepts] = np.tile(basis, (rows.n, 1))
        self.Z_test = self.Z
        if not self.shared:
            self.Z_test = np.zeros((n_test, self.size), order="F")
            self.Z_test[:, : self.intercepts] = np.tile(basis, (test.n, 1))
        self.filled = self.intercepts
        self.whole = False

    @staticmethod
    def everything(problem: LinearProblem) -> Space:
        """All coefficients, v_j = e_j: for so few of them that a factor costs nothing."""
        rows = problem.train.rows
        space = Space(problem, rows.weights, _as_it_is)
        k, units = space.intercepts, np.eye(rows.outputs)
        space.stored[:, k:] = np.eye(rows.weights)
        for Z, some in ((space.Z, rows), (space.Z_test, problem.test.rows)):
            Z[:, k:] = np.kron(some.matrix.dense(), units)
        space.filled, space.whole = space.size, True
        return space

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "problem": None}  # whoever has the space has the problem

    @property
    def matrix(self) -> Matrix:
        return self.problem.train.rows.matrix

    def shaped(self, z: Array) -> Array:
        """A flat column as (rows, outputs), or v as (features, outputs); flat for one output."""
        return z if self.outputs == 1 else z.reshape(-1, self.outputs)

    def combined(self, c: Array) -> Array:
        """Σ c_j v_j as it is stored, without the intercepts."""
        k = self.intercepts
        return np.asarray(self.stored[:, k : c.size] @ c[k:])

    def coefficients(self, c: Array) -> Array:
        """Σ c_j v_j in the coordinates of the problem: half a pass where only w_j are known."""
        v = self.combined(c)
        if self.precondition is None:
            self.problem.train.charge(0.5)
            v = self.matrix.backward(self.shaped(v)).ravel()
        return np.concatenate([v, c[: self.intercepts]])

    def added(self, slope: Array, alpha: float, c: Array, curvature: float) -> Direction | None:
        """The space with the preconditioned Aᵀ slope + α x in it, where x = Σ c_j v_j.

        None if there is nothing new. One pass, and half a pass over held-out rows.
        """
        train, k = self.problem.train, self.intercepts
        x = self.combined(c)
        train.charge(1.0)
        if self.precondition is None:
            stored = slope + alpha * x
            gradient = v = self.matrix.backward(self.shaped(stored))
        else:
            gradient = self.matrix.backward(self.shaped(slope)) + alpha * self.shaped(x)
            flat = gradient.reshape(-1, self.outputs)
            v = self.precondition(flat, curvature, alpha).reshape(gradient.shape)
            stored = v.ravel()
        size = float(np.linalg.norm(gradient))
        rounding = ROUNDING * alpha * float(np.linalg.norm(c[k:]))
        if not np.isfinite(size) or size <= rounding:
            return None
        z = self.matrix.forward(v).ravel()
        z_test = z
        if not self.shared:
            self.problem.test.charge(0.5)
            z_test = self.problem.test.rows.matrix.forward(v).ravel()
        larger = self.joined(stored, z, z_test, c.size)
        if larger is None:
            return None
        free = self.Z[:, :k].T @ slope + self.problem.floor * c[:k]
        energy = float(np.sqrt(max(float(np.vdot(gradient, v)), 0.0)))
        return Direction(larger, float(np.hypot(size, np.linalg.norm(free))), energy)

    def joined(self, stored: Array, z: Array, z_test: Array, filled: int) -> Space | None:
        """The space with one more vector, orthonormal to the `filled` that are there."""
        space = self
        if filled != self.filled or filled == self.size:
            space = self.turned(np.eye(filled))
        k = space.intercepts
        dual = space.precondition is None
        old, images = space.stored[:, k:filled], space.Z[:, k:filled]
        scale = 1.0 / (float(np.linalg.norm(stored)) or 1.0)
        stored, z, z_test = scale * stored, scale * z, scale * z_test
        whole = float(stored @ (z if dual else stored))
        for _ in range(2):  # twice is enough
            along = (images if dual else old).T @ stored  # ⟨Aᵀw, Aᵀw′⟩ = w·A Aᵀw′
            stored, z = stored - old @ along, z - images @ along
            if not space.shared:
                z_test = z_test - space.Z_test[:, k:filled] @ along
        rest = float(stored @ (z if dual else stored))
        if not rest > NOTHING_NEW * whole:
            return None
        norm = float(np.sqrt(rest))
        space.stored[:, filled], space.Z[:, filled] = stored / norm, z / norm
        if not space.shared:
            space.Z_test[:, filled] = z_test / norm
        space.filled = filled + 1
        return space

    def turned(self, turn: Array) -> Space:
        """A copy whose columns are these times `turn`, an orthonormal basis of what is kept."""
        space = Space(self.problem, self.size - self.intercepts, self.precondition)
        old, new = turn.shape
        space.stored[:, :new] = self.stored[:, :old] @ turn
        space.Z[:, :new] = self.Z[:, :old] @ turn
        if not self.shared:
            space.Z_test[:, :new] = self.Z_test[:, :old] @ turn
        space.filled = new
        return space

    def compressed(self, vectors: Array, kept: int) -> tuple[Space, Array]:
        """The space of some combinations of the columns and of the last `kept`, and the turn."""
        k, m = self.intercepts, vectors.shape[0]
        inner = np.column_stack([vectors[k:], np.eye(m - k)[:, -kept:]])
        turn = np.zeros((m, k + inner.shape[1]))
        turn[:k, :k] = np.eye(k)
        turn[k:, k:] = np.linalg.qr(inner)[0]
        return self.turned(turn), turn


def _same(loss: Any, other: Any) -> bool:
    return type(loss) is type(other) and vars(loss) == vars(other)


class Direction(NamedTuple):
    """A space with a new direction in it, and two norms of the gradient that it comes from.

    Its own, and that of the preconditioner, in which residuals shrink evenly.
    """

    space: Space
    norm: float
    energy: float


class Inside:
    """h and g at one c of a space."""

    def __init__(self, space: Space, lam: Array, c: Array) -> None:
        problem, m = space.problem, c.size
        self.space, self.c, self.Z = space, c, space.Z[:, :m]
        self.train, self.test = problem.train, problem.test
        self.penalty = np.full(m, float(np.exp(lam[0] - problem.shift)))
        self.penalty[: space.intercepts] = problem.floor
        z = space.shaped(self.Z @ c)
        self.at = cast(LossAt, self.train.loss.at(self.train.y, z))

    @property
    def h(self) -> float:
        value = float(self.train.weights @ self.at.value)
        return value + 0.5 * float(self.penalty @ self.c**2)

    @property
    def slope(self) -> Array:
        return np.asarray(self.train.row_weights * self.at.slope).ravel()

    @property
    def gradient(self) -> Array:
        return np.asarray(self.Z.T @ self.slope + self.penalty * self.c)

    def bend(self, t: Array) -> Array:
        """s · loss″ · Z t."""
        curved = self.at.curve(self.space.shaped(self.Z @ t))
        return np.asarray(self.train.row_weights * curved).ravel()

    @property
    def curvature(self) -> float:
        """The mean curvature of the loss over the training rows and outputs."""
        unit = np.full(self.space.outputs, 1.0 / self.space.outputs)
        forms = self.at.forms(np.eye(self.space.outputs)) @ unit
        return float(self.train.weights @ forms / self.train.weights.sum())

    def hessian(self) -> Array:
        if self.space.whole:  # these are the rows themselves
            self.train.charge(self.c.size / 2 / self.space.outputs)
        H = self.at.gram(self.Z, self.train.weights)
        H.flat[:: H.shape[0] + 1] += self.penalty
        return H

    def held_out(self) -> tuple[float, Array]:
        """g and its gradient in c."""
        Z = self.space.Z_test[:, : self.c.size]
        at: Any = self.at
        if not (self.space.shared and _same(self.train.loss, self.test.loss)):
            at = self.test.loss.at(self.test.y, self.space.shaped(Z @ self.c))
        slope = np.asarray(self.test.row_weights * at.slope).ravel()
        return float(self.test.weights @ at.value), np.asarray(Z.T @ slope)
