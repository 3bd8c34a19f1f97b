"""The settings that linear estimators share, for those that have little of their own to add."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._data.engine import Engine
from hoag._glm.groups import NAMES
from hoag.linear_model._column import PartitionedColumn
from hoag.linear_model._linear import LinearEstimator, alpha_grid
from hoag.linear_model._parameters import parameters
from hoag.linear_model._task import Grid


@parameters
class WithSettings(LinearEstimator):
    """A linear model with one penalty for all slopes, each feature, or groups of features."""

    # Words for `penalties`; a subclass of several outputs has more of them.
    _sharing: ClassVar[tuple[str, ...]] = ("shared", "per-feature", "per-coefficient")

    alphas: Any = field(default=None, kw_only=False)
    fit_intercept: bool = True

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        if column.nothing.ndim > 1:
            raise InvalidInput("y has several columns: give one number or label for each row.")
        super()._know_partitions(engine, column)

    def _penalties(self) -> Any:
        words = self.penalties
        if isinstance(words, str) and words in NAMES and words not in self._sharing:
            raise InvalidInput(
                f"penalties={words!r}: use {', '.join(map(repr, self._sharing))}, an array of "
                "group numbers, or a dict from columns to labels."
            )
        if isinstance(words, str) and words == "per-coefficient":
            return words if "per-class" in self._sharing else "per-feature"  # of one output
        return super()._penalties()

    def _grids(self) -> list[Grid]:
        if self.alphas is not None and np.ndim(self.alphas) == 0:
            raise InvalidInput(
                f"alphas={self.alphas!r}: give several values, of which the range counts, or leave "
                "it out; for one α there is nothing to tune."
            )
        return alpha_grid("alphas", self.alphas)
