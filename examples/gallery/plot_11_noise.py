"""
A target made of noise
======================

What does the search do where there is nothing to learn? It should say so. One penalty does: λ
goes to where all coefficients are zero. Many penalties do not: each is one more way to suit the
folds, and the criterion looks like success. Two figures tell the difference, a baseline and rows
that the search has not seen.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from hoag import RidgeCV

rng = np.random.default_rng(2)
X = rng.normal(size=(150, 40))
y = rng.normal(size=150)  # has nothing to do with X
baseline = np.mean((y - y.mean()) ** 2)

models, honest = {}, {}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for penalties in ("shared", "per-feature"):
        models[penalties] = RidgeCV(cv=5, penalties=penalties).fit(X, y)
        each = -cross_val_score(models[penalties], X, y, cv=5, scoring="neg_mean_squared_error")
        honest[penalties] = each.mean(), each.std() / np.sqrt(5)

# %%
# One penalty: the largest coefficient, and what the search says.

shared = models["shared"]
print(f"largest coefficient {np.abs(shared.coef_).max():.1e}, λ = {shared.lam_[0]:.1f}")
print(shared.result_.status)

# %%
# Forty penalties: most columns are switched off, and a handful is kept that happened to suit.

each = models["per-feature"]
print(f"{np.sum(each.plateaus_ == 'switched off')} of 40 columns switched off")
print(each.result_.status)

# %%
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
places = np.arange(2)
ax.bar(places - 0.18, [m.criterion_ for m in models.values()], 0.34, color="0.7",
       label="criterion_, what was minimised")  # fmt: skip
ax.bar(places + 0.18, [m for m, _ in honest.values()], 0.34, yerr=[e for _, e in honest.values()],
       color="#0072B2", capsize=4, label="rows that the search has not seen")  # fmt: skip
ax.axhline(baseline, color="#D55E00", ls="--", label="the mean of y, and no model")
ax.set_xticks(places, ["one penalty", "one a column"])
ax.set(ylabel="mean squared error", ylim=(0, 1.75 * baseline))
ax.legend(fontsize=9)
plt.show()

# %%
# So: compare with the mean, and judge many penalties by a nested ``cross_val_score``.
