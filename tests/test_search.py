"""Algorithm 1: Theorem 2, the step rules, why it stops, what it returns."""

import time
from itertools import pairwise

import numpy as np
import pytest
import registry
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

import hoag
from hoag import models, solvers
from hoag.errors import InvalidInputError, SingularProblemError
from hoag.optimize import Adaptive, Constant, Hoag
from hoag.problems import priced

SUMMABLE = [solvers.QuadraticDecay(), solvers.CubicDecay(), solvers.ExponentialDecay()]


def test_schedules_are_the_papers():
    assert solvers.QuadraticDecay()(10) == pytest.approx(1e-3)
    assert solvers.CubicDecay()(10) == pytest.approx(1e-4)
    assert solvers.ExponentialDecay()(1) == pytest.approx(0.09)
    assert solvers.Exact()(7) == 1e-12
    assert solvers.ExponentialDecay()(10000) == 1e-12
    assert solvers.CubicDecay()(10**6) == 1e-12


def lipschitz(problem, domain):
    """The largest curvature of f seen on a grid of the box, doubled."""
    criterion = hoag.criteria.Implicit(problem, linear=solvers.Cholesky(), certificate=False)
    rng = np.random.default_rng(0)
    largest = 0.0
    for lam in domain.sample(rng, 40):
        t, w = 1e-4, rng.normal(size=lam.size)
        w /= np.linalg.norm(w)
        change = criterion.evaluate(lam + t * w, 1e-11).grad - criterion.evaluate(lam, 1e-11).grad
        largest = max(largest, float(np.linalg.norm(change)) / t)
    return 2 * largest


THEOREM_2 = [
    ({"model": "logistic", "n": 60}, (-3, 3)),
    ({"model": "multinomial", "n": 60}, (-3, 3)),
    ({"model": "ridge", "n": 20, "d": 8}, (-1, 4)),
    ({"model": "kernel-ridge", "n": 30, "d": 2}, ([-4, -4], [-1, 1])),
]


@pytest.mark.parametrize(
    ("setting", "bounds", "schedule"),
    [
        pytest.param(
            *(setting, bounds, schedule),
            id=f"{setting['model']}-{type(schedule).__name__}",
            # Every model with one schedule, and every schedule on two models.
            marks=[pytest.mark.slow]
            * (
                setting["model"] in ("multinomial", "kernel-ridge")
                and not isinstance(schedule, solvers.QuadraticDecay)
            ),
        )
        for setting, bounds in THEOREM_2
        for schedule in SUMMABLE
    ],
)
def test_theorem_2_the_gradient_mapping_goes_to_zero(setting, bounds, schedule):
    """Constant step, summable tolerances: ‖λ − P(λ − ∇f/L)‖ falls by 1e-6 in 2000 steps."""
    problem = registry.make(**setting)
    domain = hoag.Box(*bounds, size=problem.lam0.size)
    L = lipschitz(problem, domain)
    criterion = hoag.criteria.Implicit(problem, certificate=False)
    true = hoag.criteria.Implicit(problem, linear=solvers.Cholesky(), certificate=False)

    def mapping(lam):
        grad = true.evaluate(lam, 1e-12).grad
        return np.linalg.norm(lam - domain.project(lam - grad / L))

    start = 0.5 * (domain.lower + domain.upper) + 0.4 * (domain.upper - domain.lower)
    first = mapping(start)
    found = []

    def small_enough(step):
        if step.k % 20 == 0 or step.mapping == 0:
            found.append(mapping(step.lam))
        return bool(found) and found[-1] <= 1e-6 * first

    search = Hoag(schedule, Constant(L), tol=0.0, max_iter=2000)
    result = hoag.minimize(criterion, start, domain, search, small_enough)
    assert result.status.reason == "callback", (first, found[-1])


def random_logistic(seed):
    """A random problem whose f has its minimum inside the box, 1 % below both ends."""
    rng = np.random.default_rng(seed)
    while True:
        n, d = int(rng.integers(40, 150)), int(rng.integers(3, 30))
        A, w = rng.normal(size=(2 * n, d)), rng.normal(size=d)
        noise = rng.uniform(0.5, 2) * np.sqrt(d) * rng.normal(size=2 * n)
        y = np.where(A @ w + noise > 0, 1, -1)
        problem = models.logistic(A[:n], y[:n], A[n:], y[n:])
        exact = hoag.criteria.Implicit(problem, certificate=False)
        f = minimize_scalar(
            lambda v, f=exact: f.evaluate(np.array([v]), 1e-10).value,
            bounds=(-8, 8),
            method="bounded",
            options={"xatol": 1e-7},
        )
        ends = [exact.evaluate(np.array([v]), 1e-8).value for v in (-12.0, 12.0)]
        if f.fun < 0.99 * min(ends):
            return problem, f.x


@pytest.mark.parametrize("seed", range(12))
def test_adaptive_steps_end_at_the_optimum_and_do_not_cycle(seed):
    problem, best = random_logistic(seed)
    result = hoag.minimize(problem, search=Hoag())
    assert result.converged, result.status
    assert abs(result.lam[0] - best) < 1e-3
    lams = np.array([step.lam[0] for step in result.trace])
    assert abs(lams[-1] - best) < 1e-3  # the last iterate too: a cycle would keep away from it
    assert np.max(np.abs(np.diff(lams[-3:]))) < 1e-2
    assert len(lams) < 80


@pytest.mark.parametrize("certificate", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_returned_as_converged_is_stationary(seed, certificate):
    problem, best = random_logistic(seed)
    result = hoag.minimize(
        hoag.criteria.Implicit(problem, certificate=certificate), lam0=1.0, search=Hoag()
    )
    assert result.converged, result.status
    np.testing.assert_array_equal(result.lam, result.trace[-1].lam)
    exact = hoag.criteria.Implicit(problem, certificate=False)
    scale = max(
        np.linalg.norm(result.trace[0].evaluation.grad), 0.1 * result.trace[0].evaluation.value
    )
    assert np.linalg.norm(exact.evaluate(result.lam, 1e-11).grad) <= 2e-5 * scale
    assert abs(result.lam[0] - best) < 1e-2


@pytest.mark.parametrize("seed", range(6))
def test_a_restart_at_the_optimum_stays_there(seed):
    problem, _ = random_logistic(seed)
    first = hoag.minimize(problem, search=Hoag())
    again = hoag.minimize(problem, lam0=first.lam, search=Hoag())
    assert again.converged, again.status
    assert abs(again.lam[0] - first.lam[0]) < 1e-3
    assert max(abs(step.lam[0] - first.lam[0]) for step in again.trace) < 2


@pytest.mark.parametrize("certificate", [True, False])
def test_a_start_where_x0_already_meets_the_tolerance_is_not_the_end(certificate):
    """At a large λ the start x = 0 is good enough and p = 0 exactly: no reason to stop."""
    problem, best = random_logistic(1)
    result = hoag.minimize(
        hoag.criteria.Implicit(problem, certificate=certificate), lam0=8.0, search=Hoag()
    )
    assert len(result.trace) > 1
    if certificate:
        assert result.converged
    if result.converged:  # without a certificate it may stall, and says so
        assert abs(result.lam[0] - best) < 1e-2


def stall_case():
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(200, 20)), rng.normal(size=20)
    y = np.where(A @ w + 6 * rng.normal(size=200) > 0, 1, -1)
    return models.logistic(A[:100], y[:100], A[100:], y[100:])


def test_the_displayed_rule_stalls_with_a_small_C_and_says_so():
    """LΔ² equals the whole first-order decrease, so it can only hold through the slack."""
    problem = stall_case()
    best = hoag.minimize(problem, lam0=-2.0, search=Hoag())
    assert best.converged
    search = Hoag(solvers.Exact(), Adaptive(C=1.0, descent="displayed"))
    stalled = hoag.minimize(problem, lam0=-2.0, search=search)
    assert stalled.status.reason == "stalled"
    assert not stalled.converged
    assert "step size is down to" in str(stalled.status)
    assert stalled.evaluation.value > best.evaluation.value
    assert stalled.trace[-1].mapping > search.tol


def test_C_from_the_data():
    problem = registry.make("logistic", n=50, weighted=True)
    A, s = problem.test.design.rows.A, problem.test.weights
    wanted = np.linalg.norm(A, 2) * np.linalg.norm(s)
    constant, cost = hoag.criteria.Implicit(problem).outer_lipschitz()
    assert constant == pytest.approx(wanted, rel=1e-6)
    assert cost.held_out > 0
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 4))
    lam = np.zeros(1)
    change = abs(problem.at(x, lam).g - problem.at(other, lam).g)
    assert change <= wanted * np.linalg.norm(x - other)
    spent = problem.ledger.cost
    result = hoag.minimize(problem, search=Hoag(step=Adaptive(C="data"), max_iter=300))
    assert result.converged
    assert result.cost.held_out == pytest.approx((problem.ledger.cost - spent).held_out)
    with pytest.raises(InvalidInputError, match="squared loss"):
        hoag.minimize(registry.make("ridge"), search=Hoag(step=Adaptive(C="data")))
    with pytest.raises(InvalidInputError, match="outer_lipschitz"):
        hoag.minimize(priced(registry.make("ridge")), search=Hoag(step=Adaptive(C="data")))


@pytest.mark.parametrize("setting", [{"model": "kernel-ridge"}, {"model": "kernel-widths"}])
def test_C_of_kernel_ridge_holds_where_the_residual_is_that_of_zero_or_less(setting):
    problem = registry.make(**setting, weighted=True)
    lam, rng = problem.lam0, np.random.default_rng(0)
    constant, cost = hoag.criteria.Implicit(problem).outer_lipschitz()
    assert cost.held_out > 0
    at_zero = problem.at(np.zeros(problem.x0.size), lam).g
    best = hoag.criteria.Implicit(problem).evaluate(lam, 1e-8).x
    inside = [x for x in best * rng.uniform(0, 1.2, size=(60, 1)) if problem.at(x, lam).g < at_zero]
    assert len(inside) > 10
    for x, other in pairwise(inside):
        change = abs(problem.at(x, lam).g - problem.at(other, lam).g)
        assert change <= constant * np.linalg.norm(x - other) * (1 + 1e-9)
    result = hoag.minimize(problem, search=Hoag(step=Adaptive(C="data"), max_iter=300, tol=1e-3))
    assert result.status.reason in ("converged", "max_iter", "stalled")


def test_the_papers_rule_has_none_of_our_safeguards():
    def at(lam, g, value, grad):
        return hoag.criteria.Evaluation(np.array([lam]), value, np.array([grad]), g)

    # g falls as promised, the corrected value does not, and the slope shows a curvature of 100.
    before, now = at(0.0, 10.0, 10.0, 1.0), at(-1.0, 9.0, 10.0, -99.0)
    printed = Adaptive(safeguards=False)
    assert printed.next(1.0, np.nan, before, now, (0.0, 0.0)) == pytest.approx(1 / 1.05)
    assert Adaptive().next(1.0, np.nan, before, now, (0.0, 0.0)) == pytest.approx(100.0)
    now = at(-1.0, 9.6, 9.0, -99.0)
    assert printed.next(1.0, np.nan, before, now, (0.0, 0.0)) == pytest.approx(2.0)


def test_the_step_rule_line_by_line():
    rule = Adaptive(C=2.0)
    assert rule.first(np.array([3.0, 4.0])) == 5.0
    assert rule.first(np.zeros(2)) == 1.0

    def evaluation(lam, value, grad=0.0, error=0.0):
        return hoag.criteria.Evaluation(np.array([lam]), value, np.array([grad]), error=error)

    # Δ = 2, slack = 2·0.1 + 0.2·3·2 = 1.4, (L/2)Δ² = 2L
    before, L = evaluation(0.0, 10.0), 1.0
    assert rule.next(L, 2.0, before, evaluation(2.0, 9.39), (0.2, 0.1)) == L / 1.05
    assert rule.next(L, 2.0, before, evaluation(2.0, 9.41), (0.2, 0.1)) == L / 0.5
    # ∇f changed by 8 over Δ = 2, give or take the errors 1 + 1: L is at least 3.
    before = evaluation(0.0, 10.0, -5.0, 1.0)
    for value in (9.39, 9.41):
        assert rule.next(L, 2.0, before, evaluation(2.0, value, 3.0, 1.0), (0.2, 0.1)) == 3.0
    unmeasured = evaluation(2.0, 9.39, 3.0, np.nan)  # counts as ε
    assert rule.next(L, 2.0, before, unmeasured, (0.2, 0.1)) == pytest.approx((8 - 1 - 0.1) / 2)
    before = evaluation(0.0, 10.0)
    displayed = Adaptive(C=2.0, descent="displayed")
    assert displayed.next(L, 2.0, before, evaluation(2.0, 7.39), (0.2, 0.1)) == L / 1.05
    assert displayed.next(L, 2.0, before, evaluation(2.0, 7.41), (0.2, 0.1)) == L / 0.5


@pytest.mark.parametrize("inner_solver", [solvers.Newton(), solvers.LBFGS()])
def test_the_result_belongs_to_its_lambda(inner_solver):
    problem = registry.make("logistic", penalties="per-feature", n=80)
    criterion = hoag.criteria.Implicit(problem, inner=inner_solver)
    result = hoag.minimize(criterion, lam0=1.0, search=Hoag(max_iter=25))
    point = problem.at(result.x, result.lam)
    assert point.g == result.evaluation.g
    assert abs(point.g - result.value) <= result.evaluation.f_error
    assert np.linalg.norm(point.h_x) <= np.exp(result.lam.min()) * 0.1
    truth = hoag.criteria.Implicit(problem, certificate=False).evaluate(result.lam, 1e-12)
    assert np.linalg.norm(result.grad - truth.grad) <= result.evaluation.bound
    best = min(result.trace, key=lambda step: step.evaluation.highest)
    np.testing.assert_array_equal(result.lam, best.lam)
    assert abs(result.value - best.evaluation.value) <= 5 * best.evaluation.f_error


def test_it_stops_for_every_reason_and_says_which():
    problem = registry.make("logistic", n=60)
    assert hoag.minimize(problem, search=Hoag()).status.reason == "converged"
    few = hoag.minimize(problem, search=Hoag(max_iter=2))
    assert (few.status.reason, len(few.trace)) == ("max_iter", 2)
    assert not few.converged
    once = hoag.minimize(problem, search=Hoag(), callback=lambda step: True)
    assert (once.status.reason, len(once.trace)) == ("callback", 1)
    slow = hoag.minimize(
        problem, search=Hoag(time_budget=0.02, tol=0.0), callback=lambda step: time.sleep(0.01)
    )
    assert slow.status.reason == "time_budget"
    for result in (few, once, slow):
        assert str(result.status).endswith(".")
    corner = hoag.minimize(problem, lam0=12.0, bounds=(11, 12), search=Hoag())
    assert corner.converged


class BreaksAfter:
    """A problem whose held-out loss turns bad after some evaluations."""

    def __init__(self, problem, n, value):
        self.problem, self.left, self.value = problem, n, value
        self.x0, self.lam0 = problem.x0, problem.lam0

    def at(self, x, lam):
        point = self.problem.at(x, lam)
        outer = self

        class Spoiled:
            def __getattr__(self, name):
                if name == "g":
                    outer.left -= 1
                    if outer.left < 0:
                        if isinstance(outer.value, BaseException):
                            raise outer.value
                        return outer.value
                return getattr(point, name)

        return Spoiled()


def test_a_number_that_is_not_finite_ends_the_search_without_losing_it():
    problem = BreaksAfter(registry.make("logistic", n=60), 6, np.nan)
    result = hoag.minimize(hoag.criteria.Implicit(problem, certificate=False), search=Hoag())
    assert result.status.reason == "not_finite"
    assert "nan" in str(result.status)
    assert len(result.trace) == 7
    assert np.isfinite(result.value)


def test_a_failure_half_way_keeps_the_trace():
    error = SingularProblemError("the bottom fell out")
    problem = BreaksAfter(registry.make("logistic", n=60), 4, error)
    result = hoag.minimize(hoag.criteria.Implicit(problem, certificate=False), search=Hoag())
    assert result.status.reason == "failed"
    assert "the bottom fell out" in str(result.status)
    assert len(result.trace) == 4

    interrupted = BreaksAfter(registry.make("logistic", n=60), 4, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        hoag.minimize(hoag.criteria.Implicit(interrupted, certificate=False), search=Hoag())
    assert len(caught.value.result.trace) == 4


KERNELS = [{"model": "kernel-ridge", "weighted": True}, {"model": "kernel-widths"}]


@pytest.mark.parametrize(
    "setting", [*registry.ALL[::7], *KERNELS], ids=[*registry.NAMES[::7], "kernel", "widths"]
)
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(
    "inner_solver", [solvers.Newton(), solvers.LBFGS()], ids=["newton", "lbfgs"]
)
def test_the_cost_equals_an_outside_count_to_the_last_product(setting, corrected, inner_solver):
    problem = registry.make(**setting)
    counter = {"passes": 0.0, "held_out": 0.0}
    if setting["model"].startswith("kernel"):
        count_kernel_products(problem, counter)
    else:
        for term, column in ((problem.train, "passes"), (problem.test, "held_out")):
            term.squared_norms  # noqa: B018  (reads A, multiplies nothing)
            matrix = term.design.rows
            matrix.A = registry.CountedMatrix(matrix.A, counter, column)
            matrix.At = registry.CountedMatrix(matrix.At, counter, column)
    criterion = hoag.criteria.Implicit(problem, inner=inner_solver, corrected=corrected)
    spent = problem.ledger.cost
    result = hoag.minimize(criterion, search=Hoag(max_iter=8))
    assert result.cost.passes == pytest.approx((problem.ledger.cost - spent).passes)
    assert result.cost.passes == pytest.approx(counter["passes"], abs=1e-9)
    assert result.cost.held_out == pytest.approx(counter["held_out"], abs=1e-9)
    total = sum(step.evaluation.cost.passes for step in result.trace)
    assert 0 < total == pytest.approx(result.trace[-1].cost.passes)
    assert total < counter["passes"]  # verification comes after the last step


class CountingArray(np.ndarray):
    """An array that counts its matrix–vector products; all that is computed from it does too."""

    def __array_finalize__(self, other):
        self.on_product = getattr(other, "on_product", None)

    def __matmul__(self, v):
        if self.ndim == 2:
            self.on_product(1 if np.ndim(v) == 1 else np.shape(v)[1])
        return np.asarray(self) @ np.asarray(v)


def count_kernel_products(problem, counter):
    for name, column in (("widths", "passes"), ("test_widths", "held_out")):
        widths = getattr(problem, name)

        def exponent(gamma, original=widths.exponent, column=column):
            array = original(gamma).view(CountingArray)
            array.on_product = lambda n: counter.__setitem__(column, counter[column] + n)
            return array

        widths.exponent = exponent


def test_a_hand_written_problem_is_counted_by_calls():
    inner_problem = registry.make("logistic", n=60)
    counter = {"forward": 0, "h_x": 0, "products": 0}

    class Watched:
        x0, lam0 = inner_problem.x0, inner_problem.lam0

        def at(self, x, lam):
            point = inner_problem.at(x, lam)
            seen = set()

            class Watch:
                def __getattr__(self, name):
                    if name in ("h", "h_x", "hessian") and not seen & {"h", "h_x", "hessian"}:
                        counter["forward"] += 1
                    if name == "h_x" and name not in seen:
                        counter["h_x"] += 1
                    seen.add(name)
                    if name == "hessian":
                        H = point.hessian @ np.eye(x.size)

                        class Product:
                            shape, dtype = H.shape, H.dtype

                            def matvec(self, v):
                                counter["products"] += 1
                                return H @ v

                            rmatvec = matvec

                        return Product()
                    return getattr(point, name)

            return Watch()

    result = hoag.minimize(Watched(), search=Hoag(max_iter=5))
    wanted = 0.5 * counter["forward"] + 0.5 * counter["h_x"] + counter["products"]
    assert result.cost.passes == wanted


def test_a_search_stays_in_the_basin_that_the_looks_found():
    """The best look was all but at its minimum; a long first step left it for a higher one."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = next(iter(StratifiedKFold(3).split(X, y)))[0]
    A, sign = scale(X[rows]), 2.0 * y[rows] - 1
    model = hoag.RidgeCV(bounds=(np.log(1e-2), np.log(1e3))).fit(A, sign)
    assert model.result_.converged
    values = [model.criterion_at(lam, A, sign) for lam in np.linspace(-4.6, 6.9, 116)]
    assert model.criterion_ <= min(values) * (1 + 1e-4)
