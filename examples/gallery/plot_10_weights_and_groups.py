"""
Weights and groups
==================

Ten visits of one patient are not ten patients. If rows of the same patient are on both sides of a
split, the model is judged on people it knows, and the search picks a penalty that is too weak: it
pays to remember. A splitter that keeps groups together is all it takes, and the search uses it
for every gradient.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit

from hoag import RidgeCV

rng = np.random.default_rng(0)
columns, visits = 60, 10
truth = np.append(rng.normal(size=5), np.zeros(columns - 5))


def made(patients):
    """Each patient has a level of their own, and columns that hardly change from visit to visit."""
    who = np.repeat(np.arange(patients), visits)
    X = rng.normal(size=(patients, columns))[who] + 0.15 * rng.normal(size=(len(who), columns))
    return X, X @ truth + (3 * rng.normal(size=patients))[who] + rng.normal(size=len(who)), who


X, y, who = made(40)
X_new, y_new, _ = made(2000)

# %%
models = {
    "rows apart": RidgeCV(cv=KFold(5, shuffle=True, random_state=0)).fit(X, y),
    "patients apart": RidgeCV(cv=GroupKFold(5)).fit(X, y, groups=who),
}
for name, model in models.items():
    new = np.mean((model.predict(X_new) - y_new) ** 2)
    told = f"α = {model.alpha_:8.3g}, promised {model.criterion_:5.1f}"
    print(f"{name:15} {told}, new patients {new:.1f}")

# %%
# The two curves of the held-out error over λ, and the error on two thousand new patients.

lams = np.linspace(-6, 9, 31)
colors = {"rows apart": "#D55E00", "patients apart": "#0072B2"}
fig, ax = plt.subplots(figsize=(6.2, 3.9), layout="constrained")
for name, model in models.items():
    given = {"groups": who} if name == "patients apart" else {}
    curve = [model.criterion_at(lam, X, y, **given) for lam in lams]
    ax.plot(np.exp(lams), curve, color=colors[name], label=f"promised, {name}")
    ax.plot(model.alpha_, model.criterion_, "*", ms=14, color=colors[name])
errors = []
for lam in lams:
    fitted = Ridge(alpha=np.exp(lam)).fit(X, y)
    errors.append(np.mean((fitted.predict(X_new) - y_new) ** 2))
ax.plot(np.exp(lams), errors, "k:", label="new patients")
ax.set(xlabel="penalty α (weak → strong)", ylabel="mean squared error")
ax.set(xscale="log", yscale="log")
ax.set_yticks([2, 5, 10, 20, 30], ["2", "5", "10", "20", "30"])
ax.set_yticks([], minor=True)
ax.legend(fontsize=9)
plt.show()

# %%
# Weights
# -------
#
# A row of weight two is that row twice, in training and in the criterion. On the same folds the
# search sees no difference:

times = rng.integers(1, 4, size=len(y))
fold = who % 5
weighted = RidgeCV(cv=PredefinedSplit(fold)).fit(X, y, sample_weight=times)
again = np.repeat(np.arange(len(y)), times)
repeated = RidgeCV(cv=PredefinedSplit(fold[again])).fit(X[again], y[again])
print(f"λ = {weighted.lam_[0]:.6f} with weights, {repeated.lam_[0]:.6f} with rows repeated")
