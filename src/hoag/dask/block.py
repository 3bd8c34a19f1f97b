"""What one block is made into: a partition, laid out in memory the same wherever it is made.

These functions run on workers.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidInput, check_given
from hoag._data.source import Partition


def made(i: int, X: Any, y: Any, weight: Any, features: int) -> Partition:
    """Partition i of the blocks of X, y and the weights; X is None where only the others are
    wanted.

    y is zero where there is none, as for predictions.
    """
    check_given(
        **{f"Block {i} of X": X, f"Block {i} of y": y, f"Block {i} of sample_weight": weight}
    )
    held = None if X is None else rows(i, X, features)
    target = np.zeros(held.shape[0]) if y is None and held is not None else own(np.asarray(y))
    found = Partition(
        held,
        target,
        None if weight is None else own(np.asarray(weight, dtype=float)),
    )
    for name, block in (("X", found.X), ("sample_weight", found.weight)):
        if block is not None and block.shape[0] != len(target):
            raise InvalidInput(
                f"Block {i} of {name} has {block.shape[0]} rows and block {i} of y has "
                f"{len(target)}: give both the same blocks, by y.rechunk(X.chunks[0])."
            )
    return found


def rows(i: int, X: Any, features: int) -> Any:
    """A block of X as an array of float64 in rows, or as CSR."""
    if "tocsr" in dir(type(X)):  # of scipy.sparse, or of the package sparse
        X = X.tocsr().astype(np.float64, copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        if "iloc" in dir(type(X)):
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        X = own(np.ascontiguousarray(X, dtype=np.float64))
    if X.shape[1:] != (features,):
        raise InvalidInput(f"Block {i} of X is {X.shape}, where X has {features} columns.")
    return X


def own(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`a`, copied where it keeps more than itself in memory, or lies askew in it."""
    base: Any = a.base
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    held = 0
    if base is not None:
        held = len(base) if isinstance(base, (bytes, bytearray)) else base.nbytes
    return a.copy() if held > 1.1 * a.nbytes + 4096 or a.ctypes.data % 16 else a


def counted(block: Any) -> int:
    """The rows of a block."""
    return int(block.shape[0])


def digest(partition: Partition) -> str:
    """What tells the numbers of this partition from others."""
    found = hashlib.blake2b(digest_size=16)
    X = partition.X
    parts = (
        [X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)]
        if sparse.issparse(X)
        else [X]
    )
    for part in (*parts, partition.y, partition.weights):
        found.update(f"{part.shape} {part.dtype.str}".encode())
        if part.dtype.kind == "O":
            found.update(repr(part.tolist()).encode())
        else:
            found.update(np.ascontiguousarray(part).view(np.uint8).data)
    return found.hexdigest()
