"""QuantileRegressorCV."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.losses import SmoothQuantile
from hoag._glm.targets import Target
from hoag.linear_model._base import with_features
from hoag.linear_model._column import Column
from hoag.linear_model._out_of_core import with_own_y
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Regressor
from hoag.linear_model._reading import Reading
from hoag.linear_model._regression import of_units
from hoag.linear_model._robust_units import robust_units
from hoag.linear_model._settings import WithSettings
from hoag.linear_model._units import Units


@parameters
class QuantileRegressorCV(Regressor, WithSettings):
    """Quantiles of y given X, whose ℓ₂ penalties minimise the held-out pinball loss, smoothed.

        1/Σs Σᵢ sᵢ ρ(yᵢ − aᵢᵀw − b) + ½ Σⱼ αⱼ wⱼ²,   ρ(r) = τr + β log(1 + exp(−r/β))

    ρ is never below the pinball loss max(τr, (τ − 1)r), and never more than β log 2 above it; β is
    `smoothing` times the spread of y. scikit-learn's QuantileRegressor has the pinball loss itself
    and an ℓ₁ penalty.

    >>> import numpy as np
    >>> from hoag import QuantileRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = X[:, 0] + rng.exponential(size=300)
    >>> model = QuantileRegressorCV(quantile=0.9).fit(X, y)
    >>> print(f"alpha = {model.alpha_:.4f}, below: {np.mean(y < model.predict(X)):.2f}")
    alpha = 0.0582, below: 0.90

    Parameters
    ----------
    alphas : array of float or None
        Only the range counts, and becomes the bounds: log α.
    quantile : float
        τ, between 0 and 1.
    smoothing : float
        β in units of the spread of y, 1.48 times its median absolute deviation. Where hardly any
        rows lie that near to the quantile, in a far tail of few rows or with less smoothing, fits
        go by way of more smoothing and take longer; cv="alo" needs rows that near.
    penalties : {"shared", "per-feature"}, array of int or dict
        Which coefficients share a penalty; an array gives the group number of each feature, −1: not
        penalised; a dict gives labels to columns, as in LogisticRegressionCV.
    cv : int, splitter, iterable, None, or a word: "alo"
        None is 5-fold, not shuffled; words are scores of one fit on all rows, without folds: see
        hoag.without_folds.
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in
        LogisticRegressionCV; but `score` is D² whatever scoring is

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's QuantileRegressor
    alpha_ : exp(λ); a number for "shared", else one for each group
    width_ : float, β in the units of y
    criterion_ : float, the mean of ρ of held-out rows, in the units of y
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _loss = "pinball"
    _words = ("alo",)

    width_: float = fitted()

    quantile: float = 0.5
    smoothing: float = 0.05

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.quantile, Real) and 0 < float(self.quantile) < 1):
            raise InvalidInput(f"quantile={self.quantile!r}: give a number between 0 and 1.")
        if not (isinstance(self.smoothing, Real) and float(self.smoothing) > 0):
            raise InvalidInput(f"smoothing={self.smoothing!r}: give a positive number.")

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        return X, np.asarray(y, dtype=np.float64)

    def _reading(self, column: Column) -> Reading:
        intercept = bool(self.fit_intercept)
        y = robust_units(column, intercept, float(self.quantile))
        self.width_ = float(self.smoothing) * y.biggest
        loss = SmoothQuantile(float(self.quantile), float(self.smoothing))
        target = partial(of_units, units=y, loss=loss, outer=loss, intercept=intercept)
        shift = -float(np.log(column.total)) - float(np.log(y.biggest))
        return Reading(target, intercept, 1.0, None, y.mean, y.biggest, shift)

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        return u.y_scale / judged

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, 1, target.basis)
        return {"coef_": coef[0], "intercept_": float(intercept[0])}

    def predict(self, X: Any) -> Array:
        return self._linear_predictor(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """D², the share of the pinball loss that is explained; at most 1.

        Partitions have y and weights with them: score(source).
        """
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        predicted = self.predict(X)
        return float(
            d2_pinball_score(y, predicted, sample_weight=sample_weight, alpha=self.quantile)
        )

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.QuantileRegressor.

        For prediction: fitted again it would have its own loss, without smoothing, and ℓ₁.
        """
        from sklearn.linear_model import QuantileRegressor

        check_is_fitted(self)
        model = QuantileRegressor(quantile=self.quantile, fit_intercept=self.fit_intercept)
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_
        model.n_iter_ = self.n_iter_
        return with_features(model, self)
