"""
Your own problem
================

Any two functions will do: h, whose minimiser is the model, and g, which judges it. Here the model
is a smooth curve through noisy points, λ says how smooth, and g is its error at points left out.
State both at a point (x, λ) with their derivatives; ``hoag.testing.check_problem`` compares every
derivative with finite differences, so that a wrong sign is found before it costs an afternoon.
"""

# %%
# h(x, λ) = ½ Σ over the points kept of (xᵢ − yᵢ)² + ½ e^λ ‖Dx‖², with D the second differences.

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

import hoag

rng = np.random.default_rng(1)
size = 120
t = np.linspace(0, 1, size)
truth = np.sin(9 * t) * np.exp(-t) + 0.5 * t
y = truth + 0.25 * rng.normal(size=size)
kept = (np.arange(size) % 3 != 1).astype(float)  # every third point judges
D = np.diff(np.eye(size), 2, axis=0)
S = D.T @ D


class Smoothing:
    x0, lam0 = np.zeros(size), np.zeros(1)

    def at(self, x, lam):
        alpha, off = np.exp(lam[0]), x - y
        return SimpleNamespace(
            h=0.5 * kept @ off**2 + 0.5 * alpha * x @ S @ x,
            h_x=kept * off + alpha * S @ x,
            hessian=np.diag(kept) + alpha * S,
            cross=(alpha * S @ x)[:, None],  # the derivative of h_x in λ
            g=(1 - kept) @ off**2,
            g_x=2 * (1 - kept) * off,
            g_lam=np.zeros(1),
            strong_convexity=None,  # not known
        )


# %%
# Right at once? A mistake on purpose first, a forgotten factor two:


class Mistaken(Smoothing):
    def at(self, x, lam):
        point = super().at(x, lam)
        point.g_x = point.g_x / 2
        return point


try:
    hoag.testing.check_problem(Mistaken())
except hoag.errors.InvalidInputError as error:
    print(error)

# %%
# And the real one. What is returned is how far each derivative is from its difference,
# relatively. A problem that the library knows nothing about is searched downhill from where it
# starts, and f may have more than one valley. This one has, so two starts are tried; the second
# ends lower.

print(hoag.testing.check_problem(Smoothing()))
for start in (0.0, 5.0):
    result = hoag.minimize(Smoothing(), lam0=start, bounds=(-6, 18))
    error = result.evaluation.error
    print(f"from {start:g}: λ = {result.lam[0]:.3f}, f = {result.value:.4f}, "
          f"slope {result.grad[0]:+.1e} ± {error:.0e}")  # fmt: skip
    print(result.status)

# %%
criterion = hoag.plan(Smoothing())
fits = {lam: criterion.evaluate(lam, 1e-8).x for lam in (-4.0, float(result.lam[0]), 16.0)}
labels = ("too rough", "tuned", "too stiff")
fig, (ax, below) = plt.subplots(2, 1, figsize=(6.4, 6), layout="constrained", height_ratios=(5, 3))
ax.plot(t[kept > 0], y[kept > 0], ".", color="0.6", label="points kept")
ax.plot(t[kept == 0], y[kept == 0], "x", color="0.3", ms=5, label="points that judge")
for (lam, x), label, color in zip(fits.items(), labels, ("#E69F00", "#0072B2", "#CC79A7")):
    ax.plot(t, x, color=color, lw=2 if label == "tuned" else 1, label=f"{label}, λ = {lam:.1f}")
ax.plot(t, truth, "k:", lw=1, label="the truth")
ax.legend(fontsize=8, ncols=2)
ax.set(xlabel="t")
lams = np.linspace(-6, 12, 73)
below.plot(lams, [criterion.value(lam, 1e-8).value for lam in lams], color="0.4")
below.plot(result.lam, result.value, "*", ms=14, color="#0072B2")
below.set(xlabel="λ", ylabel="f: error at points that judge")
plt.show()

# %%
# Large problems give ``hessian`` and ``cross`` as ``scipy.sparse.linalg.LinearOperator``; a list
# of problems is the sum of their f. More in :doc:`/own-problems`.
