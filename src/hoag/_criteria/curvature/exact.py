"""∇²₁h of every fold as a matrix, and its Cholesky factor."""

from __future__ import annotations

from collections.abc import Sequence

from hoag._core.numeric import Array
from hoag._criteria.curvature.base import Curvature, Expense
from hoag._glm.design import FoldedDesign
from hoag._glm.penalties import QuadraticForm
from hoag._linalg.cholesky import factors
from hoag._linalg.operator import Inverse


class Exact(Curvature):
    """H_k = ∇²L_k, (K, size, size), and a factor of H_k + S for every fold."""

    def factor(
        self, prepared: FoldedDesign, H: Array, penalty: QuadraticForm, lam: Array
    ) -> Sequence[Inverse]:
        prepared.ledger.charge(grams=len(H) * H.shape[-1] / (6.0 * prepared.n))
        return factors(penalty.added(H), lam)

    def expense(self, prepared: FoldedDesign) -> Expense:
        own, n = prepared.predictor, float(prepared.n)
        pairs = (own.outputs + 1) * own.outputs  # of outputs, twice: a product and a sum
        return Expense(n * own.size**2, pairs * n * own.features**2 + own.size**3 / 3)
