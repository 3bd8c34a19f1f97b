"""What models made of rows are made of: losses, rows, penalties, and the model that joins them.

>>> from hoag import glm
>>> glm.Quadratic(2, [[1.0, 0.0], [0.0, 1.0]]).n_lam  # two diagonals, a hyperparameter each
2
"""

from hoag._criteria.curvature.base import Curvature, Expense
from hoag._criteria.hypergradient import Fit, Partials
from hoag._criteria.risks import HeldOut, Risk
from hoag._glm.losses import ScalarLoss
from hoag._glm.model import LinearModel
from hoag._glm.penalties import (
    Penalty,
    PenaltyAt,
    Quadratic,
    QuadraticForm,
    QuadraticPenalty,
    Ridge,
)
from hoag._glm.rows import ArrayRows, Rows
from hoag._glm.targets import Target

__all__ = [
    "ArrayRows",
    "Curvature",
    "Expense",
    "Fit",
    "HeldOut",
    "LinearModel",
    "Partials",
    "Penalty",
    "PenaltyAt",
    "Quadratic",
    "QuadraticForm",
    "QuadraticPenalty",
    "Ridge",
    "Risk",
    "Rows",
    "ScalarLoss",
    "Target",
]
