"""A few directions of coefficients, orthonormal, with their images on every row.

x = Σ cⱼvⱼ with one penalty on all coefficients, and intercepts that are not penalised as the first
coordinates of c. `LinearModel.restricted(basis)` is the model in c, with Z = A V of shape (n, m) in
place of A.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hoag._core.numeric import EXACT, ROUNDOFF, Array
from hoag._core.storable import storable
from hoag._glm.rows import Rows
from hoag._linalg.eigen import eigen
from hoag._linalg.orthogonal import orthonormal

# Up to so many columns a Gram matrix that serves for every λ is affordable.
FEW = 1000


class Precondition(NamedTuple):
    """(κM + αI)⁻¹ for every κ, the mean curvature, and α; M = V diag(values) Vᵀ, V = I for none."""

    values: Array
    vectors: Array | None

    def __call__(self, gradient: Array, kappa: float, alpha: float) -> Array:
        """The direction for a gradient of shape (features, outputs)."""
        scale, V = kappa * self.values[:, None] + alpha, self.vectors
        return np.asarray(gradient / scale if V is None else V @ ((V.T @ gradient) / scale))


def gram_inverse(rows: Rows, weights: Array) -> Precondition:
    """M = AᵀSA, by one eigendecomposition: for few, dense columns."""
    return Precondition(*eigen(rows.gram(weights)))


def diagonal_inverse(rows: Rows, weights: Array) -> Precondition:
    """The diagonal of AᵀSA."""
    return Precondition(rows.squared_backward(weights), None)


def preconditioner(rows: Rows, weights: Array) -> Precondition | None:
    """Dense columns may differ in scale and go together; for tf-idf the diagonal misleads."""
    if rows.is_sparse:
        return None
    return (gram_inverse if rows.shape[1] <= FEW else diagonal_inverse)(rows, weights)


def setup_passes(rows: Rows, outputs: int) -> float:
    """What the preconditioner costs: 2np² operations for a Gram matrix are p/2 passes."""
    if rows.is_sparse:
        return 0.0
    features = rows.shape[1]
    return (features / 2 if features <= FEW else 0.5) / outputs


@storable
class Subspace:
    """V, Z = A V and Z′ = A′V, column after column; the first of them are the intercepts.

    Columns are flat, of n·K numbers for K outputs. Without a preconditioner all vⱼ are Aᵀwⱼ, and
    wⱼ is kept in place of vⱼ: nothing with an entry for each column of sparse rows. Only ever
    added to, so that an older, smaller view of it stays valid.
    """

    def __init__(self, model: Any, size: int, precondition: Precondition | None = None) -> None:
        design, test = model.train.design, model.test.design
        self.model, self.precondition, self.outputs = model, precondition, design.outputs
        self.shared = design is test  # folds on one matrix: Z has the held-out rows, too
        Q = np.zeros((design.outputs, 0)) if design.Q is None else design.Q
        self.intercepts = Q.shape[1]
        self.size = self.intercepts + size
        n, n_test = design.n * design.outputs, test.n * design.outputs
        self.stored = np.zeros((design.slopes if precondition else n, self.size), order="F")
        self.Z = np.zeros((n, self.size), order="F")
        self.Z[:, : self.intercepts] = np.tile(Q, (design.n, 1))
        self.Z_test = self.Z
        if not self.shared:
            self.Z_test = np.zeros((n_test, self.size), order="F")
            self.Z_test[:, : self.intercepts] = np.tile(Q, (test.n, 1))
        self.filled = self.intercepts

    def __getstate__(self) -> dict[str, Any]:
        # Whoever has the basis has the model, and the preconditioner that is made of its rows.
        return {**self.__dict__, "model": None, "precondition": None}

    @property
    def rows(self) -> Rows:
        found: Rows = self.model.train.design.rows
        return found

    def shaped(self, z: Array) -> Array:
        """A flat column as (rows, outputs), or v as (features, outputs); flat for one output."""
        return z if self.outputs == 1 else z.reshape(-1, self.outputs)

    def combined(self, c: Array) -> Array:
        """Σ c_j v_j as it is stored, without the intercepts."""
        k = self.intercepts
        return np.asarray(self.stored[:, k : c.size] @ c[k:])

    def coefficients(self, c: Array) -> Array:
        """Σ c_j v_j in the coordinates of the model: half a pass where only w_j are known."""
        v = self.combined(c)
        if self.precondition is None:
            self.model.train.charge(0.5)
            v = self.rows.backward(self.shaped(v)).ravel()
        return np.concatenate([v, c[: self.intercepts]])

    def added(self, slope: Array, alpha: float, c: Array, curvature: float) -> Direction | None:
        """The basis with the preconditioned Aᵀ slope + α x in it, where x = Σ c_j v_j.

        None if there is nothing new. One pass, and half a pass over held-out rows.
        """
        train, k = self.model.train, self.intercepts
        x = self.combined(c)
        train.charge(1.0)
        if self.precondition is None:
            stored = slope + alpha * x
            gradient = v = self.rows.backward(self.shaped(stored))
        else:
            gradient = self.rows.backward(self.shaped(slope)) + alpha * self.shaped(x)
            flat = gradient.reshape(-1, self.outputs)
            v = self.precondition(flat, curvature, alpha).reshape(gradient.shape)
            stored = v.ravel()
        size = float(np.linalg.norm(gradient))
        rounding = EXACT * alpha * float(np.linalg.norm(c[k:]))  # of α‖x‖, one of its two parts
        if not np.isfinite(size) or size <= rounding:
            return None
        z = self.rows.forward(v).ravel()
        z_test = z
        if not self.shared:
            self.model.test.charge(0.5)
            z_test = self.model.test.design.rows.forward(v).ravel()
        larger = self.joined(stored, z, z_test, c.size, float(np.linalg.norm(v)))
        if larger is None:
            return None
        free = self.Z[:, :k].T @ slope + self.model.penalty.floor * c[:k]
        energy = float(np.sqrt(max(float(np.vdot(gradient, v)), 0.0)))
        return Direction(larger, float(np.hypot(size, np.linalg.norm(free))), energy)

    def joined(
        self, stored: Array, z: Array, z_test: Array, filled: int, norm: float | None = None
    ) -> Subspace | None:
        """The basis with one more vector v, orthonormal to the `filled` that are there.

        None if there is nothing new, or only rounding: where Aᵀw cancels, w is no longer a picture
        of v, and what is left of w·A Aᵀw is not what Pythagoras leaves of ‖v‖², if `norm` is ‖v‖.
        """
        basis = self
        if filled != self.filled or filled == self.size:
            basis = self.turned(np.eye(filled))
        k = basis.intercepts
        dual = basis.precondition is None
        old, images = basis.stored[:, k:filled], basis.Z[:, k:filled]
        scale = 1.0 / (float(np.max(np.abs(stored))) or 1.0)  # no square shall overflow
        stored, z, z_test = scale * stored, scale * z, scale * z_test
        whole = float(stored @ (z if dual else stored)) if norm is None else (scale * norm) ** 2
        total = np.zeros(filled - k)
        for _ in range(2):  # twice is enough
            along = (images if dual else old).T @ stored  # ⟨Aᵀw, Aᵀw′⟩ = w·A Aᵀw′
            stored, z, total = stored - old @ along, z - images @ along, total + along
            if not basis.shared:
                z_test = z_test - basis.Z_test[:, k:filled] @ along
        rest = float(stored @ (z if dual else stored))
        left = whole - float(total @ total)
        if not rest > ROUNDOFF**0.5 * whole or abs(rest - left) > ROUNDOFF**0.25 * rest:
            return None
        length = float(np.sqrt(rest))
        basis.stored[:, filled], basis.Z[:, filled] = stored / length, z / length
        if not basis.shared:
            basis.Z_test[:, filled] = z_test / length
        basis.filled = filled + 1
        return basis

    def turned(self, turn: Array) -> Subspace:
        """A copy whose columns are these times `turn`, an orthonormal basis of what is kept."""
        basis = Subspace(self.model, self.size - self.intercepts, self.precondition)
        old, new = turn.shape
        basis.stored[:, :new] = self.stored[:, :old] @ turn
        basis.Z[:, :new] = self.Z[:, :old] @ turn
        if not self.shared:
            basis.Z_test[:, :new] = self.Z_test[:, :old] @ turn
        basis.filled = new
        return basis

    def compressed(self, vectors: Array, kept: int) -> tuple[Subspace, Array]:
        """The basis of some combinations of the columns and of the last `kept`, and the turn."""
        k, m = self.intercepts, vectors.shape[0]
        inner = np.column_stack([vectors[k:], np.eye(m - k)[:, -kept:]])
        turn = np.zeros((m, k + inner.shape[1]))
        turn[:k, :k] = np.eye(k)
        turn[k:, k:] = orthonormal(inner)[0]
        return self.turned(turn), turn


class Direction(NamedTuple):
    """A basis with a new direction in it, and two norms of the gradient that it comes from.

    Its own, and that of the preconditioner, in which residuals shrink evenly.
    """

    basis: Subspace
    norm: float
    energy: float
