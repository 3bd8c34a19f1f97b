"""PoissonRegressorCV."""

from __future__ import annotations

from typing import Any

from hoag._glm.losses import Poisson
from hoag.linear_model._positive_mean import PositiveMeanRegressor


class PoissonRegressorCV(PositiveMeanRegressor):
    """Poisson regression of counts, whose ℓ₂ penalties minimise the held-out deviance.

        1/(2 Σs) Σᵢ sᵢ d(yᵢ, μᵢ) + ½ Σⱼ αⱼ wⱼ²,   μᵢ = exp(aᵢᵀw + b + offsetᵢ),
        d(y, μ) = 2(y log(y/μ) − y + μ)

    scikit-learn's PoissonRegressor with its penalty tuned, which it has no class for.

    >>> import numpy as np
    >>> from hoag import PoissonRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.normal(size=(300, 8)), rng.uniform(0.5, 2, 300)
    >>> claims = rng.poisson(years * np.exp(0.3 * X[:, 0] - 1))
    >>> model = PoissonRegressorCV().fit(X, claims, exposure=years)
    >>> print(f"alpha = {model.alpha_:.1f}, held-out deviance {model.criterion_:.3f}")
    alpha = 0.3, held-out deviance 0.908

    Parameters
    ----------
    alphas : array of float or None
        Only the range counts, and becomes the bounds: log α, with α as in PoissonRegressor.
    penalties : {"shared", "per-feature"}, array of int or dict
        Which coefficients share a penalty; an array gives the group number of each feature, −1: not
        penalised; a dict gives labels to columns, as in LogisticRegressionCV.
    cv : int, splitter, iterable, None, or a word: "alo", "gcv", "aic", "bic", "reml"
        None is 5-fold, not shuffled; words are scores of one fit on all rows, without folds: see
        hoag.without_folds.
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in
        LogisticRegressionCV; but `score` is D² whatever scoring is

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's PoissonRegressor
    alpha_ : exp(λ), as in PoissonRegressor on all rows; a number for "shared", else one for each
        group. Folds are fitted with the same penalty on the sum of losses, α Σs of all rows, where
        GridSearchCV has α Σs of the training rows
    criterion_ : float, the mean deviance of held-out rows
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _dispersion: float | None = 1.0  # None: it is estimated where a criterion or an error needs it

    def _family(self, scale: float) -> Poisson:
        return Poisson(scale, self._dispersion)

    def _plain(self) -> Any:
        from sklearn.linear_model import PoissonRegressor

        return PoissonRegressor()
