"""`hoag.problem`: plain callables, with scales, bounds and structures of people's own."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import hoag
from hoag._core.scaling import NAMED, Scale
from hoag.autodiff._pytree import Layout, Pytree
from hoag.errors import InvalidInputError, SingularProblemError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(30, 4)), RNG.normal(size=(20, 4))
TRUTH = np.array([2.0, -1.0, 0.3, 0.0])
Y, Z = A @ TRUTH + RNG.normal(size=30), B @ TRUTH + RNG.normal(size=20)
EXACT = {
    "h_x": lambda x, lam: A.T @ (A @ x - Y) + lam[0] * x,
    "hessian": lambda x, lam: A.T @ A + lam[0] * np.eye(4),
    "cross": lambda x, lam: x[:, None],
    "g_x": lambda x, lam: 2 * B.T @ (B @ x - Z),
    "g_lam": lambda x, lam: np.zeros(1),
}


def h(x, lam):
    return 0.5 * np.sum((A @ x - Y) ** 2) + 0.5 * lam[0] * x @ x


def g(x, lam):
    return np.sum((B @ x - Z) ** 2)


def made(missing=(), **more):
    given = {name: function for name, function in EXACT.items() if name not in missing}
    settings = {"h": h, "g": g, "x0": np.zeros(4), "lam0": [1.0], "scale": "log"} | given | more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return hoag.problem(**settings)


@pytest.fixture(scope="module")
def library():
    return hoag.models.ridge(A, Y, B, Z)


# ---------------------------------------------------------------- what is given, what is missing


def test_callables_are_the_library_s_own_model(library):
    problem = made()
    assert max(hoag.testing.check_same(library, problem).values()) < 1e-13
    hoag.testing.check_problem(problem)
    hoag.testing.check_criterion(hoag.plan(problem))
    mine, theirs = (
        hoag.minimize(one, search=hoag.optimize.Auto(tol=1e-10)) for one in (problem, library)
    )
    assert mine.converged
    assert mine.value == pytest.approx(theirs.value, rel=1e-9)
    assert np.log(mine.lam[0]) == pytest.approx(theirs.lam[0], abs=1e-4)


@pytest.mark.parametrize("missing", [("hessian",), ("cross",), ("h_x",), tuple(EXACT)])
def test_what_is_missing_is_differenced_and_said(library, missing):
    given = {name: function for name, function in EXACT.items() if name not in missing}
    with pytest.warns(UserWarning, match="made by central differences") as told:
        problem = hoag.problem(h=h, g=g, x0=np.zeros(4), lam0=[1.0], scale="log", **given)
    assert all(name in str(told[0].message) for name in missing)
    # Second derivatives of h alone are differences of differences: right to few digits.
    hoag.testing.check_same(library, problem, tol=1e-3 if "h_x" in missing else 1e-7)
    found = hoag.minimize(problem)
    assert found.value == pytest.approx(hoag.minimize(library).value, rel=1e-4)


def test_operators_and_sparse_matrices_will_do(library):
    from scipy import sparse
    from scipy.sparse.linalg import aslinearoperator

    problem = made(
        hessian=lambda x, lam: sparse.csr_matrix(A.T @ A + lam[0] * np.eye(4)),
        cross=lambda x, lam: aslinearoperator(x[:, None]),
    )
    hoag.testing.check_same(library, problem)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"h": lambda x, lam: (A @ x - Y) ** 2}, r"h\(x, lam\) has shape \(30,\).*one number"),
        ({"g": lambda x, lam: x}, r"g\(x, lam\) has shape \(4,\)"),
        ({"h_x": lambda x, lam: np.zeros(3)}, r"h_x has shape \(3,\).*\(4,\)"),
        ({"hessian": lambda x, lam: np.eye(3)}, r"hessian has shape \(3, 3\).*\(4, 4\)"),
        ({"cross": lambda x, lam: np.zeros((1, 4))}, r"cross has shape \(1, 4\)"),
        ({"g_lam": lambda x, lam: np.zeros(2)}, "g_lam has shape"),
        ({"x0": np.zeros((2, 2))}, "x0 must be a flat array"),
        ({"x0": []}, "x0 must be a flat array"),
        ({"x0": ["a"]}, "x0=.*no flat array of numbers"),
        ({"lam0": [np.nan]}, "lam0 must be a flat array of finite numbers"),
        ({"lam0": [0.0]}, "lam0 is 0 .*must be positive"),
        ({"lam0": [2.0], "scale": "logit"}, r"must be in \(0, 1\)"),
        ({"scale": "decibel"}, "scale='decibel': use 'linear', 'log'"),
        ({"scale": -1.0}, "scale=-1.0"),
        ({"mu": -1.0}, "mu=-1.0: give a number above 0"),
        ({"mu": "strong"}, "mu='strong'"),
        ({"h": lambda x, lam: np.nan}, "h is nan at x0 and lam0"),
        ({"g_x": lambda x, lam: np.full(4, np.inf)}, "∇₁g.*inf at x0"),
        ({"hessian": lambda x, lam: np.full((4, 4), np.nan)}, "Hessian of h in x.*nan at x0"),
        ({"h": lambda x, lam: h(x, lam) * RNG.uniform()}, "h at x0 .* changes between calls"),
        (
            {
                "h_x": lambda x, lam: np.zeros(4),
                "hessian": lambda x, lam: np.zeros((4, 4)),
                "h": lambda x, lam: 3.0,
            },
            "h does not depend on x",
        ),
    ],
)
def test_wrong_use_gets_a_sentence(change, words):
    with pytest.raises(InvalidInputError, match=words):
        made(**change)


def test_matrices_are_made_once_and_not_for_every_product():
    made_of = {"hessian": 0, "cross": 0}

    def counted(name):
        def function(x, lam):
            made_of[name] += 1
            return EXACT[name](x, lam)

        return function

    problem = made(hessian=counted("hessian"), cross=counted("cross"))
    made_of |= {"hessian": 0, "cross": 0}
    point = problem.at(np.ones(4), np.zeros(1))
    for v in np.eye(4):
        point.hessian @ v
    assert made_of == {"hessian": 1, "cross": 0}


# ---------------------------------------------------------------- unbounded, bent, one's own solver


@pytest.mark.parametrize("convex", [True, False])
def test_an_inner_problem_without_a_lower_bound_is_found_out(convex):
    linear = made(
        h=lambda x, lam: lam[0] * np.sum(x),
        h_x=lambda x, lam: np.full(4, lam[0]),
        hessian=lambda x, lam: np.zeros((4, 4)),
        cross=lambda x, lam: np.ones((4, 1)),
        convex=convex,
    )
    concave = made(
        h=lambda x, lam: np.sum(x) - lam[0] * x @ x / 2,
        h_x=lambda x, lam: 1 - lam[0] * x,
        hessian=lambda x, lam: -lam[0] * np.eye(4),
        cross=lambda x, lam: -x[:, None],
        convex=convex,
    )
    for problem in (linear, concave):
        with pytest.raises(SingularProblemError, match=r"diverges.*h has fallen"):
            hoag.minimize(problem)


def double_well(x, lam):
    return np.sum((x**2 - 1) ** 2) / 4 + lam[0] * np.sum((x - 0.3) ** 2) / 2


DOUBLE_WELL = {
    "h": double_well,
    "h_x": lambda x, lam: x * (x**2 - 1) + lam[0] * (x - 0.3),
    "hessian": lambda x, lam: np.diag(3 * x**2 - 1 + lam[0]),
    "cross": lambda x, lam: (x - 0.3)[:, None],
    "g": lambda x, lam: np.sum((x - 0.7) ** 2),
    "g_x": lambda x, lam: 2 * (x - 0.7),
    "g_lam": lambda x, lam: np.zeros(1),
    "lam0": [0.2],
}


def test_an_h_that_is_not_convex_has_a_local_answer_that_is_true():
    x0 = np.array([0.1, -0.1, 0.2, 0.05])  # where h bends down
    problem = made(**DOUBLE_WELL, x0=x0, convex=False)
    found = hoag.minimize(problem)
    assert found.converged
    assert "h is not convex" in str(found.status)
    inner = minimize(lambda x: double_well(x, found.lam), found.x, tol=1e-14)
    assert found.value == pytest.approx(DOUBLE_WELL["g"](inner.x, None), rel=1e-6)


def test_a_saddle_point_is_told_from_a_minimum():
    """For λ < 1 x = 0 is stationary, and h bends down there."""
    parts = DOUBLE_WELL | {
        "h": lambda x, lam: np.sum((x**2 - 1) ** 2) / 4 + lam[0] * x @ x / 2,
        "h_x": lambda x, lam: x * (x**2 - 1) + lam[0] * x,
        "cross": lambda x, lam: x[:, None],
    }
    with pytest.raises(SingularProblemError, match=r"not positive definite.*convex=False"):
        hoag.minimize(made(**parts), bounds=(0.01, 0.5))
    found = hoag.minimize(made(**parts, convex=False), bounds=(0.01, 0.5))
    assert not found.converged
    assert found.evaluation.f_error == np.inf


def test_a_solver_of_one_s_own_is_used_and_judged(library):
    calls = []

    def newton(lam, x0):
        calls.append(x0)
        return np.linalg.solve(A.T @ A + lam[0] * np.eye(4), A.T @ Y)

    found = hoag.minimize(made(solver=newton), search=hoag.optimize.Auto(tol=1e-6))
    assert found.converged
    assert len(calls) > 1
    assert found.value == pytest.approx(hoag.minimize(library).value, rel=1e-4)

    def lazy(lam, x0):
        return x0 + 0.1 * (newton(lam, x0) - x0)

    found = hoag.minimize(made(solver=lazy))  # the audit goes on from there
    exact = newton(found.lam, None)
    assert abs(found.value - g(exact, None)) <= 5 * found.evaluation.f_error + 1e-3 * found.value


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (lambda lam, x0: np.zeros(3), r"what the solver returns has shape \(3,\)"),
        (lambda lam, x0: None, "given where numbers were expected"),
    ],
)
def test_a_solver_that_returns_no_x_gets_a_sentence(solver, words):
    with pytest.raises(InvalidInputError, match=words):
        hoag.minimize(made(solver=solver))


def test_a_solver_that_diverges_is_told_of():
    with pytest.raises(SingularProblemError, match="solver that was given returns an x with a NaN"):
        hoag.minimize(made(solver=lambda lam, x0: x0 * np.nan))


# ---------------------------------------------------------------- scales


@pytest.mark.parametrize(
    "scale", [*NAMED.values(), Scale.of(0.01), Scale(lambda u: u**3, np.cbrt, lambda u: 3 * u**2)]
)
def test_a_scale_goes_there_and_back_and_knows_its_slope(scale):
    u = np.array([-1.5, 0.3, 2.0])
    np.testing.assert_allclose(scale.back(scale.to(u)), u, rtol=1e-12)
    slope = (scale.to(u + 1e-6) - scale.to(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(scale.slope(u), slope, rtol=1e-6)


def test_the_search_result_does_not_depend_on_the_scale():
    cube = Scale(lambda u: u**3, np.cbrt, lambda u: 3 * u**2)
    found = {
        repr(scale): hoag.minimize(
            made(scale=scale), bounds=(1e-3, 50.0), search=hoag.optimize.Auto(tol=1e-9)
        )
        for scale in ("log", "linear", 5.0, cube)
    }
    values = [one.value for one in found.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)
    lams = [one.lam[0] for one in found.values()]
    np.testing.assert_allclose(lams, lams[0], rtol=1e-3)


# ---------------------------------------------------------------- bounds and starts


def test_bounds_and_starts_are_in_the_user_s_units():
    problem = made()
    free = hoag.minimize(problem)
    held = hoag.minimize(problem, lam0=2 * free.lam, bounds=(1.5 * free.lam, 20 * free.lam))
    np.testing.assert_allclose(held.lam, 1.5 * free.lam)
    assert f"{held.lam[0]:.4g} is on its lower bound" in str(held.status)
    steps = hoag.minimize(problem, lam0=2 * free.lam, search=hoag.optimize.Hoag(max_iter=2)).trace
    np.testing.assert_allclose(steps[0].lam, 2 * free.lam)
    assert [step.lam[0] for step in held.trace] == list(held.to_frame()["lam_0"])
    for bounds in (hoag.Box([0.1], [10.0]), [0.1, 10], (np.array([0.1]), 10.0)):
        assert 0.1 <= hoag.minimize(problem, bounds=bounds).lam[0] <= 10.0


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((2.0, 5.0), r"lam0\[0\] = 1 lies outside the bounds \[2, 5\]"),
        ((0.0, 5.0), "a bound is 0 .*must be positive"),
        ((0.1, np.inf), "bounds must be finite"),
        ((5.0, 0.1), "The box is empty"),
        ((0.1, 1.0, 5.0), "no pair"),
        ((np.ones(2), np.ones(2)), r"a bound has shape \(2,\)"),
        ({"lam": (0.1, 5.0)}, "no pair"),
        (("a", "b"), "numbers were expected"),
        (7.0, "7.0"),
    ],
)
def test_wrong_bounds_get_a_sentence(bounds, words):
    with pytest.raises(InvalidInputError, match=words):
        hoag.minimize(made(), bounds=bounds)


def layout(lam, scale="linear"):
    class Arrays(Pytree):
        util = pytest.importorskip("jax").tree_util

        def name(self, path):
            return self.util.keystr(path, simple=True, separator="/")

    tree = Arrays(lam, "lam0")
    return Layout.of(tree, tree, scale)


def test_bounds_of_structures():
    view = layout({"a": 1.0, "b": [np.zeros(2), np.zeros((2, 1))]})
    assert view.names == ("a", "b/0[0]", "b/0[1]", "b/1[0,0]", "b/1[1,0]")
    for bounds in (
        {"a": (0.0, 1.0), "b": (-1.0, 2.0)},
        {"a": (0, 1), "b": [(-np.ones(2), 2), hoag.Box(-1, 2)]},
        ({"a": 0.0, "b": [-1.0, -1.0]}, {"a": 1.0, "b": [np.full(2, 2.0), 2.0]}),
        (np.array([0.0, -1, -1, -1, -1]), np.array([1.0, 2, 2, 2, 2])),
    ):
        box = view.domain(bounds)
        np.testing.assert_array_equal(box.lower, [0, -1, -1, -1, -1])
        np.testing.assert_array_equal(box.upper, [1, 2, 2, 2, 2])


def test_bounds_that_can_be_read_in_two_ways_are_refused():
    view = layout((1.0, 2.0))
    with pytest.raises(InvalidInputError, match=r"may be a pair .* Give a hoag.Box"):
        view.domain(((0.0, 1.0), (2.0, 3.0)))
    box = view.domain(hoag.Box([0.0, 1.0], [2.0, 3.0]))
    np.testing.assert_array_equal(box.upper, [2.0, 3.0])
    np.testing.assert_array_equal(view.domain((0.0, 4.0)).upper, [4.0, 4.0])


def test_scales_by_leaf_and_by_branch():
    view = layout(
        {"a": np.array(0.5), "b": {"c": np.array([1.0, 2.0])}}, {"a": "logit", "b": "log"}
    )
    u = view.moved({"a": 0.5, "b": {"c": np.array([1.0, np.e])}})
    np.testing.assert_allclose(u, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(view.given_lam(u)["b"]["c"], [1.0, np.e])
    assert view.axes == ("logit a", "log b/c[0]", "log b/c[1]")
    with pytest.raises(InvalidInputError, match=r"b/c.1.*must be positive"):
        view.moved({"a": 0.5, "b": {"c": np.array([1.0, -1.0])}})
    with pytest.raises(InvalidInputError, match="another structure"):
        view.moved({"a": 0.5})
    view = layout((1.0, [2.0, 3.0]), ["linear", "log"])  # a list will do for a tuple
    np.testing.assert_allclose(view.moved([1.0, (2.0, 3.0)]), [1.0, *np.log([2.0, 3.0])])
    assert view.domain([(0.0, 1.0), (1.0, 2.0)]).upper[0] == 1.0


# ---------------------------------------------------------------- what comes back


def test_a_result_can_be_copied_and_pickled():
    found = hoag.minimize(made())
    for other in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        np.testing.assert_array_equal(other.lam, found.lam)
        np.testing.assert_array_equal(other.x, found.x)
        np.testing.assert_array_equal(other.trace[0].lam, found.trace[0].lam)
        assert str(other) == str(found)


def test_the_bound_by_a_given_mu_holds():
    problem = made(mu=lambda lam: float(lam[0]))
    criterion = hoag.criteria.Implicit(problem)
    found = criterion.evaluate(np.zeros(1), 1e-3)
    exact = criterion.evaluate(np.zeros(1), 1e-13)
    truth = np.linalg.norm(found.grad - exact.grad)
    assert truth / 10 <= found.error <= 10 * truth + 1e-12


def test_check_same_tells_what_differs(library):
    with pytest.raises(InvalidInputError, match=r"differ in cross \(by"):
        hoag.testing.check_same(library, made(cross=lambda x, lam: 1.01 * x[:, None]))
    with pytest.raises(InvalidInputError, match="x0 has 4 numbers, and 3"):
        hoag.testing.check_same(library, hoag.models.ridge(A[:, :3], Y, B[:, :3], Z))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("one", [True, False])
def test_a_linear_hyperparameter_of_any_size_is_found(size, one):
    """Steps of two units see nothing of bounds that are 1e6 apart."""
    target = np.array([0.3]) if one else np.array([0.3, -0.2, 0.7])

    def g(x, lam):
        return float(1 + np.sum((x - target) ** 2))

    s = target.size
    problem = hoag.problem(
        h=lambda x, lam: 0.5 * np.sum((x - lam / size) ** 2),
        h_x=lambda x, lam: x - lam / size,
        hessian=lambda x, lam: np.eye(s),
        cross=lambda x, lam: -np.eye(s) / size,
        g=g,
        g_x=lambda x, lam: 2 * (x - target),
        g_lam=lambda x, lam: np.zeros(s),
        x0=np.zeros(s),
        lam0=np.full(s, 0.9 * size),
    )
    result = hoag.minimize(problem, bounds=(-size, size))
    assert result.converged
    np.testing.assert_allclose(result.lam / size, target, atol=0.02)
    assert result.value == pytest.approx(g(result.lam / size, None), rel=1e-9)
    assert all(np.all(np.abs(step.lam) <= size) for step in result.trace)


def test_problems_of_a_list_must_have_the_same_hyperparameters():
    def made(**more):
        return hoag.problem(
            h=lambda x, lam: np.sum((x - 1) ** 2) + lam[0] * x @ x,
            h_x=lambda x, lam: 2 * (x - 1) + 2 * lam[0] * x,
            hessian=lambda x, lam: 2 * (1 + lam[0]) * np.eye(2),
            cross=lambda x, lam: 2 * x[:, None],
            g=lambda x, lam: 1 + np.sum((x - 0.5) ** 2),
            g_x=lambda x, lam: 2 * (x - 0.5),
            g_lam=lambda x, lam: np.zeros(1),
            x0=np.zeros(2),
            lam0=[1.0],
            **more,
        )

    assert hoag.minimize([made(scale="log"), made(scale="log")]).converged
    with pytest.raises(InvalidInputError, match="Problem 2 of the list has other hyperparameters"):
        hoag.minimize([made(scale="log"), made()])
