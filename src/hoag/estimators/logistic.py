"""LogisticRegressionCV."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hoag.estimators.base import with_features
from hoag.estimators.callbacks import with_callbacks
from hoag.estimators.linear import LinearEstimator, check_grid
from hoag.estimators.task import Task
from hoag.estimators.units import units
from hoag.glm.losses import Brier, MultinomialBrier, OuterLoss
from hoag.glm.targets import Target, binary, multiclass
from hoag.values import Array, InvalidInput


class LogisticRegressionCV(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Logistic regression whose ℓ₂ penalties minimise the cross-validated loss, found by gradient.

        Σᵢ sᵢ log(1 + exp(−yᵢ(aᵢᵀw + b))) + ½ Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)]),  C = 1/α

    For more than two classes the loss is the multinomial one. A drop-in replacement for
    scikit-learn's class of this name with ℓ₂ penalties; the search needs no grid.

    >>> from hoag import LogisticRegressionCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV().fit(scale(X), y)
    >>> print(f"C = {model.C_:.2f}, held-out log loss {model.criterion_:.4f}")
    C = 0.63, held-out log loss 0.0782
    >>> model.result_.converged
    True

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
    starts : int or "auto"
        With several penalties: so many descents of the default search, the first from the best
        shared penalty, the others from weaker ones, n_jobs at a time; the lowest end is kept, and
        the status says in how many basins they ended. They have max_iter steps each. One penalty
        needs no more than one: the whole box is looked at. A warning says so where factors are too
        dear for it. "auto": two, of max_iter steps in all, where coefficients are few; else one.
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
    certificate : {"auto", "none", "estimate", "bound"}
        Whether the error of the gradient at the best λ is measured: "auto" where that costs at most
        a fifth of the run; "bound" adds a rigorous bound. In `result_.evaluation`.
    random_state : int, RandomState or None
        For searches that draw random numbers; the default one does not.
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
    plateaus_ : array of str (n_penalties,): "switched off" where the criterion is within `tol` up
        to the upper bound and nothing of the group is left in the model, "free" where it is so
        down to the lower bound and the penalty no longer acts, else ""
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
        self.penalties = penalties
        self.Cs = Cs
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
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
        with np.errstate(divide="ignore"):
            C = 1.0 / np.asarray(alpha)
        return {"alpha_": alpha, "C_": float(C) if np.ndim(alpha) == 0 else C}

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"A classifier needs two classes or more; y has only one class: {self.classes_[0]}."
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
        if not isinstance(self.criterion, str) or self.criterion not in outer:
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
        if not np.all(np.isfinite(each) & (each >= 0)):
            raise InvalidInput("class_weight must be finite numbers, none of them negative.")
        return np.asarray(each[codes])

    def _grid(self) -> tuple[str, Any] | None:
        if self.Cs is None:
            return None
        whole = isinstance(self.Cs, Integral) and int(self.Cs) > 0
        Cs = check_grid("Cs", np.logspace(-4, 4, int(self.Cs)) if whole else self.Cs)
        if np.ndim(self.Cs) == 0 and not whole:
            raise InvalidInput(f"Cs={self.Cs!r}: give a whole number of values, or their list.")
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


def _brier(target: Target) -> OuterLoss:
    return Brier() if target.outputs == 1 else MultinomialBrier()
