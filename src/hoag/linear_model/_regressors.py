"""Regressions of one number for each row: RegressorCV, and the families of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score, mean_tweedie_deviance

from hoag._core.errors import InvalidDataError, InvalidParameterError, check_given
from hoag._core.numeric import Array
from hoag._core.result import Cost, Result
from hoag._data.out_of_core import adopt, with_own_y
from hoag._data.source import Partition
from hoag._data.target import Column
from hoag._glm.targets import Target, flat, refuse
from hoag._glm.tweedie_density import likely_dispersion
from hoag._glm.units import Units
from hoag.linear_model._base import FitData, is_number
from hoag.linear_model._compat import with_callbacks
from hoag.linear_model._families import (
    GAMMA,
    HUBER_AND_SPREAD,
    POISSON,
    QUANTILE,
    TWEEDIE,
    Reading,
)
from hoag.linear_model._linear import LinearEstimator, alpha_grid, several
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._scoring import Judge, Predicted, Regressor
from hoag.linear_model._separated import separated
from hoag.linear_model._tuning import Attributes, GivenValues, Tuning
from hoag.optimize._checkpoint import kept, told

# To this a power is found, and so near to 1 and 2.
POWER_TOL = 0.01


@parameters
class RegressorCV(Regressor, LinearEstimator):
    """A linear regression of one number for each row, its penalties tuned by gradient.

    A subclass names its family, `_family`, and declares the parameters of its own: see Family.

    Parameters
    ----------
    alphas : array-like of float, default=None
        Only the range counts, and becomes the bounds: log α.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients.
    intercept_ : float
        The intercept; 0 without one.
    alpha_ : float or ndarray of shape (n_penalties,)
        exp(λ): a number for "shared", else one for each group.

    Examples
    --------
    >>> from hoag import HuberRegressorCV
    >>> from hoag.linear_model import RegressorCV
    >>> issubclass(HuberRegressorCV, RegressorCV)
    True
    """

    alphas: Any = field(default=None, kw_only=False)
    fit_intercept: bool = True

    _sharing = ("shared", "per-feature", "per-coefficient")

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        y, loss = np.asarray(y, dtype=np.float64), self._family.loss(self)
        refuse(y, loss.accepts(y), "y", loss.takes)
        return X, y

    def _grids(self) -> list[GivenValues]:
        several("alphas", self.alphas)
        return alpha_grid("alphas", self.alphas)

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        coef, intercept = u.coefficients(x, 1, target.basis)
        return {"coef_": coef[0], "intercept_": float(intercept[0])}

    def predict(self, X: Any) -> Array:
        """What is predicted of y.

        Parameters
        ----------
        X : array-like, sparse matrix or partitions of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions, in the order of the rows.
        """
        return self._family.mean(self, self._linear_predictor(X))

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's plain one, where it has such.

        Returns
        -------
        estimator
            Fitted, with the same coefficients.
        """
        return self._twin()


@parameters
class LogLinkRegressor(RegressorCV):
    """A regression of y with a mean exp(z): counts, costs.

    Parameters
    ----------
    alphas : array-like of float, default=None
        Only the range counts, and becomes the bounds: log α, with α as in scikit-learn's class.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_penalties,)
        exp(λ), as in scikit-learn's class on all rows; a number for "shared", else one for each
        group. Folds are fitted with the same penalty on the sum of losses, α Σs of all rows, where
        GridSearchCV has α Σs of the training rows.
    criterion_ : float
        The mean deviance of held-out rows.
    """

    _of_rows = ("offset", "exposure")

    # What the offsets of all rows are like, which the intercept is counted from.
    _usual: float = field(default=0.0, init=False)

    # φ; None: it is estimated where a criterion or an error needs it.
    _dispersion: float | None = field(default=1.0, init=False)

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
        """Tune the penalties and fit the model; `groups` for the splitter go in params.

        offset is added to the linear predictor of each row; exposure, such as years at risk, is
        what the mean is proportional to, and the same as the offset log(exposure).
        """
        given = params | {"offset": offset, "exposure": exposure}
        return self._tune(X, y, sample_weight, given)

    def _tuning(self, X: Any, y: Any, weights: Array, splits: Any, **given: Any) -> Tuning:
        offset = _offset(n=len(y), **given)
        if self.fit_intercept:
            _check_means(y, weights, splits)
        return super()._tuning(X, y, weights, splits, offset=offset)

    def _reading(self, column: Column, offset: Array | None = None) -> Reading:  # type: ignore[override]
        self._usual = 0.0
        if offset is not None and self.fit_intercept:
            self._usual = float(logsumexp(offset, b=column.sample()[1] / column.total))
            offset = offset - self._usual
        return super()._reading(column, offset=offset)

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        found = super()._attributes(u, target, x)
        return found | {"intercept_": found["intercept_"] - self._usual}

    def _separated(self, data: FitData) -> str:
        names = vars(self).get("feature_names_in_")
        return separated(data.X, data.y[:, None] > 0, True, self.coef_[None], names)

    def _facing(self, X: Any, given: Attributes) -> Any:
        return Predicted(self.predict(X, **given)) if given else self

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """The mean of y, exp(aᵢᵀw + b + offset)."""
        z = self._linear_predictor(X)
        shift = _offset(len(z), offset, exposure)
        return self._family.mean(self, z if shift is None else z + shift)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """D², the share of the deviance that is explained, as in scikit-learn; at most 1.

        1 − (deviance of the model)/(least deviance of one rate for all rows, times exposure).
        Partitions have y and weights with them: score(source).
        """
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        predicted, power = self.predict(X, offset, exposure), self._family.loss(self).power
        shift = _offset(len(predicted), offset, exposure)
        exposed = np.ones(len(predicted)) if shift is None else np.exp(shift - shift.max())
        y = flat(y, "y")
        # of all rates that of the least deviance: Σ s (μ^(1 − p) y − μ^(2 − p)) = 0
        above = np.average(y * exposed ** (1 - power), weights=sample_weight)
        rate = above / np.average(exposed ** (2 - power), weights=sample_weight)
        model, null = (
            mean_tweedie_deviance(y, mean, sample_weight=sample_weight, power=power)
            for mean in (predicted, rate * exposed)
        )
        return float(1 - model / null) if null > 0 else float(model == 0)

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's plain one; offsets are not part of it."""
        model = self._twin()
        model._base_loss = model._get_loss()
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _check_means(y: Array, weights: Array, splits: Any) -> None:
    """Where all y that a fold trains on are 0, no finite intercept fits them."""
    seen = (weights > 0) & (y > 0)
    for k, (train, _) in enumerate(splits or () if np.any(seen) else (), start=1):
        if not np.any(seen[train]):
            raise InvalidDataError(
                f"Split {k} of cv trains on rows whose y is 0, all of them, and no finite "
                "intercept fits these:",
                parameter="y",
                where=f"split {k} of cv",
                hint="shuffle the rows, with cv=KFold(5, shuffle=True), or use fewer folds.",
            )


def _offset(n: int, offset: Any = None, exposure: Any = None) -> Array | None:
    """What is added to z, from the one that is given."""
    if offset is not None and exposure is not None:
        raise InvalidParameterError(
            "Both offset and exposure are given: exposure is offset=log(exposure).",
            parameter="exposure",
        )
    if offset is None and exposure is None:
        return None
    name, given = ("offset", offset) if exposure is None else ("exposure", exposure)
    if np.ndim(given) == 0:
        raise InvalidParameterError.of(name, given, "give one number for each row.")
    check_given(**{name: given})
    known = flat(given, name)
    if known.size != n:
        raise InvalidDataError(f"{name} has {known.size} numbers; X has {n} rows.", parameter=name)
    if exposure is None:
        return known
    refuse(known, known > 0, name, "positive exposures")
    return np.log(known)


class PoissonRegressorCV(LogLinkRegressor):
    """Poisson regression of counts, whose ℓ₂ penalties minimise the held-out deviance.

        1/(2 Σs) Σᵢ sᵢ d(yᵢ, μᵢ) + ½ Σⱼ αⱼ wⱼ²,   μᵢ = exp(aᵢᵀw + b + offsetᵢ),
        d(y, μ) = 2(y log(y/μ) − y + μ)

    scikit-learn's PoissonRegressor with its penalty tuned, which it has no class for.

    See Also
    --------
    GammaRegressorCV, TweedieRegressorCV : The same for costs, and for sums of costs.
    sklearn.linear_model.PoissonRegressor : The plain model, for an α of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import PoissonRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.normal(size=(300, 8)), rng.uniform(0.5, 2, 300)
    >>> claims = rng.poisson(years * np.exp(0.3 * X[:, 0] - 1))
    >>> model = PoissonRegressorCV().fit(X, claims, exposure=years)
    >>> print(f"alpha = {model.alpha_:.1f}, held-out deviance {model.criterion_:.3f}")
    alpha = 0.3, held-out deviance 0.908
    """

    _family = POISSON


class GammaRegressorCV(LogLinkRegressor):
    """Gamma regression of costs and such, whose ℓ₂ penalties minimise the held-out deviance.

        1/(2 Σs) Σᵢ sᵢ d(yᵢ, μᵢ) + ½ Σⱼ αⱼ wⱼ²,   μᵢ = exp(aᵢᵀw + b + offsetᵢ),
        d(y, μ) = 2(y/μ − 1 − log(y/μ))

    scikit-learn's GammaRegressor with its penalty tuned, which it has no class for.

    See Also
    --------
    PoissonRegressorCV, TweedieRegressorCV : The same for counts, and for sums of costs.
    sklearn.linear_model.GammaRegressor : The plain model, for an α of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import GammaRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> costs = np.exp(0.3 * X[:, 0]) * rng.gamma(2.0, 50.0, size=300)
    >>> model = GammaRegressorCV().fit(X, costs)
    >>> print(f"alpha = {model.alpha_:.3f}, held-out deviance {model.criterion_:.3f}")
    alpha = 0.212, held-out deviance 0.539
    """

    _family = GAMMA


@parameters
class TweedieRegressorCV(LogLinkRegressor):
    """Tweedie regression, whose ℓ₂ penalties minimise the held-out deviance, and its power, too.

        1/(2 Σs) Σᵢ sᵢ d(yᵢ, μᵢ) + ½ Σⱼ αⱼ wⱼ²,   μᵢ = exp(aᵢᵀw + b + offsetᵢ)

    with d the deviance of a variance φμ^power: 1 is Poisson's, 2 gamma's, 3 the inverse Gaussian's,
    and between 1 and 2 y is a sum of a Poisson number of gamma variables, zero for many rows.

    Parameters
    ----------
    power : float or "tuned", default=1.5
        1 to 2, or 3. "tuned": the power between 1 and 2 for which held-out rows are likeliest, to
        0.01; penalties are tuned at each power that is tried. Deviances of different powers are in
        different units, so the density of y is what compares them, at the likeliest dispersion.

    Attributes
    ----------
    power_ : float
        The power.
    dispersion_ : float
        With power="tuned": the likeliest φ.

    See Also
    --------
    PoissonRegressorCV, GammaRegressorCV : Powers 1 and 2.
    sklearn.linear_model.TweedieRegressor : The plain model, for an α of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import TweedieRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> claims = rng.poisson(np.exp(0.4 * X[:, 0]))  # how many, and what they cost in all:
    >>> costs = np.array([rng.gamma(2.0, 50.0, size=many).sum() for many in claims])
    >>> model = TweedieRegressorCV(power=1.5).fit(X, costs)
    >>> print(f"alpha = {model.alpha_:.3f}, held-out deviance {model.criterion_:.2f}")
    alpha = 4.104, held-out deviance 20.43
    """

    power: float | Literal["tuned"] = 1.5

    power_: float = fitted()
    dispersion_: float = fitted()
    _held_out: tuple[Array, Array, Array] = fitted()

    _family = TWEEDIE

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        self.__dict__.pop("dispersion_", None)
        if not isinstance(self.power, str):
            self.power_ = float(self.power) if isinstance(self.power, Real) else self.power
            return super()._tune(X, y, sample_weight, params)

        def known() -> Any:  # that of the searches at all powers, which have one checkpoint
            reader: TweedieRegressorCV = clone(self)
            data, _ = reader._prepare(X, y, sample_weight, params)
            return reader._fingerprint(data, reader._search())

        with kept(self.checkpoint, known) as file:
            self._tune_power(X, y, sample_weight, params)
            self.result_ = told(file, self.result_)
        return self

    def _tune_power(self, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> None:
        """The power by the likelihood of held-out rows; what other powers cost is counted."""
        self._check_parameters()
        for wrong, hint in (
            (isinstance(self.cv, str), "it is judged on held-out rows: give cv a splitter."),
            (
                adopt(X, y, sample_weight) is not None,
                "it needs the rows in memory: give a number.",
            ),
        ):
            if wrong:
                raise InvalidParameterError.of("power", self.power, hint)
        tried: list[Result] = []

        def lost(power: float) -> float:
            other = clone(self).set_params(power=power, refit=False, callback=None, verbose=0)
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
        super()._tune(X, y, sample_weight, given)
        self.dispersion_ = likely_dispersion(self._held_out, self.power_)[0]
        known = self.result_
        cost, seconds = known.cost, known.seconds
        for result in tried:
            cost, seconds = cost + result.cost, seconds + result.seconds
        status = known.status.noted(f"Held-out rows are likeliest at power {self.power_:.2f}.")
        self.result_ = replace(known, cost=cost, seconds=seconds, status=status)

    def _reader(self) -> TweedieRegressorCV:
        """At the power that was found, where it was tuned."""
        found: TweedieRegressorCV = clone(self)
        if isinstance(self.power, str) and "power_" in vars(self):
            found.set_params(power=self.power_)
        return found

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        found, data = super()._judged(judge, result), judge.data
        if data.splits and data.X is not None:  # y, predictions and weights of all held-out rows
            parts = [
                (data.y[test], fold.predict(data.X[test], **own), data.weights[test])
                for test, fold, own in judge.folds(result.lam, result.x)
            ]
            found["_held_out"] = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        return found

    def _check_parameters(self) -> None:
        super()._check_parameters()
        power = self.power
        if isinstance(power, str) and power == "tuned":
            return
        if not is_number(power) or not (1 <= float(power) <= 2 or float(power) == 3):
            raise InvalidParameterError.of(
                "power",
                power,
                "give 1 to 2, 3 (inverse Gaussian), or 'tuned'; power 0 is RidgeCV.",
            )


@parameters
class HuberRegressorCV(RegressorCV):
    """Regression that outliers do not decide, whose ℓ₂ penalties minimise the held-out loss.

        Σᵢ sᵢ (σ + σ H((yᵢ − aᵢᵀw − b)/σ)) + Σⱼ αⱼ wⱼ²

    H is the square up to ε and linear beyond, and the spread σ is fitted too: scikit-learn's
    HuberRegressor with its penalty tuned, by the same loss of held-out rows.

    Parameters
    ----------
    epsilon : float, default=1.35
        From how many σ on a residual is an outlier; above 1.

    Attributes
    ----------
    scale_ : float
        σ, in the units of y.
    outliers_ : ndarray of shape (n_samples,)
        Whether the residual of a row is above ε σ.
    criterion_ : float
        The mean of σ + σ H(r/σ) of held-out rows, in the units of y.

    See Also
    --------
    RidgeCV : For squares throughout.
    QuantileRegressorCV : For the median, or another quantile.
    sklearn.linear_model.HuberRegressor : The plain model, for an α of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import HuberRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> y = X[:, 0] + 0.1 * rng.standard_t(1, size=200)  # now and then far off
    >>> model = HuberRegressorCV().fit(X, y)
    >>> print(f"coefficient {model.coef_[0]:.3f}, scale {model.scale_:.3f}")
    coefficient 0.972, scale 0.112
    """

    epsilon: float = 1.35

    scale_: float = fitted()
    outliers_: npt.NDArray[np.bool_] = fitted()

    _family = HUBER_AND_SPREAD

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.epsilon, above=1) or not float(self.epsilon) < 1e150:
            raise InvalidParameterError.of(
                "epsilon",
                self.epsilon,
                "give a number above 1, such as 1.35, whose square is finite. For squares "
                "throughout use RidgeCV.",
            )

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        size = u.mean.size
        level = x[size : size + 1] if self.fit_intercept else np.zeros(0)
        basis = np.eye(1) if self.fit_intercept else None
        coef, intercept = u.coefficients(np.append(x[:size], level), 1, basis)
        scale = u.y_scale * (1.0 + float(x[-1]))
        return {"coef_": coef[0], "intercept_": float(intercept[0]), "scale_": scale}

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        """With the outliers; out of core by one more pass over the data."""
        found, data = super()._judged(judge, result), judge.data
        away = _Away(self.coef_, self.intercept_)
        if data.partitions is None:
            residuals = away.of(data.X, data.y)
        else:
            residuals = np.concatenate(data.partitions.rows.gathered(away))
            cost = self.result_.cost + Cost(reads=1.0)
            self.result_ = replace(self.result_, cost=cost)
        return found | {"outliers_": residuals > self.scale_ * self.epsilon}

    def predict(self, X: Any) -> Array:
        """What is predicted of y."""
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.HuberRegressor."""
        return self._twin(scale_=self.scale_, outliers_=self.outliers_)


@dataclass(frozen=True, eq=False)
class _Away:
    """A partition ↦ |y − Xw − b|."""

    coef: Array
    intercept: float

    def __call__(self, partition: Partition) -> Array:
        return self.of(partition.X, np.asarray(partition.y, dtype=float))

    def of(self, X: Any, y: Array) -> Array:
        return np.asarray(np.abs(y - X @ self.coef - self.intercept))


@parameters
class QuantileRegressorCV(RegressorCV):
    """Quantiles of y given X, whose ℓ₂ penalties minimise the held-out pinball loss, smoothed.

        1/Σs Σᵢ sᵢ ρ(yᵢ − aᵢᵀw − b) + ½ Σⱼ αⱼ wⱼ²,   ρ(r) = τr + β log(1 + exp(−r/β))

    ρ is never below the pinball loss max(τr, (τ − 1)r), and never more than β log 2 above it; β is
    `smoothing` times the spread of y. scikit-learn's QuantileRegressor has the pinball loss itself
    and an ℓ₁ penalty.

    Parameters
    ----------
    quantile : float, default=0.5
        τ, between 0 and 1.
    smoothing : float, default=0.05
        β in units of the spread of y, 1.48 times its median absolute deviation. Where hardly any
        rows lie that near to the quantile, in a far tail of few rows or with less smoothing, fits
        go by way of more smoothing and take longer; cv="alo" needs rows that near.

    Attributes
    ----------
    width_ : float
        β in the units of y.
    criterion_ : float
        The mean of ρ of held-out rows, in the units of y.

    See Also
    --------
    HuberRegressorCV : For the mean, without the outliers.
    sklearn.linear_model.QuantileRegressor : The plain model, with ℓ₁ and without smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import QuantileRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = X[:, 0] + rng.exponential(size=300)
    >>> model = QuantileRegressorCV(quantile=0.9).fit(X, y)
    >>> print(f"alpha = {model.alpha_:.4f}, below: {np.mean(y < model.predict(X)):.2f}")
    alpha = 0.0582, below: 0.90
    """

    quantile: float = 0.5
    smoothing: float = 0.05

    width_: float = fitted()

    _family = QUANTILE

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.quantile, above=0) or not float(self.quantile) < 1:
            raise InvalidParameterError.of(
                "quantile", self.quantile, "give a number between 0 and 1."
            )
        if not is_number(self.smoothing, above=0):
            raise InvalidParameterError.of("smoothing", self.smoothing, "give a positive number.")

    def _reading(self, column: Column, **given: Any) -> Reading:
        found = super()._reading(column, **given)
        self.width_ = float(self.smoothing) * found.y.scale
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """D², the share of the pinball loss that is explained; at most 1.

        Partitions have y and weights with them: score(source).
        """
        X, y, weight = with_own_y(X, y, sample_weight)
        own = {"sample_weight": weight, "alpha": self.quantile}
        return float(d2_pinball_score(y, self.predict(X), **own))
