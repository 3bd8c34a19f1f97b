"""Deprecated: data that are not in memory are in `hoag.data`."""

from hoag._core.deprecated import moved
from hoag.data import RENAMED

__getattr__ = moved("hoag.far", "hoag.data", RENAMED)
