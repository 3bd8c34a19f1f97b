"""The criterion along a path: all penalties moved together, each λ solved for and audited.

    λ(t) = λ* + td,   f(λ(t)) = Σ_k f_k(λ(t))   over the folds k

d is 1 for every penalty, and 0 for the width of a kernel, which is none.

The folds' own losses say how well f is known at all: their mean has a standard error, and of the
penalties whose loss is within one of the least the strongest makes a model that is no worse for
anything the data can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag._core.errors import InvalidParameterError, SingularProblemError
from hoag._core.numeric import DOUBT, Array
from hoag._core.result import Ask, Cost, Evaluation, Result, Status
from hoag.linear_model._tuning import Tuning
from hoag.optimize._asks import ACCURACY

# Penalties, and odds, are much larger where their logs are by so much: twenty times.
MUCH = 3.0


@dataclass(frozen=True, eq=False)
class Path:
    """What was measured along a path of penalties, in the estimator's units.

    Parameters
    ----------
    shift : ndarray of shape (n_places,)
        By how much all penalties differ from where the path was begun, in log α.
    lam : ndarray of shape (n_places, n_penalties)
        The hyperparameters at each place.
    loss : ndarray of shape (n_places,)
        The mean held-out loss there.
    error : ndarray of shape (n_places,)
        To how much it is known.
    folds : ndarray of shape (n_places, n_folds) or None
        The mean held-out loss of every fold, or row left out; None for one split.
    weights : ndarray of shape (n_folds,) or None
        The share that each of them has in the loss.
    coef : ndarray, default=None
        coef_ at each place, the mean of the folds' models; None where there is none.

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = RidgeCV(cv=5).fit(X, y).path(X, y, points=5)
    >>> path.loss.argmin(), path.folds.shape
    (np.int64(2), (5, 5))
    """

    shift: Array
    lam: Array
    loss: Array
    error: Array
    folds: Array | None
    weights: Array | None
    coef: Array | None = None

    def __repr__(self) -> str:
        best = int(np.argmin(self.loss))
        return (
            f"Path({self.loss.size} places, shift {self.shift[0]:g} to {self.shift[-1]:g}, least "
            f"loss {self.loss[best]:.6g} at {self.shift[best]:g})"
        )

    @property
    def standard_error(self) -> Array:
        """Of the loss over folds, (L,); nan for one split."""
        if self.folds is None or self.weights is None:
            return np.full(self.loss.size, np.nan)
        return standard_error(self.folds, self.weights)


def standard_error(folds: Array, weights: Array) -> Array:
    """√(Σ wₖ(fₖ − f)² / Σ wₖ / (K − 1)), with f the weighted mean, for each row of (L, K)."""
    share = weights / weights.sum()
    spread = (folds - (folds @ share)[:, None]) ** 2
    return np.asarray(np.sqrt(spread @ share / (weights.size - 1)))


class Walk:
    """Evaluations of a task at λ + t, each from the last one and settled, and what they cost."""

    def __init__(self, tuning: Tuning, begin: Evaluation) -> None:
        self.tuning, self._begin, self._warm = tuning, begin, begin.warm
        self.cost = Cost()

    def at(self, shift: float, gradient: bool = False) -> Evaluation:
        """f there, in the criterion's own units; where it cannot be computed, infinite."""
        lam, tol = self.shifted(shift), self.tol
        try:
            found = self.tuning.criterion.evaluate(lam, Ask(tol, gradient=gradient), self._warm)
            known = self.tuning.criterion.verify(found, tol)
        except SingularProblemError:
            return Evaluation(lam, np.inf, np.full(lam.size, np.nan), f_error=np.inf)
        self._warm = found.warm
        self.cost = self.cost + found.cost + known.cost
        return known

    def shifted(self, shift: float) -> Array:
        return self.tuning.box.project(self._begin.lam + shift * self.tuning.stronger)

    @property
    def tol(self) -> float:
        """A share of the loss that is far below any standard error."""
        return ACCURACY * abs(self._begin.value)

    def losses(self, found: Evaluation) -> Array | None:
        """The mean held-out loss of every fold with held-out rows; None for one split."""
        weights = self.tuning.fits.weights
        if found.folds is None or found.folds.size != weights.size or weights.size < 2:
            return None
        return np.asarray(found.folds[weights > 0] / weights[weights > 0])

    def standard_error(self, found: Evaluation) -> float:
        """Of f over the folds, in the criterion's own units; nan for one split."""
        losses = self.losses(found)
        if losses is None:
            return float("nan")
        return float(standard_error(losses[None], self.weights)[0] * self.weights.sum())

    @property
    def weights(self) -> Array:
        return self.tuning.fits.weights[self.tuning.fits.weights > 0]


def one_standard_error(
    tuning: Tuning, result: Result, stride: float = 0.5, near: float = 0.01
) -> tuple[Evaluation, Status, Cost]:
    """At the strongest penalties whose loss is within one standard error of the least.

    All penalties are moved together. The way up is gone stride by stride, until the loss is above
    that, and the last place below it is found by bisection, to `near` in λ.
    """
    walk, best = Walk(tuning, result.evaluation), result.evaluation
    begun = walk.at(0.0)
    error = walk.standard_error(begun)
    if np.isnan(error):
        raise InvalidParameterError.of(
            "rule",
            "1se",
            "it needs the losses of two folds or more, and there is one split: give cv a number "
            "of folds, or rule='best'.",
        )
    limit, low = begun.value + error, 0.0
    most = float(np.max((tuning.box.upper - best.lam)[tuning.stronger > 0]))
    high = min(stride, most)
    while low < high and walk.at(high).value <= limit:
        low, high = high, min(high + stride, most)
    while high - low > near:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if walk.at(middle).value <= limit else (low, middle)
    share = f" ({error / begun.value:.1%})" if begun.value else ""
    moved = "nothing is moved"
    if low > 0:
        moved = f"the penalties are {np.exp(low):.3g} times as strong"
    why = (
        f"By rule='1se' {moved}: the strongest within the bounds whose loss is within one standard "
        f"error{share} of the least, at lam_min_."
    )
    return walk.at(low, gradient=True), result.status.noted(why), walk.cost


def flat_beyond(tuning: Tuning, best: Evaluation, ends: Array, tol: float) -> tuple[str, Cost]:
    """Whether penalties e^MUCH times as strong are within one standard error, and what that cost.

    `ends` are those of the interval in which the loss is within tol of itself: where the parabola
    through them says that it is not, nothing is looked at.
    """
    walk = Walk(tuning, best)
    error, moves = walk.standard_error(best), tuning.stronger > 0
    room = np.max((tuning.box.upper - best.lam)[moves], initial=0.0)
    if np.isnan(error) or not room >= MUCH:
        return "", walk.cost
    with np.errstate(divide="ignore"):
        rises = tol * abs(best.value) * (MUCH / (ends[:, 1] - best.lam)[moves]) ** 2
    if not np.max(rises) <= DOUBT * error or walk.at(MUCH).value > best.value + error:
        return "", walk.cost
    return (
        f"With penalties {np.exp(MUCH):.0f} times as strong the loss is within one standard error, "
        "too: rule='1se' takes the strongest of such."
    ), walk.cost


def by_score(
    judge: Any, result: Result, around: float = 6.0, points: int = 49
) -> tuple[Evaluation, Status, Cost, dict[str, Any]]:
    """At the penalties, of a fine path around the best, whose mean score is highest.

    Of equal ones the strongest. Also `cv_results_`: lam, and the scores of every fold.
    """
    tuning, begin = judge.tuning, result.evaluation
    shifts = np.linspace(-around, around, points)
    room = [(end - begin.lam)[tuning.stronger > 0] for end in (tuning.box.lower, tuning.box.upper)]
    shifts = shifts[(shifts >= np.min(room[0])) & (shifts <= np.max(room[1]))]
    each, cost = _along(tuning, begin, shifts)
    scores = [next(iter(judge.scores(one.lam, one.x).values())) for one in each]
    table = np.array(scores).T
    mean = table.mean(axis=0)
    best = int(np.flatnonzero(mean == np.nanmax(mean))[-1]) if np.any(np.isfinite(mean)) else -1
    if best < 0:
        raise InvalidParameterError.of("select", "scoring", "no score along the path is a number.")
    results = {
        "lam": np.array([one.lam for one in each]),
        "mean_test_score": mean,
        "std_test_score": table.std(axis=0),
        "rank_test_score": 1 + np.array([int(np.sum(mean > score)) for score in mean]),
        **{f"split{k}_test_score": row for k, row in enumerate(table)},
    }
    why = (
        f"By select='scoring' the penalties are {np.exp(shifts[best]):.3g} times as strong: the "
        f"best mean score of {len(each)} places, {mean[best]:.4g}."
    )
    walk = Walk(tuning, begin)
    chosen = walk.at(float(shifts[best]), gradient=True)
    return chosen, result.status.noted(why), cost + walk.cost, results


def path(tuning: Tuning, begin: Evaluation, shifts: Array) -> Path:
    """What is measured at λ + t for every t."""
    each, _ = _along(tuning, begin, shifts)
    walk = Walk(tuning, begin)
    losses = [walk.losses(one) for one in each]
    folds = None
    if all(own is not None for own in losses):
        folds = tuning.reported.per_row * tuning.fits.weights.sum() * np.array(losses)
    models = [{} if one.x is None else tuning.fits.average(one.x) for one in each]
    coef = np.array([m["coef_"] for m in models]) if all("coef_" in m for m in models) else None
    return Path(
        np.asarray(shifts, dtype=float),
        np.array([one.lam for one in each]),
        np.array([tuning.reported.value(one.value) for one in each]),
        np.array([tuning.reported.slope(one.value) * one.f_error for one in each]),
        folds,
        None if folds is None else walk.weights / walk.weights.sum(),
        coef,
    )


def _along(tuning: Tuning, begin: Evaluation, shifts: Array) -> tuple[list[Evaluation], Cost]:
    """Outwards from the begin, up and down, each from the last; in the order of the shifts."""
    found: dict[int, Evaluation] = {}
    cost = Cost()
    for side in (np.flatnonzero(shifts >= 0), np.flatnonzero(shifts < 0)[::-1]):
        walk = Walk(tuning, begin)
        for k in side:
            found[int(k)] = walk.at(float(shifts[k]))
        cost = cost + walk.cost
    return [found[k] for k in range(shifts.size)], cost
