"""Models as problems: logistic, multinomial, ridge, Cox, kernel ridge regression, one's own loss.

What they are made of is in `hoag.glm`: losses, rows, penalties.

>>> import hoag
>>> from sklearn.datasets import load_iris
>>> folds = hoag.models.folds(hoag.models.multinomial, *load_iris(return_X_y=True), cv=3)
>>> len(folds), folds[0].x0.size
(3, 12)
"""

from hoag.glm.folds import folds
from hoag.glm.make import cox, kernel_ridge, linear, logistic, multinomial, ridge

__all__ = ["cox", "folds", "kernel_ridge", "linear", "logistic", "multinomial", "ridge"]
