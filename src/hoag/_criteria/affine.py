"""Penalties that side information explains: a few α in place of many λ.

    λ = clip(Zα),   Z of shape (s, r), with one row for each penalty

each λⱼ within bounds of its own. By the chain rule p_α = ZᵀMp and ∇²f_α = ZᵀM ∇²f MZ, where M is 0
for those λⱼ that their bounds hold, and 1 for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Evaluation
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.wrapped import Wrapped


@dataclass(frozen=True, eq=False)
class Loads:
    """λ = clip(Zα) between `lower` and `upper`, each (s,); the first column of Z is one."""

    Z: Array
    lower: Array
    upper: Array

    def lam(self, alpha: Array) -> Array:
        return np.clip(self.Z @ alpha, self.lower, self.upper)

    def jacobian(self, alpha: Array) -> Array:
        """dλ/dα, (s, r)."""
        lam = self.Z @ alpha
        held = (lam < self.lower) | (lam > self.upper)
        return np.where(held[:, None], 0.0, self.Z)


class Affine(Wrapped):
    """f(clip(Zα)) as a function of α.

    >>> import hoag
    >>> import numpy as np
    >>> from hoag._criteria.affine import Affine, Loads
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, y, penalties="per-feature")
    >>> Z = np.column_stack([np.ones(10), np.arange(10) < 2])  # the first two columns differ
    >>> bounds = np.full(10, -12.0), np.full(10, 12.0)
    >>> hoag.minimize(Affine(hoag.plan(folds), Loads(Z, *bounds))).lam.shape
    (2,)
    """

    def __init__(self, inner: Criterion, loads: Loads) -> None:
        super().__init__(inner)
        self.loads = loads

    @property
    def lam0(self) -> Array:
        return np.zeros(self.loads.Z.shape[1])

    @property
    def traits(self) -> Traits:
        size = self.lam0.size
        level = (np.arange(size) == 0).astype(float)
        return replace(super().traits, blocks=np.arange(size), alike=level)

    def _around(self, inner: Criterion) -> Self:
        return type(self)(inner, self.loads)

    def _inside(self, lam: Array) -> Array:
        return self.loads.lam(lam)

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        J = self.loads.jacobian(lam)
        correction = None if found.correction is None else J.T @ found.correction
        error, most = found.error, float(np.linalg.norm(J, 2))
        return replace(
            found,
            lam=lam,
            grad=J.T @ found.grad,
            error=most * error if correction is None else float(np.linalg.norm(correction)),
            bound=most * found.bound if most > 0 else found.bound,
            correction=correction,
            hessian=None if found.hessian is None else J.T @ found.hessian @ J,
            tangents=_turned(found.tangents, J),
            profile=None,
            on_sample=None
            if found.on_sample is None
            else (found.on_sample[0], most * found.on_sample[1]),
        )


def _turned(tangents: Any, J: Array) -> Any:
    """dX/dα from dX/dλ, whose last axis is that of λ; a tuple for folds."""
    if tangents is None:
        return None
    return tuple(t @ J for t in tangents) if isinstance(tangents, tuple) else tangents @ J
