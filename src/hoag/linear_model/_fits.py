"""The fits of linear models that criteria judge: of folds, of one fit, of rows left out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Solve
from hoag._core.warn import warn
from hoag._criteria.base import REFIT_TOL, Criterion
from hoag._criteria.fits import FoldedFits
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._criteria.marginal import MarginalLikelihood
from hoag._criteria.risks import ApproximateLeaveOneOut, Cp, Information, InformationOfSquares
from hoag._glm.model import LinearModel
from hoag._glm.targets import Target
from hoag._glm.units import Units
from hoag.linear_model._tuning import Attributes, Fits, Reported

# To what ‖∇h‖ the fit on all rows is made after a grid: scikit-learn's coefficients, to the digit.
GRID_TOL = 1e-5 * REFIT_TOL


class LinearFits(Fits):
    """Those of one estimator: how its x becomes coefficients, in the units of its rows."""

    def __init__(self, estimator: Any, u: Units, target: Target) -> None:
        self.estimator, self.u, self.target = estimator, u, target

    def attributes(self, x: Array) -> Attributes:
        found: Attributes = self.estimator._attributes(self.u, self.target, x)
        return found

    def outside(self, z: Array) -> Array:
        """Linear predictors in units of their own, as the user's."""
        return np.asarray(z * self.u.y_scale + self.u.y_mean)


class FoldFits(LinearFits):
    """Of the models of all folds, and of all rows, which `whole` makes."""

    def __init__(
        self,
        *own: Any,
        problems: Sequence[LinearModel],
        whole: Callable[[], LinearModel],
    ) -> None:
        super().__init__(*own)
        self.problems, self.whole = problems, whole
        self.weights = np.array([p.test.total_weight for p in problems])
        self.tol = REFIT_TOL
        if self.estimator.search == "grid":  # of which digits are compared, and scores judge
            self.tol = GRID_TOL
        else:
            check_judged(self.weights, self.estimator.cv)

    def models(self, x: Any) -> list[Attributes]:
        return [self.attributes(part) for part in x]

    def refit(self, criterion: Criterion, found: Evaluation) -> tuple[Attributes, Cost]:
        whole = self.whole()
        solve, cost = criterion.refit(whole, found, self.tol)
        warn_refit(solve)
        self.estimator._on_refit(whole, self.u, self.target, solve.x, found.lam)
        return self.attributes(solve.x), cost

    def losses(self, x: Any) -> Array | None:
        """In the order of X; of rows that are held out more than once, the sum."""
        first = self.problems[0]
        if not (first.test.row_by_row and first.in_memory):
            return None
        pairs = zip(self.problems, x, strict=True)
        each = [p.test.weights * p.test.at(part).loss.value for p, part in pairs]
        return np.asarray(np.sum(each, axis=0))


class OneFit(LinearFits):
    """Of the fit on all rows, by which an analytic criterion judges itself."""

    def __init__(self, *own: Any, whole: LinearModel, criterion: FoldedFits, to_lam: Any) -> None:
        super().__init__(*own)
        self.whole, self.criterion, self.to_lam = whole, criterion, to_lam
        self.weights = self.u.weights

    def models(self, x: Any) -> list[Attributes]:
        return [self.attributes(x)]

    def refit(self, criterion: Criterion, found: Evaluation) -> tuple[Attributes, Cost]:
        self.estimator._on_refit(self.whole, self.u, self.target, found.x, found.lam)
        return self.attributes(found.x), Cost()

    def held_out(self, lam: Array) -> tuple[Any, Array] | None:
        if not isinstance(self.criterion.risk, ApproximateLeaveOneOut):
            return None
        kept = np.flatnonzero(self.weights > 0)
        z = (self.criterion.predictions(self.to_lam(lam)) + self.target.offset)[kept]
        return kept, self.estimator._from_predictor(self.outside(z))

    def degrees(self, found: Evaluation) -> float | None:
        while found.parts:  # of what wraps the criterion
            (found,) = found.parts
        return float(self.criterion.degrees(found))

    @property
    def reported(self) -> Reported:
        """Losses for each row; AIC, BIC and the likelihood as they are."""
        risk, scale = self.criterion.risk, self.u.y_scale
        if isinstance(risk, InformationOfSquares):
            return Reported(scale**2, float(risk.observed))
        if isinstance(risk, MarginalLikelihood):
            return Reported(1.0, float(risk.n), risk.softly)
        if isinstance(risk, Cp):
            return Reported(scale**2 / risk.observed)
        if isinstance(risk, Information):
            return Reported()
        return Reported(self.estimator._per_row(self.u, self.target, float(self.weights.sum())))


class LeaveOneOutFits(LinearFits):
    """Of ridge regression with every row left out, in closed form; `kept` have a weight."""

    def __init__(self, *own: Any, criterion: LeaveOneOut, kept: Any, to_lam: Any) -> None:
        super().__init__(*own)
        self.criterion, self.kept, self.to_lam = criterion, kept, to_lam
        self.weights = self.u.weights

    def models(self, x: Any) -> list[Attributes]:
        if self.target.basis is not None:
            x = np.append(x, self.criterion.intercept(x))
        return [self.attributes(x.ravel())]

    def refit(self, criterion: Criterion, found: Evaluation) -> tuple[Attributes, Cost]:
        return self.models(criterion.solution(found)[0])[0], Cost()

    def held_out(self, lam: Array) -> tuple[Any, Array]:
        return self.kept, self.outside(self.criterion.predictions(self.to_lam(lam)))


def check_judged(weights: Array, cv: Any) -> None:
    """Refuse held-out rows of no weight."""
    if not np.any(weights):
        raise InvalidParameterError(
            "No held-out row of cv has a positive weight and a known class.",
            parameter="cv",
            value=cv,
            hint="Where folds lack a class, shuffle: StratifiedKFold(5, shuffle=True).",
        )


def warn_refit(solve: Solve) -> None:
    if not solve.converged:
        warn(
            f"The last fit, on all rows, stopped ({solve.reason}) at ‖∇h‖ = {solve.residual:.1e} "
            f"after {solve.iterations} iterations: the coefficients may be inexact.",
            ConvergenceWarning,
        )
