"""What a curvature is: the inverse of ∇²₁h_k = ∇²L_k + S for every fold, and what it takes.

    prepared = curvature.init(design, penalties)            what neither x nor λ changes
    H        = curvature.form(prepared, X, sums)            of the rows at x₁ … x_K, whatever λ is
    inverses = curvature.factor(prepared, H, penalty, λ)    b ↦ (∇²L_k + S)⁻¹b, for every fold

Newton steps, adjoints and tangents are all solved for with these inverses. A curvature that is not
`exact` is a preconditioner: what is solved for with it is refined by conjugate gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from hoag._core.numeric import Array
from hoag._glm.design import FoldedDesign, Sums
from hoag._glm.penalties import Penalty, QuadraticForm
from hoag._linalg.cholesky import factors
from hoag._linalg.operator import Inverse


class Expense(NamedTuple):
    """What a curvature takes for one fold.

    Parameters
    ----------
    form : float
        Products of numbers for H.
    renew : float
        Operations for H and the inverse of it.

    Examples
    --------
    >>> from hoag import glm
    >>> glm.Expense(form=1e6, renew=2e6).renew
    2000000.0
    """

    form: float
    renew: float


class Curvature(ABC):
    """What stands for ∇²₁h_k⁻¹ of every fold.

    Derive from it, and write `form`, `factor` and `expense`.

    Attributes
    ----------
    exact : bool
        The inverses are right to rounding where H was formed; else they only precondition.
    dense : bool
        H is all of ∇²L, so that risks may depend on ∇²₁h⁻¹ itself.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> class Jacobi(hoag.glm.Curvature):  # the diagonal of every fold
    ...     exact = False
    ...     def form(self, design, X, sums):
    ...         return design.diagonals(X)
    ...     def factor(self, design, H, penalty, lam):
    ...         S = penalty.diagonal(H[0])
    ...         return [lambda b, d=d: (b.T / (d + S)).T for d in H]
    ...     def expense(self, design):
    ...         return hoag.glm.Expense(float(design.n), float(design.n))
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> exact, own = hoag.plan(folds), hoag.plan(folds, curvature=Jacobi())
    >>> bool(np.isclose(own.value(1.0).value, exact.value(1.0).value))
    True
    """

    exact = True
    dense = False

    def init(self, design: FoldedDesign, penalties: Sequence[Penalty]) -> Any:
        """What neither x nor λ changes."""
        return design

    def form(self, prepared: Any, X: Array, sums: Sums) -> Any:
        """What the inverses at x₁ … x_K, (K, size), are made of, whatever λ is.

        `sums` are those at X, with their ∇²L where the curvature is `exact`.
        """
        return sums.hessian

    @abstractmethod
    def factor(
        self, prepared: Any, H: Any, penalty: QuadraticForm, lam: Array
    ) -> Sequence[Inverse]:
        """b ↦ (∇²L_k + S)⁻¹b, for every fold."""

    @abstractmethod
    def expense(self, prepared: Any) -> Expense:
        """What forming and renewing the inverse of one fold take."""


class Direct(Curvature):
    """∇²₁h of every fold as a matrix: H_k = ∇²L_k, (K, size, size), and a factor of H_k + S."""

    dense = True

    def factor(
        self, prepared: FoldedDesign, H: Array, penalty: QuadraticForm, lam: Array
    ) -> Sequence[Inverse]:
        prepared.ledger.charge(grams=len(H) * H.shape[-1] / (6.0 * prepared.n))
        return factors(penalty.added(H), lam)

    def expense(self, prepared: FoldedDesign) -> Expense:
        own, n = prepared.predictor, float(prepared.n)
        pairs = (own.outputs + 1) * own.outputs  # of outputs, twice: a product and a sum
        return Expense(n * own.size**2, pairs * n * own.features**2 + own.size**3 / 3)
