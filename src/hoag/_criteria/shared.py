"""What criteria have in common that take all folds of one model together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic

import numpy as np

from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import Criterion
from hoag._glm.design import Sums
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, QuadraticForm, of_folds
from hoag._glm.span import D, Span
from hoag._glm.term import Predictor
from hoag._linalg.cholesky import Factor, factors
from hoag._linalg.operator import Inverse
from hoag.problems import Counted


class SharedFolds(Criterion, Generic[D]):
    """f = Σ_k f_k for folds on shared rows, with a penalty Σⱼ exp(λⱼ) ½xᵀSⱼx that is theirs all.

    models   one for each fold
    plain    makes another criterion of the same f, which bounds the error of p if that is asked for
    several  an evaluation's x is a tuple, one for each fold; else that of the only one
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: D,
        plain: Callable[[], Criterion],
        several: bool = True,
    ) -> None:
        self.models, self.design, self._plain, self.several = models, design, plain, several
        self._ledger = design.ledger

    @cached_property
    def span(self) -> Span:
        """The basis that groups of more columns than rows are written in."""
        return Span.of(self.models[0], self.design)

    @cached_property
    def work(self) -> D:
        """The rows in that basis."""
        return self.span.written(self.design)

    @cached_property
    def penalties(self) -> list[Penalty]:
        """Those of all folds in that basis."""
        return [self.span.penalty(model) for model in self.models]

    @property
    def _predictor(self) -> Predictor:
        """How the x of a fold is laid out."""
        return self.design.predictor

    @cached_property
    def plain(self) -> Criterion:
        return self._plain()

    @property
    def lam0(self) -> Array:
        return self.models[0].lam0

    @property
    def shift(self) -> float:
        return of_folds([self.models[0].penalty]).shift

    @property
    def bend(self) -> float:
        """loss″ of a squared loss: 1 for the usual ½(y − z)²."""
        loss = self.models[0].train.loss
        assert isinstance(loss, Squared)
        return 2 * loss.scale

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.plain.outer_lipschitz()

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        if not bound:
            return replace(found, cost=Cost())
        other = self.plain.evaluate(found.lam, Ask(0.0))
        known = self.plain.certify(other, True)
        apart = float(np.linalg.norm(known.grad - found.grad))
        return replace(found, bound=known.bound + apart, cost=other.cost + known.cost)

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return found.x if found.x is not None else self._as_asked(self._each(found.warm.X)), Cost()

    def _each(self, X: Array) -> list[Array]:
        """The x of every fold as its model lays it out."""
        return list(X)

    def _as_asked(self, X: Sequence[Array] | Array) -> Any:
        return tuple(X) if self.several else X[0]

    def _penalty(self, lam: Array) -> QuadraticForm:
        """S(λ) of all folds, for x as models lay it out."""
        return of_folds([model.penalty for model in self.models]).at(lam)

    def _factors(self, M: Array, lam: Array) -> list[Factor]:
        """One for each of some matrices M_k; size³/3 operations each."""
        self._ledger.charge(grams=len(M) * M.shape[-1] / (6.0 * self.design.n))
        return factors(M, lam)

    def _covers(self, whole: LinearModel) -> bool:
        """Whether the folds use all rows of the model that is fitted last."""
        total = whole.train.total_weight
        return abs(float(self.design.weights.sum()) - total) <= EXACT * total

    def _closed(
        self,
        found: Evaluation,
        before: Cost,
        X: Array,
        at: Sums,
        folds: Array,
        error: float,
        tol: float,
    ) -> Evaluation:
        """What was found, with f as it was computed in the end; `before` is the cost until then."""
        value = float(folds.sum())
        rounding = ROUNDING * abs(value)
        return replace(
            found,
            value=value,
            g=float(at.g.sum()),
            f_error=error + rounding,
            x=self._as_asked(self._each(X)),
            folds=folds,
            cost=self._ledger.cost - before,
            converged=error <= max(tol, rounding),
        )


def polished(whole: LinearModel, lam: Array, x: Array, inverse: Inverse) -> tuple[Solve, Cost]:
    """x ← x − ∇²₁h⁻¹∇₁h on the rows as they are given, while that halves ∇₁h; and its cost."""
    counted = Counted(whole)
    size = float(np.linalg.norm(counted.at(np.zeros(x.size), lam).h_x))
    residual, k = np.inf, 0
    while True:
        r = counted.at(x, lam).h_x
        last, residual = residual, float(np.linalg.norm(r))
        if residual <= ROUNDING * size or residual > 0.5 * last:
            return Solve(x, residual, k, "precision"), counted.cost
        x, k = x - inverse(r), k + 1
