"""Cox regression on held-out rows: what they add to the partial likelihood, and who outlives whom.

    2 [L(all rows; w) − L(training rows; w)] / held-out events,   w of the training rows

beside the same with w = 0, one risk for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def losses(seen: list[Any], data: Any, weights: Any, splits: Any) -> tuple[Any, Any, Any]:
    """For each fold with an event: the weight of its events, its loss, and that of one risk."""
    from hoag._glm.cox import cox_target

    target = cox_target(data.y, data.given.get("strata"))
    parts = []
    for (train, test), one in zip(splits, seen, strict=True):
        inside, both = np.zeros(len(weights)), np.zeros(len(weights))
        inside[train] = weights[train]
        both[train], both[test] = weights[train], weights[test]
        events = float(weights[test] @ data.y["event"][test])
        sets = target.sets(both), target.sets(inside)
        each = []
        for coef in (one.coef, np.zeros_like(one.coef)):
            z = np.asarray(data.X @ coef)
            each.append(2 * (sets[0].at(z).value - sets[1].at(z).value))
        if events > 0:
            parts.append((events, each[0] / events, each[1] / events))
    sizes, own, base = np.array(parts).T
    return sizes, own, base
