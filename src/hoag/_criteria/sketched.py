"""The folds of a linear model whose rows are not in memory and whose coefficients are many.

Each pass of `Iterative` is a pass over the data. Its preconditioner is a sketch of the curvature,
from a sample of the rows that is kept (`Sketch`). λ is looked for on the sample
first, as a problem of its own: with the weights that its rows have anyway, the best penalty is that
of all rows but for chance. From the first pass on the sample says how f changes with λ, and from
the second on what all rows said at two λ.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from hoag._core.numeric import EXACT, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._core.storable import storable
from hoag._criteria import fits
from hoag._criteria.base import SPACING, Traits, no_gradient
from hoag._criteria.galerkin import MOST
from hoag._criteria.iterative import Begun, Iterate, Iterative, Preconditioner
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.penalties import QuadraticForm
from hoag._linalg.cholesky import Factor
from hoag._linalg.general import solve
from hoag._linalg.symmetric import largest

# f on the sample is solved to this share of itself: it says how f changes, not what it is.
ROUGH = fits.ROUGH / 3


DIRECTIONS = MOST  # of the sample's curvature
ROUNDS = MOST // 3  # of products with all of them by which they are found


class Sketch(Preconditioner):
    """P_k for every fold, from a sample of the rows:

        P_k = D_k + W diag(e − 1) Wᵀ + S,   W = D^½U

    for the slopes, with intercepts eliminated: a step of x moves b so that the mean of the rows, by
    their curvature, stays. D is the diagonal of ∇²L, from the squares of columns over all rows and
    the mean curvature of the loss; U are the directions in which D^−½∇²L D^−½, of the sample, is
    far above 1, and e how far. What a sample says of all other directions is chance: its least
    eigenvalues are many times too small where it has not many more rows than columns, and steps
    with its whole matrix, solved by conjugate gradients, left 0.8 of the error where these leave
    0.4.

    few     rows in memory, with weights that sum to those of all rows
    x       about which curvatures are taken, one for all folds
    squares Σᵢ sᵢ aᵢⱼ² over all rows
    """

    def __init__(self, few: InMemoryDesign, x: Array, squares: Array) -> None:
        self.about = x
        every, design = np.ones((1, few.train.shape[1]), dtype=bool), few.predictor
        whole, self._slopes, self._size = few.of_folds(every, ~every), design.slopes, design.size
        # The same fold several times: for as many columns at once as the outputs leave room for.
        self._abreast = max(1, DIRECTIONS // design.width)
        many = np.repeat(every, self._abreast, axis=0)
        hessian = few.of_folds(many, ~many).hessian_at(np.repeat(x[None], len(many), axis=0))
        border = self._times(hessian, np.eye(self._size, self._size - self._slopes, -self._slopes))
        corner = border[self._slopes :]  # ∇²L of the intercepts
        self._corner = corner + EXACT * max(float(np.trace(corner)), 1.0) * np.eye(len(corner))
        self._mean = solve(self._corner, border[: self._slopes].T).T
        diagonal = whole.diagonals(x[None])[0][: self._slopes].reshape(-1, design.outputs)
        curvature = diagonal.sum(axis=0) / max(float(np.sum(few.squares)), np.finfo(float).tiny)
        D = np.outer(squares, curvature).ravel()
        D = np.maximum(D - np.sum(self._mean * border[: self._slopes], axis=1), 1e-3 * D)
        self._diagonal = np.maximum(D, EXACT * float(D.max(initial=0.0)) or 1.0)
        self._share = (few.train @ few.weights) / few.weights.sum()
        self._W, self._gain = self._above(hessian, whole.n)

    @property
    def last(self) -> Sketch:
        """That of the last fold alone."""
        other = copy(self)
        other._share = self._share[-1:]
        return other

    def _times(self, hessian: Any, V: Array) -> Array:
        """∇²L V, (size, columns), some columns at a time."""
        found = np.empty_like(V)
        for start in range(0, V.shape[1], self._abreast):
            some = V[:, start : start + self._abreast]
            padded = np.zeros((self._abreast, self._size))
            padded[: some.shape[1]] = some.T
            found[:, start : start + some.shape[1]] = hessian.times(padded)[: some.shape[1]].T
        return found

    def _above(self, hessian: Any, n: int) -> tuple[Array, Array]:
        """W and e − 1."""
        root = np.sqrt(self._diagonal)[:, None]

        def product(V: Array) -> Array:
            U = V / root
            curved = self._times(hessian, np.concatenate([U, -(self._mean.T @ U)]))
            return np.asarray(self._reduced(curved.T).T / root)

        size = len(root)
        start = np.random.default_rng(0).normal(size=(size, DIRECTIONS))
        start[:, :1] = root
        e, U = largest(product, start, 1e-2, ROUNDS)
        # A sample of n rows of independent columns has eigenvalues up to here by chance.
        above = e > (1.0 + np.sqrt(size / max(n, 1))) ** 2
        return root * U[:, above], e[above] - 1.0

    def _reduced(self, R: Array) -> Array:
        """Gradients along the slopes, where intercepts follow them."""
        return np.asarray(R[:, : self._slopes] - R[:, self._slopes :] @ self._mean.T)

    def solve(self, R: Array, penalty: QuadraticForm) -> Array:
        """P_k⁻¹r_k, by the matrix inversion lemma."""
        S = penalty.apply(np.ones_like(R))[:, : self._slopes]
        A = self._share[:, None] * self._diagonal + S
        own = self._reduced(R)
        D = own / A
        for k, share in enumerate(self._share if self._gain.size else ()):
            WA = self._W / A[k][:, None]
            small = np.diag(1.0 / (share * self._gain)) + self._W.T @ WA
            D[k] -= WA @ Factor(small)(WA.T @ own[k])
        levels = solve(self._corner, R[:, self._slopes :].T).T / self._share[:, None]
        return np.concatenate([D, levels - D @ self._mean], axis=1)


@storable
@dataclass(frozen=True, eq=False)
class Local:
    """f and p of all rows at one λ, and how they change from there:

        f(λ + d) ≈ f + p·d + ½ p′d²,   p(λ + d) ≈ p + p′d

    p′ is that between the last two λ where all rows were asked. Before there are two, and with
    several λ, the sample says it, by its own f and p: steeper than all rows where it is overfitted.
    """

    lam: Array
    value: float
    grad: Array
    error: float
    sample: Evaluation
    slope: float = np.nan

    @property
    def is_secant(self) -> bool:
        """Whether p′ is known without the sample."""
        return bool(np.isfinite(self.slope))

    def after(self, last: Local | None) -> Local:
        """With p′ between two λ, where there is one λ and p has changed by more than its errors."""
        if last is None or self.grad.size > 1:
            return self
        change, moved = float(self.grad[0] - last.grad[0]), float(self.lam[0] - last.lam[0])
        clear = change * moved > 0 and abs(change) > self.error + last.error
        return replace(self, slope=change / moved if clear else last.slope)

    def at(self, lam: Array) -> tuple[float, Array]:
        """f and p near by."""
        d = lam - self.lam
        value = self.value + float((self.grad + 0.5 * self.slope * d) @ d)
        return value, self.grad + self.slope * d


@storable
@dataclass(frozen=True, eq=False)
class SketchedWarm:
    """The sample's own evaluation; the last iterate on all rows, and f and p as it had them.

    `about` is the x about which curvature was last taken.
    """

    sample: Evaluation
    iterate: Iterate | None = None
    local: Local | None = None
    about: Array = field(default_factory=lambda: np.zeros(0))


class SketchedCurvature(Iterative):
    """f(λ) and p by passes over all rows; scans by a sample of them.

    plain  the same folds on the rows that are kept, a criterion of its own
    """

    max_passes = 50  # at one λ
    deflates = True

    design: PartitionedDesign
    _known: Sketch | None = None  # the last, for it takes as long as some passes

    @cached_property
    def share(self) -> float:
        """Of the weight of all rows, that of the sample."""
        kept = self.design.sample
        return float(kept.weights[kept.labels >= 0].sum() / self.design.weights.sum())

    @property
    def traits(self) -> Traits:
        spacing = SPACING if self.lam0.size == 1 else None
        return Traits(scan_spacing=spacing, begun=True, blocks=np.arange(self.lam0.size))

    def _evaluate(self, lam: Array, ask: Ask, warm: SketchedWarm | None) -> Evaluation:
        before = self._ledger.cost
        if warm is not None and warm.local is not None and warm.local.is_secant:
            sample = warm.sample
        else:
            sample = self._on_the_sample(lam, warm, ask.gradient or not ask.free)
        there = SketchedWarm(sample) if warm is None else replace(warm, sample=sample)
        if ask.free:
            value, grad = self._guessed(lam, there)
            grad = grad if ask.gradient else no_gradient(lam)
            found = Evaluation(lam, value, grad, f_error=np.nan, error=np.nan, warm=there)
        else:
            found, last = self._solved(lam, replace(ask, gradient=True), there)
            local = Local(lam, found.value, found.grad, found.error, sample.light())
            assert last is not None
            about = last.preconditioner.about
            warm = SketchedWarm(sample, last.now, local.after(there.local), about)
            found = replace(found, warm=warm)
            if not ask.gradient:
                found = replace(found, grad=no_gradient(lam), error=np.nan)
        return replace(found, cost=self._ledger.cost - before)

    def _on_the_sample(self, lam: Array, warm: SketchedWarm | None, gradient: bool) -> Evaluation:
        """The sample's f at λ; its passes count by the share that the sample is of all rows."""
        start = None if warm is None else warm.sample.warm
        size = np.inf if warm is None else abs(warm.sample.value)
        eps = ROUGH * (size if np.isfinite(size) else 1.0)
        found = self.plain.evaluate(lam, Ask(eps, gradient=gradient), start)
        self._charge(found.cost)
        return found

    def _guessed(self, lam: Array, warm: SketchedWarm) -> tuple[float, Array]:
        """f and p from what all rows said at other λ; from the sample's while that is needed."""
        share, known, sample = self.share, warm.local, warm.sample
        if known is None:
            return sample.value / share, sample.grad / share
        if known.is_secant:
            return known.at(lam)
        value = known.value + (sample.value - known.sample.value) / share
        return value, known.grad + (sample.grad - known.sample.grad) / share

    def _charge(self, cost: Cost) -> None:
        share = self.share
        self._ledger.charge(
            passes=share * cost.passes, held_out=share * cost.held_out, grams=share * cost.grams
        )

    def _begun(self, lam: Array, penalty: QuadraticForm, warm: SketchedWarm) -> Begun:
        last = warm.iterate
        if last is not None:  # what the last pass says of this λ
            return last.X, last.Q, self._formed(last.X.mean(axis=0)), last
        solved, cost = self.plain.solution(warm.sample)
        self._charge(cost)
        X = np.stack(solved if self.several else [solved])
        about = X.mean(axis=0)
        X, sketch = np.concatenate([X, about[None]]), self._formed(about)
        return X, sketch.solve(self._few.sums(X).g_x, penalty), sketch, None

    @cached_property
    def _few(self) -> InMemoryDesign:
        """The sample, with weights that sum to those of all rows."""
        return cast(InMemoryDesign, self._together.sampled(self.design.n, seed=0))

    def _preconditioner(self, warm: SketchedWarm) -> Sketch:
        return self._formed(warm.about)

    def _formed(self, about: Array) -> Sketch:
        if self._known is None or not np.array_equal(self._known.about, about):
            self._known = Sketch(self._few, about, self.design.known.squares)
        return self._known

    def rebind(self, found: Evaluation) -> Evaluation:
        if found.warm is not None:
            self.plain.rebind(found.warm.sample)
        return found
