"""Deprecated: the searches are in `hoag.optimize`."""

from hoag._core.deprecated import moved

__getattr__ = moved("hoag.search", "hoag.optimize", {"Fast": "Auto", "Look": "Evaluate"})
