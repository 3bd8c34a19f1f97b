"""What criteria have in common that take all folds of one model, with one penalty, together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hoag.criteria.base import Criterion
from hoag.glm.blocks import Blocks
from hoag.glm.model import LinearModel
from hoag.glm.penalties import Ridge
from hoag.glm.term import Predictor
from hoag.values import EXACT, Array, Ask, Cost, Evaluation


class SharedFolds(Criterion):
    """f = Σ_k f_k for folds on shared rows, with one penalty e^λ ½‖·‖² on all coefficients.

    models   one for each fold, on rows that `blocks` divides
    plain    makes another criterion of the same f, which bounds the error of p if that is asked for
    several  an evaluation's x is a tuple, one for each fold; else that of the only one
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: Blocks,
        plain: Callable[[], Criterion],
        several: bool = True,
    ) -> None:
        self.models, self.blocks, self._plain, self.several = models, blocks, plain, several
        penalty = models[0].penalty
        assert isinstance(penalty, Ridge)
        self._penalty = penalty

    @cached_property
    def plain(self) -> Criterion:
        return self._plain()

    @property
    def lam0(self) -> Array:
        return self.models[0].lam0

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.plain.outer_lipschitz()

    def certified(self, found: Evaluation, bound: bool = False) -> Evaluation:
        if not bound:
            return replace(found, cost=Cost())
        other = self.plain.evaluate(found.lam, Ask(0.0))
        known = self.plain.certified(other, True)
        apart = abs(float(known.grad[0] - found.grad[0]))
        return replace(found, bound=known.bound + apart, cost=other.cost + known.cost)

    def _alpha(self, lam: Array) -> float:
        return float(np.exp(lam[0] - self._penalty.shift))

    def _as_asked(self, X: Sequence[Array] | Array) -> Any:
        return tuple(X) if self.several else X[0]

    def _covers(self, whole: LinearModel) -> bool:
        """Whether the folds use all rows of the model that is fitted last."""
        total = float(whole.train.weights.sum())
        return abs(float(self.blocks.weights.sum()) - total) <= EXACT * total


def shrink(design: Predictor, alpha: float) -> Array:
    """α for the coefficients and 0 for the intercepts, as x is laid out."""
    return np.where(np.arange(design.size) < design.slopes, alpha, 0.0)
