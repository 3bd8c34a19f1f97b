"""The values that the parts of the library hand to each other, all of them frozen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum, auto
from typing import Any

import numpy as np

from hoag._core.deprecated import deprecated
from hoag._core.errors import MissingPackageError
from hoag._core.numeric import DOUBT, Array
from hoag._core.storable import storable
from hoag._core.types import PyTree, Warm
from hoag._core.words import about, brief, counted, percent


@storable
@dataclass(frozen=True)
class Cost:
    """What was spent. One A@v plus one Aᵀ@u over the training rows is one pass.

    Parameters
    ----------
    passes : float, default=0
        Passes over the training rows.
    held_out : float, default=0
        The same over the held-out rows.
    kernels : float, default=0
        Kernel matrices that were built.
    certificate : float, default=0
        The part of `passes` that went into measuring the error of the gradient.
    grams : float, default=0
        Matrices Aᵀ diag(s) A over all rows, and factors of them by their operations beside those: a
        matrix product, which on few columns takes no longer than a few passes.
    reads : float, default=0
        How often out-of-core rows were gone through: one read may serve many passes.

    Examples
    --------
    >>> import hoag
    >>> hoag.criteria.Cost(passes=3) + hoag.criteria.Cost(passes=1, grams=2)
    Cost(passes=4, held_out=0.0, kernels=0.0, certificate=0.0, grams=2.0, reads=0.0)
    """

    passes: float = 0.0
    held_out: float = 0.0
    kernels: float = 0.0
    certificate: float = 0.0
    grams: float = 0.0
    reads: float = 0.0

    # Added up for every request of a search, of which a survey has thousands: dataclasses.astuple
    # would copy deeply.
    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(operator.add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*map(operator.sub, vars(self).values(), vars(other).values()))


@dataclass(frozen=True, eq=False)
class Solve:
    """What an inner or a linear solver found.

    Parameters
    ----------
    x : array of shape (p,)
        The solution, as far as it was found.
    residual : float
        ‖∇₁h‖, or ‖A q − b‖, at `x`.
    iterations : int
        How many steps, or products with A, it took.
    reason : str
        Why the solver stopped: "tolerance", "precision" (the tolerance is below rounding, which
        counts as converged), "max_iter", "stalled" (no further decrease was found), "indefinite"
        (negative curvature was met), "given" (the user's own solver ended there) or "not_finite" (a
        product overflowed).
    point : Point, default=None
        From an inner solver: the problem at `x`.
    r : array of shape (p,), default=None
        From a linear solver: A q − b.
    inverse : callable, default=None
        b ↦ A⁻¹b where a factor was made, to be handed on; from an inner solver, that of the last
        step.
    damping : float, default=0
        The δ with which (A + δI) q = b was solved, where A was not positive definite.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> found = hoag.solvers.CG().solve(np.diag([1.0, 4.0]), np.array([1.0, 4.0]), None, 1e-9)
    >>> found.converged, found.reason, found.x.round(6)
    (True, 'tolerance', array([1., 1.]))
    """

    x: Array
    residual: float
    iterations: int
    reason: str
    point: Any = field(default=None, repr=False)
    r: Any = field(default=None, repr=False)
    inverse: Callable[[Array], Array] | None = field(default=None, repr=False)
    damping: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached, or rounding."""
        return self.reason in ("tolerance", "precision")

    @property
    def bent(self) -> bool:
        """Whether A was found not to be positive definite."""
        return self.reason == "indefinite" or self.damping > 0


@storable
@dataclass(frozen=True)
class Ask:
    """How precise an evaluation is wanted, and what of it.

    Parameters
    ----------
    eps : float, default=0
        The error that p may have, or f where no gradient is asked for, up to the constants of the
        problem: `Implicit` solves both its systems to residuals of ε, as the paper does. 0 is as
        exact as can be, ∞ whatever the start gives.
    gradient : bool, default=True
        With p; otherwise f alone.
    free : bool, default=False
        Only what costs no pass over the rows, of criteria whose traits offer it.
    rows : int, default=None
        On a sample of so many training rows, of criteria whose traits offer it; None is all rows.
    hessian : bool, default=False
        With ∇²f, of criteria whose traits offer it.
    seed : int, default=0
        Of the order in which rows come into samples: a larger sample holds the smaller ones.

    Examples
    --------
    >>> import hoag
    >>> hoag.criteria.Ask(1e-3).gradient, hoag.criteria.Ask(free=True).whole
    (True, False)
    """

    eps: float = 0.0
    gradient: bool = True
    free: bool = False
    rows: int | None = None
    hessian: bool = False
    seed: int = 0

    @staticmethod
    def of(ask: Ask | float) -> Ask:
        """A number is short for a gradient with this ε."""
        return ask if isinstance(ask, Ask) else Ask(float(ask))

    @property
    def whole(self) -> bool:
        """On all rows, and worth a line in the trace."""
        return not self.free and self.rows is None


@storable
@deprecated(attributes={"corrected": "value"})
@dataclass(frozen=True, eq=False)
class Evaluation:
    """f(λ) ± f_error and its approximate gradient p ± error.

    Parameters
    ----------
    lam : array of shape (s,)
        Where it was evaluated.
    value : float
        f(λ) as well as it is known: g − q·∇₁h where an adjoint q is known.
    grad : array of shape (s,)
        p, or the refined p⁺; nan where it was not asked for.
    g : float, default=nan
        g(x, λ) at the computed x.
    f_error : float, default=0
        About how far `value` is from f(λ); ∞ where x was not solved for, nan if not measured.
    error : float, default=nan
        Estimate of ‖p − ∇f(λ)‖ for `grad`; nan where it was not measured.
    bound : float, default=inf
        Rigorous bound on the same, up to rounding; ∞ where none is known.
    correction : array of shape (s,), default=None
        p⁺ − p, the estimated error as a vector; None where it was not measured.
    x : array or tuple of arrays, default=None
        The inner solution, a tuple for a sum of criteria; None until it is asked for.
    warm : object, default=None
        Where the next evaluation may start; only the criterion that made it opens it.
    cost : Cost, default=Cost()
        What the evaluation took.
    converged : bool, default=True
        Whether every solve reached its tolerance.
    note : str, default=""
        What did not converge, in a sentence.
    parts : tuple of Evaluation, default=()
        The evaluations that a sum added up.
    hessian : array of shape (s, s), default=None
        ∇²f(λ); None where it was not asked for.
    folds : array of shape (K,), default=None
        What each fold, or each row left out, adds to f; None where that is not known.
    tangents : array or tuple of arrays, default=None
        dX/dλ, as x is laid out, with one more axis of length s; a tuple for folds. None where ∇²f
        was not asked for.
    profile : pair of arrays of shape (s, L), default=None
        Where a search that ended here has scanned every axis, from bound to bound, and what a model
        of f says there.
    on_sample : pair of float, default=None
        f_error and error as they are for f on a sample of the rows, if this is one, and stands for
        f on all of them; None on all rows.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> found = hoag.plan(folds).evaluate(-1.0)
    >>> found.grad.shape, found.error < 1e-3
    ((1,), True)
    """

    lam: Array
    value: float
    grad: Array
    g: float = float("nan")
    f_error: float = 0.0
    error: float = float("nan")
    bound: float = float("inf")
    correction: Array | None = None
    x: PyTree = field(default=None, repr=False)
    warm: Warm = field(default=None, repr=False)
    cost: Cost = Cost()
    converged: bool = True
    note: str = ""
    parts: tuple[Evaluation, ...] = field(default=(), repr=False)
    hessian: Array | None = field(default=None, repr=False)
    folds: Array | None = field(default=None, repr=False)
    tangents: PyTree = field(default=None, repr=False)
    profile: tuple[Array, Array] | None = field(default=None, repr=False)
    on_sample: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if np.isnan(self.g):
            object.__setattr__(self, "g", self.value)

    @property
    def own_errors(self) -> tuple[float, float]:
        """f_error and error beside others on the same rows, whose sampling error is the same."""
        return (self.f_error, self.error) if self.on_sample is None else self.on_sample

    @property
    def highest(self) -> float:
        """value + 5·f_error: f is hardly above it. Where x was not solved for, infinity."""
        if not np.isfinite(self.value):
            return float("inf")
        return self.value + (0.0 if np.isnan(self.f_error) else DOUBT * self.f_error)

    def light(self, folds: bool = False) -> Evaluation:
        """The numbers alone, without solutions and warm starts; those of `folds` if asked for."""
        losses = self.folds if folds else None
        held = (self.x, self.warm, self.tangents)
        if all(one is None for one in held) and losses is self.folds and not self.parts:
            return self
        parts = tuple(part.light() for part in self.parts)
        return replace(self, x=None, warm=None, tangents=None, folds=losses, parts=parts)


@storable
@dataclass(frozen=True, eq=False)
class Step:
    """One evaluation of a search: which, where, to what tolerance, and the cost since the start.

    A callback sees the whole evaluation; in a trace only the best and the last step keep their x.

    Parameters
    ----------
    k : int
        The number of the step, from 1.
    eps : float
        The ε that was asked for.
    evaluation : Evaluation
        λ, f and p there.
    cost : Cost
        What the search has taken so far.
    seconds : float
        How long the search has run.
    step_size : float, default=nan
        The step size, of searches that have one.
    mapping : float, default=nan
        The norm of the projected gradient, of searches that measure it.
    layout : object, default=None
        How λ and x look to the user; None where they are flat arrays.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> seen = []
    >>> result = hoag.minimize(folds, callback=lambda step: seen.append(step.k))
    >>> seen == [step.k for step in result.trace]
    True
    """

    k: int
    eps: float
    evaluation: Evaluation
    cost: Cost
    seconds: float
    step_size: float = float("nan")
    mapping: float = float("nan")
    layout: Any = field(default=None, repr=False)

    @property
    def lam(self) -> PyTree:
        """A flat array; or as the user's own problem has it."""
        flat = self.evaluation.lam
        return flat if self.layout is None else self.layout.given_lam(flat)


class Reason(StrEnum):
    """Why a search stopped; each is equal to its string, such as "converged".

    With any but the first, the best that was seen is returned.

    Attributes
    ----------
    CONVERGED : str
        The loss can fall by no more than the tolerance: this is the answer.
    FINISHED : str
        Every point that was to be evaluated was, as on a grid.
    MAX_ITER : str
        So many steps as were allowed have been made.
    TIME_BUDGET : str
        So many seconds as were allowed are over.
    CALLBACK : str
        The callback said so.
    INTERRUPTED : str
        Ctrl-C, or an exception that ended the program.
    STALLED : str
        No step lowers the loss, or its slope is not known well enough for one.
    FAILED : str
        An evaluation raised an error, after others had not.
    NOT_FINITE : str
        The loss or its derivatives are nan, infinite or too large to compute with.
    LEFT_BEHIND : str
        It had converged, and the loss is lower at a λ that it had evaluated before.
    NOT_VERIFIED : str
        It had converged, and the loss, computed again, is not known to the tolerance.

    Examples
    --------
    >>> import hoag
    >>> hoag.optimize.Reason("max_iter") == "max_iter"
    True
    """

    CONVERGED = auto()
    FINISHED = auto()
    MAX_ITER = auto()
    TIME_BUDGET = auto()
    CALLBACK = auto()
    INTERRUPTED = auto()
    STALLED = auto()
    FAILED = auto()
    NOT_FINITE = auto()
    LEFT_BEHIND = auto()
    NOT_VERIFIED = auto()


@storable
@dataclass(frozen=True)
class Status:
    """Why a search stopped: a reason for programs, and a sentence for people, made of the rest.

    Whoever has something to add says `status.noted("A sentence.")`.

    Parameters
    ----------
    reason : Reason or str
        One of the reasons of `hoag.optimize.Reason`.
    why : str, default=""
        What the search says of its end, as a sentence; "" where `gain` says all of it.
    gain : float, default=nan
        The loss can still fall by this share of itself at most; nan where nobody knows.
    notes : tuple of str, default=()
        What else to know of the result, and what to do: more sentences.
    how : str, default=""
        How the search went about it, a sentence for `Result.explain`.
    basins : int, default=1
        In how many minima it ended that it started from several λ.
    summary : str, default=""
        What `Result.worded` says in place of `why`.

    Examples
    --------
    >>> import hoag
    >>> print(hoag.Status("converged", gain=8e-5))
    Converged: the loss cannot improve by more than 0.008 %.
    >>> print(hoag.Status("stalled", "No step makes the loss fall.").noted("Scale the columns."))
    No step makes the loss fall. Scale the columns.
    """

    reason: Reason | str
    why: str = ""
    gain: float = float("nan")
    notes: tuple[str, ...] = ()
    how: str = ""
    basins: int = 1
    summary: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", Reason(self.reason))

    @property
    def converged(self) -> bool:
        """Whether the reason is "converged"."""
        return self.reason is Reason.CONVERGED

    @property
    def ended(self) -> str:
        """Why the search stopped, without the notes."""
        return self.why or f"Converged: the loss {_cannot(self.gain)}."

    @property
    def sentence(self) -> str:
        """All of it, as `str` has it."""
        return " ".join((self.summary or self.ended, *self.notes))

    def noted(self, *notes: str) -> Status:
        """The same with more notes; those that are "" are none."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    def __str__(self) -> str:
        return self.sentence


def _ranges(names: Sequence[str], low: Array, high: Array, digits: int = 4) -> str:
    """C from 1e-6 to 4e5, or C = 0.63; several of one name together."""
    parts = []
    for name in dict.fromkeys(names):
        own = [j for j, other in enumerate(names) if other == name]
        ends = [brief(end, digits) for end in (np.min(low[own]), np.max(high[own]))]
        many = f" ({len(own)} values)" if len(own) > 1 else ""
        parts.append(
            f"{name} = {ends[0]}"
            if len(own) == 1 and ends[0] == ends[1]
            else f"{name}{many} from {ends[0]} to {ends[1]}"
        )
    return ", ".join(parts)


def _cannot(gain: float) -> str:
    return f"cannot improve by more than {percent(gain)}"


@deprecated(attributes={"corrected": "value"})
@storable
@dataclass(frozen=True, eq=False)
class Result:
    """Where a search converged, or the best point that it evaluated.

    λ, x, value and gradient belong together, and `value` was computed once more at λ, outside
    whatever approximation the search went by. λ and x are as the user's own problem has them
    (dicts, modules); flat, as the search moved them, they are in `evaluation`.

    Attributes
    ----------
    lam : array of shape (s,), or structure
        The hyperparameters.
    x : array, tuple of arrays, or structure
        The inner solution; a tuple for a sum of criteria.
    value : float
        f(λ), the loss.
    grad : array of shape (s,)
        The hypergradient.
    converged : bool
        Whether the search has found what it was to find.
    status : Status
        Why it ended, as a sentence.
    evaluation : Evaluation
        All that is known of f at λ, with the errors of value and gradient.
    trace : tuple of Step
        The evaluations of the search.
    cost : Cost
        What everything took, what came after the last step of the trace too.
    seconds : float
        How long it took.
    names : tuple of str
        Of the hyperparameters, where somebody has named them.
    unit : str
        What a pass of the cost is.
    searched : array of shape (s, 2) or None
        The least and the largest value of each λ that was searched.
    chosen : str
        What computed the loss, and why that.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds)
    >>> result.converged, str(result.status.reason), len(result.trace) >= 1
    (True, 'converged', True)
    >>> len(result.to_frame()) == len(result.trace)
    True
    """

    evaluation: Evaluation
    status: Status
    trace: tuple[Step, ...] = field(repr=False)
    cost: Cost = Cost()
    seconds: float = 0.0
    names: tuple[str, ...] = field(default=(), repr=False)
    layout: Any = field(default=None, repr=False)
    unit: str = field(default="passes over the data", repr=False)
    searched: Array | None = field(default=None, repr=False)
    chosen: str = field(default="", repr=False)

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.status.reason
        lam = self._shown()
        return f"Result(lam={lam}, value={self.value:.6g}, {how}, {len(self.trace)} steps)"

    def __str__(self) -> str:
        """A summary of eight lines."""
        found = self.evaluation
        lam, size = self._shown(), found.lam.size
        many = f" ({size} hyperparameters)" if size > 1 else ""
        lines = {
            "lam": lam + many,
            "loss": f"{self.value:.8g} ± {found.f_error:.1e}",
            "slope": self._slope(),
            "ended": self.status.reason,
            "why": str(self.status),
            "steps": str(len(self.trace)),
            "cost": self._cost(),
            "seconds": f"{self.seconds:.3g}",
        }
        return "\n".join(f"{name:8} {line}" for name, line in lines.items())

    def explain(self) -> str:
        """As text: what was found, how, how exactly, at what cost, and what computed the loss."""
        unmeasured = np.isnan(self.evaluation.error)
        measure = '; its error was not measured: certificate="estimate" does it'
        steps = f"{counted(len(self.trace), 'step')}, {self._cost()}, {self.seconds:.2g} seconds."
        lines = {
            "Result": str(self.status),
            "Search": self.status.how,
            "Loss": f"{self.value:.8g} ± {self.evaluation.f_error:.1e}, computed once more at the "
            "end, by its definition.",
            "Gradient": f"{self._slope()}{measure if unmeasured else ''}.",
            "Cost": steps,
            "Computed": self.chosen,
        }
        return "\n".join(f"{name}: {line}" for name, line in lines.items() if line)

    def _slope(self) -> str:
        """‖p‖, with its certificate."""
        grad, found = float(np.linalg.norm(self.grad)), self.evaluation
        known = "" if np.isnan(found.error) else f", known to ± {found.error:.1e}"
        return f"{grad:.1e}{known}" + (
            f" (at most {found.bound:.1e})" if np.isfinite(found.bound) else ""
        )

    def _cost(self, last: str = "") -> str:
        """What was spent; `last` says what part of the passes the last fit took."""
        cost = self.cost
        parts = [
            (cost.passes, f"{about(cost.passes)} {self.unit}{last}"),
            (cost.grams, counted(round(cost.grams), "Gram matrix")),
            (cost.kernels, counted(round(cost.kernels), "kernel matrix")),
            (cost.reads, f"{counted(round(cost.reads), 'pass')} over rows out of core"),
        ]
        return ", ".join(words for number, words in parts if number >= 0.5) or "no pass"

    # ---- in the words of those who see it

    def worded(
        self,
        parameter: str | Sequence[str] | None = None,
        shown: Callable[[Array], Array] | None = None,
        loss: str = "loss",
        error: float = float("nan"),
        bounded: Any = True,
    ) -> Result:
        """The same result, whose status speaks of what the user knows.

        A search knows λ alone. An estimator says what λ and the loss are called, when all else is
        known (translated to the user's units, `searched` where bounds were moved, notes added):

            result.worded("C", lambda lam: np.exp(-lam), "cross-validated log loss", spread)

        so that result.status reads "Searched C from 1e-6 to 4e5; best C = 0.63; cross-validated log
        loss 0.0782 ± 0.0002; cannot improve by more than 0.01 %.", with the notes after it.

        parameter  what each λ is called, or one name for all: several of one name are one range.
                   By default `names`, if these are few, or lam
        shown      from λ, shape (s,), to the values that the user knows; elementwise
        loss       what `value` is
        error      its standard error, where that is known
        bounded    for which λ, (s,), somebody gave the bounds: of those a bound is worth a word
        """
        lam, status = self.evaluation.lam, self.status
        shown = self._numbers if shown is None else shown
        if parameter is None:
            parameter = self.names if 0 < len(self.names) <= 6 else "lam"
        names = [parameter] * lam.size if isinstance(parameter, str) else list(parameter)
        best, said, held = shown(lam), "", ""
        if self.searched is not None:
            ends = np.sort([shown(side) for side in self.searched.T], axis=0)
            held = self._held(names, best, ends[1], bounded)
            if np.all(np.isfinite(self.searched)):
                said = f"Searched {_ranges(names, ends[0], ends[1], 2)}; "
            if np.all(ends[0] == ends[1]):
                said = "Nothing was searched, for no more than one value was given; "
        spread = "" if np.isnan(error) else f" ± {brief(error, 2)}"
        so_far = "" if status.converged or status.reason is Reason.FINISHED else "so far "
        each = _ranges(names, best, best)
        if isinstance(parameter, str) and 1 < lam.size == len(self.names) <= 4:
            pairs = zip(best, self.names, strict=True)
            each = f"{parameter} = {', '.join(f'{brief(own)} ({name})' for own, name in pairs)}"
        said += f"{so_far}best {each}; {loss} {brief(self.value)}{spread}"
        gained = status.converged and not status.why
        within = " within these bounds" if held else ""
        said += f"; {_cannot(status.gain)}{within}." if gained else f". {status.ended}"
        summary = f"{said[0].upper()}{said[1:]}{held}"
        return replace(self, status=replace(status, summary=summary))

    def on_bounds(self) -> list[tuple[int, int]]:
        """Which λ are on a bound beyond which the loss still falls: j, and 0 for the lower bound.

        A λ that was fixed is where it was wanted.
        """
        if self.searched is None:
            return []
        lam, p, (low, high) = self.evaluation.lam, self.grad, self.searched.T
        lower = np.flatnonzero((low < high) & (lam <= low) & (p > 0))
        upper = np.flatnonzero((low < high) & (lam >= high) & (p < 0))
        return [(int(j), 0) for j in lower] + [(int(j), 1) for j in upper]

    def _held(self, names: Sequence[str], best: Array, most: Array, bounded: Any) -> str:
        """What is on a bound, as a sentence; `most` are the upper bounds of what is shown."""
        counts = np.broadcast_to(bounded, best.shape)
        held = [one for one in self.on_bounds() if counts[one[0]]]
        if not held:
            return ""
        if len(held) > 1:
            return f" {len(held)} of {best.size} hyperparameters are on a bound."
        j = held[0][0]
        several = list(names).count(names[j]) > 1
        index = f" of {self.names[j]}" if several and len(self.names) == best.size else ""
        index = f"[{j}]" if several and not index else index
        side = "upper" if best[j] >= most[j] else "lower"
        where = f" {names[j]}{index} = {brief(best[j])} is on its {side} bound"
        return f"{where}: the best value may lie beyond."

    def _numbers(self, lam: Array) -> Array:
        """λ flat, in the user's units."""
        return lam if self.layout is None else np.asarray(self.layout.scales.to(lam))

    def _shown(self) -> str:
        lam = self._numbers(self.evaluation.lam)
        if self.layout is not None and all(self.names) and 0 < len(self.names) <= 6:
            named = zip(self.names, lam, strict=True)
            return "{" + ", ".join(f"{name}: {value:.4g}" for name, value in named) + "}"
        return np.array2string(lam, precision=4, threshold=6, edgeitems=2)

    @property
    def lam(self) -> PyTree:
        """The hyperparameters, as the user's problem has them."""
        flat = self.evaluation.lam
        return flat if self.layout is None else self.layout.given_lam(flat)

    @property
    def x(self) -> PyTree:
        """The inner solution, as the user's problem has it."""
        flat = self.evaluation.x
        return flat if self.layout is None else self.layout.given_x(flat)

    @property
    def value(self) -> float:
        """f(λ), the loss."""
        return self.evaluation.value

    @property
    def grad(self) -> Array:
        """The hypergradient at λ, (s,)."""
        return self.evaluation.grad

    @property
    def converged(self) -> bool:
        """Whether the search has found what it was to find."""
        return self.status.converged

    def to_frame(self) -> Any:
        """The trace as a pandas DataFrame, one row for each step.

        Each hyperparameter has a column: lam_0, lam_1, …, or lam_ and its name, where they have
        names and are several.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingPackageError.of("Result.to_frame()", "pandas") from None
        size = self.evaluation.lam.size
        names = self.names if len(self.names) == size > 1 else [str(j) for j in range(size)]
        moved = np.array([step.evaluation.lam for step in self.trace])
        lams = np.array([self._numbers(lam) for lam in moved]).reshape(-1, size)
        rows = []
        for step in self.trace:
            found = step.evaluation
            rows.append(
                {
                    "value": found.value,
                    "f_error": found.f_error,
                    "grad_norm": float(np.linalg.norm(found.grad)),
                    "error": found.error,
                    "bound": found.bound,
                    "eps": step.eps,
                    "passes": step.cost.passes,
                    "held_out_passes": step.cost.held_out,
                    "kernels": step.cost.kernels,
                    "certificate_passes": step.cost.certificate,
                    "grams": step.cost.grams,
                    "seconds": step.seconds,
                    "step_size": step.step_size,
                    "converged": found.converged,
                }
            )
        steps = pd.DataFrame({"step": [step.k for step in self.trace]})
        columns = pd.DataFrame(lams, columns=[f"lam_{name}" for name in names])
        return pd.concat([steps, columns, pd.DataFrame(rows)], axis=1)
