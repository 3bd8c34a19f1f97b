"""Hessians: symmetric operators that know their diagonal and their factor, or say they don't."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import Array
from hoag._linalg.cholesky import Factor
from hoag._linalg.cholesky import Inverse as Inverse


class Hessian(LinearOperator):  # type: ignore[misc]
    """H v by `product`; `diagonal()`, `matrix()` and b ↦ H⁻¹b by `factor()` from p products.

    A model that has something better overrides them. The factor is formed once; `own_factor` says
    that it is not made of products.
    """

    own_factor = False

    def __init__(self, size: int) -> None:
        super().__init__(float, (size, size))

    def product(self, v: Array) -> Array:
        raise NotImplementedError

    def _matvec(self, v: Array) -> Array:
        return self.product(np.ravel(v))

    _rmatvec = _matvec

    def matrix(self) -> Array:
        return np.stack([self.product(unit) for unit in np.eye(self.shape[0])], axis=1)

    def diagonal(self) -> Array:
        raise NotSupportedError(
            "The Jacobi preconditioner needs the diagonal of ∇²₁h.\nGive point.hessian as an "
            "array, or as an operator with a method diagonal()."
        )

    def factor(self) -> Inverse:
        """b ↦ H⁻¹b by a Cholesky factor; LinAlgError where H is not positive definite."""
        return self._factor

    @cached_property
    def _factor(self) -> Inverse:
        return Factor(self.matrix())


class GivenHessian(Hessian):
    """A Hessian that a user gave: an array, a sparse matrix or an operator.

    This is the border: what else it offers (`diagonal`, `cholesky`) is found out here.
    """

    def __init__(self, given: Any) -> None:
        super().__init__(given.shape[0])
        self._given = given
        self._times = given.matvec if hasattr(given, "matvec") else given.__matmul__
        self.own_factor = hasattr(given, "cholesky")

    def product(self, v: Array) -> Array:
        return np.asarray(self._times(v))

    def matrix(self) -> Array:
        if isinstance(self._given, np.ndarray):
            return np.array(self._given, dtype=float)
        return np.array(self._given.toarray()) if issparse(self._given) else super().matrix()

    def diagonal(self) -> Array:
        if not hasattr(self._given, "diagonal"):
            return super().diagonal()
        return np.asarray(self._given.diagonal(), dtype=float)

    def factor(self) -> Inverse:
        if self.own_factor:
            inverse: Inverse = self._given.cholesky()
            return inverse
        return super().factor()


class Shifted(Hessian):
    """A + δI."""

    def __init__(self, A: Hessian, delta: float) -> None:
        super().__init__(A.shape[0])
        self._A, self._delta = A, delta

    def product(self, v: Array) -> Array:
        return self._A.product(v) + self._delta * v

    def matrix(self) -> Array:
        return self._A.matrix() + self._delta * np.eye(self.shape[0])

    def diagonal(self) -> Array:
        return self._A.diagonal() + self._delta


def as_hessian(A: Any) -> Hessian:
    return A if isinstance(A, Hessian) else GivenHessian(A)
