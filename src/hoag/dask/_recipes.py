"""From dask collections to recipes of partitions: the graph of each block of X, y, weights."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from distributed import futures_of
from scipy import sparse

from hoag._core.errors import InvalidDataError, check_given
from hoag._data.files import check_distinct
from hoag._data.source import Partition

# Computes a list of Delayed objects in one go.
Compute = Callable[[list[Any]], Sequence[Any]]


class Recipes(NamedTuple):
    """X, y and weights as blocks that are computed when somebody asks; rows are None if unknown."""

    X: list[Any]
    y: list[Any] | None
    weight: list[Any] | None
    features: int
    names: list[str] | None
    rows: list[int] | None
    dense: bool

    def partition(self, i: int, rows: bool = True, name: str | None = None) -> Any:
        """Partition i, delayed."""
        weight = None if self.weight is None else self.weight[i]
        X = self.X[i] if rows or self.y is None else None
        y = None if self.y is None else self.y[i]
        return dask.delayed(made, pure=False)(i, X, y, weight, self.features, dask_key_name=name)


def recipes(X: Any, y: Any, weight: Any, compute: Compute) -> Recipes:
    """The blocks of X, and those of y and the weights that belong to them."""
    check_given(X=X, y=y, sample_weight=weight)
    names, dense = None, False
    if isinstance(X, da.Array):
        if X.ndim != 2 or math.isnan(X.shape[1]):
            raise InvalidDataError(
                f"X has shape {X.shape}; needed are rows and a known number of columns.",
                parameter="X",
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        features, rows = X.shape[1], known(X)
        blocks = delayed_blocks(X)
        dense = isinstance(X._meta, np.ndarray)
    elif is_frame(X):
        check_distinct("X", X.columns)
        numeric(X)
        names = [str(name) for name in X.columns]
        features, rows, dense = len(names), None, True
        blocks = list(X.to_delayed())
    else:
        raise InvalidDataError(
            f"X is a {type(X).__name__}; hoag.dask takes dask arrays and dask dataframes.",
            parameter="X",
        )
    mine = BlockRows(blocks, rows, compute)
    ys = None if y is None else aligned(y, "y", mine)
    weights = None if weight is None else aligned(weight, "sample_weight", mine)
    return Recipes(blocks, ys, weights, features, names, mine.known, dense)


class BlockRows:
    """The rows of every block of X: known, or counted in one go when somebody needs them."""

    def __init__(self, blocks: list[Any], known: list[int] | None, compute: Compute) -> None:
        self.blocks, self.known, self.compute = blocks, known, compute

    @property
    def counted(self) -> list[int]:
        if self.known is None:
            count = dask.delayed(counted)
            self.known = [int(n) for n in self.compute([count(block) for block in self.blocks])]
        return self.known


def aligned(y: Any, name: str, rows: BlockRows) -> list[Any]:
    """y in the blocks of X. Where neither tells its sizes, the workers compare them."""
    if dask.is_dask_collection(y):
        if not isinstance(y, da.Array):
            if y.npartitions == len(rows.blocks):
                return list(y.to_delayed())
            y = y.to_dask_array(lengths=True)
        if y.ndim > 1 and any(n > 1 for n in y.numblocks[1:]):
            y = y.rechunk(dict.fromkeys(range(1, y.ndim), -1))
        mine = known(y)
        if y.numblocks[0] == len(rows.blocks) and (mine is None or rows.known is None):
            return delayed_blocks(y)
        if mine is None:
            raise InvalidDataError(
                f"{name} has {y.numblocks[0]} blocks of unknown sizes and X has "
                f"{len(rows.blocks)}.\nCall {name}.compute_chunk_sizes() first.",
                parameter=name,
            )
        same_rows(name, sum(mine), rows)
        y = y if mine == rows.counted else y.rechunk({0: tuple(rows.counted)})
        return delayed_blocks(y)
    y = np.asarray(y)
    same_rows(name, len(y), rows)
    ends = np.cumsum(rows.counted)
    return [y[end - n : end] for end, n in zip(ends, rows.counted)]


def same_rows(name: str, n: int, rows: BlockRows) -> None:
    if n != sum(rows.counted):
        raise InvalidDataError(
            f"{name} has {n} rows and X has {sum(rows.counted)}.", parameter=name
        )


def known(a: Any) -> list[int] | None:
    """The rows of every block of a dask array; None where dask does not know them."""
    sizes = a.chunks[0]
    return None if any(math.isnan(n) for n in sizes) else [int(n) for n in sizes]


def delayed_blocks(a: Any) -> list[Any]:
    """The blocks of a dask array. Optimised graphs lose hold of what is kept on workers."""
    return list(a.to_delayed(optimize_graph=not futures_of(a)).ravel())


def is_frame(X: Any) -> bool:
    if not dask.is_dask_collection(X):
        return False
    import dask.dataframe as dd

    return isinstance(X, dd.DataFrame)


def numeric(X: Any) -> None:
    """Raises unless all columns are numbers."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    wrong = [
        str(name)
        for name, kind in X.dtypes.items()
        if is_complex_dtype(kind) or not (is_numeric_dtype(kind) or is_bool_dtype(kind))
    ]
    if wrong:
        raise InvalidDataError(
            f"Columns {', '.join(wrong[:5])} of X are no numbers.\nEncode them first: "
            "dask.dataframe.get_dummies(X.categorize()) makes columns of categories.",
            parameter="X",
        )


# ---- what one block is made into, on workers: a partition, laid out alike wherever it is made


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
            raise InvalidDataError(
                f"Block {i} of {name} has {block.shape[0]} rows and block {i} of y has "
                f"{len(target)}.\nGive both the same blocks, by y.rechunk(X.chunks[0]).",
                f"block {i}",
                parameter=name,
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
        raise InvalidDataError(
            f"Block {i} of X is {X.shape}, where X has {features} columns.",
            f"block {i}",
            parameter="X",
        )
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
