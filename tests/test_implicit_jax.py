"""hoag.implicit in JAX: the derivative of the minimum, and what is said where x is none."""

import re
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

import hoag
from hoag.errors import InvalidInputError, SingularProblemError

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _double():
    """In float64; and compiled quickly, for everything here is small."""
    jax.config.update("jax_disable_most_optimizations", True)
    with jax.enable_x64(True):
        yield
    jax.config.update("jax_disable_most_optimizations", False)


def data(seed=0, rows=30, columns=6):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, columns))
    return A, A.sum(1) + rng.normal(size=rows)


A, B = data()
ZERO, V = np.zeros(6), np.array([1.0, -2.0, 0.5, 3.0, 1.0, -1.0])


def ridge(x, lam, A, b):
    return 0.5 * jnp.sum((A @ x - b) ** 2) + 0.5 * jnp.sum(jnp.exp(lam) * x**2)


def exact(lam, x0, A, b):
    return jnp.linalg.solve(A.T @ A + jnp.diag(jnp.exp(lam) * jnp.ones(A.shape[1])), A.T @ b)


def idle(lam, x0, *data):
    return x0


def closed(lam):
    """X(λ) and dX/dλ of ridge regression, by NumPy."""
    H = A.T @ A + np.diag(np.exp(lam) * np.ones(6))
    x = np.linalg.solve(H, A.T @ B)
    jacobian = -np.linalg.solve(H, np.diag(np.exp(lam) * x))
    return x, jacobian.sum(1) if np.ndim(lam) == 0 else jacobian


@cache
def ridges(untrusted="raise", **more):
    """Its solver returns x0, so that a test chooses how far x is from X(λ)."""
    return hoag.implicit(idle, ridge, untrusted=untrusted, **more)


EXACT = hoag.implicit(exact, ridge, tol=1e-12)


def of(X, x0=ZERO, v=V):
    return lambda lam: X(lam, x0, A, B) @ v


@pytest.mark.parametrize("lam", [0.3, np.linspace(-1, 1, 6)], ids=["one", "several"])
def test_ridge_is_its_closed_form(lam):
    x, jacobian = closed(lam)
    np.testing.assert_allclose(jax.grad(of(EXACT))(lam), V @ jacobian, rtol=1e-8)
    along = np.cos(np.arange(np.size(lam))).reshape(np.shape(lam))
    same, push = EXACT.jvp(lam, ZERO, along, A, B)
    np.testing.assert_allclose(same, x, rtol=1e-12)
    np.testing.assert_allclose(push, np.dot(jacobian, along), rtol=1e-8)


def test_derivatives_in_the_data_come_along():
    def f(X):
        return lambda *data: X(0.3, ZERO, *data) @ V

    ours, theirs = (jax.grad(f(X), (0, 1))(A, B) for X in (EXACT, exact))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12)


def test_jit_vmap_and_scan():
    lams = np.linspace(-1, 1, 3)
    wanted = [V @ closed(lam)[1] for lam in lams]
    slope = jax.grad(of(EXACT))
    np.testing.assert_allclose(jax.vmap(slope)(lams), wanted, rtol=1e-8)
    scanned = jax.jit(lambda lams: jax.lax.scan(lambda _, lam: (0, slope(lam)), 0, lams)[1])
    np.testing.assert_allclose(scanned(lams), wanted, rtol=1e-8)


class Weights(NamedTuple):
    slope: object
    shift: object


def test_logistic_with_structures_against_differences():
    """x a NamedTuple, λ a dict, the solver SciPy's: nothing that could be differentiated."""
    y = np.sign(B)

    def h(x, lam, y):
        small = jnp.exp(lam["all"]) * jnp.sum(x.slope**2) + lam["shift"][0] * x.shift**2
        return jnp.sum(jnp.logaddexp(0, -y * (A @ x.slope + x.shift))) + small

    slope = jax.jit(jax.grad(lambda x, lam, y: h(Weights(x[:6], x[6]), lam, y)))
    bend = jax.jit(jax.jacfwd(slope))

    def solver(lam, x0, y):
        x = np.append(x0.slope, x0.shift)
        for _ in range(20):
            x = x - np.linalg.solve(bend(x, lam, y), slope(x, lam, y))
        return Weights(x[:6], x[6])

    x0 = Weights(np.zeros(6), 0.0)
    X = hoag.implicit(solver, h, tol=1e-12)

    def f(lam):
        x = X(lam, x0, y)
        assert isinstance(x, Weights)
        return jnp.sum(jnp.sin(x.slope)) + x.shift

    lam = {"all": 0.5, "shift": [2.0]}
    p = jax.grad(f)(lam)
    for step, found in (
        ({"all": 1e-5, "shift": [0.0]}, p["all"]),
        ({"all": 0.0, "shift": [1e-5]}, p["shift"][0]),
    ):
        up, down = (f(jax.tree.map(lambda a, b, s=sign: a + s * b, lam, step)) for sign in (1, -1))
        assert float(found) == pytest.approx(float(up - down) / 2e-5, abs=1e-8)


def test_equinox_modules_with_functions_in_them():
    eqx = pytest.importorskip("equinox")

    class Unit(eqx.Module):
        weight: jax.Array
        activation: object

    def h(unit, lam):
        fitted = unit.activation(A[:, 0] * unit.weight)
        return jnp.mean((fitted - B) ** 2) + jnp.exp(lam) * unit.weight**2

    def solver(lam, unit):
        slope = jax.jit(jax.grad(lambda w: h(Unit(w, jnp.tanh), lam)))
        root = brentq(lambda w: float(slope(w)), 0.0, 2.0, xtol=1e-14)
        return Unit(jnp.array(root), unit.activation)

    X, unit = hoag.implicit(solver, h), Unit(jnp.array(0.0), jnp.tanh)
    assert X(-1.0, unit).activation is jnp.tanh
    p = jax.grad(lambda lam: X(lam, unit).weight)(-1.0)
    up, down = (float(X(lam, unit).weight) for lam in (-1 + 1e-5, -1 - 1e-5))
    assert float(p) == pytest.approx((up - down) / 2e-5, rel=1e-6)


# -- trust


def test_a_solver_that_ignores_lam_raises():
    """Differentiated naively, the derivative is silently zero."""
    naive, X = ridges("ignore"), ridges()
    assert float(jax.grad(of(naive))(0.3)) == 0
    assert float(of(X)(0.3)) == 0  # without a derivative, nothing is said
    with pytest.raises(SingularProblemError, match=r"off by about 100.*‖∇₁h‖ = .*correct"):
        jax.grad(of(X))(0.3)
    assert (X.last.reason, X.last.trusted) == ("far", False)
    with pytest.raises(SingularProblemError, match="off by about"):
        jax.grad(of(X, V))(0.3)
    with pytest.raises(SingularProblemError, match="off by about"):
        X.jvp(0.3, ZERO, 1.0, A, B)


def test_compiled_code_raises_with_the_sentence_and_goes_on():
    X = ridges()
    slope = jax.grad(lambda lam, x0: X(lam, x0, A, B) @ V)
    (x, jacobian), one = closed(0.3), jax.jit(slope)
    for _ in range(20):  # neither stuck nor confused afterwards
        with pytest.raises((RuntimeError, ValueError), match=r"The gradient of X.λ. is off by"):
            one(0.3, ZERO).block_until_ready()
        assert float(one(0.3, x)) == pytest.approx(V @ jacobian, rel=1e-5)
    several = jax.jit(jax.vmap(slope, (None, 0)))
    with pytest.raises((RuntimeError, ValueError), match=r"The gradient of X.λ. is off by"):
        several(0.3, np.array([x, ZERO])).block_until_ready()


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_the_other_answers(jit):
    x, jacobian = closed(0.3)
    right, compiled = V @ jacobian, jit is jax.jit

    def slope(untrusted, x0=x + 0.05 * V, **more):
        return float(jit(jax.grad(of(ridges(untrusted, **more), x0)))(0.3))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # the Newton step is solved to a tenth, and with it the error
        assert abs(slope("correct", trust=0.02) - right) < 0.01 * abs(right)
    assert np.isnan(slope("nan"))
    if compiled:
        return
    assert slope("nan", x) == pytest.approx(right, rel=1e-5)
    raw = slope("ignore")
    assert abs(raw - right) > 0.05 * abs(right)
    with pytest.warns(ConvergenceWarning, match="is off by about"):
        assert slope("warn") == pytest.approx(raw, rel=1e-5)
    assert slope("raise", floor=1.0) == pytest.approx(raw, rel=1e-5)
    with pytest.warns(ConvergenceWarning, match="The corrected gradient"):
        slope("correct", trust=1e-6)


def logistic(x, lam, A, y):
    return jnp.sum(jnp.logaddexp(0, -y * (A @ x))) + 0.5 * jnp.sum(jnp.exp(lam) * x**2)


@jax.jit
def descent(lam, x0, A, y, steps):
    bend = 0.25 * jnp.linalg.norm(A, 2) ** 2 + jnp.exp(lam).max()
    return jax.lax.fori_loop(0, steps, lambda _, x: x - jax.grad(logistic)(x, lam, A, y) / bend, x0)


def test_the_estimate_is_the_error():
    """‖p⁺ − p‖/‖p⁺‖ beside the true relative error, over draws of early stopping."""
    X = hoag.implicit(idle, logistic, tol=1e-10, trust=1e9)
    trues = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, b = data(seed)
        y, lam, v = np.sign(b), rng.normal(size=6), rng.normal(size=6)

        def p(steps, A=A, y=y, lam=lam, v=v):
            x = descent(lam, ZERO, A, y, steps)
            return np.asarray(jax.grad(lambda lam: X(lam, x, A, y) @ v)(lam))

        early, verdict, right = p(int(10 ** rng.uniform(0, 1.5))), X.last, p(2000)
        trues.append(np.linalg.norm(early - right) / np.linalg.norm(right))
        assert trues[-1] / 3 < verdict.error < 3 * trues[-1]
    assert min(trues) < 0.02 < 0.2 < max(trues)  # near and far, both


def test_negative_curvature_and_infinities_have_their_own_sentences():
    def saddle(x, lam):
        return x[0] ** 2 - x[1] ** 2 + 0.5 * x[1] ** 4 + lam * x[0]

    X = hoag.implicit(lambda lam, x0: jnp.array([-lam / 2, 0.0]), saddle)
    with pytest.raises(SingularProblemError, match=r"negative curvature.*no minimum of h"):
        jax.grad(lambda lam: jnp.sum(X(lam, np.zeros(2))))(1.0)
    told = X.report(1.0, np.zeros(2))
    assert (told.distance, told.definite) == (0, True)  # the gradient alone does not see it
    with pytest.raises(SingularProblemError, match="∇₁h is not finite"):
        jax.grad(of(ridges(), np.full(6, np.inf)))(0.3)
    with pytest.raises(SingularProblemError, match="outer loss"):
        jax.grad(of(ridges(), closed(0.3)[0], np.full(6, np.nan)))(0.3)
    with pytest.raises(SingularProblemError, match="max_iter=1"):
        jax.grad(of(ridges(max_iter=1)))(0.3)


def test_the_last_q_saves_products():
    A, b = data(rows=60, columns=40)
    zero, v = np.zeros(40), np.ones(40)
    X = hoag.implicit(exact, ridge)

    def products(lam):
        jax.grad(lambda lam: X(lam, zero, A, b) @ v)(lam)
        return X.last.products

    cold = products(1.0)
    assert products(1.001) < 0.8 * cold
    jax.grad(lambda lam: X(lam, zero[:20], A[:, :20], b) @ v[:20])(1.0)  # of another size
    # under jit: a start goes in as an argument and comes out as its derivative
    slope = jax.jit(jax.grad(lambda lam, q: X(lam, zero, A, b, warm=q) @ v, (0, 1)))
    _, q = jax.block_until_ready(slope(1.0, zero))
    cold = X.last.products
    H = A.T @ A + np.exp(1.0) * np.eye(40)
    np.testing.assert_allclose(q, np.linalg.solve(H, v), rtol=1e-3, atol=1e-5)
    jax.block_until_ready(slope(1.001, q))
    assert X.last.products < 0.8 * cold


def test_the_report_measures_the_distance():
    x = closed(0.3)[0] + 0.1
    told = ridges().report(0.3, x, A, B)
    assert told.definite
    assert told.distance == pytest.approx(0.1 * np.sqrt(6), rel=0.1)
    assert told.gradient_norm == pytest.approx(np.linalg.norm(jax.grad(ridge)(x, 0.3, A, B)))
    np.testing.assert_array_equal(told.x, x)
    told = ridges().report(-40.0, x, A, np.inf * B)
    assert (told.definite, told.distance) == (False, np.inf)


# -- wrong use


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (lambda lam, x0: x0.astype(jnp.float32), "in float32, where x0 has .*float64"),
        (lambda lam, x0: (x0,), "of structure .*and x0 is"),
        (lambda lam, x0: x0[:3], r"shape \(3,\)"),
    ],
)
def test_an_x_unlike_x0_gets_a_sentence(solver, said):
    with pytest.raises(InvalidInputError, match=said):
        hoag.implicit(solver, ridge)(0.3, ZERO)


def test_single_precision():
    with jax.enable_x64(False):
        lam, x, rows, b = (np.float32(each) for each in (0.3, closed(0.3)[0], A, B))
        X = hoag.implicit(idle, ridge)
        p = jax.grad(lambda lam: X(lam, x, rows, b) @ np.float32(V))(lam)
        assert p.dtype == np.float32
        with pytest.raises(InvalidInputError, match=r"tol=1e-06.*jax_enable_x64"):
            hoag.implicit(idle, ridge, tol=1e-6)(lam, x, rows, b)
        with pytest.raises(InvalidInputError, match="too coarse"):
            X(lam, jnp.zeros(6, jnp.bfloat16), rows, b)
    assert float(p) == pytest.approx(V @ closed(0.3)[1], rel=1e-3)


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_is_differentiated_must_come_as_an_argument(jit):
    def f(lam):
        X = hoag.implicit(lambda _, x0: exact(lam, x0, A, B), lambda x, _: ridge(x, lam, A, B))
        return X(0.0, ZERO) @ V

    assert float(jit(f)(0.3)) == pytest.approx(V @ closed(0.3)[0])
    with pytest.raises(InvalidInputError, match="Give to X, as λ or as data"):
        jit(jax.grad(f))(0.3)


def test_other_wrong_use_gets_sentences():
    with pytest.raises(InvalidInputError, match=re.escape("untrusted='no'")):
        hoag.implicit(idle, ridge, untrusted="no")
    with pytest.raises(InvalidInputError, match="trust=0 must be positive"):
        hoag.implicit(idle, ridge, trust=0)
    with pytest.raises(InvalidInputError, match="two functions"):
        hoag.implicit(idle, None)
    X = hoag.implicit(idle, lambda x, lam: x * lam)
    with pytest.raises(InvalidInputError, match=r"h\(x, lam\) has shape \(6,\)"):
        jax.grad(lambda lam: X(lam, ZERO) @ V)(0.3)
    with pytest.raises(InvalidInputError, match="λ has no floating-point leaf"):
        X(1, ZERO)
    with pytest.raises(InvalidInputError, match="complex"):
        X(np.ones(2, complex), ZERO)
    with pytest.raises(InvalidInputError, match="along is with a leaf"):
        X.jvp(0.3, ZERO, np.ones(3))
