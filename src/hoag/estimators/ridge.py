"""RidgeCV."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hoag.criteria.apart import left_out
from hoag.criteria.leave_one_out import LeaveOneOut
from hoag.estimators.base import with_features
from hoag.estimators.callbacks import with_callbacks
from hoag.estimators.linear import LinearEstimator, check_grid, group_matrix
from hoag.estimators.plateaus import Groups
from hoag.estimators.regression import check_criterion, outer_loss, regression_units
from hoag.estimators.task import Task
from hoag.estimators.units import Units, auto_box, column_energies, units
from hoag.glm.folds import FREE
from hoag.glm.losses import Squared
from hoag.glm.penalties import NAMES, Ridge
from hoag.glm.targets import Target
from hoag.values import Array, Cost, InvalidInput


class RidgeCV(MultiOutputMixin, RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Ridge regression whose penalties minimise the cross-validated squared error, by gradient.

        Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)])

    A drop-in replacement for scikit-learn's class of this name. With cv=None the criterion is the
    leave-one-out error in closed form, and its gradient is exact.

    >>> from hoag import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV().fit(X, y)
    >>> print(f"alpha = {model.alpha_:.4f}, leave-one-out error {model.criterion_:.1f}")
    alpha = 0.0030, leave-one-out error 2999.8
    >>> RidgeCV(penalties="per-feature").fit(X, y).alpha_.shape
    (10,)

    Parameters
    ----------
    alphas : array of float or None
        As in scikit-learn; only the range counts, and becomes the bounds: log α.
    penalties : {"shared", "per-target", "per-feature", "per-coefficient"} or array of int
        Which coefficients share a penalty; an array gives the group number of each feature, or of
        each coefficient, shape (n_features, n_targets); −1: not penalised.
    cv : None, "gcv", int, splitter or iterable
        None is leave-one-out in closed form, "gcv" generalised cross-validation.
    criterion : {"squared_error", "huber"}
        What is minimised over λ: the squared error of held-out rows, or the same up to 1.35 times
        the spread of y and linear beyond, so that few outliers do not decide.
    fit_intercept, scoring, search, starts, bounds, tol, max_iter, time_budget, refit, n_jobs,
    certificate, random_state, verbose, callback : as in LogisticRegressionCV

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's Ridge
    alpha_ : exp(λ); a number for "shared", one for each target or group, or the shape of coef_
    lam_, criterion_, lam_interval_, plateaus_, result_, scores_, n_iter_ : as in
        LogisticRegressionCV
    """

    def __init__(
        self,
        alphas: Any = None,
        *,
        penalties: Any = "shared",
        cv: Any = None,
        fit_intercept: bool = True,
        criterion: str = "squared_error",
        scoring: Any = None,
        search: Any = None,
        starts: int | Literal["auto"] = "auto",
        bounds: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        time_budget: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        certificate: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.alphas = alphas
        self.penalties = penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.scoring = scoring
        self.search = search
        self.starts = starts
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.refit = refit
        self.n_jobs = n_jobs
        self.certificate = certificate
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        return self._tune(X, y, sample_weight, params)

    def _named(self, lam: Array) -> dict[str, Any]:
        alpha = super()._named(lam)["alpha_"]
        return {"alpha_": alpha[0] if self._flat and np.ndim(alpha) == 2 else alpha}

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._flat = y.ndim == 1 or y.shape[1] == 1
        return X, np.asarray(y, dtype=np.float64)

    def _closed_form(self) -> bool:
        return self.cv is None or _is(self.cv, "gcv")

    def _task(self, X: Any, y: Array, weights: Array, splits: Any) -> Task:
        check_criterion(self.criterion)
        kept = np.flatnonzero(weights > 0)
        if splits is None and kept.size < len(y):
            X, y, weights = X[kept], y[kept], weights[kept]
        if kept.size < 2:
            raise InvalidInput("Only one sample has a positive weight; two are needed.")
        u = units(X, weights, centre=bool(self.fit_intercept))
        y, u = regression_units(y, u, bool(self.fit_intercept))
        outputs = 1 if self._flat else y.shape[1]
        y = y.ravel() if self._flat else y
        outer = outer_loss(self.criterion, y)
        basis = np.eye(outputs) if self.fit_intercept else None
        target = Target(y, Squared(0.5), outer, outputs, basis)
        if splits is not None:
            return self._linear_task(u, target, splits, curvature=1.0)
        return self._leave_one_out(u, target, kept)

    def _leave_one_out(self, u: Units, target: Target, kept: Any) -> Task:
        energies = column_energies(u, 1.0)
        groups = Groups(group_matrix(self._penalties(), u, target), energies, u.log_shift)
        intercept = target.basis is not None
        floor = FREE * float(u.weights.sum()) if np.any(groups.numbers < 0) else 0.0
        loo = LeaveOneOut(
            u.rows,
            target.y,
            u.weights,
            Ridge(groups.numbers.ravel(), floor, u.log_shift),
            intercept=intercept,
            gcv=_is(self.cv, "gcv"),
            outer=target.outer,
        )

        criterion = left_out(loo, self.n_jobs)
        bounds = auto_box(energies, groups.numbers, u.log_shift, criterion.traits.least)
        box, start = self._box(*bounds)
        self._warn_hidden(u, 1.0, box)

        def models(x: Array) -> list[dict[str, Any]]:
            tail = loo.share @ loo.y - loo.mean @ x
            whole = np.concatenate([x.ravel(), np.ravel(tail)]) if intercept else x.ravel()
            return [self._attributes(u, target, whole)]

        def predictions(lam: Array) -> tuple[Any, Array]:
            return kept, np.asarray(loo.predictions(lam) * u.y_scale + u.y_mean)

        return Task(
            self._plan(criterion),
            box,
            start,
            self._per_row(u, target, float(u.weights.sum())),
            models,
            lambda result: (models(criterion.solution(result.evaluation)[0])[0], Cost()),
            predictions=predictions,
            groups=groups,
        )

    def _penalties(self) -> Any:
        if _is(self.penalties, "per-target"):
            return "per-class"  # whose classes are the targets
        if isinstance(self.penalties, str) and self.penalties not in NAMES:
            raise InvalidInput(
                f"penalties={self.penalties!r}: use 'shared', 'per-target', 'per-feature', "
                "'per-coefficient', or an array of group numbers."
            )
        return self.penalties

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        if self._flat:
            return {"coef_": coef[0], "intercept_": float(intercept[0])}
        return {"coef_": coef, "intercept_": intercept if self.fit_intercept else 0.0}

    def _grid(self) -> tuple[str, Any] | None:
        if self.alphas is None:
            return None
        alphas = check_grid("alphas", self.alphas)
        return "alphas", (np.log(alphas.min()), np.log(alphas.max()))

    def predict(self, X: Any) -> Array:
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.Ridge."""
        from sklearn.linear_model import Ridge as PlainRidge

        check_is_fitted(self)
        plain = np.ndim(self.alpha_) == 0 or _is(self._penalties(), "per-class")
        model = PlainRidge(alpha=self.alpha_ if plain else 1.0, fit_intercept=self.fit_intercept)
        model.coef_, model.intercept_ = self.coef_.copy(), copy.copy(self.intercept_)
        model.n_iter_, model.solver_ = None, "auto"
        return with_features(model, self)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
