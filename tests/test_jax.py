"""`hoag.jax.problem`: two functions in JAX in, a problem out that can be trusted."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from quick import quick, quick_pairs
from scipy.optimize import minimize

from hoag.errors import InvalidInputError, SingularProblemError

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import rewritten_jax  # noqa: E402

import hoag  # noqa: E402
import hoag.jax  # noqa: E402
from hoag import solvers  # noqa: E402
from hoag.optimize import Auto, Grid, Hoag, Random  # noqa: E402

# ---------------------------------------------------------------- the library's models, rewritten

# Every model, with penalties, weights, intercepts in turn; `python tests/rewritten_jax.py` has all.
SETTINGS = [
    {"model": "logistic", "penalties": "shared", "weighted": True, "intercept": True},
    {"model": "logistic", "penalties": "partly-free"},
    {"model": "multinomial", "penalties": "groups", "intercept": True},
    {"model": "multinomial", "penalties": "per-coefficient", "weighted": True},
    {"model": "ridge", "penalties": "groups", "weighted": True, "intercept": True},
    {"model": "ridge-2", "penalties": "per-class", "intercept": True},
    {"model": "kernel-ridge", "weighted": True},
    {"model": "kernel-widths"},
]
SEARCHED = (0, 2, 4, 6)


@functools.cache
def models(k):
    """The library's problem of a setting, and ours."""
    return rewritten_jax.both(SETTINGS[k])


@pytest.mark.parametrize(
    "k", quick(range(len(SETTINGS)), (*SEARCHED, 7)), ids=lambda k: SETTINGS[k]["model"]
)
def test_every_model_of_the_library_rewritten_is_the_same_function(k):
    library, ours = models(k)
    assert max(hoag.testing.check_same(library, ours).values()) < 1e-12
    hoag.testing.check_problem(ours, directions=1)


@pytest.mark.parametrize("k", SEARCHED, ids=lambda k: SETTINGS[k]["model"])
def test_every_model_rewritten_is_tuned_to_the_same_place(k):
    library, ours = models(k)
    theirs, found = (hoag.minimize(one, search=Auto(tol=1e-11)) for one in (library, ours))
    assert theirs.converged
    assert found.converged
    assert found.value == pytest.approx(theirs.value, rel=1e-8)
    np.testing.assert_allclose(found.evaluation.lam, theirs.lam, atol=1e-3)


def test_criteria_on_them_keep_their_contract():
    ours = models(4)[1]
    hoag.testing.check_criterion(hoag.plan(ours))
    hoag.testing.check_criterion(hoag.plan(ours, by_steps=True))
    hoag.testing.check_criterion(hoag.plan([ours, ours]))


# ---------------------------------------------------------------- searches, schedules, sizes


def logistic_problem(p, groups, scale):
    rng = np.random.default_rng(p)
    A, B = rng.normal(size=(60, p)), rng.normal(size=(40, p))
    x = rng.normal(size=p) / np.sqrt(p)
    y, z = (np.sign(rows @ x + rng.normal(size=len(rows)) / 2) for rows in (A, B))
    which = np.arange(p) % groups

    def loss(x, A, y):
        return jnp.sum(jnp.logaddexp(0.0, -y * (A @ x)))

    def h(x, lam):
        alpha = lam if scale == "log" else jnp.exp(lam)
        return loss(x, A, y) + jnp.sum(alpha[which] * x**2) / 2

    lam0 = jnp.ones(groups) if scale == "log" else jnp.zeros(groups)
    return hoag.jax.problem(
        h, lambda x, _: loss(x, B, z), jnp.zeros(p), lam0, scale=scale, mu=lambda lam: 1e-6
    )


@pytest.fixture(scope="module")
def logistics():
    """One λ and two; few coefficients, by factors, and many, by conjugate gradients."""
    return {
        "one": logistic_problem(5, 1, "log"),
        "two": logistic_problem(6, 2, "linear"),
        "large": logistic_problem(310, 2, "log"),
    }


def solved(problem, u, x0=None):
    """f by SciPy, x by Newton steps of its trust region: nothing of the library's solvers."""
    inner = minimize(
        lambda x: problem.at(x, u).h,
        problem.x0 if x0 is None else x0,
        jac=lambda x: problem.at(x, u).h_x,
        hess=lambda x: problem.at(x, u).hessian.matrix(),
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    return problem.at(inner.x, u).g, inner.x


SEARCHES = {
    "default": Auto(),
    "cubic": Hoag(solvers.CubicDecay(), max_iter=15),
    "quadratic": Hoag(solvers.QuadraticDecay(), max_iter=15),
    "exponential": Hoag(solvers.ExponentialDecay(), max_iter=15),
    "exact": Hoag(solvers.Exact(), max_iter=6),
    "grid": Grid(2),
    "random": Random(3),
}


@pytest.mark.parametrize(
    ("size", "search"),
    quick_pairs(
        product(["one", "two", "large"], SEARCHES),
        lambda size, search: size == "two" or search == "default",
    ),
)
def test_the_value_that_is_told_is_true(logistics, size, search):
    problem = logistics[size]
    found = hoag.minimize(problem, search=SEARCHES[search], bounds=None)
    value, _ = solved(problem, found.evaluation.lam, found.evaluation.x)
    assert found.value == pytest.approx(value, abs=5 * found.evaluation.f_error + 1e-8 * value)
    assert found.evaluation.f_error <= 1e-2 * value
    wanted = {"default": "converged", "grid": "finished", "random": "finished"}
    assert found.status.reason in (wanted.get(search, "max_iter"), "converged")
    assert str(found.status)
    assert found.unit == "gradients of h"


@pytest.mark.parametrize("size", ["one", "two", "large"])
def test_errors_of_gradients_are_what_they_are_said_to_be(logistics, size):
    problem = logistics[size]
    criterion, u = hoag.criteria.Implicit(problem), problem.lam0 + 0.3
    exact = criterion.evaluate(u, 1e-12)
    slopes = []
    for step in 1e-4 * np.eye(u.size):
        ends = [solved(problem, u + sign * step, exact.x)[0] for sign in (1, -1)]
        slopes.append((ends[0] - ends[1]) / 2e-4)
    np.testing.assert_allclose(exact.grad, slopes, rtol=1e-5)
    for eps in (1e-1, 1e-2):
        found = criterion.evaluate(u, eps)
        truth = np.linalg.norm(found.grad - exact.grad)
        assert truth / 10 <= found.error <= 10 * truth
        assert abs(found.value - exact.value) <= 10 * found.f_error + 1e-12 * exact.value


def test_unrolled_and_folds(logistics):
    problem = logistics["one"]
    method = hoag.criteria.UnrolledGradientDescent(momentum=0.5)
    unrolled = hoag.criteria.Unrolled(problem, method, n_iter=300).evaluate(problem.lam0)
    exact = hoag.criteria.Implicit(problem).evaluate(problem.lam0, 1e-12)
    assert unrolled.value == pytest.approx(exact.value, rel=1e-6)
    np.testing.assert_allclose(unrolled.grad, exact.grad, rtol=1e-4)
    one, two = (hoag.minimize(what) for what in (problem, [problem, problem]))
    assert two.value == pytest.approx(2 * one.value, rel=1e-6)
    assert isinstance(two.x, tuple)
    assert len(two.x) == 2
    assert two.x[0].shape == (5,)


@pytest.mark.parametrize("certificate", ["none", "estimate", "bound"])
def test_certificates(logistics, certificate):
    found = hoag.minimize(logistics["two"], certificate=certificate)
    assert found.converged
    assert np.isnan(found.evaluation.error) == (certificate == "none")
    assert found.evaluation.bound == np.inf  # autodiff proves nothing


# ---------------------------------------------------------------- structures of the user's


class Weights(NamedTuple):
    slopes: list
    offset: float


RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(50, 3)), RNG.normal(size=(40, 3))
Y, Z = (rows @ [2.0, -1.0, 0.1] + 0.5 + RNG.normal(size=len(rows)) for rows in (A, B))
LAM0 = {"penalty": {"encoder": [jnp.ones(3)], "offset": 1.0}, "mix": jnp.full((1, 2), 0.5)}


@pytest.fixture(scope="module")
def structured():
    def h(x, lam):
        (w,), b = x
        encoder, offset = lam["penalty"]["encoder"][0], lam["penalty"]["offset"]
        return jnp.sum((A @ w + b - Y) ** 2) + jnp.sum(encoder * w**2) + offset * b**2

    def g(x, lam):
        return jnp.mean((B @ x.slopes[0] + x.offset - Z) ** 2) + jnp.sum((lam["mix"] - 0.3) ** 2)

    x0 = Weights([jnp.zeros(3)], 0.0)
    return hoag.jax.problem(h, g, x0, LAM0, scale={"penalty": "log", "mix": "logit"})


@pytest.fixture(scope="module")
def tuned(structured):
    return hoag.minimize(structured)


NAMES = (
    *("mix[0,0]", "mix[0,1]"),
    *(f"penalty/encoder/0[{j}]" for j in range(3)),
    "penalty/offset",
)


def test_x_lam_and_trace_are_structures_like_those_given(structured, tuned):
    shapes = jax.tree_util.tree_map(jnp.shape, tuned.lam)
    assert shapes == jax.tree_util.tree_map(jnp.shape, LAM0)
    assert isinstance(tuned.x, Weights)
    assert tuned.x.slopes[0].shape == (3,)
    assert tuned.x.offset.shape == ()
    np.testing.assert_allclose(tuned.lam["mix"], 0.3, atol=1e-2)
    assert tuned.names == NAMES
    frame = tuned.to_frame()
    assert [name for name in frame.columns if name.startswith("lam_")] == [
        f"lam_{name}" for name in NAMES
    ]
    assert list(frame["lam_penalty/offset"]) == [
        float(step.lam["penalty"]["offset"]) for step in tuned.trace
    ]
    hoag.testing.check_problem(structured, directions=1)


def test_starts_bounds_and_callbacks_are_structures_too(structured):
    start = {
        "penalty": {"encoder": [jnp.full(3, 2.0)], "offset": 3.0},
        "mix": jnp.full((1, 2), 0.4),
    }
    seen = []
    found = hoag.minimize(
        structured,
        lam0=start,
        bounds={"penalty": (0.5, 5.0), "mix": (0.35, jnp.array([[0.9, 0.8]]))},
        callback=lambda step: seen.append(step.lam),
    )
    assert float(seen[0]["penalty"]["offset"]) == pytest.approx(3.0)
    assert len(seen) == len(found.trace)
    np.testing.assert_allclose(found.lam["mix"], 0.35)
    assert np.all(found.lam["penalty"]["encoder"][0] >= 0.5 - 1e-12)
    with pytest.raises(InvalidInputError, match=r"lam0: penalty/offset = 3 lies outside .* 2"):
        hoag.minimize(structured, lam0=start, bounds={"penalty": (0.5, 2.9), "mix": (0.1, 0.9)})
    with pytest.raises(InvalidInputError, match="another structure than lam0"):
        hoag.minimize(structured, bounds={"penalty": (0.5, 2.0)})
    with pytest.raises(InvalidInputError, match="another structure than lam0"):
        hoag.minimize(structured, lam0={"mix": jnp.ones(2)})


def test_a_result_of_structures_can_be_copied_and_pickled(tuned):
    for other in (pickle.loads(pickle.dumps(tuned)), copy.deepcopy(tuned)):
        assert isinstance(other.x, Weights)
        assert float(other.lam["penalty"]["offset"]) == float(tuned.lam["penalty"]["offset"])
        assert str(other) == str(tuned)


def test_pictures_have_the_names_of_the_leaves(structured, tuned):
    pytest.importorskip("matplotlib")
    from hoag.plot import CostDisplay, StepsDisplay

    steps = StepsDisplay(tuned).plot()
    words = {text.get_text() for text in steps.ax_.texts}
    assert {"log penalty/offset", "logit mix[0,0]"} <= words
    assert CostDisplay(tuned).plot().ax_.get_xlabel() == "gradients of h"


def test_single_numbers_and_single_precision_come_back_as_they_were():
    problem = hoag.jax.problem(
        lambda x, lam: (x - 1) ** 2 + lam * x**2,
        lambda x, lam: (x - 0.8) ** 2,
        jnp.float32(0.0),
        np.float32(1.0),
        scale="log",
    )
    found = hoag.minimize(problem, lam0=2, bounds=(0.1, 10))
    assert found.lam.dtype == found.x.dtype == jnp.float32
    assert float(found.lam) == pytest.approx(0.25, rel=1e-2)
    assert problem.at(np.zeros(1), np.zeros(1)).h_x.dtype == np.float64


def test_modules_of_equinox():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MLP(3, "scalar", 2, 1, activation=jnp.tanh, key=jax.random.PRNGKey(0))

    def h(x, lam):
        leaves = jax.tree_util.tree_leaves(eqx.filter(x, eqx.is_array))
        return jnp.sum((jax.vmap(x)(A) - Y) ** 2) + lam * sum(jnp.sum(w**2) for w in leaves)

    problem = hoag.jax.problem(
        h,
        lambda x, lam: jnp.mean((jax.vmap(x)(B) - Z) ** 2),
        module,
        3.0,
        scale="log",
        convex=False,
    )
    assert problem.layout.x.names == (
        *("layers/0/weight", "layers/0/bias", "layers/1/weight", "layers/1/bias"),
    )
    found = hoag.minimize(problem, search=Hoag(max_iter=2))
    assert type(found.x) is type(module)
    value = np.mean((np.array([found.x(row) for row in B]) - Z) ** 2)
    assert value == pytest.approx(found.evaluation.g, rel=1e-10)


# ---------------------------------------------------------------- data

ROWS = RNG.normal(size=(300, 8))
ON_DEVICE = jnp.asarray(ROWS)


@jax.jit
def compiled(x):
    return jnp.sum((ON_DEVICE @ x - 1.0) ** 2)


def scanned(x):
    def step(total, row):
        return total + compiled(x) / 2 + 0.0 * row, None

    return jax.lax.scan(step, 0.0, jnp.arange(2.0))[0]


CLOSED_OVER = {
    "numpy": lambda x: jnp.sum((ROWS @ x - 1.0) ** 2),
    "vmap": lambda x: jnp.sum(jax.vmap(lambda row: (row @ x - 1.0) ** 2)(ON_DEVICE)),
    "scan of compiled": scanned,
    "branch and checkpoint of compiled": lambda x: jax.lax.cond(
        x[0] > -99.0, jax.checkpoint(compiled), lambda x: x[0], x
    ),
}


@pytest.mark.parametrize("how", quick(CLOSED_OVER, ["numpy", "scan of compiled"]))
def test_arrays_that_are_closed_over_are_no_part_of_compiled_code(how):
    loss = CLOSED_OVER[how]
    problem = hoag.jax.problem(
        lambda x, lam: loss(x) + lam * x @ x,
        lambda x, lam: jnp.sum((x - 1) ** 2),
        jnp.zeros(8),
        1.0,
    )
    x, lam = np.full(8, 0.1), np.ones(1)
    part = problem.functions._loss.at(None)
    program = part.program
    for derivative in (program.linearised, program.gradient, program.hessian):
        assert len(derivative.lower(part.arrays, x, lam).as_text()) < 8 * ROWS.size
    point, residuals = problem.at(x, lam), ROWS @ x - 1
    assert point.h == pytest.approx(residuals @ residuals + x @ x, rel=1e-12)
    np.testing.assert_allclose(point.h_x, 2 * ROWS.T @ residuals + 2 * x, rtol=1e-11)
    H = 2 * ROWS.T @ ROWS + 2 * np.eye(8)
    np.testing.assert_allclose(point.hessian.matrix(), H, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(point.hessian @ x, H @ x, rtol=1e-11)


def test_blocks_add_up_to_the_whole_and_keep_nothing():
    y = np.sign(ROWS @ np.arange(8.0) + RNG.normal(size=300))

    def loss(x, lam, data):
        return jnp.sum(jnp.logaddexp(0.0, -data["y"] * (data["rows"] @ x)))

    def made(**data):
        return hoag.jax.problem(
            *(loss, lambda x, lam: jnp.sum((x - 0.5) ** 2), jnp.zeros(8), jnp.ones(1)),
            penalty=lambda x, lam: lam[0] * jnp.sum(x**2),
            scale="log",
            **data,
        )

    data = {"rows": ROWS, "y": y}
    parts = [{"rows": ROWS[a : a + 100], "y": y[a : a + 100]} for a in (0, 100, 200)]
    whole, drawn = made(train=data), []

    def each():
        for part in parts:
            drawn.append(1)
            yield part

    for batches in ({"train": data, "batches": 3}, {"batches": parts}, {"batches": each}):
        problem = made(**batches)
        hoag.testing.check_same(whole, problem, tol=1e-12)
        point = problem.at(np.ones(8), np.zeros(1))
        assert point.h > 0
        before = len(drawn)
        point.hessian @ np.ones(8)
        if "train" not in batches and batches["batches"] is each:
            assert len(drawn) == before + 3  # read again: nothing was kept from the gradient
        assert point._inner.times.func.__name__ == "_times"
    assert hoag.minimize(problem).value == pytest.approx(hoag.minimize(whole).value, rel=1e-10)


# ---------------------------------------------------------------- wrong use


def quadratic(x, lam):
    return jnp.sum((x - 1) ** 2) + lam * jnp.sum(x**2)


def squares(x, lam):
    return jnp.sum((x - 0.8) ** 2)


CALLS: list[int] = []


def counting(x, lam):
    CALLS.append(1)
    return len(CALLS) * quadratic(x, lam)


def bad(h=quadratic, g=squares, x0=None, lam0=1.0, **more):
    return hoag.jax.problem(h, g, jnp.zeros(2) if x0 is None else x0, lam0, **more)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bad(lambda x, lam: (x - 1) ** 2), r"h\(x, lam\) returns shape \(2,\).*one number"),
        (lambda: bad(g=lambda x, lam: (squares(x, lam), 1.0)), r"g\(x, lam\) returns 2 arrays"),
        (lambda: bad(g=lambda x, lam: None), r"g\(x, lam\) returns no arrays"),
        (lambda: bad(h=3.0), "h=3.0: give a function"),
        (lambda: bad(x0={"w": jnp.zeros(2)}), "cannot be called with x like x0"),
        (lambda: bad(x0=jnp.zeros(2), lam0={"a": 1.0}), "cannot be called with x like x0 and lam"),
        (lambda: bad(lambda x, lam: float(jnp.sum(x))), "cannot be traced.*jax.numpy"),
        (lambda: bad(lambda x, lam: np.sum(np.asarray(x))), "cannot be traced.*jax.numpy"),
        (lambda: bad(train=jnp.ones(2)), r"h\(x, lam, data\) cannot be called"),
        (
            lambda: bad(lambda x, lam: jnp.sum(x.astype(jnp.float32) ** 2)),
            "float32.*Look for a cast",
        ),
        (lambda: bad(lambda x, lam: quadratic(x, lam) + jnp.log(x[0])), "h is -inf at x0"),
        (
            lambda: bad(lambda x, lam: quadratic(x, lam) + jnp.linalg.norm(x)),
            "∇₁h, the gradient of h in x, .*nan at x0.*norm has no derivative",
        ),
        (lambda: bad(g=lambda x, lam: jnp.sqrt(jnp.sum(x**2))), "∇₁g, the gradient of g in x"),
        (
            lambda: bad(lambda x, lam: quadratic(x, lam) + jnp.sum(jnp.abs(x) ** 1.5)),
            "a product with ∇²₁h, .*at x0",
        ),
        (lambda: bad(lambda x, lam: 3.0), "h does not depend on x"),
        (lambda: bad(x0=jnp.zeros(2, dtype=int)), "x0 is of type int64, and has no gradient"),
        (lambda: bad(lam0={"a": 1}), "lam0: a is of type int64"),
        (lambda: bad(x0={"w": "ones"}), "x0: w is the text 'ones'"),
        (lambda: bad(x0={}), "x0 has no number in it"),
        (lambda: bad(x0=jnp.zeros(0)), "x0 has no number in it"),
        (lambda: bad(x0=jnp.full(2, jnp.nan)), "x0 holds a NaN"),
        (lambda: bad(lambda x, lam: quadratic(x, lam) * RNG.uniform()), "changes between calls"),
        (lambda: bad(counting), "changes between calls"),
        (lambda: bad(lam0=-1.0, scale="log"), "lam0 is -1 .*must be positive"),
        (lambda: bad(scale="logarithm"), "scale='logarithm': use"),
        (lambda: bad(scale={"a": "log"}), "another structure than lam0"),
        (lambda: bad(batches=2), "batches=2: train must hold arrays"),
        (lambda: bad(batches=[]), "batches=.*: give a number of blocks"),
        (lambda: bad(batches=list), r"batches\(\) gave no block"),
    ],
)
def test_wrong_use_gets_a_sentence(call, words):
    with pytest.raises(InvalidInputError, match=f"(?s){words}"):
        call()


def test_an_inner_problem_without_a_lower_bound_is_found_out():
    def linear(x, lam):
        return lam * jnp.sum(x)

    with pytest.raises(SingularProblemError, match=r"diverges.*h has fallen"):
        hoag.minimize(bad(linear))


def test_single_precision_everywhere_is_refused():
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(InvalidInputError, match=r"single precision.*jax_enable_x64"):
            bad(lam0=1.0)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_without_jax_it_says_what_to_install():
    script = "import sys; sys.modules['jax'] = None; import hoag.jax"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "MissingPackageError: hoag.jax needs JAX: pip install 'hoag[jax]'." in told.stderr


# ---------------------------------------------------------------- not convex


def network(x, rows):
    return jnp.tanh(rows @ x["W"] + x["c"]) @ x["v"]


def net_loss(x, lam):
    penalty = lam["W"] * jnp.sum(x["W"] ** 2) + lam["v"] * jnp.sum(x["v"] ** 2)
    return jnp.sum((network(x, A) - Y) ** 2) + penalty + 0.1 * jnp.sum(x["c"] ** 2)


def net_judged(x, lam):
    return jnp.mean((network(x, B) - Z) ** 2)


NET = {"W": jnp.asarray(RNG.normal(size=(3, 2))), "c": jnp.zeros(2), "v": jnp.array([0.5, -0.2])}
NET_LAM = {"W": 1.0, "v": 1.0}
NET_BOUNDS = (0.3, 30.0)


@jax.jit
def descent(lam, x):
    """Gradient descent with momentum, as somebody writes it who has no optimiser."""

    def step(_, state):
        x, speed = state
        slope = jax.grad(net_loss)(x, lam)
        speed = jax.tree_util.tree_map(lambda s, d: 0.9 * s - 2e-3 * d, speed, slope)
        return jax.tree_util.tree_map(jnp.add, x, speed), speed

    return jax.lax.fori_loop(0, 1500, step, (x, jax.tree_util.tree_map(jnp.zeros_like, x)))[0]


def adam(lam, x):
    optax = pytest.importorskip("optax")
    rule = optax.adam(optax.cosine_decay_schedule(0.05, 1500))

    def step(_, state):
        x, memory = state
        update, memory = rule.update(jax.grad(net_loss)(x, lam), memory)
        return optax.apply_updates(x, update), memory

    return jax.jit(lambda x: jax.lax.fori_loop(0, 1500, step, (x, rule.init(x)))[0])(x)


@pytest.mark.parametrize(
    "solver", quick([None, descent, adam], [None, descent]), ids=["newton", "descent", "adam"]
)
def test_a_network_is_tuned_to_a_value_that_is_true(solver):
    problem = hoag.jax.problem(
        net_loss, net_judged, NET, NET_LAM, scale="log", convex=False, solver=solver
    )
    found = hoag.minimize(problem, bounds=NET_BOUNDS, search=Auto(tol=1e-3))
    assert found.converged
    assert "h is not convex" in str(found.status)
    value, x = solved(problem, found.evaluation.lam, found.evaluation.x)
    assert found.value == pytest.approx(value, rel=1e-3)
    assert np.linalg.eigvalsh(problem.at(x, found.evaluation.lam).hessian.matrix())[0] > 0
    first = hoag.criteria.Implicit(problem, *hoag._criteria.select.solvers(problem)).evaluate(
        problem.lam0, 1e-6
    )
    assert found.value <= first.value


def test_what_is_not_convex_and_not_said_to_be_so_gets_a_sentence():
    flat = {name: 0.0 * leaf for name, leaf in NET.items()}  # a saddle point
    problem = hoag.jax.problem(net_loss, net_judged, flat, NET_LAM, scale="log")
    with pytest.raises(SingularProblemError, match=r"not positive definite.*convex=False"):
        hoag.minimize(problem, bounds=NET_BOUNDS)
