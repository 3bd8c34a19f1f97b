"""The moments of cells of rows: folds add them up."""

from __future__ import annotations

from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.chunks import CellRows
from hoag._glm.design import RowwiseDesign
from hoag._glm.moments import Moments
from hoag._glm.span import Span
from hoag._linalg.operator import Inverse


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

    def trained(self, members: npt.NDArray[np.bool_]) -> tuple[Moments, Array, Array]:
        """Those of training rows about their means ā and ȳ, where there is an intercept; both."""
        whole = self.sum(members)
        mean, level = np.zeros_like(whole.a), np.zeros_like(whole.y)
        if self.design.predictor.Q is not None:
            mean, level = whole.a / whole.total, whole.y / whole.total
        return whole.about(mean, level), mean, level

    def solution(self, w: Array, mean: Array, level: Array) -> Array:
        """(W, b) as the model lays them out, for w, (r, T), fitted to rows about their means."""
        a, y = self.centre
        return self._joined(w, level + y - (mean + a) @ w)

    def reduced(self, r: Array, mean: Array) -> tuple[Array, Array]:
        """A gradient as the model lays it out by (w, b): along w where b follows it, and along b.

        b follows w so that the mean of the training rows is met, whatever w is.
        """
        T, Q = self.design.predictor.outputs, self.design.predictor.Q
        slopes = T * self.span.features
        w = self.span.within(r[:slopes].reshape(-1, T))
        b = np.zeros(T) if Q is None else Q @ r[slopes:]
        return w - np.outer(mean + self.centre[0], b), b

    def inverse(self, solve: Inverse, r: Array, mean: Array, total: float) -> Array:
        """∇²₁h⁻¹r, with the intercept eliminated; `solve` is that of rows about their mean."""
        w, b = self.reduced(r, mean)
        d = solve(w)
        return self._joined(d, b / total - (mean + self.centre[0]) @ d)

    def _joined(self, w: Array, b: Array) -> Array:
        Q = self.design.predictor.Q
        w = self.span.lifted(w)
        return w.ravel() if Q is None else np.concatenate([w.ravel(), Q.T @ b])

    def rows(self, members: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """(A, y, s) of some cells, less the centre, dense."""
        p, K = self.design.predictor.features, self.design.predictor.outputs
        some = [(np.zeros((0, p)), np.zeros((0, K)), np.zeros(0))]
        some += [self._arrays[b] for b in np.flatnonzero(members)]
        A, y, s = (np.concatenate(parts) for parts in zip(*some, strict=True))
        return A, y, s

    @cached_property
    def _arrays(self) -> list[tuple[Array, Array, Array]]:
        gathered: list[list[CellRows]] = [[] for _ in range(self.design.train.shape[1])]
        for part in self.design.centred(*self.centre):
            A = part.A.toarray() if issparse(part.A) else part.A
            gathered[part.cell].append(part._replace(A=A))
        p, K = self.design.predictor.features, self.design.predictor.outputs
        none = (
            np.zeros((0, p)),
            np.zeros((0, K)),
            np.zeros(0),
        )  # rows of a cell may weigh nothing
        found = []
        for parts in gathered:
            A, y, s = zip(none, *((part.A, part.y, part.weights) for part in parts), strict=True)
            found.append((np.concatenate(A), np.concatenate(y), np.concatenate(s)))
        return found
