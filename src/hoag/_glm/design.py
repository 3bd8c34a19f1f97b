"""The rows of K folds, whatever holds them: what criteria may ask of all folds in one pass.

    h_k(x) = L_k(x) + penalty,   L_k = Σᵢ sᵢ loss(yᵢ, zᵢ) over the rows that fold k trains on
    g_k(x) = Σᵢ s′ᵢ loss′(yᵢ, zᵢ) over those that it holds out

Everything is asked at K different x, one for each fold, (K, size), and one pass over the rows
answers for all of them. Where terms are sums over rows (`RowwiseDesign`) the rows fall into B
cells, which every fold treats alike: five for five folds. What a fold sums over its training rows
it sums over cells, so one Gram matrix for each cell does for all folds.

`hoag._glm.in_memory`, `partitioned` and `coupled` are those there are: arrays, which are one
partition, partitions that are gone through one after another, and losses that compare rows with
each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._core.storable import storable
from hoag._glm.losses import Loss, OuterLoss
from hoag._glm.losses.base import one_loss
from hoag._glm.moments import Moments
from hoag._glm.rows import CellRows, Rows
from hoag._glm.term import Predictor
from hoag.problems import Ledger

if TYPE_CHECKING:
    from hoag._glm.model import LinearModel


@storable
class Sums(NamedTuple):
    """What one pass over all rows finds at x₁ … x_K, one for each of K folds."""

    value: Array  # L_k, (K,)
    gradient: Array  # ∇L_k, (K, size)
    g: Array  # g_k, (K,)
    g_x: Array  # ∇g_k, (K, size)
    hvp: Array  # ∇²L_k times the directions that were given, (K, size)
    hessian: Array  # the whole of ∇²L_k, where it is asked for, (K, size, size)


class FoldedHessian(NamedTuple):
    """∇²L_k of all folds at some x, by products: V ↦ ∇²L_k v_k, (K, size), in one pass."""

    times: Callable[[Array], Array]


class FoldedDesign(ABC):
    """The rows of K folds of one model.

    predictor   how x is laid out, and z made of it
    ledger      where products, Gram matrices and passes over out-of-core data are counted
    """

    predictor: Predictor
    ledger: Ledger

    @property
    @abstractmethod
    def folds(self) -> int: ...

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def rows(self) -> list[Rows]:
        """All of them, in one set or in several."""

    @property
    @abstractmethod
    def weights(self) -> Array:
        """Sums of the weights of disjoint sets of rows, which are all that folds use."""

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in this process's memory."""
        return True

    @abstractmethod
    def like(self, models: Sequence[LinearModel]) -> FoldedDesign | None:
        """That of other folds of the same model, counted in the account of the first."""

    @abstractmethod
    def on(self, rows: Sequence[Rows]) -> FoldedDesign:
        """The same folds with their rows in another basis."""

    @abstractmethod
    def softened(self) -> FoldedDesign | None:
        """The same rows with a softer loss to fit by, where there is one."""

    @abstractmethod
    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        """Losses and gradients of every fold at its own x, (K, size), in one pass over the rows.

        With T, (K, size), also ∇²L times it; with `curved` all of that matrix. Without `valued`
        the training losses are left out, which take as long as all their slopes.
        """

    @abstractmethod
    def hessian_at(self, X: Array) -> FoldedHessian:
        """∇²L of every fold at its x, by products."""

    @abstractmethod
    def diagonals(self, X: Array) -> Array:
        """The diagonal of that ∇²L, (K, size)."""

    @abstractmethod
    def held(self, k: int, X: Array) -> Array:
        """g of fold k at many x, (N,)."""

    @abstractmethod
    def second_order(self, X: Array, Q: Array, T: Array) -> Array:
        """Σ_k T_kᵀ(∇²g_k − D³L_k[q_k])T_k at x_k, T of shape (K, size, s): (s, s).

        D³L[q] is the derivative of ∇²L along q.
        """


@dataclass(frozen=True, eq=False)
class RowwiseDesign(FoldedDesign):
    """Terms that are sums over rows, each with a loss of its own, in B cells.

    train, test   (K, B): whether a fold trains on a cell, and holds it out
    loss, outer   those of L and of g

    What is asked of all rows is asked of those in memory, `InMemoryDesign`, and added by `_total`.
    """

    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]
    loss: Loss
    outer: OuterLoss
    predictor: Predictor
    ledger: Ledger = field(default_factory=Ledger, kw_only=True)

    @abstractmethod
    def _total(self, ask: Callable[[Any], Any]) -> Any:
        """Σ of what is asked of designs of rows in memory; it counts nothing but the reading."""

    @cached_property
    def alike(self) -> bool:
        """Whether rows are fitted and judged by one loss."""
        return one_loss(self.loss, self.outer)

    @property
    def folds(self) -> int:
        return len(self.train)

    def like(self, models: Sequence[LinearModel]) -> RowwiseDesign | None:
        found = models[0].folded(models)
        return None if found is None else replace(found, ledger=models[0].ledger)

    @property
    @abstractmethod
    def counts(self) -> npt.NDArray[np.intp]:
        """How many rows each cell has, (B,)."""

    def of_folds(self, train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Self:
        """The same rows for other folds."""
        return replace(self, train=train, test=test)

    @abstractmethod
    def of_targets(self, targets: npt.NDArray[np.intp]) -> RowwiseDesign:
        """The same rows with some of their targets, and what is spent on them counted apart."""

    @abstractmethod
    def sampled(self, rows: int, seed: int) -> RowwiseDesign:
        """On about so many rows, in memory, and weights that sum to the same in each cell."""

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        constant = self.loss.constant_hessian
        found: Sums = self._total(methodcaller("row_sums", X, T, curved and not constant, valued))
        judged = 0.5 * float((self.test @ self.counts).sum()) / max(self.n, 1)
        passes = self.folds * (1.0 if T is None else 2.0)
        self.ledger.charge(passes=passes, held_out=judged)
        if not curved:
            return found
        if constant:
            return found._replace(hessian=self.hessian_of_squares)
        self._charge_grams(self.folds)
        return found

    @cached_property
    def hessian_of_squares(self) -> Array:
        """∇² of every fold's squared loss, which is the same at every x, (K, size, size)."""
        self._charge_grams(self.folds)
        nowhere = np.zeros(self.predictor.size)
        cells = self._total(methodcaller("row_expanded", nowhere, True))[2]
        return np.tensordot(self.train.astype(float), cells, axes=1)

    def held(self, k: int, X: Array) -> Array:
        share = float(self.test[k] @ self.counts) / max(self.n, 1)
        self.ledger.charge(held_out=0.5 * len(X) * share)
        return np.asarray(self._total(methodcaller("row_held", k, X)))

    def second_order(self, X: Array, Q: Array, T: Array) -> Array:
        self.ledger.charge(passes=self.folds * (2.0 + T.shape[2]))
        return np.asarray(self._total(methodcaller("row_second_order", X, Q, T)))

    def expanded(self, x: Array, curved: bool = True) -> tuple[Array, Array, Array]:
        """At one x for all: value (B,), gradient (B, size) and ∇² (B, size, size) of each cell."""
        self.ledger.charge(passes=1.0)
        if curved:
            self._charge_grams(1)
        found: tuple[Array, Array, Array] = self._total(methodcaller("row_expanded", x, curved))
        return found

    @property
    @abstractmethod
    def centre(self) -> tuple[Array, Array]:
        """About where a and y are, for squares to be formed about; 0 for a of sparse rows."""

    def moments(self, a: Array, y: Array) -> tuple[Moments, ...]:
        """Those of every cell, about some centre."""
        self.ledger.charge(grams=1.0)
        return tuple(self._total(methodcaller("row_moments", a, y)))

    @abstractmethod
    def cells(self) -> Iterator[CellRows]:
        """All rows that any fold uses, some of one cell at a time."""

    def centred(self, a: Array, y: Array) -> Iterator[CellRows]:
        """The rows less some centre."""
        moved = bool(np.any(a))
        for some in self.cells():
            A = some.A - a if moved else some.A
            yield CellRows(some.cell, A, some.y.reshape(len(some.y), -1) - y, some.weights)

    def _charge_grams(self, grams: int) -> None:
        self.ledger.charge(grams=float(grams * self.predictor.grams))
