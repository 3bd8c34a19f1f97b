"""The sufficient statistics of ridge regression: squares of cells of rows, which folds add up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.design import RowwiseDesign
from hoag._glm.moments import Moments
from hoag._glm.span import Span
from hoag._linalg import eigen
from hoag._linalg.operator import Inverse


class Means(NamedTuple):
    """ā and ȳ of the rows that a fold trains on, 0 where there is no intercept; their weight."""

    a: Array
    y: Array
    total: float


class CellMoments:
    """The moments of every cell of rows, formed once: folds add them up.

    design   the rows, in the basis `span`
    centre   what is taken off a and y before squares are formed, so that less cancels later
    """

    def __init__(self, design: RowwiseDesign, span: Span) -> None:
        self.design, self.span = design, span

    def only(self, targets: npt.NDArray[np.intp], design: RowwiseDesign) -> CellMoments:
        """For some of the targets, and a design of these; their moments are not formed again."""
        some = CellMoments(design, self.span)
        some.centre = (self.centre[0], self.centre[1][targets])
        some.of_cells = [own.only(targets) for own in self.of_cells]
        return some

    @cached_property
    def centre(self) -> tuple[Array, Array]:
        predictor = self.design.predictor
        p, K = predictor.features, predictor.outputs
        if predictor.Q is None:
            return np.zeros(p), np.zeros(K)
        return self.design.centre

    @cached_property
    def of_cells(self) -> list[Moments]:
        return list(self.design.moments(*self.centre))

    def sum(self, members: npt.NDArray[np.bool_]) -> Moments:
        """Those of some cells together."""
        zeros = Moments.none(self.design.predictor.features, self.design.predictor.outputs)
        return reduce(Moments.plus, (self.of_cells[b] for b in np.flatnonzero(members)), zeros)

    def fold(self, train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> FoldSquares:
        """From the cells that are trained on, and those that are held out."""
        own = self.sum(train)
        means = self.means(own.a, own.y, own.total)
        own, held = (part.about(means.a, means.y) for part in (own, self.sum(test)))
        return FoldSquares(own.gram, held.gram, own.cross, held.cross, held.squares, means)

    def means(self, a: Array, y: Array, total: float) -> Means:
        """From the sums of some rows."""
        weight = np.inf if self.design.predictor.Q is None else total
        return Means(a / weight, y / weight, total)

    def solution(self, w: Array, means: Means) -> Array:
        """(W, b) as the model lays them out, for w, (r, T), fitted to rows about their means."""
        return self.tangent(w, means, means.y + self.centre[1])

    def slopes(self, x: Array) -> Array:
        """w, (…, r, T), of x, (…, size)."""
        predictor = self.design.predictor
        shape = (*x.shape[:-1], self.span.features, predictor.outputs)
        return self.span.within(x[..., : shape[-2] * shape[-1]].reshape(shape))

    def reduced(self, r: Array, means: Means) -> tuple[Array, Array]:
        """A gradient as the model lays it out by (w, b): along w where b follows it, and along b.

        b follows w so that the mean of the training rows is met, whatever w is.
        """
        T, Q = self.design.predictor.outputs, self.design.predictor.Q
        b = np.zeros(T) if Q is None else Q @ r[T * self.span.features :]
        return self.slopes(r) - np.outer(means.a + self.centre[0], b), b

    def inverse(self, solve: Inverse, r: Array, means: Means) -> Array:
        """∇²₁h⁻¹r, with the intercept eliminated; `solve` is that of rows about their mean."""
        w, b = self.reduced(r, means)
        return self.tangent(solve(w), means, b / means.total)

    def tangent(self, w: Array, means: Means, b: Array | float = 0.0) -> Array:
        """A step along w, which b follows, and one along b."""
        Q, W = self.design.predictor.Q, self.span.lifted(w).ravel()
        if Q is None:
            return W
        return np.concatenate([W, Q.T @ (b - (means.a + self.centre[0]) @ w)])

    def rows(self, members: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """(A, y, s) of some cells, less the centre, dense."""
        p, K = self.design.predictor.features, self.design.predictor.outputs
        none = (np.zeros((0, p)), np.zeros((0, K)), np.zeros(0))  # a cell's rows may weigh nothing
        parts = [none, *chain(*(self._arrays[b] for b in np.flatnonzero(members)))]
        A, y, s = (np.concatenate(each) for each in zip(*parts, strict=True))
        return A, y, s

    @cached_property
    def _arrays(self) -> list[list[tuple[Array, Array, Array]]]:
        """The parts of every cell."""
        cells: list[list[tuple[Array, Array, Array]]] = [[] for _ in range(self.design.counts.size)]
        for part in self.design.centred(*self.centre):
            A = part.A.toarray() if issparse(part.A) else part.A
            cells[part.cell].append((A, part.y, part.weights))
        return cells


class FoldSquares(NamedTuple):
    """Of a fold: squares of training rows about their means, and of held-out rows about these.

    Products of columns, G and V, (p, p), are there once, however many targets there are.
    """

    G: Array
    V: Array
    B: Array  # (p, T)
    v: Array  # (p, T)
    c: Array  # (T,)
    means: Means

    def only(self, targets: npt.NDArray[np.intp]) -> FoldSquares:
        """For some of the targets."""
        B, v, c = self.B[:, targets], self.v[:, targets], self.c[targets]
        return self._replace(B=B, v=v, c=c, means=self.means._replace(y=self.means.y[targets]))

    def fitted(self, solve: Inverse) -> tuple[Array, Array, Array]:
        """W, the squared error of every target, (T,), and half its gradient along W, (p, T)."""
        W = solve(self.B)
        half = self.V @ W - self.v
        return W, self.c + np.sum(W * (half - self.v), axis=0), half

    def along(
        self,
        solve: Inverse,
        groups: npt.NDArray[np.intp],
        changes: Array,
        root: Array,
        sets: Sequence[slice],
    ) -> Array:
        """The squared error of sets of targets, d·r² added to α of group j alone, (sets, s, L).

        With R the columns of diag(r) of group j, C = M⁻¹R, and U and D as `eigen.along` has them,
        that is at W − CU diag(D) UᵀRᵀW: one block of back-substitutions for all places of an axis,
        and for all targets. Changes d, (s, L), that are nan are not asked for.
        """
        asked = np.flatnonzero(np.any(np.isfinite(changes), axis=1))
        own = [np.flatnonzero(groups == j) for j in asked]
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *own])
        total = np.full((len(sets), *changes.shape), np.nan)
        W, g, half = self.fitted(solve)
        C = solve(np.eye(len(groups))[:, columns] * root[columns])
        VC, slopes = self.V @ C, C.T @ half
        ends = np.cumsum([0, *(some.size for some in own)])
        for j, rows, some in zip(asked, own, map(slice, ends, ends[1:]), strict=False):
            U, D = eigen.along(root[rows, None] * C[rows, some], changes[j])
            y, form = U.T @ (root[rows, None] * W[rows]), U.T @ (C[:, some].T @ VC[:, some]) @ U
            slope = (U.T @ slopes[some]) * y
            for k, part in enumerate(sets):
                moved = (form * (y[:, part] @ y[:, part].T)) @ D
                moved -= 2 * slope[:, part].sum(axis=1, keepdims=True)
                total[k, j] = g[part].sum() + np.sum(D * moved, axis=0)
        return total
