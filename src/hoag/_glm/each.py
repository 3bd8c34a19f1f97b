"""The folds of one model, each asked for its own terms: as hoag._glm.blocks by parts of rows.

For terms that are no sum over rows, of which no part can be taken by itself. The scores of all
folds are still one product with the rows, and so are their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hoag._core.numeric import Array
from hoag._glm.blocks import Sums
from hoag._glm.model import LinearModel
from hoag._glm.rows import Rows
from hoag._glm.scores import AtScores
from hoag._glm.term import DataTerm, Predictor
from hoag.problems import Ledger


@dataclass(frozen=True, eq=False)
class Each:
    """K folds on one matrix, of one output.

    dual   `Sums.hessian` holds C = ∂²L/∂z², (K, n, n), in place of ∇² = AᵀCA
    """

    train: list[DataTerm]
    test: list[DataTerm]
    design: Predictor
    dual: bool = False
    ledger: Ledger = field(default_factory=Ledger)

    @staticmethod
    def of(models: Sequence[LinearModel], dual: bool = False) -> Each | None:
        """None where folds have rows of their own, or several outputs."""
        train, test = [m.train for m in models], [m.test for m in models]
        rows, design = train[0].design.rows, train[0].design
        if design.width > 1 or any(term.design.rows is not rows for term in train + test):
            return None
        return Each(train, test, design, dual)

    def like(self, models: Sequence[LinearModel]) -> Each | None:
        """Those of other folds of the same model, counted in the account of the first."""
        found = Each.of(models, self.dual)
        return None if found is None else replace(found, ledger=models[0].ledger)

    def softened(self) -> Each | None:
        """None: losses of rows that are compared with each other have no need of it."""
        return None

    @property
    def rows(self) -> list[Rows]:
        return [self.design.rows]

    def on(self, rows: Sequence[Rows]) -> Each:
        """The same folds with their rows in another basis."""
        return replace(self, design=Predictor(rows[0], 1, self.design.Q))

    @property
    def weights(self) -> Array:
        """Σ of what counts in g of each fold, (K,)."""
        return np.array([term.weights.sum() for term in self.test])

    @property
    def folds(self) -> int:
        return len(self.train)

    @property
    def n(self) -> int:
        return int(self.design.n)

    def scores(self, X: Array) -> Array:
        """z of many x, (N, size): (n, N)."""
        design = self.design
        z = design.rows.forward(np.ascontiguousarray(X[:, : design.slopes].T))
        return z if design.Q is None else z + X[:, -1]

    def gathered(self, R: Array) -> Array:
        """Aᵀr of many r, (n, N): (N, size)."""
        flat = self.design.rows.backward(R).T
        if self.design.Q is None:
            return np.ascontiguousarray(flat)
        return np.concatenate([flat, R.sum(axis=0)[:, None]], axis=1)

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        """As hoag._glm.blocks.Blocks.sums has them."""
        K, Z = self.folds, self.scores(X)
        fits = [term.at_scores(Z[:, k]) for k, term in enumerate(self.train)]
        judges = [term.at_scores(Z[:, k]) for k, term in enumerate(self.test)]
        slopes = [at.slope for at in fits] + [at.slope for at in judges]
        self.ledger.charge(passes=float(K), held_out=0.5 * K)
        bent, hessian = np.empty((K, 0)), np.empty(0)
        if T is not None:
            slopes += [at.curve(t) for at, t in zip(fits, self.scores(T).T, strict=True)]
            self.ledger.charge(passes=float(K))
        both = self.gathered(np.stack(slopes, axis=1))
        if T is not None:
            bent = both[2 * K :]
        if curved:
            hessian = np.stack([self._bend(at) for at in fits])
        return Sums(
            np.array([at.value for at in fits]) if valued else np.zeros(K),
            both[:K],
            np.array([at.value for at in judges]),
            both[K : 2 * K],
            bent,
            hessian,
        )

    def _bend(self, at: AtScores) -> Array:
        if self.dual:
            return at.curve(np.eye(self.n))
        self.ledger.charge(grams=at.grams)
        return at.hessian(self.design)

    def bends_at(self, X: Array) -> EachBends:
        """∇² of the training term of every fold at its x, by products."""
        Z = self.scores(X)
        self.ledger.charge(passes=0.5 * self.folds)
        return EachBends(self, [term.at_scores(Z[:, k]) for k, term in enumerate(self.train)])

    def held(self, k: int, X: Array) -> Array:
        """g of fold k at many x, (N,)."""
        self.ledger.charge(held_out=0.5 * len(X))
        return np.array([self.test[k].at_scores(z).value for z in self.scores(X).T])

    def bent(self, X: Array, Q: Array, T: Array) -> Array:
        """Σ_k T_kᵀ(∇²g_k − D³L_k[q_k])T_k at x_k, T of shape (K, size, s): (s, s)."""
        K, s = self.folds, T.shape[2]
        Z, U, total = self.scores(X), self.scores(Q), np.zeros((s, s))
        for k in range(K):
            V = self.scores(T[k].T)
            fit, judge = (terms[k].at_scores(Z[:, k]) for terms in (self.train, self.test))
            total += V.T @ (judge.curve(V) - fit.third(U[:, k], V))
        self.ledger.charge(passes=K * (1.0 + 0.5 * s))
        return total


class EachBends:
    """H_k v_k for all folds."""

    def __init__(self, each: Each, fits: Sequence[AtScores]) -> None:
        self._each, self._fits = each, fits

    def times(self, V: Array) -> Array:
        """(K, size), one pass of all folds."""
        each = self._each
        bent = [at.curve(z) for at, z in zip(self._fits, each.scores(V).T, strict=True)]
        each.ledger.charge(passes=float(each.folds))
        return each.gathered(np.stack(bent, axis=1))
