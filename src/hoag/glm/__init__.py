"""What models made of rows are made of: losses, rows, penalties, and the model that joins them.

>>> from hoag import glm
>>> glm.Quadratic(2, [[1.0, 0.0], [0.0, 1.0]]).n_lam  # two diagonals, a hyperparameter each
2
"""

from hoag.glm.losses import ScalarLoss
from hoag.glm.model import LinearModel
from hoag.glm.penalties import Penalty, PenaltyAt, Quadratic, Ridge
from hoag.glm.rows import ArrayRows, Rows
from hoag.glm.targets import Target

__all__ = [
    "ArrayRows",
    "LinearModel",
    "Penalty",
    "PenaltyAt",
    "Quadratic",
    "Ridge",
    "Rows",
    "ScalarLoss",
    "Target",
]
