"""Ways to compute f(λ) and its gradient, and the plan that chooses among them.

>>> import hoag
>>> issubclass(hoag.Implicit, hoag.criteria.base.Criterion)
True
"""

from typing import Any

__all__ = ["without_folds"]


def __getattr__(name: str) -> Any:
    if name == "without_folds":  # when it is first asked for, as in hoag itself
        from hoag.criteria.scored import without_folds

        return without_folds
    raise AttributeError(f"module 'hoag.criteria' has no attribute {name!r}")
