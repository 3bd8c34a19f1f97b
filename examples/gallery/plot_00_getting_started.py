"""
Getting started
===============

Ten minutes with ``hoag``: change one import line, read what was found, ask how sure it is, and
put the model to work. You need to know scikit-learn, and nothing about gradients.
"""

# %%
# One import line
# ---------------
#
# A penalty is a number that somebody has to choose. Too small, and the model learns the noise;
# too large, and it learns nothing. The usual way is to try ten values and keep the best. ``hoag``
# follows the slope of the held-out loss instead. Its classes have scikit-learn's names, so that
# this is all there is to change:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score, train_test_split

from hoag import LogisticRegressionCV  # was: from sklearn.linear_model import LogisticRegressionCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
tuned = LogisticRegressionCV(standardize=True).fit(X_train, y_train)
print(f"accuracy on rows that nobody saw: {tuned.score(X_test, y_test):.3f}")

# %%
# The columns are scaled, as always with such penalties: a column in millimetres would otherwise be
# penalised a thousand times as much as the same in metres. ``standardize=True`` does it in each
# fold by the rows that are fitted there, so that held-out rows have no part in it.
#
# What was found
# --------------
#
# λ is the log of the penalty, so ``C_`` is exp(−λ). The criterion is the mean log loss of the
# five held-out folds, and the status says why the search stopped.

print(f"C = {tuned.C_:.4g}, λ = {tuned.lam_[0]:.4f}")
print(f"mean held-out log loss: {tuned.criterion_:.5f}")
print(tuned.result_.status)

# %%
# How sure is that?
# -----------------
#
# Two different questions. *Which* λ are as good? Between these two the criterion stays within
# ``tol``, one part in ten thousand, of its best:

print(tuned.lam_interval_)

# %%
# And is the slope at the end really zero? The search knows its own gradient only approximately,
# and says by how much it may be off:

found = tuned.result_.evaluation
print(f"slope {found.grad[0]:+.1e}, estimated to be off by {found.error:.0e}")

# %%
# The curve that was searched can be drawn, because the criterion can be asked for at any λ. It
# costs a few fits, which is why nobody does it first.

grid = np.linspace(-6, 6, 41)
curve = [tuned.criterion_at(lam, X_train, y_train) for lam in grid]
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.plot(np.exp(-grid), curve, color="0.5")
ax.plot(tuned.C_, tuned.criterion_, "*", ms=15, color="#D55E00", label="what hoag chose")
ax.plot(1, curve[20], "o", color="black", label="scikit-learn's default, C = 1")
ax.set(xlabel="C (weak → strong penalty)", ylabel="cross-validated log loss")
ax.set(xscale="log", yscale="log", xlim=(500, 0.002))
ax.set_yticks([0.08, 0.1, 0.2, 0.3, 0.5], ["0.08", "0.1", "0.2", "0.3", "0.5"])
ax.set_yticks([], minor=True)
ax.legend()
plt.show()

# %%
# More than one penalty
# ---------------------
#
# A gradient costs the same for one penalty or for thirty. The columns here are of three kinds:
# the mean, the error and the worst value of ten measurements. Each kind may have its own penalty,
# and ``penalties="per-feature"`` would give each column one.

kinds = np.array([0 if name.startswith("mean") else 2 if "worst" in name else 1 for name in X])
grouped = LogisticRegressionCV(penalties=kinds, standardize=True).fit(X_train, y_train)
print(f"criterion {grouped.criterion_:.5f}, with one penalty {tuned.criterion_:.5f}")
for kind, alpha in zip(("mean", "error", "worst"), grouped.alpha_, strict=True):
    print(f"{kind}: α = {alpha:.3g}")
print(grouped.result_.status)

# %%
# The criterion is lower, and that alone proves nothing: three penalties have more ways to suit
# the folds than one has. An honest judge looks at rows that the search has not seen.

for name, penalties in (("one penalty", "shared"), ("one a kind", kinds)):
    whole = LogisticRegressionCV(penalties=penalties, standardize=True)
    losses = -cross_val_score(whole, X, y, scoring="neg_log_loss")
    print(f"{name}: {losses.mean():.4f} ± {losses.std() / np.sqrt(5):.4f} on unseen rows")

# %%
# Put it to work
# --------------
#
# Where somebody wants scikit-learn's own class, to store it or to serve it without ``hoag``, there
# it is, with the same coefficients, for columns as they are:

plain = tuned.to_sklearn()
print(plain)
assert np.array_equal(plain.predict(X_test), tuned.predict(X_test))

# %%
# Where next
# ----------
#
# * :doc:`/choose`: which estimator, which criterion, how many penalties.
# * :doc:`/gallery/index`: one idea at a time.
# * :doc:`/estimators`: every number that a fitted estimator has, in words.
# * :doc:`/command-line`: ``hoag tune table.csv --target column``, without a line of Python.
