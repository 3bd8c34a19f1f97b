"""The memory that a worker needs, told before anything is loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidParameterError


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes that one worker needs: its rows, vectors, and matrices where there are some.

    Parameters
    ----------
    blocks : int
        Bytes of its rows, targets and weights.
    vectors : int
        Bytes of the vectors of every fold.
    matrices : int
        Bytes of the matrices of every fold, where some are formed.
    workers : int
        How many workers share the rows.

    Examples
    --------
    >>> import hoag
    >>> plan = hoag.data.plan_memory((10**6, 100), workers=4)
    >>> plan.worker == plan.blocks + plan.vectors + plan.matrices
    True
    >>> print(plan)
    rows            0.204 GB
    vectors         4e-05 GB
    matrices        0.0004 GB
    a worker needs  0.204 GB, each of 4
    """

    blocks: int
    vectors: int
    matrices: int
    workers: int

    @property
    def worker(self) -> int:
        """Bytes that one worker needs."""
        return self.blocks + self.vectors + self.matrices

    def __str__(self) -> str:
        lines = (("rows", self.blocks), ("vectors", self.vectors), ("matrices", self.matrices))
        told = [f"{name:<16}{size / 1e9:.3g} GB" for name, size in lines]
        return "\n".join(
            [*told, f"a worker needs  {self.worker / 1e9:.3g} GB, each of {self.workers}"]
        )


def plan_memory(
    X: Any,
    y: Any = None,
    workers: int | None = None,
    outputs: int = 1,
    folds: int = 5,
    dtype: npt.DTypeLike = np.float64,
) -> MemoryPlan:
    """Bytes a worker needs: its blocks + 10·folds vectors of features × outputs numbers.

    Where features × outputs is at most 1000, a matrix of that size is formed for every fold, and
    counted, too. A weight is counted for every row.

    Parameters
    ----------
    X : tuple, dask array or dataframe, or sparse matrix
        (rows, columns), or (rows, columns, entries a row) where rows are sparse, or anything with
        such a `shape`, whose `nnz` counts where it has one.
    y : array, default=None
        One number a row, or as many as its second dimension says; None is one.
    workers : int, default=None
        How many workers share the rows; None is 1.
    outputs : int, default=1
        How many outputs a model has: classes, or targets.
    folds : int, default=5
        How many folds are fitted at once.
    dtype : dtype, default=float64
        Of the numbers of X.

    Returns
    -------
    MemoryPlan
        The bytes, part by part.

    Raises
    ------
    InvalidDataError
        Where the number of rows is not known, or X has no shape.

    Examples
    --------
    >>> import hoag
    >>> hoag.data.plan_memory((10**6, 20_000, 50), workers=2).blocks
    310000004
    """
    each = None
    if isinstance(X, tuple):
        rows, columns = X[:2]
        each = X[2] if len(X) > 2 else None
    else:
        if "shape" not in dir(X) or len(X.shape) != 2:
            raise InvalidParameterError(
                "plan_memory is for what workers hold.\nGive a Dask array or frame, or (rows, "
                "columns). Rows in files are read some at a time, and need no plan.",
                "X",
            )
        rows, columns = X.shape
        each = X.nnz / max(rows, 1) if "nnz" in dir(X) else None
    if not isinstance(rows, (int, float, np.number)) or math.isnan(rows):
        raise InvalidParameterError(
            "How many rows X has is not known.\nGive plan_memory (rows, columns), as numbers.", "X"
        )
    share, item = math.ceil(rows / (workers or 1)), np.dtype(dtype).itemsize
    if each is None:
        data = share * columns * item
    else:
        data = math.ceil(share * each) * (item + 4) + 4 * (share + 1)
    targets = 1 if y is None or len(y.shape) < 2 else y.shape[1]
    p = int(columns) * outputs
    return MemoryPlan(
        blocks=int(data + share * 8 * (targets + 1)),
        vectors=10 * folds * p * 8,
        matrices=folds * p * p * 8 if p <= 1000 else 0,
        workers=workers or 1,
    )
