"""Products with ∇²₁h from JAX: those that share what is kept, and those that make it again."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")


@pytest.fixture
def problem():
    """A curved h with data of single precision, closed over, as benchmarks have them."""
    import jax.numpy as jnp

    import hoag.jax

    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4)).astype(np.float32)
    x0, lam0 = rng.normal(size=4), rng.normal(size=4)
    jax.config.update("jax_enable_x64", True)

    def h(x, lam):
        return jnp.sum(jnp.logaddexp(0.0, A @ x)) + jnp.sum(jnp.exp(lam) * x**2)

    def g(x, lam):
        return jnp.sum((A @ x) ** 2)

    return hoag.jax.problem(h, g, jnp.asarray(x0), jnp.asarray(lam0))


def test_products_are_those_of_differences(problem):
    x, lam, v = problem.x0, problem.lam0, np.array([1.0, -2.0, 0.5, 3.0])
    inner, t = problem.functions.inner(x, lam), 1e-5
    ((_, part),) = problem.functions.parts()
    again = part.times(x, lam, v)  # as blocks do it
    ahead, behind = (problem.at(x + sign * t * v, lam).h_x for sign in (1, -1))
    expected = (ahead - behind) / (2 * t)
    np.testing.assert_allclose(inner.times(v), expected, rtol=1e-7)
    np.testing.assert_allclose(again, expected, rtol=1e-7)
    np.testing.assert_allclose(problem.at(x, lam).hessian @ v, inner.times(v))


def test_a_product_is_charged_once(problem):
    point = problem.at(problem.x0, problem.lam0)
    _ = point.h_x
    before = problem.ledger.cost.passes
    point.hessian @ np.ones(4)
    assert problem.ledger.cost.passes - before == problem.functions.product
    point.cross.rmatvec(np.ones(4))
    assert problem.ledger.cost.passes - before == 2 * problem.functions.product


def test_arrays_of_single_precision_are_widened_once(problem):
    """Where the function makes a copy in double precision at every call, one is there already."""
    ((_, part),) = problem.functions.parts()
    text = part.program.gradient.lower(part.arrays, problem.x0, problem.lam0).as_text()
    assert "f32" not in text
