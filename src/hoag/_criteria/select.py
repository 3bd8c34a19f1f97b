"""Which criterion, with which solvers, and why: the one file that chooses.

    _chosen         folds of linear models in one criterion, or each problem by itself
    _by_itself      one problem
    _linear_solver  what solves its linear systems
    of_one_fit      a risk of one fit on all rows
    left_out        ridge regression with its rows left out one by one

Each asks in order, and the first condition that holds decides; what is said beside it is what
`hoag.explain` says. Sizes are compared in `hoag._criteria.affordable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

import numpy as np

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.types import ProblemLike
from hoag._core.words import about, counted
from hoag._criteria.affordable import (
    CHEAP,
    DECOMPOSED,
    by_factors,
    cheap,
    decomposable,
    factorable,
    sample_size,
    storable,
    tall,
    to_rounding,
)
from hoag._criteria.base import Criterion, Explanation
from hoag._criteria.curvature.base import Curvature
from hoag._criteria.curvature.woodbury import Woodbury
from hoag._criteria.fits import FoldedFits
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import GROWTH, Galerkin
from hoag._criteria.implicit import Implicit
from hoag._criteria.ridge_folds import BandedRidge, Spectral
from hoag._criteria.risks import Risk
from hoag._criteria.separable import Separable, by_columns
from hoag._criteria.shared_curvature import SharedCurvature
from hoag._criteria.sketched import SketchedCurvature
from hoag._criteria.wrapped import Rescaled, unweighted
from hoag._glm.basis import FEW, Precondition, preconditioner, setup_passes
from hoag._glm.coupled import CoupledDesign
from hoag._glm.design import FoldedDesign, RowwiseDesign
from hoag._glm.groups import separable
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel, by_gram
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.partitioned_model import sample_models
from hoag._glm.penalties import QuadraticPenalty, Ridge
from hoag._glm.span import narrowed, wide_groups
from hoag._inner import Continuation, InnerSolver, LinearSystem, Newton
from hoag._linear import CG, Cholesky, Damped, LinearSolver, jacobi
from hoag.problems import Problem, adopt

CERTIFICATES = ("auto", "none", "estimate", "bound")

C = TypeVar("C", bound=Criterion)


def plan(
    problems: ProblemLike | Criterion | Sequence[ProblemLike | Criterion],
    *,
    by_steps: bool = False,
    certificate: str = "auto",
    inner: InnerSolver | None = None,
    linear: LinearSolver | None = None,
    n_jobs: int | None = None,
    curvature: Curvature | None = None,
    risk: Risk | None = None,
) -> Criterion:
    """How f is computed: the criterion that `hoag.minimize` and the estimators go by.

    Parameters
    ----------
    problems : Problem, sequence of Problem, or Criterion
        A problem, a list of them whose f are added (folds), or a criterion, which is taken as it
        is.
    by_steps : bool, default=False
        For a search that takes steps of its own ε_k, as the paper's does, and reads the error of
        every gradient; else for the default search, which asks for what it needs.
    certificate : {"auto", "none", "estimate", "bound"}, default="auto"
        Whether such a search has errors measured, and bounded.
    inner : InnerSolver, default=None
        What solves the inner problem, in place of what would be chosen.
    linear : LinearSolver, default=None
        What solves for the adjoint, in place of what would be chosen.
    n_jobs : int, default=None
        Folds evaluated at a time; None is one, or what joblib's configuration says.
    curvature : Curvature, default=None
        For folds of one linear model: what stands for ∇²₁h⁻¹; see `hoag.glm.Curvature`.
    risk : Risk, default=None
        For folds of one linear model: what is taken of the fits, in place of held-out losses; see
        `hoag.glm.Risk`.

    Returns
    -------
    Criterion
        f(λ) with its hypergradient; `hoag.explain` says why it is this one.

    Raises
    ------
    InvalidParameterError
        Where there is no problem, or settings do not go together.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> type(hoag.plan(folds)).__name__  # a decomposition of each fold is affordable
    'Spectral'
    >>> type(hoag.plan(folds, by_steps=True)).__name__  # as the paper has it
    'Sum'
    """
    if certificate not in CERTIFICATES:
        raise InvalidParameterError.of(
            "certificate", certificate, f"use one of {', '.join(CERTIFICATES)}."
        )
    if isinstance(problems, Criterion):
        return problems
    several = isinstance(problems, (list, tuple))
    each: Sequence[Any] = cast(Any, problems) if several else [problems]
    known = [p if isinstance(p, Criterion) else adopt(p) for p in each]
    if not known:
        raise InvalidParameterError("The list of problems is empty.", "problems")
    solving = inner, linear, n_jobs, curvature, risk
    return _chosen(Question(known, several, by_steps, certificate, *solving))


@dataclass(frozen=True, eq=False)
class Question:
    """Problems whose f are added, or one, and how the search goes: the arguments of `plan`."""

    known: Sequence[Criterion | Problem]
    several: bool
    by_steps: bool = False
    certificate: str = "auto"
    inner: InnerSolver | None = None
    linear: LinearSolver | None = None
    n_jobs: int | None = None
    curvature: Curvature | None = None
    risk: Risk | None = None

    @property
    def chosen(self) -> bool:
        """Whether solvers are to be chosen, and were not given."""
        return self.inner is None and self.linear is None

    @cached_property
    def models(self) -> list[LinearModel]:
        """Those problems that are linear models."""
        return [own for own in self.known if isinstance(own, LinearModel)]

    @property
    def model(self) -> LinearModel:
        """The first, for what all folds have in common."""
        return self.models[0]

    @cached_property
    def together(self) -> bool:
        """Whether they are convex linear models, of which one criterion may take all folds."""
        if self.by_steps or not self.chosen or len(self.models) < len(self.known):
            return False
        return all(model.train.convex for model in self.models)

    @property
    def partitioned(self) -> bool:
        """Whether rows are in files, or on workers."""
        return self.together and not self.model.in_memory

    @cached_property
    def design(self) -> RowwiseDesign | None:
        """The rows of all folds; None where they have too little in common."""
        return self.model.folded(self.models)

    @property
    def partitions(self) -> PartitionedDesign:
        return cast(PartitionedDesign, self.design)

    @cached_property
    def preconditioners(self) -> dict[int, Precondition | None]:
        """Those made so far, by the rows that they are made of."""
        return {}

    # ---- sizes

    @property
    def folds(self) -> int:
        return len(self.models)

    @property
    def rows(self) -> int:
        """Of all folds, which share them, training or held out."""
        return int(self.model.facts.rows)

    @property
    def outputs(self) -> int:
        return int(self.model.train.design.outputs)

    @property
    def side(self) -> int:
        """Of the matrices that are factored, with one penalty: fewer of coefficients and rows."""
        return int(min(self.model.facts.side, self.rows * self.outputs))

    @cached_property
    def columns(self) -> int:
        """How many are left once wide groups are written in the span of the rows."""
        return narrowed(self.model, self.rows if self.design is None else self.design.n)

    # ---- penalties

    @property
    def penalties(self) -> int:
        return int(np.size(self.known[0].lam0))

    @cached_property
    def one_penalty(self) -> bool:
        """Whether one λ penalises all slopes, and nothing else does."""
        return all(map(_one_ridge, self.models))

    @cached_property
    def ridge(self) -> bool:
        return all(isinstance(model.penalty, Ridge) for model in self.models)

    @cached_property
    def quadratic(self) -> bool:
        """Whether penalties are xᵀS(λ)x."""
        return all(isinstance(model.penalty, QuadraticPenalty) for model in self.models)

    @cached_property
    def in_own_units(self) -> bool:
        """Whether no basis serves all folds: that of wide groups needs penalties that are alike."""
        n = self.partitions.n if self.partitioned else self.rows
        return any(map(_weighted, self.models)) and bool(wide_groups(self.model, n))

    # ---- for people

    @property
    def data(self) -> str:
        number = counted(self.penalties, "hyperparameter")
        if not self.models:
            sizes = {own.x0.size for own in self.known if isinstance(own, Problem)}
            each = f" of up to {counted(max(sizes), 'coefficient')}" if sizes else ""
            return f"{counted(len(self.known), 'problem')}{each}, {number}"
        outputs = f" × {self.outputs} outputs" if self.outputs > 1 else ""
        columns = self.model.train.design.features
        folds = counted(self.folds, "fold")
        return f"{folds} of {self.rows} rows × {columns} columns{outputs}, {number}"

    def said(self, criterion: C, name: str, why: str, work: str = "") -> C:
        return said(criterion, Explanation(self.data, name, why, work))


def said(criterion: C, own: Explanation) -> C:
    """The criterion, with what is to be said of it, and of what it is made of."""
    inside = criterion.chosen
    if inside is not None:
        why = " ".join(each for each in (own.why, inside.why) if each)
        own = Explanation(own.data, f"{own.used}: {inside.used}", why, own.work or inside.work)
    criterion.chosen = own
    return criterion


# ---- folds of linear models


def _chosen(q: Question) -> Criterion:
    """Folds of linear models in one criterion, or each problem by itself."""
    if q.curvature is not None or q.risk is not None:
        name, why = "all folds together, with what was given", "A curvature or a risk was given."
        return q.said(_given(q), name, why, _newton_work(q, q.side))
    if q.partitioned and q.partitions.whole:
        why = f"All {q.partitions.n} rows are few enough to be kept in memory."
        return q.said(_on_sample(q), "rows brought into memory", why)
    found = _folded(q) if q.together and not q.in_own_units else None
    if found is None and q.partitioned:
        found = _sketched(q)
    if found is not None:
        return found
    found = _by_own_columns(q) if q.together else None
    if found is None:
        size = square(q.side) if q.together else ""
        why = f"Factors for all folds together, of {size}, are expensive, or of no use."
        found = q.said(_alone(q), "each problem by itself", why if q.together else "")
    if q.together and all(map(one_would_do, q.models)):
        found.shared = lambda: _again(q, [with_one_penalty(model) for model in q.models])
    return found


def _folded(q: Question) -> Criterion | None:
    """All folds in one criterion; None where what that takes is expensive, or of no use."""
    if not q.model.train.row_by_row:
        return _compared(q)
    if q.one_penalty:
        return _squares(q) if all(map(_squared, q.models)) else _one_penalty(q)
    one = q.penalties == 1 and isinstance(q.model.penalty, Ridge)
    if one or not q.quadratic or q.design is None or not _has_factors(q):
        return None
    return _several_penalties(q)


def _compared(q: Question) -> Criterion | None:
    """Of a loss that compares rows with each other."""
    facts, columns = q.model.facts, narrowed(q.model, q.rows)
    dual = q.ridge and columns > q.rows
    design = CoupledDesign.of(q.models, dual) if q.quadratic else None
    dense = not facts.sparse or storable(facts.rows, facts.size)  # what is formed of the rows is
    if design is None or not dense or not factorable(q.rows if dual else columns):
        return None
    size, fewer = (q.rows, f"; {q.rows} rows are fewer than the columns") if dual else (q.side, "")
    why = f"The loss compares rows with each other{fewer}, and a factor of {square(size)} is "
    why += f"affordable (up to {FEW})."
    if dual:
        of = "as many rows as there are (dual)"
        return _by_newton(q, design, size, why, of, Woodbury())
    return _by_newton(q, design, size, why)


def _squares(q: Question) -> Criterion | None:
    """Ridge regression with one penalty."""
    if not all(map(_decomposed, q.models)) or q.design is None:
        return None
    return q.said(
        _all_folds(Spectral, q, q.design),
        "all folds together, by one eigendecomposition of each for every penalty",
        "Squares have the same Hessian everywhere but for the one penalty, and a decomposition "
        f"of {square(q.side)} is affordable (up to {DECOMPOSED}).",
        f"One Gram matrix of the rows and {q.folds} decompositions of {square(q.side)} "
        "at first; then no pass over the data, whatever the penalty.",
    )


def _decomposed(model: LinearModel) -> bool:
    """Whether one decomposition of a fold of squares gives f for every λ."""
    facts = model.facts
    if not decomposable(min(facts.rows, facts.side)):
        return False
    # Rows are kept as arrays where they are wide, or judged by another loss.
    long = facts.side <= facts.rows and type(model.test.loss) is Squared
    return storable(facts.rows, facts.side) or long


def _one_penalty(q: Question) -> Criterion | None:
    """One penalty, and another loss than squares."""
    side, products = q.model.facts.side, float(q.folds * q.rows * q.side**2)
    if side > q.rows * q.outputs and not storable(q.rows, side):
        return None
    # Hessians are formed wherever a scan is; spread levels have no other way: no small space
    # knows of them.
    scanned = cheap(products)
    spread = q.model.train.design.spread is not None and factorable(q.side)
    shares = tall(q.rows, q.side) and factorable(q.side)
    if not (scanned or spread or shares) or q.design is None:
        return None
    each = f"{counted(q.folds, 'fold')} × {q.rows} rows × {q.side}² = {about(products)} products"
    each += " for the Hessians of all folds are"
    if scanned:
        why = f"{each} few (up to {about(CHEAP)}), so that the whole range of the penalty can be "
        return _by_newton(q, q.design, q.side, f"{why}scanned.")
    if spread:
        why = f"Spread levels need factors, of {square(q.side)} (up to {FEW})."
        return _by_newton(q, q.design, q.side, why)
    return q.said(
        _all_folds(SharedCurvature, q, q.design),
        "all folds together, by iterations that share one Hessian",
        f"{each} many (more than {about(CHEAP)}), but {q.rows} rows for {q.side} coefficients "
        f"are at least {2 * sample_size(q.side)}: folds hardly differ in their Hessians.",
        f"A few iterations of {2 * q.folds + 2} passes over the data, for the fits and "
        "the adjoints of all folds and the fit on all rows; where they become slow, one Gram "
        f"matrix of the rows and {q.folds + 1} factors of {square(q.side)}.",
    )


def _has_factors(q: Question) -> bool:
    """Whether factors of all folds are affordable, for penalties that are quadratic forms."""
    facts, features = q.model.facts, q.model.train.design.features
    if q.columns == features:
        return by_factors(q.model) or (factorable(facts.side) and facts.side <= facts.rows)
    if facts.sparse and not storable(facts.rows, features):
        return False
    return factorable(facts.side // features * q.columns)


def _several_penalties(q: Question) -> Criterion | None:
    """Several penalties, with affordable factors."""
    if _banded(q):
        sets = separable(q.model.groups)
        squares = "Squares have the same Hessian everywhere but for the penalties,"
        affordable = f"a factor of {square(q.columns)} is affordable."
        work = (
            f"One Gram matrix of the rows at first; then {counted(q.folds, 'factor')} of "
            f"{square(q.columns)} and no pass over the data."
        )
        if len(sets) == 1:
            criterion: Criterion = _all_folds(BandedRidge, q, q.design)
            name = "all folds together, by factors of Gram matrices (banded ridge)"
            return q.said(criterion, name, f"{squares} and {affordable}", work)
        whole = BandedRidge(q.models, cast(Any, q.design), partial(_alone, q), q.several)
        criterion = Separable(whole, q.model.groups, sets, q.n_jobs)
        criterion.at_once = None if q.partitioned else q.n_jobs
        name = "all folds together, target by target, by factors of Gram matrices"
        why = f"{squares} no penalty is shared by {len(sets)} sets of targets, and {affordable}"
        return q.said(criterion, name, why, work)
    # The matrix of all outputs of squares is to be small, too; other losses form it anyway.
    size = q.columns * q.outputs
    if q.model.train.quadratic and q.outputs > 1 and not factorable(size):
        return None
    why = f"There are {q.penalties} penalties, and factors of {square(size)} are affordable: they "
    return _by_newton(q, q.design, size, f"{why}give the second derivatives of the criterion, too.")


def _banded(q: Question) -> bool:
    """Whether these are ridge regressions, whose targets have bands of columns alike."""
    if not q.ridge or not all(map(_squared, q.models)):
        return False
    judged = all(type(model.test.loss) is Squared for model in q.models)
    return judged and by_columns(q.model.groups, separable(q.model.groups))


def _all_folds(kind: Callable[..., C], q: Question, design: FoldedDesign | None) -> C:
    criterion = kind(q.models, design, partial(_alone, q), q.several)
    if not q.one_penalty and not q.partitioned:
        criterion.at_once = q.n_jobs
    return criterion


def _by_newton(
    q: Question,
    design: FoldedDesign | None,
    size: int,
    why: str,
    of: str = "the Hessian of each",
    curvature: Curvature | None = None,
) -> Criterion:
    """By factors of so many coefficients; on a sample first, where rows are not in memory."""
    criterion = _all_folds(partial(FoldedFits, curvature=curvature), q, design)
    if q.partitioned:
        criterion.surrogate = partial(_on_sample, q)
    name = f"all folds together, by factors of {of}"
    return q.said(criterion, name, why, _newton_work(q, size))


def _newton_work(q: Question, size: int) -> str:
    """What Newton's method for all folds takes, by factors of so many coefficients."""
    passes, factors = f"{counted(q.folds, 'pass')} over the data", counted(q.folds, "factor")
    made = f"as many Gram matrices of the rows and {factors} of {square(size)}"
    if q.model.train.row_by_row and not cheap(q.folds * q.rows * size**2):
        return f"A few steps, each of {passes}; {made} where these have become slow."
    return f"A few Newton steps, each of {passes}, {made}; the adjoints by the same."


def _given(q: Question) -> Criterion:
    """The fits of all folds with a curvature or a risk of somebody's own."""
    design: FoldedDesign | None = None
    if q.models and q.quadratic and len(q.models) == len(q.known):
        by_rows = q.model.train.row_by_row
        design = q.design if by_rows else CoupledDesign.of(q.models)
    if design is None:
        raise NotSupportedError(
            "curvature= and risk= are for folds of one linear model that share their rows, with a "
            "quadratic penalty: such as hoag.models.folds makes."
        )
    if q.risk is None or q.risk.of_folds:
        return FoldedFits(q.models, design, partial(_alone, q), q.several, q.curvature, q.risk)
    if q.folds > 1:
        raise InvalidParameterError(
            f"{type(q.risk).__name__} is of one fit on all rows.\nGive one problem, and not "
            f"{q.folds} folds.",
            "risk",
        )
    return FoldedFits.of_rows(q.model, q.risk, curvature=q.curvature)


def _again(q: Question, models: Sequence[LinearModel]) -> Criterion:
    """What is chosen for other models in the place of these."""
    return plan(models if q.several else models[0], n_jobs=q.n_jobs)


def _on_sample(q: Question, models: Sequence[LinearModel] | None = None) -> Criterion:
    """The same folds, or such models, on the rows that are kept in memory."""
    return _again(q, sample_models(q.partitions, models or q.models))


def _sketched(q: Question) -> Criterion:
    """Rows that are not in memory, with a search on a sample of them first."""
    on_sample = partial(_on_sample, q)
    criterion = SketchedCurvature(q.models, q.partitions, on_sample, q.several)
    criterion.surrogate = on_sample
    return q.said(
        criterion,
        "all folds together, by passes with a sketch of the curvature",
        f"The {q.partitions.n} rows are not in memory, and factors of "
        f"{square(q.model.facts.side)} are expensive: a sample of the rows that is kept has "
        "about their curvature.",
        f"A few reads of all rows, each of {2 * q.folds + 2} passes over the data: for "
        "the fits and the adjoints of all folds and the fit on all rows.",
    )


def _by_own_columns(q: Question) -> Criterion | None:
    """Each fold by itself, its columns in units in which it penalises them alike.

    What is done to all folds together needs penalties that treat directions alike: the span of few
    rows, a space that gradients span.
    """
    if q.in_own_units:
        why = "groups of more columns than rows have a basis in which they are alike in one fold "
        why += "only."
    elif q.one_penalty and any(map(_weighted, q.models)):
        why = f"factors for all folds, of {square(q.side)}, are expensive."
    else:
        return None
    parts = [Rescaled(plan(own), scale) for own, scale in map(unweighted, q.models)]
    why = f"Each fold scales the columns by its own rows, and {why}"
    return q.said(_added(q, parts), "each fold by itself, in units of its own", why)


# ---- one problem by itself


def _alone(q: Question, known: Sequence[Criterion | Problem] | None = None) -> Criterion:
    """Each problem by itself: those of the question, or others in their place."""
    q = q if known is None else replace(q, known=known)
    parts = [own if isinstance(own, Criterion) else _by_itself(q, own) for own in q.known]
    return _added(q, parts)


def _added(q: Question, parts: Sequence[Criterion]) -> Criterion:
    if not q.several:
        return parts[0]
    total = Sum(parts, q.n_jobs)
    total.chosen = parts[0].chosen
    return total


def _by_itself(q: Question, problem: Problem) -> Criterion:
    """One of the problems."""
    one, facts = np.size(problem.lam0) == 1, problem.facts
    inner, linear = solvers(problem) if q.chosen else (q.inner, q.linear)
    how = partial(Implicit, problem, inner, linear)
    work = "The solvers are those that were given."
    if q.chosen:
        work = f"The fit and the adjoint of each fold by {_linear_solver(problem)[1]}"
    if q.by_steps:
        measured, bound = q.certificate != "none", q.certificate == "bound"
        refined = measured and q.chosen and by_factors(problem)  # for a back-substitution or two
        return q.said(
            how(certificate=measured, corrected=refined, bound=bound),
            "implicit differentiation, as precise as each step of the search asks",
            "The search takes steps of its own, each with its own tolerance.",
            work,
        )
    has_hessian = q.chosen and facts is not None and facts.has_hessian
    if has_hessian or (one and q.chosen and to_rounding(problem)):
        # A few long steps gain nothing from the secant of the solutions: they spare its memory.
        exact = how(certificate=False, extrapolate=False, exact=True, has_hessian=has_hessian)
        ends, why = "to rounding", "There is one hyperparameter, and solves by factors are cheap."
        if has_hessian:
            ends = "with second derivatives"
            why = "The problem knows the second derivatives of its criterion."
        return q.said(exact, f"implicit differentiation by factors, {ends}", why, work)
    # For several λ, errors are measured at the end only, for that takes more than all the rest.
    plain = partial(how, certificate=one, corrected=one, by_distance=one, bound=False)
    if isinstance(problem, LinearModel) and _in_a_space(problem):
        return q.said(
            _in_space(q, problem, plain(extrapolate=False)),
            "a small space that gradients span (Galerkin)",
            "With one penalty, a few directions of coefficients serve all its values.",
            f"At most {GROWTH} passes over the data for each fold; a scan takes none.",
        )
    return q.said(
        plain(extrapolate=one),
        "implicit differentiation",
        f"There {'is' if one else 'are'} {counted(q.penalties, 'hyperparameter')}"
        f", and {counted(int(problem.x0.size), 'coefficient')} for each fold.",
        work,
    )


def _in_a_space(model: LinearModel) -> bool:
    """Whether a small space that gradients span serves every λ: the images of all rows are kept."""
    simple = model.train.row_by_row and model.train.design.spread is None
    return model.in_memory and model.one_penalty and model.train.convex and simple


def _in_space(q: Question, model: LinearModel, plain: Implicit) -> Criterion:
    """With a preconditioner for each set of rows: the first fold on them that asks pays for it."""
    rows, known, setup = model.train.design.rows, q.preconditioners, 0.0
    if id(rows) not in known:
        others = [m.train.weights for m in q.models if m.train.design.rows is rows]
        known[id(rows)] = preconditioner(rows, np.max(others, axis=0))
        setup = setup_passes(rows, model.train.design.outputs)
    precondition = known[id(rows)]
    if precondition is not None and q.chosen and not by_factors(model):
        plain.linear = CG(5000, partial(by_gram, precondition))
        plain.inner = Newton(plain.linear)
    return Galerkin(plain, precondition, setup)


# ---- solvers


def solvers(problem: Problem) -> tuple[InnerSolver, LinearSolver]:
    """The inner and the linear solver for a problem of this size and kind."""
    linear, facts = _linear_solver(problem)[0], problem.facts
    if facts is None:
        return problem.inner or Newton(), linear
    if not facts.convex:
        linear = Damped(linear)
    if problem.inner is not None:
        return problem.inner, linear
    if facts.quadratic:
        return LinearSystem(linear), linear
    # A factor's word is taken: the next step mends what it left.
    forcing = np.inf if by_factors(problem) else 0.1
    # Valleys that are not convex are long.
    max_iter = 100 if facts.convex else 1000
    newton = Newton(linear, forcing, max_iter, problem.roundoff)
    return Continuation(newton) if problem.softened() is not None else newton, linear


def _linear_solver(problem: Problem) -> tuple[LinearSolver, str]:
    """What solves its linear systems, and a sentence about it."""
    facts = problem.facts
    if facts is None:
        why = "products with the Hessian are what is known of it."
        return CG(), f"conjugate gradients: {why} Each iteration takes one product."
    side = square(facts.side)
    if by_factors(problem):
        why = f"{side} is small. Each step makes one factor."
        return Cholesky(), f"a Cholesky factor of the Hessian: {why}"
    large, takes = f"{side} is too large for a factor", "Each iteration takes a pass over the data."
    # Columns of dense rows, and penalties, may differ in scale; else the diagonal misleads.
    if facts.products or (facts.sparse and np.size(problem.lam0) == 1):
        why = f"{large}, and its diagonal of no use. {takes}"
        return CG(5000), f"conjugate gradients: {why}"
    preconditioned = f"conjugate gradients, preconditioned by the diagonal: {large}. {takes}"
    return CG(5000, jacobi), preconditioned


# ---- without folds


def of_one_fit(problem: LinearModel, risk: Risk) -> FoldedFits:
    """By the sufficient statistics of squares where these are affordable, else by the rows."""
    train, design = problem.train, problem.train.design
    number = counted(int(np.size(problem.lam0)), "hyperparameter")
    data = f"{design.n} rows × {design.features} columns, none held out, {number}"
    squares, size = isinstance(train.loss, Squared) and design.outputs == 1, int(design.size)
    # A few sums over rows are all that the risk sees, and a Gram matrix has them.
    if not risk.sees_rows and squares and factorable(size) and size <= design.n:
        name, side = "one fit on all rows, by sums of squares and products", square(size)
        why = f"Squares of one target have all that is needed in a Gram matrix of {side}: "
        why += f"at most {design.n} rows and {FEW}."
        work = f"One factor of {side}, and no pass over the data but the first."
        own = Explanation(data, name, why, work)
        return said(FoldedFits.of_rows(problem, risk, sufficient=True), own)
    side = square(written_size(problem))
    why = f"A factor of {side} is affordable (up to {DECOMPOSED})."
    work = "A few Newton steps, each of a pass over the data, one Gram matrix of the rows and one "
    work += f"factor of {side}, which gives the leverages too."
    own = Explanation(data, "one fit on all rows, by a factor of its Hessian", why, work)
    return said(FoldedFits.of_rows(problem, risk), own)


def written_size(problem: LinearModel) -> int:
    """How many slopes are left, in the span of the rows where these may be an array."""
    design = problem.train.design
    if not storable(design.n, design.features):
        return int(design.slopes)
    return int(narrowed(problem, design.n) * design.outputs)


def left_out(rows: int, columns: int, penalty: Ridge) -> tuple[bool, Explanation]:
    """Whether leave-one-out of a ridge regression is by a decomposition, and what is to be said."""
    number = counted(penalty.n_lam, "hyperparameter")
    own = partial(Explanation, f"{rows} rows, each left out once, × {columns} columns, {number}")
    by, small = "leave-one-out in closed form, by", square(min(rows, columns))
    if penalty.isotropic(penalty.groups.size) and decomposed_rows(rows, columns):
        return True, own(
            f"{by} one eigendecomposition for every penalty",
            f"There is one penalty, and a decomposition of {small} is affordable (up to "
            f"{DECOMPOSED}).",
            "A product of the rows with what is decomposed: about a pass over the data.",
        )
    if columns > rows and np.all(penalty.groups >= 0):
        name = f"{by} a factor of as many rows as there are (dual)"
        why = f"{rows} rows are fewer than {columns} columns."
        return False, own(name, why, f"One Gram matrix and one factor of {small}.")
    name = f"{by} a factor of the Gram matrix"
    why = f"{columns} columns are what is factored, for {rows} rows."
    work = f"One factor of {square(columns)}, and its product with the rows."
    return False, own(name, why, work)


def decomposed_rows(rows: int, columns: int) -> bool:
    """Whether rows that are left out one by one can be decomposed, and held as an array."""
    return decomposable(min(rows, columns)) and storable(rows, columns)


# ---- what one model is


def _squared(model: LinearModel) -> bool:
    return type(model.train.loss) is Squared


def _weighted(model: LinearModel) -> bool:
    """Whether it weighs its ridge penalty in a way of its own."""
    return isinstance(model.penalty, Ridge) and model.penalty.weighted


def _one_ridge(model: LinearModel) -> bool:
    penalty, slopes = model.penalty, model.train.design.slopes
    return isinstance(penalty, Ridge) and penalty.floor == 0.0 and penalty.shared(slopes)


def one_would_do(model: LinearModel) -> bool:
    """Whether several ridge penalties reach all slopes, so that one might."""
    penalty = model.penalty
    if not isinstance(penalty, Ridge) or penalty.n_lam == 1:
        return False
    return bool(np.all(penalty.groups[: model.train.design.slopes] >= 0))


def with_one_penalty(model: LinearModel) -> LinearModel:
    """The same model with one λ for all slopes."""
    penalty = cast(Ridge, model.penalty)
    one = penalty.with_groups(np.minimum(penalty.groups, 0))
    return model.with_penalty(one)


# ---- numbers in sentences


def square(size: int) -> str:
    return f"{size} × {size}"
