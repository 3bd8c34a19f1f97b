"""CoxRegressionCV."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._data.engine import Engine
from hoag._data.fold_rule import FoldRule
from hoag._data.out_of_core import with_own_y
from hoag._glm.cox import cox_target, records
from hoag._glm.risk_sets import TIES
from hoag._glm.targets import Target
from hoag._glm.units import WEIGHT, Units, units
from hoag.linear_model._base import TunedEstimator
from hoag.linear_model._compat import with_callbacks
from hoag.linear_model._concordance import concordance
from hoag.linear_model._families import COX
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._scoring import Judge
from hoag.linear_model._tuning import Attributes, Tuning


@parameters
class CoxRegressionCV(LinearEstimator):
    """Cox regression whose ℓ₂ penalties minimise the cross-validated partial likelihood.

        Σ_events sᵢ [log(Σ_{j at risk when i falls} sⱼ exp(aⱼᵀw)) − aᵢᵀw] + ½ Σⱼ αⱼ wⱼ²

    with αⱼ = exp(λ[group(j)]), as scikit-survival's CoxPHSurvivalAnalysis(alpha) has it. What is
    minimised over λ is what held-out rows add to that sum over all rows, at the w of the others
    (Verweij and van Houwelingen): it works for small folds, too.

    Parameters
    ----------
    ties : {"breslow", "efron"}, default="breslow"
        How events at one time are compared. Under "breslow" a weight of two is two rows.
    cv : int, splitter or iterable, default=None
        None is 5-fold. Int, None: stratified by events, so that every fold has some, not shuffled.
        Splitters are given the events, 0 or 1, as y.
    scoring : callable, list or dict, default=None
        Scorers of held-out rows at the best λ, in `scores_`, such as
        sklearn.metrics.make_scorer(hoag.linear_model.concordance).
    tol : float, default=1e-5
        Stop when the criterion can fall by no more than this share of itself. Much of it, about
        twice the log of how many are at risk, no penalty changes: hence a tenth of what other
        estimators ask for.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients; a larger aᵢᵀw is for earlier events.
    alpha_ : float or ndarray of shape (n_penalties,)
        exp(λ), the penalty on the sum, as in scikit-survival; a number, or one for each group.
    criterion_ : float
        Twice what the held-out rows of all folds add to the negative log partial likelihood, for
        each held-out event (by weight): a deviance for each event, about twice the log of how many
        are at risk where nothing is known.
    means_ : ndarray of shape (n_features,)
        The mean row, to which the baseline belongs.
    event_times_ : ndarray of shape (n_times,)
        The times of events.
    baseline_cumulative_hazard_, baseline_survival_ : ndarray of shape (n_times,)
        Of a row at the means, by Breslow's estimator; with strata (n_strata, n_times).
    strata_ : ndarray of shape (n_strata,)
        The labels of strata, where they were given.

    See Also
    --------
    hoag.linear_model.concordance : Harrell's index, which `score` is.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import CoxRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X, censored = rng.normal(size=(200, 6)), rng.exponential(2.0, size=200)
    >>> time = rng.exponential(size=200) * np.exp(-X[:, 0] + 0.5 * X[:, 1])
    >>> y = np.column_stack([np.minimum(time, censored), time <= censored])
    >>> model = CoxRegressionCV(penalties="per-feature").fit(X, y)
    >>> print(f"concordance {model.score(X, y):.2f}")
    concordance 0.73
    >>> model.predict_survival_function(X[:2], times=[0.5, 1.0]).shape
    (2, 2)
    """

    ties: Literal["breslow", "efron"] = "breslow"
    tol: float = 1e-5

    _family = COX
    _sharing = ("shared", "per-feature")
    _missing: ClassVar[dict[str, str]] = {
        "to_sklearn": "scikit-learn has no Cox regression; coef_ and alpha_ are as "
        "scikit-survival's CoxPHSurvivalAnalysis has them.",
        "intercept_": "the baseline hazard takes its place.",
    }

    means_: Array = fitted()
    event_times_: Array = fitted()
    baseline_cumulative_hazard_: Array = fitted()
    baseline_survival_: Array = fitted()
    strata_: npt.NDArray[Any] = fitted()

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None, **params: Any
    ) -> Self:
        """Tune the penalties and fit the model; `groups` for the splitter go in params.

        y is a structured array of an event (bool) and a time (float), in any order and by any
        name, or has two columns, time and event (0 or 1). `strata` is a label for each row: rows
        are compared within a stratum, and each has a baseline of its own.
        """
        self.__dict__.pop("strata_", None)
        if strata is not None:
            self.strata_ = np.unique(np.asarray(strata))
        return self._tune(X, _with_strata(y, strata), sample_weight, params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ties not in TIES:
            raise InvalidParameterError.of(
                "ties", self.ties, f"use {' or '.join(map(repr, TIES))}."
            )
        if isinstance(self.penalties, str):
            self._penalties()

    def _tuning_out_of_core(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Tuning, float, FoldRule]:
        # rows are compared with each other
        return TunedEstimator._tuning_out_of_core(self, engine, params)

    def _tuning_for(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Tuning:
        strata = params.pop("strata", None)
        return super()._tuning_for(X, _with_strata(y, strata), sample_weight, params)

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, ensure_min_samples=2), np.asarray(y)
        check_consistent_length(X, y)
        records(y)
        return X, y

    def _split_by(self, y: Any) -> tuple[Any, bool]:
        return records(y)["event"].astype(np.intp), True

    def _tuning(self, X: Any, y: Any, weights: Array, splits: Any, **given: Any) -> Tuning:
        fallen = float(weights @ records(y)["event"])
        if not fallen > 0:
            raise InvalidDataError(
                "No event has a positive weight: there is nothing to fit.", parameter="y"
            )
        total = float(weights.sum())
        u = units(X, weights, centre=True, spread_weights=weights if self.standardize else None)
        target = cox_target(y, ties=self.ties, unit=total / WEIGHT)
        return self._tuning_in_memory(u, target, splits, curvature=fallen / total)

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        return {"coef_": u.coefficients(x, 1, None)[0][0]}

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        """With Breslow's baseline: Σ over times up to t of the events over the risk of all left."""
        found, data = super()._judged(judge, result), judge.data
        found["means_"] = data.X.T @ (data.weights / data.weights.sum())
        target = cox_target(data.y)
        sets = target.sets(data.weights)
        hazards = sets.at((data.X @ self.coef_) - found["means_"] @ self.coef_).hazards
        times = found["event_times_"] = np.unique(sets.times)
        steps = np.zeros((int(target.y["stratum"].max()) + 1, times.size))
        steps[sets.stratum, np.searchsorted(times, sets.times)] = hazards
        baseline = np.cumsum(steps, axis=1)
        baseline = baseline if "strata_" in vars(self) else baseline[0]
        return found | {
            "baseline_cumulative_hazard_": baseline,
            "baseline_survival_": np.exp(-baseline),
        }

    def predict(self, X: Any) -> Array:
        """aᵢᵀw: the log of the risk, larger for earlier events."""
        check_is_fitted(self)
        return np.asarray(self._validate(X, reset=False) @ self.coef_)

    def predict_cumulative_hazard_function(
        self, X: Any, times: Any = None, strata: Any = None
    ) -> Array:
        """H(t | a) for every row and time, (n, times); by default at `event_times_`.

        The baseline is a step function: nothing before the first event, and after the last one
        what it was there. A model with strata needs the stratum of every row.
        """
        z = self.predict(X) - self.means_ @ self.coef_
        times = self.event_times_ if times is None else np.asarray(times, dtype=float)
        place = np.searchsorted(self.event_times_, times, side="right")
        baseline = self.baseline_cumulative_hazard_[self._stratum(strata, len(z))]
        padded = np.concatenate([np.zeros((len(baseline), 1)), baseline], axis=1)
        with np.errstate(over="ignore"):
            return np.asarray(padded[:, place] * np.exp(z)[:, None])

    def predict_survival_function(self, X: Any, times: Any = None, strata: Any = None) -> Array:
        """exp(−H(t | a)) for every row and time, (n, times); see the cumulative hazard."""
        return np.exp(-self.predict_cumulative_hazard_function(X, times, strata))

    def _stratum(self, strata: Any, n: int) -> Any:
        """Which baseline each of n rows has, as an index."""
        known = vars(self).get("strata_")
        if known is None:
            if strata is not None:
                raise InvalidParameterError(
                    "strata is given, and the model was fitted without strata.",
                    parameter="strata",
                )
            return (None, slice(None))
        labels = np.asarray(strata)
        if strata is None or labels.shape != (n,):
            raise InvalidParameterError(
                "The model has strata:",
                parameter="strata",
                hint=f"give the label of each of the {n} rows.",
            )
        place = np.searchsorted(known, labels).clip(max=known.size - 1)
        if np.any(known[place] != labels):
            unknown = labels[known[place] != labels][0]
            raise InvalidDataError(
                f"The stratum {str(unknown)!r} was not there when the model was fitted.",
                parameter="strata",
                value=unknown,
            )
        return place

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> float:
        """Harrell's concordance of `predict`; within strata where they are given."""
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        return concordance(y, self.predict(X), sample_weight, strata)


def _with_strata(y: Any, strata: Any) -> Any:
    """y as it is given; with strata as records of time, event and stratum, which go along."""
    return y if strata is None else records(y, strata)
