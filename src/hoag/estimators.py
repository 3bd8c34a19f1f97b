"""Deprecated: what was here is in `hoag.linear_model`, `hoag.gam`, and `hoag`."""

from hoag._core.deprecated import moved

__getattr__ = moved("hoag.estimators", "hoag")
