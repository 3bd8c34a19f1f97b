"""Rows that are not one array in memory: in files, in pieces that somebody makes, on workers.

>>> import numpy as np
>>> from hoag import data
>>> rows = data.Local(data.blocks((np.ones((5, 2)), np.arange(5.0)), rows=2))
>>> rows.total(lambda piece: piece.X.sum(axis=0))
array([5., 5.])
"""

from hoag._data.blocks import Blocks, blocks
from hoag._data.engine import Engine, Local
from hoag._data.piece import Piece, Source

__all__ = ["Blocks", "Engine", "Local", "Piece", "Source", "blocks"]
