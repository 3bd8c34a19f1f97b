"""Lines (i) to (iii) of Algorithm 1: implicit differentiation at an approximate solution."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import InvalidParameterError, SingularProblemError
from hoag._core.numeric import EXACT, FALLEN, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._core.types import ProblemLike
from hoag._criteria.base import SPACING, Criterion, OfProblem, Traits, no_gradient, unsolved
from hoag._criteria.certificate import RELATIVE_RESIDUAL, ROUGH, certify, hypergradient
from hoag._inner import InnerSolver, Newton
from hoag._linear import CG, Cholesky, LinearSolver
from hoag.problems import Counted, Point, Problem, adopt

# The secant of the last two solutions is followed when the search goes on in about the same
# direction, and no further than it went last time.
STRAIGHT = 0.9


@storable
@dataclass(frozen=True, eq=False)
class Warm:
    """x and q as they were at some λ, and where they were before that."""

    lam: Array
    x: Array
    q: Array | None
    before: Warm | None = None

    def secant(self, lam: Array) -> float:
        """t such that λ ≈ λ₁ + t (λ₁ − λ₀); 0 when the search has turned."""
        if self.before is None:
            return 0.0
        last, now = self.lam - self.before.lam, lam - self.lam
        sizes = float(np.linalg.norm(last) * np.linalg.norm(now))
        along = float(last @ now)
        if sizes == 0.0 or along < STRAIGHT * sizes:
            return 0.0
        return min(along / float(last @ last), 1.0)


class Implicit(OfProblem):
    """f(λ) = g(X(λ), λ) and p by the implicit function theorem, both at an approximate X(λ).

        (i)   ‖∇₁h(x, λ)‖ ≤ ε    (ii)   ‖∇²₁h q − ∇₁g‖ ≤ ε    (iii)   p = ∇₂g − ∇²₁,₂hᵀ q

    Parameters
    ----------
    problem : Problem
        h and g at a point: whatever `hoag.minimize` takes.
    inner : InnerSolver, default=None
        Solves (i), to ‖∇₁h‖/μ ≤ ε where μ is known; None is `Newton()`.
    linear : LinearSolver, default=None
        Solves (ii); None is `CG()`.
    certificate : bool, default=True
        Measure the error of every gradient.
    corrected : bool, default=False
        Return the refined x⁺ and gradient p⁺ in place of x and p, with the error of p⁺.
    bound : bool, default=True
        With the certificate: ask the problem for a rigorous bound, too.
    extrapolate : bool, default=True
        Start on the secant of the last two solutions where that is nearer; it doubles the memory of
        a warm start.
    by_distance : bool, default=True
        False solves (i) to ‖∇₁h‖ ≤ ε in any case: μ = exp(min λ) says nothing about most
        coefficients where there are many penalties.
    exact : bool, default=False
        The solvers are factors of a small matrix: solve to rounding, whatever ε is.
    has_hessian : bool, default=False
        These factors give ∇²f, too; the error of p is left to be measured, for the Hessian may be
        singular but for rounding.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> found = hoag.criteria.Implicit(problem).evaluate(-2.0, 1e-6)
    >>> found.error <= found.bound < 1
    True
    """

    def __init__(
        self,
        problem: ProblemLike,
        inner: InnerSolver | None = None,
        linear: LinearSolver | None = None,
        certificate: bool = True,
        corrected: bool = False,
        bound: bool = True,
        extrapolate: bool = True,
        by_distance: bool = True,
        exact: bool = False,
        has_hessian: bool = False,
    ) -> None:
        self.problem = adopt(problem)
        self.inner = inner or Newton()
        self.linear = linear or CG()
        self.certificate = certificate or corrected
        self.corrected = corrected
        self.bound = bound
        self.extrapolate = extrapolate
        self.by_distance = by_distance
        self.exact = exact
        self.has_hessian = has_hessian

    @cached_property
    def _scale(self) -> float:
        """‖∇₁h‖ where nothing is fitted: what rounding is measured by."""
        return float(np.linalg.norm(self.problem.at(np.array(self.problem.x0), self.lam0).h_x))

    @property
    def traits(self) -> Traits:
        return Traits(
            scan_spacing=SPACING if self.exact and not self.has_hessian else None,
            has_hessian=self.has_hessian,
            exact=self.exact,
            rows=self.problem.sample_of,
            fewest=self.problem.fewest,
            blocks=self.problem.blocks,
        )

    def _on_sample(self, rows: int, seed: int) -> Criterion:
        """With the solvers of the whole; where that is only looked over, by factors.

        The error that those leave is not measured, for it is nothing beside that of the sample.
        """
        counted, sample = Counted(self.problem), self.problem.sample(rows, seed)
        if self.problem.fewest is None:
            return Implicit(sample, Newton(Cholesky()), Cholesky(), certificate=False)
        own = copy(self)
        own.problem, own.certificate, own.corrected = sample, False, False
        return Sampled(own, sample, counted.cost)

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        problem = Counted(self.problem)
        x0, q0 = self._start(problem, lam, warm)
        mu = _convexity(problem.at(x0, lam)) if self.by_distance else 1.0
        eps = ask.eps
        if self.exact:
            mu, eps = 1.0, EXACT * self._scale

        solve = self.inner.solve(problem, lam, x0, mu * eps)  # (i)
        x, point = solve.x, solve.point
        g = float(point.g)
        exact = ROUNDING * abs(g) if self.exact else np.nan
        if not ask.gradient:
            return Evaluation(
                lam=lam,
                value=g,
                grad=no_gradient(lam),
                f_error=exact,
                x=x,
                warm=Warm(lam, x, q0),
                cost=problem.cost,
                converged=solve.converged,
                note=_note(solve),
            )
        adjoint = self.linear.solve(point.hessian, point.g_x, q0, eps)  # (ii)
        if adjoint.bent and solve.residual > EXACT * self._scale:
            # Curvature may be negative away from the minimum, and positive there, if there is one.
            solve = self.inner.solve(problem, lam, x, min(mu * eps, EXACT * self._scale))
            x, point = solve.x, solve.point
            adjoint = self.linear.solve(point.hessian, point.g_x, None, eps)
        q = _definite(adjoint, solve, lam).x
        p = point.g_lam - point.cross.rmatvec(q)  # (iii)
        hessian = None
        if ask.hessian and adjoint.inverse is not None:
            hessian = self.problem.outer_hessian(point, q, adjoint.inverse)

        g, change = float(point.g), -float(q @ point.h_x)
        known = not adjoint.bent and (solve.converged or _follows(change, g))
        before = replace(warm, before=None) if self.extrapolate and warm is not None else None
        found = Evaluation(
            lam=lam,
            value=g + change if known else g,
            grad=p,
            g=g,
            f_error=_f_error(point, adjoint) if known else np.inf,
            error=np.nan if self.has_hessian else exact,
            hessian=hessian,
            x=x,
            warm=Warm(lam, x, q, before),
            cost=problem.cost,
            converged=solve.converged and adjoint.converged,
            note=_note(solve, adjoint),
        )
        if not self.certificate or adjoint.bent:
            return found
        return self._certified(problem, found, found.cost, self.corrected, self.bound)

    def levels(self, lams: Sequence[Array]) -> tuple[Array, Cost] | None:
        problem = Counted(self.problem)
        known = self.problem.values(lams)
        return None if known is None else (np.asarray(known), problem.cost)

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        """Measured where it was not, and bounded where it is not, if asked.

        p is then the refined p⁺, at the x⁺ and q⁺ that measuring its error gave.
        """
        warm, problem = found.warm, Counted(self.problem)
        measured = not np.isnan(found.error) and (not bound or np.isfinite(found.bound))
        if warm is None or measured:
            return replace(found, cost=Cost())
        q = warm.q
        if np.isnan(found.error) or q is None:
            return self._certified(problem, found, Cost(), True, bound)
        point = problem.at(warm.x, found.lam)
        rest = self.problem.bound(point, q, point.hessian @ q - point.g_x)
        return replace(
            found,
            grad=hypergradient(point, q),
            error=min(found.error, rest),
            bound=rest,
            correction=None,
            cost=problem.cost + Cost(certificate=problem.cost.passes),
        )

    def _certified(
        self, problem: Counted, found: Evaluation, spent: Cost, corrected: bool, bound: bool
    ) -> Evaluation:
        """found with the error of its p; or with p⁺ in its place, and the error of that."""
        warm: Warm = found.warm
        point = problem.at(warm.x, found.lam)
        q = np.zeros_like(warm.x) if warm.q is None else warm.q
        rigorous = self.problem.bound if bound else None
        proof = certify(problem, found.lam, warm.x, point, q, self.linear, rigorous, corrected)
        extra = problem.cost.passes - spent.passes
        cost = problem.cost + Cost(certificate=extra)
        if proof is None:
            return replace(found, error=np.inf, cost=cost)
        value, f_error = proof.value, abs(proof.value - (proof.g if corrected else found.g))
        if not (found.converged or _follows(proof.value - proof.g, proof.g)):
            value, f_error = proof.g, np.inf
        known = replace(
            found,
            value=value,
            f_error=f_error,
            warm=Warm(found.lam, *proof.best, warm.before),
            cost=cost,
        )
        if corrected:
            return replace(
                known,
                g=proof.g,
                grad=proof.refined,
                x=proof.x,
                error=min(proof.refined_error, proof.refined_bound),
                bound=proof.refined_bound,
            )
        correction = proof.refined - hypergradient(point, q)
        return replace(known, correction=correction, error=proof.error, bound=proof.bound)

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """f(λ) = g + ∇₁g·δ, with δ = −H⁻¹∇₁h a Newton step from the x that was found.

        While that term, or what may be missing in it, is more than tol, or the solver had stopped
        short, the step is taken and the next one looked at; where it leads nowhere, the inner
        solver goes on. Where that leads nowhere either, f is not known.
        """
        problem, lam = Counted(self.problem), found.lam
        begun = self.problem.x0 if found.x is None else found.x
        warm: Warm = found.warm or Warm(lam, np.array(begun, dtype=float), None)
        x, q = warm.x, warm.q
        note, stuck, solved = "", False, found.converged
        point = problem.at(x, lam)
        while True:
            size, g = float(np.linalg.norm(point.h_x)), float(point.g)
            step = self.linear.solve(point.hessian, -point.h_x, None, ROUGH * size)
            change, missing, q = self._change(point, step, q, tol, deadline)
            f_error = abs(change) + missing + ROUNDING * abs(g)
            lost = size == 0.0 or not np.isfinite(g + size + change)
            if step.bent or step.reason == "not_finite" or not np.isfinite(change):
                f_error, change = np.inf, 0.0  # x is no minimum: nothing follows from one step
            if not solved and (stuck or time.perf_counter() >= deadline):
                f_error += unsolved(-float(point.h_x @ step.x), abs(point.h))
            known = solved and f_error <= tol
            if known or stuck or lost or time.perf_counter() >= deadline:
                break
            trial = problem.at(x + step.x, lam)
            if not step.bent and np.linalg.norm(trial.h_x) <= FALLEN * size:
                x, point, solved = x + step.x, trial, True
                continue
            goal = ROUGH * size * min(1.0, tol / f_error)
            solve = self.inner.solve(problem, lam, x, goal)
            x, point, note, stuck = solve.x, solve.point, _note(solve), solve.residual > goal
            solved = solve.converged
        return replace(
            found,
            value=g + change,
            g=g,
            f_error=f_error,
            x=x,
            warm=Warm(lam, x, q),
            cost=problem.cost,
            converged=f_error <= tol,
            note=note,
            on_sample=None,
        )

    def _change(
        self, point: Any, step: Solve, q: Array | None, tol: float, deadline: float
    ) -> tuple[float, float, Array | None]:
        """f − g to first order, −∇₁g·H⁻¹∇₁h; what may be missing in it; and q = H⁻¹∇₁g, about.

        With r = −∇₁h − Hδ and s = ∇₁g − Hq left of the step and of the adjoint it is

            ∇₁g·δ + q·r + s·H⁻¹r,   |s·H⁻¹r| ≤ ‖s‖_M⁻¹‖r‖_M⁻¹   for a diagonal M ⪯ H,

        so both are solved until the product is below half of tol. From the step alone, solved to
        half its residual, directions in which h is weak are not seen, and they may be all of it:
        with 4000 columns, 250 rows and weak penalties f was 1.05 by that, and is 2.04.
        """
        size, change = float(np.linalg.norm(point.h_x)), float(point.g_x @ step.x)
        floor = self.problem.floor(point)
        if step.r is None or size == 0.0 or not np.isfinite(change):
            left = min(step.residual / size, ROUGH) if size > 0 else 0.0
            return change, abs(change) * left / (1 - left), q
        if floor is None:
            return *self._followed(point, change, -step.r, tol, deadline), q

        def dual(v: Array) -> float:
            return float(np.sqrt(np.sum(v**2 / floor)))

        A, r, missing = point.hessian, -step.r, np.inf
        adjoint = self.linear.solve(A, point.g_x, q, ROUGH * float(np.linalg.norm(point.g_x)))
        q, s = adjoint.x, -adjoint.r
        while True:
            before, missing = missing, dual(s) * dual(r)
            stalled = missing > FALLEN * before
            if missing <= tol / 2 or stalled or time.perf_counter() >= deadline:
                break
            share = max(float(np.sqrt(tol / (4 * missing))), ROUGH**8)
            more, again = (
                self.linear.solve(A, v, None, share * float(np.linalg.norm(v))) for v in (r, s)
            )
            change, r = change + float(point.g_x @ more.x), -more.r
            q, s = q + again.x, -again.r
        return change + float(q @ r), missing, q

    def _followed(
        self, point: Any, change: float, r: Array, tol: float, deadline: float
    ) -> tuple[float, float]:
        """∇₁g·δ as r = −∇₁h − Hδ shrinks, and the last change of it: where M is not known.

        That is an estimate. A step solved to half its residual alone saw 7e-4 of 0.2 that were
        missing, with 400 columns, 60 rows and weak penalties.
        """
        missing = np.inf
        while missing > tol / 2 and time.perf_counter() < deadline:
            goal = ROUGH**8 * float(np.linalg.norm(r))
            more = self.linear.solve(point.hessian, r, None, goal)
            if more.r is None or more.bent or more.reason == "not_finite":
                break
            change, r = change + float(point.g_x @ more.x), -more.r
            before, missing = missing, abs(float(point.g_x @ more.x))
            if missing > FALLEN * before or not np.any(r):
                break
        return change, missing

    def _start(self, problem: Any, lam: Array, warm: Warm | None) -> tuple[Array, Array | None]:
        """Where to start at λ: the last x and q, moved along their secant when that is nearer.

        ∇₁h at the last x costs nothing where the problem remembers its rows' part; at the
        extrapolated x the inner solver needs it anyway.
        """
        if warm is None:
            return np.array(self.problem.x0, dtype=float), None
        t = warm.secant(lam)
        if t == 0.0 or warm.before is None:
            return warm.x, warm.q
        x = warm.x + t * (warm.x - warm.before.x)
        last = np.linalg.norm(problem.at(warm.x, lam).h_x)
        if not np.linalg.norm(problem.at(x, lam).h_x) < last:
            return warm.x, warm.q
        if warm.q is None or warm.before.q is None:
            return x, warm.q
        return x, warm.q + t * (warm.q - warm.before.q)


class Sampled(Criterion):
    """f_m(λ) and p_m(λ) on m rows, with f_error and error that add what a sample may be wrong by.

    The sample is taken apart into four parts, and f on each of them, to first order, is

        f_k = g_k − q·∇₁h_k   at the x and q of the whole sample,

    without another fit: their spread, over √4, is the standard error of f_m. Besides, f_m is too
    large by about ½ δᵀ∇²₁g δ, δ the sampling error of x: fits to fewer rows are worse. A draw of δ
    is the step from x towards the fit on two of the parts, which is as far from the fit on the
    whole sample as that is from the fit on all rows; where that step leads, with the q there, the
    gradient differs from p_m by about the sampling error of p_m. Where p is one number, there are
    two such draws, which are independent.

    `on_sample` of an evaluation has the errors without all this: of f_m itself.
    """

    def __init__(self, own: Criterion, sample: Problem, setup: Cost) -> None:
        self.own, self.sample = own, sample
        self._setup = setup  # paid for by the first evaluation

    @property
    def lam0(self) -> Array:
        return self.own.lam0

    @cached_property
    def _parts(self) -> Sequence[Problem]:
        return self.sample.parts(4)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        found = self.own._evaluate(lam, ask, warm)
        begun, self._setup = self._setup, Cost()
        f_error, error, counted = np.inf, np.inf, Counted(self.sample)
        if ask.gradient and np.isfinite(ask.eps) and np.isfinite(found.value):
            f_error, error = self._errors(lam, found.warm.x, found.warm.q)
        return replace(
            found,
            f_error=float(np.nansum([found.f_error, f_error])),
            error=float(np.nansum([found.error, error])),
            bound=np.inf,
            correction=None,
            cost=begun + found.cost + counted.cost,
            on_sample=(found.f_error, found.error),
        )

    def _errors(self, lam: Array, x: Array, q: Array) -> tuple[float, float]:
        """The sampling errors of f and of p."""
        unseen = [1.0 - share for share in self.sample.shares]
        every = [part.at(x, lam) for part in self._parts]
        fits, losses = ([q @ point.h_x for point in every], [point.g for point in every])
        spread = unseen[0] * np.var(fits, ddof=1) + unseen[1] * np.var(losses, ddof=1)

        def moved(other: int) -> tuple[float, float]:
            """By how much a fit on half of the parts makes f worse; and its ‖p − p_m‖²."""
            half = [every[0], every[other]]
            step = _solved(half, slope - _mean([point.h_x for point in half]))
            there = [self._parts[k].at(x + step, lam) for k in (0, other)]
            worse = _mean([new.g - old.g - old.g_x @ step for new, old in zip(there, half)])
            turn = _solved(there, _mean(list(map(unmet, there))) - left_unmet)
            apart = _mean([hypergradient(point, q + turn) for point in there]) - p
            return abs(float(worse)), float(apart @ apart)

        def unmet(point: Point) -> Array:
            return np.asarray(point.g_x - point.hessian @ q)

        slope, left_unmet = _mean([point.h_x for point in every]), _mean(list(map(unmet, every)))
        p = _mean([hypergradient(point, q) for point in every])
        draws = [moved(other) for other in ((1, 2) if lam.size == 1 else (1,))]
        worse, apart = np.mean(draws, axis=0)
        f_error = np.sqrt(spread / len(every)) + unseen[0] * worse
        return float(f_error), float(np.sqrt(max(unseen) * apart))


def _mean(each: Sequence[Any]) -> Any:
    return sum(each) / len(each)


def _solved(points: Sequence[Point], b: Array) -> Array:
    """H⁻¹b to a tenth, H the mean of the points' Hessians."""
    H = LinearOperator(
        (b.size, b.size),
        matvec=lambda v: _mean([point.hessian @ np.ravel(v) for point in points]),
        dtype=float,
    )
    return CG().solve(H, b, None, RELATIVE_RESIDUAL * float(np.linalg.norm(b))).x


def _follows(change: float, g: float) -> bool:
    """Whether g − q·∇₁h says anything of f where ∇₁h did not get small: not if it is not near g."""
    return abs(change) <= ROUGH * abs(g)


def _f_error(point: Point, adjoint: Solve) -> float:
    """|q·∇₁h| is how far g is from f, as well as q is known: not at all where it was not solved."""
    size = float(np.linalg.norm(point.g_x))
    left = adjoint.residual / size if size > 0 else 0.0
    if not np.any(point.h_x):
        return 0.0
    return abs(float(adjoint.x @ point.h_x)) / (1 - left) if left < 1 else np.inf


def _convexity(point: Point) -> float:
    """μ where it is known; 1 where it is not, so that ε bounds ‖∇₁h‖ itself."""
    mu = point.strong_convexity
    if mu is None:
        return 1.0
    if not mu > 0:
        raise InvalidParameterError(
            f"point.strong_convexity is {mu}.\nGive a number μ > 0 with ∇²₁h ⪰ μI, or None.",
            "strong_convexity",
            mu,
        )
    return float(mu)


def _definite(adjoint: Solve, solve: Solve, lam: Array) -> Solve:
    if adjoint.reason == "not_finite":
        raise SingularProblemError(
            "The linear system for the gradient overflows at lam = "
            f"{np.array2string(lam, threshold=6)}: a product with ∇²₁h or ∇₁g is not finite.\n"
            "Rescale the data (features of size 1), or check ∇²₁h and ∇₁g."
        )
    if adjoint.reason == "indefinite":
        raise SingularProblemError(
            "∇²₁h is not positive definite at the inner solution for lam = "
            f"{np.array2string(lam, threshold=6)}, where ‖∇₁h‖ = {solve.residual:.1e}: the "
            "hypergradient is not defined there. Is x a minimum of h and not a saddle point, and "
            "is every direction of x penalised or seen by the data? If h is not convex in x, make "
            "the problem with convex=False."
        )
    return adjoint


def _note(solve: Solve, adjoint: Solve | None = None) -> str:
    parts = []
    if not solve.converged:
        parts.append(
            f"The inner solver stopped ({solve.reason}) at ‖∇₁h‖ = {solve.residual:.1e} "
            f"after {solve.iterations} iterations."
        )
    if adjoint is not None and adjoint.damping > 0:
        parts.append(
            f"∇²₁h has negative curvature there: {adjoint.damping:.1e} was added to its diagonal, "
            "and the gradient is that of h so regularised."
        )
    if adjoint is not None and not adjoint.converged:
        parts.append(
            f"The linear solver stopped ({adjoint.reason}) at residual {adjoint.residual:.1e} "
            f"after {adjoint.iterations} iterations."
        )
    return " ".join(parts)
