"""As somebody writes who wants linear models with other penalties, domains and criteria."""

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

import hoag

rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
folds = hoag.models.folds(hoag.models.ridge, X, y, cv=KFold(3), intercept=True)
domain = hoag.domains.Product([(1, (-6, 6)), (2, hoag.domains.Simplex())])
print(domain.size, hoag.minimize(folds, search=hoag.optimize.Grid(5)).lam)
problem = hoag.models.logistic(sparse.csr_array(X), y > 0, X, y > 0, penalties="per-feature")
print(hoag.minimize(hoag.criteria.without_folds(problem, "gcv")).value)
D = np.diff(np.eye(3), axis=0)
smooth = hoag.penalties.quadratic([(slice(0, 3), D.T @ D)], names=["smooth"])
print(hoag.RidgeCV(penalties=smooth).fit(X, y).coef_)
rows = hoag.partitions((X, y), rows=10, dtype=np.float32, cache=None)
print(rows.partitions, rows.read(0).X, hoag.data.plan_memory((1000, 10)).worker)
