"""Deprecated: what is public of the criteria is in `hoag` itself."""

from hoag._core.deprecated import moved

__getattr__ = moved("hoag.criteria", "hoag")
