"""A grid of scikit-learn's: every value solved for in every fold, and what its classes say of it.

With F folds, L values of l1_ratios, G values of C, K rows of coef_ and D numbers in each of them,
the intercept last:

    use_legacy_attributes=False   scores_ and n_iter_ (F, L, G), coefs_paths_ (F, L, G, K, D)
    True                          n_iter_ (1, F, G, L), and by class scores_ (F, G, L), coefs_paths_
                                  (F, G, L, D); without L where l1_ratios is not given

There is one model for all l1_ratios, for they are all zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation
from hoag.linear_model._scoring import Judge
from hoag.linear_model._tuning import Attributes


@dataclass(frozen=True, eq=False)
class OverGrid:
    """The λ of a grid, scores of shape (F, G), the models of every fold at each λ, and their cost.

    Without folds F is 1, or with `apart` the number of targets, each of which has its own λ; and
    there are no models.
    """

    lams: Array
    scores: Array
    models: list[list[Attributes]] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)
    apart: bool = False

    @property
    def best(self) -> Array:
        """The λ with the best mean score, the first of equal ones; of each target, if so judged."""
        each = self.scores if self.apart else self.scores.mean(axis=0, keepdims=True)
        return np.asarray(self.lams[_first_best(each)])

    def fold_by_fold(self, inverse: bool) -> tuple[Array, Attributes]:
        """Each fold's best: the λ of the mean of C (or α), and the mean of the models."""
        each = _first_best(self.scores)
        sign = -1.0 if inverse else 1.0
        lam = sign * float(np.log(np.mean(np.exp(sign * self.lams[each]))))
        models = [self.models[g][fold] for fold, g in enumerate(each)]
        lam = float(self.lams[each[0]]) if np.ptp(each) == 0 else lam
        return np.array([lam]), {
            name: np.mean([m[name] for m in models], axis=0) for name in models[0]
        }

    def shaped(
        self,
        legacy: bool,
        intercept: bool,
        l1_ratios: Any,
        classes: npt.NDArray[Any],
        C: float,
        steps: int,
    ) -> dict[str, Any]:
        """C_, l1_ratio_, l1_ratios_, scores_, coefs_paths_, n_iter_."""
        given = l1_ratios is not None and not isinstance(l1_ratios, str)
        ratios = np.asarray(l1_ratios, dtype=float).ravel() if given else np.zeros(1)
        parts = ("coef_", "intercept_") if intercept else ("coef_",)
        own = [[np.column_stack([m[p] for p in parts]) for m in each] for each in self.models]
        paths = np.repeat(np.stack(own, axis=1)[:, None], ratios.size, axis=1)
        scores = np.repeat(self.scores[:, None], ratios.size, axis=1)
        iterations = np.full(scores.shape, steps)
        found = {"C_": C, "l1_ratio_": 0.0, "l1_ratios_": ratios, "scores_": scores}
        found |= {"coefs_paths_": paths, "n_iter_": iterations}
        if not legacy:
            return found
        names = classes[1:] if classes.size == 2 else classes
        L = slice(None) if given else 0
        scores, iterations = (np.moveaxis(part, 1, 2)[..., L] for part in (scores, iterations))
        paths = np.moveaxis(paths, (3, 1), (0, 3))[:, :, :, L]
        return found | {
            "C_": np.full(names.size, C),
            "l1_ratio_": np.zeros(names.size),
            "scores_": {name: scores.copy() for name in names},
            "coefs_paths_": dict(zip(names, paths, strict=True)),
            "n_iter_": iterations[None],
        }


def over_grid(judge: Judge, lams: Array, eps: float, known: Evaluation | None = None) -> OverGrid:
    """Each λ solved for to eps, from strong penalties to weak ones; but what is known."""
    criterion, warm, spent = judge.tuning.criterion, None, Cost()
    xs: list[Any] = [None] * lams.size
    for g in np.argsort(-lams):
        if known is not None and lams[g] == known.lam[0]:
            xs[g] = known.x
            continue
        found = criterion.value(lams[g : g + 1], eps, warm)
        xs[g], made = criterion.solution(found)
        warm, spent = found.warm, spent + found.cost + made
    models = [judge.tuning.fits.models(x) for x in xs]
    return OverGrid(lams, judge.over(lams, xs), models, spent)


def _first_best(scores: Array) -> Any:
    """Along the last axis; what is no number is the worst."""
    return np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=-1)
