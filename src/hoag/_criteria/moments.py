"""The sufficient statistics of ridge regression: squares of cells of rows, which folds add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core import clock
from hoag._core.numeric import Array
from hoag._glm.design import RowwiseDesign
from hoag._glm.moments import Moments
from hoag._glm.span import Span
from hoag._linalg import eigen
from hoag._linalg.cholesky import Factor, factors, solved
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

    def trained(self, members: npt.NDArray[np.bool_]) -> tuple[Moments, Means]:
        """Those of training rows about their means."""
        whole = self.sum(members)
        means = Means(np.zeros_like(whole.a), np.zeros_like(whole.y), whole.total)
        if self.design.predictor.Q is not None:
            means = Means(whole.a / whole.total, whole.y / whole.total, whole.total)
        return whole.about(means.a, means.y), means

    def solution(self, w: Array, means: Means) -> Array:
        """(W, b) as the model lays them out, for w, (r, T), fitted to rows about their means."""
        a, y = self.centre
        return self._joined(w, means.y + y - (means.a + a) @ w)

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
        d = solve(w)
        return self._joined(d, b / means.total - (means.a + self.centre[0]) @ d)

    def _joined(self, w: Array, b: Array) -> Array:
        Q = self.design.predictor.Q
        w = self.span.lifted(w)
        return w.ravel() if Q is None else np.concatenate([w.ravel(), Q.T @ b])

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


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """The moments of all folds: of training rows about their means, of held-out rows about these.

    Products of columns, G and V, (K, p, p), are there once, however many targets there are.
    """

    cells: CellMoments
    means: Sequence[Means]
    G: Array
    V: Array
    B: Array  # (K, p, T)
    v: Array  # (K, p, T)
    c: Array  # (K, T)

    @staticmethod
    def of(cells: CellMoments) -> FoldMoments:
        design = cells.design
        trained = [cells.trained(members) for members in design.train]
        own = [moments for moments, _ in trained]
        means = [means for _, means in trained]
        held = [
            cells.sum(members).about(there.a, there.y)
            for members, there in zip(design.test, means, strict=True)
        ]
        return FoldMoments(
            cells,
            means,
            np.stack([part.gram for part in own]),
            np.stack([part.gram for part in held]),
            np.stack([part.cross for part in own]),
            np.stack([part.cross for part in held]),
            np.stack([part.squares for part in held]),
        )

    def only(self, targets: npt.NDArray[np.intp], design: RowwiseDesign) -> FoldMoments:
        """For some of the targets, and a design of these."""
        return replace(
            self,
            cells=self.cells.only(targets, design),
            means=[means._replace(y=means.y[targets]) for means in self.means],
            B=self.B[:, :, targets],
            v=self.v[:, :, targets],
            c=self.c[:, targets],
        )

    def factors(self, alpha: Array, lam: Array) -> list[Factor]:
        """Of G + diag(α), for α of shape (K, p)."""
        M = self.G.copy()
        np.einsum("kii->ki", M)[:] += alpha
        self.charge(M.shape[-1] / 3.0)
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

        With R the columns of diag(r) of group j, r of every fold in `roots`, (K, p), C = M⁻¹R, and
        U and D as `eigen.along` has them, that is at W − CU diag(D) UᵀRᵀW: one block of
        back-substitutions for all places of an axis, and for all targets. Changes, (s, L), that are
        nan are not asked for.
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
                some = slice(first, last)
                U, D = eigen.along(root[own, None] * C[own, some], changes[j])
                y, form = U.T @ (root[own, None] * w[own]), U.T @ (C[:, some].T @ VC[:, some]) @ U
                slope = (U.T @ slopes[some]) * y
                for k, part in enumerate(sets):
                    moved = (form * (y[:, part] @ y[:, part].T)) @ D
                    moved -= 2 * slope[:, part].sum(axis=1, keepdims=True)
                    total[k, j] += g[part].sum() + np.sum(D * moved, axis=0)
        self.charge(2 * columns.size + 2 * len(sets) * finite.sum())
        return total

    def charge(self, columns: float) -> None:
        """So many products of columns with matrices of every fold, in Gram matrices."""
        design = self.cells.design
        design.ledger.charge(grams=columns * design.folds / (2.0 * design.n))
