"""The data term Σᵢ sᵢ loss(yᵢ, zᵢ) with z linear in x, and the two ways from x to z."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses import Loss, LossAt, OuterLoss
from hoag._glm.losses.base import softened
from hoag._glm.rows import Rows
from hoag._glm.scores import AtScores, RowByRow

# Called with the number of passes that some work cost, and of Gram matrices.
Charge = Callable[..., None]


class Design(Protocol):
    """x ↦ z and back. `size` is that of x; z has shape (n,) for one column, else (n, width).

    `touches` is how many passes over the data one product with it and one back are: 1, or 0 where
    the images of a small space are at hand.
    """

    n: int
    size: int
    width: int
    touches: float

    @property
    def grams(self) -> int: ...
    def forward(self, x: Array) -> Array: ...
    def backward(self, r: Array) -> Array: ...
    def hessian(self, at: LossAt, weights: Array) -> Array: ...
    def diagonal(self, at: LossAt, weights: Array) -> Array: ...


class Predictor:
    """z = A W + 1 (Q b)ᵀ for x = (W, b): W of shape (d, K) row by row, then the intercepts b.

    Q is the identity for one output and for several targets. The K intercepts of a multinomial
    model are determined only up to a common shift, so there Q is an orthonormal basis of the
    vectors that sum to zero, shape (K, K − 1), and the Hessian stays positive definite.

    With a `spread` M, of shape (outputs, width), it is z = A W M + 1 (Q b)ᵀ: the slopes of ordered
    classes are the same at all thresholds, M = (1 … 1), and the spread of residuals has none,
    M = (1 0).

    The z of the last x is remembered, for the two data terms that share these rows.
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
        inner = self.rows.gram(d)
        if self.Q is None:
            return inner
        whole = np.empty((self.features + 1, self.features + 1))
        whole[:-1, :-1] = inner
        whole[-1, :-1] = whole[:-1, -1] = self.rows.backward(d)
        whole[-1, -1] = np.sum(d)
        return whole

    def hessian(self, at: LossAt, weights: Array) -> Array:
        """Aᵀ diag(s ∂²loss/∂z_k∂z_l) A for every pair of outputs, in the order of x."""
        if self.width == 1:
            return self.gram(weights * at.curve(np.ones(self.n)))
        if self.spread is not None:
            return self._spread_hessian(at, weights, self.spread)
        K, width = self.outputs, self.features + (self.Q is not None)
        whole = np.empty((width, K, width, K))
        for k, unit in enumerate(np.eye(K)):
            column = weights[:, None] * at.curve(np.tile(unit, (self.n, 1)))
            for l in range(k + 1):  # noqa: E741
                whole[:, k, :, l] = whole[:, l, :, k] = self.gram(column[:, l])
        return np.asarray(self.in_order(whole[None])[0])

    def _spread_hessian(self, at: LossAt, weights: Array, spread: Array) -> Array:
        """The same for slopes that all columns of z share: one Gram matrix and its border."""
        (along,), column = spread, weights[:, None]
        bent = column * at.curve(np.tile(along, (self.n, 1)))
        inner = self.rows.gram(bent @ along)
        if self.Q is None:
            return inner
        levels = [np.sum(column * at.curve(np.tile(q, (self.n, 1))), axis=0) for q in self.Q.T]
        border = self.rows.backward(bent @ self.Q)
        corner = self.Q.T @ np.stack(levels, axis=1)
        return np.block([[inner, border], [border.T, corner]])

    def in_order(self, whole: Array) -> Array:
        """∇² in the order of x, (m, size, size), from m of shape (width, K, width, K).

        Those have a column of ones last, where there are intercepts, and all K of these.
        """
        many, p, size, K = len(whole), self.features, self.slopes, self.outputs
        if self.Q is None:
            return whole.reshape(many, size, size)
        found = np.empty((many, self.size, self.size))
        found[:, :size, :size] = whole[:, :p, :, :p, :].reshape(many, size, size)
        border = whole[:, :p, :, p, :].reshape(many, size, K) @ self.Q
        found[:, :size, size:], found[:, size:, :size] = border, border.transpose(0, 2, 1)
        found[:, size:, size:] = self.Q.T @ whole[:, p, :, p, :] @ self.Q
        return found

    def diagonal(self, at: LossAt, weights: Array) -> Array:
        """Σᵢ sᵢ lossᵢ″ aᵢⱼ²."""
        column = weights[:, None]
        along = np.eye(self.width) if self.spread is None else self.spread.T
        curvature = column * at.forms(along)
        diagonal = self.rows.squared_backward(curvature).ravel()
        if self.Q is None:
            return diagonal
        return np.concatenate([diagonal, np.sum(column * at.forms(self.Q), axis=0)])

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


def picked(y: npt.NDArray[Any], targets: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Some columns of y; one of them is flat, as a loss of one output takes it."""
    if y.ndim == 1:
        return y
    return y[:, targets[0]] if targets.size == 1 else y[:, targets]


class DataTerm:
    """Σᵢ sᵢ loss(yᵢ, zᵢ) with z = design(x).

    Every product is charged here, so that a training and a held-out term may share their rows,
    each with zero weight on the other's.
    """

    # A sum over rows, each with a loss of its own: any part of them can be taken by itself.
    row_by_row = True

    def __init__(
        self,
        design: Any,
        loss: Loss | OuterLoss,
        y: npt.NDArray[Any],
        weights: Array | None,
        charge: Charge,
    ) -> None:
        self.design, self.loss, self.y, self.charge = design, loss, y, charge
        self.weights = np.ones(design.n) if weights is None else weights
        self.row_weights = self.weights if design.width == 1 else self.weights[:, None]

    def seen_by(self, design: Design) -> DataTerm:
        """The same rows and loss with another way from x to z."""
        return DataTerm(design, self.loss, self.y, self.weights, self.charge)

    def softened(self) -> DataTerm | None:
        """The same rows with a softer loss, where there is one."""
        loss = softened(self.loss)
        if loss is None:
            return None
        return DataTerm(self.design, loss, self.y, self.weights, self.charge)

    def of_targets(self, targets: npt.NDArray[np.intp], design: Predictor) -> DataTerm:
        """The same rows with some of the targets."""
        return DataTerm(design, self.loss, picked(self.y, targets), self.weights, self.charge)

    def at(self, x: Array) -> DataTermAt:
        return DataTermAt(self, x.copy())  # the caller may change his x; later results must not

    def at_scores(self, z: Array) -> AtScores:
        """The term as a function of z, for one output; nothing is charged."""
        return RowByRow(cast(LossAt, self.loss.at(self.y, z)), self.weights)

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

    def _spend(self, passes: float) -> None:
        if self.design.touches:
            self.charge(passes)

    @property
    def quadratic(self) -> bool:
        return self.loss.self_concordance == 0

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
        self._spend_gram()
        nothing = np.zeros(1) if self.design.width == 1 else np.zeros((1, self.design.width))
        curvature = float(cast(Loss, self.loss).at(nothing, nothing).ceiling[0])
        return np.asarray(self.design.gram(curvature * self.weights))

    def _spend_gram(self, grams: int = 1) -> None:
        """AᵀDA over the rows, one for each pair of outputs."""
        if self.design.touches:
            self.charge(0.0, grams)

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
    def loss(self) -> LossAt:
        term = self.term
        return cast(LossAt, term.loss.at(term.y, term.predict(self.x)))

    @cached_property
    def value(self) -> float:
        return float(np.sum(self.term.weights * self.loss.value))

    @cached_property
    def slope(self) -> Array:
        return self.term.row_weights * self.loss.slope

    @cached_property
    def gradient(self) -> Array:
        return self.term.backward(self.slope)

    def curve(self, v: Array) -> Array:
        """∇² v = Aᵀ (s · loss″ · A v)."""
        return self.term.backward(self.bend(v))

    def bend(self, v: Array) -> Array:
        """s · loss″ · A v."""
        return self.term.row_weights * self.loss.curve(self.term.forward(v))

    @cached_property
    def hessian(self) -> Array:
        """∇², dense."""
        self.term._spend_gram(self.term.design.grams)
        return np.asarray(self.term.design.hessian(self.loss, self.term.weights))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of ∇²; half a pass."""
        self.term._spend(0.5)
        return np.asarray(self.term.design.diagonal(self.loss, self.term.weights))

    @property
    def mean_curvature(self) -> float:
        """The mean of loss″ over rows and columns of z."""
        width, weights = self.term.design.width, self.term.weights
        forms = self.loss.forms(np.eye(width)) @ np.full(width, 1.0 / width)
        return float(weights @ forms / weights.sum())

    @cached_property
    def curvature_trace(self) -> float:
        """Σᵢ sᵢ ‖lossᵢ″‖ ‖aᵢ‖² ≥ ‖∇²‖."""
        return float(np.sum(self.term.weights * self.loss.ceiling * self.term.squared_norms))
