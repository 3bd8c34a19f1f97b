"""Deprecated: rows that are not in memory are in `hoag.data`."""

from hoag._core.deprecated import moved

__getattr__ = moved("hoag.far", "hoag.data")
