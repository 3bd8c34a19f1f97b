"""
Curves: an additive model
=========================

How ill somebody will be in a year depends on more than straight lines. An additive model draws a
curve for each column, and how much each may bend is a penalty of its own: nineteen of them here,
tuned at once by the gradient of the marginal likelihood.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from hoag import GAMRegressorCV, RidgeCV

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = X["sex"].map({1.0: "one", 2.0: "two"})
model = GAMRegressorCV().fit(X, y)  # a curve for each number, levels for words
print(model.summary())

# %%
# Most columns are straight lines, or nothing at all, and say so: their penalties are at infinity.
# What bends is the serum value s5, and a little the body mass index. Panels have one scale, so
# what is flat here is small.

model.plot_terms()
plt.show()

# %%
# Is it better than a line for each column? By a little, on rows that neither has seen: where most
# is straight, curves have little to gain, and penalties of their own keep them from losing. Here an
# additive model is worth its while for what it shows.

lines = X.assign(sex=X["sex"] == "two").astype(float)
for name, one, rows in (("lines", RidgeCV(), lines), ("curves", GAMRegressorCV(), X)):
    each = cross_val_score(one, rows, y, cv=5)
    print(f"{name:7} R² {each.mean():.3f} on rows held out")

# %%
# A surface for two columns that act together, and a curve for each group, are one word each.

pair = GAMRegressorCV("te(bmi, bp) + s(s5) + s(age, by=sex)").fit(X, y)
pair.plot_terms(X, y, residuals=True)
plt.show()
