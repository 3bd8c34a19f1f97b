"""Iterative differentiation: the gradient of g at the N-th iterate of an inner algorithm.

Domke, "Generic methods for optimization-based modeling", 2012. The algorithms here are written
once, with the operations of hoag._criteria.tape, given h_x, Hessian and cross products. Step sizes
are powers of two chosen from values: constants almost everywhere, so that what comes back is the
exact derivative of λ ↦ g(x_N(λ), λ).

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
>>> method = hoag.criteria.UnrolledGradientDescent(momentum=0.5)
>>> hoag.criteria.Unrolled(problem, method, n_iter=50).evaluate(0.0).grad.shape
(1,)
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from hoag._core import clock
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import ROUNDOFF, SUFFICIENT, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._core.types import ProblemLike
from hoag._criteria.base import OfProblem, Traits, no_gradient
from hoag._criteria.certificate import certify
from hoag._criteria.tape import Tape, Var
from hoag._linear import CG, LinearSolver
from hoag.problems import Counted, Point, adopt

# A method stops before its N iterations when the gradient has shrunk so far: differences of
# gradients are rounding then, and to differentiate through them amplifies it without limit.
# The adjoint of the certificate, which starts from nothing here, is solved as far.
CONVERGED = float(np.sqrt(ROUNDOFF))


class Oracle:
    """∇₁h(x, λ) as an operation on the tape, and h at plain vectors for choosing steps.

    >>> import hoag
    >>> import numpy as np
    >>> from hoag._criteria.tape import Tape
    >>> A = np.eye(2)
    >>> problem = hoag.models.ridge(A, [1.0, 2.0], A, [1.0, 2.0])
    >>> tape = Tape()
    >>> oracle = Oracle(problem, tape.variable(np.zeros(1)))
    >>> oracle.gradient(tape.variable(np.ones(2))).value
    array([1., 0.])
    """

    def __init__(self, problem: Any, lam: Var) -> None:
        self._problem, self._lam = problem, lam

    def point(self, x: Array) -> Point:
        point: Point = self._problem.at(x, self._lam.value)
        return point

    def gradient(self, x: Var) -> Var:
        point = self.point(x.value)
        if not np.all(np.isfinite(point.h_x)):
            raise SingularProblemError("The unrolled algorithm diverges: ∇₁h is not finite.")

        def pullback(a: Array) -> tuple[Array, Array]:
            return point.hessian @ a, point.cross.rmatvec(a)

        return x.tape.apply(point.h_x, [x, self._lam], pullback)


class Method(Protocol):
    def run(self, oracle: Oracle, x: Var, n_iter: int) -> Var: ...


class UnrolledGradientDescent:
    """x ← x − t ∇₁h + β (x − x₋); β > 0 is heavy ball.

    Parameters
    ----------
    step : float, default=None
        t; None is a power of two below 1/‖∇²₁h(x₀)‖, estimated by power iteration.
    momentum : float, default=0
        β.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> method = hoag.criteria.UnrolledGradientDescent(momentum=0.5)
    >>> few, many = (hoag.criteria.Unrolled(problem, method, n_iter=n) for n in (5, 50))
    >>> many.evaluate(2.0).error < few.evaluate(2.0).error
    True
    """

    POWER_ITERATIONS = 10

    def __init__(self, step: float | None = None, momentum: float = 0.0) -> None:
        self.step, self.momentum = step, momentum

    def run(self, oracle: Oracle, x: Var, n_iter: int) -> Var:
        """x_N from x, as an operation that can be differentiated."""
        t = self.step or self._power_of_two(oracle.point(x.value))
        before = x
        for _ in range(n_iter):
            clock.check()
            after = x - oracle.gradient(x) * t
            if self.momentum:
                after = after + (x - before) * self.momentum
            before, x = x, after
        return x

    def _power_of_two(self, point: Point) -> float:
        v = np.random.default_rng(0).normal(size=point.h_x.size)  # in no symmetry's null space
        norm = 0.0
        for _ in range(self.POWER_ITERATIONS):
            v = np.asarray(point.hessian @ v)
            norm = float(np.linalg.norm(v))
            if norm == 0.0:
                return 1.0
            v = v / norm
        return float(2.0 ** np.floor(np.log2(1.0 / (1.2 * norm))))  # power iteration is from below


class UnrolledLBFGS:
    """x ← x + t d with d from the two-loop recursion, t halved from 1 until h decreases enough.

    The iterates converge, but their derivative need not: where the method takes many steps, how its
    pairs (s, y) depend on λ is amplified from step to step, to a gradient of −8e6 for 2e2 on
    20news. `frozen` takes the pairs for constants. That is no longer the exact derivative of x_N,
    but −H⁻¹∇²₁,₂h, the derivative of X(λ), is then a fixed point of every step.

    Parameters
    ----------
    memory : int, default=10
        How many pairs (s, y) are kept.
    frozen : bool, default=False
        Take the pairs for constants.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> method = hoag.criteria.UnrolledLBFGS(frozen=True)
    >>> hoag.criteria.Unrolled(problem, method, n_iter=30).evaluate(0.0).error < 1.0
    True
    """

    def __init__(self, memory: int = 10, frozen: bool = False) -> None:
        self.memory, self.frozen = memory, frozen

    def run(self, oracle: Oracle, x: Var, n_iter: int) -> Var:
        """x_N from x, as an operation that can be differentiated."""
        pairs: deque[tuple[Var, Var]] = deque(maxlen=self.memory)
        gradient = oracle.gradient(x)
        first = float(np.linalg.norm(gradient.value))
        for _ in range(n_iter):
            clock.check()
            if np.linalg.norm(gradient.value) <= CONVERGED * first:
                break
            d = self._direction(gradient, [part for pair in pairs for part in pair])
            t = self._backtrack(oracle, x.value, gradient.value, d.value, 1.0 if pairs else None)
            if t is None:
                break
            after = x + d * t
            gradient_after = oracle.gradient(after)
            s, y = after - x, gradient_after - gradient
            if float(s.value @ y.value) > 0:
                pairs.append((s, y))
            x, gradient = after, gradient_after
        return x

    def _direction(self, gradient: Var, flat: list[Var]) -> Var:
        tape = gradient.tape
        if not self.frozen:
            return tape.checkpoint(_two_loop, gradient, *flat)
        known = [part.value for part in flat]
        # −H g is linear in g and H symmetric, so going back is the same product.
        return tape.apply(
            _two_loop(gradient.value, *known), [gradient], lambda a: (_two_loop(a, *known),)
        )

    def _backtrack(
        self, oracle: Oracle, x: Array, gradient: Array, d: Array, t: float | None
    ) -> float | None:
        if t is None:  # no curvature known yet: the largest power of two with ‖t d‖ ≤ 1
            t = float(2.0 ** np.floor(-np.log2(np.linalg.norm(d))))
        h, slope = oracle.point(x).h, float(gradient @ d)
        least = ROUNDOFF * t
        while t > least:
            if oracle.point(x + t * d).h <= h + SUFFICIENT * t * slope:
                return t
            t /= 2
        return None


def _two_loop(gradient: Any, *flat: Any) -> Any:
    """−H g, with H the L-BFGS approximation made of pairs (s, y), oldest first."""
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    q, weights = gradient, []
    for s, y in reversed(pairs):
        a = (s @ q) / (s @ y)
        weights.append(a)
        q = q - y * a
    if pairs:
        s, y = pairs[-1]
        q = q * ((s @ y) / (y @ y))
    for (s, y), a in zip(pairs, reversed(weights), strict=True):
        q = q + s * (a - (y @ q) / (s @ y))
    return -q


class UnrolledCG:
    """For quadratic h: conjugate gradients on ∇²₁h x = −∇₁h(0), with ∇²₁h d = ∇₁h(d) − ∇₁h(0).

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> method = hoag.criteria.UnrolledCG()
    >>> hoag.criteria.Unrolled(problem, method, n_iter=20).evaluate(0.0).error < 1.0
    True
    """

    def run(self, oracle: Oracle, x: Var, n_iter: int) -> Var:
        """x_N from x, as an operation that can be differentiated."""
        origin = oracle.gradient(x * 0.0)
        r = -oracle.gradient(x)
        d, rho = r, r @ r
        first = rho.value
        for _ in range(n_iter):
            clock.check()
            if rho.value <= CONVERGED**2 * first:
                break
            Hd = oracle.gradient(d) - origin
            step = rho / (d @ Hd)
            x = x + d * step
            r = r - Hd * step
            rho, before = r @ r, rho
            d = r + d * (rho / before)
        return x


class Unrolled(OfProblem):
    """f_N(λ) = g(x_N(λ), λ) and its exact gradient, as an approximation of f and ∇f.

    The tolerance and the warm start of a search are not used: the derivative of N iterations
    depends on all of them. f_N is what a search minimises; `error` says how far its gradient is
    from ∇f, by the implicit gradient one Newton step further; `bound` is infinite.

    Parameters
    ----------
    problem : Problem
        h and g at a point: whatever `hoag.minimize` takes.
    method : UnrolledGradientDescent, UnrolledLBFGS or UnrolledCG, default=None
        The inner algorithm; None is `UnrolledLBFGS()`.
    n_iter : int, default=100
        N.
    linear : LinearSolver, default=None
        Solves for the adjoint of the certificate; None is `CG()`.
    certificate : bool, default=True
        Measure the error of every gradient.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> for n in (2, 5, 20):
    ...     found = hoag.criteria.Unrolled(problem, n_iter=n).evaluate(-2.0)
    ...     print(f"{n} iterations: off by {found.error:.0e}")
    2 iterations: off by 4e+03
    5 iterations: off by 2e+03
    20 iterations: off by 1e-01
    """

    def __init__(
        self,
        problem: ProblemLike,
        method: Method | None = None,
        n_iter: int = 100,
        linear: LinearSolver | None = None,
        certificate: bool = True,
    ) -> None:
        self.problem = adopt(problem)
        self.method = method or UnrolledLBFGS()
        self.n_iter = n_iter
        self.linear = linear or CG()
        self.certificate = certificate

    @property
    def traits(self) -> Traits:
        return Traits(exact=True, blocks=self.problem.blocks)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        problem, tape = Counted(self.problem), Tape()
        lam_var, start = tape.variable(lam), tape.variable(np.array(problem.x0, dtype=float))
        x_var = self.method.run(Oracle(problem, lam_var), start, self.n_iter)
        x, point = x_var.value, problem.at(x_var.value, lam)
        grad = no_gradient(lam)
        if ask.gradient:
            grad = point.g_lam + tape.gradients(x_var, point.g_x, [lam_var])[0]
        found = Evaluation(lam, float(point.g), grad, x=x, cost=problem.cost)
        if not (self.certificate and ask.gradient):
            return found
        return self._certified(problem, found, problem.cost)

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        if not np.isnan(found.error) or found.x is None:
            return replace(found, cost=Cost())
        return self._certified(Counted(self.problem), found, Cost())

    def _certified(self, problem: Counted, found: Evaluation, spent: Cost) -> Evaluation:
        zero, point = np.zeros_like(found.x), problem.at(found.x, found.lam)
        proof = certify(problem, found.lam, found.x, point, zero, self.linear, tol=CONVERGED)
        cost = problem.cost + Cost(certificate=problem.cost.passes - spent.passes)
        if proof is None:
            return replace(found, error=np.inf, cost=cost)
        correction = proof.refined - found.grad
        error = float(np.linalg.norm(correction))
        return replace(found, correction=correction, error=error, cost=cost)
