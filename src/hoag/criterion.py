"""f(λ) = g(X(λ), λ) with an approximate gradient and the error of that gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from hoag.certificate import certify, hypergradient
from hoag.inner import InnerSolver, Newton
from hoag.linear import CG, Cholesky, LinearSolver
from hoag.problem import Counted, Point, Problem, checked_lam
from hoag.values import Array, Cost, Evaluation, InnerProblemError, InvalidInput, Solve

# The secant of the last two solutions is followed when the search goes on in about the same
# direction, and no further than it went last time.
STRAIGHT = 0.9
FARTHEST = 1.0


class Criterion(Protocol):
    """What a search minimises. `lam0` is where it starts when nobody says otherwise.

    These members are optional, and asked for by name:

    free_looks       evaluations with ε = ∞ cost no pass, once there was one
    solution(warm)   the x of an evaluation whose x is None, and what making it costs
    certified(found) the same evaluation with the error of p, and a rigorous bound
    rows, blocks, coarse(rows)   for scouting on a sample of the rows; see hoag.search.scout
    """

    @property
    def lam0(self) -> Array: ...
    def outer_lipschitz(self) -> tuple[float, Cost]: ...
    def evaluate(self, lam: Array, eps: float, warm: Any = None) -> Evaluation: ...
    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation: ...


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
        return min(along / float(last @ last), FARTHEST)


class Implicit:
    """Lines (i) to (iii) of Algorithm 1: implicit differentiation at an approximate solution.

    inner        solves (i) to ‖∇₁h‖/μ ≤ ε where μ is known, to ‖∇₁h‖ ≤ ε where not; or to the
                 latter in any case, with by_distance=False: μ = exp(min λ) says nothing about most
                 coefficients where there are many penalties
    linear       solves (ii) to ‖∇²₁h q − ∇₁g‖ ≤ ε
    certificate  measure the error of the gradient (see hoag.certificate)
    bound        with the certificate: ask the problem for a rigorous bound, too
    extrapolate  start on the secant of the last two solutions where that is nearer; it doubles
                 the memory of a warm start
    corrected    return the refined x⁺ and gradient p⁺ in place of x and p; `error` stays that of
                 p, which p⁺ is usually ten times below
    """

    def __init__(
        self,
        problem: Problem,
        inner: InnerSolver | None = None,
        linear: LinearSolver | None = None,
        certificate: bool = True,
        corrected: bool = False,
        bound: bool = True,
        extrapolate: bool = True,
        by_distance: bool = True,
    ) -> None:
        self.problem = problem
        self.inner = inner or Newton()
        self.linear = linear or CG()
        self.certificate = certificate or corrected
        self.corrected = corrected
        self.bound = bound
        self.extrapolate = extrapolate
        self.by_distance = by_distance

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    def outer_lipschitz(self) -> tuple[float, Cost]:
        """The Lipschitz constant of g as the problem knows it, and what finding it cost."""
        return counted_lipschitz(self.problem)

    @property
    def rows(self) -> int | None:
        """How many training rows there are, where the problem can be made of fewer; else None."""
        return getattr(self.problem, "rows", None) if hasattr(self.problem, "coarse") else None

    @property
    def blocks(self) -> npt.NDArray[np.intp]:
        """The block of each hyperparameter, of those that scouting moves as one."""
        return np.asarray(getattr(self.problem, "blocks", np.arange(self.lam0.size)))

    def coarse(self, rows: int) -> Implicit:
        """The same on a sample of the rows, so few that they are solved by factors."""
        problem: Any = self.problem
        solver = Cholesky()
        return Implicit(problem.coarse(rows), Newton(solver), solver, certificate=False)

    def evaluate(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        """f(λ) and p at λ, shape (s,), both systems solved to the tolerance ε.

        `warm` is the `warm` of an earlier Evaluation, to start from; None starts at problem.x0.
        """
        problem, lam = Counted(self.problem), checked_lam(lam, self.problem)
        x0, q0 = self._start(problem, lam, warm)
        mu = _convexity(problem.at(x0, lam)) if self.by_distance else 1.0

        solve = self.inner.solve(problem, lam, x0, mu * eps)  # (i)
        x, point = solve.x, solve.point
        adjoint = self.linear.solve(point.hessian, point.g_x, q0, eps)  # (ii)
        q = _definite(adjoint, solve, lam).x
        p = point.g_lam - point.cross.rmatvec(q)  # (iii)

        spent, known = problem.cost, Warm(lam, x, q)
        g, value, grad = float(point.g), float(point.g - q @ point.h_x), p
        correction, error, bound = None, np.nan, np.inf
        if self.certificate:
            rigorous = getattr(self.problem, "bound", None) if self.bound else None
            proof = certify(problem, lam, x, point, q, self.linear, rigorous)
            error = np.inf
            if proof is not None:
                known = Warm(lam, proof.x, proof.q)
                value, correction = proof.value, proof.refined - p
                error, bound = proof.error, proof.bound
                if self.corrected:
                    x, g, grad, correction = proof.x, proof.g, proof.refined, None
                    bound = proof.refined_bound
                    error = min(error, bound)  # the bound may know better than the correction
        extra = problem.cost.passes - spent.passes
        return Evaluation(
            lam=lam,
            value=g,
            corrected=value,
            grad=grad,
            correction=correction,
            error=error,
            bound=bound,
            x=x,
            warm=replace(known, before=self._before(warm)),
            cost=problem.cost + Cost(certificate=extra),
            converged=solve.converged and adjoint.converged,
            note=_note(solve, adjoint),
        )

    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        """f(λ) alone, to the tolerance ε: no linear solve, no gradient."""
        problem, lam = Counted(self.problem), checked_lam(lam, self.problem)
        x0, q0 = self._start(problem, lam, warm)
        mu = _convexity(problem.at(x0, lam)) if self.by_distance else 1.0
        solve = self.inner.solve(problem, lam, x0, mu * eps)
        return value_only(lam, float(solve.point.g), Warm(lam, solve.x, q0), solve, problem.cost)

    def solution(self, warm: Any) -> tuple[Array, Cost]:
        """The x of a warm start, for nothing."""
        return warm.x, Cost()

    def certified(self, found: Evaluation) -> Evaluation:
        """An evaluation of this criterion with the error of its p, and a rigorous bound on it.

        Where the error was not measured, p is refined on the way. `cost` is that of certifying.
        """
        warm, problem = found.warm, Counted(self.problem)
        if not isinstance(warm, Warm) or warm.q is None:
            return replace(found, cost=Cost())
        point, bound = problem.at(warm.x, warm.lam), getattr(self.problem, "bound", None)
        if np.isnan(found.error):
            proof = certify(problem, warm.lam, warm.x, point, warm.q, self.linear, bound)
            if proof is None:
                p, g = hypergradient(point, warm.q), float(point.g)
                known = replace(found, value=g, corrected=g, grad=p, x=warm.x)
                return replace(known, error=np.inf, cost=problem.cost)
            return replace(
                found,
                value=proof.g,
                corrected=proof.value,
                grad=proof.refined,
                error=min(proof.error, proof.refined_bound),
                bound=proof.refined_bound,
                x=proof.x,
                warm=Warm(warm.lam, proof.x, proof.q),
                cost=problem.cost,
            )
        if bound is None:
            return replace(found, cost=Cost())
        rest = float(bound(point, warm.q, point.hessian @ warm.q - point.g_x))
        whole = rest if self.corrected else found.error + rest
        return replace(found, bound=whole, error=min(found.error, whole), cost=problem.cost)

    def _before(self, warm: Warm | None) -> Warm | None:
        return replace(warm, before=None) if self.extrapolate and warm is not None else None

    def _start(self, problem: Problem, lam: Array, warm: Warm | None) -> tuple[Array, Array | None]:
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


class Sum:
    """f = Σ_k f_k, the criterion of K-fold cross-validation.

    The gradient errors of the folds add as vectors where they were measured, the bounds as numbers;
    errors that are only sizes, estimated apart, as the root of the sum of their squares.
    `n_jobs` of them are evaluated at a time, through joblib: threads, unless its configuration
    names another backend. The default, None, is one, or what that configuration says.
    """

    def __init__(self, criteria: Sequence[Criterion], n_jobs: int | None = None) -> None:
        self.criteria = list(criteria)
        self.n_jobs = n_jobs
        if not self.criteria:
            raise InvalidInput("Sum needs at least one criterion.")
        for part in self.criteria:
            if not hasattr(part, "evaluate"):
                raise InvalidInput(
                    f"Sum adds criteria; {type(part).__name__} is none. Wrap each problem in "
                    "hoag.Implicit(problem), or give the list of problems to hoag.minimize."
                )
        sizes = {np.size(part.lam0) for part in self.criteria}
        if len(sizes) > 1:
            raise InvalidInput(
                f"The criteria to add have different numbers of hyperparameters: {sorted(sizes)}."
            )

    @property
    def lam0(self) -> Array:
        return self.criteria[0].lam0

    def outer_lipschitz(self) -> tuple[float, Cost]:
        parts = [criterion.outer_lipschitz() for criterion in self.criteria]
        return sum(part[0] for part in parts), sum((part[1] for part in parts), Cost())

    def evaluate(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        return self._sum("evaluate", lam, eps, warm)

    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        return self._sum("value", lam, eps, warm)

    @property
    def rows(self) -> int | None:
        """The least of the parts' training rows; None where a part cannot be made of fewer."""
        sizes = [getattr(part, "rows", None) for part in self.criteria]
        known = [size for size in sizes if size is not None]
        return min(known) if len(known) == len(sizes) else None

    @property
    def blocks(self) -> npt.NDArray[np.intp]:
        parts: Any = self.criteria
        return np.asarray(parts[0].blocks)

    def coarse(self, rows: int) -> Sum:
        parts: Any = self.criteria
        return Sum([part.coarse(rows) for part in parts], self.n_jobs)

    @property
    def free_looks(self) -> bool:
        """Whether evaluations with ε = ∞ cost no pass, once there was one."""
        return all(getattr(part, "free_looks", False) for part in self.criteria)

    def solution(self, warm: Any) -> tuple[tuple[Any, ...], Cost]:
        """The x of every part, where the parts make it only when asked."""
        parts: Any = self.criteria
        found = [part.solution(own) for part, own in zip(parts, warm, strict=True)]
        return tuple(x for x, _ in found), sum((cost for _, cost in found), Cost())

    def certified(self, found: Evaluation) -> Evaluation:
        parts: Any = self.criteria
        pieces = [replace(found, warm=own) for own in found.warm]
        done = [part.certified(piece) for part, piece in zip(parts, pieces, strict=True)]
        cost = sum((part.cost for part in done), Cost())
        bound = float(np.sum([part.bound for part in done]))
        if not np.isnan(found.error):
            value = sum(part.corrected for part in done) if self.free_looks else found.corrected
            error = min(found.error, bound)
            return replace(found, bound=bound, error=error, corrected=value, cost=cost)
        return replace(self._added(found.lam, done), cost=cost)

    def _sum(self, method: str, lam: Array, eps: float, warm: Any) -> Evaluation:
        starts = warm if warm is not None else [None] * len(self.criteria)
        if self.free_looks:  # where ε is the error of p itself, the parts share it
            eps = eps / np.sqrt(len(self.criteria))
        parts: list[Evaluation]
        if effective_n_jobs(self.n_jobs) == 1:
            pairs = zip(self.criteria, starts, strict=True)
            parts = [getattr(criterion, method)(lam, eps, start) for criterion, start in pairs]
        else:
            parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(getattr(criterion, method))(lam, eps, start)
                for criterion, start in zip(self.criteria, starts, strict=True)
            )
        return self._added(lam, parts)

    def _added(self, lam: Array, parts: Sequence[Evaluation]) -> Evaluation:
        corrections = [part.correction for part in parts if part.correction is not None]
        total = np.sum(corrections, axis=0) if len(corrections) == len(parts) else None
        value = float(np.sum([part.value for part in parts]))
        corrected = float(np.sum([part.corrected for part in parts]))
        errors = float(np.sum([part.error for part in parts]))
        if self.free_looks:  # estimates without a sign, one as likely to be too high as another
            gaps = [part.corrected - part.value for part in parts]
            corrected = value + float(np.linalg.norm(gaps))
            errors = float(np.linalg.norm([part.error for part in parts]))
        return Evaluation(
            lam=lam,
            value=value,
            corrected=corrected,
            grad=np.sum([part.grad for part in parts], axis=0),
            correction=total,
            error=errors if total is None else float(np.linalg.norm(total)),
            bound=float(np.sum([part.bound for part in parts])),
            x=None if any(part.x is None for part in parts) else tuple(part.x for part in parts),
            warm=tuple(part.warm for part in parts),
            cost=sum((part.cost for part in parts), Cost()),
            converged=all(part.converged for part in parts),
            note=" ".join(
                f"Part {k + 1} of {len(parts)}: {part.note}"
                for k, part in enumerate(parts)
                if part.note
            ),
        )


def criterion_for(problem: Any, inner: Any = None, linear: Any = None) -> Criterion:
    """How the default search sees a problem: its own `criterion`, or Implicit with refined p."""
    if hasattr(problem, "criterion"):
        made: Criterion = problem.criterion(inner, linear)
        return made
    return for_search(problem, inner, linear)


def solved(criterion: Any, found: Evaluation) -> tuple[Any, Cost]:
    """The x of an evaluation, which a criterion may make only when it is asked, and its cost."""
    if found.x is not None or not hasattr(criterion, "solution"):
        return found.x, Cost()
    x, cost = criterion.solution(found.warm)
    return x, cost


def for_search(problem: Problem, inner: Any, linear: Any, extrapolate: bool = True) -> Implicit:
    """Implicit as the default search wants it: refined gradients for one hyperparameter.

    For several, errors are measured at the end only, for that takes more than all the rest.
    """
    one = np.size(problem.lam0) == 1
    options = {"corrected": one, "certificate": one, "by_distance": one, "bound": False}
    return Implicit(problem, inner, linear, extrapolate=extrapolate, **options)


def counted_lipschitz(problem: Any) -> tuple[float, Cost]:
    if not hasattr(problem, "outer_lipschitz"):
        raise InvalidInput(
            "C='data' asks the problem for the Lipschitz constant of g, and this problem has no "
            "method outer_lipschitz(). Give Adaptive(C=...) a number."
        )
    counted = Counted(problem)
    return float(problem.outer_lipschitz()), counted.cost


def value_only(lam: Array, value: float, warm: Any, solve: Solve, cost: Cost) -> Evaluation:
    """An evaluation of which only the value is known."""
    return Evaluation(
        lam=lam,
        value=value,
        corrected=value,
        grad=np.full(lam.size, np.nan),
        correction=None,
        error=np.nan,
        bound=np.inf,
        x=solve.x,
        warm=warm,
        cost=cost,
        converged=solve.converged,
        note=_note(solve),
    )


def _convexity(point: Point) -> float:
    """μ where it is known; 1 where it is not, so that ε bounds ‖∇₁h‖ itself."""
    mu = point.strong_convexity
    if mu is None:
        return 1.0
    if not mu > 0:
        raise InvalidInput(
            f"point.strong_convexity is {mu}; give a number μ > 0 with ∇²₁h ⪰ μI, or None."
        )
    return float(mu)


def _definite(adjoint: Solve, solve: Solve, lam: Array) -> Solve:
    if adjoint.reason == "not_finite":
        raise InnerProblemError(
            f"The linear system for the gradient overflows at lam = "
            f"{np.array2string(lam, threshold=6)}: a product with ∇²₁h or ∇₁g is not finite. "
            "Rescale the data (features of size 1), or check ∇²₁h and ∇₁g."
        )
    if adjoint.reason == "indefinite":
        raise InnerProblemError(
            f"∇²₁h is not positive definite at the inner solution for lam = "
            f"{np.array2string(lam, threshold=6)}, where ‖∇₁h‖ = {solve.residual:.1e}: the "
            "hypergradient is not defined there. Is x a minimum of h and not a saddle point, and "
            "is every direction of x penalised or seen by the data?"
        )
    return adjoint


def _note(solve: Solve, adjoint: Solve | None = None) -> str:
    parts = []
    if not solve.converged:
        parts.append(
            f"The inner solver stopped ({solve.reason}) at ‖∇₁h‖ = {solve.residual:.1e} "
            f"after {solve.iterations} iterations."
        )
    if adjoint is not None and not adjoint.converged:
        parts.append(
            f"The linear solver stopped ({adjoint.reason}) at residual {adjoint.residual:.1e} "
            f"after {adjoint.iterations} iterations."
        )
    return " ".join(parts)
