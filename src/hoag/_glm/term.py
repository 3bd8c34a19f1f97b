"""The data term Σᵢ sᵢ loss(yᵢ, zᵢ) with z linear in x, and the two ways from x to z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses import Loss, LossAt, OuterLoss
from hoag._glm.losses.base import softened
from hoag._glm.rows import Rows

# Called with the number of passes that some work cost, and of Gram matrices.
Charge = Callable[..., None]


class Predictor:
    """x ↦ z and back: z = A W + 1 (Q b)ᵀ for x = (W, b), W of shape (d, K) row by row.

    The intercepts b are last. Q is the identity for one output and for several targets. The K
    intercepts of a multinomial model are determined only up to a common shift, so there Q is an
    orthonormal basis of the vectors that sum to zero, shape (K, K − 1), and the Hessian stays
    positive definite.

    With a `spread` M, of shape (outputs, width), it is z = A W M + 1 (Q b)ᵀ: the slopes of ordered
    classes are the same at all thresholds, M = (1 … 1), and the spread of residuals has none,
    M = (1 0).

    The z of the last x is remembered, for the two data terms that share these rows. `size` is that
    of x; z has shape (n,) for one column, else (n, width).

    touches   how many passes over the data one product with it and one back are
    """

    touches = 1.0

    def __init__(
        self,
        rows: Rows,
        outputs: int,
        intercept_basis: Array | None,
        spread: Array | None = None,
    ) -> None:
        self.rows = rows
        self.n, self.features = rows.shape
        self.outputs, self.spread = outputs, spread
        self.width = outputs if spread is None else spread.shape[1]
        self.Q = intercept_basis
        self.slopes = self.features * outputs  # the number of entries of W
        self.size = self.slopes + (0 if self.Q is None else self.Q.shape[1])
        self.last: tuple[Array, Array] | None = None  # x and its z

    def on(self, rows: Rows) -> Predictor:
        """The same for other rows."""
        return Predictor(rows, self.outputs, self.Q, self.spread)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> Predictor:
        """Of some outputs that have nothing to do with the others."""
        return Predictor(self.rows, targets.size, None if self.Q is None else np.eye(targets.size))

    def forward(self, x: Array) -> Array:
        """aᵢᵀx for every row: (n,) for one output, else (n, K)."""
        if self.width == 1:
            z = self.rows.forward(x[: self.slopes])
            return np.asarray(z if self.Q is None else z + x[-1])
        z = self.rows.forward(x[: self.slopes].reshape(self.features, self.outputs))
        if self.spread is not None:
            z = z @ self.spread
        return np.asarray(z if self.Q is None else z + self.Q @ x[self.slopes :])

    def backward(self, r: Array) -> Array:
        """Σᵢ rᵢ aᵢ, flat like x."""
        slopes = r if self.spread is None else r @ self.spread.T
        gradient = self.rows.backward(slopes).ravel()
        if self.Q is None:
            return gradient
        return np.concatenate([gradient, self.Q.T @ np.atleast_1d(r.sum(axis=0))])

    @property
    def grams(self) -> int:
        """How many Gram matrices a Hessian takes: one for each pair of outputs."""
        return self.outputs * (self.outputs + 1) // 2

    def gram(self, d: Array) -> Array:
        """Σᵢ dᵢ aᵢaᵢᵀ, the 1 of the intercept included."""
        one = Predictor(self.rows, 1, None if self.Q is None else np.ones((1, 1)))
        return np.asarray(one.hessians(lambda u: d[:, None, None] * u)[0])

    def hessian(self, at: LossAt, weights: Array) -> Array:
        """Aᵀ diag(s ∂²loss/∂z²) A, in the order of x."""

        def curved(u: Array) -> Array:
            v = np.broadcast_to(u, (self.n, self.width))
            curvature = at.hvp(v if self.width > 1 else v[:, 0]).reshape(v.shape)
            return np.asarray((weights[:, None] * curvature)[:, None])

        return np.asarray(self.hessians(curved)[0])

    def hessians(self, curved: Callable[[Array], Array]) -> Array:
        """Σᵢ AᵢᵀC_ikAᵢ of L folds k in the order of x, (L, size, size); one Gram matrix a pair.

        `curved` is u ↦ C_ik u, (width,) to (n, L, width), with C_ik = s ∂²loss/∂z² of every row.
        """
        p, K, slopes, Q, M = self.features, self.outputs, self.slopes, self.Q, self.spread
        along = np.stack([curved(m) for m in (np.eye(K) if M is None else M)], axis=2)
        n, L = along.shape[:2]
        D, found = along if M is None else along @ M.T, np.empty((L, self.size, self.size))
        if K == 1:
            found[:, :p, :p] = self.rows.grams(D.reshape(n, L))
        else:
            j, k = np.triu_indices(K)
            grams = self.rows.grams(D[:, :, j, k].reshape(n, -1)).reshape(L, -1, p, p)
            inner = found[:, :slopes, :slopes].reshape(L, p, K, p, K)  # on the same memory
            inner[:, :, j, :, k] = inner[:, :, k, :, j] = grams.transpose(1, 0, 2, 3)
        if Q is not None:
            flat = along.reshape(-1, self.width) @ Q
            border = self.rows.backward(flat.reshape(n, -1)).reshape(p, L, -1)
            border = border.transpose(1, 0, 2).reshape(L, slopes, -1)
            if M is None:
                corner = along.sum(axis=0) @ Q
            else:
                corner = np.stack([curved(q).sum(axis=0) for q in Q.T], axis=2)
            found[:, :slopes, slopes:] = border
            found[:, slopes:, :slopes] = border.transpose(0, 2, 1)
            found[:, slopes:, slopes:] = Q.T @ corner
        return found

    def diagonal(self, at: LossAt, weights: Array) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ²."""
        column = weights[:, None]
        along = np.eye(self.width) if self.spread is None else self.spread.T
        curvature = column * at.quadratic_forms(along)
        diagonal = self.rows.squared_backward(curvature).ravel()
        if self.Q is None:
            return diagonal
        return np.concatenate([diagonal, np.sum(column * at.quadratic_forms(self.Q), axis=0)])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "last": None}


class Images:
    """z = Z c, with Z of shape (n·K, m): what a few columns of coefficients give on every row."""

    touches = 0.0
    grams = 0

    def __init__(self, Z: Array, outputs: int) -> None:
        self.Z, self.width = Z, outputs
        self.n, self.size = Z.shape[0] // outputs, Z.shape[1]
        self.last: tuple[Array, Array] | None = None

    def forward(self, c: Array) -> Array:
        z = self.Z @ c
        return z if self.width == 1 else z.reshape(-1, self.width)

    def backward(self, r: Array) -> Array:
        return np.asarray(self.Z.T @ r.ravel())

    def hessian(self, at: LossAt, weights: Array) -> Array:
        return at.gram(self.Z, weights)

    def diagonal(self, at: LossAt, weights: Array) -> Array:
        return np.diag(self.hessian(at, weights))


Design = Predictor | Images


class ScoresTerm(Protocol):
    """A data term at one z = design(x), as a function of z. Directions are like z.

    Of one output v may be (n, m), for m directions.

    grams    what `hessian` costs, in those of the design
    passes   what `diagonal` costs
    """

    grams: float
    passes: float

    @property
    def value(self) -> float: ...
    @property
    def slope(self) -> Array: ...
    @property
    def curvature_bound(self) -> Array:
        """w, (n,), with −diag(w) ⪯ ∂²L/∂z² ⪯ diag(w)."""

    @property
    def mean_curvature(self) -> float:
        """The mean of ∂²L/∂z² over rows and columns of z, for weights of mean 1."""

    def hvp(self, v: Array) -> Array:
        """∂²L/∂z² v."""

    def third(self, u: Array, v: Array) -> Array:
        """d/dt ∂²L/∂z²(z + tu) v; u is one direction."""

    def hessian(self, design: Any) -> Array:
        """Aᵀ ∂²L/∂z² A, dense, the intercept included."""

    def diagonal(self, design: Any) -> Array:
        """Of that matrix."""


class RowSum:
    """L = Σᵢ sᵢ loss(yᵢ, zᵢ)."""

    grams, passes = 1.0, 0.5

    def __init__(self, loss: LossAt, weights: Array) -> None:
        self.loss, self._weights = loss, weights

    def _weighted(self, v: Array) -> Array:
        return np.asarray((v.T * self._weights).T)

    @property
    def value(self) -> float:
        return float(np.sum(self._weights * self.loss.value))

    @cached_property
    def slope(self) -> Array:
        return self._weighted(self.loss.slope)

    @property
    def curvature_bound(self) -> Array:
        return self._weights * self.loss.curvature_bound

    @property
    def mean_curvature(self) -> float:
        width = self.slope[0].size
        forms = self.loss.quadratic_forms(np.eye(width)) @ np.full(width, 1.0 / width)
        return float(self._weights @ forms / self._weights.sum())

    def hvp(self, v: Array) -> Array:
        return self._along(self.loss.hvp, v)

    def third(self, u: Array, v: Array) -> Array:
        return self._along(partial(self.loss.third, u), v)

    def _along(self, curved: Callable[[Array], Array], v: Array) -> Array:
        if v.ndim == self.slope.ndim:
            return self._weighted(curved(v))
        return np.asarray((self._weighted(curved(np.ones(len(v)))) * v.T).T)

    def hessian(self, design: Any) -> Array:
        return np.asarray(design.hessian(self.loss, self._weights))

    def diagonal(self, design: Any) -> Array:
        return np.asarray(design.diagonal(self.loss, self._weights))


def picked(y: npt.NDArray[Any], targets: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Some columns of y; one of them is flat, as a loss of one output takes it."""
    if y.ndim == 1:
        return y
    return y[:, targets[0]] if targets.size == 1 else y[:, targets]


@dataclass(eq=False)
class DataTerm:
    """Σᵢ sᵢ loss(yᵢ, zᵢ) with z = design(x).

    Every product is charged here, so that a training and a held-out term may share their rows,
    each with zero weight on the other's.
    """

    design: Any
    loss: Loss | OuterLoss
    y: npt.NDArray[Any]
    weights: Array
    charge: Charge

    # A sum over rows, each with a loss of its own: any part of them can be taken by itself.
    row_by_row: ClassVar[bool] = True

    def seen_by(self, design: Design) -> DataTerm:
        """The same rows and loss with another way from x to z."""
        return replace(self, design=design)

    def softened(self) -> DataTerm | None:
        """The same rows with a softer loss, where there is one."""
        loss = softened(self.loss)
        return None if loss is None else replace(self, loss=loss)

    def of_targets(self, targets: npt.NDArray[np.intp], design: Predictor) -> DataTerm:
        """The same rows with some of the targets."""
        return replace(self, design=design, y=picked(self.y, targets))

    def at(self, x: Array) -> DataTermAt:
        return DataTermAt(self, x.copy())  # the caller may change his x; later results must not

    def at_scores(self, z: Array) -> ScoresTerm:
        """The term as a function of z; nothing is charged."""
        return RowSum(cast(LossAt, self.loss.at(self.y, z)), self.weights)

    def predict(self, x: Array) -> Array:
        """z at x, which the other term of these rows may have computed already."""
        last: tuple[Array, Array] | None = self.design.last
        if last is not None and np.array_equal(last[0], x):
            return last[1]
        z = self.forward(x)
        self.design.last = (x, z)
        return z

    def forward(self, v: Array) -> Array:
        self._spend(0.5)
        return np.asarray(self.design.forward(v))

    def backward(self, r: Array) -> Array:
        self._spend(0.5)
        return np.asarray(self.design.backward(r))

    @property
    def total_weight(self) -> float:
        """Σᵢ sᵢ."""
        return float(self.weights.sum())

    def _spend(self, passes: float, grams: float = 0.0) -> None:
        """For products with the rows, and AᵀDA over them, one for each pair of outputs."""
        if self.design.touches:
            self.charge(passes, grams)

    @property
    def quadratic(self) -> bool:
        return cast(Loss, self.loss).constant_hessian

    @property
    def convex(self) -> bool:
        return cast(Loss, self.loss).convex

    @cached_property
    def squared_norms(self) -> Array:
        """‖aᵢ‖², the 1 of the intercept included; computed once, for half a pass."""
        rows = self.design.rows
        if "squared_norms" not in rows.__dict__:
            self.charge(0.5)
        return np.asarray(rows.squared_norms + (0.0 if self.design.Q is None else 1.0))

    @cached_property
    def constant_gram(self) -> Array:
        """∇² of a loss of constant curvature for one output: it depends neither on x nor on λ."""
        self._spend(0.0, 1.0)
        nothing = np.zeros(1) if self.design.width == 1 else np.zeros((1, self.design.width))
        curvature = float(cast(Loss, self.loss).at(nothing, nothing).curvature_bound[0])
        return np.asarray(self.design.gram(curvature * self.weights))

    @cached_property
    def radius(self) -> float:
        """R: along a unit step in x the log of every curvature changes by at most R."""
        counted = self.squared_norms[self.weights > 0]
        return self.loss.self_concordance * float(np.sqrt(counted.max(initial=0.0)))

    @cached_property
    def frobenius(self) -> float:
        """‖A‖_F over the rows that count."""
        return float(np.sqrt(np.sum(self.squared_norms[self.weights > 0])))


class DataTermAt:
    """The data term at one x; z is computed once and shared by all that follows."""

    def __init__(self, term: DataTerm, x: Array) -> None:
        self.term, self.x = term, x

    @cached_property
    def scores(self) -> Any:
        """The term as a function of z, a ScoresTerm."""
        return self.term.at_scores(self.term.predict(self.x))

    @property
    def loss(self) -> LossAt:
        """That of the rows, where each has one."""
        return cast(LossAt, self.scores.loss)

    @cached_property
    def value(self) -> float:
        return float(self.scores.value)

    @property
    def slope(self) -> Array:
        return np.asarray(self.scores.slope)

    @cached_property
    def gradient(self) -> Array:
        return self.term.backward(self.slope)

    def hvp(self, v: Array) -> Array:
        """∇² v = Aᵀ ∂²L/∂z² A v."""
        return self.term.backward(self.row_hvp(v))

    def row_hvp(self, v: Array) -> Array:
        """∂²L/∂z² A v, like z."""
        return np.asarray(self.scores.hvp(self.term.forward(v)))

    @cached_property
    def hessian(self) -> Array:
        """∇², dense."""
        self.term._spend(0.0, self.scores.grams * self.term.design.grams)
        return np.asarray(self.scores.hessian(self.term.design))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of ∇²."""
        self.term._spend(self.scores.passes)
        return np.asarray(self.scores.diagonal(self.term.design))

    @property
    def mean_curvature(self) -> float:
        """The mean of loss″ over rows and columns of z."""
        return float(self.scores.mean_curvature)

    @cached_property
    def curvature_trace(self) -> float:
        """Σᵢ sᵢ ‖lossᵢ″‖ ‖aᵢ‖² ≥ ‖∇²‖."""
        return float(np.sum(self.scores.curvature_bound * self.term.squared_norms))
