"""What models made of rows are made of: losses, rows, penalties, and the model that joins them."""

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
