"""LogisticRegressionCV and RidgeCV."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hoag import inner, linear
from hoag.criterion import Implicit, Sum
from hoag.estimators.base import TunedEstimator
from hoag.estimators.callbacks import with_callbacks
from hoag.estimators.tuning import Task, warn_refit
from hoag.estimators.units import Units, auto_box, column_energies, units
from hoag.models.folds import linear_folds
from hoag.models.leave_one_out import LeaveOneOut
from hoag.models.losses import Brier, Huber, MultinomialBrier, OuterLoss, Squared
from hoag.models.penalties import group_numbers
from hoag.models.targets import Target, binary, multiclass
from hoag.values import Array, InvalidInput, Result

# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer.
DIRECT, DIRECT_QUADRATIC = 300, 1000

# The last fit, on all rows, is solved to this ‖∇₁h‖ in the library's units, 1e-8 of its start;
# by factors the last digits cost nothing.
REFIT_TOL, REFIT_TOL_DIRECT = 1e-6, 1e-10

# What counts as an outlier for criterion="huber": 1.35 times the spread of y, estimated by its
# median absolute deviation; 1.35 keeps 95 % efficiency on normal errors.
HUBER, NORMAL_MAD = 1.35, 1.4826


class LinearEstimator(TunedEstimator):
    """A linear model: coef_, intercept_ and the linear predictor."""

    def _linear_task(
        self, u: Units, target: Target, splits: Any, curvature: float, box: Any = None
    ) -> Task:
        problems = linear_folds(u.matrix, target, splits, u.weights, self._penalties())
        quadratic = target.loss.self_concordance == 0
        solver = _linear_solver(u, target, quadratic)
        inside = inner.CG(solver) if quadratic else inner.Newton(solver)
        criterion, proof = (
            Sum(
                [Implicit(p, inside, solver, corrected=True, bound=b) for p in problems],
                self.n_jobs,
            )
            for b in (False, True)
        )
        groups = _group_matrix(self._penalties(), u, target)
        shift = np.full(int(groups.max()) + 1, u.log_shift)
        auto, start = auto_box(column_energies(u, curvature), groups)
        box, start = self._box(shift, auto, start)
        judged = sum(float(p.test.weights.sum()) for p in problems)
        if judged == 0:
            raise InvalidInput("No held-out row of cv has a positive weight and a known class.")

        def models(x: Any) -> list[dict[str, Any]]:
            return [self._attributes(u, target, part) for part in x]

        def refit(result: Result) -> dict[str, Any]:
            rows = np.arange(u.weights.size)
            (whole,) = linear_folds(
                u.matrix, target, [(rows, rows[:0])], u.weights, self._penalties()
            )
            start = np.mean(result.x, axis=0)
            direct = isinstance(solver, linear.Cholesky)
            tol = REFIT_TOL_DIRECT if direct else REFIT_TOL
            solve = inside.solve(whole, result.lam, start, tol)
            warn_refit(solve)
            return self._attributes(u, target, solve.x)

        per_row = u.y_scale**2 / judged
        return Task(criterion, box, start, shift, per_row, models, refit, proof)

    def _penalties(self) -> Any:
        return self.penalties

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        return {"coef_": coef, "intercept_": intercept}

    def _alpha(self) -> Any:
        """exp(λ): a number, or an array in the order of the groups, or in the shape of coef_."""
        with np.errstate(over="ignore"):
            alpha = np.exp(self.lam_)
        if not isinstance(self.penalties, str):
            return alpha
        if self.penalties == "shared":
            return float(alpha[0])
        if self.penalties == "per-coefficient":
            return alpha.reshape(self.n_features_in_, -1).T.reshape(self.coef_.shape)
        return alpha

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


class LogisticRegressionCV(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Logistic regression whose ℓ₂ penalties minimise the cross-validated loss, found by gradient.

        Σᵢ sᵢ log(1 + exp(−yᵢ(aᵢᵀw + b))) + ½ Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)]),  C = 1/α

    For more than two classes the loss is the multinomial one. A drop-in replacement for
    scikit-learn's class of this name with ℓ₂ penalties; the search needs no grid.

    Parameters
    ----------
    penalties : {"shared", "per-class", "per-feature", "per-coefficient"} or array of int
        Which coefficients share a penalty. An array gives the group number of each feature, shape
        (n_features,), or of each coefficient, shape (n_features, n_classes); −1: not penalised.
    Cs : int, array of float or None
        As in scikit-learn; only the range counts, and becomes the bounds: −log C.
    cv : int, splitter, iterable or None
        None is 5-fold. Int, None: stratified, not shuffled.
    fit_intercept : bool
    class_weight : dict, "balanced" or None
        Multiplies sample_weight, so it counts in training and in the criterion.
    criterion : {"log_loss", "brier"}
        The smooth loss of held-out rows that is minimised over λ.
    scoring : str, callable, list, dict or None
        Scorers evaluated on the held-out folds at the best λ, in `scores_`. They do not select.
    search : object or None
        How to search, such as hoag.search.Hoag(); its own limits then replace tol, max_iter and
        time_budget.
    bounds : "auto", pair (lower, upper) or hoag.Box
        Where λ = log α is searched. "auto" follows the scale of the data.
    tol : float
        Stop when the criterion can fall by no more than this share of itself.
    max_iter : int
        The most steps of the search.
    time_budget : float or None
        Seconds for the search, looked at after every step.
    refit : bool
        Fit on all rows at the best λ; else the mean of the folds' models is kept.
    n_jobs : int or None
        Folds evaluated at a time, through joblib; threads unless its configuration says otherwise.
    random_state : int, RandomState or None
        For the random directions behind `lam_interval_` when there are many penalties.
    verbose : int
        A progress bar.
    callback : callable or None
        Called with every hoag.Step, in the units of this estimator; return True to stop.

    Attributes
    ----------
    coef_, intercept_, classes_ : as in scikit-learn's LogisticRegression
    lam_ : array (n_penalties,)
    alpha_, C_ : exp(λ) and exp(−λ); a number for "shared", the shape of coef_ for
        "per-coefficient", else one for each group
    criterion_ : float, the mean held-out loss at lam_
    lam_interval_ : array (n_penalties, 2), between which λ the criterion is within `tol` of its
        best, one λ at a time
    result_ : hoag.Result: trace, status, gradients with their errors; result_.to_frame()
    scores_ : dict of arrays (n_folds,), with `scoring`
    n_iter_ : int, the steps of the search
    """

    def __init__(
        self,
        *,
        penalties: Any = "shared",
        Cs: Any = None,
        cv: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        criterion: str = "log_loss",
        scoring: Any = None,
        search: Any = None,
        bounds: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        time_budget: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.penalties = penalties
        self.Cs = Cs
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.criterion = criterion
        self.scoring = scoring
        self.search = search
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        self._tune(X, y, sample_weight, params)
        self.alpha_ = self._alpha()
        with np.errstate(divide="ignore"):
            self.C_ = (
                1.0 / np.float64(self.alpha_) if np.ndim(self.alpha_) == 0 else 1 / self.alpha_
            )
        return self

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "A classifier needs two classes or more; y has only one class: "
                f"{self.classes_[0]!r}."
            )
        return X, y

    def _task(self, X: Any, y: Any, weights: Array, splits: Any) -> Task:
        weights = weights * self._class_weights(y, weights)
        encode = binary if len(self.classes_) == 2 else multiclass
        target = encode(y, self.classes_, bool(self.fit_intercept))
        if len(self.classes_) - len(target.missing(weights)) < 2:
            raise InvalidInput(
                "After sample_weight and class_weight only one class has a positive weight; a "
                "classifier needs two classes or more."
            )
        outer = {"log_loss": target.outer, "brier": _brier(target)}
        if self.criterion not in outer:
            raise InvalidInput(f"criterion={self.criterion!r}: use 'log_loss' or 'brier'.")
        target = replace(target, outer=outer[self.criterion])
        u = units(X, weights, centre=target.basis is not None)
        return self._linear_task(u, target, splits, curvature=0.25)

    def _class_weights(self, y: npt.NDArray[Any], weights: Array) -> Array:
        codes = np.searchsorted(self.classes_, y)
        if self.class_weight is None:
            return np.ones(len(y))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            sums = np.bincount(codes, weights=weights, minlength=len(self.classes_))
            with np.errstate(divide="ignore"):
                each = np.where(sums > 0, weights.sum() / (np.sum(sums > 0) * sums), 0.0)
            return np.asarray(each[codes])
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return np.asarray(each[codes])

    def _grid(self) -> tuple[str, Any] | None:
        if self.Cs is None:
            return None
        Cs = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else np.asarray(self.Cs, float)
        _check_grid("Cs", Cs)
        return "Cs", (-np.log(Cs.max()), -np.log(Cs.min()))

    def decision_function(self, X: Any) -> Array:
        z = self._linear_predictor(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> npt.NDArray[Any]:
        z = self.decision_function(X)
        codes = (z > 0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        z = self.decision_function(X)
        return np.stack([expit(-z), expit(z)], axis=1) if z.ndim == 1 else softmax(z, axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        z = self.decision_function(X)
        if z.ndim == 1:
            return np.stack([log_expit(-z), log_expit(z)], axis=1)
        return np.asarray(log_softmax(z, axis=1))

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.LogisticRegression."""
        from sklearn.linear_model import LogisticRegression

        check_is_fitted(self)
        C = float(self.C_) if np.ndim(self.C_) == 0 else 1.0
        model = LogisticRegression(
            C=C, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
        model.classes_ = self.classes_.copy()
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_.copy()
        model.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        return with_features(model, self)


class RidgeCV(MultiOutputMixin, RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Ridge regression whose penalties minimise the cross-validated squared error, by gradient.

        Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)])

    A drop-in replacement for scikit-learn's class of this name. With cv=None the criterion is the
    leave-one-out error in closed form, and its gradient is exact.

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
    fit_intercept, scoring, search, bounds, tol, max_iter, time_budget, refit, n_jobs, random_state,
    verbose, callback : as in LogisticRegressionCV

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's Ridge
    alpha_ : exp(λ); a number for "shared", one for each target or group, or the shape of coef_
    lam_, criterion_, lam_interval_, result_, scores_, n_iter_ : as in LogisticRegressionCV
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
        bounds: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        time_budget: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
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
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        self._tune(X, y, sample_weight, params)
        self.alpha_ = self._alpha()
        return self

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        return X, np.asarray(y, dtype=np.float64)

    def _closed_form(self) -> bool:
        return self.cv is None or _is(self.cv, "gcv")

    def _task(self, X: Any, y: Array, weights: Array, splits: Any) -> Task:
        check_criterion(self.criterion)
        if splits is None and np.any(weights == 0):
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        if len(y) < 2:
            raise InvalidInput("Only one sample has a positive weight; two are needed.")
        u = units(X, weights, centre=bool(self.fit_intercept))
        y, u = regression_units(y, u, bool(self.fit_intercept))
        self._flat = y.ndim == 1
        outputs = 1 if y.ndim == 1 or y.shape[1] == 1 else y.shape[1]
        y = y[:, 0] if y.ndim == 2 and outputs == 1 else y
        outer = outer_loss(self.criterion, y)
        basis = np.eye(outputs) if self.fit_intercept else None
        target = Target(y, Squared(0.5), outer, outputs, basis)
        if splits is not None:
            return self._linear_task(u, target, splits, curvature=1.0)
        return self._leave_one_out(u, target)

    def _leave_one_out(self, u: Units, target: Target) -> Task:
        groups = _group_matrix(self._penalties(), u, target)
        shift = np.full(int(groups.max()) + 1, u.log_shift)
        auto, start = auto_box(column_energies(u, 1.0), groups)
        box, start = self._box(shift, auto, start)
        intercept = target.basis is not None
        loo = LeaveOneOut(
            u.matrix,
            target.y,
            u.weights,
            groups,
            intercept=intercept,
            gcv=_is(self.cv, "gcv"),
            outer=target.outer,
        )

        def models(x: Array) -> list[dict[str, Any]]:
            tail = loo.share @ loo.y - loo.mean @ x
            whole = np.concatenate([x.ravel(), np.ravel(tail)]) if intercept else x.ravel()
            return [self._attributes(u, target, whole)]

        def predictions(lam: Array) -> Array:
            held_out = loo.predictions(lam) * u.y_scale + u.y_mean
            return np.asarray(held_out if self._flat else held_out.reshape(len(held_out), -1))

        return Task(
            loo,
            box,
            start,
            shift,
            u.y_scale**2 / float(u.weights.sum()),
            models,
            lambda result: models(result.x)[0],
            predictions=predictions,
        )

    def _penalties(self) -> Any:
        return "per-class" if _is(self.penalties, "per-target") else self.penalties

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        if self._flat:
            return {"coef_": coef[0], "intercept_": float(intercept[0])}
        return {"coef_": coef, "intercept_": intercept}

    def _grid(self) -> tuple[str, Any] | None:
        if self.alphas is None:
            return None
        alphas = np.atleast_1d(np.asarray(self.alphas, float))
        _check_grid("alphas", alphas)
        return "alphas", (np.log(alphas.min()), np.log(alphas.max()))

    def predict(self, X: Any) -> Array:
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.Ridge."""
        from sklearn.linear_model import Ridge

        check_is_fitted(self)
        plain = np.ndim(self.alpha_) == 0 or self._penalties() == "per-class"
        model = Ridge(alpha=self.alpha_ if plain else 1.0, fit_intercept=self.fit_intercept)
        model.coef_, model.intercept_ = self.coef_.copy(), copy_of(self.intercept_)
        model.n_iter_, model.solver_ = None, "auto"
        return with_features(model, self)


def copy_of(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def with_features(model: Any, estimator: Any) -> Any:
    model.n_features_in_ = estimator.n_features_in_
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_
    return model


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def _check_grid(name: str, grid: Array) -> None:
    if grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise InvalidInput(f"{name} must be positive, finite numbers; their range is searched.")


def _brier(target: Target) -> OuterLoss:
    return Brier() if target.outputs == 1 else MultinomialBrier()


def _linear_solver(u: Units, target: Target, quadratic: bool) -> Any:
    features = u.mean.size
    if quadratic and features <= DIRECT_QUADRATIC:
        return linear.Cholesky()
    if features * target.outputs <= DIRECT:
        return linear.Cholesky()
    # The columns of dense rows may differ in scale; for tf-idf the diagonal is a bad guide.
    preconditioner = None if sparse.issparse(u.matrix.A) else linear.jacobi
    return linear.CG(max_iter=5000, preconditioner=preconditioner)


def _group_matrix(penalties: Any, u: Units, target: Target) -> npt.NDArray[np.intp]:
    features = u.mean.size
    return group_numbers(penalties, features, target.outputs, 0).reshape(features, target.outputs)


def regression_units(y: Array, u: Units, centre: bool) -> tuple[Array, Units]:
    share = u.weights / u.weights.sum()
    biggest = float(np.max(np.abs(y), initial=0.0)) or 1.0
    mean = biggest * (share @ (y / biggest)) if centre else 0.0 * y[0]
    y = (y - mean) / biggest
    columns = y if y.ndim == 2 else y[:, None]
    spread = float(np.sqrt(np.mean(share @ columns**2))) or 1.0
    return y / spread, replace(u, y_mean=mean, y_scale=biggest * spread)


def check_criterion(criterion: Any) -> None:
    if criterion not in ("squared_error", "huber"):
        raise InvalidInput(f"criterion={criterion!r}: use 'squared_error' or 'huber'.")


def outer_loss(criterion: str, y: Array) -> OuterLoss:
    if criterion != "huber":
        return Squared(1.0)
    spread = NORMAL_MAD * float(np.median(np.abs(y - np.median(y, axis=0))))
    return Huber(HUBER * (spread or 1.0))
