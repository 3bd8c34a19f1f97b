"""Classifiers of one label for each row: logistic, support vector, ordered."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, log_softmax
from sklearn import get_config
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metadata_routing import UNUSED, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._core.warn import warn
from hoag._data.engine import Engine
from hoag._data.out_of_core import adopt, predicted, with_own_y
from hoag._data.target import Column, PartitionedColumn, Weigh
from hoag._glm.losses.ordinal import cuts
from hoag._glm.targets import Target
from hoag._glm.units import Units
from hoag.linear_model._accepted import LOGISTIC as LOGISTIC_ACCEPTED
from hoag.linear_model._accepted import LOGISTIC_ATTRIBUTES
from hoag.linear_model._base import FitData
from hoag.linear_model._compat import SparseCoefMixin, of_classes
from hoag.linear_model._families import LINEAR_SVC, LOGISTIC, ORDINAL, Reading
from hoag.linear_model._grid import over_grid
from hoag.linear_model._linear import LinearEstimator, alpha_grid, check_grid, several
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._scoring import Classifier, Judge
from hoag.linear_model._separated import separated
from hoag.linear_model._tuning import Attributes, GivenValues


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """y, s ↦ s · (the weight of y's class)."""

    classes: npt.NDArray[Any]
    each: Array

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Array:
        return np.asarray(weights * self.each[np.searchsorted(self.classes, y)])


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], column: Column
) -> ClassWeights | None:
    """What weights are multiplied by: that of the row's class; None where classes have none.

    "balanced" makes the weights of all classes that have any sum to the same, so that a row of
    weight two counts as two rows. At least two classes have to be left with a positive weight.
    """
    sums = column.sums(classes)
    if class_weight is None:
        each = np.ones(len(classes))
    elif isinstance(class_weight, str) and class_weight == "balanced":
        with np.errstate(divide="ignore"):
            each = np.where(sums > 0, sums.sum() / (np.sum(sums > 0) * sums), 0.0)
    else:
        each = compute_class_weight(class_weight, classes=classes, y=classes)
        if not np.all(np.isfinite(each) & (each >= 0)):
            raise InvalidParameterError(
                "class_weight must be finite numbers, none of them negative.",
                parameter="class_weight",
                value=class_weight,
            )
    if np.sum(sums * each > 0) < 2:
        raise InvalidDataError(
            "After sample_weight and class_weight only one class has a positive weight; a "
            "classifier needs two classes or more.",
            parameter="class_weight",
        )
    return None if class_weight is None else ClassWeights(classes, each)


def ordered_categories(y: Any) -> npt.NDArray[Any] | None:
    """The categories of a pandas Series or Categorical that has an order, in that order."""
    try:
        return np.asarray(y.dtype.categories) if y.dtype.ordered else None
    except AttributeError:  # a list, an array, or a Series of something else
        return None


@parameters
class ClassifierCV(Classifier, LinearEstimator):
    """A linear classifier of one label for each row, its penalties tuned by gradient.

    Parameters
    ----------
    class_weight : dict or "balanced", default=None
        Multiplies sample_weight, so it counts in training and in the criterion.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of their values.

    Examples
    --------
    >>> from hoag import LinearSVCCV
    >>> from hoag.linear_model import ClassifierCV
    >>> issubclass(LinearSVCCV, ClassifierCV)
    True
    """

    class_weight: Any = None

    classes_: npt.NDArray[Any] = fitted()

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y)
        check_classification_targets(y)
        self._know(np.unique(y))
        return X, y

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        super()._know_partitions(engine, column)
        check_classification_targets(column.classes)
        self._know(column.classes)

    def _know(self, classes: npt.NDArray[Any]) -> None:
        """Keep the classes of y."""
        if len(classes) < 2:
            raise InvalidDataError(
                f"A classifier needs two classes or more; y has only one class: {classes[0]}.",
                parameter="y",
            )
        self.classes_ = classes

    def _class_weights(self, column: Column) -> Weigh | None:
        return class_weights(self.class_weight, self.classes_, column)

    def _scorer_of_folds(self) -> Any:
        return of_classes(self._scorer(), self.classes_)

    def _decision(self, X: Any) -> Array:
        """What labels and probabilities are made of."""
        z = self._linear_predictor(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of every row, or the one with the largest decision value.

        Parameters
        ----------
        X : array-like, sparse matrix or partitions of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes, in the order of the rows.
        """
        return self._labels(self._decision(X))

    def _labels(self, z: Array) -> npt.NDArray[Any]:
        codes = (z > 0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)
        return np.asarray(self.classes_[codes])

    def _odds(self, z: Array) -> Array:
        return self._family.mean(self, z)


@parameters
class InverseStrength(ClassifierCV):
    """A classifier whose penalty scikit-learn calls C = 1/α.

    Parameters
    ----------
    Cs : array-like of float, default=None
        Only the range counts, and becomes the bounds: −log C.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts; 0 without.
    alpha_, C_ : float or ndarray
        exp(λ) and exp(−λ): a number for "shared", the shape of coef_ for "per-coefficient", else
        one for each group.
    """

    Cs: Any = None
    fit_intercept: bool = True

    C_: Any = fitted()

    _called = "C"

    def _grids(self) -> list[GivenValues]:
        if self.Cs is None:
            return []
        values = check_grid("Cs", self.Cs)
        return [GivenValues("Cs", values, -np.log(values))]

    def decision_function(self, X: Any) -> Array:
        """aᵢᵀw + b of every row, and of every class where there are more than two."""
        return self._decision(X)

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's plain one."""
        return self._twin(classes_=self.classes_)

    def _named(self, lam: Array) -> Attributes:
        alpha = super()._named(lam)["alpha_"]
        with np.errstate(divide="ignore"):
            C = self._unit / np.asarray(alpha)
        return {"alpha_": alpha, "C_": self._as_given("Cs", lam, C).item() if C.ndim == 0 else C}


@parameters
class LogisticRegressionCV(SparseCoefMixin, InverseStrength):  # type: ignore[misc]
    """Logistic regression whose ℓ₂ penalties minimise the cross-validated loss, found by gradient.

        Σᵢ sᵢ log(1 + exp(−yᵢ(aᵢᵀw + b))) + ½ Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)]),  C = 1/α

    For more than two classes the loss is the multinomial one. A drop-in replacement for
    scikit-learn's class of this name with ℓ₂ penalties; the search needs no grid.

    Parameters
    ----------
    Cs : int or array-like of float, default=None
        As in scikit-learn; only the range counts, and becomes the bounds: −log C.
    alphas : int or array-like of float, default=None
        As in scikit-learn 1.10, in place of Cs: C = 1/(α Σᵢ sᵢ); alpha_ is then in these units.
    criterion : {"log_loss", "brier"}, default="log_loss"
        The smooth loss of held-out rows that is minimised over λ.
    use_legacy_attributes : bool, default=None
        True and False: C_, scores_, coefs_paths_, n_iter_, l1_ratio_ have the values and shapes of
        scikit-learn's class with that setting, over Cs where it is given, else over the one C
        found; each C of a grid is then solved for. None: as below; with search="grid" as False.
    penalty : {"l2", "deprecated"}, default="l2"
        scikit-learn's. Here and below, values that stand for ℓ₂ penalties and multinomial models
        are accepted and do nothing; others get a sentence that says what to use.
    l1_ratios : array-like of float, default=None
        scikit-learn's: zeros.
    solver : str, default="lbfgs"
        scikit-learn's: any of its names; the solver is chosen from the data.
    dual : bool, default=False
        scikit-learn's, and does nothing: the model is the same.
    intercept_scaling : float, default=1.0
        scikit-learn's, and does nothing: the intercept is not penalised.
    multi_class : {"auto", "multinomial", "deprecated"}, default="auto"
        scikit-learn's.

    Attributes
    ----------
    Cs_ : ndarray
        The values of Cs, or C_ alone.
    alphas_ : ndarray
        Those of alphas, where they are given.
    l1_ratio_, l1_ratios_ : float, ndarray
        Zero.

    See Also
    --------
    LinearSVCCV : The squared hinge loss in place of the logistic one.
    OrdinalLogisticCV : For classes in an order.
    sklearn.linear_model.LogisticRegressionCV : A grid search; also ℓ₁.

    Examples
    --------
    >>> from hoag import LogisticRegressionCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV().fit(scale(X), y)
    >>> print(f"C = {model.C_:.2f}, held-out log loss {model.criterion_:.4f}")
    C = 0.63, held-out log loss 0.0782
    >>> model.result_.converged
    True
    """

    criterion: Literal["log_loss", "brier"] = "log_loss"
    alphas: Any = None
    use_legacy_attributes: bool | None = None
    penalty: Literal["l2", "deprecated"] = "l2"
    l1_ratios: Any = None
    solver: Literal["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = "lbfgs"
    dual: bool = False
    intercept_scaling: float = 1.0
    multi_class: Literal["auto", "multinomial", "deprecated"] = "auto"

    Cs_: Array = fitted()
    alphas_: Array = fitted()
    l1_ratio_: Any = fitted()
    l1_ratios_: Array = fitted()
    scores_: Any = fitted()
    coefs_paths_: Any = fitted()
    _weight: float = fitted()

    # A number of rows has no part in score but what the scorer asks for, as in scikit-learn.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    _family = LOGISTIC
    _accepted = LOGISTIC_ACCEPTED
    _missing = LOGISTIC_ATTRIBUTES

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.Cs is not None and self.alphas is not None:
            raise InvalidParameterError(
                "Both Cs and alphas are given, and both say where to look:",
                parameter="alphas",
                value=self.alphas,
                hint="leave one out.",
            )
        shared = isinstance(self.penalties, str) and self.penalties == "shared"
        if self._legacy is not None:
            asked = "search" if self.search == "grid" else "use_legacy_attributes"
            self._check_grid(asked, vars(self)[asked], shared)

    @property
    def _legacy(self) -> bool | None:
        """Whether attributes are to have scikit-learn's shapes, and which of them."""
        flag = self.use_legacy_attributes
        return flag if isinstance(flag, bool) else False if self.search == "grid" else None

    def _reading(self, column: Column, **given: Any) -> Reading:
        self._weight = column.total
        return super()._reading(column, **given)

    def _grids(self) -> list[GivenValues]:
        name, given = ("Cs", self.Cs) if self.alphas is None else ("alphas", self.alphas)
        if given is None:
            return []
        whole = isinstance(given, Integral) and int(given) > 0
        if np.ndim(given) == 0 and not whole:
            raise InvalidParameterError.of(
                name, given, "give a whole number of values, or their list."
            )
        values = np.logspace(-4, 4, int(given)) if whole else check_grid(name, given)
        if name == "Cs":
            return [GivenValues(name, values, -np.log(values))]
        values = values / self._weight if whole else values
        return [GivenValues(name, values, np.log(values * self._weight))]

    @property
    def _unit(self) -> float:
        return 1.0 if self.alphas is None else 1.0 / self._weight

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        grids, known = self._grids(), self._named(result.lam)
        lams = grids[0].lam if grids else np.atleast_1d(result.lam)
        found = {"Cs_": np.exp(-lams), "l1_ratio_": 0.0, "l1_ratios_": np.zeros(1)}
        if grids:
            found[f"{grids[0].name}_"] = grids[0].values
        if self._legacy is None:
            return found | super()._judged(judge, result)
        shape = (self._legacy, bool(self.fit_intercept), self.l1_ratios, self.classes_)
        if judge.tuning.grid is not None:
            return found | judge.tuning.grid.shaped(*shape, known["C_"], self.n_iter_)
        best = replace(result.evaluation, x=result.x)
        start = time.perf_counter()
        grid = over_grid(judge, lams, float(self.tol) * abs(best.value), best)
        seconds = self.result_.seconds + time.perf_counter() - start
        self.result_ = replace(self.result_, cost=self.result_.cost + grid.cost, seconds=seconds)
        return found | grid.shaped(*shape, known["C_"], self.n_iter_)

    def _separated(self, data: FitData) -> str:
        outcomes = data.y[:, None] == self.classes_[-len(self.coef_) :]
        names = vars(self).get("feature_names_in_")
        return separated(data.X, outcomes, False, self.coef_, names)

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
            raise InvalidParameterError(
                f"score got {sorted(params)}, which is only supported if "
                "enable_metadata_routing=True; without it score takes X, y and sample_weight.",
                parameter=min(params),
            )
        return float(self._scorer()(self, X, y, **weight))

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, (n_samples, n_classes)."""
        return self._odds(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probabilities, to the last digit also where these are 0."""
        z = self.decision_function(X)
        if z.ndim == 1:
            return np.stack([log_expit(-z), log_expit(z)], axis=1)
        return np.asarray(log_softmax(z, axis=1))

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.LogisticRegression."""
        steps = np.array([self.n_iter_], dtype=np.int32)
        return self._twin(classes_=self.classes_, n_iter_=steps)


class LinearSVCCV(SparseCoefMixin, InverseStrength):  # type: ignore[misc]
    """A linear support vector machine whose ℓ₂ penalties minimise the held-out squared hinge loss.

        Σᵢ sᵢ Σ_k max(0, 1 − yᵢₖ(aᵢᵀw_k + b_k))² + ½ Σⱼ αⱼ wⱼ²,   C = 1/α

    One y = ±1 for two classes, else one for each class against the rest. scikit-learn's LinearSVC
    with its C tuned; the intercept is not penalised here, as it is there.

    Attributes
    ----------
    criterion_ : float
        The mean squared hinge loss of held-out rows, summed over classes.

    See Also
    --------
    LogisticRegressionCV : The logistic loss, and probabilities.
    sklearn.svm.LinearSVC : The plain model, for a C of one's own.

    Examples
    --------
    >>> from hoag import LinearSVCCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVCCV().fit(scale(X), y)
    >>> print(f"C = {model.C_:.4f}, held-out squared hinge loss {model.criterion_:.4f}")
    C = 0.0412, held-out squared hinge loss 0.1009
    """

    _family = LINEAR_SVC


@parameters
class OrdinalLogisticCV(ClassifierCV):
    """Logistic regression of ordered classes, whose ℓ₂ penalties minimise the held-out log loss.

        −Σᵢ sᵢ log P(yᵢ) + ½ Σⱼ αⱼ wⱼ²,   P(y > class k) = 1/(1 + exp(θ_k − aᵢᵀw))

    One set of slopes, and a threshold θ_k between each two classes: proportional odds. The classes
    are in the order of their values, or of an ordered pandas Categorical. The thresholds are not
    penalised.

    Parameters
    ----------
    alphas : array-like of float, default=None
        Only the range counts, and becomes the bounds: log α.

    Attributes
    ----------
    order_ : ndarray of shape (n_classes,)
        The classes in their order.
    coef_ : ndarray of shape (n_features,)
        The slopes; a larger aᵢᵀw speaks for a higher class.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Rising, between the classes of order_.
    alpha_ : float or ndarray of shape (n_penalties,)
        exp(λ): a number for "shared", else one for each group.
    criterion_ : float
        The mean log loss of held-out rows.

    See Also
    --------
    LogisticRegressionCV : For classes in no order.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import OrdinalLogisticCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OrdinalLogisticCV().fit(X, np.digitize(y, [80, 140, 220]))
    >>> print(f"alpha = {model.alpha_:.4f}, held-out log loss {model.criterion_:.3f}")
    alpha = 0.0182, held-out log loss 1.070
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.03, 0.12, 0.41, 0.45]])
    """

    alphas: Any = field(default=None, kw_only=False)

    order_: npt.NDArray[Any] = fitted()
    thresholds_: Array = fitted()
    _order: Any = field(default=None, init=False)
    _cuts: Array = fitted()

    _family = ORDINAL
    _sharing = ("shared", "per-feature", "per-coefficient")
    _missing: ClassVar[dict[str, str]] = {
        "to_sklearn": "scikit-learn has no model of ordered classes."
    }

    # Thresholds are intercepts, and always there.
    fit_intercept: ClassVar[bool] = True

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        self._order = ordered_categories(y)
        return super()._read(X, y)

    def _know(self, classes: npt.NDArray[Any]) -> None:
        super()._know(classes)
        order, self._order = self._order, None
        self.order_ = self.classes_ if order is None else order[np.isin(order, self.classes_)]
        if order is None and self.classes_.dtype.kind in "OUS":
            more = " < …" if len(self.classes_) > 4 else ""
            warn(
                "The classes are text, and in the order of the alphabet: "
                f"{' < '.join(map(str, self.classes_[:4]))}{more}. Give numbers, or an ordered "
                "pandas Categorical, for another order."
            )

    def _grids(self) -> list[GivenValues]:
        several("alphas", self.alphas)
        return alpha_grid("alphas", self.alphas)

    def _reading(self, column: Column, **given: Any) -> Reading:
        shares = column.counts(self.classes_)[np.searchsorted(self.classes_, self.order_)]
        self._cuts = cuts(shares.astype(float)) if len(self.classes_) > 2 else np.zeros(1)
        return super()._reading(column, **given)

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        size = u.mean.size
        coef = u.coefficients(x[:size], 1, None)[0][0]
        return {"coef_": coef, "thresholds_": u.mean @ coef - x[size:] - self._cuts}

    def _from_predictor(self, z: Array) -> Array:
        """aᵢᵀw − θ_k of rows left out, (n, thresholds)."""
        return np.asarray(z.reshape(len(z), -1) + self._cuts)

    def _decision(self, X: Any) -> Array:
        """aᵢᵀw − θ_k, (n, thresholds)."""
        check_is_fitted(self)
        engine = adopt(X)
        if engine is not None:
            return np.asarray(predicted(engine, self.coef_, 0.0)[:, None] - self.thresholds_)
        X = self._validate(X, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_)[:, None] - self.thresholds_)

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, (n_samples, n_classes), in the order of classes_."""
        return self._odds(self._decision(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _labels(self, z: Array) -> npt.NDArray[Any]:
        """The likeliest class."""
        return np.asarray(self.classes_[np.argmax(self._odds(z), axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # where classes are in no order
        return tags
