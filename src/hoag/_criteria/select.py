"""Which criterion, with which solvers, and why: the one file that chooses.

    TABLE          folds of linear models in one criterion, or each problem by itself
    ALONE          one problem by itself
    SOLVERS        what solves its linear systems
    WITHOUT_FOLDS  a score of one fit on all rows
    LEFT_OUT       ridge regression with its rows left out one by one

Rows are read from the first to the last, and the first that holds is taken. `plan` makes what it
says, and `hoag.explain` says it. Sizes are compared in `hoag._criteria.affordable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

import numpy as np

from hoag import inner as inners
from hoag import linear as linears
from hoag._core.errors import InvalidInput
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
from hoag._criteria.base import Chosen, Criterion
from hoag._criteria.curvature.base import Curvature
from hoag._criteria.curvature.woodbury import Woodbury
from hoag._criteria.facts import (
    Described,
    LeftOutRows,
    OneFit,
    Question,
    about,
    counted,
    square,
    with_one_penalty,
)
from hoag._criteria.fits import FoldedFits
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import GROWTH, Galerkin
from hoag._criteria.implicit import Implicit
from hoag._criteria.rescaled import Rescaled, unweighted
from hoag._criteria.ridge_folds import BandedRidge, Spectral
from hoag._criteria.risks import Risk
from hoag._criteria.separable import Separable
from hoag._criteria.shared_curvature import SharedCurvature
from hoag._criteria.sketched import SketchedCurvature
from hoag._glm.basis import FEW, Precondition, preconditioner, setup_passes
from hoag._glm.coupled import CoupledDesign
from hoag._glm.design import FoldedDesign
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel, by_gram
from hoag._glm.partitioned_model import sample_models
from hoag._glm.penalties import Ridge
from hoag.inner import InnerSolver
from hoag.linear import LinearSolver
from hoag.problems import Facts, Problem, adopt

CERTIFICATES = ("auto", "none", "estimate", "bound")

Asked = TypeVar("Asked")
Used = TypeVar("Used")
Q = TypeVar("Q", Question, "Single")
C = TypeVar("C", bound=Criterion)


def _nothing(asked: Any) -> str:
    return ""


@dataclass(frozen=True)
class Choice(Generic[Asked, Used]):
    """A row of a table.

    name   what is used, in a few words
    holds  whether it is taken, if no row before it was
    build  makes it
    why    a sentence, with the numbers that decided
    work   what one evaluation takes
    """

    name: str
    holds: Callable[[Asked], bool]
    build: Callable[[Asked], Used]
    why: Callable[[Asked], str]
    work: Callable[[Asked], str] = _nothing

    def told(self, asked: Asked) -> Chosen:
        data = cast(Described, asked).data
        return Chosen(data, self.name, self.why(asked), self.work(asked))


def first(table: Sequence[Choice[Asked, Used]], asked: Asked) -> Choice[Asked, Used]:
    """The first row that holds."""
    return next(choice for choice in table if choice.holds(asked))


# ---- what decides


def decomposed(q: Question) -> bool:
    """Whether one decomposition of each fold of squares gives f for every λ."""
    return q.squares and all(map(_decomposed, q.models)) and q.has_design


def _decomposed(model: LinearModel) -> bool:
    facts = model.facts
    if not decomposable(min(facts.rows, facts.side)):
        return False
    # Rows are kept as arrays where they are wide, or judged by another loss.
    long = facts.side <= facts.rows and type(model.test.loss) is Squared
    return storable(facts.rows, facts.side) or long


def newton(q: Question) -> bool:
    """Whether folds of one penalty, not of squares, may have Newton's method for all of them."""
    wide = q.model.facts.side > q.rows * q.outputs
    return not q.squares and not (wide and not storable(q.rows, q.model.facts.side))


def _tall(q: Question) -> bool:
    return tall(q.rows, q.side) and factorable(q.side)


def scannable(q: Question) -> bool:
    """Whether Hessians are formed wherever a scan is; spread levels have no other way."""
    spread = q.model.train.design.spread is not None  # no small space knows of them
    return cheap(q.products) or (spread and factorable(q.side))


def has_factors(q: Question) -> bool:
    """Whether factors of all folds are affordable, for penalties that are quadratic forms."""
    one = q.penalties == 1 and isinstance(q.model.penalty, Ridge)
    if q.one_penalty or one or not q.quadratic or q.design is None:
        return False
    facts, features = q.model.facts, q.model.train.design.features
    if q.columns == features:
        return by_factors(q.model) or (factorable(facts.side) and facts.side <= facts.rows)
    if facts.sparse and not storable(facts.rows, features):
        return False
    return factorable(facts.side // features * q.columns)


def all_outputs(q: Question) -> bool:
    """Whether the matrix of all outputs of squares is small, too; other losses form it anyway."""
    return not q.model.train.quadratic or q.outputs == 1 or factorable(q.columns * q.outputs)


def compared(q: Question) -> bool:
    """Whether folds of rows that are compared with each other have factors."""
    if q.compared is None:
        return False
    facts = q.model.facts
    dense = not facts.sparse or storable(facts.rows, facts.size)  # what is formed of the rows is
    return dense and factorable(q.rows if q.dual else q.compared_columns)


def in_a_space(problem: Problem) -> bool:
    """Whether a small space that gradients span serves every λ."""
    if not isinstance(problem, LinearModel) or not problem.in_memory:
        return False  # the images of all rows would have to be kept
    simple = problem.train.row_by_row and problem.train.design.spread is None
    return problem.one_penalty and problem.train.convex and simple


# ---- without folds


def known_by_gram(o: OneFit) -> bool:
    """Whether a fit of squares is known by its Gram matrix, and that is affordable."""
    return o.squares and o.outputs == 1 and factorable(o.size) and o.size <= o.rows


def written_size(o: OneFit) -> int:
    """How many slopes are left, in the span of the rows where these may be an array."""
    return o.narrowed if storable(o.rows, o.columns) else o.slopes


def decomposed_rows(rows: int, columns: int) -> bool:
    """Whether rows that are left out one by one can be decomposed, and held as an array."""
    return decomposable(min(rows, columns)) and storable(rows, columns)


# ---- one problem by itself


@dataclass(frozen=True, eq=False)
class Single:
    """One of the problems; `preconditioners` are those of all of them."""

    problem: Problem
    question: Question
    preconditioners: Preconditioners

    @property
    def data(self) -> str:
        return self.question.data

    @property
    def one(self) -> bool:
        return np.size(self.problem.lam0) == 1

    @property
    def chosen(self) -> bool:
        return self.question.chosen

    @property
    def has_hessian(self) -> bool:
        facts = self.problem.facts
        return self.chosen and facts is not None and facts.has_hessian

    @property
    def solvers(self) -> tuple[Any, Any]:
        """Those that were given, or are chosen."""
        q = self.question
        return solvers(self.problem) if self.chosen else (q.inner, q.linear)


# ---- the tables

TABLE: list[Choice[Question, Criterion]] = [
    Choice(
        "all folds together, with what was given",
        holds=lambda q: q.curvature is not None or q.risk is not None,
        build=lambda q: _given(q),
        why=lambda q: "A curvature or a risk was given.",
        work=lambda q: _newton_work(q, q.side),
    ),
    Choice(
        "rows brought into memory",
        holds=lambda q: q.partitioned and q.partitions.whole,
        build=lambda q: on_sample(q),
        why=lambda q: f"All {q.partitions.n} rows are few enough to be kept in memory.",
    ),
    Choice(
        "each fold by itself, in units of its own",
        holds=lambda q: q.together and not q.partitioned and q.in_own_units,
        build=lambda q: _by_own_columns(q),
        why=lambda q: (
            "Each fold scales the columns by its own rows, and groups of more columns than rows "
            "have a basis in which they are alike in one fold only."
        ),
    ),
    Choice(
        "all folds together, by factors of as many rows as there are (dual)",
        holds=lambda q: compared(q) and q.dual,
        build=lambda q: _all_folds(partial(FoldedFits, curvature=Woodbury()), q, q.compared),
        why=lambda q: (
            f"The loss compares rows with each other; {q.rows} rows are fewer than the columns, "
            f"and a factor of {square(q.rows)} is affordable (up to {FEW})."
        ),
        work=lambda q: _newton_work(q, q.rows),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: compared(q),
        build=lambda q: _joint(q, q.compared),
        why=lambda q: (
            "The loss compares rows with each other, and a factor of "
            f"{square(q.side)} is affordable (up to {FEW})."
        ),
        work=lambda q: _newton_work(q, q.side),
    ),
    Choice(
        "all folds together, by one eigendecomposition of each for every penalty",
        holds=lambda q: q.by_rows and q.one_penalty and decomposed(q),
        build=lambda q: _all_folds(Spectral, q, q.design),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the one penalty, and a decomposition "
            f"of {square(q.side)} is affordable (up to {DECOMPOSED})."
        ),
        work=lambda q: (
            f"One Gram matrix of the rows and {q.folds} decompositions of {square(q.side)} "
            "at first; then no pass over the data, whatever the penalty."
        ),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: q.by_rows and q.one_penalty and newton(q) and scannable(q) and q.has_design,
        build=lambda q: _joint(q, q.design),
        why=lambda q: (
            f"{_products(q)} for the Hessians of all folds are few (up to {about(CHEAP)}), "
            "so that the whole range of the penalty can be scanned."
            if cheap(q.products)
            else f"Spread levels need factors, of {square(q.side)} (up to {FEW})."
        ),
        work=lambda q: _newton_work(q, q.side),
    ),
    Choice(
        "all folds together, by iterations that share one Hessian",
        holds=lambda q: q.by_rows and q.one_penalty and newton(q) and _tall(q) and q.has_design,
        build=lambda q: _all_folds(SharedCurvature, q, q.design),
        why=lambda q: (
            f"{_products(q)} for the Hessians of all folds are many (more than "
            f"{about(CHEAP)}), but {q.rows} rows for {q.side} coefficients are at least "
            f"{2 * sample_size(q.side)}: folds hardly differ in their Hessians."
        ),
        work=lambda q: (
            f"A few iterations of {2 * q.folds + 2} passes over the data, for the fits and "
            "the adjoints of all folds and the fit on all rows; where they become slow, one Gram "
            f"matrix of the rows and {q.folds + 1} factors of {square(q.side)}."
        ),
    ),
    Choice(
        "all folds together, target by target, by factors of Gram matrices",
        holds=lambda q: q.by_rows and has_factors(q) and q.banded and len(q.sets) > 1,
        build=lambda q: _target_by_target(q),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the penalties, no penalty is shared "
            f"by {len(q.sets)} sets of targets, and a factor of {square(q.columns)} is affordable."
        ),
        work=lambda q: _squares_work(q),
    ),
    Choice(
        "all folds together, by factors of Gram matrices (banded ridge)",
        holds=lambda q: q.by_rows and has_factors(q) and q.banded,
        build=lambda q: _all_folds(BandedRidge, q, q.design),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the penalties, and a factor of "
            f"{square(q.columns)} is affordable."
        ),
        work=lambda q: _squares_work(q),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: q.by_rows and has_factors(q) and all_outputs(q),
        build=lambda q: _joint(q, q.design),
        why=lambda q: (
            f"There are {q.penalties} penalties, and factors of "
            f"{square(q.columns * q.outputs)} are affordable: they give the second derivatives of "
            "the criterion, too."
        ),
        work=lambda q: _newton_work(q, q.columns * q.outputs),
    ),
    Choice(
        "all folds together, by passes with a sketch of the curvature",
        holds=lambda q: q.partitioned and q.partitions.loss.convex,
        build=lambda q: _sketched(q),
        why=lambda q: (
            f"The {q.partitions.n} rows are not in memory, and factors of "
            f"{square(q.model.facts.side)} are expensive: a sample of the rows that is kept has "
            "about their curvature."
        ),
        work=lambda q: (
            f"A few reads of all rows, each of {2 * q.folds + 2} passes over the data: for "
            "the fits and the adjoints of all folds and the fit on all rows."
        ),
    ),
    Choice(
        "each fold by itself, in units of its own",
        holds=lambda q: q.together and not q.partitioned and q.one_penalty and q.weighted,
        build=lambda q: _by_own_columns(q),
        why=lambda q: (
            "Each fold scales the columns by its own rows, and factors for all folds, of "
            f"{square(q.side)}, are expensive."
        ),
    ),
    Choice(
        "each problem by itself",
        holds=lambda q: True,
        build=lambda q: _or_one_penalty(q, _each(q, q.known)),
        why=lambda q: (
            f"Factors for all folds together, of {square(q.side)}, are expensive, or of no use."
            if q.together
            else ""
        ),
    ),
]

ALONE: list[Choice[Single, Criterion]] = [
    Choice(
        "implicit differentiation, as precise as each step of the search asks",
        holds=lambda s: s.question.by_steps,
        build=lambda s: _by_steps(s),
        why=lambda s: "The search takes steps of its own, each with its own tolerance.",
        work=lambda s: _implicit_work(s),
    ),
    Choice(
        "implicit differentiation by factors, with second derivatives",
        holds=lambda s: s.has_hessian,
        build=lambda s: _to_rounding(s, has_hessian=True),
        why=lambda s: "The problem knows the second derivatives of its criterion.",
        work=lambda s: _implicit_work(s),
    ),
    Choice(
        "implicit differentiation by factors, to rounding",
        holds=lambda s: s.one and s.chosen and to_rounding(s.problem),
        build=lambda s: _to_rounding(s, has_hessian=False),
        why=lambda s: "There is one hyperparameter, and solves by factors are cheap.",
        work=lambda s: _implicit_work(s),
    ),
    Choice(
        "a small space that gradients span (Galerkin)",
        holds=lambda s: in_a_space(s.problem),
        build=lambda s: _in_space(s),
        why=lambda s: "With one penalty, a few directions of coefficients serve all its values.",
        work=lambda s: f"At most {GROWTH} passes over the data for each fold; a scan takes none.",
    ),
    Choice(
        "implicit differentiation",
        holds=lambda s: True,
        build=lambda s: _to_tolerance(s),
        why=lambda s: (
            f"There {'is' if s.one else 'are'} {counted(s.question.penalties, 'hyperparameter')}"
            f", and {counted(int(s.problem.x0.size), 'coefficient')} for each fold."
        ),
        work=lambda s: _implicit_work(s),
    ),
]

SOLVERS: list[Choice[Problem, LinearSolver]] = [
    Choice(
        "a Cholesky factor of the Hessian",
        holds=lambda p: by_factors(p),
        build=lambda p: linears.Cholesky(),
        why=lambda p: f"{square(_side(p))} is small.",
        work=lambda p: "Each step makes one factor.",
    ),
    Choice(
        "conjugate gradients",
        holds=lambda p: p.facts is None,
        build=lambda p: linears.CG(),
        why=lambda p: "products with the Hessian are what is known of it.",
        work=lambda p: "Each iteration takes one product.",
    ),
    Choice(
        "conjugate gradients",
        holds=lambda p: _misleading_diagonal(p),
        build=lambda p: linears.CG(5000),
        why=lambda p: f"{square(_side(p))} is too large for a factor, and its diagonal of no use.",
        work=lambda p: "Each iteration takes a pass over the data.",
    ),
    Choice(
        "conjugate gradients, preconditioned by the diagonal",
        holds=lambda p: True,
        build=lambda p: linears.CG(5000, linears.jacobi),
        why=lambda p: f"{square(_side(p))} is too large for a factor.",
        work=lambda p: "Each iteration takes a pass over the data.",
    ),
]


WITHOUT_FOLDS: list[Choice[OneFit, FoldedFits]] = [
    Choice(
        "one fit on all rows, by sums of squares and products",
        holds=lambda o: o.by_sums and known_by_gram(o),
        build=lambda o: FoldedFits.of_rows(o.model, cast(Risk, o.risk), sufficient=True),
        why=lambda o: (
            f"Squares of one target have all that is needed in a Gram matrix of {square(o.size)}: "
            f"at most {o.rows} rows and {FEW}."
        ),
        work=lambda o: f"One factor of {square(o.size)}, and no pass over the data but the first.",
    ),
    Choice(
        "one fit on all rows, by a factor of its Hessian",
        holds=lambda o: decomposable(written_size(o)),
        build=lambda o: FoldedFits.of_rows(o.model, cast(Risk, o.risk)),
        why=lambda o: f"A factor of {square(written_size(o))} is affordable (up to {DECOMPOSED}).",
        work=lambda o: (
            "A few Newton steps, each of a pass over the data, one Gram matrix of the rows and one "
            f"factor of {square(written_size(o))}, which gives the leverages too."
        ),
    ),
]

# Whether leave-one-out is by a decomposition.
LEFT_OUT: list[Choice[LeftOutRows, bool]] = [
    Choice(
        "leave-one-out in closed form, by one eigendecomposition for every penalty",
        holds=lambda r: r.one_penalty and decomposed_rows(r.rows, r.columns),
        build=lambda r: True,
        why=lambda r: (
            f"There is one penalty, and a decomposition of {square(min(r.rows, r.columns))} is "
            f"affordable (up to {DECOMPOSED})."
        ),
        work=lambda r: "A product of the rows with what is decomposed: about a pass over the data.",
    ),
    Choice(
        "leave-one-out in closed form, by a factor of as many rows as there are (dual)",
        holds=lambda r: r.columns > r.rows and r.penalised,
        build=lambda r: False,
        why=lambda r: f"{r.rows} rows are fewer than {r.columns} columns.",
        work=lambda r: f"One Gram matrix and one factor of {square(r.rows)}.",
    ),
    Choice(
        "leave-one-out in closed form, by a factor of the Gram matrix",
        holds=lambda r: True,
        build=lambda r: False,
        why=lambda r: f"{r.columns} columns are what is factored, for {r.rows} rows.",
        work=lambda r: f"One factor of {square(r.columns)}, and its product with the rows.",
    ),
]


# ---- using them


def plan(
    problems: Any,
    *,
    by_steps: bool = False,
    certificate: str = "auto",
    inner: InnerSolver | None = None,
    linear: LinearSolver | None = None,
    n_jobs: int | None = None,
    curvature: Curvature | None = None,
    risk: Risk | None = None,
) -> Criterion:
    """How f is computed: for `minimize`, for the estimators and for benchmarks alike.

    problems     a problem, a list of them whose f are added (folds), or criteria, which are taken
                 as they are
    by_steps     for a search that takes steps of its own ε_k, as the paper's does, and reads the
                 error of every gradient; else for the default search, which asks for what it needs
    certificate  whether such a search has errors measured, and bounded
    inner, linear   solvers to use in place of those chosen
    n_jobs       folds evaluated at a time
    curvature, risk   for folds of one linear model: what stands for ∇²₁h⁻¹, and what is taken of
                 the fits, in place of held-out losses; see hoag.glm.Curvature and hoag.glm.Risk

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
    solving = inner, linear, n_jobs, curvature, risk
    question = Question(known, several, by_steps, certificate, *solving)
    return built(TABLE, question)


def built(table: Sequence[Choice[Q, Criterion]], asked: Q) -> Criterion:
    """What the first row that holds makes, with what is to be said of it."""
    choice = first(table, asked)
    criterion, own = choice.build(asked), choice.told(asked)
    criterion.chosen = own if criterion.chosen is None else own.over(criterion.chosen)
    return criterion


def solvers(problem: Problem) -> tuple[InnerSolver, LinearSolver]:
    """The inner and the linear solver for a problem of this size and kind."""
    linear: Any = first(SOLVERS, problem).build(problem)
    facts = problem.facts
    if facts is None:
        return problem.inner or inners.Newton(), linear
    if not facts.convex:
        linear = linears.Damped(linear)
    if problem.inner is not None:
        return problem.inner, linear
    if facts.quadratic:
        return inners.CG(linear), linear
    # A factor's word is taken: the next step mends what it left.
    forcing = np.inf if by_factors(problem) else 0.1
    # Valleys that are not convex are long.
    max_iter = 100 if facts.convex else 1000
    newton = inners.Newton(linear, forcing, max_iter, problem.roundoff)
    return inners.Continued(newton) if problem.softened() is not None else newton, linear


def in_memory(problem: Problem) -> Problem:
    """The problem on rows that were brought into memory, where these are all of them."""
    return problem.brought() if isinstance(problem, LinearModel) else problem


# ---- what is built


def _each(q: Question, known: Sequence[Criterion | Problem]) -> Criterion:
    """Each problem by itself."""
    bends = Preconditioners([own for own in known if isinstance(own, LinearModel)])
    one = partial(Single, question=q, preconditioners=bends)
    return _added(
        q, [own if isinstance(own, Criterion) else built(ALONE, one(own)) for own in known]
    )


def _added(q: Question, parts: Sequence[Criterion]) -> Criterion:
    if not q.several:
        return parts[0]
    total = Sum(parts, q.n_jobs)
    total.chosen = parts[0].chosen
    return total


def _again(q: Question, models: Sequence[LinearModel]) -> Criterion:
    """What is chosen for other models in the place of these."""
    return plan(models if q.several else models[0], n_jobs=q.n_jobs)


def on_sample(q: Question) -> Criterion:
    """The same folds on the rows that are kept in memory."""
    return _again(q, sample_models(q.partitions, q.models))


def _or_one_penalty(q: Question, criterion: Criterion) -> Criterion:
    """The same, told how to be one of a single λ, where several reach all slopes."""
    if q.one_would_do and not q.partitioned:
        criterion.shared = lambda: _again(q, [with_one_penalty(model) for model in q.models])
    return criterion


def _all_folds(kind: Callable[..., C], q: Question, design: FoldedDesign | None) -> C:
    criterion = kind(q.models, design, partial(_each, q), q.several)
    if not q.one_penalty and not q.partitioned:
        criterion.at_once = q.n_jobs
    return criterion


def _given(q: Question) -> Criterion:
    """The fits of all folds with a curvature or a risk of somebody's own."""
    design: FoldedDesign | None = None
    if q.models and q.quadratic and len(q.models) == len(q.known):
        by_rows = q.model.train.row_by_row
        design = q.design if by_rows else CoupledDesign.of(q.models)
    if design is None:
        raise InvalidInput(
            "curvature= and risk= are for folds of one linear model that share their rows, with a "
            "quadratic penalty: such as hoag.models.folds makes."
        )
    if q.risk is None or q.risk.of_folds:
        return FoldedFits(q.models, design, partial(_each, q), q.several, q.curvature, q.risk)
    if q.folds > 1:
        raise InvalidInput(
            f"{type(q.risk).__name__} is of one fit on all rows: give one problem, and not "
            f"{q.folds} folds."
        )
    return FoldedFits.of_rows(q.model, q.risk, curvature=q.curvature)


def _joint(q: Question, design: FoldedDesign | None) -> Criterion:
    """With a search on a sample first, where the rows are not in memory."""
    criterion = _all_folds(FoldedFits, q, design)
    if q.partitioned:
        criterion.surrogate = partial(on_sample, q)
    return criterion


def _sketched(q: Question) -> Criterion:
    return SketchedCurvature(q.models, q.partitions, partial(on_sample, q), q.several)


def _target_by_target(q: Question) -> Criterion:
    whole = BandedRidge(q.models, cast(Any, q.design), partial(_each, q), q.several)
    found = Separable(whole, q.model.groups, q.sets, q.n_jobs)
    found.at_once = None if q.partitioned else q.n_jobs
    return found


def _by_own_columns(q: Question) -> Criterion:
    """Each fold by itself, its columns in units in which it penalises them alike.

    What is done to all folds together needs penalties that treat directions alike: the span of few
    rows, a space that gradients span.
    """
    turned = map(unweighted, q.models)
    parts = [Rescaled(plan(own), scale) for own, scale in turned]
    return _or_one_penalty(q, _added(q, parts))


def _by_steps(s: Single) -> Criterion:
    certificate = s.question.certificate
    measured, bound = certificate != "none", certificate == "bound"
    refined = measured and s.chosen and by_factors(s.problem)  # for a back-substitution or two
    how = partial(Implicit, s.problem, certificate=measured, corrected=refined, bound=bound)
    return how(*s.solvers)


def _to_rounding(s: Single, has_hessian: bool) -> Criterion:
    # A few long steps gain nothing from the secant of the solutions, and do without its memory.
    how = partial(Implicit, s.problem, certificate=False, extrapolate=False, exact=True)
    return how(*s.solvers, has_hessian=has_hessian)


def _to_tolerance(s: Single) -> Implicit:
    """For several λ, errors are measured at the end only, for that takes more than all the rest."""
    how = partial(Implicit, s.problem, certificate=s.one, corrected=s.one, by_distance=s.one)
    return how(*s.solvers, bound=False, extrapolate=s.one and not in_a_space(s.problem))


def _in_space(s: Single) -> Criterion:
    bend, setup = s.preconditioners.of(cast(LinearModel, s.problem))
    plain = _to_tolerance(s)
    if bend is not None and s.chosen and not by_factors(s.problem):
        plain.linear = linears.CG(5000, partial(by_gram, bend))
        plain.inner = inners.Newton(plain.linear)
    return Galerkin(plain, bend, setup)


def _misleading_diagonal(problem: Problem) -> bool:
    """Columns of dense rows, and penalties, may differ in scale; else the diagonal misleads."""
    facts = cast(Facts, problem.facts)
    return facts.products or (facts.sparse and np.size(problem.lam0) == 1)


class Preconditioners:
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


# ---- what is said


def _side(problem: Problem) -> int:
    return cast(Facts, problem.facts).side


def _products(q: Question) -> str:
    """How many products of numbers the Hessians of all folds take."""
    factors = f"{counted(q.folds, 'fold')} × {q.rows} rows × {q.side}²"
    return f"{factors} = {about(q.products)} products"


def _newton_work(q: Question, size: int) -> str:
    """What Newton's method for all folds takes, by factors of so many coefficients."""
    passes, factors = f"{counted(q.folds, 'pass')} over the data", counted(q.folds, "factor")
    made = f"as many Gram matrices of the rows and {factors} of {square(size)}"
    if q.by_rows and not cheap(q.folds * q.rows * size**2):
        return f"A few steps, each of {passes}; {made} where these have become slow."
    return f"A few Newton steps, each of {passes}, {made}; the adjoints by the same."


def _squares_work(q: Question) -> str:
    return (
        f"One Gram matrix of the rows at first; then {counted(q.folds, 'factor')} of "
        f"{square(q.columns)} and no pass over the data."
    )


def _implicit_work(s: Single) -> str:
    if not s.chosen:
        return "The solvers are those that were given."
    solver = first(SOLVERS, s.problem)
    each = "The fit and the adjoint of each fold"
    return f"{each} by {solver.name}: {solver.why(s.problem)} {solver.work(s.problem)}"
