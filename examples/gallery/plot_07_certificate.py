"""
Watching the certificate
========================

A gradient from an unfinished fit is wrong, and the question is by how much. One Newton step and
one refinement tell: the difference they make estimates the error, for any problem. For the models
of this library there is also a bound, which the error cannot exceed. Here all three are drawn, as
the inner problem is solved ever more tightly.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import hoag

X, y = load_breast_cancer(return_X_y=True)
half = len(y) // 2
scaler = StandardScaler().fit(X[:half])
fitted, judged = scaler.transform(X[:half]), scaler.transform(X[half:])
problem = hoag.models.logistic(fitted, y[:half], judged, y[half:])
print(f"{half} rows to fit, {len(y) - half} to judge, {X.shape[1]} columns")

# %%
# ``hoag.criteria.Implicit`` is f with the paper's gradient. The true slope is computed once, to
# rounding; then the tolerance ε is lowered step by step, each time from the same start.

lam = np.array([1.0])
criterion = hoag.criteria.Implicit(problem)
true = criterion.evaluate(lam, 1e-13).grad

eps = np.geomspace(1, 1e-7, 22)
looks = [criterion.evaluate(lam, tolerance) for tolerance in eps]
error = np.array([np.linalg.norm(look.grad - true) for look in looks])
estimate = np.array([look.error for look in looks])
bound = np.array([look.bound for look in looks])
known = error > 1e-11  # below that the true slope itself is rounding
print(f"the bound held in {np.sum(bound[known] >= error[known])} of {known.sum()} cases")
ratio = estimate[known] / error[known]
print(f"estimate / true error: {ratio.min():.2g} to {ratio.max():.2g}")

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.loglog(eps[known], bound[known], "^-", color="#D55E00", ms=5, lw=1, label="bound, rigorous")
ax.loglog(eps[known], error[known], "o", color="black", ms=5, label="true error")
ax.loglog(eps[known], estimate[known], "-", color="#0072B2", label="estimate")
ax.axhline(abs(true[0]), color="0.6", ls=":", label="size of the slope itself")
ax.set(xlabel="ε, to which the inner problem is solved", ylabel="error of the gradient")
ax.invert_xaxis()
ax.legend(fontsize=9)
plt.show()

# %%
# Where a curve is above the dotted line, the sign of the slope is not known yet, and a search
# that stepped along it would be guessing. That is how the tolerances of a search are chosen: as
# loose as the next decision allows. The estimators measure it once, at the end:

model = hoag.LogisticRegressionCV(
    standardize=True, search=hoag.optimize.Auto(certificate="bound")
).fit(X, y)
found = model.result_.evaluation
print(f"slope {found.grad[0]:+.1e}, estimated error {found.error:.0e}, bound {found.bound:.0e}")
