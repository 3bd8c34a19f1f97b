"""The families of linear models: a row each, of what tells it from the others.

    h = Σᵢ sᵢ loss(yᵢ, zᵢ) + ½ Σⱼ αⱼ wⱼ²,   z = Aw + b

A new family is a loss, a row here (or of one's own), and a class that names it: see the tutorial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.numeric import ROUNDING, Array
from hoag._data.target import Column, OfRows, Weigh
from hoag._glm.losses import (
    Brier,
    ConcomitantHuber,
    Gamma,
    Huber,
    InverseGaussian,
    LogLink,
    Loss,
    MultinomialBrier,
    OuterLoss,
    Poisson,
    SmoothQuantile,
    Squared,
    SquaredHinge,
    Tweedie,
)
from hoag._glm.losses.log_link import LARGEST_LOG
from hoag._glm.losses.ordinal import cuts, probabilities
from hoag._glm.targets import Target, binary, multiclass, ordered, positive_mean, refuse, robust
from hoag._glm.units import LARGEST, Units

# What counts as an outlier for criterion="huber": 1.35 times the spread of y, estimated by its
# median absolute deviation; 1.35 keeps 95 % efficiency on normal errors.
HUBER, NORMAL_MAD = 1.35, 1.4826

# ---- the units of y


@dataclass(frozen=True, eq=False)
class Standard:
    """y′ = (y − mean)/(biggest · spread), in two divisions: neither overflows.

    The loss of y is (biggest · spread)^power times that of y′.
    """

    mean: Any = 0.0
    biggest: float = 1.0
    spread: float = 1.0
    power: int = 2

    def __call__(self, y: Array) -> Array:
        return np.asarray((y - self.mean) / self.biggest / self.spread)

    @property
    def scale(self) -> float:
        """What z′ is multiplied by to be z, beside `mean`, which is added."""
        return self.biggest * self.spread

    @property
    def gain(self) -> float:
        """The loss of y over that of y′."""
        return self.scale**self.power

    def squares(self, y: Array) -> Array:
        return np.asarray(self(y) ** 2)


def as_given(model: Any, column: Column) -> Standard:
    """y as it is: for labels, and counts.

    Parameters
    ----------
    model : estimator
        The model, for its parameters.
    column : Column
        y and the weights of all rows, asked for sums over them.

    Returns
    -------
    Standard
        y ↦ y′, and the way back.

    Examples
    --------
    >>> from hoag.linear_model import Family, as_given
    >>> Family(loss=lambda model: None, units=as_given).units is as_given
    True
    """
    return Standard()


def moments(model: Any, column: Column) -> Standard:
    """Units for squares: the spread of y about its mean, or without an intercept about 0.

    Several targets share the spread.

    Parameters
    ----------
    model : estimator
        The model, for its parameters.
    column : Column
        y and the weights of all rows, asked for sums over them.

    Returns
    -------
    Standard
        y ↦ y′, and the way back.

    Examples
    --------
    >>> from hoag.linear_model import Family, moments
    >>> Family(loss=lambda model: None, units=moments).units is moments
    True
    """
    _check_squares(column)
    biggest = column.largest or 1.0
    mean = 0.0 * np.zeros(column.empty.shape[1:])
    if model.fit_intercept:
        mean = biggest * column.average(partial(np.multiply, 1.0 / biggest))
    about = Standard(mean, biggest)
    spread = float(np.sqrt(np.mean(column.average(about.squares)))) or 1.0
    return Standard(mean, biggest, spread)


def quantiles(model: Any, column: Column, level: float = 0.5) -> Standard:
    """Units for losses that grow like |y|: 0 is a quantile of y, 1 the spread about the median.

    With y = m + cy′ such losses are c times what they are in those units.

    Parameters
    ----------
    model : estimator
        The model, for its parameters.
    column : Column
        y and the weights of all rows, asked for sums over them.
    level : float, default=0.5
        Which quantile; 0.5 is the median.

    Returns
    -------
    Standard
        y ↦ y′, and the way back.

    Examples
    --------
    >>> from hoag.linear_model import Family, quantiles
    >>> Family(loss=lambda model: None, units=quantiles).units is quantiles
    True
    """
    _check_squares(column)
    y, weights = column.sample()
    share, centre = weights / weights.sum(), bool(model.fit_intercept)
    away = np.abs(y - (_quantile(y, share, 0.5) if centre else 0.0))
    spread = NORMAL_MAD * _quantile(away, share, 0.5) or float(share @ away) or 1.0
    return Standard(_quantile(y, share, level) if centre else 0.0, spread, power=1)


def _quantile(y: Array, share: Array, level: float) -> float:
    """Of rows with weights that sum to 1: a row of weight two counts as two rows."""
    order = np.argsort(y)
    below = np.cumsum(share[order])
    ends = [np.searchsorted(below, level + side * ROUNDING) for side in (-1, 1)]
    return float(np.mean(y[order][np.minimum(ends, y.size - 1)]))


def _check_squares(column: Column) -> None:
    if not column.largest < LARGEST:
        raise InvalidDataError(
            "y has values whose squares are not finite numbers.", parameter="y", hint="Rescale y."
        )


@dataclass(frozen=True, eq=False)
class LogMean(Standard):
    """y′ = y e^(−mean), and z′ = z − mean: the loss is e^(mean (2 − power)) times that of y′."""

    variance: float = 1.0  # the power of μ that the variance of y is like

    def __call__(self, y: Array) -> Array:
        return np.asarray(y * np.exp(-self.mean))

    @property
    def gain(self) -> float:
        return float(np.exp((2.0 - self.variance) * self.mean))


def log_mean(model: Any, column: Column) -> Standard:
    """Units for a mean of y that is exp(z): it is 1 where there is an intercept.

    Parameters
    ----------
    model : estimator
        The model, for its parameters.
    column : Column
        y and the weights of all rows, asked for sums over them.

    Returns
    -------
    Standard
        y ↦ y′, and the way back.

    Examples
    --------
    >>> from hoag.linear_model import Family, log_mean
    >>> Family(loss=lambda model: None, units=log_mean).units is log_mean
    True
    """
    mean = float(column.average(np.asarray))
    if not 0 < mean < np.inf:
        raise InvalidDataError(
            f"The mean of y is {mean:g}, and its logarithm no number: there is nothing to fit.",
            parameter="y",
        )
    if mean < np.finfo(float).tiny:
        raise InvalidDataError(
            f"The mean of y is {mean:g}, which has lost digits.", parameter="y", hint="Rescale y."
        )
    level = float(np.log(mean)) if model.fit_intercept else 0.0
    return LogMean(level, variance=model._family.loss(model).power)


# ---- y as models take it, once their units are known; pickled where rows are elsewhere


def numbers(y: Array, units: Standard, loss: Loss, outer: OuterLoss, intercept: bool) -> Target:
    """Numbers in units of their own, one for each row, or one for each target."""
    y = units(y)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    return Target(y, loss, outer, outputs, np.eye(outputs) if intercept else None)


def positive(
    y: Array, units: Standard, loss: LogLink, intercept: bool, offset: Array | None
) -> Target:
    """Numbers with a positive mean; what is wrong is said of y as it was given."""
    if len(y):
        refuse(y, loss.accepts(y), "y", loss.takes)
    scaled = units(y)
    with np.errstate(divide="ignore"):
        seen = (y == 0) | (np.abs(np.log(scaled)) <= LARGEST_LOG)
    about = "the mean of y" if intercept else "1, where there is no intercept"
    reach = 10.0 ** int(LARGEST_LOG / np.log(10.0))
    refuse(y, seen, "y", f"numbers within a factor of {reach:g} of {about}: rescale y")
    return positive_mean(scaled, loss, loss, intercept, offset)


def of_spread(y: Array, units: Standard, epsilon: float, intercept: bool) -> Target:
    """Residuals of an unknown spread, which is fitted with the rest."""
    target = robust(units(y), epsilon, 1.0, intercept)
    return replace(target, outer=target.loss)


def classes_of(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], intercept: bool, brier: bool
) -> Target:
    """Labels as signs, or as numbers of classes; held-out rows judged by log loss, or Brier's."""
    target = (binary if len(classes) == 2 else multiclass)(y, classes, intercept)
    if not brier:
        return target
    outer: OuterLoss = Brier() if target.outputs == 1 else MultinomialBrier()
    return replace(target, outer=outer)


def each_against_the_rest(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], loss: Loss, intercept: bool
) -> Target:
    """1 for the class, or for each class, and −1 for the others."""
    signs, several = np.where(y[:, None] == classes, 1.0, -1.0), len(classes) > 2
    outputs = len(classes) if several else 1
    basis = np.eye(outputs) if intercept else None
    return Target(signs if several else signs[:, 1], loss, loss, outputs, basis)


def in_order(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], place: npt.NDArray[np.intp], like: Array
) -> Target:
    """The place of every row's class in their order, with thresholds counted from some cuts."""
    codes, known = place[np.searchsorted(classes, y)], np.arange(len(classes))
    return binary(codes, known, True) if len(known) == 2 else ordered(codes, known, like)


# ---- what holds of any rows, once sums over all of them are known


@dataclass(frozen=True, eq=False)
class Reading:
    """How y is read: for all rows at once, or for some of them at a time.

    target     y of some rows ↦ their Target: y as the model takes it, with its losses
    centre     whether columns are centred, for there is an intercept to absorb it
    curvature  loss″ at z = 0, about
    weigh      y and weights of some rows ↦ their weights, with those of classes; None: as they are
    y          the units of y
    log_scale  what else is added to λ: the log of what the sum of losses is divided by
    """

    target: OfRows
    centre: bool
    curvature: float = 1.0
    weigh: Weigh | None = None
    y: Standard = Standard()
    log_scale: float = 0.0

    def weights(self, y: npt.NDArray[Any], weights: Array) -> Array:
        return weights if self.weigh is None else self.weigh(y, weights)

    def units(self, u: Units) -> Units:
        """Units of the rows with those of y: ½αw² is scale² times ½αw′², and the loss gain times.

        So λ = λ′ + log(gain/scale²), beside what rows and their weights make of it.
        """
        shift = float(np.log(self.y.gain) - 2 * np.log(self.y.scale)) - self.log_scale
        own = {"y_mean": self.y.mean, "y_scale": self.y.scale, "gain": self.y.gain}
        return replace(u, loss_shift=shift, **own)


# ---- the table

SCORED = ("alo", "gcv", "aic", "bic", "reml")


def identity(model: Any, z: Array) -> Array:
    """z itself."""
    return z


@dataclass(frozen=True)
class Family:
    """What tells a family of linear models from the others.

    Functions of the model see its parameters. A family of one's own needs a loss; the rest has
    the usual values of a regression.

    Parameters
    ----------
    loss : callable
        model ↦ the loss of y and z, such as one derived from hoag.glm.ScalarLoss.
    held_out : str, default="loss"
        What held-out rows are judged by, as results and pictures call it.
    outer : callable, default=None
        model, y′ ↦ the loss that judges held-out rows; None is the loss itself.
    units : callable, default=moments
        model, column ↦ the units in which y is fitted: `moments`, `quantiles`, `log_mean`, or
        `as_given`.
    target : callable, default=None
        model, units, offset ↦ a function of the y of some rows that makes a Target of them; None:
        numbers.
    curvature : float, default=1.0
        The second derivative of the loss at z = 0, about.
    per_row : float, default=1.0
        What is reported of a held-out row, over its loss: 2 for a deviance of which h has half.
    of_mean : bool, default=False
        Whether α stands beside the mean of the losses, not their sum.
    criteria : tuple of str, default=("alo", "gcv", "aic", "bic", "reml")
        The analytic criteria that `cv` may name.
    mean : callable, default=identity
        model, z ↦ what `predict` says.
    twin : str, default=""
        scikit-learn's plain model, as "module:Class", which `to_sklearn` makes.
    shared : tuple of str, default=()
        The parameters that the plain model has too.

    See Also
    --------
    RegressorCV, ClassifierCV : What a class with a family derives from.

    Examples
    --------
    >>> import numpy as np
    >>> import hoag
    >>> from hoag.linear_model import Family, RegressorCV
    >>> class Quartic(hoag.glm.ScalarLoss):
    ...     def value(self, y, z):
    ...         return (z - y) ** 2 / 2 + (z - y) ** 4 / 12
    ...     def slope(self, y, z):
    ...         return (z - y) + (z - y) ** 3 / 3
    ...     def curvature(self, y, z):
    ...         return 1 + (z - y) ** 2
    >>> class QuarticCV(RegressorCV):
    ...     _family = Family(loss=lambda model: Quartic(), held_out="quartic loss")
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> QuarticCV().fit(X, X[:, 0] + rng.normal(size=100)).result_.converged
    True
    """

    loss: Callable[[Any], Any]
    held_out: str = "loss"
    outer: Callable[[Any, Array], OuterLoss] | None = None
    units: Callable[[Any, Column], Standard] = moments
    target: Callable[[Any, Standard, Any], OfRows] | None = None
    curvature: float = 1.0
    per_row: float = 1.0
    of_mean: bool = False
    criteria: tuple[str, ...] = SCORED
    mean: Callable[[Any, Array], Array] = identity
    twin: str = ""
    shared: tuple[str, ...] = ()

    def read(self, model: Any, column: Column, weigh: Weigh | None, offset: Any = None) -> Reading:
        """How a model of the family reads y, of which `column` knows sums."""
        units, intercept = self.units(model, column), bool(model.fit_intercept)
        if self.target is not None:
            target = self.target(model, units, offset)
        else:
            loss = self.loss(model)
            outer = loss if self.outer is None else self.outer(model, units(column.sample()[0]))
            own: Any = {"units": units, "loss": loss, "outer": outer, "intercept": intercept}
            target = partial(numbers, **own)
        shift = float(np.log(column.total)) if self.of_mean else 0.0
        return Reading(target, intercept, self.curvature, weigh, units, shift)


def squared_error(model: Any, y: Array) -> OuterLoss:
    """Of held-out rows; with criterion="huber" linear beyond 1.35 times their spread."""
    if model.criterion not in ("squared_error", "huber"):
        raise InvalidParameterError.of(
            "criterion", model.criterion, "use 'squared_error' or 'huber'."
        )
    return judging(model.criterion, y)


def judging(criterion: str, y: Array) -> OuterLoss:
    """The squared error, or Huber's for the spread of y."""
    if criterion != "huber":
        return Squared(1.0)
    spread = NORMAL_MAD * float(np.median(np.abs(y - np.median(y, axis=0))))
    return Huber(HUBER * (spread or 1.0))


def _labelled(model: Any, units: Standard, offset: Any) -> OfRows:
    if not isinstance(model.criterion, str) or model.criterion not in ("log_loss", "brier"):
        raise InvalidParameterError.of("criterion", model.criterion, "use 'log_loss' or 'brier'.")
    own: Any = {"intercept": bool(model.fit_intercept), "brier": model.criterion == "brier"}
    return partial(classes_of, classes=model.classes_, **own)


def _ordered(model: Any, units: Standard, offset: Any) -> OfRows:
    own: Any = {"place": np.argsort(model.order_), "like": model._cuts}
    return partial(in_order, classes=model.classes_, **own)


def _signs(model: Any, units: Standard, offset: Any) -> OfRows:
    own: Any = {"loss": SquaredHinge(), "intercept": bool(model.fit_intercept)}
    return partial(each_against_the_rest, classes=model.classes_, **own)


def _positive(model: Any, units: Standard, offset: Any) -> OfRows:
    own: Any = {"loss": model._family.loss(model), "intercept": bool(model.fit_intercept)}
    return partial(positive, units=units, offset=offset, **own)


def _of_spread(model: Any, units: Standard, offset: Any) -> OfRows:
    own: Any = {"epsilon": float(model.epsilon), "intercept": bool(model.fit_intercept)}
    return partial(of_spread, units=units, **own)


def odds(model: Any, z: Array) -> Array:
    """The probability of every class."""
    return np.stack([expit(-z), expit(z)], axis=1) if z.ndim == 1 else softmax(z, axis=1)


def ordered_odds(model: Any, z: Array) -> Array:
    """By the columns of classes_, which scikit-learn has in the order of their values."""
    return np.asarray(probabilities(z)[:, np.argsort(model.order_)])


def mean_of_log_link(model: Any, z: Array) -> Array:
    found: Array = model._family.loss(model).mean(z)
    return found


def tweedie(model: Any) -> LogLink:
    """Half the deviance of a power of the variance."""
    tuned = isinstance(model.power, str)
    power = float(vars(model).get("power_", 1.5 if tuned else model.power))
    if power in (1.0, 2.0, 3.0):
        return (Poisson, Gamma, InverseGaussian)[int(power) - 1](0.5)
    return Tweedie(power, 0.5)


def _log_link(loss: Callable[[Any], LogLink], twin: str, *shared: str) -> Family:
    """Half the deviance of y from exp(z), beside the mean of which α stands."""
    return Family(
        *(loss, "deviance", None, log_mean, _positive),
        per_row=2.0,
        of_mean=True,
        mean=mean_of_log_link,
        twin=f"sklearn.linear_model:{twin}",
        shared=("alpha", "fit_intercept", *shared),
    )


RIDGE = Family(lambda model: Squared(0.5), "squared_error", squared_error)
LOGISTIC = Family(
    *(lambda model: None, "log_loss", None, as_given, _labelled),
    curvature=0.25,
    mean=odds,
    twin="sklearn.linear_model:LogisticRegression",
    shared=("C", "fit_intercept", "class_weight"),
)
ORDINAL = Family(
    *(lambda model: None, "log_loss", None, as_given, _ordered),
    curvature=0.25,
    mean=ordered_odds,
)
LINEAR_SVC = Family(
    *(lambda model: SquaredHinge(), "squared_hinge", None, as_given, _signs),
    criteria=("alo", "gcv"),
    twin="sklearn.svm:LinearSVC",
    shared=("C", "fit_intercept", "class_weight"),
)
POISSON = _log_link(lambda model: Poisson(0.5, model._dispersion), "PoissonRegressor")
GAMMA = _log_link(lambda model: Gamma(0.5), "GammaRegressor")
TWEEDIE = _log_link(tweedie, "TweedieRegressor", "power")
HUBER_AND_SPREAD = Family(
    *(lambda model: ConcomitantHuber(float(model.epsilon), 1.0, 0.5), "huber_and_spread", None),
    units=quantiles,
    target=_of_spread,
    per_row=2.0,
    criteria=("alo", "gcv"),
    mean=lambda model, z: z[:, 0],  # the other column is the spread
    twin="sklearn.linear_model:HuberRegressor",
    shared=("epsilon", "alpha", "fit_intercept"),
)
COX = Family(lambda model: None, "partial_likelihood", per_row=2.0, criteria=())
QUANTILE = Family(
    *(lambda model: SmoothQuantile(float(model.quantile), float(model.smoothing)), "pinball"),
    units=lambda model, column: quantiles(model, column, float(model.quantile)),
    of_mean=True,
    criteria=("alo",),
    twin="sklearn.linear_model:QuantileRegressor",
    shared=("quantile", "fit_intercept"),
)

__all__ = ["Family", "as_given", "cuts", "log_mean", "moments", "quantiles"]
