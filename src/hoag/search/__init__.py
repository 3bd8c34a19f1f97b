"""Searches: each minimises a criterion over a box and returns a result."""

from hoag.search.hoag import Hoag
from hoag.search.recorder import Recorder, Stop
from hoag.search.steps import Adaptive, Constant

__all__ = ["Adaptive", "Constant", "Hoag", "Recorder", "Stop"]
