"""CoxRegressionCV."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._data.engine import Engine
from hoag._glm.cox import cox_target, records
from hoag._glm.fold_rule import FoldRule
from hoag._glm.risk_sets import TIES
from hoag._glm.targets import Target
from hoag.linear_model._base import TunedEstimator
from hoag.linear_model._callbacks import with_callbacks
from hoag.linear_model._concordance import concordance
from hoag.linear_model._judge import Judge
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._out_of_core import with_own_y
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._task import Task
from hoag.linear_model._units import WEIGHT, Units, units

MISSING = {
    "to_sklearn": "scikit-learn has no Cox regression; coef_ and alpha_ are as "
    "scikit-survival's CoxPHSurvivalAnalysis has them.",
    "intercept_": "the baseline hazard takes its place.",
}


@parameters
class CoxRegressionCV(LinearEstimator):
    """Cox regression whose ℓ₂ penalties minimise the cross-validated partial likelihood.

        Σ_events sᵢ [log(Σ_{j at risk when i falls} sⱼ exp(aⱼᵀw)) − aᵢᵀw] + ½ Σⱼ αⱼ wⱼ²

    with αⱼ = exp(λ[group(j)]), as scikit-survival's CoxPHSurvivalAnalysis(alpha) has it. What is
    minimised over λ is what held-out rows add to that sum over all rows, at the w of the others
    (Verweij and van Houwelingen): it works for small folds, too.

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

    Parameters
    ----------
    penalties : {"shared", "per-feature"}, array of int or dict
        Which coefficients share a penalty: the group number of each feature, −1: not penalised; or
        a dict from columns to labels, as in LogisticRegressionCV.
    ties : {"breslow", "efron"}
        How events at one time are compared. Under "breslow" a weight of two is two rows.
    cv : int, splitter, iterable or None
        None is 5-fold. Int, None: stratified by events, so that every fold has some, not shuffled.
        Splitters are given the events, 0 or 1, as y.
    scoring : callable, list, dict or None
        Scorers of held-out rows at the best λ, in `scores_`, such as
        sklearn.metrics.make_scorer(hoag.linear_model._concordance).
    tol : float
        Stop when the criterion can fall by no more than this share of itself. Much of it, about
        twice the log of how many are at risk, no penalty changes: hence a tenth of what other
        estimators ask for.
    shrink, standardize, select, rule, search, starts, bounds, max_iter, time_budget, refit, n_jobs,
    certificate, random_state, verbose, callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    coef_ : array (n_features,)
    alpha_ : exp(λ), the penalty on the sum, as in scikit-survival; a number, or one for each group
    criterion_ : float, twice what the held-out rows of all folds add to the negative log partial
        likelihood, for each held-out event (by weight): a deviance for each event, about twice the
        log of how many are at risk where nothing is known
    means_ : array (n_features,), the mean row, to which the baseline belongs
    event_times_ : array (n_times,), the times of events
    baseline_cumulative_hazard_, baseline_survival_ : arrays (n_times,), or (n_strata, n_times), of
        a row at the means, by Breslow's estimator
    strata_ : array of the labels of strata, where they were given
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _missing = MISSING
    _loss = "partial_likelihood"
    # no row can be left out of a likelihood that is no sum over rows
    _words: ClassVar[tuple[str, ...]] = ()

    means_: Array = fitted()
    event_times_: Array = fitted()
    baseline_cumulative_hazard_: Array = fitted()
    baseline_survival_: Array = fitted()
    strata_: npt.NDArray[Any] = fitted()

    ties: Literal["breslow", "efron"] = "breslow"
    tol: float = 1e-05

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
            raise InvalidInput(f"ties={self.ties!r}: use {' or '.join(map(repr, TIES))}.")
        if isinstance(self.penalties, str) and self.penalties not in ("shared", "per-feature"):
            raise InvalidInput(
                f"penalties={self.penalties!r}: use 'shared', 'per-feature', an array of group "
                "numbers, or a dict from columns to labels."
            )

    def _out_of_core_task(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Task, float, FoldRule]:
        return TunedEstimator._out_of_core_task(
            self, engine, params
        )  # rows are compared with each other

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, ensure_min_samples=2), np.asarray(y)
        check_consistent_length(X, y)
        records(y)
        return X, y

    def _split_by(self, y: Any) -> tuple[Any, bool]:
        return records(y)["event"].astype(np.intp), True

    def _task(self, X: Any, y: Any, weights: Array, splits: Any) -> Task:
        fallen = float(weights @ records(y)["event"])
        if not fallen > 0:
            raise InvalidInput("No event has a positive weight: there is nothing to fit.")
        total = float(weights.sum())
        u = units(X, weights, centre=True, spread_weights=weights if self.standardize else None)
        target = cox_target(y, ties=self.ties, unit=total / WEIGHT)
        return self._linear_task(u, target, splits, curvature=fallen / total)

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        """From g to the deviance for each held-out event."""
        return 2.0 / judged

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        return {"coef_": u.coefficients(x, 1, None)[0][0]}

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        """With Breslow's baseline: Σ over times up to t of the events over the risk of all left."""
        found = super()._judged(judge, result)
        found["means_"] = judge.X.T @ (judge.weights / judge.weights.sum())
        target = cox_target(judge.y)
        sets = target.sets(judge.weights)
        hazards = sets.at((judge.X @ self.coef_) - found["means_"] @ self.coef_).hazards
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
                raise InvalidInput("strata is given, and the model was fitted without strata.")
            return (None, slice(None))
        labels = np.asarray(strata)
        if strata is None or labels.shape != (n,):
            raise InvalidInput(f"The model has strata: give the label of each of the {n} rows.")
        place = np.searchsorted(known, labels).clip(max=known.size - 1)
        if np.any(known[place] != labels):
            unknown = labels[known[place] != labels][0]
            raise InvalidInput(
                f"The stratum {str(unknown)!r} was not there when the model was fitted."
            )
        return place

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> float:
        """Harrell's concordance of `predict`; within strata where they are given."""
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        return concordance(y, self.predict(X), sample_weight, strata)

    def criterion_at(
        self,
        lam: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        **params: Any,
    ) -> float:
        """The criterion at another λ, solved tightly; give strata and all else as to fit."""
        return super().criterion_at(lam, X, _with_strata(y, strata), sample_weight, **params)

    def path(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        strata: Any = None,
        **options: Any,
    ) -> Any:
        """The criterion where all penalties are moved together; see LogisticRegressionCV.path."""
        return super().path(X, _with_strata(y, strata), sample_weight, **options)


def _with_strata(y: Any, strata: Any) -> Any:
    """y as it is given; with strata as records of time, event and stratum, which go along."""
    return y if strata is None else records(y, strata)
