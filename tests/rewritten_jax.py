"""Every model of the library, written once more in JAX as somebody would who does not have it.

Each takes (rows, targets, weights) to fit and held out, the group of every coefficient (−1: not
penalised) as an array (features, outputs), and a basis of the intercepts, or None for none.
"""

from __future__ import annotations

import os
import sys

# These tests compile much and run little.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import jax.numpy as jnp
import numpy as np
import registry

import hoag.jax

jax.config.update("jax_enable_x64", True)


def penalty(w, alpha, groups):
    return jnp.sum(jnp.where(groups >= 0, alpha[groups], 0.0) * w**2) / 2


def start(groups, basis):
    """Slopes and intercepts, and as many penalties as there are groups."""
    intercepts = jnp.zeros(0 if basis is None else basis.shape[1])
    return (jnp.zeros(groups.shape), intercepts), jnp.ones(groups.max() + 1)


def logistic(train, test, groups, basis):
    def loss(x, A, y, s):
        z = A @ x[0][:, 0] + jnp.sum(x[1])
        return jnp.sum(s * jnp.logaddexp(0.0, -y * z))

    def h(x, alpha):
        return loss(x, *train) + penalty(x[0], alpha, groups)

    return hoag.jax.problem(h, lambda x, _: loss(x, *test), *start(groups, basis), scale="log")


def multinomial(train, test, groups, basis):
    def loss(x, data):
        A, y, s = data
        z = A @ x[0] + (0.0 if basis is None else basis @ x[1])
        return -jnp.sum(s * jax.nn.log_softmax(z)[jnp.arange(y.size), y])

    def h(x, alpha, data):
        return loss(x, data) + penalty(x[0], alpha, groups)

    def g(x, alpha, data):
        return loss(x, data)

    at = start(groups, basis)
    return hoag.jax.problem(h, g, *at, train=train, test=test, scale="log")


def ridge(train, test, groups, basis):
    @jax.jit
    def squares(x, data):
        A, y, s = data
        z = A @ x[0] + (0.0 if basis is None else x[1])
        return jnp.sum(s[:, None] * (y.reshape(z.shape) - z) ** 2)

    def h(x, lam):
        return squares(x, train) / 2 + penalty(x[0], jnp.exp(lam), groups)

    x0, alpha = start(groups, basis)
    return hoag.jax.problem(h, lambda x, _: squares(x, test), x0, jnp.log(alpha))


def kernel_ridge(train, test, widths, _):
    (A, y, s), (B, z, t) = train, test

    def kernel(A, B, gamma):
        return jnp.exp(-jnp.sum(gamma * (A[:, None] - B) ** 2, axis=2))

    def h(x, lam):
        v = jnp.sqrt(s) * x
        return (v @ kernel(A, A, lam[0]) @ v + lam[1] * x @ x) / 2 - y @ v

    def g(x, lam):
        return jnp.sum(t * (z - kernel(B, A, lam[0]) @ (jnp.sqrt(s) * x)) ** 2)

    lam0 = [jnp.full(widths, 1 / A.shape[1]), jnp.array(1.0)]
    return hoag.jax.problem(h, g, jnp.zeros(y.size), lam0, scale="log")


REWRITTEN = {
    "logistic": logistic,
    "multinomial": multinomial,
    "ridge": ridge,
    "ridge-2": ridge,
    "kernel-ridge": kernel_ridge,
    "kernel-widths": kernel_ridge,
}


def groups_of(penalties, d, outputs):
    """The group of every coefficient, as `hoag.models` numbers them."""
    feature, output = np.indices((d, outputs))
    return {
        "shared": np.zeros((d, outputs), dtype=int),
        "per-class": output,
        "per-feature": feature,
        "per-coefficient": np.arange(d * outputs).reshape(d, outputs),
        "groups": feature % 2,
        "partly-free": feature - 1,
    }[penalties]


def both(setting):
    """The library's problem of a setting of the registry, and the one written here."""
    model, library = setting["model"], registry.make(**setting)
    train, test = registry.data(model, setting.get("weighted", False))
    features = train[0].shape[1]
    if model.startswith("kernel"):
        widths = features if model == "kernel-widths" else 1
        return library, kernel_ridge(train, test, widths, None)
    outputs = {"multinomial": 3, "ridge-2": 2}.get(model, 1)
    groups = groups_of(setting.get("penalties", "shared"), features, outputs)
    return library, REWRITTEN[model](train, test, groups, library.train.design.Q)


if __name__ == "__main__":  # all of them, which takes some minutes
    for setting in registry.ALL:
        if setting["fmt"] == "dense":
            off = hoag.testing.check_same(*both(setting), tol=np.inf)
            sys.stdout.write(f"{max(off.values()):.1e}  {registry.name(setting)}\n")
