"""Moved to hoag._data.target."""

from hoag._data.target import ArrayColumn as ArrayColumn
from hoag._data.target import Column as Column
from hoag._data.target import OfRows as OfRows
from hoag._data.target import PartitionedColumn as PartitionedColumn
from hoag._data.target import Weigh as Weigh
