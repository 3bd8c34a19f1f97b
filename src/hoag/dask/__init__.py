"""Rows in the blocks of dask arrays and dataframes, held by the workers of a cluster.

>>> import dask.array as da, numpy as np
>>> import hoag.dask
>>> X, y = da.ones((8, 3), chunks=(4, 3)), da.zeros(8, chunks=4)
>>> engine = hoag.dask.engine(X, y)  # no cluster here: dask's own threads compute the blocks
>>> engine.total(lambda partition: partition.X.sum(axis=0))
array([8., 8., 8.])
"""

from __future__ import annotations

from hoag._core.deprecated import moved
from hoag._core.errors import MissingPackageError

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError:
    raise MissingPackageError.of("hoag.dask", "dask and distributed", "'hoag[dask]'") from None

from hoag.dask._engine import engine

__all__ = ["engine"]
_old = {"ClusterLost": "ClusterLostError"}
_now = {"ClusterLost": "hoag.errors.ClusterLostError"}
__getattr__ = moved("hoag.dask", "hoag.errors", _old, instead=_now)
