"""Contract tests for problems, criteria, searches, rows and penalties that people write themselves.

Each raises an error with a sentence about what does not hold; our own suite runs them on
everything that the library has.

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
>>> sorted(hoag.testing.check_problem(problem))[:3]
['at', 'cross', 'g_lam']
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidInputError, InvalidParameterError
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation, Result
from hoag._core.types import ProblemLike
from hoag._criteria.base import Criterion
from hoag._glm.penalties import Penalty, QuadraticForm
from hoag._glm.rows import Rows
from hoag._linalg.symmetric import eigenvalues
from hoag.optimize._journal import Journal
from hoag.optimize._run import Run, Search
from hoag.problems import Problem, priced

__all__ = [
    "check_criterion",
    "check_penalty",
    "check_problem",
    "check_rows",
    "check_same",
    "check_search",
]

# Central differences are right to about roundoff^(2/3); a wrong derivative is off by far more.
TOLERANCE = 1e-5
STEPS = 10.0 ** -np.arange(1, 8)


def check_problem(
    problem: ProblemLike,
    x: npt.ArrayLike | None = None,
    lam: npt.ArrayLike | None = None,
    seed: int = 0,
    directions: int = 3,
) -> dict[str, float]:
    """Compare every derivative with central differences, at (x, λ) and along random directions.

    Parameters
    ----------
    problem : Problem
        Anything with `at`, `x0` and `lam0`.
    x : array-like of shape (p,), default=None
        Where; None is a random point near problem.x0.
    lam : array-like of shape (s,), default=None
        Where; None is a random point near problem.lam0.
    seed : int, default=0
        Of the random numbers.
    directions : int, default=3
        Along how many directions.

    Returns
    -------
    dict of str to float
        The relative discrepancy of each member.

    Raises
    ------
    InvalidDataError
        Where some are too large, with the names of the wrong ones.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> max(hoag.testing.check_problem(problem).values()) < 1e-6
    True
    """
    if isinstance(problem, type):
        raise InvalidParameterError(
            f"{problem.__name__} is a class.\nGive an instance, {problem.__name__}().",
            "problem",
            problem,
        )
    roundoff = problem.roundoff if isinstance(problem, Problem) else ROUNDOFF
    tolerance = max(TOLERANCE, 10 * roundoff**0.5)  # coarser arithmetic, coarser differences
    problem = priced(problem)
    rng = np.random.default_rng(seed)
    x0, lam0 = np.asarray(problem.x0, dtype=float), np.asarray(problem.lam0, dtype=float)
    x = x0 + rng.normal(size=x0.size) if x is None else np.array(x, dtype=float)
    lam = lam0 + rng.normal(size=lam0.size) / 2 if lam is None else np.array(lam, dtype=float)
    found: dict[str, float] = {}
    report: list[str] = []
    for _ in range(directions):
        v, w = _unit(rng, x.size), _unit(rng, lam.size)
        for name, off, sentence in _comparisons(problem, x, lam, v, w, rng):
            if off > tolerance and not found.get(name, 0.0) > tolerance:
                report.append(f"{name} {sentence} (off by {off:.1e}, relatively)")
            found[name] = max(found.get(name, 0.0), off)
    if report:
        raise InvalidParameterError(
            "The problem's derivatives are wrong at the point that was checked: "
            f"{'; '.join(report)}.",
            "problem",
        )
    return found


def _comparisons(
    problem: ProblemLike, x: Array, lam: Array, v: Array, w: Array, rng: np.random.Generator
) -> list[tuple[str, float, str]]:
    """(member, relative discrepancy, what it disagrees with) along the directions v and w."""
    x_before, lam_before = x.copy(), lam.copy()
    point = problem.at(x, lam)
    hessian, cross = point.hessian, point.cross
    u = _unit(rng, x.size)

    def along_x(name: str) -> Callable[[float], Any]:
        return lambda t: getattr(problem.at(x + t * v, lam), name)

    def along_lam(name: str) -> Callable[[float], Any]:
        return lambda t: getattr(problem.at(x, lam + t * w), name)

    Hv = hessian.matvec(v)
    symmetric = _relative(float(u @ Hv), float(v @ hessian.matvec(u)), _size(Hv))
    Dw = cross.matvec(w)
    adjoint = _relative(float(v @ Dw), float(w @ cross.rmatvec(v)), _size(Dw))
    mu = point.strong_convexity
    convex = 0.0
    if mu is not None:
        convex = max(float(mu) - float(v @ Hv), 0.0) / max(abs(float(mu)), 1e-300)
    touched = not (np.array_equal(x, x_before) and np.array_equal(lam, lam_before))
    return [
        ("h_x", _differences(along_x("h"), float(point.h_x @ v)), "is not the gradient of h in x"),
        ("hessian", _differences(along_x("h_x"), Hv), "is not the derivative of h_x in x"),
        ("hessian", symmetric, "is not symmetric"),
        ("cross", _differences(along_lam("h_x"), Dw), "is not the derivative of h_x in lam"),
        ("cross", adjoint, "has an rmatvec that is not the transpose of its matvec"),
        ("g_x", _differences(along_x("g"), float(point.g_x @ v)), "is not the gradient of g in x"),
        (
            "g_lam",
            _differences(along_lam("g"), float(point.g_lam @ w)),
            "is not the gradient of g in lam at fixed x",
        ),
        ("strong_convexity", convex, "exceeds a curvature of h"),
        ("at", 1.0 if touched else 0.0, "changes its arguments"),
    ]


def check_same(
    one: ProblemLike, other: ProblemLike, tol: float = 1e-8, points: int = 3, seed: int = 0
) -> dict[str, float]:
    """Check that two problems are the same function: h, g and all derivatives, at random points.

    x and λ are flat here, as a search sees them: λ of a problem of one's own on the scale that was
    given with it, x leaf by leaf.

    Parameters
    ----------
    one, other : Problem
        The two problems.
    tol : float, default=1e-8
        The relative discrepancy that is allowed.
    points : int, default=3
        At how many points.
    seed : int, default=0
        Of the random numbers.

    Returns
    -------
    dict of str to float
        The largest relative discrepancy of each member.

    Raises
    ------
    InvalidDataError
        Where some are above `tol`, with their names.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> halves = X[::2], y[::2], X[1::2], y[1::2]
    >>> one, other = hoag.models.ridge(*halves), hoag.models.ridge(*halves, penalties=[0] * 10)
    >>> max(hoag.testing.check_same(one, other).values()) < 1e-8
    True
    """
    rng = np.random.default_rng(seed)
    problems = [priced(one), priced(other)]
    x0, lam0 = problems[0].x0, problems[0].lam0
    for name, size in (("x0", x0.size), ("lam0", lam0.size)):
        if (found := np.size(getattr(other, name))) != size:
            raise InvalidParameterError(
                f"The two problems differ: {name} has {size} numbers, and {found}.", "problem"
            )
    wrong: dict[str, float] = {}
    for _ in range(points):
        x = x0 + rng.normal(size=x0.size)
        lam = lam0 + rng.uniform(-1.0, 1.0, size=lam0.size)
        v, w = _unit(rng, x.size), _unit(rng, lam.size)
        pairs = zip(*(_members(problem.at(x, lam), v, w) for problem in problems), strict=True)
        for (name, mine), (_, theirs) in pairs:
            wrong[name] = max(wrong.get(name, 0.0), _off(mine, theirs))
    apart = [f"{name} (by {off:.1e}, relatively)" for name, off in wrong.items() if not off <= tol]
    if apart:
        raise InvalidParameterError(f"The two problems differ in {', '.join(apart)}.", "problem")
    return wrong


def _members(point: Any, v: Array, w: Array) -> list[tuple[str, Any]]:
    """Everything that a point knows, operators by a product each way and the Hessian as a whole."""
    return [
        ("h", point.h),
        ("h_x", point.h_x),
        ("hessian", point.hessian @ v),
        ("hessian, formed", point.hessian.matrix()),
        ("cross", point.cross.matvec(w)),
        ("cross, transposed", point.cross.rmatvec(v)),
        ("g", point.g),
        ("g_x", point.g_x),
        ("g_lam", point.g_lam),
    ]


def _wrong_of_forms(at: QuadraticForm, S: Array, rng: np.random.Generator) -> dict[str, float]:
    """What a quadratic form says of many x, and of matrices, against its own matrices."""
    size, X = len(S), rng.normal(size=(2, len(S)))
    M, N = (A @ A.T for A in rng.normal(size=(2, size, size)))
    E = np.moveaxis(at.columns(np.eye(size)), -1, 0)
    roots = [a * F @ F.T for a, F in zip(at.strengths, at.roots(size), strict=True)]
    return {
        "apply is not a product with the matrix": _off(at.apply(X), X @ S),
        "value is not ½ xᵀSx": _off(at.value(X), 0.5 * np.sum(X @ S * X, axis=1)),
        "columns are not the derivatives in lam": _off(
            at.columns(X), np.einsum("jab,kb->kaj", E, X)
        ),
        "vjp is not the transpose of columns": _off(
            at.vjp(X, X[::-1]), np.einsum("ka,jab,kb->j", X, E, X[::-1])
        ),
        "added adds another matrix": _off(at.added(np.stack([M, N])), np.stack([M, N]) + S),
        "roots are not those of the derivatives": _off(np.stack(roots), E),
        "traces are not tr(EN)": _off(at.traces(N), np.einsum("jab,ba->j", E, N)),
        "pairs are not tr(EMEN)": _off(
            at.pairs(M, N), np.einsum("jab,bc,kcd,da->jk", E, M, E, N, optimize=True)
        ),
    }


def check_penalty(penalty: Penalty, lam: npt.ArrayLike | None = None, seed: int = 0) -> None:
    """Check derivatives against differences, products against matrices, adjoints, convexity, prox.

    Parameters
    ----------
    penalty : Penalty
        The penalty.
    lam : array-like of shape (s,), default=None
        Where; None is a random point.
    seed : int, default=0
        Of the random numbers.

    Raises
    ------
    InvalidDataError
        Where something does not hold, with its name.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.testing.check_penalty(hoag.glm.Ridge(np.array([0, 1, 1])))  # silence is consent
    """
    rng = np.random.default_rng(seed)
    lam = rng.normal(size=penalty.n_lam) / 2 if lam is None else np.array(lam, dtype=float)
    x, at = rng.normal(size=penalty.size), penalty.at(lam)
    v, w = _unit(rng, penalty.size), _unit(rng, penalty.n_lam)
    S = np.zeros((penalty.size, penalty.size))
    at.add_to(S, x)
    parts = [at.cross(x, unit) for unit in np.eye(penalty.n_lam)]
    wrong = {
        "gradient is not that of value": _differences(
            lambda t: at.value(x + t * v), at.gradient(x) @ v
        ),
        "product is not the derivative of gradient": _differences(
            lambda t: at.gradient(x + t * v), at.product(x, v)
        ),
        "cross is not the derivative of gradient in lam": _differences(
            lambda t: penalty.at(lam + t * w).gradient(x), at.cross(x, w)
        ),
        "cross_adjoint is not the transpose of cross": _off(
            at.cross_adjoint(x, v), np.array([part @ v for part in parts])
        ),
        "add_to adds another matrix than product multiplies by": _off(S @ v, at.product(x, v)),
        "diagonal is not that of the matrix": _off(at.diagonal(x), np.diag(S)),
        "the curvature is not symmetric": _off(S, S.T),
    }
    if isinstance(at, QuadraticForm):
        wrong |= _wrong_of_forms(at, S, rng)
    mu = at.strong_convexity
    if mu is not None:
        wrong["strong_convexity exceeds the least curvature"] = max(
            mu / max(float(eigenvalues(S)[0]), 1e-300) - 1, 0.0
        )
    try:
        u = at.prox(x, 0.7)
    except InvalidInputError:
        pass  # a smooth penalty need not have one
    else:
        wrong["prox does not minimise ½‖u − x‖² + step·penalty(u)"] = _off(
            u + 0.7 * at.gradient(u), x
        )
    _report(type(penalty).__name__, wrong)


def check_rows(rows: Rows, seed: int = 0) -> None:
    """Check every product against that of the dense matrix which the blocks make up.

    Parameters
    ----------
    rows : Rows
        The rows.
    seed : int, default=0
        Of the random numbers.

    Raises
    ------
    InvalidDataError
        Where a product is another, with its name.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> hoag.testing.check_rows(hoag.glm.ArrayRows(np.eye(4)))
    """
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    whole, covered = np.zeros((n, d)), np.zeros(n, dtype=int)
    for some, block in rows.dense_blocks():
        whole[some] += block
        covered[some] += 1
    if not np.all(covered == 1):
        raise InvalidParameterError(
            f"{type(rows).__name__}: the blocks do not cover every row once.", "rows"
        )
    weights = rng.uniform(0.1, 2.0, n)
    wrong: dict[str, float] = {}
    for K in ((), (3,)):
        v, r = rng.normal(size=(d, *K)), rng.normal(size=(n, *K))
        v_before, r_before = v.copy(), r.copy()
        wrong |= {
            f"forward is not A v for v of shape {v.shape}": _off(rows.forward(v), whole @ v),
            f"backward is not Aᵀ r for r of shape {r.shape}": _off(rows.backward(r), whole.T @ r),
            f"squared_backward is wrong for shape {r.shape}": _off(
                rows.squared_backward(r), (whole**2).T @ r
            ),
        }
        if not (np.array_equal(v, v_before) and np.array_equal(r, r_before)):
            raise InvalidParameterError(
                f"{type(rows).__name__}: a product changes its argument.", "rows"
            )
    columns = np.zeros((n, d))
    for some, block in rows.dense_columns():
        columns[:, some] += block
    half = np.sort(rng.permutation(n)[: max(1, n // 2)])
    part = rows.take(half)
    wrong |= {
        "gram is not Aᵀ diag(d) A": _off(rows.gram(weights), whole.T @ (weights[:, None] * whole)),
        "squared_norms are not ‖aᵢ‖²": _off(rows.squared_norms, np.sum(whole**2, axis=1)),
        "dense_columns are not A": _off(columns, whole),
        "take gives other rows": _off(part.forward(np.eye(d)), whole[half]),
        "the shape of take is wrong": float(part.shape != (half.size, d)),
    }
    if rows.entries < np.count_nonzero(whole):
        raise InvalidParameterError(
            f"{type(rows).__name__}: entries is below the number of nonzeros.", "rows"
        )
    _report(type(rows).__name__, wrong)


def check_criterion(
    criterion: Criterion, lam: npt.ArrayLike | None = None, tol: float = 1e-3
) -> Evaluation:
    """Check f, p, their errors, warm starts, scans and samples, at λ.

    p is compared with central differences of verified values, so `tol` is their relative error.

    Parameters
    ----------
    criterion : Criterion
        The criterion.
    lam : array-like of shape (s,), default=None
        Where; None is criterion.lam0.
    tol : float, default=1e-3
        The relative error that is allowed.

    Returns
    -------
    Evaluation
        The verified evaluation at λ.

    Raises
    ------
    InvalidDataError
        Where something does not hold, with its name.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> hoag.testing.check_criterion(hoag.criteria.Implicit(problem)).converged
    True
    """
    lam = np.array(criterion.lam0 if lam is None else lam, dtype=float)
    before, name = lam.copy(), type(criterion).__name__
    found = criterion.evaluate(lam, Ask(1e-8))
    known = criterion.verify(found, 1e-8 * abs(found.value))

    def verified(at: Array) -> float:
        near = criterion.evaluate(at, Ask(1e-8, gradient=False))
        return criterion.verify(near, 1e-9 * abs(near.value)).value

    step, slopes = 1e-3, []
    for unit in np.eye(lam.size)[:5]:
        ends = verified(lam + step * unit) - verified(lam - step * unit)
        slopes.append(ends / (2 * step))
    size = max(float(np.max(np.abs(slopes))), tol * abs(known.value))
    known_error = 0.0 if np.isnan(found.error) else 5 * found.error
    again = criterion.evaluate(lam, Ask(1e-8), pickle.loads(pickle.dumps(found.warm)))
    alone = criterion.evaluate(lam, Ask(1e-8, gradient=False))
    x, cost = criterion.solution(found)
    wrong = {
        "grad is not the slope of f": max(_size(found.grad[:5] - slopes) - known_error, 0.0)
        / size
        * (TOLERANCE / tol),
        "verification moves f by more than f_error": _beyond(known.value - found.value, found),
        "a value without a gradient differs": _beyond(alone.value - found.value, found, alone),
        "from a warm start f differs": _beyond(again.value - found.value, found, again),
        "lam is changed": float(not np.array_equal(lam, before)),
        "verification leaves out x": float(known.x is None and x is not None),
        "what the folds add is not f": 0.0
        if known.folds is None
        else _beyond(float(np.sum(known.folds)) - known.value, known),
        "something costs less than nothing": float(
            min(found.cost.passes, known.cost.passes, cost.passes) < 0
        ),
    }
    traits = criterion.traits
    if traits.scan_spacing:
        free = criterion.evaluate(lam, Ask(free=True), found.warm)
        wrong["f of a scan is not finite"] = 0.0 if np.isfinite(free.value) else 1.0
    if traits.rows is not None:
        few = criterion.evaluate(lam, Ask(1e-3, gradient=False, rows=max(traits.rows // 2, 1)))
        wrong["f on a sample is not finite"] = 0.0 if np.isfinite(few.value) else 1.0
    if traits.blocks.size not in (0, lam.size):
        wrong["blocks has another size than lam"] = 1.0
    _report(name, wrong)
    return known


class _Bowl(Criterion):
    """1 + ½‖λ − c‖², with an error that ε sets, for trying a search on."""

    def __init__(self, centre: Array, noise: float) -> None:
        self.centre, self.noise, self.evaluations = centre, noise, 0

    @property
    def lam0(self) -> Array:
        return np.zeros(self.centre.size)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        self.evaluations += 1
        d, off = lam - self.centre, self.noise * min(ask.eps, 1.0)
        value = 1.0 + 0.5 * float(d @ d)
        grad = d + off / np.sqrt(d.size) if ask.gradient else np.full(d.size, np.nan)
        return Evaluation(
            lam, value, grad, f_error=off**2, error=off, x=d, warm=lam.copy(), cost=Cost(passes=1.0)
        )


def check_search(
    search: Search,
    sizes: tuple[int, ...] = (1, 2),
    noise: float = 0.1,
    domain: Domain | None = None,
) -> None:
    """Check that a search stays in the domain, counts, stops for a callback, and can be replayed.

    Parameters
    ----------
    search : Search
        The search.
    sizes : tuple of int, default=(1, 2)
        The numbers of hyperparameters that it is tried with.
    noise : float, default=0.1
        How wrong the values are that it gets, as a share of what it asks for.
    domain : Domain, default=None
        Where; None is a box.

    Raises
    ------
    InvalidDataError
        Where something does not hold.

    Examples
    --------
    >>> import hoag
    >>> hoag.testing.check_search(hoag.optimize.Auto())
    >>> hoag.testing.check_search(hoag.optimize.Auto(), domain=hoag.domains.Ball(2.0))
    """
    name, given = type(search).__name__, domain
    for size in sizes:
        domain = Box(-3.0, 4.0, size=size) if given is None else given
        lam0 = domain.project(np.full(size, 2.0))
        bowl = _Bowl(np.linspace(-1.0, 1.5, size), noise)
        run = Run(bowl)
        result = run.drive(search, domain, lam0)
        stopped = Run(bowl, on_step=lambda step: True).drive(search, domain, lam0)
        replayed = Run(bowl, replay=run.journal).drive(search, domain, lam0)
        resumed = _resumed(search, domain, lam0, noise, len(run.journal.entries) // 2)
        wrong = {
            "a λ lies outside the domain": float(
                not all(domain.contains(step.lam) for step in result.trace)
            ),
            "the trace is empty": float(not result.trace),
            "the status has no sentence": float(not str(result.status).strip()),
            "a callback does not stop it": float(
                len(stopped.trace) > 1 and stopped.status.reason != "callback"
            ),
            "a journal leads to another result": _difference(result, replayed),
            "it does not go on from a journal as it went": _difference(result, resumed),
        }
        _report(name, wrong)


def _resumed(search: Search, domain: Domain, lam0: Array, noise: float, after: int) -> Result:
    """The search interrupted after some entries of its journal, which goes through a pickle."""
    kept: list[bytes] = []
    bowl = _Bowl(np.linspace(-1.0, 1.5, lam0.size), noise)
    run = Run(bowl, on_step=lambda step: _keep(run, kept, after))
    run.drive(search, domain, lam0)
    journal: Journal = pickle.loads(kept[-1])
    return Run(bowl, replay=journal).drive(search, domain, lam0)


def _keep(run: Run, kept: list[bytes], after: int) -> bool:
    if not kept or len(run.journal.entries) <= after:
        kept.append(pickle.dumps(run.journal))
    return False


def _difference(one: Result, other: Result) -> float:
    """0 where two results agree to the last bit, their costs too."""
    same = (
        np.array_equal(one.lam, other.lam)
        and one.value == other.value
        and replace(one.status) == other.status
        and one.cost == other.cost
        and [tuple(step.lam) for step in one.trace] == [tuple(step.lam) for step in other.trace]
    )
    return 0.0 if same else 1.0


def _beyond(gap: float, *found: Evaluation) -> float:
    """How much of a gap is left, relatively, when the errors of f are taken off."""
    known = sum(5 * (0.0 if np.isnan(f.f_error) else f.f_error) for f in found)
    left = max(abs(gap) - known, 0.0) / max(abs(found[0].value), 1e-300)
    return left if left > 1e-6 else 0.0


def _report(name: str, wrong: dict[str, float]) -> None:
    broken = [
        f"{what} (off by {off:.1e}, relatively)"
        for what, off in wrong.items()
        if not off <= TOLERANCE
    ]
    if broken:
        raise InvalidParameterError(f"{name} breaks its contract: {'; '.join(broken)}.")


def _off(a: Any, b: Any) -> float:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        return np.inf
    scale = max(_size(a.ravel()), _size(b.ravel()))
    off = 0.0 if scale == 0 else _size((a - b).ravel()) / scale
    return off if np.isfinite(off) else np.inf


def _differences(function: Callable[[float], Any], claimed: Any) -> float:
    """The least relative distance of `claimed` to a central difference, over several steps."""
    claimed = np.asarray(claimed, dtype=float)
    best = np.inf
    for t in STEPS:
        plus, minus = np.asarray(function(t), dtype=float), np.asarray(function(-t), dtype=float)
        difference = (plus - minus) / (2 * t)
        # What the difference cannot see: rounding of the values, and zeros of the derivative.
        noise = 1e-9 * (_size(plus) + _size(minus))
        scale = max(_size(claimed), _size(difference), noise)
        off = 0.0 if scale == 0 else _size(difference - claimed) / scale
        best = min(best, off if np.isfinite(off) else np.inf)
    return best


def _relative(a: float, b: float, scale: float) -> float:
    off = 0.0 if scale == 0 else abs(a - b) / scale
    return off if np.isfinite(off) else np.inf


def _size(v: Any) -> float:
    return float(np.linalg.norm(np.atleast_1d(v)))


def _unit(rng: np.random.Generator, size: int) -> Array:
    v = rng.normal(size=size)
    return np.asarray(v / np.linalg.norm(v))
