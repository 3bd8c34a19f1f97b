"""LogisticRegressionCV."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn import get_config
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.metadata_routing import MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._glm.losses import Brier, MultinomialBrier, OuterLoss
from hoag._glm.targets import Target, binary, multiclass
from hoag.linear_model._base import with_features
from hoag.linear_model._classes import ClassReader
from hoag.linear_model._column import Column
from hoag.linear_model._compatible import LOGISTIC, LOGISTIC_ATTRIBUTES
from hoag.linear_model._grid import over_grid
from hoag.linear_model._judge import Judge
from hoag.linear_model._linear import LinearEstimator, check_grid
from hoag.linear_model._out_of_core import with_own_y
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Classifier
from hoag.linear_model._reading import Reading
from hoag.linear_model._separated import separated
from hoag.linear_model._task import Grid


@parameters
class LogisticRegressionCV(
    Classifier,
    SparseCoefMixin,  # type: ignore[misc]
    ClassReader,
    LinearEstimator,
):
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
    penalties : {"shared", "per-class", "per-feature", "per-coefficient"}, array of int or dict
        Which coefficients share a penalty. An array gives the group number of each feature, shape
        (n_features,), or of each coefficient, shape (n_features, n_classes); −1: not penalised. A
        dict gives labels to columns, by name or number: {"age": "free", "income": "money",
        "savings": "money"}; "free" is not penalised, columns that are not named share a penalty.
        Or what hoag.penalties makes: from_features(Z), a few numbers in place of many penalties, or
        quadratic(…), penalties that are no groups, such as the roughness of a curve.
    shrink : None, float or "auto"
        With several penalties: f(λ) + ½τ(f₀/n) Σⱼ(λⱼ − λ̄)² is minimised, so that they fit less of
        the noise of held-out rows; f₀ is the criterion of the best shared penalty, n the number of
        rows: one penalty that is off the mean by one costs half the loss of τ rows. 0 and None
        leave them free, inf is one penalty for all. "auto" tries τ from 30 to 0.03: rows are put
        aside, λ(τ) is tuned on the others, and the loss of those put aside, each once, decides;
        one penalty stays where the gain is within its standard error. That took 3 to 18 times as
        long as free penalties on small tables. criterion_ is the held-out loss alone, and so is
        result_; where the search has converged, it has for the sum.
    standardize : bool
        Divide every column by its standard deviation before it is penalised: in each fold by that
        of its own training rows, weighted by sample_weight, so that held-out rows have no part in
        the fit that they judge. The same as a search over make_pipeline(StandardScaler(), …), for
        no copies of X. λ is the penalty of standardised columns; coef_ is for X as it was given.
        The intercept does what centring would; without one columns are scaled and not centred.
        Constant columns have scale 1. Where no rows are held out (leave-one-out, and words for
        cv), and for the fit that is returned, the scales are those of all rows.
    Cs : int, array of float or None
        As in scikit-learn; only the range counts, and becomes the bounds: −log C.
    alphas : int, array of float or None
        As in scikit-learn 1.10, in place of Cs: C = 1/(α Σᵢ sᵢ); alpha_ is then in these units.
    cv : int, splitter, iterable, None, "alo", "gcv", "aic", "bic" or "reml"
        None is 5-fold. Int, None: stratified, not shuffled. The words are for scores of the fit on
        all rows, without folds: see hoag.without_folds. "alo", approximate leave-one-out,
        is in the units of held-out losses, as is "gcv"; "aic" is 2 Σᵢ sᵢ loss + 2 df, "bic" has
        log(n) df, with weights of mean 1; "reml" is −2 log of the likelihood of y with the
        coefficients integrated out, up to a constant.
    fit_intercept : bool
    class_weight : dict, "balanced" or None
        Multiplies sample_weight, so it counts in training and in the criterion.
    criterion : {"log_loss", "brier"}
        The smooth loss of held-out rows that is minimised over λ.
    scoring : str, callable, list, dict or None
        Scorers evaluated on the held-out folds at the best λ, in `scores_`. They do not select,
        unless select="scoring".
        One scorer is also what `score` computes; None, or several, leave it the accuracy.
    select : {"criterion", "scoring"}
        What chooses λ. "scoring": of a fine path around the λ whose criterion is least, all moved
        together, the one with the best mean score; `cv_results_` has the scores.
    rule : {"best", "1se"}
        "1se": the strongest penalties whose criterion is within one standard error over the folds
        of the least, all moved together from there. `lam_min_` keeps the least.
    search : object or None
        How to search, such as hoag.optimize.Hoag(); its own limits then replace tol, max_iter and
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
    checkpoint : path or None
        A file in which the search is kept while it runs. Killed at any instant, the same fit goes
        on from there, to the same result bit by bit; Ctrl-C ends it with the best so far. A file of
        other data or settings is refused. See the guide.
    use_legacy_attributes : bool or None
        True and False: C_, scores_, coefs_paths_, n_iter_, l1_ratio_ have the values and shapes of
        scikit-learn's class with that setting, over Cs where it is given, else over the one C
        found; each C of a grid is then solved for. None: as below.
    penalty, l1_ratios, solver, dual, intercept_scaling, multi_class
        scikit-learn's. Values that stand for ℓ₂ penalties and multinomial models are accepted and
        do nothing; others get a sentence that says what to use.

    Attributes
    ----------
    coef_, intercept_, classes_ : as in scikit-learn's LogisticRegression
    Cs_ : the values of Cs, or C_ alone; alphas_ where alphas is given
    l1_ratio_, l1_ratios_ : zero
    lam_ : array (n_penalties,)
    lam_min_ : array (n_penalties,), where the criterion is least; lam_, unless a rule chose
    alpha_, C_ : exp(λ) and exp(−λ); a number for "shared", the shape of coef_ for
        "per-coefficient", else one for each group
    criterion_ : float, the mean held-out loss at lam_
    lam_interval_ : array (n_penalties, 2), between which λ the criterion is within `tol` of its
        best, one λ at a time; about lam_min_. nan where there was no time for it
    plateaus_ : array of str (n_penalties,): "switched off" where the criterion is within `tol` up
        to the upper bound and nothing of the group is left in the model, "free" where it is so
        down to the lower bound and the penalty no longer acts, else ""
    penalties_ : array of records (n_penalties,): name, lam, value = exp(λ), lower and upper end of
        the interval, plateau; pandas.DataFrame(penalties_) is a table
    result_ : hoag.Result: trace, status, gradients with their errors; result_.to_frame()
    scores_ : dict of arrays (n_folds,), with `scoring`
    dof_ : float, how many coefficients the fit is worth, intercepts too, where cv is such a word
    shrink_ : float, with `shrink`: τ; inf where one penalty serves as well
    n_iter_ : int, the steps of the search
    """

    _accepted = LOGISTIC
    _missing = LOGISTIC_ATTRIBUTES
    _probable = True
    _called = "C"

    C_: Any = fitted()
    Cs_: Array = fitted()
    alphas_: Array = fitted()
    l1_ratio_: Any = fitted()
    l1_ratios_: Array = fitted()
    scores_: Any = fitted()
    coefs_paths_: Any = fitted()

    Cs: Any = None
    fit_intercept: bool = True
    class_weight: Any = None
    criterion: Literal["log_loss", "brier"] = "log_loss"
    alphas: Any = None
    use_legacy_attributes: bool | None = None
    penalty: Literal["l2", "deprecated"] = "l2"
    l1_ratios: Any = None
    solver: Literal["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = "lbfgs"
    dual: bool = False
    intercept_scaling: float = 1.0
    multi_class: Literal["auto", "multinomial", "deprecated"] = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.Cs is not None and self.alphas is not None:
            raise InvalidInput(
                "Both Cs and alphas are given, and both say where to look: leave one out."
            )
        if not isinstance(self._legacy, bool):
            return
        if isinstance(self.cv, str):
            raise InvalidInput(
                f"use_legacy_attributes={self._legacy} is for attributes of folds, and "
                f"cv={self.cv!r} has none: leave it out."
            )
        if not isinstance(self.penalties, str) or self.penalties != "shared":
            raise InvalidInput(
                f"use_legacy_attributes={self._legacy} is for attributes over a grid of one C, and "
                "there are several penalties: leave it out."
            )
        if self._scoring is not None and not self._one_scorer:
            raise InvalidInput(
                f"use_legacy_attributes={self._legacy} is for the scores of one scorer, and "
                "scoring has several: leave it out, and scores_ has them by name."
            )

    @property
    def _legacy(self) -> bool | None:
        """Whether attributes are to have scikit-learn's shapes, and which of them."""
        flag = self.use_legacy_attributes
        return flag if isinstance(flag, bool) else None

    def _check_out_of_core(self, params: dict[str, Any]) -> None:
        super()._check_out_of_core(params)
        if self._legacy is not None:
            raise InvalidInput(
                f"use_legacy_attributes={self._legacy} needs the rows in memory, and this is "
                "out-of-core data: leave it out."
            )

    def _named(self, lam: Array) -> dict[str, Any]:
        alpha = super()._named(lam)["alpha_"]
        with np.errstate(divide="ignore"):
            C = 1.0 / np.asarray(alpha)
        if self.alphas is not None:
            alpha = alpha / self._weight
        return {"alpha_": alpha, "C_": float(C) if np.ndim(alpha) == 0 else C}

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        grids, known = self._grids(), self._named(result.lam)
        lams = grids[0].lam if grids else np.atleast_1d(result.lam)
        found = {"Cs_": np.exp(-lams), "l1_ratio_": 0.0, "l1_ratios_": np.zeros(1)}
        if self.Cs is not None:
            found["Cs_"] = grids[0].values
        if self.alphas is not None:
            found["alphas_"] = grids[0].values
        if self._legacy is None:
            return found | super()._judged(judge, result)
        best = replace(result.evaluation, x=result.x)
        start = time.perf_counter()
        grid = over_grid(judge, lams, best, float(self.tol), bool(self.fit_intercept))
        seconds = self.result_.seconds + time.perf_counter() - start
        self.result_ = replace(self.result_, cost=self.result_.cost + grid.cost, seconds=seconds)
        shape = (self._legacy, self.l1_ratios, self.classes_)
        return found | grid.shaped(*shape, known["C_"], self.n_iter_)

    def _run_away(self, X: Any, y: npt.NDArray[Any]) -> str:
        outcomes = y[:, None] == self.classes_[-len(self.coef_) :]
        return separated(X, outcomes, False, self.coef_, vars(self).get("feature_names_in_"))

    def _reading(self, column: Column) -> Reading:
        self._weight = column.total
        if not isinstance(self.criterion, str) or self.criterion not in ("log_loss", "brier"):
            raise InvalidInput(f"criterion={self.criterion!r}: use 'log_loss' or 'brier'.")
        intercept, judge = bool(self.fit_intercept), self.criterion == "brier"
        target = partial(_labelled, classes=self.classes_, intercept=intercept, brier=judge)
        return Reading(target, intercept, 0.25, self._class_weights(column))

    def _grids(self) -> list[Grid]:
        name, given = ("Cs", self.Cs) if self.alphas is None else ("alphas", self.alphas)
        if given is None:
            return []
        whole = isinstance(given, Integral) and int(given) > 0
        if np.ndim(given) == 0 and not whole:
            raise InvalidInput(f"{name}={given!r}: give a whole number of values, or their list.")
        values = np.logspace(-4, 4, int(given)) if whole else check_grid(name, given)
        if name == "Cs":
            return [Grid(name, values, -np.log(values))]
        values = values / self._weight if whole else values
        return [Grid(name, values, np.log(values * self._weight))]

    @property
    def _one_scorer(self) -> bool:
        return isinstance(self._scoring, str) or callable(self._scoring)

    def _scored_by(self, mapping: MethodMapping) -> MethodMapping:
        return mapping.add(caller="score", callee="score") if self._one_scorer else mapping

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """By `scoring`, where it is one scorer, as in scikit-learn; else the accuracy.

        Partitions have y and weights with them: score(source).
        """
        if not self._one_scorer:
            return super().score(X, y, sample_weight)
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            weight = process_routing(self, "score", **weight, **params).scorer.score
        elif params:
            raise TypeError(
                f"score got {sorted(params)}: without metadata routing it takes X, y and "
                "sample_weight."
            )
        return float(self._scorer()(self, X, y, **weight))

    def decision_function(self, X: Any) -> Array:
        z = self._linear_predictor(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return self._labels(self.decision_function(X))

    def _labels(self, z: Array) -> npt.NDArray[Any]:
        codes = (z > 0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, z: Array) -> Array:
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
        shared = isinstance(self.penalties, str) and self.penalties == "shared"
        C = float(np.exp(-self.lam_[0])) if shared else 1.0
        model = LogisticRegression(
            C=C, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
        model.classes_ = self.classes_.copy()
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_.copy()
        model.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        return with_features(model, self)


def _labelled(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], intercept: bool, brier: bool
) -> Target:
    """Labels as signs, or as numbers of classes; held-out rows judged by log loss, or Brier's."""
    target = (binary if len(classes) == 2 else multiclass)(y, classes, intercept)
    if not brier:
        return target
    outer: OuterLoss = Brier() if target.outputs == 1 else MultinomialBrier()
    return replace(target, outer=outer)
