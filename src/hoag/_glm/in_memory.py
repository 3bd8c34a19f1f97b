"""The rows of K folds in memory, in cells that every fold treats alike.

At K x, one for each fold, a product with the rows takes K columns, and one Gram matrix for each
cell does for all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._data.fold_rule import below, cells_of, drawn
from hoag._data.standardize import PLAIN, Standardiser
from hoag._glm.design import FoldedHessian, RowwiseDesign, Sums
from hoag._glm.losses import Loss
from hoag._glm.losses.base import softened
from hoag._glm.moments import Moments
from hoag._glm.rows import BLOCK_ENTRIES, ArrayRows, CellRows, Rows
from hoag._glm.term import Predictor, picked
from hoag.problems import Ledger

if TYPE_CHECKING:
    from hoag._glm.model import LinearModel


class RowSet(NamedTuple):
    """Rows with y and weights, and the cell of each; −1 for rows that no fold uses."""

    rows: Rows
    y: npt.NDArray[Any]
    weights: Array
    labels: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class InMemoryDesign(RowwiseDesign):
    """The rows of K folds in memory: in one set, or where one split has two matrices in two."""

    sets: list[RowSet]

    @staticmethod
    def of(models: Sequence[LinearModel]) -> InMemoryDesign | None:
        """The rows of some folds; None where they have too little in common."""
        train, test = models[0].train, models[0].test
        if not train.row_by_row or any(
            m.train.design.rows is not train.design.rows for m in models
        ):
            return None
        losses = (cast(Loss, train.loss), test.loss)
        if train.design is test.design:
            found = _patterns(models)
            if found is None:
                return None
            labels, seen, weights = found
            own = RowSet(train.design.rows, train.y, weights, labels)
            K = len(models)
            return InMemoryDesign(seen[:K], seen[K:], *losses, train.design, [own])
        if len(models) > 1:
            return None
        sets = [  # one split, each part with rows of its own
            RowSet(term.design.rows, term.y, term.weights, np.full(term.design.n, b))
            for b, term in enumerate((train, test))
        ]
        first = np.array([[True, False]])
        return InMemoryDesign(first, ~first, *losses, train.design, sets)

    def _total(self, ask: Callable[[Any], Any]) -> Any:
        return ask(self)

    @property
    def rows(self) -> list[Rows]:
        return [own.rows for own in self.sets]

    def on(self, rows: Sequence[Rows]) -> InMemoryDesign:
        pairs = zip(self.sets, rows, strict=True)
        sets = [own._replace(rows=other) for own, other in pairs]
        return replace(self, predictor=self.predictor.on(rows[0]), sets=sets)

    def softened(self) -> InMemoryDesign | None:
        loss = softened(self.loss)
        return None if loss is None else replace(self, loss=loss)

    @property
    def n(self) -> int:
        return sum(own.rows.shape[0] for own in self.sets)

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        most = self.train.shape[1] + 1
        each = [np.bincount(own.labels + 1, minlength=most)[1:] for own in self.sets]
        return np.asarray(np.sum(each, axis=0))

    @property
    def weights(self) -> Array:
        """Those of each cell, (B,)."""
        most = self.train.shape[1] + 1
        each = [np.bincount(own.labels + 1, own.weights, most)[1:] for own in self.sets]
        return np.asarray(np.sum(each, axis=0))

    @property
    def squares(self) -> Array:
        """Σᵢ sᵢ aᵢⱼ² over all rows."""
        each = [own.rows.squared_backward(own.weights) for own in self.sets]
        return np.asarray(np.sum(each, axis=0))

    def cells(self, kept: bool = False) -> Iterator[CellRows]:
        """With `kept`, rows are as they are stored, yet to be standardised."""
        for own in self.sets:
            for cell, some, A in own.rows.parts(own.labels, kept):
                yield CellRows(cell, A, own.y[some], own.weights[some])

    @property
    def centre(self) -> tuple[Array, Array]:
        """The mean of all a and y; 0 for a where rows are sparse."""
        p, K = self.predictor.features, self.predictor.outputs
        a, y, total, sparse = np.zeros(p), np.zeros(K), 0.0, False
        for some in self.cells():
            sparse = sparse or issparse(some.A)
            a += some.A.T @ some.weights
            y += some.weights @ some.y.reshape(-1, K)
            total += float(some.weights.sum())
        return np.zeros(p) if sparse else a / total, y / total

    def row_moments(self, a: Array, y: Array) -> tuple[Moments, ...]:
        none = Moments.none(self.predictor.features, self.predictor.outputs)
        made = [none] * self.train.shape[1]
        for some in self.centred(a, y):
            made[some.cell] = made[some.cell].plus(Moments.of(some))
        return tuple(made)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> InMemoryDesign:
        sets = [own._replace(y=picked(own.y, targets)) for own in self.sets]
        predictor = self.predictor.of_targets(targets)
        some = replace(self, predictor=predictor, sets=sets, ledger=Ledger())
        if self._few:
            few = [chunk._replace(y=picked(chunk.y, targets)) for chunk in self._few_chunks]
            vars(some)["_few_chunks"] = few  # the rows are there once
        return some

    def sampled(self, rows: int, seed: int) -> InMemoryDesign:
        share, sets = rows / self.n, []
        for own in self.sets:
            some = below(drawn(np.arange(len(own.labels)), seed), own.labels, share)
            weights, labels = own.weights[some], own.labels[some]
            sets.append(RowSet(own.rows.take(some), own.y[some], weights, labels))
        fewer = replace(self, predictor=self.predictor.on(sets[0].rows), sets=sets)
        return fewer.weighing(self.weights)

    def weighing(self, total: Array) -> InMemoryDesign:
        """The same rows, with weights that sum to so much in each cell, (B,)."""
        factor = total / np.where(self.weights > 0, self.weights, 1.0)
        sets = [own._replace(weights=own.weights * factor[own.labels]) for own in self.sets]
        return replace(self, sets=sets)

    def row_sums(self, X: Array, T: Array | None, curved: bool, valued: bool) -> Sums:
        """`sums` of these rows; `hessian` anew."""
        K, size = self.folds, self.predictor.size
        both = X if T is None else np.concatenate([X, T])
        W, shift = self._columns(both)
        total, g = np.zeros(K), np.zeros(K)
        gathered = Gathered(self.predictor, 3 * K, self._standardiser)  # ∇L, ∇g and ∇²L T
        hessian = np.zeros((K, size, size)) if curved else np.empty(0)
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
                found.append((chunk.train, at.hvp(z[:, K:])[:, used], 2 * K + used))
            gathered.add(chunk.A, *found)
            if curved:
                for k, own in zip(used, self._hessians(chunk.A, chunk.train, at, used)):
                    hessian[k] += own
        gradient, g_x, hvp = np.split(gathered.flat, 3)
        return Sums(total, gradient, g, g_x, hvp, hessian)

    def hessian_at(self, X: Array) -> FoldedHessian:
        """∇²L of every fold at its x; the losses there are kept for its products."""
        W, shift = self._columns(X)
        kept = [
            (chunk, At(self.loss, chunk.y, self._scores(chunk.A, W, shift)))
            for chunk in self._chunks()
        ]
        self.ledger.charge(passes=0.5 * self.folds)

        def times(V: Array) -> Array:
            W, shift = self._columns(V)
            total = Gathered(self.predictor, self.folds, self._standardiser)
            for chunk, at in kept:
                curved = at.hvp(self._scores(chunk.A, W, shift))[:, chunk.trained]
                total.add(chunk.A, (chunk.train, curved, chunk.trained))
            self.ledger.charge(passes=float(self.folds))
            return total.flat

        return FoldedHessian(times)

    def products(self, X: Array, V: Array) -> Array:
        """∇²L_k v_k of all folds."""
        return self.hessian_at(X).times(V)

    def diagonals(self, X: Array) -> Array:
        predictor, found = self.predictor, np.zeros((self.folds, self.predictor.size))
        W, shift = self._columns(X)
        for chunk in self._chunks():
            z = self._scores(chunk.A, W, shift)
            own = predictor.on(ArrayRows(self._standardised(chunk.A)))
            for k in chunk.trained:
                at = self.loss.at(chunk.y, z[:, k, 0] if predictor.width == 1 else z[:, k])
                found[k] += own.diagonal(at, chunk.of(k)[0])
        return found

    def row_held(self, k: int, X: Array) -> Array:
        W, shift = self._columns(X)
        total = np.zeros(len(X))
        for chunk in self._chunks():
            weights = chunk.of(k)[1]
            some = np.flatnonzero(weights)
            if some.size:
                z = self._scores(chunk.A[some], W, shift)
                total += weights[some] @ At(self.outer, chunk.y[some], z).value
        return total

    def row_second_order(self, X: Array, Q: Array, T: Array) -> Array:
        K, s = self.folds, T.shape[2]
        W, shift = self._columns(np.concatenate([X, Q]))
        directions = [self._columns(own.T) for own in T]
        total = np.zeros((s, s))
        for chunk in self._chunks():
            z = self._scores(chunk.A, W, shift)
            for k in np.union1d(chunk.trained, chunk.tested):
                Z = self._scores(chunk.A, *directions[k])
                total += self._turned(chunk, k, z[:, k], z[:, K + k], Z)
        return total

    def _turned(self, chunk: Chunk, k: int, z: Array, u: Array, Z: Array) -> Array:
        """Σᵢ Zᵢᵀ(s′ᵢ loss′″ − sᵢ loss‴[u])Zᵢ over rows of fold k; z and u (m, outputs)."""
        (train, test), (m, s, outputs) = chunk.of(k), Z.shape
        flat = outputs == 1
        z, u = (np.ascontiguousarray(part[:, 0] if flat else part) for part in (z, u))
        at, judge = self.loss.at(chunk.y, z), self.outer.at(chunk.y, z)

        def curved(v: Array) -> Array:
            return np.asarray((test * judge.hvp(v).T - train * at.third(u, v).T).T)

        if flat:
            Z = Z[:, :, 0]
            return np.asarray(Z.T @ (curved(np.ones(m))[:, None] * Z))
        if s > outputs:  # by the matrix of every row
            units = [curved(np.broadcast_to(unit, (m, outputs))) for unit in np.eye(outputs)]
            turned = Z @ np.stack(units, axis=1)
        else:
            turned = np.stack([curved(Z[:, j]) for j in range(s)], axis=1)
        left, right = (part.transpose(1, 0, 2).reshape(s, -1) for part in (Z, turned))
        return np.asarray(left @ right.T)

    def row_expanded(self, x: Array, curved: bool) -> tuple[Array, Array, Array]:
        B, size = self.train.shape[1], self.predictor.size
        W, shift = self._columns(x[None])
        value, hessian = np.zeros(B), np.zeros((B, size, size) if curved else 0)
        gradient = Gathered(self.predictor, B, self._standardiser)
        for some in self.cells(kept=self._standardiser is not PLAIN):
            b = np.array([some.cell])
            z = self._scores(some.A, W, shift)
            at, weights = At(self.loss, some.y, z), some.weights[:, None]
            value[b] += some.weights @ at.value
            gradient.add(some.A, (weights, at.slope, b))
            if curved:
                hessian[some.cell] += self._hessians(some.A, weights, at, b)[0]
        return value, gradient.flat, hessian

    def _hessians(self, A: Any, weights: Array, at: At, used: npt.NDArray[np.intp]) -> Array:
        """Aᵀ diag(weights ∂²loss/∂z²) A for every fold in `used`, the intercept included.

        A is as it is stored, yet to be standardised; `at` is at the z of all folds, or of those
        used.
        """
        columns = used if at.shape[1] > used.size else np.arange(used.size)

        def curved(u: Array) -> Array:
            return weights[:, :, None] * at.hvp(np.broadcast_to(u, at.shape))[:, columns]

        return self.predictor.on(ArrayRows(self._standardised(A))).hessians(curved)

    def _columns(self, X: Array) -> tuple[Array, Array]:
        """W of every x side by side, (features, columns · outputs), and what intercepts add."""
        predictor, columns = self.predictor, len(X)
        W = X[:, : predictor.slopes].reshape(columns, predictor.features, predictor.outputs)
        shift = np.zeros((columns, predictor.width))
        if predictor.Q is not None:
            shift = X[:, predictor.slopes :] @ predictor.Q.T
        if self._standardiser is not PLAIN:
            W, moved = self._standardiser.columns(W)
            shift = shift + (moved if predictor.spread is None else moved @ predictor.spread)
        return np.ascontiguousarray(W.transpose(1, 0, 2).reshape(predictor.features, -1)), shift

    def _scores(self, A: Any, W: Array, shift: Array) -> Array:
        """z of some rows at many x, (m, columns, width), from what `_columns` makes of these."""
        z = np.asarray(A @ W).reshape(A.shape[0], len(shift), -1)
        spread = self.predictor.spread
        return np.asarray((z if spread is None else z @ spread) + shift)

    @cached_property
    def _standardiser(self) -> Standardiser:
        """What is yet to be done to the rows of chunks: products with these need no copy."""
        if self._few or len(self.sets) != 1:
            return PLAIN
        return self.sets[0].rows.standardiser

    def _standardised(self, A: Any) -> Any:
        return A if self._standardiser is PLAIN else self._standardiser.of(A)

    def _chunks(self) -> Iterator[Chunk]:
        if self._few:
            yield from self._few_chunks
            return
        used = [
            (np.flatnonzero(train), np.flatnonzero(test))
            for train, test in zip(self.train.T, self.test.T, strict=True)
        ]
        for cell, A, y, weights in self.cells(kept=self._standardiser is not PLAIN):
            yield Chunk(A, y, weights[:, None], weights[:, None], *used[cell])

    @property
    def _few(self) -> bool:
        size = sum(rows.shape[0] * rows.shape[1] for rows in self.rows)
        return size <= 4 * BLOCK_ENTRIES

    @cached_property
    def _few_chunks(self) -> list[Chunk]:
        """So few rows that they are kept as arrays, and not parted by cells."""
        # The label −1 of rows that nobody uses is the last column, of zeros.
        none = np.zeros((1, self.folds))
        train, test = (np.concatenate([part.T, none]) for part in (self.train, self.test))
        all_folds = np.arange(self.folds)
        return [
            Chunk(
                own.rows.dense(),
                own.y,
                own.weights[:, None] * train[own.labels],
                own.weights[:, None] * test[own.labels],
                all_folds,
                all_folds,
            )
            for own in self.sets
            if own.rows.shape[0]
        ]


def _patterns(models: Sequence[LinearModel]) -> Any:
    """The cell of every row, (n,), or −1; which terms use a cell, (2K, B); and the weights."""
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
    labels, seen = cells_of(code, len(terms))
    if np.unique(labels).size > max(len(models) ** 2, 2):
        return None  # folds drawn at random, many times, share too little
    return labels, seen, weights


class Chunk(NamedTuple):
    """Some rows, the folds that train on any of them and are judged on any, and their weights.

    Weights are of shape (m, folds), or (m, 1) for rows of one cell, which all of those folds
    weigh alike.
    """

    A: Any
    y: npt.NDArray[Any]
    train: Array
    test: Array
    trained: npt.NDArray[np.intp]
    tested: npt.NDArray[np.intp]

    def of(self, k: int) -> tuple[Array, Array]:
        """The weights of fold k, in h and in g, (m,) each; 0 where it does not use these rows."""
        if self.train.shape[1] == 1:
            used = float(k in self.trained), float(k in self.tested)
            return used[0] * self.train[:, 0], used[1] * self.test[:, 0]
        return self.train[:, k], self.test[:, k]


class At:
    """A loss at z of shape (m, K, width): every column is a row of its own to the loss."""

    def __init__(self, loss: Any, y: npt.NDArray[Any], z: Array) -> None:
        self.shape = z.shape
        self._at = loss.at(np.repeat(y, z.shape[1], axis=0), self._flat(z))

    def _flat(self, z: Array) -> Array:
        m, K, width = z.shape
        return z.reshape(m * K) if width == 1 else z.reshape(m * K, width)

    @cached_property
    def value(self) -> Array:
        return np.asarray(self._at.value.reshape(self.shape[:2]))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self._at.slope.reshape(self.shape))

    def hvp(self, v: Array) -> Array:
        return np.asarray(self._at.hvp(self._flat(v)).reshape(self.shape))


class Gathered:
    """Σ over rows of Aᵀr for some columns, as x is laid out; rows are standardised.

    Products over rows that are summed for the same columns, those of one cell, are added whole,
    and taken apart into columns once: with 10⁵ features the latter takes a fifth of a product.
    """

    def __init__(self, design: Predictor, columns: int, standardiser: Standardiser = PLAIN) -> None:
        self._design, self._standardiser = design, standardiser
        self._slopes = np.zeros((columns, design.features, design.outputs))
        self._level = np.zeros((columns, design.width))
        self._used, self._product = np.empty(0, dtype=np.intp), np.empty(0)

    def add(self, A: Any, *parts: tuple[Array, Array, npt.NDArray[np.intp]]) -> None:
        """Aᵀ(weights · r) for the columns `used`, r of shape (m, used, width); of several such
        parts by one product with Aᵀ."""
        r = np.concatenate([self._spread(*part) for part in parts], axis=1)
        # Either way the same product; BLAS is a quarter faster with the long side inside.
        product = np.asarray(A.T @ r) if issparse(A) else (r.T @ A).T
        used = np.concatenate([part[2] for part in parts])
        if used.size and np.array_equal(used, self._used):
            self._product += product
        else:
            self._take_apart()
            self._used, self._product = used, product

    def _spread(self, weights: Array, r: Array, used: npt.NDArray[np.intp]) -> Array:
        """Adds weights · r to the levels; what is left to multiply with Aᵀ, (m, columns)."""
        r, spread = weights[:, :, None] * r, self._design.spread
        self._level[used] += (np.ones(len(r)) @ r.reshape(len(r), -1)).reshape(r.shape[1:])
        if spread is not None:
            r = r @ spread.T
        return r.reshape(len(r), -1)

    def _take_apart(self) -> None:
        used, features = self._used, self._design.features
        if used.size:
            own = self._product.reshape(features, used.size, self._design.outputs)
            self._slopes[used] += own.transpose(1, 0, 2)
            self._used = used[:0]

    @property
    def flat(self) -> Array:
        """(columns, size)."""
        self._take_apart()
        Q, spread, slopes = self._design.Q, self._design.spread, self._slopes
        if self._standardiser is not PLAIN:
            level = self._level if spread is None else self._level @ spread.T
            slopes = self._standardiser.gathered(slopes, level)
        flat = slopes.reshape(len(self._level), -1)
        return flat if Q is None else np.concatenate([flat, self._level @ Q], axis=1)
