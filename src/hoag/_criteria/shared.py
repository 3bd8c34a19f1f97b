"""What criteria have in common that take all folds of one model together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, of_folds
from hoag._glm.span import D, Span


class SharedFolds(Criterion, Generic[D]):
    """f = Σ_k f_k for folds on shared rows, with a penalty Σⱼ exp(λⱼ) ½xᵀSⱼx that is theirs all.

    models   one for each fold
    plain    makes another criterion of such models, which bounds the error of p where that is asked
    several  an evaluation's x is a tuple, one for each fold; else that of the only one
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: D,
        plain: Callable[[Sequence[LinearModel]], Criterion],
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

    @cached_property
    def plain(self) -> Criterion:
        return self._plain(self.models)

    @property
    def lam0(self) -> Array:
        return self.models[0].lam0

    @property
    def shift(self) -> float:
        return of_folds([self.models[0].penalty]).shift

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.plain.outer_lipschitz()

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        if not bound:
            return replace(found, cost=Cost())
        other = self.plain.evaluate(found.lam, Ask(0.0))
        known = self.plain.certify(other, True)
        apart = float(np.linalg.norm(known.grad - found.grad))
        return replace(found, bound=known.bound + apart, cost=other.cost + known.cost)

    def _as_asked(self, X: Sequence[Array] | Array) -> Any:
        return tuple(X) if self.several else X[0]
