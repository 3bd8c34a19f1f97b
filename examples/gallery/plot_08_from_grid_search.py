"""
Coming from GridSearchCV
========================

A grid of ten by ten, five folds: five hundred fits, and an answer that is right to the spacing of
the grid. The same two hyperparameters by gradient take one line.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hoag import KernelRidgeCV

X, y = load_diabetes(return_X_y=True)
X, X_unseen, y, y_unseen = train_test_split(X, y, train_size=294, random_state=0)
mean = y.mean()  # KernelRidge has no intercept

# %%
# Before:

spaces = {
    "kernelridge__gamma": np.logspace(-5, 1, 10),
    "kernelridge__alpha": np.logspace(-4, 2, 10),
}
grid = GridSearchCV(
    make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")),
    spaces,
    scoring="neg_mean_squared_error",
)
start = time.perf_counter()
grid.fit(X, y - mean)
print(f"500 fits, {time.perf_counter() - start:.1f} s, held-out error {-grid.best_score_:.1f}")

# %%
# After:

start = time.perf_counter()
model = make_pipeline(StandardScaler(), KernelRidgeCV()).fit(X, y)
tuned = model[-1]
print(
    f"{tuned.n_iter_} steps, {time.perf_counter() - start:.1f} s, held-out {tuned.criterion_:.1f}"
)
print(tuned.result_.status)

# %%
# The map that the grid made, and where the search ended. (The grid scales inside each fold and the
# search before all of them, so that their losses differ a little at the same place.)

seen = -grid.cv_results_["mean_test_score"].reshape(10, 10)  # alpha, then gamma
fig, ax = plt.subplots(figsize=(6.2, 4.2), layout="constrained")
alphas, gammas = spaces["kernelridge__alpha"], spaces["kernelridge__gamma"]
levels = np.geomspace(seen.min(), 6200, 14)
contours = ax.contourf(gammas, alphas, seen, levels=levels, cmap="viridis_r", extend="max")
fig.colorbar(contours, label="cross-validated squared error", format="%.0f")
G, A = np.meshgrid(gammas, alphas)
ax.plot(G.ravel(), A.ravel(), ".", color="black", ms=3, label="the grid, 500 fits")
path = np.exp([step.lam for step in tuned.result_.trace])
inside = np.clip(path, [gammas[0], alphas[0]], [gammas[-1], alphas[-1]])
ax.plot(inside[:, 0], inside[:, 1], "o-", color="white", mec="black", ms=5, lw=1.2, label="steps")
ax.plot(*np.exp(tuned.lam_), "*", color="#D55E00", ms=16, mec="black", label="where it ended")
ax.set(xlabel="γ (smooth → wiggly)", ylabel="penalty α", xscale="log", yscale="log")
ax.legend(fontsize=8, loc="upper left")
plt.show()

# %%
# And on rows that neither saw. A lower held-out error is the best guess there is, and no promise
# for every hundred and fifty rows:

theirs = (grid.predict(X_unseen) + mean - y_unseen) ** 2
ours = (model.predict(X_unseen) - y_unseen) ** 2
gap = theirs - ours
print(f"grid {theirs.mean():.0f}, hoag {ours.mean():.0f}")
print(f"the difference is {gap.mean():+.0f} ± {gap.std() / np.sqrt(len(gap)):.0f}")

# %%
# :doc:`/estimators` has a table of what each parameter of scikit-learn's classes is called here.
