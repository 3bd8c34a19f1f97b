"""From problems to a criterion: the one place that looks at sizes and kinds and chooses solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from hoag import inner as inners
from hoag import linear as linears
from hoag._core.errors import InvalidInput
from hoag._core.numeric import EXACT, ROUNDOFF
from hoag._core.result import Cost, Evaluation, Solve
from hoag._criteria import galerkin
from hoag._criteria.base import CHEAP, Criterion
from hoag._criteria.curvature.eigen import DECOMPOSED
from hoag._criteria.dual import Dual
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import Galerkin
from hoag._criteria.implicit import Implicit
from hoag._criteria.iterative import Iterative
from hoag._criteria.joint import Joint
from hoag._criteria.rescaled import Rescaled, unweighted
from hoag._criteria.ridge_folds import BandedRidge, BandedTargets, Spectral
from hoag._criteria.separable import Separable, by_columns
from hoag._criteria.shared_curvature import SharedCurvature, sample_size
from hoag._criteria.sketched import SketchedCurvature
from hoag._criteria.wrapped import unwrapped
from hoag._glm.basis import FEW, Precondition, preconditioner, setup_passes
from hoag._glm.coupled import CoupledDesign
from hoag._glm.groups import separable
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel, by_gram
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.partitioned_model import near_models
from hoag._glm.penalties import QuadraticPenalty, Ridge
from hoag._glm.span import narrowed, wide_groups
from hoag.inner import InnerSolver
from hoag.linear import LinearSolver
from hoag.problems import Counted, Problem, adopt

# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer (up to FEW).
DIRECT = 300
# With fewer rows than coefficients conjugate gradients ends after as many steps as rows.
DIRECT_WIDE = 100
# The last fit, on all rows, is solved to this ‖∇₁h‖ in the estimators' units, a hundredth of what
# scikit-learn's default asks for; by factors the last digits cost nothing.
REFIT_TOL = 1e-3

CERTIFICATES = ("auto", "none", "estimate", "bound")


def plan(
    problems: Any,
    *,
    by_steps: bool = False,
    certificate: str = "auto",
    inner: InnerSolver | None = None,
    linear: LinearSolver | None = None,
    n_jobs: int | None = None,
) -> Criterion:
    """How f is computed: for `minimize`, for the estimators and for benchmarks alike.

    problems     a problem, a list of them whose f are added (folds), or criteria, which are taken
                 as they are
    by_steps     for a search that takes steps of its own ε_k, as the paper's does, and reads the
                 error of every gradient; else for the default search, which asks for what it needs
    certificate  whether such a search has errors measured, and bounded
    inner, linear   solvers to use in place of those chosen
    n_jobs       folds evaluated at a time

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> type(hoag.plan(folds)).__name__  # a decomposition of each fold is affordable
    'Spectral'
    >>> type(hoag.plan(folds, by_steps=True)).__name__  # as the paper has it
    'Sum'
    """
    if certificate not in CERTIFICATES:
        raise InvalidInput(f"certificate={certificate!r}: use one of {', '.join(CERTIFICATES)}.")
    if isinstance(problems, Criterion):
        return problems
    several = isinstance(problems, (list, tuple))
    known = [
        p if isinstance(p, Criterion) else adopt(p) for p in (problems if several else [problems])
    ]
    if not known:
        raise InvalidInput("The list of problems is empty.")
    choice = (by_steps, certificate, inner, linear)
    each = partial(_plain, several=several, n_jobs=n_jobs, choice=choice)
    plain = partial(each, known)
    if by_steps or inner is not None or linear is not None:
        return plain()
    models = [p for p in known if isinstance(p, LinearModel)]
    if len(models) < len(known) or not all(model.train.convex for model in models):
        return plain()
    if models[0].train.far is not None:
        return _elsewhere(models, plain, several, n_jobs)
    weighted, one = _weighted(models), all(_one_ridge(model) for model in models)
    if weighted and wide_groups(models[0], models[0].facts.rows):
        return _by_own_columns(models, several, n_jobs)
    if one:
        other = partial(_by_own_columns, models, several, n_jobs) if weighted else plain
        return _shared(models, plain, several) or other()
    known_bends = _with_several_penalties(models, each, several, n_jobs)
    if known_bends is not None:
        known_bends.at_once = n_jobs
        return known_bends
    criterion = plain()
    if all(map(one_would_do, models)):
        criterion.shared = partial(_with_one_penalty, models, several, n_jobs)
    return criterion


def _weighted(models: Sequence[LinearModel]) -> bool:
    """Whether folds weigh their ridge penalties each in its own way."""
    return any(isinstance(m.penalty, Ridge) and m.penalty.weighted for m in models)


def _by_own_columns(models: Sequence[LinearModel], several: bool, n_jobs: int | None) -> Criterion:
    """Each fold by itself, its columns in units in which it penalises them alike.

    Where folds weigh their penalties each in its own way, and what is done to all of them together
    needs penalties that treat directions alike: the span of few rows, a space that gradients span.
    """
    parts: list[Criterion] = []
    for model in models:
        own, scale = unweighted(model)
        parts.append(Rescaled(plan(own), scale))
    criterion = Sum(parts, n_jobs) if several else parts[0]
    if all(map(one_would_do, models)):
        criterion.shared = partial(_with_one_penalty, models, several, n_jobs)
    return criterion


def _elsewhere(
    models: Sequence[LinearModel],
    plain: Callable[[], Criterion],
    several: bool,
    n_jobs: int | None,
) -> Criterion:
    """Folds whose rows are in files or on workers: by sums over all of them.

    With few coefficients as in memory; with many, or where that would take many reads, a sample of
    the rows that is at hand comes first. Where that is all rows, there is nothing else to read.
    """
    design = cast(PartitionedDesign, InMemoryDesign.of(models))

    def near() -> Criterion:
        few = near_models(design, models)
        return plan(few if several else few[0], n_jobs=n_jobs)

    if design.whole:
        return near()
    found: Criterion | None
    if _weighted(models) and wide_groups(models[0], design.n):
        found = None
    elif all(_one_ridge(model) for model in models):
        found = _shared(models, plain, several)
    else:
        found = _with_several_penalties(models, lambda _: plain(), several, n_jobs)
    if found is None:
        return SketchedCurvature(models, design, near, several) if design.loss.convex else plain()
    if isinstance(found, Joint):
        found.surrogate = near
    return found


def one_would_do(model: LinearModel) -> bool:
    """Whether several ridge penalties reach all slopes, so that one might."""
    penalty = model.penalty
    if not isinstance(penalty, Ridge) or penalty.n_lam == 1:
        return False
    return bool(np.all(penalty.groups[: model.train.design.slopes] >= 0))


def _with_one_penalty(
    models: Sequence[LinearModel], several: bool, n_jobs: int | None
) -> Criterion:
    """The same folds with one λ for all slopes."""
    alike = [with_one_penalty(model) for model in models]
    return plan(alike if several else alike[0], n_jobs=n_jobs)


def with_one_penalty(model: LinearModel) -> LinearModel:
    """The same model with one λ for all slopes."""
    penalty = cast(Ridge, model.penalty)
    one = penalty.with_groups(np.minimum(penalty.groups, 0))
    return LinearModel(model.train, model.test, one, model.ledger)


def _plain(
    known: Sequence[Criterion | Problem], several: bool, n_jobs: int | None, choice: Any
) -> Criterion:
    """Each problem by itself."""
    bends = _Preconditioners([p for p in known if isinstance(p, LinearModel)])
    parts = [p if isinstance(p, Criterion) else _criterion(p, bends, *choice) for p in known]
    return Sum(parts, n_jobs) if several else parts[0]


def _one_ridge(model: LinearModel) -> bool:
    """Whether one λ penalises all coefficients, and nothing else does."""
    penalty, slopes = model.penalty, model.train.design.slopes
    return isinstance(penalty, Ridge) and penalty.floor == 0.0 and penalty.shared(slopes)


def _shared(
    models: Sequence[LinearModel], plain: Callable[[], Criterion], several: bool
) -> Criterion | None:
    """All folds of one model in one criterion, where their rows are shared and factors cheap."""
    if not models[0].train.row_by_row:
        return _compared(models, plain, several)
    facts, outputs = models[0].facts, models[0].train.design.outputs
    squared = all(type(model.train.loss) is Squared for model in models)
    if squared:
        if not all(map(_spectral, models)):
            return None
        design = InMemoryDesign.of(models)
        return None if design is None else Spectral(models, design, plain, several)
    side = min(facts.side, facts.rows * outputs)
    levels = models[0].train.design.spread is not None  # no small space knows of them
    small = len(models) * facts.rows * side**2 <= CHEAP or (levels and side <= FEW)
    tall = facts.rows >= 2 * sample_size(side) and side <= FEW
    if facts.side > facts.rows * outputs and facts.rows * facts.side > DECOMPOSED**2:
        return None
    design = InMemoryDesign.of(models) if small or tall else None
    if design is None:
        return None
    return (Joint if small else SharedCurvature)(models, design, plain, several)


def _with_several_penalties(
    models: Sequence[LinearModel],
    plain: Callable[[Sequence[LinearModel]], Criterion],
    several: bool,
    n_jobs: int | None,
) -> Criterion | None:
    """All folds in one criterion that knows how f bends, where their factors are cheap."""
    if not models[0].train.row_by_row:
        return _compared(models, partial(plain, models), several)
    if np.size(models[0].lam0) == 1 and isinstance(models[0].penalty, Ridge):
        return None
    if not all(isinstance(model.penalty, QuadraticPenalty) for model in models):
        return None
    design = InMemoryDesign.of(models)
    if design is None:
        return None
    columns = narrowed(models[0], design.n)
    if not _affordable(models[0], columns):
        return None
    if all(map(_of_squares, models)):
        sets = separable(models[0].groups)
        if by_columns(models[0].groups, sets):
            if len(sets) > 1:
                whole = BandedTargets(models, design, plain, several)
                return Separable(whole, models[0].groups, sets, n_jobs)
            return BandedRidge(models, design, partial(plain, models), several)
    if models[0].train.quadratic and columns * design.predictor.outputs > max(columns, FEW):
        return None
    return Joint(models, design, partial(plain, models), several)


def _compared(
    models: Sequence[LinearModel], plain: Callable[[], Criterion], several: bool
) -> Criterion | None:
    """Folds whose rows are compared with each other, in one criterion, where factors are cheap."""
    facts, ridge = models[0].facts, all(isinstance(model.penalty, Ridge) for model in models)
    if not ridge and not all(isinstance(model.penalty, QuadraticPenalty) for model in models):
        return None
    if facts.sparse and facts.rows * facts.size > DECOMPOSED**2:
        return None  # what is formed of the rows is dense
    columns = narrowed(models[0], facts.rows)
    dual = ridge and columns > facts.rows
    coupled = CoupledDesign.of(models, dual) if (facts.rows if dual else columns) <= FEW else None
    return None if coupled is None else (Dual if dual else Joint)(models, coupled, plain, several)


def _affordable(model: LinearModel, columns: int) -> bool:
    """Whether factors are cheap, of so many columns as are left in the span of wide groups."""
    facts, design = model.facts, model.train.design
    if columns == design.features:
        return _direct(model) or facts.side <= min(FEW, facts.rows)
    if facts.sparse and facts.rows * design.features > DECOMPOSED**2:
        return False
    return bool(facts.side // design.features * columns <= FEW)


def _of_squares(model: LinearModel) -> bool:
    """Whether it is a ridge regression, judged by squares."""
    squared = type(model.train.loss) is type(model.test.loss) is Squared
    return squared and isinstance(model.penalty, Ridge)


def _spectral(model: LinearModel) -> bool:
    """Whether one decomposition gives f for every λ."""
    facts = model.facts
    if min(facts.rows, facts.side) > DECOMPOSED:
        return False
    # Rows are kept as arrays where they are wide, or judged by another loss.
    few = facts.rows * facts.side <= DECOMPOSED**2
    return few or (facts.side <= facts.rows and type(model.test.loss) is Squared)


def solvers(problem: Problem) -> tuple[InnerSolver, LinearSolver]:
    """The inner and the linear solver for a problem of this size and kind."""
    facts = problem.facts
    if facts is None:
        return problem.inner or inners.Newton(), linears.CG()
    linear: Any
    if _direct(problem):
        linear = linears.Cholesky()
    else:
        # Columns of dense rows, and penalties, may differ in scale; else the diagonal misleads.
        plain = facts.products or (facts.sparse and np.size(problem.lam0) == 1)
        linear = linears.CG(5000, None if plain else linears.jacobi)
    if not facts.convex:
        linear = linears.Damped(linear)
    if problem.inner is not None:
        return problem.inner, linear
    if facts.quadratic:
        return inners.CG(linear), linear
    # A factor's word is taken: the next step mends what it left.
    forcing = np.inf if _direct(problem) else 0.1
    # Valleys that are not convex are long.
    max_iter = 100 if facts.convex else 1000
    newton = inners.Newton(linear, forcing, max_iter, problem.roundoff)
    return inners.Continued(newton) if problem.softened() is not None else newton, linear


def refitted(problem: Problem, criterion: Criterion, found: Evaluation) -> tuple[Solve, Cost]:
    """X(λ) of the problem on all rows, where `criterion` found λ on parts of them; and its cost.

    From the folds' solutions; but by factors from 0, so that what is left of the folds' errors does
    not show.
    """
    criterion, found = unwrapped(criterion, found)
    problem = _at_hand(problem)
    if isinstance(criterion, Spectral):
        known = criterion.refitted(cast(LinearModel, problem), found.lam)
        if known is not None:
            return known
    parts = criterion.criteria if isinstance(criterion, Sum) else [criterion]
    if isinstance(parts[0], Rescaled):
        return _refitted_alone(cast(LinearModel, problem), found)
    counted, (inner, _) = Counted(problem), solvers(problem)
    if isinstance(criterion, (Joint, Iterative)):
        model = cast(LinearModel, problem)
        solve = criterion.refitted(model, found.lam, found.warm, REFIT_TOL)
        if solve is not None:
            return solve, counted.cost
    if _direct(problem):
        start = np.zeros(problem.x0.size)
        scale = max(float(np.linalg.norm(counted.at(start, found.lam).h_x)), 1.0)
        return inner.solve(counted, found.lam, start, EXACT * scale), counted.cost
    if isinstance(criterion, (BandedRidge, Separable)):
        known = criterion.refitted(cast(LinearModel, problem), found.lam)
        if known is not None:
            return known
    if isinstance(criterion, (Joint, SharedCurvature)):
        return inner.solve(counted, found.lam, criterion.start(found.warm), REFIT_TOL), counted.cost
    if isinstance(parts[0], Galerkin):
        warm = found.warm if isinstance(criterion, Sum) else (found.warm,)
        for part, own in zip(parts, warm, strict=True):
            cast(Galerkin, part)._rebound(own)
        model, bend = cast(LinearModel, problem), parts[0].precondition
        inner = inner if bend is None else _bent(bend)[0]
        solve = galerkin.fit(model, found.lam, REFIT_TOL, inner, warm, bend)
    else:
        x = np.mean(found.x if isinstance(found.x, tuple) else [found.x], axis=0)
        solve = inner.solve(counted, found.lam, x, REFIT_TOL)
    return solve, counted.cost


def _refitted_alone(problem: LinearModel, found: Evaluation) -> tuple[Solve, Cost]:
    """The same by what would be chosen for this problem alone: folds have other columns."""
    alone, lam, counted = plan(problem), found.lam, Counted(problem)
    if isinstance(alone, Galerkin):
        inner, bend = alone.implicit.inner, alone.precondition
        return galerkin.fit(problem, lam, REFIT_TOL, inner, (), bend), counted.cost
    if isinstance(alone, Implicit):
        return refitted(problem, alone, replace(found, warm=None))
    solve, cost = refitted(problem, alone, alone.value(lam, REFIT_TOL))
    return solve, cost


def _at_hand(problem: Problem) -> Problem:
    """The problem on rows that were brought here, where these are all of them."""
    if not isinstance(problem, LinearModel) or problem.train.far is None:
        return problem
    if not problem.train.far.whole:
        return problem
    return near_models(problem.train.far, [problem])[0]


def _direct(problem: Problem) -> bool:
    facts = problem.facts
    if facts is None:
        return False
    if facts.quadratic:
        return facts.formed or facts.side <= FEW
    return facts.side <= (DIRECT if facts.side <= facts.rows else DIRECT_WIDE)


def _exact(problem: Problem, one: bool) -> bool:
    """Whether factors solve it to rounding at no further cost."""
    facts = problem.facts
    if facts is None or not _direct(problem) or problem.inner is not None:
        return False
    if not facts.convex or problem.roundoff > ROUNDOFF:
        return False
    if not one:
        return facts.formed
    return facts.side <= DIRECT if facts.quadratic else facts.rows * facts.side**2 <= CHEAP


def _in_a_space(model: LinearModel) -> bool:
    """Whether a small space that gradients span serves every λ."""
    simple = model.train.row_by_row and model.train.design.spread is None
    simple = simple and model.train.far is None  # the images of all rows would have to be kept
    return model.one_penalty and model.train.convex and simple


def _criterion(
    problem: Problem,
    bends: _Preconditioners,
    by_steps: bool,
    certificate: str,
    inner: InnerSolver | None,
    linear: LinearSolver | None,
) -> Criterion:
    chosen = inner is None and linear is None
    if chosen:
        inner, linear = solvers(problem)
    one = np.size(problem.lam0) == 1
    if by_steps:
        measured, bound = certificate != "none", certificate == "bound"
        refined = measured and chosen and _direct(problem)  # for a back-substitution or two
        return Implicit(
            problem, inner, linear, certificate=measured, corrected=refined, bound=bound
        )
    if chosen and problem.facts is not None and problem.facts.has_hessian:
        return Implicit(
            *(problem, inner, linear),
            certificate=False,
            extrapolate=False,
            exact=True,
            has_hessian=True,
        )
    one_penalty = isinstance(problem, LinearModel) and _in_a_space(problem)
    bend, setup = None, 0.0
    # A few long steps gain nothing from the secant of the solutions, and do without its memory.
    if one and chosen and _exact(problem, one):
        return Implicit(problem, inner, linear, certificate=False, extrapolate=False, exact=True)
    if one_penalty:
        bend, setup = bends.of(cast(LinearModel, problem))
        if bend is not None and chosen and not _direct(problem):
            inner, linear = _bent(bend)
    # For several, errors are measured at the end only, for that takes more than all the rest.
    plain = Implicit(
        problem,
        inner,
        linear,
        certificate=one,
        corrected=one,
        by_distance=one,
        bound=False,
        extrapolate=one and not one_penalty,
    )
    if not one_penalty:
        return plain
    return Galerkin(plain, bend, setup)


def _bent(bend: Precondition) -> tuple[InnerSolver, LinearSolver]:
    linear = linears.CG(5000, partial(by_gram, bend))
    return inners.Newton(linear), linear


class _Preconditioners:
    """One for each set of rows, for all folds on them; the first fold that asks pays for it."""

    def __init__(self, models: Sequence[LinearModel]) -> None:
        self._models = models
        self._known: dict[int, Precondition | None] = {}

    def of(self, model: LinearModel) -> tuple[Precondition | None, float]:
        """The preconditioner, and what it cost in passes."""
        rows, outputs = model.train.design.rows, model.train.design.outputs
        if id(rows) in self._known:
            return self._known[id(rows)], 0.0
        others = [m.train.weights for m in self._models if m.train.design.rows is rows]
        found = self._known[id(rows)] = preconditioner(rows, np.max(others, axis=0))
        return found, setup_passes(rows, outputs)
