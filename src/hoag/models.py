"""Models as problems: logistic, multinomial, ridge and kernel ridge regression, and one's own loss.

What they are made of is in `hoag.glm`: losses, rows, penalties.
"""

from hoag.glm.folds import folds
from hoag.glm.make import kernel_ridge, linear, logistic, multinomial, ridge

__all__ = ["folds", "kernel_ridge", "linear", "logistic", "multinomial", "ridge"]
