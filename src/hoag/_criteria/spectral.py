"""Ridge regression with one penalty: one decomposition a fold, and f for every λ.

With the training rows of a fold less their weighted mean ā, and y less ȳ,

    (A − 1āᵀ)ᵀS(A − 1āᵀ) = V diag(e) Vᵀ,   c = Vᵀ(A − 1āᵀ)ᵀS(y − ȳ),   α = e^λ
    X(λ) = Vq,   q = c/(e + α),   dq/dλ = −αc/(e + α)²
    f(λ) = Σᵢ s′ᵢ loss′(yᵢ, ȳ + (aᵢ − ā)ᵀVq)

so nothing is left to solve once e, V and c are known, there is no tolerance to meet, and the whole
box can be looked over. The matrices of a training part are those of all rows less the held-out
block. With more columns than rows, the rows are first written in a basis of the space they span,
which one penalty for all directions does not notice.

A matrix AᵀSA is right to rounding of its largest eigenvalue, and X(λ) no better than that over
α + e. Where this is not enough (collinear columns, weak penalties) the rows themselves are
decomposed, by a pivoted QR factor and one-sided Jacobi rotations, which find small singular values
to as many digits as large ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.numeric import EXACT, ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import CHEAP, SPACING, Traits, no_gradient
from hoag._criteria.decomposed import Fold, MomentsJudge, RowsJudge, singular
from hoag._criteria.moments import CellMoments
from hoag._criteria.shared import SharedFolds, polished
from hoag._glm.basis import FEW
from hoag._glm.design import RowwiseDesign
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge
from hoag.problems import Problem

# Up to so many rows or columns, whichever are fewer, ridge regression with one penalty is
# decomposed; up to the square of it entries are held as an array.
DECOMPOSED = 3 * FEW
# A Gram matrix serves while what rounding does to X(λ) is at most this share of it.
GRAM_ERROR = EXACT**0.5


class Spectral(SharedFolds[RowwiseDesign]):
    """The folds of ridge regression, by decomposition."""

    _told = Cost()  # the cost as it was told last

    def _alpha(self, lam: Array) -> float:
        return float(np.exp(lam[0] - self.shift)) / self.bend

    @property
    def traits(self) -> Traits:
        # A look costs so little that no basin need be missed: q goes from 0 to c/e within 6 units.
        one = np.zeros(1, dtype=np.intp)
        return Traits(
            scan_spacing=SPACING / 3, exact=True, batched=True, least=self._least, blocks=one
        )

    @cached_property
    def _least(self) -> float | None:
        """log of the least e of any fold; None where to find it is too much work."""
        cheap = self.design.n * self._predictor.features**2 <= CHEAP or bool(self.span.wide)
        found = []
        for k in range(len(self.models)):
            clock.check()
            fold = self._fold(k, np.inf)
            if fold.rounding(0.0) > GRAM_ERROR:
                if not cheap:
                    return None
                fold = self._fold(k, 0.0)
            seen = fold.e[fold.e > ROUNDING**2 * fold.e[-1]]
            if seen.size:
                found.append(float(seen.min()))
        return float(np.log(self.bend * min(found))) + self.shift if found else None

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f(λ) and p, exact but for rounding, whatever ε is."""
        return self.values([lam], ask)[0]

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one; with p where it is asked for."""
        alphas = np.array([self._alpha(lam) for lam in lams])
        f, p, lost = np.zeros((3, alphas.size))
        for k in range(len(self.models)):
            clock.check()
            fold = self._fold(k, np.inf)
            value, slope, size = fold.judged(alphas)
            error = ROUNDING * size + fold.rounding(alphas) * np.abs(value)
            rough = error > GRAM_ERROR * np.abs(value)
            if np.any(rough) and self._at_hand:
                exact = self._by_its_rows(k)
                value[rough], slope[rough], size[rough] = exact.judged(alphas[rough])
                error[rough] = ROUNDING * size[rough]
            f, p, lost = f + value, p + slope, lost + error
        spent = self._spent()
        grams = spent.grams / max(len(lams), 1)
        return [
            Evaluation(
                lam,
                float(f[j]),
                p[j : j + 1] if ask.gradient else no_gradient(lam),
                f_error=float(lost[j]),
                error=float(lost[j]) if ask.gradient else np.nan,
                # reads are whole, and the first has asked for them
                cost=Cost(grams=grams, reads=0.0 if j else spent.reads),
            )
            for j, lam in enumerate(lams)
        ]

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows themselves, at the x that the decomposition gives.

        f = g − ∇₁g·H⁻¹∇₁h, and the last term is what the decomposition has got wrong; while it is
        above `tol`, it is corrected, with the decomposition as the inverse.
        """
        alpha = self._alpha(found.lam)
        X = np.stack([self._x(fold, alpha) for fold in self._all(alpha)])
        last = np.inf
        while True:
            clock.check()
            at = self.design.sums(X)
            h_x = at.gradient + self._penalty(found.lam).apply(X)
            step = -np.stack(
                [self._inverse(fold, alpha, r) for fold, r in zip(self._all(alpha), h_x)]
            )
            change = np.einsum("ki,ki->k", at.g_x, step)
            left = float(np.linalg.norm(change))
            if left <= tol or left > 0.5 * last or time.perf_counter() > deadline:
                break
            X, last = X + step, left
        value = float(at.g.sum() + change.sum())
        error = left + ROUNDING * float(np.abs(at.g).sum())
        return replace(
            found,
            folds=at.g + change,
            value=value,
            g=float(at.g.sum()),
            f_error=error,
            x=self._as_asked(X),
            cost=self._spent(),
            converged=error <= max(tol, ROUNDING * abs(value)),
        )

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        alpha = self._alpha(found.lam)
        return self._as_asked(np.stack([self._x(f, alpha) for f in self._all(alpha)])), Cost()

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """By the same matrices, where the folds have all rows of the model."""
        whole, lam = cast(LinearModel, problem), parts[0].lam
        if not self._covers(whole) or cast(Ridge, whole.penalty).weighted:
            return super()._refit(problem, parts, tol)
        alpha = self._alpha(lam)
        fold = self._fold(len(self.models), alpha)
        inverse = partial(self._inverse, fold, alpha)
        solve, cost = polished(whole, lam, self._x(fold, alpha), inverse)
        return solve, cost + self._spent()

    def _spent(self) -> Cost:
        """All since it was asked last: what decompositions cost, too, whoever had them made."""
        before, self._told = self._told, self.design.ledger.cost
        return self._told - before

    # ---- the decompositions

    @cached_property
    def _sums(self) -> CellMoments:
        return CellMoments(self.work, self.span)

    @cached_property
    def _folds(self) -> dict[tuple[int, bool], Fold]:
        return {}

    def _all(self, alpha: float) -> list[Fold]:
        return [self._fold(k, alpha) for k in range(len(self.models))]

    def _fold(self, k: int, alpha: float) -> Fold:
        """Fold k as well decomposed as α needs it; the last is that of all rows."""
        if (k, False) not in self._folds:
            self._folds[k, False] = self._by_gram(k)
        fold = self._folds[k, False]
        if fold.rounding(alpha) <= GRAM_ERROR or not self._at_hand:
            return fold
        return self._by_its_rows(k)

    def _by_its_rows(self, k: int) -> Fold:
        if (k, True) not in self._folds:
            self._folds[k, True] = self._by_rows(k)
        return self._folds[k, True]

    @property
    def _at_hand(self) -> bool:
        """Whether the rows themselves can be decomposed."""
        return self.design.in_memory or self.design.n * self._predictor.features <= DECOMPOSED**2

    def _members(self, k: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        design = self.design
        if k == design.folds:
            everything = np.ones(design.train.shape[1], dtype=bool)
            return everything, ~everything
        return design.train[k], design.test[k]

    def _by_gram(self, k: int) -> Fold:
        train, test = self._members(k)
        own, mean, level = self._sums.trained(train)
        scale = self._scale(k)
        e, V = np.linalg.eigh(own.gram / scale / scale[:, None])
        e, V = np.maximum(e, 0.0), V / scale[:, None]
        self.design.ledger.charge(grams=4.5 * e.size / self.design.n)  # 9r³ operations
        judge, lost = self._judge(test, mean, level, V), ROUNDOFF * float(e[-1])
        return Fold(e, V.T @ own.cross, V, mean, level, own.total, judge, lost)

    def _by_rows(self, k: int) -> Fold:
        """By a pivoted QR factor of the rows and Jacobi rotations of that."""
        train, test = self._members(k)
        A, y, s = self._sums.rows(train)
        mean, level, total = np.zeros(A.shape[1]), np.zeros(y.shape[1]), float(s.sum())
        if self._predictor.Q is not None:
            mean, level = s @ A / total, s @ y / total
        root = np.sqrt(s)[:, None]
        scale = self._scale(k)
        U, sigma, V = (part[..., ::-1] for part in singular(root * (A - mean) / scale))  # as eigh
        V = V / scale[:, None]
        self.design.ledger.charge(grams=10.0)
        judge = self._judge(test, mean, level, V, exactly=True)
        c = sigma[:, None] * (U.T @ (root * (y - level)))
        # Dividing by a column's own scale leaves errors of rounding in every singular value.
        return Fold(sigma**2, c, V, mean, level, total, judge, 0.0)

    def _scale(self, k: int) -> Array:
        """√w of every column, for penalties ½e^λ Σⱼ wⱼxⱼ² of fold k: V is for x, not for √w·x."""
        work = self.work.predictor
        if k == len(self.models):
            return np.ones(work.features)
        weights = cast(Ridge, self.penalties[k]).weights[: work.slopes]
        return np.sqrt(weights.reshape(work.features, -1)[:, 0])

    def _judge(
        self,
        test: npt.NDArray[np.bool_],
        mean: Array,
        level: Array,
        V: Array,
        exactly: bool = False,
    ) -> RowsJudge | MomentsJudge:
        """How the held-out rows see q: by their moments, unless few or asked for all digits."""
        outer, few = self.design.outer, exactly or self._few(test, mean.size)
        if type(outer) is Squared and not few:
            held = self._sums.sum(test).about(mean, level)
            size = float(held.squares.sum())
            return MomentsJudge(V.T @ held.gram @ V, V.T @ held.cross, size, outer.scale)
        A, y, s = self._sums.rows(test)
        return RowsJudge((A - mean) @ V, y - level, s, outer)

    def _few(self, test: npt.NDArray[np.bool_], r: int) -> bool:
        """Whether the held-out rows are fewer than the numbers that would stand for them."""
        return bool(np.any(test)) and int(self.design.counts[test].sum()) <= r

    # ---- solutions

    def _x(self, fold: Fold, alpha: float) -> Array:
        """(W, b) as the model lays them out."""
        return self._sums.solution(fold.V @ fold.at(alpha), fold.mean, fold.level)

    def _inverse(self, fold: Fold, alpha: float, r: Array) -> Array:
        """∇²₁h⁻¹r."""

        def solve(w: Array) -> Array:
            return np.asarray(fold.V @ ((fold.V.T @ w) / (fold.e + alpha)[:, None]))

        return self._sums.inverse(solve, r / self.bend, fold.mean, fold.total)
