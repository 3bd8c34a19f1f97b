"""
Many targets at once
====================

Forty sensors, one set of columns. Some sensors are clear and some are little but noise, so they
need different penalties: one for all would be too strong for the clear ones and too weak for the
others. Where targets share no penalty, each is a search of its own, and what they do share, the
moments of the rows and their factors, is computed once.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

from hoag import RidgeCV

rng = np.random.default_rng(0)
rows, columns, targets = 300, 60, 40
noise = np.geomspace(0.5, 50, targets)  # the standard deviation, sensor by sensor
truth = rng.normal(size=(columns, targets))


def made(n):
    X = rng.normal(size=(n, columns))
    return X, X @ truth + noise * rng.normal(size=(n, targets))


X, Y = made(rows)
X_unseen, Y_unseen = made(4000)

models = {}
for penalties in ("shared", "per-target"):
    start = time.perf_counter()
    models[penalties] = RidgeCV(penalties=penalties).fit(X, Y)
    print(f"{penalties:10} {time.perf_counter() - start:.2f} s")
print(models["per-target"].result_.status)

# %%
# The best penalty for a target is the variance of its noise over that of its coefficients, here
# 1. Nobody told the search, and leave-one-out finds it about right for each.

alpha = models["per-target"].alpha_
unseen = {
    name: np.mean((model.predict(X_unseen) - Y_unseen) ** 2, axis=0) / noise**2
    for name, model in models.items()
}
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.loglog(noise**2, noise**2, color="0.6", label="variance of the noise")
left.loglog(noise**2, alpha, "o", color="#0072B2", ms=5, label="one a target")
left.axhline(models["shared"].alpha_, color="#D55E00", ls="--", label="one for all")
left.set(xlabel="variance of the noise", ylabel="penalty α")
left.legend(fontsize=8)
right.loglog(noise**2, unseen["shared"], "s", color="#D55E00", ms=4, label="one for all")
right.loglog(noise**2, unseen["per-target"], "o", color="#0072B2", ms=4, label="one a target")
right.axhline(1, color="0.6")
right.set(xlabel="variance of the noise", ylabel="unseen error / variance of noise")
right.legend(fontsize=8)
plt.show()

# %%
# One penalty for all is set by the loudest sensors, because their squared errors are the largest:
# scale the targets, or tune them apart. ``result_.evaluation.parts`` has one evaluation for each
# target.

worst = np.argmax(unseen["shared"] / unseen["per-target"])
print(f"target {worst}: {unseen['shared'][worst]:.2f} with one penalty for all, "
      f"{unseen['per-target'][worst]:.2f} with its own")  # fmt: skip
