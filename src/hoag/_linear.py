"""Solvers for A q = b with A symmetric positive definite, stopped at ‖A q − b‖ ≤ tol.

>>> import numpy as np
>>> from hoag import solvers
>>> solvers.Cholesky().solve(np.diag([1.0, 4.0]), np.ones(2), None, 1e-9).x
array([1.  , 0.25])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError

from hoag._core import clock
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._core.result import Solve
from hoag._core.types import Operator
from hoag._linalg.cg import ConjugateGradients
from hoag._linalg.operator import Shifted, as_hessian

# A preconditioner looks at A and returns the product v ↦ M⁻¹v.
Preconditioner = Callable[[Operator], Callable[[Array], Array]]


class LinearSolver(Protocol):
    """Anything that solves A q = b, A symmetric positive definite, to ‖A q − b‖ ≤ tol.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import solvers
    >>> class Inverse(solvers.LinearSolver):
    ...     def solve(self, A, b, q0, tol):
    ...         q = np.linalg.inv(A) @ b
    ...         return solvers.Solve(q, 0.0, 1, "tolerance", r=A @ q - b)
    >>> Inverse().solve(np.diag([1.0, 4.0]), np.ones(2), None, 1e-9).x
    array([1.  , 0.25])
    """

    def solve(self, A: Operator, b: Array, q0: Array | None, tol: float) -> Solve:
        """q with ‖A q − b‖ ≤ tol, from q0 where that is not None."""


class CG:
    """Conjugate gradients, warm-started at the best multiple of q0, optionally preconditioned.

    Meeting a direction d with dᵀAd ≤ 0 ends the solve with the reason "indefinite" and the last
    iterate, whose energy is the least so far: a Newton step made from it is a descent direction.

    Parameters
    ----------
    max_iter : int, default=1000
        The largest number of products with A.
    preconditioner : callable, default=None
        A ↦ (v ↦ M⁻¹v), such as `jacobi`.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import solvers
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solver = solvers.CG(preconditioner=solvers.jacobi)
    >>> solver.solve(A, np.array([1.0, 2.0]), None, 1e-9).x.round(4)
    array([0.0909, 0.6364])
    """

    def __init__(self, max_iter: int = 1000, preconditioner: Preconditioner | None = None) -> None:
        self.max_iter = max_iter
        self.preconditioner = preconditioner

    def solve(self, A: Operator, b: Array, q0: Array | None, tol: float) -> Solve:
        """q with ‖A q − b‖ ≤ tol, from the multiple of q0 with the least residual."""
        q, r = np.zeros_like(b), b.copy()
        if q0 is not None and np.any(q0):
            Aq0 = A @ q0
            energy = float(q0 @ Aq0)
            if energy > 0:
                scale = float(q0 @ b) / energy
                if np.linalg.norm(b - scale * Aq0) < np.linalg.norm(b):
                    q, r = scale * q0, b - scale * Aq0
        rounding = ROUNDING * float(np.linalg.norm(b))  # no computed residual is below that
        target, size = max(tol, rounding), float(np.linalg.norm(r))
        if not np.isfinite(size):
            return Solve(q, size, 0, "not_finite", r=-r)
        precondition = self.preconditioner(A) if self.preconditioner else None
        at = ConjugateGradients(lambda v: A @ v, precondition, r, q)
        for k in range(self.max_iter + 1):
            size = float(np.linalg.norm(at.r))
            reason = "tolerance" if size <= tol else "precision"
            if size <= target:
                return Solve(at.x, size, k, reason, r=-at.r)
            if k == self.max_iter:
                break
            clock.check()
            if at.rho == 0.0:  # below the smallest number, or M⁻¹ is none
                return Solve(at.x, size, k, "stalled", r=-at.r)
            if not at.step():
                # A singular but consistent system ends here too, once only rounding is left.
                alike = size <= np.sqrt(ROUNDOFF) * float(np.linalg.norm(b))
                flat = "precision" if alike else "indefinite"
                reason = flat if at.curvature <= 0 else "not_finite"
                return Solve(at.x, size, k, reason, r=-at.r)
        return Solve(at.x, size, self.max_iter, "max_iter", r=-at.r)


class Cholesky:
    """q = L⁻ᵀL⁻¹b with A = LLᵀ, for problems with few coefficients.

    A product with what has no matrix is formed column by column. One refinement brings the residual
    to rounding where it is above tol.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import solvers
    >>> solvers.Cholesky().solve(np.diag([1.0, -1.0]), np.ones(2), None, 1e-9).reason
    'indefinite'
    """

    def solve(self, A: Operator, b: Array, q0: Array | None, tol: float) -> Solve:
        """q = A⁻¹b; q0 is not needed, and tol only tells whether a refinement is."""
        A = as_hessian(A)
        failed = Solve(np.zeros_like(b), float(np.linalg.norm(b)), 0, "not_finite", r=-b)
        try:
            inverse = A.factor()
        except LinAlgError:
            finite = np.all(np.isfinite(A @ np.ones_like(b)))
            return replace(failed, reason="indefinite") if finite else failed
        q = inverse(b)
        if not np.all(np.isfinite(q)):
            return failed
        if tol == np.inf:  # no residual is asked for
            return Solve(q, np.nan, 1, "tolerance", inverse=inverse)
        residual = A @ q - b
        if np.linalg.norm(residual) > tol:  # one refinement brings it to rounding
            q = q - inverse(residual)
            residual = A @ q - b
        size = float(np.linalg.norm(residual))
        at_rounding = size <= 10 * ROUNDING * float(np.linalg.norm(b))
        reason = "tolerance" if size <= tol else "precision" if at_rounding else "stalled"
        return Solve(q, size, 1, reason, r=residual, inverse=inverse)


def jacobi(A: Operator) -> Callable[[Array], Array]:
    """v ↦ M⁻¹v with M = diag(A), from an operator that knows its diagonal.

    Parameters
    ----------
    A : array or operator of shape (p, p)
        A matrix, or an operator with `diagonal()`.

    Returns
    -------
    callable
        The product v ↦ M⁻¹v.

    Raises
    ------
    InvalidDataError
        Where the operator does not know its diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import solvers
    >>> solvers.jacobi(np.diag([2.0, 4.0]))(np.ones(2))
    array([0.5 , 0.25])
    """
    diagonal = as_hessian(A).diagonal()
    diagonal = np.where(diagonal > 0, diagonal, 1.0)  # a column of zeros that nothing penalises
    return lambda v: v / diagonal


class Damped:
    """(A + δI) q = b with δ = 0 where A is positive definite, else as small as makes it so.

    For Hessians of problems that are not convex, at points that are no minimum yet. δ begins at
    `least` of ‖Ab‖/‖b‖ and grows fourfold. `Solve.damping` is the δ that served: where it is not 0,
    q is the adjoint of a regularised problem.

    Parameters
    ----------
    solver : LinearSolver
        What solves the system for each δ.
    least : float, default=1e-3
        The first δ that is tried, as a share of ‖Ab‖/‖b‖.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import solvers
    >>> solver = solvers.Damped(solvers.Cholesky())
    >>> found = solver.solve(np.diag([2.0, -1.0]), np.ones(2), None, 1e-9)
    >>> found.reason, found.damping > 1
    ('tolerance', True)
    """

    def __init__(self, solver: LinearSolver, least: float = 1e-3) -> None:
        self.solver, self.least = solver, least

    def solve(self, A: Operator, b: Array, q0: Array | None, tol: float) -> Solve:
        """q with ‖(A + δI) q − b‖ ≤ tol, for the first δ with which it is found."""
        found = self.solver.solve(A, b, q0, tol)
        if found.reason != "indefinite":
            return found
        A = as_hessian(A)
        size = float(np.linalg.norm(b)) or 1.0  # b = 0 at a saddle point
        delta = self.least * float(np.linalg.norm(A @ b)) / size or self.least
        most = delta / ROUNDOFF**2  # far above any eigenvalue that A can have beside ‖Ab‖/‖b‖
        while found.reason == "indefinite" and delta <= most < np.inf:
            clock.check()
            found = self.solver.solve(Shifted(A, delta), b, None, tol)
            delta *= 4
        return replace(found, damping=delta / 4)
