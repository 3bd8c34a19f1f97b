"""Models as problems: logistic, ridge, Cox, ordinal, robust, kernel ridge regression, any loss.

What they are made of is in `hoag.glm`: losses, rows, penalties.

>>> import hoag
>>> from sklearn.datasets import load_iris
>>> folds = hoag.models.folds(hoag.models.multinomial, *load_iris(return_X_y=True), cv=3)
>>> len(folds), folds[0].x0.size
(3, 12)
"""

from hoag._glm.make import (
    cox,
    folds,
    huber,
    kernel_ridge,
    linear,
    logistic,
    multinomial,
    ordinal,
    ridge,
)

__all__ = [
    "cox",
    "folds",
    "huber",
    "kernel_ridge",
    "linear",
    "logistic",
    "multinomial",
    "ordinal",
    "ridge",
]
