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
                  q = c/(e + α), dq/dλ = −αc/(e + α)². The whole box can be looked over, and
                  held-out rows may be judged by any loss.
    BandedRidge   with several, a Cholesky factor of every fold, which serves all targets

Groups of more columns than rows are first written in a basis of the space that the rows span. What
rounding took is put right on the rows: x ← x − H⁻¹∇₁h, f = g − ∇₁g·H⁻¹∇₁h.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.errors import InnerProblemError
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import CHEAP, SPACING, Criterion, Traits, no_gradient
from hoag._criteria.curvature.eigen import DECOMPOSED, GRAM_ERROR, Eigen
from hoag._criteria.moments import CellMoments, FoldMoments, Means
from hoag._criteria.shared import SharedFolds, polished
from hoag._glm.design import RowwiseDesign, Sums
from hoag._glm.groups import by_group, members
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.losses import OuterLoss, Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge
from hoag._glm.rows import BLOCK_ENTRIES
from hoag._linalg import eigen
from hoag._linalg.cholesky import Factor, solved
from hoag._linalg.operator import Inverse

Index = npt.NDArray[np.intp]


class RidgeFolds(SharedFolds[RowwiseDesign]):
    """What any curvature makes of the folds: x as models lay it out, verification, the last fit."""

    @abstractmethod
    def _fit(self, found: Evaluation) -> Array:
        """x of every fold, (K, size)."""

    @abstractmethod
    def _inverses(self, lam: Array) -> list[Inverse]:
        """r ↦ ∇²₁h⁻¹r of every fold, as its model lays x out."""

    @abstractmethod
    def _fit_of_all(self, whole: LinearModel, lam: Array) -> tuple[Array, Inverse]:
        """x of the model on all rows, and that of its ∇²₁h⁻¹."""

    @cached_property
    def cells(self) -> CellMoments:
        return CellMoments(self.work, self.span)

    @cached_property
    def roots(self) -> Array:
        """√w of every fold's penalties ½e^λ Σⱼ wⱼxⱼ² on columns, (K, p)."""
        return np.sqrt(self._of_columns([cast(Ridge, own).weights for own in self.penalties]))

    def _of_columns(self, each: Sequence[Array]) -> Array:
        """One number for every column, alike for all targets, from one for every coefficient."""
        work = self.work.predictor
        return np.stack([own[: work.slopes].reshape(work.features, -1)[:, 0] for own in each])

    def _inverse(self, solve: Inverse, means: Means) -> Inverse:
        """r ↦ ∇²₁h⁻¹r from b ↦ M⁻¹b."""
        return lambda r: self.cells.inverse(solve, r / self.bend, means)

    def _refined(
        self,
        lam: Array,
        inverses: Sequence[Inverse],
        X: Array,
        tol: float,
        deadline: float = np.inf,
        most: float = np.inf,
    ) -> tuple[Array, Sums, Array]:
        """x ← x − H⁻¹∇₁h, on the rows, while that moves f by more than `tol` and ever less.

        X, the sums there, and by how much the next step would move the f of every fold.
        """
        penalty, last, k = self._penalty(lam), np.inf, 0
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
        before, X = self._ledger.cost, self._fit(found)
        X, at, change = self._refined(found.lam, self._inverses(found.lam), X, tol, deadline)
        error = float(np.sum(np.abs(change)))
        return self._closed(found, before, X, at, at.g + change, error, tol)

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return found.x if found.x is not None else self._as_asked(self._fit(found)), Cost()

    def refitted(self, whole: LinearModel, lam: Array) -> tuple[Solve, Cost] | None:
        """X(λ) of the model on all rows, by the same squares; None where the folds lack some."""
        if not self._covers(whole):
            return None
        before = self._ledger.cost
        x, inverse = self._fit_of_all(whole, lam)
        spent = self._ledger.cost - before
        solve, cost = polished(whole, lam, x, inverse)
        return solve, cost + spent


# ---------------------------------------------------------------- one penalty


class HeldMoments(NamedTuple):
    """Σᵢ s′ᵢ scale (yᵢ − ȳ − (aᵢ − ā)ᵀUq)² = scale (c − 2v·q + qᵀVq), V and v in the basis U."""

    V: Array
    v: Array
    c: float
    scale: float

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        """The loss, its slope along dq, and the size of the numbers that it is a difference of.

        q and dq of shape (r, targets, L), for L penalties; each answer of shape (L,).
        """
        v = self.v[:, :, None]
        half = (self.V @ q.reshape(len(q), -1)).reshape(q.shape) - v
        value = self.c + np.sum(q * (half - v), axis=(0, 1))
        slope = 2 * np.sum(dq * half, axis=(0, 1))
        return self.scale * value, self.scale * slope, np.full(value.size, self.scale * self.c)


class HeldRows(NamedTuple):
    """Σᵢ s′ᵢ loss′(yᵢ − ȳ, (Zq)ᵢ) with Z = (A′ − 1āᵀ)U."""

    Z: Array
    y: Array
    weights: Array
    outer: OuterLoss

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        _, targets, many = q.shape
        z, dz = (
            (self.Z @ part.reshape(len(part), -1)).reshape(-1, targets, many).transpose(0, 2, 1)
            for part in (q, dq)
        )
        shape = (-1, targets) if targets > 1 else (-1,)
        y = np.repeat(self.y, many, axis=0).reshape(shape)
        at = self.outer.at(y, z.reshape(shape))
        value = self.weights @ at.value.reshape(-1, many)
        slope = np.einsum("i,ilt,ilt->l", self.weights, at.slope.reshape(z.shape), dz)
        return value, slope, np.abs(value)


class Fold(NamedTuple):
    """One fold decomposed: e and U, c = UᵀB, and how its held-out rows see q."""

    eigen: Eigen
    c: Array
    means: Means
    held: HeldMoments | HeldRows

    def at(self, alphas: Array) -> tuple[Array, Array, Array]:
        """f and df/dλ for many α, and the size of what f is a difference of."""
        shrunk = self.eigen.e[:, None, None] + alphas
        q = self.c[:, :, None] / shrunk
        return self.held.at(q, -alphas * q / shrunk)

    def slopes(self, alpha: float) -> Array:
        """W = Uq."""
        return np.asarray(self.eigen.V @ (self.c / (self.eigen.e + alpha)[:, None]))


class Spectral(RidgeFolds):
    """The folds of ridge regression with one penalty, by decomposition."""

    _owed = Cost()  # of decompositions that no evaluation asked for

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
        before = self._ledger.cost
        cheap = self.design.n * self._predictor.features**2 <= CHEAP or bool(self.span.wide)
        found = np.inf
        for k in range(len(self.models)):
            clock.check()
            served = self._fold(k, np.inf).eigen.serves(0.0)
            if not served and not cheap:
                return None
            found = min(found, self._fold(k, 0.0).eigen.least)
        self._owed = self._ledger.cost - before
        return float(np.log(self.bend * found)) + self.shift if np.isfinite(found) else None

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f(λ) and p, exact but for rounding, whatever ε is."""
        return self.values([lam], ask)[0]

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one; with p where it is asked for."""
        before = self._ledger.cost - self._owed
        alphas = np.array([self._alpha(lam) for lam in lams])
        f, p, lost = np.zeros((3, alphas.size))
        for k in range(len(self.models)):
            clock.check()
            fold = self._fold(k, np.inf)
            value, slope, size = fold.at(alphas)
            error = ROUNDING * size + fold.eigen.rounding(alphas) * np.abs(value)
            rough = error > GRAM_ERROR * np.abs(value)
            if np.any(rough) and self._at_hand:
                value[rough], slope[rough], size[rough] = self._by_rows(k).at(alphas[rough])
                error[rough] = ROUNDING * size[rough]
            f, p, lost = f + value, p + slope, lost + error
        spent, self._owed = self._ledger.cost - before, Cost()
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

    def _fit(self, found: Evaluation) -> Array:
        alpha = self._alpha(found.lam)
        folds = [self._fold(k, alpha) for k in range(len(self.models))]
        return np.stack([self.cells.solution(fold.slopes(alpha), fold.means) for fold in folds])

    def _inverses(self, lam: Array) -> list[Inverse]:
        alpha = self._alpha(lam)
        folds = [self._fold(k, alpha) for k in range(len(self.models))]
        return [self._inverse(partial(fold.eigen.solve, alpha), fold.means) for fold in folds]

    def _covers(self, whole: LinearModel) -> bool:
        return super()._covers(whole) and not cast(Ridge, whole.penalty).weighted

    def _fit_of_all(self, whole: LinearModel, lam: Array) -> tuple[Array, Inverse]:
        alpha = self._alpha(lam)
        fold = self._fold(len(self.models), alpha)
        inverse = self._inverse(partial(fold.eigen.solve, alpha), fold.means)
        return self.cells.solution(fold.slopes(alpha), fold.means), inverse

    # ---- the decompositions

    @cached_property
    def _folds(self) -> dict[tuple[int, bool], Fold]:
        return {}

    def _fold(self, k: int, alpha: float) -> Fold:
        """Fold k as well decomposed as α needs it; the last is that of all rows."""
        if (k, False) not in self._folds:
            self._folds[k, False] = self._of_gram(k)
        fold = self._folds[k, False]
        return fold if fold.eigen.serves(alpha) or not self._at_hand else self._by_rows(k)

    def _by_rows(self, k: int) -> Fold:
        if (k, True) not in self._folds:
            self._folds[k, True] = self._of_rows(k)
        return self._folds[k, True]

    @property
    def _at_hand(self) -> bool:
        """Whether the rows themselves can be decomposed."""
        return self.design.in_memory or self.design.n * self._predictor.features <= DECOMPOSED**2

    def _cells_of(self, k: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        design = self.design
        if k == design.folds:
            everything = np.ones(design.train.shape[1], dtype=bool)
            return everything, ~everything
        return design.train[k], design.test[k]

    def _of_gram(self, k: int) -> Fold:
        train, test = self._cells_of(k)
        own, means = self.cells.trained(train)
        root = self._root(k)
        known = Eigen.of_gram(own.gram / root / root[:, None])
        known = known._replace(V=known.V / root[:, None])
        self._ledger.charge(grams=4.5 * root.size / self.design.n)  # 9r³ operations
        few = bool(np.any(test)) and int(self.design.counts[test].sum()) <= root.size
        return Fold(known, known.V.T @ own.cross, means, self._held(test, means, known.V, few))

    def _of_rows(self, k: int) -> Fold:
        train, test = self._cells_of(k)
        A, y, s = self.cells.rows(train)
        means = Means(np.zeros(A.shape[1]), np.zeros(y.shape[1]), float(s.sum()))
        if self._predictor.Q is not None:
            means = Means(s @ A / means.total, s @ y / means.total, means.total)
        scale, root = np.sqrt(s)[:, None], self._root(k)
        U, sigma, known = Eigen.of_rows(scale * (A - means.a) / root)
        # Dividing by a column's own root leaves errors of rounding in every singular value.
        known = known._replace(V=known.V / root[:, None])
        self._ledger.charge(grams=10.0)
        c = sigma[:, None] * (U.T @ (scale * (y - means.y)))
        return Fold(known, c, means, self._held(test, means, known.V, True))

    def _root(self, k: int) -> Array:
        """√w of every column of fold k: V is for x, not for √w·x."""
        all_rows = k == len(self.models)
        return np.ones(self.work.predictor.features) if all_rows else self.roots[k]

    def _held(
        self, test: npt.NDArray[np.bool_], means: Means, U: Array, by_rows: bool
    ) -> HeldRows | HeldMoments:
        """Held-out rows by their moments, but where these would be more numbers, or lose digits."""
        outer = self.design.outer
        if type(outer) is Squared and not by_rows:
            held = self.cells.sum(test).about(means.a, means.y)
            return HeldMoments(
                U.T @ held.gram @ U, U.T @ held.cross, float(held.squares.sum()), outer.scale
            )
        A, y, s = self.cells.rows(test)
        return HeldRows((A - means.a) @ U, y - means.y, s, outer)


# ---------------------------------------------------------------- several penalties


@dataclass(frozen=True, eq=False)
class Warm:
    """x of every fold, (K, size)."""

    X: Array


class Fitted(NamedTuple):
    """W of every fold, (K, p, T), with g and ∇g along it, and x where the rows were read again."""

    W: Array
    g: Array
    g_w: Array
    lost: float  # what rounding may have done to f
    X: Array | None = None


class BandedRidge(RidgeFolds):
    """The folds of ridge regression with penalties for groups of columns, alike for all targets.

    It also makes the criteria of some of its targets, whose penalties may be theirs alone; they
    share the squares of columns, and factors where they are at the same λ (`SharedTargets`).

    plain    makes another criterion of the same f for some models
    """

    max_steps = 10  # of refinement in an evaluation, each of which gains some digits

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: RowwiseDesign,
        plain: Callable[[Sequence[LinearModel]], Criterion],
        several: bool = True,
    ) -> None:
        super().__init__(models, design, partial(plain, models), several)
        self._plain_of, self._told = plain, Cost()

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
    def moments(self) -> FoldMoments:
        return FoldMoments.of(self.cells)

    @property
    def outer_scale(self) -> float:
        """g is so many times the squared error."""
        outer = self.design.outer
        assert isinstance(outer, Squared)
        return outer.scale

    def alpha(self, lam: Array) -> Array:
        """What is added to the diagonal of every fold's G, (K, p)."""
        return self._of_columns([cast(Ridge, own).alpha(lam) for own in self.penalties]) / self.bend

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before, alpha = self._ledger.cost, self.alpha(lam)
        factors = self.moments.factors(alpha, lam)
        fit = self._fitted(lam, factors)
        p, error, hessian, tangents = no_gradient(lam), np.nan, None, None
        if ask.gradient:
            Q = solved(factors, fit.g_w)
            pulls = np.sum(alpha[:, :, None] * fit.W * Q, axis=(0, 2))
            p = -by_group(self.groups, pulls, lam.size)
            error = fit.lost + ROUNDING * float(np.abs(pulls).sum())
            if ask.hessian:
                hessian, t = self._hessian(alpha, factors, fit.W, Q, p)
                tangents = None if t is None else self._as_asked(t)
        return Evaluation(
            lam,
            float(fit.g.sum()),
            p,
            f_error=fit.lost,
            error=error,
            warm=Warm(fit.X if fit.X is not None else self._laid_out(fit.W)),
            cost=self._ledger.cost - before,
            hessian=hessian,
            tangents=tangents,
            folds=fit.g,
        )

    def _fitted(self, lam: Array, factors: Sequence[Factor]) -> Fitted:
        """By the moments, or where these lose too many digits by the rows."""
        known, scale = self.moments, self.outer_scale
        W, squares, half = known.fitted(factors)
        g = scale * squares
        share = max(ROUNDOFF / factor.pivot for factor in factors)
        lost = scale * ROUNDING * float(known.c.sum()) + share * float(np.abs(g).sum())
        if lost <= GRAM_ERROR * float(g.sum()):
            return Fitted(W, g.sum(axis=1), 2 * scale * half, lost)
        start, inverses = self._laid_out(W), self._by(factors)
        X, at, change = self._refined(lam, inverses, start, 0.0, most=self.max_steps)
        pairs = zip(at.g_x, known.means, strict=True)
        g_w = np.stack([self.cells.reduced(r, means)[0] for r, means in pairs])
        lost = float(np.abs(change).sum()) + ROUNDING * float(np.abs(at.g).sum())
        return Fitted(self.cells.slopes(X), at.g, g_w, lost, X)

    def _hessian(
        self, alpha: Array, factors: Sequence[Factor], W: Array, Q: Array, p: Array
    ) -> tuple[Array, list[Array] | None]:
        """∇²f, over some targets at a time; and dx/dλ of every fold, where all are one part."""
        (folds, features, targets), s, known = W.shape, p.size, self.moments
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
        mean = np.stack([means.a for means in self.moments.means]) + self.cells.centre[0]
        level = -(mean[:, None, :] @ t).reshape(len(t), -1, s)
        return list(np.concatenate([slopes, Q.T @ level], axis=1))

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """f at every λ′ that differs in one λⱼ, exactly, (s, L)."""
        before, lam, W = self._ledger.cost, found.lam, self.cells.slopes(found.warm.X)
        factors = self.moments.factors(self.alpha(lam), lam)
        changes = self._changes(lam, places)
        squares = self.moments.along(factors, W, self.groups, changes, self.roots)
        return self.outer_scale * squares[0], self._ledger.cost - before

    def _changes(self, lam: Array, places: Array) -> Array:
        """What is added to α of each group where its λ moves to other places, (s, L)."""
        level = np.exp(lam - self.shift) / self.bend
        return np.asarray(level[:, None] * np.expm1(places - lam[:, None]))

    def _laid_out(self, W: Array) -> Array:
        return solved([partial(self.cells.solution, means=own) for own in self.moments.means], W)

    def _fit(self, found: Evaluation) -> Array:
        return np.asarray(found.warm.X)

    def _inverses(self, lam: Array) -> list[Inverse]:
        return self._by(self.moments.factors(self.alpha(lam), lam))

    def _by(self, factors: Sequence[Factor]) -> list[Inverse]:
        return [self._inverse(*own) for own in zip(factors, self.moments.means, strict=True)]

    def refitted(self, whole: LinearModel, lam: Array) -> tuple[Solve, Cost] | None:
        if self._covers(whole):
            return super().refitted(whole, lam)
        design = InMemoryDesign.of([whole])
        if design is None:
            return None
        return BandedRidge([whole], design, self._plain_of, several=False).refitted(whole, lam)

    def _fit_of_all(self, whole: LinearModel, lam: Array) -> tuple[Array, Inverse]:
        own, means = self.cells.trained(np.ones(self.design.train.shape[1], dtype=bool))
        penalty = cast(Ridge, self.span.penalty(whole))
        alpha = self._of_columns([penalty.alpha(lam)])[0] / self.bend
        (factor,) = self._factors((own.gram + np.diag(alpha))[None], lam)
        return self.cells.solution(factor(own.cross), means), self._inverse(factor, means)

    # ---- some of the targets

    def of_targets(self, targets: Index) -> BandedRidge:
        models = [model.of_targets(targets) for model in self.models]
        part = BandedRidge(
            models, self.design.of_targets(targets), self._plain_of, several=self.several
        )
        part.span = self.span
        part.moments = self.moments.only(targets, part.work)
        part.cells = part.moments.cells
        return part

    @cached_property
    def least(self) -> float | None:
        """log of the least curvature in any direction; None where squares do not show it."""
        e = eigen.eigenvalues(self.moments.G)
        least = float(e[:, 0].min())
        if least <= ROUNDING * float(e.max()):
            return None
        return float(np.log(self.bend * least)) + self.shift

    def values_alike(self, targets: Index, lams: Sequence[float]) -> tuple[Array, Cost]:
        part, values = self.of_targets(targets), np.full((targets.size, len(lams)), np.inf)
        before, self._told = self._told, self._ledger.cost
        for j, lam in enumerate(lams):
            alike = np.full(part.lam0.size, lam)
            try:
                factors = part.moments.factors(part.alpha(alike), alike)
            except InnerProblemError:
                continue  # too weak for a factor
            values[:, j] = part.outer_scale * part.moments.fitted(factors)[1].sum(axis=0)
        # with that of forming the squares, if nobody has been told of it
        return values, part._ledger.cost + (self._told - before)

    def profiles_alike(
        self, sets: Sequence[Index], lam: Array, places: Array
    ) -> tuple[Array | None, Cost]:
        """By one factor, inverse and decomposition of the axes."""
        first, every = self.of_targets(sets[0]), self.of_targets(np.concatenate(sets)).moments
        ends = np.cumsum([0, *(own.size for own in sets)])
        parts = [slice(*pair) for pair in pairwise(ends)]
        try:
            factors = every.factors(first.alpha(lam), lam)
        except InnerProblemError:
            return None, Cost()
        W, changes = every.fitted(factors)[0], first._changes(lam, places)
        squares = every.along(factors, W, first.groups, changes, first.roots, parts)
        return first.outer_scale * squares, every.cells.design.ledger.cost

    def joined(self, sets: Sequence[Index], parts: Sequence[Array]) -> Array:
        design = self._predictor
        W, b = np.zeros((design.features, design.outputs)), np.zeros(design.outputs)
        for targets, x in zip(sets, parts, strict=True):
            slopes = design.features * targets.size
            W[:, targets] = x[:slopes].reshape(design.features, -1)
            b[targets] = x[slopes:] if design.Q is not None else 0.0
        return W.ravel() if design.Q is None else np.concatenate([W.ravel(), b])
