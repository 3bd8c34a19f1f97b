"""K folds of ridge regression, by the sums of squares of their rows.

With G and B the squares and products of a fold's training rows about their means, and V, v and c
those of its held-out rows about the same,

    W = M⁻¹B,   M = G + diag(α),   α = e^λ by groups of columns,   one column of W for each target
    f = Σ_k c − 2 v·W + W·VW,      Q = 2M⁻¹(VW − v),   tⱼ = ∂W/∂λⱼ = −M⁻¹αⱼWⱼ
    fⱼ = −αⱼ Wⱼ·Qⱼ,                fᵢⱼ = Σ_k 2 tᵢ·Vtⱼ − Eᵢⱼ − Eⱼᵢ + δᵢⱼ fᵢ,   Eᵢⱼ = αᵢ Qᵢ·(tⱼ)ᵢ

where Wⱼ are the rows of W that λⱼ penalises: exact but for rounding, with no tolerance to meet. The
rows are read once; the matrices of a training part are those of all rows less the held-out block.
What stands for M⁻¹ is

    Spectral      with one penalty, G = U diag(e) Uᵀ, which is M⁻¹ for every λ: W = Uq with
                  q = c/(e + α), dq/dλ = −αc/(e + α)². The whole box can be scanned, and
                  held-out rows may be judged by any loss.
    BandedRidge   with several, a Cholesky factor of every fold, which serves all targets

Groups of more columns than rows are first written in a basis of the space that the rows span. What
rounding took is put right on the rows: x ← x − H⁻¹∇₁h, f = g − ∇₁g·H⁻¹∇₁h.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import EXACT, ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.affordable import cheap
from hoag._criteria.base import SPACING, Traits, no_gradient
from hoag._criteria.curvature.eigen import GRAM_ERROR, Fold
from hoag._criteria.fits import SharedFolds
from hoag._criteria.moments import CellMoments, FoldSquares, Means
from hoag._glm.design import RowwiseDesign, Sums
from hoag._glm.groups import by_group, members
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, Ridge, of_folds
from hoag._glm.rows import BLOCK_ENTRIES
from hoag._linalg.cholesky import Factor, factors, solved
from hoag._linalg.operator import Inverse
from hoag._linalg.symmetric import eigenvalues
from hoag.problems import Counted, Problem

Index = npt.NDArray[np.intp]


class FoldFit(NamedTuple):
    """One fold at one λ: W = M⁻¹B, (p, T), and b ↦ M⁻¹b."""

    W: Array
    solve: Inverse
    means: Means


class RidgeFolds(SharedFolds[RowwiseDesign]):
    """What any curvature makes of the folds: x as models lay it out, verification, the last fit."""

    @abstractmethod
    def _fits(self, lam: Array) -> list[FoldFit]:
        """That of every fold."""

    @property
    def loss_curvature(self) -> float:
        """loss″: 1 for the usual ½(y − z)²."""
        return 2 * cast(Squared, self.design.loss).scale

    @property
    def shift(self) -> float:
        """λ counts from here, where loss″ is 1."""
        return super().shift + float(np.log(self.loss_curvature))

    @cached_property
    def cells(self) -> CellMoments:
        return CellMoments(self.work, self.span)

    def _roots(self, penalties: Sequence[Penalty]) -> Array:
        """√w of penalties ½e^λ Σⱼ wⱼxⱼ² on columns, (K, p)."""
        return np.sqrt(self._of_columns([cast(Ridge, own).weights for own in penalties]))

    def _of_columns(self, each: Sequence[Array]) -> Array:
        """One number for every column, alike for all targets, from one for every coefficient."""
        work = self.work.predictor
        return np.stack([own[: work.slopes].reshape(work.features, -1)[:, 0] for own in each])

    def _laid_out(self, fit: FoldFit) -> Array:
        return self.cells.solution(fit.W, fit.means)

    def _inverse(self, fit: FoldFit) -> Inverse:
        """r ↦ ∇²₁h⁻¹r, as the model lays x out."""
        return lambda r: self.cells.inverse(fit.solve, r / self.loss_curvature, fit.means)

    def _refined(
        self,
        lam: Array,
        fits: Sequence[FoldFit],
        X: Array,
        tol: float,
        deadline: float = np.inf,
        most: float = np.inf,
    ) -> tuple[Array, Sums, Array]:
        """x ← x − H⁻¹∇₁h, on the rows, while that moves f by more than `tol` and ever less.

        X, the sums there, and by how much the next step would move the f of every fold.
        """
        penalty = of_folds([model.penalty for model in self.models]).at(lam)
        inverses, last, k = list(map(self._inverse, fits)), np.inf, 0
        while True:
            clock.check()
            at = self.design.sums(X)
            step = -solved(inverses, at.gradient + penalty.apply(X))
            change = np.sum(at.g_x * step, axis=1)
            left = float(np.sum(np.abs(change)))
            late = k == most or time.perf_counter() > deadline
            if left <= tol or left > 0.5 * last or late:
                return X, at, change
            X, last, k = X + step, left, k + 1

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows themselves; while f = g − ∇₁g·H⁻¹∇₁h is off by `tol`, corrected."""
        before, fits = self._ledger.cost, self._fits(found.lam)
        X, at, change = self._refined(found.lam, fits, self._start(found, fits), tol, deadline)
        error, folds = float(np.sum(np.abs(change))), at.g + change
        value = float(folds.sum())
        rounding = ROUNDING * abs(value)
        return replace(
            found,
            value=value,
            g=float(at.g.sum()),
            f_error=error + rounding,
            x=self._as_asked(X),
            folds=folds,
            cost=self._ledger.cost - before,
            converged=error <= max(tol, rounding),
        )

    def _start(self, found: Evaluation, fits: Sequence[FoldFit]) -> Array:
        """x of every fold, (K, size), as it was found."""
        if found.x is not None:
            return np.stack(found.x if self.several else [found.x])
        return np.stack([self._laid_out(fit) for fit in fits])

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        return self._as_asked(self._start(found, self._fits(found.lam))), Cost()

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """x by squares, and x ← x − ∇²₁h⁻¹∇₁h on the rows as they are given, while that halves ∇₁h.

        The squares are those of the folds, where they have all rows of the model.
        """
        whole, lam = cast(LinearModel, problem), parts[0].lam
        alone = self._of_all(whole)
        if alone is None:
            return super()._refit(problem, parts, tol)
        before = alone._ledger.cost
        (fit,) = alone._fits(lam)
        x, inverse = alone._laid_out(fit), alone._inverse(fit)
        spent, counted = alone._ledger.cost - before, Counted(whole)
        size = float(np.linalg.norm(counted.at(np.zeros(x.size), lam).h_x))
        residual, k = np.inf, 0
        while True:
            r = counted.at(x, lam).h_x
            last, residual = residual, float(np.linalg.norm(r))
            if residual <= ROUNDING * size or residual > 0.5 * last:
                return Solve(x, residual, k, "precision"), counted.cost + spent
            x, k = x - inverse(r), k + 1

    def _of_all(self, whole: LinearModel) -> Self | None:
        """The same for one fold that trains on all rows of a model; None where there is none."""
        total = whole.train.total_weight
        if abs(float(self.design.weights.sum()) - total) > EXACT * total:
            design = whole.folded([whole])
            return None if design is None else type(self)([whole], design, self._plain, False)
        every = np.ones((1, self.design.train.shape[1]), dtype=bool)
        alone = type(self)([whole], self.design.of_folds(every, ~every), self._plain, False)
        alone.span, alone.cells = self.span, self.cells
        return alone


class Spectral(RidgeFolds):
    """The folds of ridge regression with one penalty, by decomposition."""

    _owed = Cost()  # of decompositions that no evaluation asked for

    def _alpha(self, lam: Array) -> float:
        return float(np.exp(lam[0] - self.shift))

    @property
    def traits(self) -> Traits:
        # A place costs so little that no basin need be missed: q goes from 0 to c/e in 6 units.
        blocks = np.zeros(1, dtype=np.intp)
        return Traits(SPACING / 3, exact=True, batched=True, least=self._least, blocks=blocks)

    @cached_property
    def _least(self) -> float | None:
        """log of the least e of any fold; None where to find it is too much work."""
        before = self._ledger.cost
        few = cheap(self.design.n * self.design.predictor.features**2) or bool(self.span.wide)
        known = all(few or fold.trusts(0.0) for fold in self._folds)
        least = min(fold.least(few) for fold in self._folds) if known else np.inf
        self._owed = self._ledger.cost - before
        return float(np.log(least)) + self.shift if np.isfinite(least) else None

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f(λ) and p, exact but for rounding, whatever ε is."""
        return self.values([lam], ask)[0]

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one; with p where it is asked for."""
        before = self._ledger.cost - self._owed
        alphas = np.array([self._alpha(lam) for lam in lams])
        f, p, lost = np.zeros((3, alphas.size))
        for fold in self._folds:
            clock.check()
            value, slope, size = fold.by_gram.at(alphas)
            error = ROUNDING * size + fold.by_gram.eigen.rounding(alphas) * np.abs(value)
            rough = error > GRAM_ERROR * np.abs(value)
            if np.any(rough) and fold.has_rows:
                value[rough], slope[rough], size[rough] = fold.by_rows.at(alphas[rough])
                error[rough] = ROUNDING * size[rough]
            f, p, lost = f + value, p + slope, lost + error
        spent, self._owed = self._ledger.cost - before, Cost()
        return [
            Evaluation(
                lam,
                float(f[j]),
                p[j : j + 1] if ask.gradient else no_gradient(lam),
                f_error=float(lost[j]),
                error=float(lost[j]) if ask.gradient else np.nan,
                # reads are whole, and the first has asked for them
                cost=Cost(grams=spent.grams / len(lams), reads=0.0 if j else spent.reads),
            )
            for j, lam in enumerate(lams)
        ]

    def _fits(self, lam: Array) -> list[FoldFit]:
        alpha, found = self._alpha(lam), []
        for fold in self._folds:
            clock.check()
            own = fold.at(alpha)
            found.append(FoldFit(own.slopes(alpha), partial(own.eigen.solve, alpha), own.means))
        return found

    @cached_property
    def _folds(self) -> list[Fold]:
        design, roots = self.design, self._roots(self.penalties)
        each = zip(design.train, design.test, roots, strict=True)
        return [Fold(self.cells, design.outer, *own) for own in each]


class BandedFit(NamedTuple):
    """W of every fold, (K, p, T), with g and ∇g along it, and all of x, (K, size)."""

    W: Array
    g: Array
    g_w: Array
    lost: float  # what rounding may have done to f
    X: Array


class BandedRidge(RidgeFolds):
    """The folds of ridge regression with penalties for groups of columns, alike for all targets."""

    max_steps = 10  # of refinement in an evaluation, each of which gains some digits
    _reported = Cost()  # of squares, for all targets

    @property
    def traits(self) -> Traits:
        return Traits(
            scan_spacing=SPACING, has_hessian=True, exact=True, blocks=np.arange(self.lam0.size)
        )

    @cached_property
    def groups(self) -> Index:
        """The group of each column; −1 where no λ reaches it."""
        return np.asarray(self.models[0].groups[self.span.alike, 0])

    @cached_property
    def squares(self) -> list[FoldSquares]:
        design = self.design
        return [self.cells.fold(*own) for own in zip(design.train, design.test, strict=True)]

    @property
    def outer_scale(self) -> float:
        """g is so many times the squared error."""
        return cast(Squared, self.design.outer).scale

    def alpha(self, lam: Array) -> Array:
        """What is added to the diagonal of every fold's G, (K, p)."""
        each = [cast(Ridge, own).alpha(lam) for own in self.penalties]
        return self._of_columns(each) / self.loss_curvature

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        before, alpha = self._ledger.cost, self.alpha(lam)
        factors = self._factors(alpha, lam)
        fit = self._fitted(lam, factors)
        p, error, hessian, tangents = no_gradient(lam), np.nan, None, None
        if ask.gradient:
            Q = solved(factors, fit.g_w)
            slopes = -np.sum(alpha[:, :, None] * fit.W * Q, axis=(0, 2))
            p = by_group(self.groups, slopes, lam.size)
            error = fit.lost + ROUNDING * float(np.abs(slopes).sum())
            if ask.hessian:
                hessian, t = self._hessian(alpha, factors, fit.W, Q, p)
                tangents = None if t is None else self._as_asked(t)
        return Evaluation(
            lam,
            float(fit.g.sum()),
            p,
            f_error=fit.lost,
            error=error,
            x=self._as_asked(fit.X),
            cost=self._ledger.cost - before,
            hessian=hessian,
            tangents=tangents,
            folds=fit.g,
        )

    def _factors(self, alpha: Array, lam: Array) -> list[Factor]:
        """Of M = G + diag(α) of every fold, for p³/3 operations each."""
        M = np.stack([own.G + np.diag(a) for own, a in zip(self.squares, alpha, strict=True)])
        self._ledger.charge(grams=len(M) * M.shape[-1] / (6.0 * self.design.n))
        return factors(M, lam)

    def _charge(self, columns: float) -> None:
        """So many products of columns with matrices of every fold, in Gram matrices."""
        self._ledger.charge(grams=columns * self.design.folds / (2.0 * self.design.n))

    def _fitted(self, lam: Array, factors: Sequence[Factor]) -> BandedFit:
        """By the squares, or where these lose too many digits by the rows."""
        scale, fitted = self.outer_scale, map(FoldSquares.fitted, self.squares, factors)
        W, squares, half = (np.stack(part) for part in zip(*fitted, strict=True))
        self._charge(4 * W.shape[2])
        g, X = scale * squares, np.stack([self._laid_out(fit) for fit in self._by(factors, W)])
        share = max(ROUNDOFF / factor.pivot for factor in factors)
        size = scale * sum(float(own.c.sum()) for own in self.squares)
        lost = ROUNDING * size + share * float(np.abs(g).sum())
        if lost <= GRAM_ERROR * float(g.sum()):
            return BandedFit(W, g.sum(axis=1), 2 * scale * half, lost, X)
        X, at, change = self._refined(lam, self._by(factors, W), X, 0.0, most=self.max_steps)
        each = zip(at.g_x, self.squares, strict=True)
        g_w = np.stack([self.cells.reduced(r, own.means)[0] for r, own in each])
        lost = float(np.abs(change).sum()) + ROUNDING * float(np.abs(at.g).sum())
        return BandedFit(self.cells.slopes(X), at.g, g_w, lost, X)

    def _hessian(
        self, alpha: Array, factors: Sequence[Factor], W: Array, Q: Array, p: Array
    ) -> tuple[Array, list[Array] | None]:
        """∇²f, over some targets at a time; and dx/dλ of every fold, where all are one part."""
        (folds, features, targets), s = W.shape, p.size
        total, scale, picks = np.diag(p), self.outer_scale, members(self.groups, p.size)
        some = max(1, int(BLOCK_ENTRIES // (features * s)))
        for first in range(0, targets, some):
            clock.check()
            part = slice(first, first + some)
            w, q = (alpha[:, :, None] * own[:, :, part] for own in (W, Q))
            columns = (w[:, :, :, None] * picks[:, None, :]).reshape(folds, features, -1)
            t = -solved(factors, columns)
            Vt = np.stack([own.V @ moved for own, moved in zip(self.squares, t, strict=True)])
            Et = q[:, :, :, None] * t.reshape(folds, features, -1, s)
            E = picks.T @ Et.sum(axis=(0, 2))
            total += 2 * scale * (t.reshape(-1, s).T @ Vt.reshape(-1, s)) - E - E.T
        self._charge(4 * s * targets)
        return 0.5 * (total + total.T), self._moved(t, s) if some >= targets else None

    def _moved(self, t: Array, s: int) -> list[Array]:
        """dx/dλ of every fold as its model lays x out, (size, s), from dW/dλ, (K, p, T·s)."""
        each = zip(t.reshape(*t.shape[:2], -1, s), self.squares, strict=True)
        return [
            np.stack([self.cells.tangent(own[:, :, j], known.means) for j in range(s)], axis=1)
            for own, known in each
        ]

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """f at every λ′ that differs in one λⱼ, exactly, (s, L)."""
        before = self._ledger.cost
        return self._along(self, found.lam, places, [slice(None)])[0], self._ledger.cost - before

    def _along(self, first: BandedRidge, lam: Array, places: Array, sets: Sequence[slice]) -> Array:
        """The same for sets of targets, (sets, s, L), with the penalties of `first`."""
        factors = self._factors(first.alpha(lam), lam)
        level, roots = np.exp(lam - self.shift), first._roots(first.penalties)
        changes = level[:, None] * np.expm1(places - lam[:, None])  # of α of each group
        total = np.zeros((len(sets), *changes.shape))
        for own, factor, root in zip(self.squares, factors, roots, strict=True):
            clock.check()
            total += own.along(factor, first.groups, changes, root, sets)
        asked = np.isfinite(changes)
        columns = float(np.any(asked, axis=1)[first.groups[first.groups >= 0]].sum())
        targets = self.design.predictor.outputs
        self._charge(4 * targets + 2 * columns + 2 * len(sets) * float(asked.sum()))
        return self.outer_scale * total

    def _fits(self, lam: Array) -> list[FoldFit]:
        factors = self._factors(self.alpha(lam), lam)
        return self._by(factors, [M(own.B) for own, M in zip(self.squares, factors, strict=True)])

    def _by(self, factors: Sequence[Factor], W: Iterable[Array]) -> list[FoldFit]:
        each = zip(W, factors, self.squares, strict=True)
        return [FoldFit(w, factor, own.means) for w, factor, own in each]

    # ---- some of the targets, see `hoag._criteria.separable`

    def of_targets(self, targets: Index) -> BandedRidge:
        """The squares of columns are formed once for all, who need not have penalties alike."""
        models = [model.of_targets(targets) for model in self.models]
        part = BandedRidge(models, self.design.of_targets(targets), self._plain, self.several)
        part.span = self.span
        part.cells = self.cells.only(targets, part.work)
        part.squares = [own.only(targets) for own in self.squares]
        return part

    @cached_property
    def least(self) -> float | None:
        """log of the least curvature in any direction; None where squares do not show it."""
        e = np.stack([eigenvalues(own.G) for own in self.squares])
        least = float(e[:, 0].min())
        if least <= ROUNDING * float(e.max()):
            return None
        return float(np.log(least)) + self.shift

    def values_alike(self, targets: Index, lams: Sequence[float]) -> tuple[Array, Cost]:
        part, values = self.of_targets(targets), np.full((targets.size, len(lams)), np.inf)
        before, self._reported = self._reported, self._ledger.cost
        for j, lam in enumerate(lams):
            alike = np.full(part.lam0.size, lam)
            try:
                factors = part._factors(part.alpha(alike), alike)
            except SingularProblemError:
                continue  # too weak for a factor
            errors = [own.fitted(M)[1] for own, M in zip(part.squares, factors, strict=True)]
            values[:, j] = part.outer_scale * np.sum(errors, axis=0)
            part._charge(4 * targets.size)
        # with that of forming the squares, if it was not reported yet
        return values, part._ledger.cost + (self._reported - before)

    def profiles_alike(
        self, sets: Sequence[Index], lam: Array, places: Array
    ) -> tuple[Array | None, Cost]:
        """By one factor of each fold, and one decomposition of each axis."""
        every, ends = self.of_targets(np.concatenate(sets)), np.cumsum([own.size for own in sets])
        parts = [slice(end - own.size, end) for own, end in zip(sets, ends, strict=True)]
        try:
            f = every._along(self.of_targets(sets[0]), lam, places, parts)
        except SingularProblemError:
            return None, Cost()
        return f, every._ledger.cost

    def joined(self, sets: Sequence[Index], parts: Sequence[Array]) -> Array:
        design = self.design.predictor
        W, b = np.zeros((design.features, design.outputs)), np.zeros(design.outputs)
        for targets, x in zip(sets, parts, strict=True):
            slopes = design.features * targets.size
            W[:, targets] = x[:slopes].reshape(design.features, -1)
            b[targets] = x[slopes:] if design.Q is not None else 0.0
        return W.ravel() if design.Q is None else np.concatenate([W.ravel(), b])
