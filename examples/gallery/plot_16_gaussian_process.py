"""
A Gaussian process with a width per column
==========================================

A Gaussian process says not only what it predicts but how likely the data were under it, and so it
can be tuned without holding any row out: make the data as likely as possible. That likelihood has
the hyperparameters in two places: through the fitted coefficients, and directly, in a determinant
that punishes kernels that can explain anything. Both are differentiated here, and the kernel is
three lines of JAX.

Friedman's function depends on the first five of its ten columns; the noise has variance 1.
"""

# %%
import time
import warnings

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

import hoag
import hoag.jax

jax.config.update("jax_enable_x64", True)

X, y = make_friedman1(1150, n_features=10, noise=1.0, random_state=0)
X, X_unseen, y, y_unseen = X[:150], X[150:], y[:150], y[150:]
centre = y.mean()

# %%
# With K the kernel of all rows and s the variance of the noise, the coefficients x solve
# (K + sI) x = y; that is the minimum of h. The negative log likelihood of y is, up to a constant,
# g = ½ y·x + ½ log det(K + sI).


def kernel(A, B, lam):
    apart = (A[:, None] - B[None]) / lam["width"]
    return lam["height"] * jnp.exp(-0.5 * jnp.sum(apart**2, axis=2))


def h(x, lam, data):
    X, y = data
    return x @ kernel(X, X, lam) @ x / 2 + lam["noise"] * x @ x / 2 - y @ x


def g(x, lam, data):
    X, y = data
    _, logdet = jnp.linalg.slogdet(kernel(X, X, lam) + lam["noise"] * jnp.eye(len(y)))
    return (y @ x + logdet) / 2


def tuned(width):
    data = (X, y - centre)
    lam0 = {"width": width, "height": jnp.array(10.0), "noise": jnp.array(1.0)}
    start = time.perf_counter()
    problem = hoag.jax.problem(
        h,
        g,
        jnp.zeros(len(y)),
        lam0,
        train=data,
        test=data,
        scale="log",
    )
    result = hoag.minimize(problem)
    print(result, f"\n         {time.perf_counter() - start:.1f} with compilation\n")
    return result


one, each = tuned(jnp.ones(1)), tuned(jnp.ones(10))

# %%
# How well do they predict? Beside them, the library's own kernel ridge regression, tuned on
# held-out folds. (Its warnings, that some columns end on their bounds, are silenced.)

warnings.filterwarnings("ignore", message=".*(bound|may be inexact)")
errors = {}
for name, result in {"process, one width": one, "process, a width a column": each}.items():
    predicted = centre + kernel(X_unseen, X, result.lam) @ result.x
    errors[name] = np.mean((predicted - y_unseen) ** 2)
for widths in ("shared", "per-feature"):
    model = hoag.KernelRidgeCV(widths=widths).fit(X, y)
    errors[f"KernelRidgeCV, {widths}"] = np.mean((model.predict(X_unseen) - y_unseen) ** 2)
for name, error in errors.items():
    print(f"{name:27} {error:.2f}")

# %%
# Columns that do not matter get wide kernels, along which the function does not change. The two
# that act in straight lines, x₃ and x₄, get wider ones than the three that bend the function. And
# the likelihood is a good judge: here it does better than held-out folds of the same rows.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(3, 2))
colors = ["#0072B2" if j < 5 else "0.65" for j in range(10)]
left.bar([f"x{j}" for j in range(10)], each.lam["width"], color=colors)
left.axhline(one.lam["width"][0], color="#D55E00", ls="--", label="one width for all")
left.set(yscale="log", ylabel="width", title="Blue: the columns that matter")
left.legend()
bars = right.barh(list(errors), list(errors.values()), color=["#D55E00", "#0072B2", "0.75", "0.75"])
right.bar_label(bars, fmt="%.2f", padding=3)
right.set(xlim=(0, 1.2 * max(errors.values())), title="Squared error, unseen rows")
right.axvline(1, color="k", ls=":", lw=1, label="the noise")
right.legend(loc="lower right")
right.invert_yaxis()
plt.show()
