"""Pointwise losses, one file each; what a loss has to offer is in `base`."""

from hoag.glm.losses.base import Loss, LossAt, OuterLoss, OuterLossAt, ScalarLoss
from hoag.glm.losses.brier import Brier, MultinomialBrier
from hoag.glm.losses.each_output import EachOutput
from hoag.glm.losses.gamma import Gamma
from hoag.glm.losses.huber import ConcomitantHuber, Huber
from hoag.glm.losses.inverse_gaussian import InverseGaussian
from hoag.glm.losses.log_link import LogLink
from hoag.glm.losses.logistic import Logistic
from hoag.glm.losses.multinomial import Multinomial
from hoag.glm.losses.offset import Offset
from hoag.glm.losses.ordinal import Ordinal
from hoag.glm.losses.poisson import Poisson
from hoag.glm.losses.quantile import SmoothQuantile
from hoag.glm.losses.squared import Squared
from hoag.glm.losses.squared_hinge import SquaredHinge
from hoag.glm.losses.tweedie import Tweedie

__all__ = [
    "Brier",
    "ConcomitantHuber",
    "EachOutput",
    "Gamma",
    "Huber",
    "InverseGaussian",
    "LogLink",
    "Logistic",
    "Loss",
    "LossAt",
    "Multinomial",
    "MultinomialBrier",
    "Offset",
    "Ordinal",
    "OuterLoss",
    "OuterLossAt",
    "Poisson",
    "ScalarLoss",
    "SmoothQuantile",
    "Squared",
    "SquaredHinge",
    "Tweedie",
]
