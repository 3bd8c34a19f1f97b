"""Pointwise losses, one file each; what a loss has to offer is in `base`."""

from hoag.glm.losses.base import Loss, LossAt, OuterLoss, OuterLossAt, ScalarLoss
from hoag.glm.losses.brier import Brier, MultinomialBrier
from hoag.glm.losses.huber import Huber
from hoag.glm.losses.logistic import Logistic
from hoag.glm.losses.multinomial import Multinomial
from hoag.glm.losses.squared import Squared

__all__ = [
    "Brier",
    "Huber",
    "Logistic",
    "Loss",
    "LossAt",
    "Multinomial",
    "MultinomialBrier",
    "OuterLoss",
    "OuterLossAt",
    "ScalarLoss",
    "Squared",
]
