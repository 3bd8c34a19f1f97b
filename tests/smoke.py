"""Whether the installed wheel works beside nothing but what it requires: `make check-public`."""

import importlib.util
import subprocess
import sys
from importlib.metadata import version

import hoag

assert "site-packages" in hoag.__file__, f"{hoag.__file__} is not what was installed"
assert hoag.__version__ == version("hoag")
assert all(importlib.util.find_spec(name) is None for name in ("pandas", "matplotlib", "jax"))

from sklearn.datasets import load_breast_cancer, load_diabetes  # noqa: E402

X, y = load_breast_cancer(return_X_y=True)
model = hoag.LogisticRegressionCV(standardize=True).fit(X, y)
assert model.result_.converged, model.result_.status
assert model.score(X, y) > 0.97
assert hoag.RidgeCV(cv=5).fit(*load_diabetes(return_X_y=True)).result_.converged

told = subprocess.run(
    [sys.executable, "-m", "hoag", "--version"], capture_output=True, text=True, check=True
)
assert told.stdout.split() == ["hoag", hoag.__version__]
print(f"hoag {hoag.__version__} works: C = {model.C_:.3g}, {model.result_.status}")  # noqa: T201
