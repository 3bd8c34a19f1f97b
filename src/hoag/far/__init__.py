"""Rows that are not one array in memory: in files, in pieces that somebody makes, on workers."""

from hoag.far.blocks import Blocks, blocks
from hoag.far.engine import Engine, Local
from hoag.far.piece import Piece, Source

__all__ = ["Blocks", "Engine", "Local", "Piece", "Source", "blocks"]
