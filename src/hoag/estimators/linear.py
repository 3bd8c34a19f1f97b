"""What the linear estimators share: folds, solvers, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hoag import inner, linear
from hoag.criterion import Criterion, Implicit
from hoag.estimators.base import TunedEstimator
from hoag.estimators.tuning import Task, cross_validated, warn_refit
from hoag.estimators.units import Units, auto_box, column_energies
from hoag.models import subspace
from hoag.models.folds import linear_folds
from hoag.models.linear import LinearProblem
from hoag.models.penalties import group_numbers
from hoag.models.space import preconditioner, setup_passes
from hoag.models.subspace import Subspace
from hoag.models.targets import Target
from hoag.values import Array, Box, InvalidInput, Result

# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer.
DIRECT, DIRECT_QUADRATIC = 300, 1000
# With fewer rows than coefficients conjugate gradients ends after as many steps as rows.
DIRECT_WIDE = 100

# Where to look for one penalty before the search, when factors make it cheap: from the start down
# to the lower bound by these shares of the way, and up by these. Many penalties are not scouted:
# all of them small at once is a flat region, where a search may stop.
SCOUTS_DOWN, SCOUTS_UP = np.array([0.15, 0.3, 0.45, 0.6, 0.75, 0.9]), np.array([0.0, 2.5, 5.0])

# The last fit, on all rows, is solved to this ‖∇₁h‖ in the library's units, a hundredth of what
# scikit-learn's default asks for; by factors the last digits cost nothing.
REFIT_TOL, REFIT_TOL_DIRECT = 1e-3, 1e-10


class LinearEstimator(TunedEstimator):
    """A linear model: coef_, intercept_ and the linear predictor."""

    def _linear_task(self, u: Units, target: Target, splits: Any, curvature: float) -> Task:
        def folds(splits: Any) -> list[LinearProblem]:
            penalties = self._penalties()
            return linear_folds(u.matrix, target, splits, u.weights, penalties, u.log_shift)

        problems = folds(splits)
        quadratic = target.loss.self_concordance == 0
        groups = group_matrix(self._penalties(), u, target)
        solver = _linear_solver(u, target, quadratic, several=bool(np.any(groups > 0)))
        direct = isinstance(solver, linear.Cholesky)
        inside = inner.CG(solver) if quadratic else inner.Newton(solver)
        small_space = bool(np.all(groups == 0)) and self._fast()  # one penalty on all coefficients
        precondition = preconditioner(u.matrix, u.weights) if small_space else None

        setup = setup_passes(u.matrix, target.outputs)

        def wrap(implicit: Implicit) -> Criterion:
            if not small_space:
                return implicit
            first = implicit.problem is problems[0]  # one preconditioner serves all folds
            return Subspace(implicit, precondition, setup if first else 0.0)

        criterion = cross_validated(problems, inside, solver, self.n_jobs, self._fast(), wrap)
        box, start = self._box(*auto_box(column_energies(u, curvature), groups, u.log_shift))
        judged = sum(float(p.test.weights.sum()) for p in problems)
        if judged == 0:
            raise InvalidInput("No held-out row of cv has a positive weight and a known class.")

        def models(x: Any) -> list[dict[str, Any]]:
            return [self._attributes(u, target, part) for part in x]

        def refit(result: Result) -> dict[str, Any]:
            rows = np.arange(u.weights.size)
            (whole,) = folds([(rows, rows[:0])])
            tol = REFIT_TOL_DIRECT if direct else REFIT_TOL
            if small_space and not direct:
                like = result.evaluation.warm
                solve = subspace.fit(whole, result.lam, tol, inside, like, precondition)
            else:
                # by factors from 0, so that what is left of the folds' errors does not show
                start = np.zeros(whole.x0.size) if direct else np.mean(result.x, axis=0)
                solve = inside.solve(whole, result.lam, start, tol)
            warn_refit(solve)
            return self._attributes(u, target, solve.x)

        return Task(
            criterion,
            box,
            start,
            self._per_row(u, target, judged),
            models,
            refit,
            scouts=None if small_space else scouts(box, start, direct),
        )

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        """From the criterion to the mean loss of a held-out row, and target."""
        outputs = target.outputs if target.classes is None else 1
        return u.y_scale**2 / judged / outputs

    def _penalties(self) -> Any:
        return self.penalties

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        return {"coef_": coef, "intercept_": intercept}

    def _named(self, lam: Array) -> dict[str, Any]:
        """exp(λ): a number, or an array in the order of the groups, or in the shape of coef_."""
        with np.errstate(over="ignore"):
            alpha = np.exp(lam)
        if not isinstance(self.penalties, str):
            return {"alpha_": alpha}
        if self.penalties == "shared":
            return {"alpha_": float(alpha[0])}
        if self.penalties == "per-coefficient":
            return {"alpha_": alpha.reshape(self.n_features_in_, -1).T}
        return {"alpha_": alpha}

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


def scouts(box: Box, start: Array, cheap: bool) -> Array | None:
    if start.size > 1 or not cheap:
        return None
    down = start + SCOUTS_DOWN[:, None] * (box.lower - start)
    return np.concatenate([down, start + SCOUTS_UP[:, None]])


def check_grid(name: str, grid: Any) -> Array:
    try:
        grid = np.atleast_1d(np.asarray(grid, dtype=float))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise InvalidInput(f"{name} must be positive, finite numbers; their range is searched.")
    return np.asarray(grid)


def _linear_solver(u: Units, target: Target, quadratic: bool, several: bool) -> Any:
    features = u.mean.size
    if quadratic and features <= DIRECT_QUADRATIC:
        return linear.Cholesky()
    size, rows = features * target.outputs, u.weights.size
    if size <= DIRECT and (size <= DIRECT_WIDE or size <= rows):
        return linear.Cholesky()
    # Columns of dense rows, and penalties, may differ in scale; else the diagonal is a bad guide.
    plain = sparse.issparse(u.matrix.A) and not several
    preconditioner = None if plain else linear.jacobi
    return linear.CG(max_iter=5000, preconditioner=preconditioner)


def group_matrix(penalties: Any, u: Units, target: Target) -> npt.NDArray[np.intp]:
    features = u.mean.size
    return group_numbers(penalties, features, target.outputs, 0).reshape(features, target.outputs)
