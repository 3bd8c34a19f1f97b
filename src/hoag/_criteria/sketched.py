"""The folds of a linear model whose rows are elsewhere and whose coefficients are many.

    x_k ← x_k − P_k⁻¹∇₁h_k,   q_k ← q_k − P_k⁻¹(∇²₁h_k q_k − ∇₁g_k),   f = Σ_k g_k − q_k·∇₁h_k

Gradients, and products with ∇²₁h, are sums over all rows: one read has those of all folds. P stands
for ∇²₁h and is at hand (`stand_in`): the curvature of a sample of the rows, and what earlier reads
have told. Each read then leaves a share of the error; that share is measured, and says how wrong f
and p may be.

λ is looked for on the sample first, as a problem of its own: with the weights that its rows have
anyway, the best penalty is that of all rows but for chance. From the first read on the sample says
how f changes with λ, and from the second on what was read at two λ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from hoag._core import clock
from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria import joint
from hoag._criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag._criteria.shared import SharedFolds
from hoag._criteria.stand_in import Pairs, StandIn
from hoag._glm.blocks import Blocks, Sums
from hoag._glm.far import FarBlocks
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticForm, of_folds

# f on the sample is solved to this share of itself: it says how f changes, not what it is.
ROUGH = joint.ROUGH / 3


@dataclass(frozen=True, eq=False)
class Read:
    """x_k and q_k, what all rows said there, and the steps that follow from it."""

    X: Array
    Q: Array
    at: Sums
    D: Array
    E: Array


@dataclass(frozen=True, eq=False)
class Beside:
    """f and p of all rows at one λ, and how they change from there:

        f(λ + d) ≈ f + p·d + ½ p′d²,   p(λ + d) ≈ p + p′d

    p′ is that between the last two λ that were read. Before there are two, and with several λ, the
    sample says it, by its own f and p, `near`: steeper than all rows where it is overfitted.
    """

    lam: Array
    value: float
    grad: Array
    error: float
    near: Evaluation
    slope: float = np.nan

    @property
    def alone(self) -> bool:
        """Whether p′ is known without the sample."""
        return bool(np.isfinite(self.slope))

    def after(self, last: Beside | None) -> Beside:
        """With p′ between two λ, where there is one λ and p has changed by more than its errors."""
        if last is None or self.grad.size > 1:
            return self
        change, moved = (
            float(self.grad[0] - last.grad[0]),
            float(self.lam[0] - last.lam[0]),
        )
        told = change * moved > 0 and abs(change) > self.error + last.error
        return replace(self, slope=change / moved if told else last.slope)

    def at(self, lam: Array) -> tuple[float, Array]:
        """f and p near by."""
        d = lam - self.lam
        value = self.value + float((self.grad + 0.5 * self.slope * d) @ d)
        return value, self.grad + self.slope * d


@dataclass(frozen=True, eq=False)
class Warm:
    """The sample's own evaluation, the last read, the pairs, and f and p as that read had them.

    `about` is the x about which curvature was last taken.
    """

    near: Evaluation
    read: Read | None = None
    pairs: Pairs = field(default_factory=Pairs)
    beside: Beside | None = None
    about: Array = field(default_factory=lambda: np.zeros(0))


class Sketched(SharedFolds[FarBlocks]):
    """f(λ) and p by reads of all rows; looks, and the way from read to read, by a sample of them.

    near   makes the same folds on the rows at hand, a criterion of its own
    """

    max_reads = 50  # at one λ
    unknown = 0.5  # the share of the error that a read leaves, before that was measured

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: FarBlocks,
        near: Callable[[], Criterion],
        several: bool = True,
    ) -> None:
        super().__init__(models, blocks, near, several)
        self.surrogate = near
        self._known: StandIn | None = None

    @cached_property
    def near(self) -> Criterion:
        return self._plain()

    @cached_property
    def share(self) -> float:
        """Of the weight of all rows, that of those at hand."""
        kept = self.blocks.sample
        return float(kept.weights[kept.labels >= 0].sum() / self.blocks.weights.sum())

    @property
    def traits(self) -> Traits:
        one = self.lam0.size == 1
        looks = SPACING if one else None
        return Traits(scan_spacing=looks, begun=True, blocks=np.arange(self.lam0.size))

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before = self._ledger.cost
        if warm is not None and warm.beside is not None and warm.beside.alone:
            near = warm.near
        else:
            near = self._near(lam, warm, ask.gradient or not ask.free)
        if ask.free:
            value, grad = self._guessed(lam, near, warm)
            found = Evaluation(
                lam,
                value,
                grad if ask.gradient else no_gradient(lam),
                f_error=np.nan,
                error=np.nan,
                warm=Warm(near) if warm is None else replace(warm, near=near),
            )
        else:
            found = self._read(lam, ask, near, warm)
        return replace(found, cost=self._ledger.cost - before)

    def _near(self, lam: Array, warm: Warm | None, gradient: bool) -> Evaluation:
        """The sample's f at λ; its passes count by the share that the sample is of all rows."""
        start = None if warm is None else warm.near.warm
        size = np.inf if warm is None else abs(warm.near.value)
        eps = ROUGH * (size if np.isfinite(size) else 1.0)
        found = self.near.evaluate(lam, Ask(eps, gradient=gradient), start)
        self._charged(found.cost)
        return found

    def _guessed(self, lam: Array, near: Evaluation, warm: Warm | None) -> tuple[float, Array]:
        """f and p from what all rows said at other λ; from the sample's while that is needed."""
        share = self.share
        if warm is None or warm.beside is None:
            return near.value / share, near.grad / share
        known = warm.beside
        if known.alone:
            return known.at(lam)
        value = known.value + (near.value - known.near.value) / share
        return value, known.grad + (near.grad - known.near.grad) / share

    def _charged(self, cost: Cost) -> None:
        share = self.share
        self._ledger.charge(
            passes=share * cost.passes, held_out=share * cost.held_out, grams=share * cost.grams
        )

    # ---- reads

    def _read(self, lam: Array, ask: Ask, near: Evaluation, warm: Warm | None) -> Evaluation:
        """Reads until the errors of f and p are below ε."""
        penalty, K = self._penalty(lam), self.blocks.folds
        if warm is None or warm.read is None:
            solved, cost = self.near.solution(near)
            self._charged(cost)
            X, pairs = np.stack(solved if self.several else [solved]), Pairs()
            about = X.mean(axis=0)
            X = np.concatenate([X, about[None]])
            stand_in = self._stand_in(about)
            Q = stand_in.solve(self._few.sums(X).g_x, penalty)
            reads = self._reads(penalty, stand_in, pairs, X, Q)
        else:  # what the last read says of this λ
            last, pairs = warm.read, warm.pairs
            stand_in = self._stand_in(last.X.mean(axis=0))
            steps = _steps(penalty, stand_in, pairs, last.X, last.Q, last.at)
            last = Read(last.X, last.Q, last.at, *steps)
            X, Q = last.X + last.D, last.Q + last.E
            reads = self._reads(penalty, stand_in, pairs, X, Q, last)
        for read, pairs, stand_in, share in reads:  # noqa: B007
            r, s = _residuals(penalty, read.X, read.Q, read.at)
            folds, off = _values(r, s, read)
            value, left = float(folds.sum()), np.maximum(-np.sum(r * read.D, axis=1), 0.0)
            f_error = float(np.sum(share * np.abs(off) + left))
            p, error = _slope(penalty, read, share)
            good = f_error <= ask.eps and (not ask.gradient or error <= ask.eps)
            if good or float(left.sum()) <= ROUNDING**2 * abs(value):
                break
        rounding = ROUNDING * abs(value)
        beside = Beside(lam, value, p, error, near.light())
        beside = beside.after(None if warm is None else warm.beside)
        return Evaluation(
            lam,
            value,
            p if ask.gradient else no_gradient(lam),
            g=float(read.at.g.sum()),
            f_error=f_error + rounding,
            error=error + rounding if ask.gradient else np.nan,
            warm=Warm(near, read, pairs, beside, stand_in.about),
            converged=good,
            folds=folds[:K],
        )

    def _reads(
        self,
        penalty: QuadraticForm,
        stand_in: StandIn,
        pairs: Pairs,
        X: Array,
        Q: Array,
        before: Read | None = None,
    ) -> Iterator[tuple[Read, Pairs, StandIn, float]]:
        """One after another, with what is known of curvature, and the share of the error it leaves.

        Where h of a fold has risen since the read `before`, its step was too long, and a quarter of
        it is taken. Near the end it may rise by as much as it was to fall: what such a step says of
        curvature is worth more.
        """
        share, h = self.unknown, np.full(len(X), np.inf)
        lefts = np.full((2, len(X)), np.inf)
        if before is not None:
            lefts, h = _left(penalty, before), before.at.value + penalty.value(before.X)
        for k in range(1, self.max_reads + 1):
            clock.check()
            at = self._together.sums(X, Q)
            here = at.value + penalty.value(X)
            # Where so little is left that h is about quadratic.
            may = np.where(lefts[0] <= ROUGH * np.abs(here), 0.5 * lefts[0], 0.0)
            risen = ~(here <= h + may + ROUNDING * np.abs(here))
            if before is not None and np.any(risen) and k < self.max_reads:
                # Curvature is not what it was: nothing that was said of it elsewhere is kept.
                stand_in, pairs = self._stand_in(before.X.mean(axis=0)), Pairs()
                X, Q = np.where(risen[:, None], before.X + 0.25 * (X - before.X), X), before.Q
                continue
            if before is not None:
                pairs = pairs.plus(Q - before.Q, at.bent - before.at.bent)
                pairs = pairs.plus(X - before.X, at.gradient - before.at.gradient)
            read = Read(X, Q, at, *_steps(penalty, stand_in, pairs, X, Q, at))
            left = _left(penalty, read)
            if before is not None:
                ratio = left / np.maximum(lefts, np.finfo(float).tiny)
                share = float(np.sqrt(np.max(np.maximum(ratio, 0.0))))
            yield read, pairs, stand_in, min(share, 1.0)
            lefts, h, before = left, here, read
            X, Q = X + read.D, Q + read.E

    @cached_property
    def _together(self) -> FarBlocks:
        """All folds, and the fit on all rows, which costs no read of its own that way."""
        train, test = self.blocks.train, self.blocks.test
        every = np.ones((1, train.shape[1]), dtype=bool)
        return self.blocks.of_folds(np.vstack([train, every]), np.vstack([test, ~every]))

    @cached_property
    def _few(self) -> Blocks:
        """The rows at hand, with weights that sum to those of all rows."""
        return self._together.sampled(self.blocks.n, seed=0)

    def _penalty(self, lam: Array) -> QuadraticForm:
        own = [model.penalty for model in self.models]
        return of_folds([*own, own[0]]).at(lam)

    def _stand_in(self, about: Array) -> StandIn:
        """Of curvatures at one x; the last is kept, for it takes as long as some reads."""
        if self._known is None or not np.array_equal(self._known.about, about):
            self._known = StandIn(self._few, about, self.blocks.known.squares)
        return self._known

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """What all rows said at the x that was found; if that is too little they are read again."""
        before, last = self._ledger.cost, found
        if found.f_error > tol and time.perf_counter() <= deadline:
            ask = Ask(tol, gradient=False)
            last = self._read(found.lam, ask, found.warm.near, found.warm)
        read = last.warm.read
        return replace(
            found,
            value=last.value,
            g=last.g,
            f_error=last.f_error,
            folds=last.folds,
            x=self._as_asked((read.X + read.D)[:-1]),
            cost=self._ledger.cost - before,
            converged=last.f_error <= tol,
        )

    def rebind(self, found: Evaluation) -> Evaluation:
        if isinstance(found.warm, Warm):
            self.near.rebind(found.warm.near)
        return found

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        read = found.warm.read
        return self._as_asked((read.X + read.D)[:-1]), Cost()

    def refitted(self, whole: LinearModel, lam: Array, warm: Warm, tol: float) -> Solve:
        """X(λ) on all rows, from where the reads for all folds have brought it: ‖∇₁h‖ ≤ tol.

        A read is dear: rᵀP⁻¹r ≤ tol²h/10, as little as solvers leave of h by default, will do too.
        """
        assert warm.read is not None
        penalty, blocks = (
            of_folds([whole.penalty]).at(lam),
            cast(FarBlocks, self.blocks.like([whole])),
        )
        x, pairs = (warm.read.X + warm.read.D)[-1:], warm.pairs.last
        h, stand_in = float(warm.read.at.value[-1]), self._stand_in(warm.about).last
        before: tuple[Array, Array] | None = None
        for k in range(1, self.max_reads + 1):
            clock.check()
            gradient = blocks.sums(x, valued=False).gradient
            r = gradient + penalty.apply(x)
            if before is not None:
                pairs = pairs.plus(x - before[0], gradient - before[1])
            step, size = -pairs.inverse(stand_in, penalty, r), float(np.linalg.norm(r))
            if size <= tol or -float(np.vdot(r, step)) <= 0.1 * tol**2 * h:
                return Solve(x[0], size, k, "tolerance")
            before, x = (x, gradient), x + step
        return Solve(x[0], size, k, "max_iter")


def _residuals(penalty: QuadraticForm, X: Array, Q: Array, at: Sums) -> tuple[Array, Array]:
    """∇₁h and ∇²₁h q − ∇₁g of every fold."""
    return at.gradient + penalty.apply(X), at.bent + penalty.apply(Q) - at.g_x


def _left(penalty: QuadraticForm, read: Read) -> Array:
    """rᵀP⁻¹r of every fold, for the residuals of x and of q, (2, K)."""
    r, s = _residuals(penalty, read.X, read.Q, read.at)
    left = np.stack([-np.sum(r * read.D, axis=1), -np.sum(s * read.E, axis=1)])
    return np.asarray(np.maximum(left, 0.0))


def _values(r: Array, s: Array, read: Read) -> tuple[Array, Array]:
    """g − q·∇₁h − (∇²₁h q − ∇₁g)·d of every fold, and the last term."""
    off = np.sum(s * read.D, axis=1)
    return read.at.g - np.sum(read.Q * r, axis=1) - off, off


def _steps(
    penalty: QuadraticForm, stand_in: StandIn, pairs: Pairs, X: Array, Q: Array, at: Sums
) -> tuple[Array, Array]:
    """Those of x and of q."""
    r, s = _residuals(penalty, X, Q, at)
    return -pairs.inverse(stand_in, penalty, r), -pairs.inverse(stand_in, penalty, s)


def _slope(penalty: QuadraticForm, read: Read, share: float) -> tuple[Array, float]:
    """p after the steps, and how wrong it may be."""
    X, Q, D, E = read.X, read.Q, read.D, read.E
    p = -penalty.vjp(X + D, Q + E)
    doubt = np.zeros(p.size)
    for k in range(len(X)):
        clock.check()
        only = np.arange(len(X))[:, None] == k
        first = penalty.vjp(X, only * E) + penalty.vjp(Q, only * D)
        doubt += share * np.abs(first) + np.abs(penalty.vjp(D, only * E))
    return p, float(np.linalg.norm(doubt))
