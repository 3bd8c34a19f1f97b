"""A constant of its own added to the z of every row: an offset, or the log of an exposure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import Loss, LossAt


class Offset:
    """loss(yᵢ, zᵢ + oᵢ): y is given with its offsets beside it, shape (n, 2)."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.self_concordance, self.lipschitz = loss.self_concordance, loss.lipschitz
        self.convex, self.dispersion = loss.convex, loss.dispersion

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return self.loss.at(y[:, 0], z + y[:, 1])


def with_offset(y: Array, offset: Array) -> Array:
    """y and the offsets as `Offset` reads them."""
    return np.column_stack([y, offset])
