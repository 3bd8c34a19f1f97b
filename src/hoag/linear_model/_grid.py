"""scikit-learn's attributes over a grid of C, in the shapes that its LogisticRegressionCV has.

With F folds, L values of l1_ratios, G values of C, K rows of coef_ and D numbers in each of them,
the intercept last:

    use_legacy_attributes=False   scores_ and n_iter_ (F, L, G), coefs_paths_ (F, L, G, K, D)
    True                          n_iter_ (1, F, G, L), and by class scores_ (F, G, L), coefs_paths_
                                  (F, G, L, D); without L where l1_ratios is not given

There is one model for all l1_ratios, for they are all zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation
from hoag.linear_model._scoring import Judge


@dataclass(frozen=True, eq=False)
class OverGrid:
    """scores of shape (F, G) and coefficients of shape (F, G, K, D), and what they cost."""

    scores: Array
    paths: Array
    cost: Cost

    def shaped(
        self, legacy: bool, l1_ratios: Any, classes: npt.NDArray[Any], C: float, steps: int
    ) -> dict[str, Any]:
        """C_, l1_ratio_, l1_ratios_, scores_, coefs_paths_, n_iter_."""
        given = l1_ratios is not None and not isinstance(l1_ratios, str)
        ratios = np.asarray(l1_ratios, dtype=float).ravel() if given else np.zeros(1)
        scores = np.repeat(self.scores[:, None], ratios.size, axis=1)
        paths = np.repeat(self.paths[:, None], ratios.size, axis=1)
        iterations = np.full(scores.shape, steps)
        if not legacy:
            return {
                "C_": C,
                "l1_ratio_": 0.0,
                "l1_ratios_": ratios,
                "scores_": scores,
                "coefs_paths_": paths,
                "n_iter_": iterations,
            }
        names = classes[1:] if classes.size == 2 else classes
        L = slice(None) if given else 0
        scores, iterations = (np.moveaxis(part, 1, 2)[..., L] for part in (scores, iterations))
        paths = np.moveaxis(paths, (3, 1), (0, 3))[:, :, :, L]
        return {
            "C_": np.full(names.size, C),
            "l1_ratio_": np.zeros(names.size),
            "l1_ratios_": ratios,
            "scores_": {name: scores.copy() for name in names},
            "coefs_paths_": dict(zip(names, paths, strict=True)),
            "n_iter_": iterations[None],
        }


def over_grid(judge: Judge, lams: Array, best: Evaluation, tol: float, intercept: bool) -> OverGrid:
    """Each λ solved for as precisely as the search needs it, from strong penalties to weak ones."""
    criterion, warm, spent = judge.tuning.criterion, None, Cost()
    scores: list[Any] = [None] * lams.size
    paths: list[Any] = [None] * lams.size
    for g in np.argsort(-lams):
        found, x = best, best.x
        if lams[g] != best.lam[0]:
            found = criterion.value(lams[g : g + 1], tol * abs(best.value), warm)
            x, made = criterion.solution(found)
            warm, spent = found.warm, spent + found.cost + made
        (scores[g],) = judge.scores(found.lam, x).values()
        paths[g] = [
            np.column_stack([m["coef_"], m["intercept_"]] if intercept else [m["coef_"]])
            for m in judge.tuning.fits.models(x)
        ]
    return OverGrid(np.stack(scores, axis=1), np.stack(paths, axis=1), spent)
