"""
Genes: far more columns than rows
=================================

Seventy patients, seven thousand genes: with that many columns a model can fit anything, so
everything hangs on the penalty. It looks like a large problem and is a small one. A single
penalty does not notice a rotation of the columns, so rows are written in a basis of their own
span: seventy coefficients, solved exactly, and the whole range of λ is scanned.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from hoag import LogisticRegressionCV

rng = np.random.default_rng(3)
patients, genes, modules = 140, 7129, 20
membership = rng.integers(modules, size=genes)  # genes go up and down in modules
activity = rng.normal(size=(patients, modules))
X = activity[:, membership] + 2 * rng.normal(size=(patients, genes))
risk = activity[:, :4] @ [1.0, -0.8, 0.8, 0.6] + 0.5 * rng.normal(size=patients)
y = np.where(risk > 0, "ill", "well")
X, X_unseen, y, y_unseen = train_test_split(X, y, train_size=72, random_state=0)

start = time.perf_counter()
model = LogisticRegressionCV(scoring="accuracy").fit(X, y)
print(f"{X.shape[0]} × {X.shape[1]} in {time.perf_counter() - start:.2f} s")
print(model.result_.status)

# %%
# That the whole range is scanned matters: on few rows the held-out loss
# may have more than one valley, and a search that only walks downhill could end in the wrong one.
# Here it has one, as the picture shows. The scores of the five folds are far apart, and no search
# can help that: there are fourteen patients in each.

print("accuracy on the folds:", np.round(model.scores_["accuracy"], 2))
print(f"accuracy on {len(y_unseen)} unseen patients: {model.score(X_unseen, y_unseen):.2f}")

# %%
# Where so little is decided, many prefer the simplest model that is as good for all that the folds
# can tell: the strongest penalty whose loss is within one standard error of the least.

careful = LogisticRegressionCV(rule="1se").fit(X, y)
print(f"C = {model.C_:.2g} is best, {careful.C_:.2g} within one standard error of it")
print(f"accuracy on unseen patients: {careful.score(X_unseen, y_unseen):.2f}")

# %%
lams = np.linspace(model.lam_[0] - 9, model.lam_[0] + 7, 33)
curve = [model.criterion_at(lam, X, y) for lam in lams]
nothing = -np.mean(np.log(np.where(y == "ill", np.mean(y == "ill"), np.mean(y == "well"))))

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.plot(np.exp(-lams), curve, color="#0072B2", label="cross-validated log loss")
ax.plot(model.C_, model.criterion_, "*", ms=15, color="#D55E00", label="chosen")
ax.plot(careful.C_, careful.criterion_, "D", ms=8, color="#009E73", label="one standard error")
ax.axhline(nothing, color="0.5", ls=":", label="no model: the share of each class")
ax.set(xlabel="C (weak → strong penalty)", ylabel="cross-validated log loss", xscale="log")
ax.invert_xaxis()
ax.legend()
plt.show()

# %%
# Which genes? The coefficients of one penalty are all a little different from zero. Sums over
# modules show where the model looks; the first four are those that the risk was made of.

weights = np.array([model.coef_[0, membership == m].sum() for m in range(modules)])
order = np.argsort(-np.abs(weights))[:8]
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
colors = ["#0072B2" if m < 4 else "0.7" for m in order]
ax.bar([f"module {m}" for m in order], weights[order], color=colors)
ax.tick_params(axis="x", rotation=40)
ax.set(ylabel="summed coefficients", title="Blue: what the risk was made of")
plt.show()
