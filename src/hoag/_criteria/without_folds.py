"""From a word to a criterion without folds: which risk of one fit, and with which constants."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np

from hoag._core.errors import InvalidDataError, InvalidParameterError, NotSupportedError
from hoag._core.numeric import EXACT, ROUNDOFF, Array
from hoag._criteria.affordable import decomposable
from hoag._criteria.fits import FoldedFits
from hoag._criteria.log_det import LogDet
from hoag._criteria.marginal import MarginalLikelihood
from hoag._criteria.risks import (
    Analytic,
    ApproximateLeaveOneOut,
    Cp,
    Gcv,
    HeldOut,
    Information,
    InformationOfSquares,
    Risk,
)
from hoag._criteria.select import of_one_fit, one_would_do, with_one_penalty, written_size
from hoag._glm.losses import LogLink, Loss, Offset, Ordinal, Squared
from hoag._glm.losses.ordinal import alone_in_class
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticPenalty
from hoag._glm.term import DataTerm
from hoag._linalg.general import solve

WORDS = ("alo", "gcv", "aic", "bic", "sure", "reml")


def without_folds(
    problem: LinearModel, word: str = "alo", *, noise: float | None = None, unit: float = 1.0
) -> FoldedFits:
    """f(λ) by one fit on all training rows, with its exact gradient; no row is held out.

        "alo"   Σᵢ sᵢ g(yᵢ, z̃ᵢ), approximate leave-one-out: z̃ᵢ by one Newton step towards the fit
                without row i
        "gcv"   Σᵢ sᵢ loss(yᵢ, zᵢ)/(1 − df/n)², generalised cross-validation
        "aic"   D + 2 df, with D twice the loss of all rows, above the least that any z has
        "bic"   D + log(n) df
        "sure"  Σᵢ sᵢ(yᵢ − zᵢ)² + 2σ² df, for squares: Mallows' Cp, Stein's estimate of risk
        "reml"  −2 log p(y | λ), the coefficients integrated out: the marginal likelihood

    df = Σᵢ tr(CᵢVᵢ) are the effective degrees of freedom, the intercept among them. n is the number
    of rows with positive weight; for "aic", "bic" and "sure" weights are scaled to a mean of 1. A
    loss whose scale is not known has D over an estimate of it, found as `noise` is; for squares f
    is exp(c/n) of c = n log(D/n) + 2 df, which is least at the same λ, and so is f of "reml". All
    of them take a factor of ∇²₁h.

    Parameters
    ----------
    problem : LinearModel
        Its training rows, their loss and the penalty are what counts, and for "alo" the loss that
        judges held-out rows.
    word : {"alo", "gcv", "aic", "bic", "sure", "reml"}, default="alo"
        Which of the formulas above.
    noise : float, default=None
        σ² for "sure"; None is the squares that are left, over n − df, of the fit with the weakest
        penalties that leave n − df at least n/2.
    unit : float, default=1
        For "aic", "bic" and "reml": what the loss of the problem is multiplied by to be −log of a
        likelihood, where y was scaled.

    Returns
    -------
    Criterion
        For `hoag.minimize`.

    Raises
    ------
    InvalidParameterError
        Where the criterion is not known, or not defined for the loss of the problem.
    NotSupportedError
        Where there are more coefficients than a factor can be made for.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = hoag.models.logistic(scale(X), y, scale(X), y, intercept=True)
    >>> result = hoag.minimize(hoag.criteria.without_folds(problem, "alo"))
    >>> print(f"λ = {result.lam[0]:.2f}, {result.value / len(y):.4f} for a row left out")
    λ = 0.41, 0.0749 for a row left out
    """
    if word not in WORDS:
        raise InvalidParameterError(
            f"{word!r} is not known.\nUse one of {', '.join(map(repr, WORDS))}.", "cv", word
        )
    if not isinstance(problem, LinearModel):
        raise NotSupportedError(
            "Criteria without folds are for linear models, such as hoag.models has.", "cv", word
        )
    if not problem.train.row_by_row:
        raise NotSupportedError(
            "The loss is no sum over rows, of which one could be left out.\nUse folds.", "cv", word
        )
    size = written_size(problem)
    if not decomposable(size):
        raise NotSupportedError(
            f"{word!r} needs a factor of the Hessian, which is too expensive for {size} "
            "coefficients.\nUse folds, cv=5.",
            "cv",
            word,
        )
    risk = _marginal(problem, unit) if word == "reml" else _risk(problem, word, noise, unit)
    criterion = of_one_fit(problem, risk)
    if one_would_do(problem) and not criterion.traits.has_hessian:
        criterion.shared = partial(of_one_fit, with_one_penalty(problem), risk)
    return criterion


def _marginal(problem: LinearModel, unit: float) -> MarginalLikelihood:
    """−2 log p(y | λ)."""
    train, design = problem.train, problem.train.design
    wide = FoldedFits.of_rows(problem, HeldOut())  # for its basis alone
    penalty, squares = cast(QuadraticPenalty, wide.penalties[0]), isinstance(train.loss, Squared)
    scale = None if squares else cast(Loss, train.loss).dispersion
    if scale is None and design.outputs > 1:
        raise NotSupportedError(
            f"'reml' is for one target, whose noise it estimates; y has {design.outputs}.\nFit "
            "them one by one.",
            "cv",
            "reml",
        )
    n, rank, weight = int(np.sum(train.weights > 0)), LogDet(penalty).rank, train.total_weight
    aside = penalty.aside
    free = penalty.size - rank - (0 if aside is None else aside.settled)
    if scale is None and not free < n:
        raise InvalidParameterError(
            f"'reml': {free} coefficients have no penalty, and there are {n} rows: nothing is "
            "left to tell the noise by.\nPenalise them, or use folds.",
            "cv",
            "reml",
        )
    known = None if scale is None else 2.0 * unit * n / weight / scale
    least = 0.0 if squares else _least(train, n) * weight / n
    return MarginalLikelihood(n, free, known, least, penalty, wide.work.predictor, squares)


def _risk(problem: LinearModel, word: str, noise: float | None, unit: float) -> Risk:
    train, design = problem.train, problem.train.design
    if word == "alo":
        row = alone_in_class(train.y, train.weights) if isinstance(train.loss, Ordinal) else None
        if row is not None:
            raise InvalidDataError(
                f"Row {row} has half the weight of its class, or more: without it one Newton step "
                "leaves the class no room between its thresholds.\nUse folds, or 'gcv'.",
                f"row {row}",
                parameter="cv",
            )
        return ApproximateLeaveOneOut(problem.test.loss)
    squares = isinstance(train.loss, Squared)
    n, weight = int(np.sum(train.weights > 0)), train.total_weight
    observed = n * design.outputs if squares else n
    if squares:
        known = n, observed, weight, 0.0, 1.0 / train.loss.scale  # type: ignore[union-attr]
    else:
        known = n, observed, weight, _least(train, n), 2.0 * unit
    if word == "gcv":
        return Gcv(*known, scale=weight / n * _judged_by(problem) / known[4])
    if word == "sure":
        if not squares:
            raise InvalidParameterError(
                "'sure' is for squares.\nUse 'alo', 'gcv', 'aic' or 'bic'.", "cv", word
            )
        if noise is not None and not noise > 0:
            raise InvalidParameterError.of(
                "noise", noise, "give the variance of y about its mean, above 0."
            )
        return Cp(*known, noise=_spread(problem, Cp(*known)) if noise is None else float(noise))
    price = 2.0 if word == "aic" else float(np.log(observed))
    if squares:
        if design.size >= observed:
            raise InvalidParameterError(
                f"{word!r} has no minimum here: there are {design.size} coefficients for "
                f"{observed} values of y, so that squares vanish with the penalty.\nUse 'sure', "
                "'gcv' or 'alo'.",
                "cv",
                word,
            )
        return InformationOfSquares(*known, price=price)
    scale = cast(Loss, train.loss).dispersion
    if scale is None:
        scale = _spread(problem, Information(*known))
    return Information(*known, price=price, dispersion=scale)


def _judged_by(problem: LinearModel) -> float:
    """How many times the loss that fits the one that judges is: squares are fitted by halves."""
    train, z = problem.train, problem.train.predict(np.array(problem.x0))
    fits, judges = (
        float(own.at(train.y, z).value.sum()) for own in (train.loss, problem.test.loss)
    )
    return judges / fits if type(train.loss) is type(problem.test.loss) and fits > 0 else 1.0


def _spread(problem: LinearModel, risk: Analytic) -> float:
    """D/(n − df) of the fit with the weakest penalties that leave n − df at least n/2.

    All penalties are alike, and at least a share of 1e-5 of the data's mean curvature.
    """
    penalty, criterion = cast(QuadraticPenalty, problem.penalty), of_one_fit(problem, risk)
    curvature = float(np.mean(problem.train.at(np.array(problem.x0)).diagonal))
    weakest = penalty.shift + float(np.log(curvature or 1.0)) + np.log(EXACT) / 2

    def at(t: float) -> tuple[float, float]:
        fit = criterion.fit(np.full(problem.lam0.size, t))
        return risk.deviance(fit.loss), risk.observed - fit.degrees

    half, low, high = risk.observed / 2, weakest, weakest
    deviance, left = at(high)
    while left < half:
        low, high = high, high + 3.0
        if high > weakest - 2 * np.log(ROUNDOFF):
            raise InvalidParameterError(
                "Coefficients that are not penalised take more than half of the rows' degrees of "
                "freedom: nothing is left to estimate the noise by.\nUse 'alo' or folds.",
                "cv",
            )
        deviance, left = at(high)
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        found = at(middle)
        if found[1] < half:
            low = middle
        else:
            high, (deviance, left) = middle, found
    if not deviance > 0:
        raise InvalidDataError(
            "The fit leaves nothing of y: there is no noise to estimate.", parameter="y"
        )
    return deviance / left


def _least(train: DataTerm, n: int) -> float:
    """Σᵢ s̃ᵢ min over z of loss(yᵢ, z), with s̃ of mean 1: by Newton steps for every row at once.

    Where the minimum is at infinity, as for classes, the steps go there until nothing is gained.
    Deviances are 0 where they are least.
    """
    loss, K, rows = cast(Loss, train.loss), train.design.width, train.design.n
    if isinstance(loss.loss if isinstance(loss, Offset) else loss, LogLink):
        return 0.0
    shape = (rows,) if K == 1 else (rows, K)
    z = np.zeros(shape)
    least = loss.at(train.y, z).value
    with np.errstate(all="ignore"):
        gained = np.inf
        while gained > ROUNDOFF * float(np.max(1.0 + np.abs(least))):
            z, before = z + _downhill(loss, train.y, z), least
            least = loss.at(train.y, z).value
            gained = float(np.max(before - least))
    return float(train.weights @ least) * n / float(train.weights.sum())


def _downhill(loss: Loss, y: Array, z: Array) -> Array:
    """A Newton step for every row, halved until the loss is no higher; like z."""
    at, rows, K = loss.at(y, z), len(z), z.size // len(z)
    units = [np.tile(unit, (rows, 1)).reshape(z.shape) for unit in np.eye(K)]
    C = np.stack([at.hvp(unit).reshape(rows, K) for unit in units], axis=2)
    trace = np.trace(C, axis1=1, axis2=2) + np.finfo(float).tiny
    C = C / trace[:, None, None] + ROUNDOFF**0.5 * np.eye(K)
    slope = at.slope.reshape(rows, K, 1) / trace[:, None, None]
    step = -solve(C, slope)[:, :, 0]
    step, t = np.where(np.isfinite(step), step, 0.0), np.ones((rows, 1))
    while np.any(t > 0):
        there = loss.at(y, z + (t * step).reshape(z.shape)).value
        higher = ~(there <= at.value)
        if not np.any(higher):
            break
        t[higher] = np.where(t[higher] > ROUNDOFF, t[higher] / 2, 0.0)
    return np.asarray((t * step).reshape(z.shape))
