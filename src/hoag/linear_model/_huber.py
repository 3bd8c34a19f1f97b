"""HuberRegressorCV."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Cost
from hoag._data.engine import Engine
from hoag._data.source import Partition
from hoag._glm.fold_rule import FoldRule
from hoag._glm.targets import Target, robust
from hoag.linear_model._base import with_features
from hoag.linear_model._callbacks import with_callbacks
from hoag.linear_model._column import Column
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Regressor
from hoag.linear_model._reading import Reading
from hoag.linear_model._regression import Standard
from hoag.linear_model._robust_units import robust_units
from hoag.linear_model._settings import WithSettings
from hoag.linear_model._task import Task
from hoag.linear_model._units import Units


@parameters
class HuberRegressorCV(Regressor, WithSettings):
    """Regression that outliers do not decide, whose ℓ₂ penalties minimise the held-out loss.

        Σᵢ sᵢ (σ + σ H((yᵢ − aᵢᵀw − b)/σ)) + Σⱼ αⱼ wⱼ²

    H is the square up to ε and linear beyond, and the spread σ is fitted too: scikit-learn's
    HuberRegressor with its penalty tuned, by the same loss of held-out rows.

    >>> import numpy as np
    >>> from hoag import HuberRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> y = X[:, 0] + 0.1 * rng.standard_t(1, size=200)  # now and then far off
    >>> model = HuberRegressorCV().fit(X, y)
    >>> print(f"coefficient {model.coef_[0]:.3f}, scale {model.scale_:.3f}")
    coefficient 0.972, scale 0.112

    Parameters
    ----------
    alphas : array of float or None
        Only the range counts, and becomes the bounds: log α, with α as in HuberRegressor.
    epsilon : float
        From how many σ on a residual is an outlier; above 1.
    penalties : {"shared", "per-feature"}, array of int or dict
        Which coefficients share a penalty; an array gives the group number of each feature, −1: not
        penalised; a dict gives labels to columns, as in LogisticRegressionCV.
    cv : int, splitter, iterable, None, or a word: "alo", "gcv"
        None is 5-fold, not shuffled; words are scores of one fit on all rows, without folds: see
        hoag.without_folds.
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in
        LogisticRegressionCV; but `score` is R² whatever scoring is

    Attributes
    ----------
    coef_, intercept_, scale_, outliers_ : as in scikit-learn's HuberRegressor
    alpha_ : exp(λ), as in HuberRegressor; a number for "shared", else one for each group
    criterion_ : float, the mean of σ + σ H(r/σ) of held-out rows, in the units of y
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _loss = "huber_and_spread"
    _words = ("alo", "gcv")

    scale_: float = fitted()
    outliers_: npt.NDArray[np.bool_] = fitted()

    epsilon: float = 1.35

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        self.__dict__.pop("_engine", None)
        self._tune(X, y, sample_weight, params)
        engine = self.__dict__.pop("_engine", None)
        if engine is not None:  # one more pass over the data
            away = np.concatenate(engine.gathered(_Away(self.coef_, self.intercept_)))
            self.result_ = replace(self.result_, cost=self.result_.cost + Cost(reads=1.0))
        else:
            away = np.abs(np.ravel(np.asarray(y, dtype=np.float64)) - self.predict(X))
        self.outliers_ = away > self.scale_ * self.epsilon
        return self

    def _out_of_core_task(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Task, float, FoldRule]:
        self._engine = engine
        return super()._out_of_core_task(engine, params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.epsilon, Real) and 1 < float(self.epsilon) < 1e150):
            raise InvalidInput(
                f"epsilon={self.epsilon!r}: give a number above 1, such as 1.35, whose square is "
                "finite. For squares throughout use RidgeCV."
            )

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        return X, np.asarray(y, dtype=np.float64)

    def _reading(self, column: Column) -> Reading:
        intercept = bool(self.fit_intercept)
        y = robust_units(column, intercept)
        target = partial(_robust, units=y, epsilon=float(self.epsilon), intercept=intercept)
        shift = -float(np.log(y.biggest))
        return Reading(target, intercept, 1.0, None, y.mean, y.biggest, shift)

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        return 2 * u.y_scale / judged  # held-out rows are judged by half the loss, too

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        size = u.mean.size
        level = x[size : size + 1] if self.fit_intercept else np.zeros(0)
        basis = np.eye(1) if self.fit_intercept else None
        coef, intercept = u.coefficients(np.append(x[:size], level), 1, basis)
        scale = u.y_scale * (1.0 + float(x[-1]))
        return {"coef_": coef[0], "intercept_": float(intercept[0]), "scale_": scale}

    def _from_predictor(self, z: Array) -> Array:
        return z[:, 0]  # the other column is the spread

    def predict(self, X: Any) -> Array:
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.HuberRegressor."""
        from sklearn.linear_model import HuberRegressor

        check_is_fitted(self)
        alpha = self.alpha_ if np.ndim(self.alpha_) == 0 else 1.0
        model = HuberRegressor(epsilon=self.epsilon, alpha=alpha, fit_intercept=self.fit_intercept)
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_
        model.scale_, model.outliers_ = self.scale_, self.outliers_.copy()
        model.n_iter_ = self.n_iter_
        return with_features(model, self)


def _y(partition: Any) -> Any:
    return np.asarray(partition.y, dtype=np.float64)


def _robust(y: Array, units: Standard, epsilon: float, intercept: bool) -> Target:
    target = robust(units(y), epsilon, 1.0, intercept)
    return replace(target, outer=target.loss)


@dataclass(frozen=True, eq=False)
class _Away:
    """A partition ↦ |y − Xw − b|."""

    coef: Array
    intercept: float

    def __call__(self, partition: Partition) -> Array:
        y = np.asarray(partition.y, dtype=float)
        return np.asarray(np.abs(y - partition.X @ self.coef - self.intercept))
