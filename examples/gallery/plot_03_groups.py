"""
Groups of columns: banded ridge
===============================

Columns come from different instruments, and nobody believes all of them equally. Banded ridge
regression gives each band of columns a penalty of its own. A grid over four penalties has ten
thousand points; the gradient has four numbers.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from hoag import RidgeCV

rng = np.random.default_rng(0)
names = ["sound", "words", "eyes", "noise"]
width, spreads = 50, np.array([1.0, 0.3, 0.1, 0.0])  # how large the true coefficients are
bands = np.repeat(np.arange(4), width)
truth = rng.normal(size=bands.size) * spreads[bands]


def made(rows):
    X = rng.normal(size=(rows, bands.size))
    return X, X @ truth + 4 * rng.normal(size=rows)


X, y = made(800)
X_unseen, y_unseen = made(5000)

# %%
# ``penalties`` takes the number of each column's group, and that is all.

shared = RidgeCV(cv=5).fit(X, y)
banded = RidgeCV(cv=5, penalties=bands).fit(X, y)
print(banded.result_.status, "\n")
for name, alpha, word in zip(names, banded.alpha_, banded.plateaus_, strict=True):
    print(f"{name:6} α = {alpha:10.4g}  {word}")

# %%
# The best penalty of a band is the noise's variance over that of its coefficients, here 16
# divided by 1, 0.09 and 0.01; for the last band it is infinite, and "switched off" says so: from
# there on up the loss is the same, so the number means nothing more.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
best = 16 / spreads[:3] ** 2
left.bar(names, banded.alpha_, color="#0072B2", width=0.55, label="found")
left.plot(names[:3], best, "D", color="black", label="16 / variance of coefficients")
left.axhline(shared.alpha_, color="#D55E00", ls="--", label="one for all")
left.set(yscale="log", ylabel="penalty α", title="Penalties")
left.legend(fontsize=8)

errors = {}
for label, model in {"one for all": shared, "one a band": banded}.items():
    errors[label] = np.mean((model.predict(X_unseen) - y_unseen) ** 2)
errors["the truth itself"] = np.mean((X_unseen @ truth - y_unseen) ** 2)
right.bar(list(errors), list(errors.values()), color=["#D55E00", "#0072B2", "0.6"], width=0.55)
right.set(title="Squared error, unseen rows", ylim=(0, 1.15 * max(errors.values())))
right.tick_params(axis="x", rotation=20)
right.bar_label(right.containers[0], fmt="%.1f")
plt.show()

# %%
# With more than one target the bands can be each target's own: ``penalties=bands[:, None] + 4 *
# np.arange(n_targets)``, and targets are then tuned one by one.
