"""The moments of blocks of rows: folds add them up."""

from __future__ import annotations

from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.blocks import Blocks
from hoag._glm.chunks import Part
from hoag._glm.moments import Moments
from hoag._glm.span import Span
from hoag._linalg.operator import Inverse


class BlockMoments:
    """The moments of every block of rows, formed once: folds add them up.

    blocks   the rows, in the basis `span`
    centre   what is taken off a and y before squares are formed, so that less cancels later
    """

    def __init__(self, blocks: Blocks, span: Span) -> None:
        self.blocks, self.span = blocks, span

    def only(self, targets: npt.NDArray[np.intp], blocks: Blocks) -> BlockMoments:
        """For some of the targets, and blocks of these; their moments are not formed again."""
        some = BlockMoments(blocks, self.span)
        some.centre = (self.centre[0], self.centre[1][targets])
        some.of_blocks = [own.only(targets) for own in self.of_blocks]
        return some

    @cached_property
    def centre(self) -> tuple[Array, Array]:
        design = self.blocks.design
        p, K = design.features, design.outputs
        if design.Q is None:
            return np.zeros(p), np.zeros(K)
        return self.blocks.centre

    @cached_property
    def of_blocks(self) -> list[Moments]:
        return list(self.blocks.moments(*self.centre))

    def sum(self, members: npt.NDArray[np.bool_]) -> Moments:
        """Those of some blocks together."""
        zeros = Moments.none(self.blocks.design.features, self.blocks.design.outputs)
        return reduce(Moments.plus, (self.of_blocks[b] for b in np.flatnonzero(members)), zeros)

    def trained(self, members: npt.NDArray[np.bool_]) -> tuple[Moments, Array, Array]:
        """Those of training rows about their means ā and ȳ, where there is an intercept; both."""
        whole = self.sum(members)
        mean, level = np.zeros_like(whole.a), np.zeros_like(whole.y)
        if self.blocks.design.Q is not None:
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
        T, Q = self.blocks.design.outputs, self.blocks.design.Q
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
        Q = self.blocks.design.Q
        w = self.span.lifted(w)
        return w.ravel() if Q is None else np.concatenate([w.ravel(), Q.T @ b])

    def rows(self, members: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """(A, y, s) of some blocks, less the centre, dense."""
        p, K = self.blocks.design.features, self.blocks.design.outputs
        some = [(np.zeros((0, p)), np.zeros((0, K)), np.zeros(0))]
        some += [self._arrays[b] for b in np.flatnonzero(members)]
        A, y, s = (np.concatenate(parts) for parts in zip(*some, strict=True))
        return A, y, s

    @cached_property
    def _arrays(self) -> list[tuple[Array, Array, Array]]:
        gathered: list[list[Part]] = [[] for _ in range(self.blocks.train.shape[1])]
        for part in self.blocks.less(*self.centre):
            A = part.A.toarray() if issparse(part.A) else part.A
            gathered[part.block].append(part._replace(A=A))
        p, K = self.blocks.design.features, self.blocks.design.outputs
        none = (
            np.zeros((0, p)),
            np.zeros((0, K)),
            np.zeros(0),
        )  # rows of a block may weigh nothing
        found = []
        for parts in gathered:
            A, y, s = zip(none, *((part.A, part.y, part.weights) for part in parts), strict=True)
            found.append((np.concatenate(A), np.concatenate(y), np.concatenate(s)))
        return found
