"""The folds of one model whose terms are no sums over rows, of which no part can be taken alone.

Each fold is asked for its own terms; the scores of all folds are still one product with the rows,
and so are their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hoag._core.numeric import Array
from hoag._glm.design import FoldedDesign, FoldedHessian, Sums
from hoag._glm.rows import Rows
from hoag._glm.term import DataTerm, Predictor, ScoresTerm
from hoag.problems import Ledger

if TYPE_CHECKING:
    from hoag._glm.model import LinearModel


@dataclass(frozen=True, eq=False)
class CoupledDesign(FoldedDesign):
    """K folds on one matrix, of one output, whose rows are compared with each other.

    dual   `Sums.hessian` holds C = ∂²L/∂z², (K, n, n), in place of ∇² = AᵀCA
    """

    train: list[DataTerm]
    test: list[DataTerm]
    predictor: Predictor
    dual: bool = False
    ledger: Ledger = field(default_factory=Ledger)

    @staticmethod
    def of(models: Sequence[LinearModel], dual: bool = False) -> CoupledDesign | None:
        """None where folds have rows of their own, or several outputs."""
        train, test = [m.train for m in models], [m.test for m in models]
        rows, predictor = train[0].design.rows, train[0].design
        if predictor.width > 1 or any(term.design.rows is not rows for term in train + test):
            return None
        return CoupledDesign(train, test, predictor, dual)

    def like(self, models: Sequence[LinearModel]) -> CoupledDesign | None:
        found = CoupledDesign.of(models, self.dual)
        return None if found is None else replace(found, ledger=models[0].ledger)

    def softened(self) -> None:
        """None: losses of rows that are compared with each other have no need of it."""
        return

    @property
    def rows(self) -> list[Rows]:
        return [self.predictor.rows]

    def on(self, rows: Sequence[Rows]) -> CoupledDesign:
        return replace(self, predictor=self.predictor.on(rows[0]))

    @property
    def weights(self) -> Array:
        """Σ of what counts in g of each fold, (K,)."""
        return np.array([term.weights.sum() for term in self.test])

    @property
    def folds(self) -> int:
        return len(self.train)

    @property
    def n(self) -> int:
        return int(self.predictor.n)

    def scores(self, X: Array) -> Array:
        """z of many x, (N, size): (n, N)."""
        predictor = self.predictor
        z = predictor.rows.forward(np.ascontiguousarray(X[:, : predictor.slopes].T))
        return z if predictor.Q is None else z + X[:, -1]

    def gathered(self, R: Array) -> Array:
        """Aᵀr of many r, (n, N): (N, size)."""
        flat = self.predictor.rows.backward(R).T
        if self.predictor.Q is None:
            return np.ascontiguousarray(flat)
        return np.concatenate([flat, R.sum(axis=0)[:, None]], axis=1)

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        K, Z = self.folds, self.scores(X)
        fits, judges = self._at(self.train, Z), self._at(self.test, Z)
        slopes = [at.slope for at in fits] + [at.slope for at in judges]
        self.ledger.charge(passes=float(K), held_out=0.5 * K)
        if T is not None:
            slopes += [at.hvp(t) for at, t in zip(fits, self.scores(T).T, strict=True)]
            self.ledger.charge(passes=float(K))
        gradients = self.gathered(np.stack(slopes, axis=1))
        return Sums(
            np.array([at.value for at in fits]) if valued else np.zeros(K),
            gradients[:K],
            np.array([at.value for at in judges]),
            gradients[K : 2 * K],
            gradients[2 * K :],
            np.stack([self._hessian(at) for at in fits]) if curved else np.empty(0),
        )

    def _at(self, terms: Sequence[DataTerm], Z: Array) -> list[ScoresTerm]:
        """The terms of all folds, each at its own z."""
        return [term.at_scores(z) for term, z in zip(terms, Z.T, strict=True)]

    def _hessian(self, at: ScoresTerm) -> Array:
        if self.dual:
            return at.hvp(np.eye(self.n))
        self.ledger.charge(grams=at.grams)
        return at.hessian(self.predictor)

    def hessian_at(self, X: Array) -> FoldedHessian:
        fits = self._at(self.train, self.scores(X))
        self.ledger.charge(passes=0.5 * self.folds)

        def times(V: Array) -> Array:
            curved = [at.hvp(z) for at, z in zip(fits, self.scores(V).T, strict=True)]
            self.ledger.charge(passes=float(self.folds))
            return self.gathered(np.stack(curved, axis=1))

        return FoldedHessian(times)

    def diagonals(self, X: Array) -> Array:
        fits = self._at(self.train, self.scores(X))
        self.ledger.charge(grams=sum(at.grams for at in fits))
        return np.stack([np.diag(at.hessian(self.predictor)) for at in fits])

    def held(self, k: int, X: Array) -> Array:
        self.ledger.charge(held_out=0.5 * len(X))
        return np.array([self.test[k].at_scores(z).value for z in self.scores(X).T])

    def second_order(self, X: Array, Q: Array, T: Array) -> Array:
        K, s = self.folds, T.shape[2]
        Z, U, total = self.scores(X), self.scores(Q), np.zeros((s, s))
        fits, judges = self._at(self.train, Z), self._at(self.test, Z)
        for k in range(K):
            V = self.scores(T[k].T)
            total += V.T @ (judges[k].hvp(V) - fits[k].third(U[:, k], V))
        self.ledger.charge(passes=K * (1.0 + 0.5 * s))
        return total
