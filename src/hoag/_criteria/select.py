"""Which criterion, with which solvers, and why: the one file that compares sizes to choose.

    TABLE    folds of linear models in one criterion, or each problem by itself
    ALONE    one problem by itself
    SOLVERS  what solves its linear systems

Rows are read from the first to the last; the first that holds is taken. `plan` builds what they
say, and `hoag.explain` prints it. The words:

    factor   of a matrix of p × p numbers: affordable at every step up to FEW, once up to DECOMPOSED
    cheap    at most CHEAP products of numbers: the whole box is scanned with such evaluations
    tall     so many rows for each coefficient that folds hardly differ in their curvature
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, cast

import numpy as np

from hoag import inner as inners
from hoag import linear as linears
from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDOFF
from hoag._criteria.apart import BandsApart, Sets, by_columns
from hoag._criteria.bands import Bands
from hoag._criteria.base import CHEAP, Chosen, Criterion
from hoag._criteria.dual import Dual
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import GROWTH, Galerkin
from hoag._criteria.implicit import Implicit
from hoag._criteria.joint import Joint
from hoag._criteria.rescaled import Rescaled, unweighted
from hoag._criteria.shared_curvature import SharedCurvature, sample_size
from hoag._criteria.sketched import SketchedCurvature
from hoag._criteria.spectral import DECOMPOSED, Spectral
from hoag._glm.basis import FEW, Precondition, preconditioner, setup_passes
from hoag._glm.coupled import CoupledDesign
from hoag._glm.design import FoldedDesign, RowwiseDesign
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
from hoag.problems import Facts, Problem, adopt

# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer (up to FEW).
DIRECT = 300
# With fewer rows than coefficients conjugate gradients ends after as many steps as rows.
DIRECT_WIDE = 100

CERTIFICATES = ("auto", "none", "estimate", "bound")

Asked = TypeVar("Asked")
Used = TypeVar("Used")
Q = TypeVar("Q", "Question", "Single")
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
    work   what one evaluation takes, about
    """

    name: str
    holds: Callable[[Asked], bool]
    build: Callable[[Asked], Used]
    why: Callable[[Asked], str]
    work: Callable[[Asked], str] = _nothing


def first(table: Sequence[Choice[Asked, Used]], asked: Asked) -> Choice[Asked, Used]:
    """The first row that holds."""
    return next(choice for choice in table if choice.holds(asked))


# ---- what is affordable


def factorable(size: int) -> bool:
    """Whether a factor of a matrix of this size is affordable at every step."""
    return size <= FEW


def decomposable(size: int) -> bool:
    """Whether one decomposition of a matrix of this size is affordable, for all λ."""
    return size <= DECOMPOSED


def storable(rows: int, columns: int) -> bool:
    """Whether an array of so many numbers may be kept, where rows are wide or sparse."""
    return rows * columns <= DECOMPOSED**2


def cheap(products: float) -> bool:
    """Whether so many products of numbers are few enough to scan the whole box with."""
    return products <= CHEAP


# ---- what is asked


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

    # ---- its facts

    @cached_property
    def models(self) -> list[LinearModel]:
        return [own for own in self.known if isinstance(own, LinearModel)]

    @property
    def model(self) -> LinearModel:
        """The first, for what all folds have in common."""
        return self.models[0]

    @property
    def facts(self) -> Facts:
        return self.model.facts

    @property
    def chosen(self) -> bool:
        """Whether solvers are ours to choose."""
        return self.inner is None and self.linear is None

    @cached_property
    def together(self) -> bool:
        """Whether they are folds of linear models, which one criterion may have."""
        if self.by_steps or not self.chosen or len(self.models) < len(self.known):
            return False
        return all(model.train.convex for model in self.models)

    @property
    def partitioned(self) -> bool:
        """Whether rows are in files, or on workers."""
        return self.together and self.model.train.far is not None

    @cached_property
    def design(self) -> RowwiseDesign | None:
        """The rows of all folds; None where they have too little in common."""
        return InMemoryDesign.of(self.models)

    @property
    def partitions(self) -> PartitionedDesign:
        return cast(PartitionedDesign, self.design)

    @property
    def side(self) -> int:
        """Of the matrices that are factored, whichever of rows and coefficients are fewer."""
        return int(min(self.facts.side, self.rows * self.outputs))

    @property
    def outputs(self) -> int:
        return int(self.model.train.design.outputs)

    @cached_property
    def one_penalty(self) -> bool:
        """Whether one λ penalises all coefficients, and nothing else does."""
        return all(map(_one_ridge, self.models))

    @cached_property
    def ridge(self) -> bool:
        return all(isinstance(model.penalty, Ridge) for model in self.models)

    @cached_property
    def quadratic(self) -> bool:
        """Whether penalties are xᵀS(λ)x."""
        return all(isinstance(model.penalty, QuadraticPenalty) for model in self.models)

    @cached_property
    def weighted(self) -> bool:
        """Whether folds weigh their ridge penalties each in its own way."""
        return any(isinstance(m.penalty, Ridge) and m.penalty.weighted for m in self.models)

    @cached_property
    def in_own_units(self) -> bool:
        """Whether no basis serves all folds: that of wide groups needs penalties that are alike."""
        if not self.weighted:
            return False
        rows = self.partitions.n if self.partitioned else self.facts.rows
        return bool(wide_groups(self.model, rows))

    @property
    def shared(self) -> bool:
        """Whether all folds may be in one criterion."""
        return self.together and not self.in_own_units

    @cached_property
    def by_rows(self) -> bool:
        """The same for losses that are sums over rows."""
        return self.shared and self.model.train.row_by_row

    @property
    def rows(self) -> int:
        """Of all folds, where they share them."""
        return int(self.facts.rows)

    @property
    def has_design(self) -> bool:
        return self.design is not None

    @property
    def data(self) -> str:
        """What is asked about, for people."""
        number = np.size(self.known[0].lam0)
        if not self.models:
            return f"{counted(len(self.known), 'problem')}, {counted(number, 'hyperparameter')}"
        design = self.model.train.design
        each = f" × {design.outputs} outputs" if design.outputs > 1 else ""
        return (
            f"{counted(len(self.models), 'fold')} of {self.rows} rows × {design.features} columns"
            f"{each}, {counted(number, 'hyperparameter')}"
        )

    # ---- one penalty

    @cached_property
    def squares(self) -> bool:
        return all(type(model.train.loss) is Squared for model in self.models)

    @property
    def decomposed(self) -> bool:
        """Whether one decomposition of each fold gives f for every λ."""
        return self.squares and all(map(_decomposable, self.models))

    @property
    def newton(self) -> bool:
        """Whether the loss takes Newton steps, in an array of the rows where they are wide."""
        facts = self.facts
        wide = facts.side > facts.rows * self.outputs
        return not self.squares and not (wide and not storable(facts.rows, facts.side))

    @property
    def products(self) -> float:
        """For the matrices of all folds, formed once."""
        return len(self.models) * self.facts.rows * self.side**2

    @property
    def products_told(self) -> str:
        factors = f"{counted(len(self.models), 'fold')} × {self.rows} rows × {self.side}²"
        return f"{factors} = {_about(self.products)} products"

    @property
    def small(self) -> bool:
        """Whether a scan forms matrices wherever it is; losses of levels have no other way."""
        levels = self.model.train.design.spread is not None  # no small space knows of them
        return cheap(self.products) or (levels and factorable(self.side))

    @property
    def tall(self) -> bool:
        return self.facts.rows >= 2 * sample_size(self.side) and factorable(self.side)

    # ---- several penalties

    @cached_property
    def columns(self) -> int:
        """How many are left once wide groups are written in the span of the rows."""
        rows = self.facts.rows if self.design is None else self.design.n
        return narrowed(self.model, rows)

    @cached_property
    def has_factors(self) -> bool:
        """Whether the factors of all folds are affordable, for penalties that are quadratic."""
        alone = np.size(self.model.lam0) == 1 and isinstance(self.model.penalty, Ridge)
        if self.one_penalty or alone or not self.quadratic or self.design is None:
            return False
        facts, features = self.facts, self.model.train.design.features
        if self.columns == features:
            return by_factors(self.model) or facts.side <= min(FEW, facts.rows)
        if facts.sparse and not storable(facts.rows, features):
            return False
        return factorable(facts.side // features * self.columns)

    @cached_property
    def sets(self) -> Sets:
        """Targets that share no λ with the others."""
        return separable(self.model.groups)

    @cached_property
    def banded(self) -> bool:
        """Whether these are ridge regressions, whose targets have bands of columns alike."""
        squares = all(map(_of_squares, self.models))
        return self.has_factors and squares and by_columns(self.model.groups, self.sets)

    @property
    def formed(self) -> bool:
        """Whether the matrix of all outputs of squares is small, too; others form it anyway."""
        size = self.columns * self.outputs
        return not self.model.train.quadratic or size <= max(self.columns, FEW)

    # ---- rows that are compared with each other

    @cached_property
    def dual(self) -> bool:
        """Whether there are more columns than rows, in the span of the rows too."""
        return self.ridge and narrowed(self.model, self.facts.rows) > self.facts.rows

    @cached_property
    def compared(self) -> CoupledDesign | None:
        """All folds of such rows, where a factor is affordable."""
        if not self.shared or self.model.train.row_by_row or not (self.ridge or self.quadratic):
            return None
        facts = self.facts
        if facts.sparse and not storable(facts.rows, facts.size):
            return None  # what is formed of the rows is dense
        size = facts.rows if self.dual else narrowed(self.model, facts.rows)
        return CoupledDesign.of(self.models, self.dual) if factorable(size) else None

    # ---- other criteria of the same f

    def alone(self) -> Criterion:
        """Each problem by itself."""
        return self.each(self.known)

    def each(self, known: Sequence[Criterion | Problem]) -> Criterion:
        shared = Preconditioners([own for own in known if isinstance(own, LinearModel)])
        return self.added(
            [
                own if isinstance(own, Criterion) else built(ALONE, Single(own, self, shared))
                for own in known
            ]
        )

    def added(self, parts: Sequence[Criterion]) -> Criterion:
        if not self.several:
            return parts[0]
        total = Sum(parts, self.n_jobs)
        total.chosen = parts[0].chosen
        return total

    def again(self, models: Sequence[LinearModel]) -> Criterion:
        """What is chosen for other models in the place of these."""
        return plan(models if self.several else models[0], n_jobs=self.n_jobs)

    def on_sample(self) -> Criterion:
        """The same folds on the rows that are kept in memory."""
        return self.again(near_models(self.partitions, self.models))

    def or_one_penalty(self, criterion: Criterion) -> Criterion:
        """The same, told how to be one of a single λ, where several reach all slopes."""
        if self.together and not self.partitioned and all(map(one_would_do, self.models)):
            criterion.shared = lambda: self.again([with_one_penalty(m) for m in self.models])
        return criterion

    def of(self, kind: Callable[..., C], design: FoldedDesign | None) -> C:
        """All folds in one criterion."""
        criterion = kind(self.models, design, self.alone, self.several)
        if not self.one_penalty and not self.partitioned:
            criterion.at_once = self.n_jobs
        return criterion


@dataclass(frozen=True, eq=False)
class Single:
    """One problem by itself; `preconditioners` are those of all folds."""

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
        """Whether solvers are ours to choose."""
        return self.question.chosen

    @property
    def has_hessian(self) -> bool:
        facts = self.problem.facts
        return self.chosen and facts is not None and facts.has_hessian

    @property
    def exact(self) -> bool:
        return self.one and self.chosen and _exact(self.problem)

    @property
    def in_a_space(self) -> bool:
        return isinstance(self.problem, LinearModel) and _in_a_space(self.problem)

    @property
    def solvers(self) -> tuple[Any, Any]:
        """Those that were given, or are chosen."""
        q = self.question
        return solvers(self.problem) if self.chosen else (q.inner, q.linear)

    @property
    def work(self) -> str:
        """Of an evaluation by implicit differentiation."""
        if not self.chosen:
            return "The solvers are those that were given."
        solver = first(SOLVERS, self.problem)
        newton = "Newton steps and one adjoint for each fold"
        return f"{newton}, by {solver.name}: {solver.why(self.problem)} {solver.work(self.problem)}"


# ---- the tables

TABLE: list[Choice[Question, Criterion]] = [
    Choice(
        "rows brought into memory",
        holds=lambda q: q.partitioned and q.partitions.whole,
        build=lambda q: q.on_sample(),
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
        holds=lambda q: q.compared is not None and q.dual,
        build=lambda q: q.of(Dual, q.compared),
        why=lambda q: (
            f"The loss compares rows with each other; {q.rows} rows are fewer than the columns, "
            f"and a factor of {_square(q.rows)} is affordable (up to {FEW})."
        ),
        work=lambda q: _newton(q, q.rows),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: q.compared is not None,
        build=lambda q: _joint(q, q.compared),
        why=lambda q: (
            "The loss compares rows with each other, and a factor of "
            f"{_square(q.side)} is affordable (up to {FEW})."
        ),
        work=lambda q: _newton(q, q.side),
    ),
    Choice(
        "all folds together, by one eigendecomposition of each for every penalty",
        holds=lambda q: q.by_rows and q.one_penalty and q.decomposed and q.has_design,
        build=lambda q: q.of(Spectral, q.design),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the one penalty, and a decomposition "
            f"of {_square(q.side)} is affordable (up to {DECOMPOSED})."
        ),
        work=lambda q: (
            f"One Gram matrix of the rows and {len(q.models)} decompositions of {_square(q.side)} "
            "at first; then no pass over the data, whatever the penalty."
        ),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: q.by_rows and q.one_penalty and q.newton and q.small and q.has_design,
        build=lambda q: _joint(q, q.design),
        why=lambda q: (
            f"{q.products_told} for the Hessians of all folds are few (up to {_about(CHEAP)}), "
            "so that the whole range of the penalty can be scanned."
            if cheap(q.products)
            else f"Spread levels need factors, of {_square(q.side)} (up to {FEW})."
        ),
        work=lambda q: _newton(q, q.side),
    ),
    Choice(
        "all folds together, by iterations that share one Hessian",
        holds=lambda q: q.by_rows and q.one_penalty and q.newton and q.tall and q.has_design,
        build=lambda q: q.of(SharedCurvature, q.design),
        why=lambda q: (
            f"{q.products_told} for the Hessians of all folds are many (more than "
            f"{_about(CHEAP)}), but {q.rows} rows for {q.side} coefficients are at least "
            f"{2 * sample_size(q.side)}: folds hardly differ in their Hessians."
        ),
        work=lambda q: (
            f"A few iterations of {2 * len(q.models) + 2} passes over the data, for the fits and "
            "the adjoints of all folds and the fit on all rows; where they become slow, one Gram "
            f"matrix of the rows and {len(q.models) + 1} factors of {_square(q.side)}."
        ),
    ),
    Choice(
        "all folds together, target by target, by factors of Gram matrices",
        holds=lambda q: q.by_rows and q.banded and len(q.sets) > 1,
        build=lambda q: _target_by_target(q),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the penalties, no penalty is shared "
            f"by {len(q.sets)} sets of targets, and a factor of {_square(q.columns)} is affordable."
        ),
        work=lambda q: _by_squares(q),
    ),
    Choice(
        "all folds together, by factors of Gram matrices (banded ridge)",
        holds=lambda q: q.by_rows and q.banded,
        build=lambda q: q.of(Bands, q.design),
        why=lambda q: (
            "Squares have the same Hessian everywhere but for the penalties, and a factor of "
            f"{_square(q.columns)} is affordable."
        ),
        work=lambda q: _by_squares(q),
    ),
    Choice(
        "all folds together, by factors of the Hessian of each",
        holds=lambda q: q.by_rows and q.has_factors and q.formed,
        build=lambda q: _joint(q, q.design),
        why=lambda q: (
            f"There are {np.size(q.model.lam0)} penalties, and factors of "
            f"{_square(q.columns * q.outputs)} are affordable: they give the second derivatives of "
            "the criterion, too."
        ),
        work=lambda q: _newton(q, q.columns * q.outputs),
    ),
    Choice(
        "all folds together, by passes with a sketch of the curvature",
        holds=lambda q: q.partitioned and q.partitions.loss.convex,
        build=lambda q: SketchedCurvature(q.models, q.partitions, q.on_sample, q.several),
        why=lambda q: (
            f"The {q.partitions.n} rows are not in memory, and factors of {_square(q.facts.side)} "
            "are expensive: a sample of the rows that is kept has about their curvature."
        ),
        work=lambda q: (
            f"A few reads of all rows, each of {2 * len(q.models) + 2} passes over the data: for "
            "the fits and the adjoints of all folds and the fit on all rows."
        ),
    ),
    Choice(
        "each fold by itself, in units of its own",
        holds=lambda q: q.together and not q.partitioned and q.one_penalty and q.weighted,
        build=lambda q: _by_own_columns(q),
        why=lambda q: (
            "Each fold scales the columns by its own rows, and factors for all folds, of "
            f"{_square(q.side)}, are expensive."
        ),
    ),
    Choice(
        "each problem by itself",
        holds=lambda q: True,
        build=lambda q: q.or_one_penalty(q.alone()),
        why=lambda q: (
            f"Factors for all folds together, of {_square(q.side)}, are expensive, or of no use."
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
        work=lambda s: s.work,
    ),
    Choice(
        "implicit differentiation by factors, with second derivatives",
        holds=lambda s: s.has_hessian,
        build=lambda s: _to_rounding(s, has_hessian=True),
        why=lambda s: "The problem knows the second derivatives of its criterion.",
        work=lambda s: s.work,
    ),
    Choice(
        "implicit differentiation by factors, to rounding",
        holds=lambda s: s.exact,
        build=lambda s: _to_rounding(s, has_hessian=False),
        why=lambda s: "There is one hyperparameter, and solves by factors are cheap.",
        work=lambda s: s.work,
    ),
    Choice(
        "a small space that gradients span (Galerkin)",
        holds=lambda s: s.in_a_space,
        build=lambda s: _in_space(s),
        why=lambda s: "With one penalty, a few directions of coefficients serve all its values.",
        work=lambda s: f"At most {GROWTH} passes over the data for each fold; a scan takes none.",
    ),
    Choice(
        "implicit differentiation",
        holds=lambda s: True,
        build=lambda s: _to_tolerance(s),
        why=lambda s: (
            f"There {'is' if s.one else 'are'} {counted(np.size(s.problem.lam0), 'hyperparameter')}"
            f", and {counted(s.problem.x0.size, 'coefficient')} for each fold."
        ),
        work=lambda s: s.work,
    ),
]

SOLVERS: list[Choice[Problem, LinearSolver]] = [
    Choice(
        "a Cholesky factor of the Hessian",
        holds=lambda p: by_factors(p),
        build=lambda p: linears.Cholesky(),
        why=lambda p: f"{_square(_side(p))} is small.",
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
        why=lambda p: f"{_square(_side(p))} is too large for a factor, and its diagonal of no use.",
        work=lambda p: "Each iteration takes a pass over the data.",
    ),
    Choice(
        "conjugate gradients, preconditioned by the diagonal",
        holds=lambda p: True,
        build=lambda p: linears.CG(5000, linears.jacobi),
        why=lambda p: f"{_square(_side(p))} is too large for a factor.",
        work=lambda p: "Each iteration takes a pass over the data.",
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
    question = Question(known, several, by_steps, certificate, inner, linear, n_jobs)
    return built(TABLE, question)


def built(table: Sequence[Choice[Q, Criterion]], asked: Q) -> Criterion:
    """What the first row that holds makes, with what is to be said of it."""
    choice = first(table, asked)
    criterion = choice.build(asked)
    own = Chosen(asked.data, choice.name, choice.why(asked), choice.work(asked))
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
    """The problem on rows that were brought here, where these are all of them."""
    if not isinstance(problem, LinearModel) or problem.train.far is None:
        return problem
    if not problem.train.far.whole:
        return problem
    return near_models(problem.train.far, [problem])[0]


# ---- what holds


def by_factors(problem: Problem) -> bool:
    """Whether its linear systems are solved by a factor of the Hessian."""
    facts = problem.facts
    if facts is None:
        return False
    if facts.quadratic:
        return facts.formed or factorable(facts.side)
    return facts.side <= (DIRECT if facts.side <= facts.rows else DIRECT_WIDE)


def _exact(problem: Problem) -> bool:
    """Whether factors solve it to rounding at no further cost."""
    facts = problem.facts
    if facts is None or not by_factors(problem) or problem.inner is not None:
        return False
    if not facts.convex or problem.roundoff > ROUNDOFF:
        return False
    return facts.side <= DIRECT if facts.quadratic else cheap(facts.rows * facts.side**2)


def _in_a_space(model: LinearModel) -> bool:
    """Whether a small space that gradients span serves every λ."""
    simple = model.train.row_by_row and model.train.design.spread is None
    simple = simple and model.train.far is None  # the images of all rows would have to be kept
    return model.one_penalty and model.train.convex and simple


def _misleading_diagonal(problem: Problem) -> bool:
    """Columns of dense rows, and penalties, may differ in scale; else the diagonal misleads."""
    facts = cast(Facts, problem.facts)
    return facts.products or (facts.sparse and np.size(problem.lam0) == 1)


def _side(problem: Problem) -> int:
    return cast(Facts, problem.facts).side


def _one_ridge(model: LinearModel) -> bool:
    """Whether one λ penalises all coefficients, and nothing else does."""
    penalty, slopes = model.penalty, model.train.design.slopes
    return isinstance(penalty, Ridge) and penalty.floor == 0.0 and penalty.shared(slopes)


def _of_squares(model: LinearModel) -> bool:
    """Whether it is a ridge regression, judged by squares."""
    squared = type(model.train.loss) is type(model.test.loss) is Squared
    return squared and isinstance(model.penalty, Ridge)


def _decomposable(model: LinearModel) -> bool:
    """Whether one decomposition gives f for every λ."""
    facts = model.facts
    if not decomposable(min(facts.rows, facts.side)):
        return False
    # Rows are kept as arrays where they are wide, or judged by another loss.
    tall = facts.side <= facts.rows and type(model.test.loss) is Squared
    return storable(facts.rows, facts.side) or tall


def one_would_do(model: LinearModel) -> bool:
    """Whether several ridge penalties reach all slopes, so that one might."""
    penalty = model.penalty
    if not isinstance(penalty, Ridge) or penalty.n_lam == 1:
        return False
    return bool(np.all(penalty.groups[: model.train.design.slopes] >= 0))


# ---- what is built


def with_one_penalty(model: LinearModel) -> LinearModel:
    """The same model with one λ for all slopes."""
    penalty = cast(Ridge, model.penalty)
    one = penalty.with_groups(np.minimum(penalty.groups, 0))
    return LinearModel(model.train, model.test, one, model.ledger)


def _target_by_target(q: Question) -> Criterion:
    assert q.design is not None
    found = BandsApart(q.models, q.design, q.sets, q.each, q.several, q.n_jobs)
    found.at_once = None if q.partitioned else q.n_jobs
    return found


def _by_own_columns(q: Question) -> Criterion:
    """Each fold by itself, its columns in units in which it penalises them alike.

    What is done to all folds together needs penalties that treat directions alike: the span of few
    rows, a space that gradients span.
    """
    turned = map(unweighted, q.models)
    return q.or_one_penalty(q.added([Rescaled(plan(own), scale) for own, scale in turned]))


def _joint(q: Question, design: FoldedDesign | None) -> Criterion:
    """With a search on a sample first, where the rows are not in memory."""
    criterion = q.of(Joint, design)
    if q.partitioned:
        criterion.surrogate = q.on_sample
    return criterion


def _by_steps(s: Single) -> Criterion:
    certificate = s.question.certificate
    measured, bound = certificate != "none", certificate == "bound"
    refined = measured and s.chosen and by_factors(s.problem)  # for a back-substitution or two
    how: dict[str, Any] = {"certificate": measured, "corrected": refined, "bound": bound}
    return Implicit(s.problem, *s.solvers, **how)


def _to_rounding(s: Single, has_hessian: bool) -> Criterion:
    # A few long steps gain nothing from the secant of the solutions, and do without its memory.
    how: dict[str, Any] = {
        "certificate": False,
        "extrapolate": False,
        "exact": True,
        "has_hessian": has_hessian,
    }
    return Implicit(s.problem, *s.solvers, **how)


def _to_tolerance(s: Single) -> Implicit:
    """For several λ, errors are measured at the end only, for that takes more than all the rest."""
    how: dict[str, Any] = {
        "certificate": s.one,
        "corrected": s.one,
        "by_distance": s.one,
        "bound": False,
    }
    return Implicit(s.problem, *s.solvers, extrapolate=s.one and not s.in_a_space, **how)


def _in_space(s: Single) -> Criterion:
    bend, setup = s.preconditioners.of(cast(LinearModel, s.problem))
    plain = _to_tolerance(s)
    if bend is not None and s.chosen and not by_factors(s.problem):
        plain.linear = linears.CG(5000, partial(by_gram, bend))
        plain.inner = inners.Newton(plain.linear)
    return Galerkin(plain, bend, setup)


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


def _newton(q: Question, size: int) -> str:
    """What Newton's method for all folds takes, by factors of so many coefficients."""
    K = len(q.models)
    return (
        f"A few Newton steps, each {counted(K, 'pass')} over the data, one Gram matrix of the rows "
        f"and {counted(K, 'factor')} of {_square(size)}; the adjoints by the same factors."
    )


def _by_squares(q: Question) -> str:
    return (
        f"One Gram matrix of the rows at first; then {counted(len(q.models), 'factor')} of "
        f"{_square(q.columns)} and no pass over the data."
    )


def _about(number: float) -> str:
    """A number to two digits: 22, 4500, 3.1e7."""
    return f"{number:.0f}" if number < 1e5 else f"{number:.1e}".replace("e+0", "e")


def _square(size: int) -> str:
    return f"{size} × {size}"


def counted(number: int, what: str) -> str:
    """1 fold, 5 folds, 5 passes."""
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}es" if what.endswith("s") else f"{number} {what}s"
