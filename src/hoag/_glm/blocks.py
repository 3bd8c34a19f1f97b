"""Folds that share their rows: sums over the rows of all folds, in one pass.

Blocks are rows that every fold treats alike, five for five folds. What a fold sums over its
training rows it sums over blocks, so one Gram matrix for each block does for all folds; and at
five x, one for each fold, a product with the rows takes five columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.chunks import At, Chunk, Gathered, Part
from hoag._glm.drawn import below, drawn
from hoag._glm.lens import PLAIN, Lens
from hoag._glm.losses import Loss, OuterLoss, Squared
from hoag._glm.losses.base import softened
from hoag._glm.model import LinearModel
from hoag._glm.moments import Moments
from hoag._glm.rows import BLOCK_ENTRIES, ArrayRows, Rows, gram, grams, in_cache
from hoag._glm.term import Predictor, picked
from hoag.problems import Ledger


class Sums(NamedTuple):
    """What one pass over all rows finds at x₁ … x_K, one for each of K folds."""

    value: Array  # Σᵢ sᵢ loss over the training rows, (K,)
    gradient: Array  # its gradient, (K, size)
    g: Array  # Σᵢ s′ᵢ loss′ over the held-out rows, (K,)
    g_x: Array  # (K, size)
    bent: Array  # ∇²(Σᵢ sᵢ loss) times the directions that were given, (K, size)
    hessian: Array  # the whole of ∇², where it is asked for, (K, size, size)


class Source(NamedTuple):
    """Rows with y and weights, and the block of each; −1 for rows that no fold uses."""

    rows: Rows
    y: npt.NDArray[Any]
    weights: Array
    labels: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows of K folds, in B blocks.

    train, test   (K, B): whether a fold trains on a block, and is judged on it
    """

    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]
    loss: Loss
    outer: OuterLoss
    alike: bool  # one loss for both
    design: Predictor
    sources: list[Source]
    ledger: Ledger = field(default_factory=Ledger)

    @staticmethod
    def of(models: Sequence[LinearModel]) -> Blocks | None:
        """The blocks of some folds; None where their rows have too little in common."""
        train, test = models[0].train, models[0].test
        if train.far is not None:
            far: Blocks = train.far.joined(models)
            return far
        if not train.row_by_row or any(
            m.train.design.rows is not train.design.rows for m in models
        ):
            return None
        alike = type(train.loss) is type(test.loss) and vars(train.loss) == vars(test.loss)
        losses = (cast(Loss, train.loss), test.loss, alike)
        if train.design is test.design:
            found = _patterns(models)
            if found is None:
                return None
            labels, seen, weights = found
            source = Source(train.design.rows, train.y, weights, labels)
            K = len(models)
            return Blocks(seen[:K], seen[K:], *losses, train.design, [source])
        if len(models) > 1:
            return None
        sources = [  # one split, each part with rows of its own
            Source(term.design.rows, term.y, term.weights, np.full(term.design.n, b))
            for b, term in enumerate((train, test))
        ]
        first = np.array([[True, False]])
        return Blocks(first, ~first, *losses, train.design, sources)

    def like(self, models: Sequence[LinearModel]) -> Blocks | None:
        """Those of other folds of the same model, counted in the account of the first."""
        found = Blocks.of(models)
        return None if found is None else replace(found, ledger=models[0].ledger)

    @property
    def rows(self) -> list[Rows]:
        """Those of every source."""
        return [source.rows for source in self.sources]

    def on(self, rows: Sequence[Rows]) -> Blocks:
        """The same blocks with their rows in another basis."""
        pairs = zip(self.sources, rows, strict=True)
        sources = [source._replace(rows=own) for source, own in pairs]
        return replace(self, design=self.design.on(rows[0]), sources=sources)

    def of_folds(self, train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Blocks:
        """The same rows for other folds."""
        return replace(self, train=train, test=test)

    def softened(self) -> Blocks | None:
        """The same rows with a softer loss to fit by, where there is one."""
        loss = softened(self.loss)
        return None if loss is None else replace(self, loss=loss, alike=False)

    @property
    def here(self) -> bool:
        """Whether the rows are in this process's memory."""
        return True

    @property
    def folds(self) -> int:
        return len(self.train)

    @property
    def n(self) -> int:
        return sum(source.rows.shape[0] for source in self.sources)

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """How many rows each block has, (B,)."""
        total = np.zeros(self.train.shape[1], dtype=np.intp)
        for source in self.sources:
            total += np.bincount(source.labels[source.labels >= 0], minlength=total.size)
        return total

    @property
    def weights(self) -> Array:
        """Σ of the weights of each block's rows, (B,)."""
        total = np.zeros(self.train.shape[1])
        for source in self.sources:
            kept = source.labels >= 0
            total += np.bincount(source.labels[kept], source.weights[kept], total.size)
        return total

    def parts(self) -> Iterator[Part]:
        """All rows that any fold uses, some of one block at a time."""
        for source in self.sources:
            for block, some, A in source.rows.parts(source.labels):
                yield Part(block, A, source.y[some], source.weights[some])

    @property
    def centre(self) -> tuple[Array, Array]:
        """The mean of all a and y; 0 for a where rows are sparse."""
        p, K = self.design.features, self.design.outputs
        a, y, total, sparse = np.zeros(p), np.zeros(K), 0.0, False
        for part in self.parts():
            sparse = sparse or issparse(part.A)
            a += part.A.T @ part.weights
            y += part.weights @ part.y.reshape(-1, K)
            total += float(part.weights.sum())
        return np.zeros(p) if sparse else a / total, y / total

    def less(self, a: Array, y: Array) -> Iterator[Part]:
        """The rows less some centre."""
        moved = bool(np.any(a))
        for part in self.parts():
            A = part.A - a if moved else part.A
            yield Part(part.block, A, part.y.reshape(len(part.y), -1) - y, part.weights)

    def moments(self, a: Array, y: Array) -> tuple[Moments, ...]:
        """Those of every block, about some centre."""
        made = [Moments.none(self.design.features, self.design.outputs)] * self.train.shape[1]
        for part in self.less(a, y):
            made[part.block] = made[part.block].plus(Moments.of(part))
        self.ledger.charge(grams=1.0)
        return tuple(made)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> Blocks:
        """The same rows with some of their targets, and what is spent on them counted apart."""
        sources = [source._replace(y=picked(source.y, targets)) for source in self.sources]
        design = self.design.of_targets(targets)
        some = replace(self, design=design, sources=sources, ledger=Ledger())
        if self._few:
            few = [chunk._replace(y=picked(chunk.y, targets)) for chunk in self._few_chunks]
            vars(some)["_few_chunks"] = few  # the rows are there once
        return some

    def sampled(self, rows: int, seed: int) -> Blocks:
        """On about so many rows, and weights that sum to the same in each block."""
        share, sources = rows / self.n, []
        for source in self.sources:
            some = below(drawn(np.arange(len(source.labels)), seed), source.labels, share)
            weights, labels = source.weights[some], source.labels[some]
            sources.append(Source(source.rows.take(some), source.y[some], weights, labels))
        fewer = replace(self, design=self.design.on(sources[0].rows), sources=sources)
        return fewer.weighing(self.weights)

    def weighing(self, total: Array) -> Blocks:
        """The same rows, with weights that sum to so much in each block, (B,)."""
        factor = total / np.where(self.weights > 0, self.weights, 1.0)
        sources = [s._replace(weights=s.weights * factor[s.labels]) for s in self.sources]
        return replace(self, sources=sources)

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        """Losses and gradients of every fold at its own x, (K, size), in one pass over the rows.

        With T, (K, size), also ∇²h's part of the rows times it; with `curved` all of that matrix.
        Without `valued` the training losses are left out, which take as long as all their slopes.
        """
        K, size = self.folds, self.design.size
        both = X if T is None else np.concatenate([X, T])
        W, shift = self._columns(both)
        total, g = np.zeros(K), np.zeros(K)
        gathered = Gathered(self.design, 3 * K, self._lens)  # the gradient, g_x and bent
        anew = curved and not isinstance(self.loss, Squared)
        hessian = np.zeros((K, size, size)) if anew else np.empty(0)
        for chunk in self._chunks():
            z = self._scores(chunk.A, W, shift)
            used = chunk.trained
            at = At(self.loss, chunk.y, z[:, :K])
            if valued:
                total[used] += np.einsum("ik,ik->k", chunk.train, at.value[:, used])
            found = [(chunk.train, at.slope[:, used], used)]
            if (held := chunk.tested).size:
                outer = None if self.alike else At(self.outer, chunk.y, z[:, held])
                slope = at.slope[:, held] if outer is None else outer.slope
                if outer is None and not valued:  # nobody has computed the losses yet
                    outer = At(self.loss, chunk.y, z[:, held])
                value = at.value[:, held] if outer is None else outer.value
                g[held] += np.einsum("ik,ik->k", chunk.test, value)
                found.append((chunk.test, slope, K + held))
            if T is not None:
                found.append((chunk.train, at.curve(z[:, K:])[:, used], 2 * K + used))
            gathered.add(chunk.A, *found)
            if anew:
                self._bend(hessian, chunk.A, chunk.train, at, used)
        judged = 0.5 * float((self.test @ self.counts).sum()) / max(self.n, 1)
        self.ledger.charge(passes=K * (1.0 if T is None else 2.0), held_out=judged)
        if anew:
            self._charge_grams(K)
        elif curved:
            hessian = self._of_squares
        gradient, g_x, bent = np.split(gathered.flat, 3)
        return Sums(total, gradient, g, g_x, bent, hessian)

    def bends_at(self, X: Array) -> Bends:
        """∇² of the training loss of every fold at its x, by products; what they need is kept."""
        W, shift = self._columns(X)
        kept = []
        for chunk in self._chunks():
            z = self._scores(chunk.A, W, shift)
            kept.append((chunk, At(self.loss, chunk.y, z)))
        self.ledger.charge(passes=0.5 * self.folds)
        return Bends(self, kept)

    def bent_along(self, X: Array, V: Array) -> Array:
        """∇² of the training loss of every fold at its x times v_k, (K, size)."""
        return self.bends_at(X).times(V)

    def diagonals(self, X: Array) -> Array:
        """The diagonal of that ∇², (K, size)."""
        design, found = self.design, np.zeros((self.folds, self.design.size))
        W, shift = self._columns(X)
        for chunk in self._chunks():
            at, own = (
                At(self.loss, chunk.y, self._scores(chunk.A, W, shift)),
                design.on(ArrayRows(self._seen(chunk.A))),
            )
            weights = np.broadcast_to(chunk.train, (len(chunk.y), chunk.trained.size))
            for j, k in enumerate(chunk.trained):
                found[k] += own.diagonal(at.column(k), weights[:, j])
        return found

    def curved_squares(self) -> Array:
        """∇² of every fold's squared loss."""
        return self._of_squares

    @cached_property
    def _of_squares(self) -> Array:
        """∇² of every fold's squared loss, which is the same at every x, (K, size, size)."""
        K, size = self.folds, self.design.size
        hessian = np.zeros((K, size, size))
        for chunk in self._chunks():
            at = At(self.loss, chunk.y, np.zeros((len(chunk.y), K, self.design.outputs)))
            self._bend(hessian, chunk.A, chunk.train, at, chunk.trained)
        self._charge_grams(K)
        return hessian

    def held(self, k: int, X: Array) -> Array:
        """g of fold k at many x, (N,)."""
        W, shift = self._columns(X)
        total = np.zeros(len(X))
        for chunk in self._chunks():
            weights = chunk.of(k)[1]
            some = np.flatnonzero(weights)
            if some.size:
                z = self._scores(chunk.A[some], W, shift)
                total += weights[some] @ At(self.outer, chunk.y[some], z).value
        self.ledger.charge(
            held_out=0.5 * len(X) * float(self.test[k] @ self.counts) / max(self.n, 1)
        )
        return total

    def bent(self, X: Array, Q: Array, T: Array) -> Array:
        """Σ_k T_kᵀ(∇²g_k − D³L_k[q_k])T_k at x_k, T of shape (K, size, s): (s, s).

        D³L[q] is the derivative of ∇²L along q.
        """
        K, s = self.folds, T.shape[2]
        W, shift = self._columns(np.concatenate([X, Q]))
        directions = [self._columns(own.T) for own in T]
        total = np.zeros((s, s))
        for chunk in self._chunks():
            z = self._scores(chunk.A, W, shift)
            for k in np.union1d(chunk.trained, chunk.tested):
                Z = self._scores(chunk.A, *directions[k])
                total += self._turned(chunk, k, z[:, k], z[:, K + k], Z)
        self.ledger.charge(passes=K * (2.0 + s))
        return total

    def _turned(self, chunk: Chunk, k: int, z: Array, u: Array, Z: Array) -> Array:
        """Σᵢ Zᵢᵀ(s′ᵢ loss′″ − sᵢ loss‴[u])Zᵢ over rows of fold k; z and u (m, outputs)."""
        (train, test), (m, s, outputs) = chunk.of(k), Z.shape
        flat = outputs == 1
        z, u = (np.ascontiguousarray(part[:, 0] if flat else part) for part in (z, u))
        at, judge = self.loss.at(chunk.y, z), self.outer.at(chunk.y, z)

        def bend(v: Array) -> Array:
            return np.asarray((test * judge.curve(v).T - train * at.third(u, v).T).T)

        if flat:
            Z = Z[:, :, 0]
            return np.asarray(Z.T @ (bend(np.ones(m))[:, None] * Z))
        if s > outputs:  # by the matrix of every row
            units = [bend(np.broadcast_to(unit, (m, outputs))) for unit in np.eye(outputs)]
            bends = Z @ np.stack(units, axis=1)
        else:
            bends = np.stack([bend(Z[:, j]) for j in range(s)], axis=1)
        left, right = (part.transpose(1, 0, 2).reshape(s, -1) for part in (Z, bends))
        return np.asarray(left @ right.T)

    def expanded(self, x: Array, curved: bool = True) -> tuple[Array, Array, Array]:
        """At one x for all: value (B,), gradient (B, size) and ∇² (B, size, size) of each block."""
        B, size = self.train.shape[1], self.design.size
        W, shift = self._columns(x[None])
        value, hessian = np.zeros(B), np.zeros((B, size, size) if curved else 0)
        gradient = Gathered(self.design, B, self._lens)
        for part in self._kept_parts():
            b = np.array([part.block])
            z = self._scores(part.A, W, shift)
            at, weights = At(self.loss, part.y, z), part.weights[:, None]
            value[b] += part.weights @ at.value
            gradient.add(part.A, (weights, at.slope, b))
            if curved:
                self._bend(hessian, part.A, weights, at, b)
        self.ledger.charge(passes=1.0)
        if curved:
            self._charge_grams(1)
        return value, gradient.flat, hessian

    def _charge_grams(self, grams: int) -> None:
        self.ledger.charge(grams=float(grams * self.design.grams))

    def _bend(
        self, hessian: Array, A: Any, weights: Array, at: At, used: npt.NDArray[np.intp]
    ) -> None:
        """hessian[k] += Aᵀ diag(weights ∂²loss/∂z²) A for k in `used`, the intercept included.

        A is as it is kept, through the lens yet to be seen; `at` is at the z of all folds, or of
        those used.
        """
        design, p = self.design, self.design.features
        columns = used if at.shape[1] > used.size else np.arange(used.size)
        weights = np.broadcast_to(weights, (len(weights), used.size))
        if design.width > 1:
            hessian[used] += self._pairs(self._seen(A), weights, at, columns)
            return
        d = weights * at.curvature[:, columns]
        for some, part in in_cache(A):
            own = self._seen(part)
            for j, k in enumerate(used):
                hessian[k, :p, :p] += gram(own, d[some, j])
            if design.Q is not None:
                border = np.asarray(own.T @ d[some]).T
                hessian[used, :p, p] += border
                hessian[used, p, :p] += border
        if design.Q is not None:
            hessian[used, p, p] += d.sum(axis=0)

    def _pairs(self, A: Any, weights: Array, at: At, columns: npt.NDArray[np.intp]) -> Array:
        """Aᵀ diag(weights ∂²loss/∂z_c∂z_d) A for every pair of outputs and some folds."""
        design, m, K = self.design, len(weights), self.design.outputs
        if design.spread is not None or issparse(A) or A.shape[1] ** 2 > BLOCK_ENTRIES:
            rows = design.on(ArrayRows(A))
            each = zip(columns, weights.T, strict=True)
            return np.stack([rows.hessian(at.column(k), own) for k, own in each])
        bent = [at.curve(np.broadcast_to(unit, at.shape))[:, columns] for unit in np.eye(K)]
        pairs = [(c, d) for c in range(K) for d in range(c + 1)]
        D = weights[:, :, None] * np.stack([bent[c][:, :, d] for c, d in pairs], axis=2)
        E = A if design.Q is None else np.column_stack([A, np.ones(m)])
        found = grams(E, D.reshape(m, -1)).reshape(columns.size, len(pairs), *[E.shape[1]] * 2)
        whole = np.empty((columns.size, E.shape[1], K, E.shape[1], K))
        for j, (c, d) in enumerate(pairs):
            whole[:, :, c, :, d] = whole[:, :, d, :, c] = found[:, j]
        return design.in_order(whole)

    def _columns(self, X: Array) -> tuple[Array, Array]:
        """W of every x side by side, (features, columns · outputs), and what intercepts add."""
        design, columns = self.design, len(X)
        W = X[:, : design.slopes].reshape(columns, design.features, design.outputs)
        shift = np.zeros((columns, design.width))
        if design.Q is not None:
            shift = X[:, design.slopes :] @ design.Q.T
        if self._lens is not PLAIN:
            W, moved = self._lens.columns(W)
            shift = shift + (moved if design.spread is None else moved @ design.spread)
        return np.ascontiguousarray(W.transpose(1, 0, 2).reshape(design.features, -1)), shift

    def _scores(self, A: Any, W: Array, shift: Array) -> Array:
        """z of some rows at many x, (m, columns, width), from what `_columns` makes of these."""
        z = np.asarray(A @ W).reshape(A.shape[0], len(shift), -1)
        spread = self.design.spread
        return np.asarray((z if spread is None else z @ spread) + shift)

    @cached_property
    def _lens(self) -> Lens:
        """Through which the rows of chunks are seen: products with these need no other copy."""
        if self._few or len(self.sources) != 1:
            return PLAIN
        return self.sources[0].rows.lens

    def _seen(self, A: Any) -> Any:
        return A if self._lens is PLAIN else self._lens.of(A)

    def _kept_parts(self) -> Iterator[Part]:
        """`parts`, through the lens yet to be seen."""
        if self._lens is PLAIN:
            yield from self.parts()
            return
        (source,) = self.sources
        for block, some, A in source.rows.parts(source.labels, kept=True):
            yield Part(block, A, source.y[some], source.weights[some])

    def _chunks(self) -> Iterator[Chunk]:
        return iter(self._few_chunks) if self._few else self._many_chunks()

    @property
    def _few(self) -> bool:
        size = sum(source.rows.shape[0] * source.rows.shape[1] for source in self.sources)
        return size <= 4 * BLOCK_ENTRIES

    @cached_property
    def _few_chunks(self) -> list[Chunk]:
        """So few rows that they are kept at hand, as arrays, and not parted by blocks."""
        # The label −1 of rows that nobody uses is the last column, of zeros.
        none = np.zeros((1, self.folds))
        train, test = (np.concatenate([part.T, none]) for part in (self.train, self.test))
        all_folds = np.arange(self.folds)
        return [
            Chunk(
                source.rows.dense(),
                source.y,
                source.weights[:, None] * train[source.labels],
                source.weights[:, None] * test[source.labels],
                all_folds,
                all_folds,
            )
            for source in self.sources
            if source.rows.shape[0]
        ]

    def _many_chunks(self) -> Iterator[Chunk]:
        used = [
            (np.flatnonzero(train), np.flatnonzero(test))
            for train, test in zip(self.train.T, self.test.T, strict=True)
        ]
        for block, A, y, weights in self._kept_parts():
            yield Chunk(A, y, weights[:, None], weights[:, None], *used[block])


class Bends:
    """H_k v_k for all folds at once, with H_k the second derivative of fold k's training loss."""

    def __init__(self, blocks: Blocks, kept: list[tuple[Chunk, At]]) -> None:
        self._blocks, self._kept = blocks, kept

    def times(self, V: Array) -> Array:
        """(K, size), one pass of all folds."""
        blocks = self._blocks
        W, shift = blocks._columns(V)
        total = Gathered(blocks.design, blocks.folds, blocks._lens)
        for chunk, at in self._kept:
            z = blocks._scores(chunk.A, W, shift)
            total.add(chunk.A, (chunk.train, at.curve(z)[:, chunk.trained], chunk.trained))
        blocks.ledger.charge(passes=float(blocks.folds))
        return total.flat


def _patterns(models: Sequence[LinearModel]) -> Any:
    """The block of every row, (n,), or −1; which terms use a block, (2K, B); and the weights."""
    terms = [m.train for m in models] + [m.test for m in models]
    if len(terms) > 62:
        return None
    weights = terms[0].weights.copy()
    for term in terms[1:]:
        np.maximum(weights, term.weights, out=weights)
    code = np.zeros(weights.size, dtype=np.int64)
    for k, term in enumerate(terms):
        inside = term.weights > 0
        if np.any(inside & (term.weights != weights)):
            return None  # a row that is drawn more than once
        code |= inside.astype(np.int64) << k
    codes = np.unique(code)
    if codes.size > max(len(models) ** 2, 2):
        return None  # folds drawn at random, many times, share too little
    labels = np.searchsorted(codes, code)
    if codes[0] == 0:  # rows that nobody uses
        codes, labels = codes[1:], labels - 1
    seen = (codes[None, :] >> np.arange(len(terms))[:, None] & 1).astype(bool)
    return labels, seen, weights
