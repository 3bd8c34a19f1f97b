"""Domains beyond a box: projections, the border where they enter, and searches along them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from quick import quick
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator

import hoag
from hoag import Box
from hoag.criteria import Ask, Cost, Criterion, Evaluation, Implicit, Traits
from hoag.domains import Ball, Ordered, Product, Simplex, adopt, product
from hoag.errors import InvalidInputError
from hoag.optimize import Auto, Hoag
from hoag.optimize._quasi_newton import SecantMatrix, descend, least
from hoag.optimize._steps import acting, steepest

# ---- projections


def points(least=1, most=9):
    return st.lists(st.floats(-20, 20), min_size=least, max_size=most).map(np.array)


def corners(domain, size):
    """Points whose hull is the domain: what holds for all of them holds for the domain."""
    if isinstance(domain, Simplex):
        return domain.total * np.eye(size)
    steps = np.arange(size) >= np.arange(size + 1)[:, None]  # 0 … 0 1 … 1
    return np.where(steps, domain.upper, domain.lower)


DOMAINS = st.one_of(
    st.builds(Simplex, st.sampled_from([0.0, 1e-3, 1.0, 30.0])),
    st.builds(Ball, st.sampled_from([0.0, 0.5, 1.0, 30.0]), st.sampled_from([0.0, -2.0])),
    st.builds(lambda low, width: Ordered(low, low + width), st.floats(-9, 9), st.floats(0, 9)),
)


@given(DOMAINS, points())
@settings(deadline=None)
def test_the_nearest_point_is_the_one_with_the_whole_domain_behind_it(domain, v):
    """⟨v − Pv, u − Pv⟩ ≤ 0 for all u in D, which says that Pv is nearest, and only of it."""
    near = domain.project(v)
    if isinstance(domain, Ball):
        away = v - near
        furthest = domain.centre + domain.radius * away / (np.linalg.norm(away) or 1.0)
        beyond = [away @ (furthest - near)]
        assert np.linalg.norm(near - domain.centre) <= domain.radius * (1 + 1e-12)
    else:
        beyond = (corners(domain, v.size) - near) @ (v - near)
        if isinstance(domain, Simplex):
            assert_allclose(near.sum(), domain.total, rtol=1e-12, atol=1e-12)
            assert near.min() >= 0
        else:
            assert np.all(np.diff(near) >= 0)
            assert domain.lower <= near[0] <= near[-1] <= domain.upper
    assert np.max(beyond) <= 1e-9
    assert domain.contains(near)


@settings(max_examples=50, deadline=None)
@given(DOMAINS, st.integers(1, 9).flatmap(lambda n: st.tuples(*[points(n, n)] * 2)))
def test_projections_move_nothing_apart_and_nothing_twice(domain, two):
    u, v = two
    before = u.copy()
    one, other = domain.project(u), domain.project(v)
    assert np.array_equal(u, before)
    assert_allclose(domain.project(one), one, atol=1e-12)
    assert np.linalg.norm(one - other) <= np.linalg.norm(u - v) + 1e-12


@settings(max_examples=30, deadline=None)
@given(points(7, 7))
def test_a_product_projects_each_stretch(v):
    parts = [(2, (-1, 1)), (1, Ball(0.5)), (3, Simplex(2.0)), (1, Ordered(0, 1))]
    made = Product(parts).project(v)
    whole = [np.clip(v[:2], -1, 1), *(d.project(v[s]) for d, s in zip(
        (Ball(0.5), Simplex(2.0), Ordered(0, 1)), (slice(2, 3), slice(3, 6), slice(6, 7))
    ))]  # fmt: skip
    assert np.array_equal(made, np.concatenate(whole))
    lower, upper = Product(parts).sides(7)
    assert lower.tolist() == [-1, -1] + 4 * [-np.inf] + [0]
    assert upper.tolist() == [1, 1] + 4 * [np.inf] + [1]


def test_a_product_of_boxes_is_a_box():
    made = product([(2, (-1, [1, 2])), (1, Box(0, 3))])
    assert isinstance(made, Box)
    assert made.lower.tolist() == [-1, -1, 0]
    assert made.upper.tolist() == [1, 2, 3]
    assert isinstance(adopt(Product([(2, (-1, 1)), (1, Box(0, 3))]), 3), Box)
    inner = product([(2, product([(1, (-1, 1)), (1, Ball())])), (1, (0, 1))])
    assert_allclose(inner.project(np.array([2.0, 2.0, 2.0])), [1, 1, 1])


# ---- the border


class Own:
    """Somebody's object: it can project, and that is all."""

    def __init__(self, project):
        self.project = project


def rounded(lam):
    return np.round(np.clip(lam, -9, 9))  # a grid, which is not convex


WRONG = {
    "moves a point": Own(lambda lam: np.exp(lam - lam.max()) / np.exp(lam - lam.max()).sum()),
    "nearest point": Own(lambda lam: np.maximum(lam, 0.1) / np.maximum(lam, 0.1).sum() * 3),
    "of a convex set": Own(rounded),
    "array of shape": Own(lambda lam: lam[:1]),
    "not finite": Own(lambda lam: lam / 0 if lam.any() else lam + np.nan),
    "is a class": Simplex,
    "for 2 \\+ 2 = 4 hyperparameters; there are 3": Product([(2, Simplex()), (2, (-1, 1))]),
    "has 2 numbers, for 3": Ball(1.0, [0.0, 0.0]),
    "give a pair": "simplex",
}


@pytest.mark.parametrize("sentence", WRONG)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_projection_is_refused_with_a_sentence(sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        adopt(WRONG[sentence], 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Simplex(-1),
        lambda: Simplex(np.inf),
        lambda: Ball(-1),
        lambda: Ball(np.nan),
        lambda: Ball(1.0, [[0.0]]),
        lambda: Ordered(1, 0),
        lambda: Ordered(-np.inf, 0),
        lambda: Ordered([0, 1], 2),
        lambda: Product([]),
        lambda: Product([(0, Simplex())]),
        lambda: Product([Simplex()]),
    ],
)
def test_what_is_no_domain_is_refused(make):
    with pytest.raises(InvalidInputError, match=r"[Gg]ive|finite|empty"):
        make()


def test_a_start_outside_is_refused_and_the_nearest_point_told():
    with pytest.raises(
        InvalidInputError, match=r"lam0 = \[0\. 0\. 0\.\] lies outside Simplex.*nearest"
    ):
        hoag.minimize(Mixture(0), 0.0, Simplex())
    almost = np.full(3, 1 / 3) + 1e-16
    assert hoag.minimize(Mixture(0), almost, Simplex(), search=Auto(max_iter=3)).trace


def test_searches_that_need_a_box_say_so():
    class Middle(hoag.optimize.Search):
        def steps(self, domain, lam0, traits):
            yield hoag.optimize.Evaluate((domain.lower + domain.upper) / 2, Ask())
            return hoag.Status("finished", "In the middle.")

    for search in (hoag.optimize.Grid(3), hoag.optimize.Random(4), Middle()):
        with pytest.raises(InvalidInputError, match=r"searches boxes, and Simplex\(\) is none"):
            hoag.minimize(Mixture(0), bounds=Simplex(), search=search)


# ---- what a search makes of it


def test_what_acts_of_a_gradient_is_what_no_bound_holds():
    rng = np.random.default_rng(0)
    box = Box(-1.0, 1.0, size=6)
    lam, p = box.project(rng.normal(size=6) * 2), rng.normal(size=6)
    held = ((lam == -1) & (p > 0)) | ((lam == 1) & (p < 0))
    assert held.any()
    assert not held.all()
    assert_allclose(acting(lam, p, box), np.where(held, 0, p), atol=1e-9)
    inside = np.full(4, 0.25)
    assert_allclose(acting(inside, 1e3 + p[:4], Simplex()), p[:4] - p[:4].mean(), atol=1e-6)
    corner = np.eye(4)[0]
    assert_allclose(acting(corner, -10 * corner, Simplex()), 0, atol=1e-9)


def test_a_move_by_one_promises_what_the_slope_says():
    p = np.array([3.0, -4.0])
    assert_allclose(steepest(np.zeros(2), p, Ball(100.0)), p @ p / 4)  # the largest moves by one
    assert steepest(np.zeros(2), p, Ball(0.0)) == 0
    assert steepest(np.zeros(2), 0 * p, Simplex()) == 0
    far = np.array([500.0, 500.0]) + p  # what a simplex holds back does not shorten the move
    assert_allclose(steepest(np.full(2, 0.5), far, Simplex()), 3.5, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
def test_the_model_is_least_where_slsqp_says(seed):
    rng = np.random.default_rng(seed)
    size = 6
    H = rng.normal(size=(size, 3 * size))
    H = H @ H.T
    pairs = [(s, H @ s) for s in rng.normal(size=(4, size))]
    bend = SecantMatrix(pairs, 1.0)
    B = np.stack([bend @ unit for unit in np.eye(size)])
    assert_allclose(B, B.T, atol=1e-9 * np.abs(B).max())
    assert np.linalg.eigvalsh(B).min() > 0
    s, y = pairs[-1]
    assert_allclose(B @ s, y)  # the last secant holds
    lam, p = rng.dirichlet(np.ones(size)), 30 * rng.normal(size=size)
    d = least(Simplex(), lam, p, bend)
    assert Simplex().contains(lam + d)
    found = sequential(
        lambda d: (p @ d + d @ B @ d / 2, p + B @ d), -lam + 1 / size, "simplex", lam
    )
    assert p @ d + d @ B @ d / 2 <= found.fun + 2e-3 * abs(found.fun)


def sequential(f, start, kind, shift=0.0, tol=1e-13):
    """The same by SLSQP, with exact values and gradients."""
    n = start.size
    D = np.diff(np.eye(n), axis=0)
    limits, held = {
        "simplex": ([(0.0, 1.0)] * n, {"type": "eq", "fun": lambda v: np.sum(v + shift) - 1}),
        "ordered": ([(-12.0, 12.0)] * n, {"type": "ineq", "fun": lambda v: D @ (v + shift)}),
    }[kind]
    shifts = np.broadcast_to(shift, n)
    bounds = [(low - off, high - off) for (low, high), off in zip(limits, shifts)]
    return minimize(
        f, start, jac=True, method="SLSQP", bounds=bounds, constraints=[held],
        options={"ftol": tol, "maxiter": 500},
    )  # fmt: skip


class Mixture:
    """h = ½‖Σ λ_k A_k x − a‖² + ½μ‖x‖², g = ½‖Σ λ_k B_k x − b‖²: λ weighs views of the data."""

    def __init__(self, seed, views=3, n=30, size=8, unit=1.0):
        rng = np.random.default_rng(seed)
        self.A, self.B = rng.normal(size=(2, views, n, size)) / unit
        weights = unit * rng.dirichlet(np.full(views, 0.7))
        x = rng.normal(size=size)
        self.a, self.b = (weights @ M.reshape(views, -1) for M in (self.A, self.B))
        self.a = self.a.reshape(n, size) @ x + rng.normal(size=n)
        self.b = self.b.reshape(n, size) @ x + rng.normal(size=n)
        self.x0, self.lam0 = np.zeros(size), np.full(views, unit / views)

    def at(self, x, lam):
        mu = 0.5
        M, N = np.tensordot(lam, self.A, 1), np.tensordot(lam, self.B, 1)
        r, q = M @ x - self.a, N @ x - self.b
        return SimpleNamespace(
            h=0.5 * r @ r + 0.5 * mu * x @ x,
            h_x=M.T @ r + mu * x,
            hessian=M.T @ M + mu * np.eye(x.size),
            cross=np.stack([A.T @ r + M.T @ (A @ x) for A in self.A], axis=1),
            g=0.5 * q @ q,
            g_x=N.T @ q,
            g_lam=np.array([(B @ x) @ q for B in self.B]),
            strong_convexity=mu,
        )


class Groups:
    """Ridge regression with a penalty exp(λ_k) for each group of columns."""

    def __init__(self, seed, groups=4, each=5, n=40, factors=True):
        rng = np.random.default_rng(seed)
        size, self.factors = groups * each, factors
        self.group = np.repeat(np.arange(groups), each)
        self.A, self.B = rng.normal(size=(2, n, size))
        x = rng.normal(size=size) * np.exp(-rng.uniform(0, 3, size=groups))[self.group]
        self.a, self.b = (M @ x + 2 * rng.normal(size=n) for M in (self.A, self.B))
        self.x0, self.lam0 = np.zeros(size), np.zeros(groups)

    def at(self, x, lam):
        alpha, r, q = np.exp(lam)[self.group], self.A @ x - self.a, self.B @ x - self.b
        H = self.A.T @ self.A + np.diag(alpha)
        return SimpleNamespace(
            h=0.5 * r @ r + 0.5 * alpha @ x**2,
            h_x=self.A.T @ r + alpha * x,
            hessian=H if self.factors else LinearOperator(H.shape, matvec=H.dot, dtype=float),
            cross=(alpha * x)[:, None] * (self.group[:, None] == np.arange(lam.size)),
            g=0.5 * q @ q,
            g_x=self.B.T @ q,
            g_lam=np.zeros(lam.size),
            strong_convexity=float(np.exp(lam.min())),
        )


def exactly(problem):
    """λ ↦ f and ∇f, from the closed form: h is quadratic in x."""

    def f(lam):
        begun = problem.at(problem.x0, lam)
        H = begun.hessian @ np.eye(problem.x0.size)
        point = problem.at(problem.x0 - np.linalg.solve(H, begun.h_x), lam)
        return point.g, point.g_lam - point.cross.T @ np.linalg.solve(H, point.g_x)

    return f


def by_differences(f, lam, step=1e-5):
    return np.array([(f(lam + step * e)[0] - f(lam - step * e)[0]) / (2 * step)
                     for e in np.eye(lam.size)])  # fmt: skip


def test_the_problems_are_right():
    hoag.testing.check_problem(Mixture(0))
    hoag.testing.check_problem(Groups(0))
    f = exactly(Mixture(1))
    lam = np.array([0.2, 0.5, 0.3])
    assert_allclose(by_differences(f, lam), f(lam)[1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_weights_on_a_simplex_end_where_a_fine_grid_and_slsqp_do(seed):
    problem = Mixture(seed)
    f = exactly(problem)
    found = hoag.minimize(problem, bounds=Simplex())
    assert found.converged
    assert Simplex().contains(found.lam)
    steps = np.arange(26) / 25
    grid = min(f(np.array([u, v, 1 - u - v]))[0] for u in steps for v in steps if u + v <= 1)
    best = sequential(f, problem.lam0, "simplex").fun
    value = f(found.lam)[0]
    assert abs(value - found.value) <= 5e-4 * value
    assert value <= (1 + 1e-4) * min(grid, best)


@pytest.mark.parametrize("seed", quick(range(10), range(4)))
def test_ordered_penalties_end_where_slsqp_does(seed):
    problem, domain = Groups(seed, factors=seed % 2 == 0), Ordered(-12, 12)
    f = exactly(problem)
    found = hoag.minimize(problem, bounds=domain, search=Auto(1e-5))
    assert found.converged
    assert np.all(np.diff(found.lam) >= 0)
    # from where it ended, for f may have other minima
    assert f(found.lam)[0] <= (1 + 1e-4) * sequential(f, found.lam, "ordered").fun
    slope = by_differences(f, found.lam)
    off = np.linalg.norm(found.lam - domain.project(found.lam - slope))
    assert off <= 0.03 * max(np.linalg.norm(slope), np.linalg.norm(f(problem.lam0)[1]))


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_binds_it_ends_as_in_the_box(seed):
    criterion, search = Implicit(Groups(seed)), Auto(1e-6)
    box = hoag.minimize(criterion, bounds=(-8, 8), search=search)
    rng = np.random.default_rng(seed)
    near = np.clip(box.lam + 0.3 * rng.normal(size=4), -8, 8)  # f has other minima
    own = Own(lambda lam: np.clip(lam, -8, 8))
    huge = Ball(1e3) if np.abs(box.lam).max() < 7 else own
    for domain in (own, Product([(2, own), (2, (-8, 8))]), huge):
        found = hoag.minimize(criterion, near, domain, search=search)
        assert found.converged
        assert_allclose(found.value, box.value, rtol=2e-5)
        slopes = exactly(criterion.problem.given)(found.lam)[1]
        assert np.linalg.norm(acting(found.lam, slopes, adopt(domain, 4))) <= 1e-3 * box.value


def test_units_of_the_weights_do_not_matter():
    for unit in (1e-3, 1e3):
        one, other = (hoag.minimize(Mixture(4, unit=u), bounds=Simplex(u)) for u in (1.0, unit))
        assert other.converged
        assert_allclose(one.value, other.value, rtol=1e-4)
        assert_allclose(other.lam / unit, one.lam, atol=0.02)


class Valley(Criterion):
    """1 + ½(λ − c)ᵀH(λ − c) with p wrong by up to `noise`·ε, measured or not, or exact."""

    def __init__(self, size, noise, measured, exact, seed):
        self.rng = np.random.default_rng(seed)
        self.H = np.diag(np.geomspace(0.1, 30, size))
        self.centre = self.rng.normal(size=size) * 2
        self.noise, self.measured, self.exact = noise, measured, exact

    @property
    def lam0(self):
        return np.zeros(self.centre.size)

    @property
    def traits(self):
        return Traits(exact=self.exact)

    def f(self, lam):
        d = lam - self.centre
        return 1 + 0.5 * d @ self.H @ d, self.H @ d

    def _evaluate(self, lam, ask, warm):
        value, p = self.f(lam)
        off = 0.0 if self.exact else self.noise * min(ask.eps, 1.0)
        unit = self.rng.normal(size=lam.size)
        p = p + off * unit / np.linalg.norm(unit)
        f_error = off**2
        return Evaluation(
            lam, float(value + f_error * self.rng.uniform(-1, 1)), p,
            f_error=f_error, error=off if self.measured else np.nan, cost=Cost(passes=1.0),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("noise", "measured", "exact"),
    [(1.0, True, False), (30.0, True, False), (30.0, False, False), (0.0, False, True)],
)
def test_inexact_gradients_lead_as_far_as_was_asked_for(seed, noise, measured, exact):
    valley = Valley(5, noise, measured, exact, seed)
    for domain in (Ball(1.0), Simplex(), Ordered(-1, 1)):
        start = domain.project(np.zeros(5))
        found = hoag.minimize(valley, start, domain, search=Auto(1e-5))
        truth = hoag.minimize(
            Valley(5, 0.0, True, True, seed), start, domain, search=Auto(1e-12, 1000)
        )
        assert found.converged
        least_ = valley.f(truth.lam)[0]
        off = np.linalg.norm(truth.lam - domain.project(truth.lam - valley.f(truth.lam)[1] / 30))
        assert off <= 1e-4
        assert valley.f(found.lam)[0] <= (1 + 2e-5) * least_
        assert len(found.trace) < 100
        assert not exact or {step.eps for step in found.trace} == {0.0}


def test_a_domain_of_one_point_is_its_own_answer():
    for domain, lam in ((Ball(0.0, 0.2), 0.2), (Simplex(0.0), 0.0), (Ordered(1, 1), 1.0)):
        found = hoag.minimize(Mixture(0), lam, domain)
        assert found.converged
        assert found.lam.tolist() == [lam] * 3
        assert "nan" not in str(found.status)


@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_search_goes_along_any_projection(seed):
    problem = Mixture(seed)
    best = sequential(exactly(problem), problem.lam0, "simplex").fun
    for search in (Hoag(gain=1e-4), Hoag(tol=1e-4)):
        found = hoag.minimize(problem, bounds=Simplex(), search=search)
        assert found.converged
        assert Simplex().contains(found.lam)
        assert exactly(problem)(found.lam)[0] <= (1 + 2e-4) * best


@pytest.mark.parametrize("search", [Auto(), Hoag(gain=1e-4)], ids=repr)
@pytest.mark.parametrize(
    "domain", [Simplex(2.0), Ball(1.0), Ordered(-1, 1), Product([(1, Simplex()), (2, Ball())])]
)
def test_journals_lead_to_the_same_place(search, domain):
    sizes = (3,) if isinstance(domain, Product) else (1, 2, 5)
    hoag.testing.check_search(search, sizes, domain=domain)


def test_the_status_names_bounds_but_not_what_is_meant():
    low = Product([(1, (-1, 1)), (2, Simplex())])
    valley = Valley(3, 0.0, True, True, 0)
    valley.centre = np.array([-5.0, 2.0, -2.0])
    start = np.array([0.0, 0.5, 0.5])
    found = hoag.minimize(valley, start, low)
    assert found.converged
    assert "lam[0] = -1 is on its lower bound" in str(found.status)
    assert_allclose(found.lam, [-1, 1, 0], atol=1e-3)
    assert "bound" not in str(
        hoag.minimize(valley, start, Product([(1, Ball()), (2, Simplex())])).status
    )


def test_it_stops_when_evaluations_run_out():
    found = hoag.minimize(Mixture(3), bounds=Simplex(), search=Auto(1e-9, max_iter=4))
    assert found.status.reason == "max_iter"
    assert len(found.trace) == 4
    assert Simplex().contains(found.lam)


def test_models_of_the_library_take_domains():
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(90, 6)), np.array([2.0, 1.5, 1.0, 0.5, 0.2, 0.0])
    y = A @ w + rng.normal(size=90)
    folds = hoag.models.folds(hoag.models.ridge, A, y, penalties=np.arange(6) // 2)
    free = hoag.minimize(folds, bounds=(-12, 12))
    ordered = hoag.minimize(folds, bounds=Ordered(-12, 12))
    ball = hoag.minimize(folds, bounds=Ball(2.0))
    assert free.value <= (1 + 1e-4) * min(ordered.value, ball.value)
    assert ordered.converged
    assert ball.converged
    targets = np.stack([y, A @ w[::-1] + rng.normal(size=90)], axis=1)
    apart = np.repeat([[0, 1]], 6, axis=0)
    folds = hoag.models.folds(hoag.models.ridge, A, targets, penalties=apart)
    both = hoag.minimize(folds, bounds=Ordered(-12, 12))
    assert both.converged
    assert both.lam[0] <= both.lam[1]


def test_a_descent_can_be_driven_by_hand():
    steps = descend(Simplex(), np.zeros(2), 1e-4, 10, exact=True)
    look = next(steps)
    assert_allclose(look.lam, [0.5, 0.5])
    assert look.ask.eps == 0
