"""Out-of-core data: partitions of rows in files, that somebody makes, or on workers.

>>> import numpy as np
>>> from hoag import data
>>> rows = data.LocalEngine(data.partitions((np.ones((5, 2)), np.arange(5.0)), rows=2))
>>> rows.total(lambda partition: partition.X.sum(axis=0))
array([5., 5.])
"""

from hoag._core.deprecated import moved
from hoag._data.engine import Engine, LocalEngine
from hoag._data.memory import MemoryPlan, plan_memory
from hoag._data.partitions import Partitions, partitions
from hoag._data.source import Partition, Source

__all__ = [
    "Engine",
    "LocalEngine",
    "MemoryPlan",
    "Partition",
    "Partitions",
    "Source",
    "partitions",
    "plan_memory",
]

RENAMED = {
    "Piece": "Partition",
    "Local": "LocalEngine",
    "Blocks": "Partitions",
    "blocks": "partitions",
}

__getattr__ = moved("hoag.data", "hoag.data", RENAMED)
