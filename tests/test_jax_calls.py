"""How often, and how, hoag.jax.problem calls the functions it is given."""

from __future__ import annotations

import numpy as np
import pytest

import hoag
from hoag.errors import InvalidInputError

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import hoag.jax  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def outer(x, lam):
    return jnp.sum((x - 2.0) ** 2)


def test_functions_are_called_twice_whatever_the_number_of_blocks():
    calls = []

    def h(x, lam, rows):
        calls.append(rows.shape)
        return jnp.sum((rows @ x) ** 2) + lam * jnp.sum((x - 1) ** 2)

    A = np.random.default_rng(0).normal(size=(40, 3))
    hoag.jax.problem(h, outer, jnp.zeros(3), jnp.array(1.0), train=A, batches=20, scale="log")
    assert calls == [(2, 3)] * 2  # to be compiled, and to be compared


@pytest.mark.parametrize("kind", ["an array", "a number"])
def test_a_function_that_changes_between_calls_is_found_out(kind):
    rng = np.random.default_rng(0)

    def h(x, lam):
        centre = rng.normal(size=3) if kind == "an array" else float(rng.normal())
        return jnp.sum((x - centre) ** 2) + lam * jnp.sum(x**2)

    with pytest.raises(InvalidInputError, match="changes between calls"):
        hoag.jax.problem(h, outer, jnp.zeros(3), jnp.array(1.0), scale="log")
