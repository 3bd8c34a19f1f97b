"""Pointwise losses, one file each; what a loss has to offer is in `base`."""

from hoag._glm.losses.base import Loss, LossAt, OuterLoss, OuterLossAt, ScalarLoss
from hoag._glm.losses.brier import Brier, MultinomialBrier
from hoag._glm.losses.each_output import EachOutput
from hoag._glm.losses.gamma import Gamma
from hoag._glm.losses.huber import ConcomitantHuber, Huber
from hoag._glm.losses.inverse_gaussian import InverseGaussian
from hoag._glm.losses.log_link import LogLink
from hoag._glm.losses.logistic import Logistic
from hoag._glm.losses.multinomial import Multinomial
from hoag._glm.losses.offset import Offset
from hoag._glm.losses.ordinal import Ordinal
from hoag._glm.losses.poisson import Poisson
from hoag._glm.losses.quantile import SmoothQuantile
from hoag._glm.losses.squared import Squared
from hoag._glm.losses.squared_hinge import SquaredHinge
from hoag._glm.losses.tweedie import Tweedie

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
