"""As a user of scikit-learn writes."""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hoag

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
y = X[:, 0] + rng.normal(size=200)
model = hoag.RidgeCV(cv=5).fit(X, y)
print(model.alpha_, model.predict(X)[:3], model.score(X, y))
pipe = make_pipeline(StandardScaler(), hoag.LogisticRegressionCV())
pipe.fit(X, y > 0)
frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
print(hoag.explain(hoag.RidgeCV(), frame, y).why)
try:
    hoag.minimize(hoag.models.ridge(X, y, X, y), bounds=(3, -3))
except hoag.HoagError as error:
    print(error.message, error.parameter, error.hint)
