"""TweedieRegressorCV."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._glm.losses import Gamma, InverseGaussian, LogLink, Poisson, Tweedie
from hoag._glm.tweedie_density import likely_dispersion
from hoag.linear_model._base import Data
from hoag.linear_model._callbacks import with_callbacks
from hoag.linear_model._judge import Judge
from hoag.linear_model._out_of_core import adopt
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._positive_mean import PositiveMeanRegressor
from hoag.linear_model._task import Task
from hoag.optimize._checkpoint import kept, told
from hoag.optimize._fingerprint import Fingerprint

# To this a power is found, and so near to 1 and 2.
POWER_TOL = 0.01


@parameters
class TweedieRegressorCV(PositiveMeanRegressor):
    """Tweedie regression, whose ℓ₂ penalties minimise the held-out deviance, and its power, too.

        1/(2 Σs) Σᵢ sᵢ d(yᵢ, μᵢ) + ½ Σⱼ αⱼ wⱼ²,   μᵢ = exp(aᵢᵀw + b + offsetᵢ)

    with d the deviance of a variance φμ^power: 1 is Poisson's, 2 gamma's, 3 the inverse Gaussian's,
    and between 1 and 2 y is a sum of a Poisson number of gamma variables, zero for many rows.

    >>> import numpy as np
    >>> from hoag import TweedieRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> claims = rng.poisson(np.exp(0.4 * X[:, 0]))  # how many, and what they cost in all:
    >>> costs = np.array([rng.gamma(2.0, 50.0, size=many).sum() for many in claims])
    >>> model = TweedieRegressorCV(power=1.5).fit(X, costs)
    >>> print(f"alpha = {model.alpha_:.3f}, held-out deviance {model.criterion_:.2f}")
    alpha = 4.104, held-out deviance 20.43

    Parameters
    ----------
    alphas : array of float or None
        Only the range counts, and becomes the bounds: log α, with α as in TweedieRegressor.
    power : float, or "tuned"
        1 to 2, or 3. "tuned": the power between 1 and 2 for which held-out rows are likeliest, to
        0.01; penalties are tuned at each power that is tried. Deviances of different powers are in
        different units, so the density of y is what compares them, at the likeliest dispersion.
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
    power_ : float
    dispersion_ : float, with power="tuned": the likeliest φ
    coef_, intercept_ : as in scikit-learn's TweedieRegressor
    alpha_ : exp(λ), as in TweedieRegressor on all rows; a number for "shared", else one for each
        group. Folds are fitted with the same penalty on the sum of losses, α Σs of all rows, where
        GridSearchCV has α Σs of the training rows
    criterion_ : float, the mean deviance of held-out rows, of power power_
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    power_: float = fitted()
    dispersion_: float = fitted()
    _held_out: tuple[Array, Array, Array] = fitted()

    power: float | Literal["tuned"] = 1.5

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        **params: Any,
    ) -> Self:
        """Tune the penalties, and the power if asked, and fit the model."""
        given = params | {"offset": offset, "exposure": exposure}
        self.__dict__.pop("dispersion_", None)
        if isinstance(self.power, str):
            known = partial(self._fingerprint_of, X, y, sample_weight, given)
            with kept(self.checkpoint, known) as file:
                self._tune_power(X, y, sample_weight, given)
                self.result_ = told(file, self.result_)
                return self
        self.power_ = self.power if not isinstance(self.power, Real) else float(self.power)
        return self._tune(X, y, sample_weight, given)

    def _tune_power(self, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> Self:
        """The power by the likelihood of held-out rows; what other powers cost is counted."""
        self._check_parameters()
        if isinstance(self.cv, str):
            raise InvalidInput("power='tuned' is judged on held-out rows: give cv a splitter.")
        if adopt(X, y, sample_weight) is not None:
            raise InvalidInput("power='tuned' needs the rows in memory: give a number.")
        tried: list[Result] = []

        def lost(power: float) -> float:
            other = clone(self).set_params(power=power, refit=False, callback=None, verbose=0)
            other.power_ = power
            other._tune(X, y, sample_weight, dict(given))
            tried.append(other.result_)
            return likely_dispersion(other._held_out, power)[1]

        best = minimize_scalar(
            lost,
            bounds=(1 + POWER_TOL, 2 - POWER_TOL),
            method="bounded",
            options={"xatol": POWER_TOL},
        )
        self.power_ = float(best.x)
        self._tune(X, y, sample_weight, given)
        self.dispersion_ = likely_dispersion(self._held_out, self.power_)[0]
        known = self.result_
        cost, seconds = known.cost, known.seconds
        for result in tried:
            cost, seconds = cost + result.cost, seconds + result.seconds
        status = known.status.noted(f"Held-out rows are likeliest at power {self.power_:.2f}.")
        self.result_ = replace(known, cost=cost, seconds=seconds, status=status)
        return self

    def _fingerprint_of(
        self, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]
    ) -> Fingerprint:
        """That of the searches at all powers, which have one checkpoint."""
        reader = clone(self)
        X, y = reader._read(X, y)
        own, params = reader._given(given)
        splits, _ = reader._splits(X, y, sample_weight, params)
        data = Data(X, y, sample_weight, splits, own)
        found: Fingerprint = reader._fingerprint(data, reader._search())
        return found

    def _task_of(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Task:
        """At the power that was found, where it was tuned."""
        if not isinstance(self.power, str) or "power_" not in vars(self):
            return super()._task_of(X, y, sample_weight, params)
        fixed = clone(self).set_params(power=self.power_)
        fixed.n_features_in_ = self.n_features_in_
        task: Task = fixed._task_of(X, y, sample_weight, params)
        return task

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        found = super()._judged(judge, result)
        if judge.splits is not None and judge.X is not None:
            found["_held_out"] = self._said(judge, result)
        return found

    def _said(self, judge: Judge, result: Result) -> tuple[Array, Array, Array]:
        """y, predictions and weights of all held-out rows, each by its fold's model."""
        parts = [
            (judge.y[test], fold.predict(judge.X[test], **own), judge.weights[test])
            for test, fold, own in judge.folds(result.lam, result.x)
        ]
        y, mean, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        return y, mean, weights

    def _check_parameters(self) -> None:
        super()._check_parameters()
        power = self.power
        if isinstance(power, str) and power == "tuned":
            return
        if not isinstance(power, Real) or not (1 <= float(power) <= 2 or float(power) == 3):
            raise InvalidInput(
                f"power={power!r}: give 1 to 2, 3 (inverse Gaussian), or 'tuned'; power 0 is "
                "RidgeCV."
            )

    def _family(self, scale: float) -> LogLink:
        power = float(vars(self).get("power_", 1.5 if self.power == "tuned" else self.power))
        if power in (1.0, 2.0, 3.0):
            return (Poisson, Gamma, InverseGaussian)[int(power) - 1](scale)
        return Tweedie(power, scale)

    def _plain(self) -> Any:
        from sklearn.linear_model import TweedieRegressor

        return TweedieRegressor(power=self.power_, link="log")
