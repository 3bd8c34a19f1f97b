"""The paper's models as problems: logistic, multinomial, ridge and kernel ridge regression."""

from hoag.models.folds import folds
from hoag.models.make import kernel_ridge, logistic, multinomial, ridge

__all__ = ["folds", "kernel_ridge", "logistic", "multinomial", "ridge"]
