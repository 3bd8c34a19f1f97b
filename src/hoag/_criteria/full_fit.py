"""f(λ) = Φ(z, V) of one fit on all rows, and its exact gradient by the adjoint.

    X(λ) = argmin h,   H = ∇²₁h = Σᵢ AᵢᵀCᵢAᵢ + S,   zᵢ = AᵢX,   Vᵢ = AᵢH⁻¹Aᵢᵀ
    N = H⁻¹(Σᵢ Aᵢᵀ Φ_V,i Aᵢ)H⁻¹,   ρᵢ = ∂ tr(Cᵢ AᵢNAᵢᵀ)/∂zᵢ,   q = H⁻¹ Σᵢ Aᵢᵀ(Φ_z,i − ρᵢ)
    pⱼ = −exp(λⱼ)(qᵀSⱼX + tr(SⱼN))

No row is held out, so there is one fit and one factor for each λ; what scores there are is in
hoag._criteria.scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hoag._core.errors import InvalidInput
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import SPACING, Criterion, Traits, no_gradient, unsolved
from hoag._criteria.joint import ROUGH
from hoag._criteria.row_forms import Narrow, RowForms
from hoag._criteria.scores import Judged, LeftOut, Score, Seen
from hoag._glm.losses import Multinomial
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge, of_folds
from hoag._linalg.cholesky import singular_hessian
from hoag.inner import Continued, Newton
from hoag.linear import Cholesky
from hoag.problems import Counted, Problem


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fit at one λ: x, ∇₁h that is left there, the rows as scores see them, H⁻¹ and log|H|.

    H is with what settles the directions that only the penalty settles: `settled` is that, for each
    feature, zero for most models.
    """

    x: Array
    left: Array
    seen: Seen
    inverse: Array
    log_det: float
    settled: Array
    note: str = ""

    def doubt(self, change: float, value: float) -> float:
        """What a fit that stopped short adds to the error of a score, which was changed so."""
        if not self.note:
            return 0.0
        return abs(change) + unsolved(float(self.left @ self.inverse @ self.left), abs(value))


class FullFit(Criterion):
    """A score of the fit on all training rows of a linear model; its held-out rows are not used."""

    def __init__(self, problem: LinearModel, score: Score) -> None:
        self.problem, self.score = problem, score

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def stands_on(self) -> Problem:
        return self.problem

    @property
    def traits(self) -> Traits:
        return Traits(scan_spacing=SPACING, exact=True, blocks=np.arange(self.lam0.size))

    def outer_lipschitz(self) -> tuple[float, Cost]:
        raise InvalidInput("A score of one fit has no bounded slope: give C a number.")

    @cached_property
    def narrow(self) -> Narrow:
        return Narrow.of(self.problem)

    @cached_property
    def _forms(self) -> RowForms:
        return RowForms(self.narrow.model.train)

    @cached_property
    def _scale(self) -> float:
        """‖∇₁h‖ at x₀: what rounding is measured by."""
        model = self.narrow.model
        return float(np.linalg.norm(model.at(np.array(model.x0), self.lam0).h_x))

    def fitted(self, lam: Array, x: Array | None = None, tol: float = EXACT) -> Fitted:
        """X(λ) by Newton steps from x, as `narrow` lays it out, with a factor each."""
        model = self.narrow.model
        start = np.zeros(model.x0.size) if x is None else x
        newton = Continued(Newton(Cholesky(), forcing=np.inf))
        solve = newton.solve(Counted(model), lam, start, tol * self._scale)
        H = solve.point.hessian.matrix()
        settled = self._settling(H)
        try:
            factor = cholesky(H, lower=True)
        except LinAlgError:
            raise singular_hessian(lam) from None
        root = solve_triangular(factor, np.eye(len(factor)), lower=True).T
        seen = Seen(model.train, model.train.predict(solve.x), self._forms.squares(root))
        log_det = 2.0 * float(np.sum(np.log(np.diag(factor))))
        inverse = root @ root.T
        return Fitted(solve.x, solve.point.h_x, seen, inverse, log_det, settled, _note(solve))

    def _settling(self, H: Array) -> Array:
        """The directions settled that only the penalty settles, in place; by how much, (features,).

        Classes that share the penalty of a feature may all have its coefficient shifted by the
        same: no score sees that, it mixes with no other direction, and where penalties are weak it
        would be all that H⁻¹ shows.
        """
        model, K = self.narrow.model, self.narrow.model.train.design.width
        added = np.zeros(model.train.design.features)
        if isinstance(model.train.loss, Multinomial) and isinstance(model.penalty, Ridge):
            for j in np.flatnonzero(np.all(model.groups == model.groups[:, :1], axis=1)):
                own = slice(j * K, (j + 1) * K)
                added[j] = float(np.trace(H[own, own]))
                H[own, own] += added[j] / K
        return added

    def _evaluate(self, lam: Array, ask: Ask, warm: Array | None) -> Evaluation:
        before = self.problem.ledger.cost
        found = self._judged(lam, self.fitted(lam, warm, EXACT**0.5 if ask.free else EXACT))
        if ask.free and abs(found.value - found.g) > ROUGH * abs(found.g):
            found = self._judged(lam, self.fitted(lam, found.warm))  # penalties are weak here
        grad = found.grad if ask.gradient else no_gradient(lam)
        return replace(found, grad=grad, cost=self.problem.ledger.cost - before)

    def _judged(self, lam: Array, fit: Fitted) -> Evaluation:
        judged, penalty = self.score.at(fit.seen), of_folds([self.narrow.model.penalty]).at(lam)
        q, N = self._adjoint(fit, judged)
        change = -float(q @ fit.left)  # where x is a little off: f to second order in that
        value = judged.value + change
        lost = ROUNDING * (abs(value) + float(np.sum(np.abs(judged.by_V * fit.seen.V))))
        return Evaluation(
            lam,
            value,
            -penalty.vjp(fit.x[None], q[None]) - penalty.traces(N),
            g=judged.value,
            f_error=lost + change * (change / (abs(value) or 1.0)) + fit.doubt(change, value),
            error=lost,
            x=self.narrow.lifted(fit.x),
            warm=fit.x,
            converged=not fit.note,
            note=fit.note,
            folds=judged.rows,
        )

    def _adjoint(self, fit: Fitted, judged: Judged) -> tuple[Array, Array]:
        """q and N of the formula."""
        N = fit.inverse @ self._forms.gram(judged.by_V) @ fit.inverse
        rho = fit.seen.turned(self._forms.forms(N))
        back = self.narrow.model.train.backward(fit.seen.shaped(judged.by_z - rho))
        return fit.inverse @ back, N

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """By a fresh factor, from the x that was found; ∇₁h and z are of the rows as given."""
        before = self.problem.ledger.cost
        start = None if found.x is None else self.narrow.within(found.x)
        fit = self.fitted(found.lam, start)
        x = self.narrow.lifted(fit.x)
        left = self.narrow.within(self.problem.at(x, found.lam).h_x)
        seen = replace(fit.seen, z=self.problem.train.predict(x))
        known = self._judged(found.lam, replace(fit, left=left, seen=seen))
        return replace(
            known,
            grad=found.grad,
            error=found.error,
            f_error=known.f_error + abs(known.value - found.value),
            cost=self.problem.ledger.cost - before,
        )

    def seen(self, lam: Array) -> Seen:
        """The rows at λ."""
        return self.fitted(lam).seen

    def degrees(self, found: Evaluation) -> float:
        """df = Σᵢ tr(CᵢVᵢ) of the fit that was found."""
        return self.fitted(found.lam, found.warm).seen.degrees

    def predictions(self, lam: Array) -> Array:
        """z̃ at λ, what the fit without each row predicts for it; for approximate leave-one-out."""
        if not isinstance(self.score, LeftOut):
            raise InvalidInput("Only approximate leave-one-out predicts rows that are left out.")
        return self.score.predictions(self.fitted(lam).seen)


def _note(solve: Solve) -> str:
    if solve.converged:
        return ""
    return f"The fit stopped ({solve.reason}) at ‖∇₁h‖ = {solve.residual:.1e}."
