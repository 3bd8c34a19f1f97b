"""What people's own problems do wrong: kinks, failing members and solvers, complex numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hoag
from hoag import solvers
from hoag.errors import InvalidInputError, SingularProblemError
from hoag.problems import adopt

# ---- h that is not differentiable


def lasso(softened: float = 0.0, calls: list[int] | None = None):
    """½‖Ax − b‖² + exp(λ)Σ√(x² + δ²), which is |x| for δ = 0."""
    rng = np.random.default_rng(0)
    A, V = rng.normal(size=(2, 40, 20))
    b, c = A[:, 0] + rng.normal(size=40), V[:, 0] + rng.normal(size=40)

    def at(x, lam):
        if calls is not None:
            calls[0] += 1
        e, r = np.exp(lam[0]), np.sqrt(x**2 + softened**2)
        slope = x / np.where(r > 0, r, 1.0)
        bend = softened**2 / np.where(r > 0, r, 1.0) ** 3
        return SimpleNamespace(
            h=0.5 * float(np.sum((A @ x - b) ** 2)) + e * float(r.sum()),
            h_x=A.T @ (A @ x - b) + e * slope,
            hessian=A.T @ A + np.diag(e * bend),
            cross=(e * slope)[:, None],
            g=float(np.sum((V @ x - c) ** 2)),
            g_x=2 * V.T @ (V @ x - c),
            g_lam=np.zeros(1),
            strong_convexity=None,
        )

    return SimpleNamespace(x0=np.zeros(20), lam0=np.zeros(1), at=at)


def test_an_absolute_value_in_h_is_named():
    calls = [0]
    with pytest.raises(SingularProblemError, match=r"not differentiable .* jumps at x\[\d+\] = "):
        hoag.minimize(lasso(calls=calls))
    assert calls[0] < 500


@pytest.mark.parametrize("solver", [solvers.Newton, solvers.LBFGS, solvers.GradientDescent])
@pytest.mark.parametrize("lam", [-1.0, 1.0, 4.0])
def test_every_solver_that_stalls_at_a_kink_says_so(solver, lam):
    problem = adopt(lasso())
    with pytest.raises(SingularProblemError, match="smooth h, for instance"):
        solver().solve(problem, np.array([lam]), problem.x0, 1e-6)


def test_an_own_solver_that_ends_at_a_kink_is_told():
    problem = adopt(lasso())

    def solver(lam, x0):  # proximal steps, to the minimum
        x, t = x0, 1e-3
        for _ in range(3000):
            z = x - t * (problem.at(x, lam).h_x - np.exp(lam[0]) * np.sign(x))
            x = np.sign(z) * np.maximum(np.abs(z) - t * np.exp(lam[0]), 0.0)
        return x

    with pytest.raises(SingularProblemError, match="not differentiable"):
        solvers.UserSolver(solver).solve(problem, np.array([2.0]), problem.x0, 1e-6)


@pytest.mark.parametrize("softened", [1e-1, 1e-3])
def test_a_smoothed_absolute_value_is_minimised(softened):
    result = hoag.minimize(lasso(softened))
    assert result.converged
    assert result.evaluation.f_error < 1e-3 * result.value


def test_rounding_is_no_kink():
    """∇₁h known to 1e-5 of its parts: a solver stalls there, and says no more than that."""
    problem = lasso(0.1)

    def at(x, lam):
        point = problem.at(x, lam)
        point.h_x = point.h_x + 1e-5 * np.sin(1e12 * x)
        return point

    blurred = adopt(SimpleNamespace(x0=problem.x0, lam0=problem.lam0, at=at))
    for solver in (solvers.Newton(), solvers.LBFGS(), solvers.GradientDescent()):
        assert not solver.solve(blurred, np.zeros(1), problem.x0, 1e-12).converged


@pytest.mark.parametrize("solver", [solvers.Newton(), solvers.LBFGS(), solvers.GradientDescent()])
def test_the_edge_of_a_model_is_no_kink(solver):
    """½(x + 1)² where x > 0, next to infinite elsewhere, as where spreads are not positive."""

    def at(x, lam):
        inside = x[0] > 0
        return SimpleNamespace(
            h=0.5 * float((x[0] + 1) ** 2) if inside else 1e200,
            h_x=x + 1 if inside else np.array([-1e100]),
            hessian=np.eye(1),
            cross=np.zeros((1, 1)),
            g=0.0,
            g_x=np.zeros(1),
            g_lam=np.zeros(1),
            strong_convexity=None,
        )

    edged = adopt(SimpleNamespace(x0=np.ones(1), lam0=np.zeros(1), at=at))
    assert not solver.solve(edged, np.zeros(1), np.ones(1), 1e-8).converged


def test_no_value_of_a_sum_of_squares_is_negative():
    """g − q·∇₁h is no estimate of f where x is far from a minimum at which h has no gradient."""
    problem = lasso()
    criterion = hoag.criteria.Implicit(problem, inner=Lazy(), linear=hoag.solvers.CG())
    for lam in (0.0, 2.0, 4.0):
        found = criterion.evaluate(np.array([lam]), 1e-6)
        assert not found.converged
        assert found.value >= 0
        assert found.f_error >= abs(found.value - found.g)


class Lazy:
    """A solver that does one step, whatever is asked of it."""

    def solve(self, problem, lam, x0, tol):
        x = x0 - 1e-3 * problem.at(x0, lam).h_x
        point = problem.at(x, lam)
        return hoag._core.result.Solve(x, float(np.linalg.norm(point.h_x)), 1, "max_iter", point)


# ---- members that fail

MEMBERS = ("h", "h_x", "hessian", "cross", "g", "g_x", "g_lam")
LIMIT = 5000  # points that a search may ask for

SEARCHES = {
    "fast": hoag.optimize.Auto,
    "hoag": hoag.optimize.Hoag,
    "grid": lambda: hoag.optimize.Grid(3),
    "random": lambda: hoag.optimize.Random(3),
    "growing": hoag.optimize.Growing,
}

FAULTS = {
    "nan": lambda good: good * np.nan,
    "inf": lambda good: np.full_like(good, np.inf),
    "huge": lambda good: good * 1e300,
    "shape": lambda good: np.ones(3),
    "zero": lambda good: 1 // 0,
    "value": lambda good: int("theirs"),
}

RNG = np.random.default_rng(0)
ROWS, HELD_OUT = RNG.normal(size=(2, 30, 4))
SIGNS, HELD_OUT_SIGNS = np.sign(RNG.normal(size=(2, 30)) + ROWS[:, 0])


def members(x, lam):
    """Logistic regression, with a penalty for all or for each."""
    e, s = np.broadcast_to(np.exp(lam), 4), 1 / (1 + np.exp(SIGNS * (ROWS @ x)))
    held_out = HELD_OUT_SIGNS * (HELD_OUT @ x)
    return {
        "h": -np.sum(np.log1p(-s)) + 0.5 * np.sum(e * x**2),
        "h_x": -ROWS.T @ (SIGNS * s) + e * x,
        "hessian": ROWS.T @ ((s * (1 - s))[:, None] * ROWS) + np.diag(e),
        "cross": np.diag(e * x) if lam.size > 1 else (e * x)[:, None],
        "g": np.sum(np.logaddexp(0.0, -held_out)),
        "g_x": -HELD_OUT.T @ (HELD_OUT_SIGNS / (1 + np.exp(held_out))),
        "g_lam": np.zeros(lam.size),
    }


class Faulty:
    """Right, but for one member from one call on."""

    def __init__(self, member="", fault="nan", first=1, size=1):
        self.member, self.fault, self.first = member, FAULTS[fault], first
        self.x0, self.lam0, self.points, self.asked = np.zeros(4), np.zeros(size), 0, 0

    def at(self, x, lam):
        self.points += 1
        if self.points > LIMIT:
            pytest.fail(f"more than {LIMIT} points")
        owner = self

        class Point:
            strong_convexity = None

            def __getattr__(self, name):
                if name not in MEMBERS:
                    raise AttributeError(name)
                good = members(x, lam)[name]
                if name != owner.member:
                    return good
                owner.asked += 1
                return good if owner.asked < owner.first else owner.fault(good)

        return Point()


def ended(search, member, fault, first, size):
    """A result that is not said to be more than it is, an error of ours, or theirs as it was."""
    problem, result = Faulty(member, fault, first, size), None
    theirs = {"zero": ZeroDivisionError, "value": ValueError}.get(fault)
    try:
        with np.errstate(all="ignore"):
            result = hoag.minimize(problem, search=SEARCHES[search](), bounds=(-4, 4))
    except (SingularProblemError, InvalidInputError, ValueError) as error:
        raised = error
    if result is None:
        ours = isinstance(raised, SingularProblemError | InvalidInputError)
        assert ours or theirs is type(raised)
        assert theirs is None or theirs in (type(raised), type(raised.__cause__))
        return
    if result.converged and fault != "huge":
        assert np.isfinite(result.value)
        truth = hoag.plan(Faulty(size=size)).evaluate(result.lam, 1e-10)
        assert result.value == pytest.approx(truth.value, rel=1e-3)
        if search in ("fast", "hoag", "growing"):  # whatever failed was asked for in vain
            assert np.linalg.norm(truth.grad) < 0.1 * abs(truth.value)


def cases(firsts):
    for search in SEARCHES:
        for member in MEMBERS:
            for first in firsts:
                yield search, member, first


def check(search, member, first):
    for fault in FAULTS:
        for size in (1, 4):
            if search != "grid" or size == 1:
                ended(search, member, fault, first, size)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("search", "member", "first"), list(cases((1, 9))))
def test_a_member_that_fails_ends_every_search(search, member, first):
    check(search, member, first)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("search", "member", "first"), list(cases(range(2, 31))))
def test_a_member_that_fails_at_any_call_ends_every_search(search, member, first):
    check(search, member, first)


def plain(**changed):
    functions = {name: lambda x, lam, name=name: members(x, lam)[name] for name in MEMBERS}
    return hoag.problem(**{**functions, "x0": np.zeros(4), "lam0": [0.0], **changed})


@pytest.mark.parametrize("member", MEMBERS)
def test_complex_members_are_refused(member):
    with pytest.raises(InvalidInputError, match=f"{member}.* is complex"):
        plain(**{member: lambda x, lam: members(x, lam)[member] * (1 + 1j)})
    problem = Faulty(member)
    problem.fault = lambda good: good * (1 + 1j)
    with pytest.raises(InvalidInputError, match=f"{member} is complex"):
        hoag.minimize(problem)


@pytest.mark.parametrize("changed", ["x0", "lam0", "solver"])
def test_complex_vectors_are_refused(changed):
    given = {"x0": np.ones(4) * 1j, "lam0": [1j], "solver": lambda lam, x0: x0 + 1j}[changed]
    with pytest.raises(InvalidInputError, match="is complex"):
        hoag.minimize(plain(**{changed: given}))


def test_a_matrix_of_nans_is_factored_once():
    solver = hoag.solvers.Damped(hoag.solvers.Cholesky())
    found = solver.solve(np.full((3, 3), np.nan), np.ones(3), None, 1e-9)
    assert found.reason == "not_finite"


def test_conjugate_gradients_with_nothing_left_to_divide_by():
    b = np.full(3, 1e-170)  # whose squares are below the smallest number
    found = hoag.solvers.CG().solve(np.diag([1.0, 2.0, 3.0]), b, None, 0.0)
    assert np.all(np.isfinite(found.x))


# ---- time within an evaluation


class Clock:
    """Time that passes only where a problem is asked for a point: 10 ms each."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def timed(self, problem):
        def at(x, lam):
            self.now += 0.01
            return problem.at(x, lam)

        return SimpleNamespace(x0=problem.x0, lam0=problem.lam0, at=at)


@pytest.mark.parametrize("search", [hoag.optimize.Auto, hoag.optimize.Hoag, hoag.optimize.Growing])
@pytest.mark.parametrize("budget", [0.1, 0.15, 0.2, 0.3])
def test_the_clock_is_looked_at_within_an_evaluation(monkeypatch, search, budget):
    clock = Clock(monkeypatch)
    begun = clock.now
    result = hoag.minimize(clock.timed(Faulty(size=4)), search=search(time_budget=budget))
    assert clock.now - begun <= budget + 0.5
    assert result.status.reason == "time_budget"
    assert np.isfinite(result.value)


def test_time_that_is_up_before_the_first_loss_is_said(monkeypatch):
    clock, slow = Clock(monkeypatch), Faulty()
    slow.at = lambda x, lam: setattr(clock, "now", clock.now + 1.0) or Faulty().at(x, lam)
    with pytest.raises(InvalidInputError, match=r"time_budget=1 s is not enough to compute"):
        hoag.minimize(slow, search=hoag.optimize.Auto(time_budget=1.0))


@pytest.mark.parametrize("budget", np.arange(0.04, 0.4, 0.03))
def test_a_run_that_was_stopped_within_an_evaluation_is_replayed(monkeypatch, budget):
    clock = Clock(monkeypatch)
    criterion = hoag.plan(clock.timed(Faulty(size=4)))
    search, box = hoag.optimize.Auto(), hoag.Box(np.full(4, -4.0), np.full(4, 4.0))
    run = hoag.optimize.Run(criterion, time_budget=budget)
    found = run.drive(search, box, np.zeros(4))
    again = hoag.optimize.Run(criterion, time_budget=budget, replay=run.journal)
    replayed = again.drive(search, box, np.zeros(4))
    assert replayed.status == found.status
    assert replayed.value == found.value
    whole = hoag.optimize.Run(criterion).drive(search, box, np.zeros(4))
    on = hoag.optimize.Run(criterion, replay=run.journal.before_stop())
    assert on.drive(search, box, np.zeros(4)).value == whole.value


def test_threads_see_the_deadline():
    from hoag._core import clock
    from hoag._criteria.folds import in_threads

    with clock.until(-np.inf), pytest.raises(clock.TimeUp):
        in_threads(lambda _: clock.check(), [(1,), (2,)], 2)
    in_threads(lambda _: clock.check(), [(1,), (2,)], 2)


@pytest.mark.parametrize("epsilon", [1e300, np.inf])
def test_an_epsilon_whose_square_overflows_is_refused(epsilon):
    with pytest.raises(InvalidInputError, match=r"epsilon=.* whose square is finite"):
        hoag.HuberRegressorCV(epsilon=epsilon).fit(ROWS, ROWS[:, 0])


def test_a_solver_that_fails_is_not_asked_the_same_again_and_again():
    problem = plain(solver=lambda lam, x0: np.ones(4) * (1 + 1e-3 * lam[0]), lam0=[0.0])
    result = hoag.minimize(problem, search=hoag.optimize.Auto(max_iter=60), bounds=(-4, 4))
    lams = [float(np.ravel(step.evaluation.lam)[0]) for step in result.trace]
    assert max(lams.count(lam) for lam in lams) <= 4
    assert len(lams) < 60


def test_values_of_h_that_are_known_to_few_digits_do_not_stop_newtons_method():
    """Slopes decide where values are level: ∇₁h is as small as it was asked to be."""
    problem = lasso(0.1)

    def at(x, lam):
        point = problem.at(x, lam)
        point.h = point.h * (1 + 4e-6 * np.sin(1e12 * np.sum(x)))
        return point

    blurred = adopt(SimpleNamespace(x0=problem.x0, lam0=problem.lam0, at=at))
    for lam in (-2.0, 0.0, 2.0):
        found = solvers.Newton().solve(blurred, np.array([lam]), problem.x0, 1e-8)
        assert found.reason == "tolerance"
        assert found.iterations < 40
