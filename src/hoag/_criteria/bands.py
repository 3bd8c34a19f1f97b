"""Ridge regression with several penalties, for one target or many: one small factor a fold.

With G and B the squares and products of a fold's training rows about their means, and V, v and c
those of its held-out rows about the same,

    W = M⁻¹B,   M = G + diag(α),   α = e^λ by groups of columns,   one column of W for each target
    f = Σ_k c − 2 v·W + W·VW,   Q = 2M⁻¹(VW − v),   fⱼ = −αⱼ Wⱼ·Qⱼ

where Wⱼ are the rows of W that λⱼ penalises. The factor of M serves all targets, the rows are read
once, and what is computed is exact but for rounding: where a matrix, or the difference of squares
that is f, loses too many digits, the rows are read again and W is corrected.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.base import SPACING, Traits, no_gradient
from hoag._criteria.moments import CellMoments
from hoag._criteria.shared import SharedFolds, polished
from hoag._criteria.spectral import GRAM_ERROR
from hoag._glm.design import RowwiseDesign, Sums
from hoag._glm.groups import by_group, members
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge
from hoag._glm.rows import BLOCK_ENTRIES
from hoag._glm.span import Span
from hoag._linalg.cholesky import Factor, factors, solved
from hoag.problems import Problem


@dataclass(frozen=True, eq=False)
class Squares:
    """The moments of all folds: of training rows about their means, of held-out rows about these.

    Products of columns, G and V, (K, p, p), are there once, however many targets there are.
    """

    sums: CellMoments
    G: Array
    V: Array
    B: Array  # (K, p, T)
    v: Array  # (K, p, T)
    c: Array  # (K, T)
    mean: Array  # (K, p)
    level: Array  # (K, T)
    total: Array  # (K,)

    @staticmethod
    def of(design: RowwiseDesign, span: Span) -> Squares:
        """Of rows written in a basis."""
        sums = CellMoments(design, span)
        trained = [sums.trained(members) for members in design.train]
        tested = [
            sums.sum(members).about(mean, level)
            for members, (_, mean, level) in zip(design.test, trained, strict=True)
        ]
        return Squares(
            sums,
            np.stack([own.gram for own, _, _ in trained]),
            np.stack([held.gram for held in tested]),
            np.stack([own.cross for own, _, _ in trained]),
            np.stack([held.cross for held in tested]),
            np.stack([held.squares for held in tested]),
            np.stack([mean for _, mean, _ in trained]),
            np.stack([level for _, _, level in trained]),
            np.array([own.total for own, _, _ in trained]),
        )

    def only(self, targets: npt.NDArray[np.intp], design: RowwiseDesign) -> Squares:
        """For some of the targets, and a design of these."""
        return replace(
            self,
            sums=self.sums.only(targets, design),
            B=self.B[:, :, targets],
            v=self.v[:, :, targets],
            c=self.c[:, targets],
            level=self.level[:, targets],
        )

    def factors(self, alpha: Array, lam: Array) -> list[Factor]:
        """Of G + diag(α), for α of shape (K, p) or (p,)."""
        M = self.G.copy()
        np.einsum("kii->ki", M)[:] += alpha
        self.sums.design.ledger.charge(grams=len(M) * M.shape[-1] / (6.0 * self.sums.design.n))
        return factors(M, lam)

    def fitted(self, factors: Sequence[Factor]) -> tuple[Array, Array, Array]:
        """W, the squared error of every fold and target, (K, T), and half its gradient along W."""
        W = solved(factors, self.B)
        half = self.V @ W - self.v
        self.charge(4 * W.shape[2])
        return W, self.c + np.sum(W * (half - self.v), axis=1), half

    def along(
        self,
        factors: Sequence[Factor],
        W: Array,
        groups: npt.NDArray[np.intp],
        changes: Array,
        roots: Array,
        sets: Sequence[slice] = (slice(None),),
    ) -> Array:
        """The squared error of sets of targets, d·r² added to α of group j alone, (sets, s, L).

        With R the columns of diag(r) of group j, r of every fold in `roots`, (K, p), C = M⁻¹R and
        RᵀC = UΛUᵀ, that is at W − CU(d/(1 + dΛ))UᵀRᵀW: one block of back-substitutions for all
        places of an axis, and for all targets. Changes, (s, L), that are nan are not asked for.
        """
        finite = np.isfinite(changes)
        asked = {j: np.flatnonzero(groups == j) for j in np.flatnonzero(np.any(finite, axis=1))}
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *asked.values()])
        picks = np.eye(len(groups))[:, columns]
        ends = np.cumsum([0, *(own.size for own in asked.values())])
        total = np.zeros((len(sets), *changes.shape))
        total[:, ~finite] = np.nan
        each = zip(factors, W, self.V, self.v, self.c, roots, strict=True)
        for factor, w, V, v, c, root in each:
            clock.check()
            half = V @ w - v
            g = c + np.sum(w * (half - v), axis=0)
            C = factor(picks * root[columns])
            VC, slopes = V @ C, C.T @ half
            for (j, own), first, last in zip(asked.items(), ends, ends[1:], strict=False):
                some, d = slice(first, last), changes[j]
                e, U = np.linalg.eigh(root[own, None] * C[own, some])
                # (own, places): how far each direction moves, in units of UᵀRᵀW
                share = -d / np.maximum(1.0 + d * e[:, None], ROUNDING)
                y, form = U.T @ (root[own, None] * w[own]), U.T @ (C[:, some].T @ VC[:, some]) @ U
                slope = (U.T @ slopes[some]) * y
                for k, part in enumerate(sets):
                    moved = (form * (y[:, part] @ y[:, part].T)) @ share
                    moved += 2 * slope[:, part].sum(axis=1, keepdims=True)
                    total[k, j] += g[part].sum() + np.sum(share * moved, axis=0)
        self.charge(2 * columns.size + 2 * len(sets) * finite.sum())
        return total

    def charge(self, columns: float) -> None:
        """So many products of columns with matrices of every fold, in Gram matrices."""
        design = self.sums.design
        design.ledger.charge(grams=columns * design.folds / (2.0 * design.n))


class Fitted(NamedTuple):
    """W of every fold, (K, p, T), with g and ∇g along it, and x where the rows were read again."""

    W: Array
    g: Array
    g_w: Array
    lost: float  # what rounding may have done to f
    X: Array | None = None


@storable
class Warm(NamedTuple):
    X: Array


class Bands(SharedFolds[RowwiseDesign]):
    """The folds of ridge regression with penalties for groups of columns, alike for all targets."""

    max_steps = 10  # of refinement, each of which gains some digits

    @property
    def traits(self) -> Traits:
        return Traits(
            scan_spacing=SPACING, has_hessian=True, exact=True, blocks=np.arange(self.lam0.size)
        )

    @cached_property
    def groups(self) -> npt.NDArray[np.intp]:
        """The group of each column; −1 where no λ reaches it."""
        return np.asarray(self.models[0].groups[self.span.alike, 0])

    @cached_property
    def squares(self) -> Squares:
        return Squares.of(self.work, self.span)

    @property
    def outer_scale(self) -> float:
        """g is so many times the squared error."""
        outer = self.design.outer
        assert isinstance(outer, Squared)
        return outer.scale

    def alpha(self, lam: Array) -> Array:
        """What is added to the diagonal of every fold's G, (K, p)."""
        return self._of_columns([cast(Ridge, own).alpha(lam) for own in self.penalties]) / self.bend

    @property
    def roots(self) -> Array:
        """√w of every fold's penalties on columns, (K, p)."""
        return np.sqrt(self._of_columns([cast(Ridge, own).weights for own in self.penalties]))

    def _of_columns(self, each: Sequence[Array]) -> Array:
        """One number for every column, alike for all targets, from one for every coefficient."""
        work = self.work.predictor
        return np.stack([own[: work.slopes].reshape(work.features, -1)[:, 0] for own in each])

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before, alpha = self._ledger.cost, self.alpha(lam)
        factors = self.squares.factors(alpha, lam)
        fit = self._fitted(lam, factors)
        value = float(fit.g.sum())
        p, error, hessian, tangents = no_gradient(lam), np.nan, None, None
        if ask.gradient:
            Q = solved(factors, fit.g_w)
            pulls = np.sum(alpha[:, :, None] * fit.W * Q, axis=(0, 2))
            p = -by_group(self.groups, pulls, lam.size)
            error = fit.lost + ROUNDING * float(np.abs(pulls).sum())
            if ask.hessian:
                hessian, t = self._hessian(alpha, factors, fit.W, Q, p)
                tangents = None if t is None else self._as_asked(t)
        X = fit.X if fit.X is not None else self._laid_out(fit.W)
        return Evaluation(
            lam,
            value,
            p,
            f_error=fit.lost,
            error=error,
            warm=Warm(X),
            cost=self._ledger.cost - before,
            hessian=hessian,
            tangents=tangents,
            folds=fit.g,
        )

    def _fitted(self, lam: Array, factors: Sequence[Factor]) -> Fitted:
        """By the moments, or where these lose too many digits by the rows."""
        known, scale = self.squares, self.outer_scale
        W, squares, half = known.fitted(factors)
        g = scale * squares
        share = max(ROUNDOFF / factor.pivot for factor in factors)
        lost = scale * ROUNDING * float(known.c.sum()) + share * float(np.abs(g).sum())
        if lost <= GRAM_ERROR * float(g.sum()):
            return Fitted(W, g.sum(axis=1), 2 * scale * half, lost)
        X, at, left = self._refined(lam, factors, self._laid_out(W), 0.0)
        pairs = zip(at.g_x, known.mean, strict=True)
        g_w = np.stack([known.sums.reduced(r, mean)[0] for r, mean in pairs])
        lost = left + ROUNDING * float(np.abs(at.g).sum())
        return Fitted(self._slopes(X), at.g, g_w, lost, X)

    def _refined(
        self, lam: Array, factors: Sequence[Factor], X: Array, tol: float, deadline: float = np.inf
    ) -> tuple[Array, Sums, float]:
        """x ← x − H⁻¹∇₁h, on the rows, while that moves f by more than `tol` and ever less."""
        penalty, last, known = self._penalty(lam), np.inf, self.squares
        for _ in range(self.max_steps):
            clock.check()
            at = self.design.sums(X)
            r = (at.gradient + penalty.apply(X)) / self.bend
            each = zip(factors, r, known.mean, known.total, strict=True)
            step = -np.stack([known.sums.inverse(*own) for own in each])
            left = float(np.sum(np.abs(np.sum(at.g_x * step, axis=1))))
            if left <= tol or left > 0.5 * last or time.perf_counter() > deadline:
                break
            X, last = X + step, left
        return X, at, left

    def _hessian(
        self, alpha: Array, factors: Sequence[Factor], W: Array, Q: Array, p: Array
    ) -> tuple[Array, list[Array] | None]:
        """fᵢⱼ = Σ_k 2 tᵢ·Vtⱼ − Eᵢⱼ − Eⱼᵢ + δᵢⱼ pᵢ,  tⱼ = dW/dλⱼ = −M⁻¹αⱼWⱼ,  Eᵢⱼ = αᵢ Qᵢ·(tⱼ)ᵢ.

        Summed over targets, some of them at a time; and dx/dλ of every fold, where all targets are
        one such part.
        """
        (folds, features, targets), s, known = W.shape, p.size, self.squares
        total, scale, picks = np.diag(p), self.outer_scale, members(self.groups, p.size)
        some = max(1, int(BLOCK_ENTRIES // (features * s)))
        for first in range(0, targets, some):
            clock.check()
            part = slice(first, first + some)
            w, q = (alpha[:, :, None] * own[:, :, part] for own in (W, Q))
            pulls = (w[:, :, :, None] * picks[:, None, :]).reshape(folds, features, -1)
            t = -solved(factors, pulls)
            Vt = (known.V @ t).reshape(-1, s)
            pulled = q[:, :, :, None] * t.reshape(folds, features, -1, s)
            E = picks.T @ pulled.sum(axis=(0, 2))
            total += 2 * scale * (t.reshape(-1, s).T @ Vt) - E - E.T
        known.charge(4 * s * targets)
        return 0.5 * (total + total.T), self._moved(t, s) if some >= targets else None

    def _moved(self, t: Array, s: int) -> list[Array]:
        """dx/dλ of every fold as its model lays x out, (size, s), from dW/dλ, (K, p, T·s)."""
        slopes, Q = self.span.lifted(t).reshape(len(t), -1, s), self._predictor.Q
        if Q is None:
            return list(slopes)
        mean = self.squares.mean + self.squares.sums.centre[0]
        level = -(mean[:, None, :] @ t).reshape(len(t), -1, s)
        return list(np.concatenate([slopes, Q.T @ level], axis=1))

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """f at every λ′ that differs in one λⱼ, exactly, (s, L)."""
        before, lam, W = self._ledger.cost, found.lam, self._slopes(found.warm.X)
        factors = self.squares.factors(self.alpha(lam), lam)
        changes = self.changes(lam, places)
        squares = self.squares.along(factors, W, self.groups, changes, self.roots)
        return self.outer_scale * squares[0], self._ledger.cost - before

    def changes(self, lam: Array, places: Array) -> Array:
        """What is added to α of each group where its λ moves to other places, (s, L)."""
        level = np.exp(lam - self.shift) / self.bend
        return np.asarray(level[:, None] * np.expm1(places - lam[:, None]))

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows themselves; while f = g − ∇₁g·H⁻¹∇₁h is off by `tol`, corrected."""
        before, alpha = self._ledger.cost, self.alpha(found.lam)
        factors = self.squares.factors(alpha, found.lam)
        X, at, left = self._refined(found.lam, factors, found.warm.X, tol, deadline)
        return self._closed(found, before, X, at, at.g, left, tol)

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """By the squares of all rows."""
        whole, lam = cast(LinearModel, problem), parts[0].lam
        if not self._covers(whole):
            design = whole.folded([whole])
            if design is None:
                return super()._refit(problem, parts, tol)
            return Bands([whole], design, self._plain, several=False)._refit(whole, parts, tol)
        before, sums = self._ledger.cost, self.squares.sums
        own, mean, level = sums.trained(np.ones(self.design.train.shape[1], dtype=bool))
        penalty = cast(Ridge, self.span.penalty(whole))
        alpha = self._of_columns([penalty.alpha(lam)])[0] / self.bend
        (factor,) = self._factors((own.gram + np.diag(alpha))[None], lam)
        x, spent = sums.solution(factor(own.cross), mean, level), self._ledger.cost - before

        def inverse(r: Array) -> Array:
            return sums.inverse(factor, r / self.bend, mean, own.total)

        solve, cost = polished(whole, lam, x, inverse)
        return solve, cost + spent

    # ---- layouts

    def _laid_out(self, W: Array) -> Array:
        """x of every fold as its model lays it out, (K, size)."""
        each = zip(W, self.squares.mean, self.squares.level, strict=True)
        return np.stack([self.squares.sums.solution(*own) for own in each])

    def _slopes(self, X: Array) -> Array:
        design = self._predictor
        W = X[:, : design.slopes].reshape(len(X), design.features, design.outputs)
        return self.span.within(W)
