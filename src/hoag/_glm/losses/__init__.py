"""Losses by what they are of: residuals, positive means, classes, two numbers of a row."""

from hoag._glm.losses.base import Loss, LossAt, OuterLoss, OuterLossAt, ScalarLoss
from hoag._glm.losses.classification import Brier, Logistic, Multinomial, MultinomialBrier
from hoag._glm.losses.log_link import Gamma, InverseGaussian, LogLink, Offset, Poisson, Tweedie
from hoag._glm.losses.ordinal import Ordinal
from hoag._glm.losses.pairs import ConcomitantHuber
from hoag._glm.losses.residuals import Huber, SmoothQuantile, Squared, SquaredHinge

__all__ = [
    "Brier",
    "ConcomitantHuber",
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
