"""What the linear estimators share: folds, solvers, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hoag import inner, linear
from hoag.estimators.base import TunedEstimator
from hoag.estimators.tuning import Task, cross_validated, warn_refit
from hoag.estimators.units import Units, auto_box, column_energies
from hoag.models.folds import linear_folds
from hoag.models.penalties import group_numbers
from hoag.models.targets import Target
from hoag.values import Array, InvalidInput, Result

# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer.
DIRECT, DIRECT_QUADRATIC = 300, 1000

# The last fit, on all rows, is solved to this ‖∇₁h‖ in the library's units, 1e-8 of its start;
# by factors the last digits cost nothing.
REFIT_TOL, REFIT_TOL_DIRECT = 1e-6, 1e-10


class LinearEstimator(TunedEstimator):
    """A linear model: coef_, intercept_ and the linear predictor."""

    def _linear_task(
        self, u: Units, target: Target, splits: Any, curvature: float, box: Any = None
    ) -> Task:
        problems = linear_folds(u.matrix, target, splits, u.weights, self._penalties(), u.log_shift)
        quadratic = target.loss.self_concordance == 0
        solver = _linear_solver(u, target, quadratic)
        inside = inner.CG(solver) if quadratic else inner.Newton(solver)
        criterion, proof = cross_validated(problems, inside, solver, self.n_jobs)
        groups = group_matrix(self._penalties(), u, target)
        box, start = self._box(*auto_box(column_energies(u, curvature), groups, u.log_shift))
        judged = sum(float(p.test.weights.sum()) for p in problems)
        if judged == 0:
            raise InvalidInput("No held-out row of cv has a positive weight and a known class.")

        def models(x: Any) -> list[dict[str, Any]]:
            return [self._attributes(u, target, part) for part in x]

        def refit(result: Result) -> dict[str, Any]:
            rows = np.arange(u.weights.size)
            (whole,) = linear_folds(
                u.matrix,
                target,
                [(rows, rows[:0])],
                u.weights,
                self._penalties(),
                u.log_shift,
            )
            start = np.mean(result.x, axis=0)
            direct = isinstance(solver, linear.Cholesky)
            tol = REFIT_TOL_DIRECT if direct else REFIT_TOL
            solve = inside.solve(whole, result.lam, start, tol)
            warn_refit(solve)
            return self._attributes(u, target, solve.x)

        per_row = u.y_scale**2 / judged
        return Task(criterion, box, start, per_row, models, refit, proof)

    def _penalties(self) -> Any:
        return self.penalties

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        return {"coef_": coef, "intercept_": intercept}

    def _alpha(self) -> Any:
        """exp(λ): a number, or an array in the order of the groups, or in the shape of coef_."""
        with np.errstate(over="ignore"):
            alpha = np.exp(self.lam_)
        if not isinstance(self.penalties, str):
            return alpha
        if self.penalties == "shared":
            return float(alpha[0])
        if self.penalties == "per-coefficient":
            return alpha.reshape(self.n_features_in_, -1).T.reshape(self.coef_.shape)
        return alpha

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


def check_grid(name: str, grid: Array) -> None:
    if grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise InvalidInput(f"{name} must be positive, finite numbers; their range is searched.")


def _linear_solver(u: Units, target: Target, quadratic: bool) -> Any:
    features = u.mean.size
    if quadratic and features <= DIRECT_QUADRATIC:
        return linear.Cholesky()
    if features * target.outputs <= DIRECT:
        return linear.Cholesky()
    # The columns of dense rows may differ in scale; for tf-idf the diagonal is a bad guide.
    preconditioner = None if sparse.issparse(u.matrix.A) else linear.jacobi
    return linear.CG(max_iter=5000, preconditioner=preconditioner)


def group_matrix(penalties: Any, u: Units, target: Target) -> npt.NDArray[np.intp]:
    features = u.mean.size
    return group_numbers(penalties, features, target.outputs, 0).reshape(features, target.outputs)
