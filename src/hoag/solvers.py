"""How the two systems of a hypergradient are solved, by what and to which tolerance.

    the inner problem  min over x of h(x, λ), stopped at ‖∇₁h‖ ≤ tol: Newton, LBFGS, …
    the adjoint        ∇²₁h q = ∇₁g, stopped at ‖∇²₁h q − ∇₁g‖ ≤ tol: CG, Cholesky, Damped
    tolerances         ε_k, k = 1, 2, …: ExponentialDecay, …; any callable k ↦ ε_k will do

>>> import hoag
>>> from hoag import solvers
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
>>> exact = hoag.criteria.Implicit(problem, solvers.Newton(), solvers.Cholesky())
>>> exact.evaluate(0.0, 1e-9).error < 1e-6
True
"""

from hoag._core.result import Solve
from hoag._inner import (
    LBFGS,
    Continuation,
    GradientDescent,
    InnerSolver,
    LinearSystem,
    Newton,
    UserSolver,
)
from hoag._linear import CG, Cholesky, Damped, LinearSolver, jacobi
from hoag._schedules import CubicDecay, Exact, ExponentialDecay, QuadraticDecay

__all__ = [
    "CG",
    "LBFGS",
    "Cholesky",
    "Continuation",
    "CubicDecay",
    "Damped",
    "Exact",
    "ExponentialDecay",
    "GradientDescent",
    "InnerSolver",
    "LinearSolver",
    "LinearSystem",
    "Newton",
    "QuadraticDecay",
    "Solve",
    "UserSolver",
    "jacobi",
]
