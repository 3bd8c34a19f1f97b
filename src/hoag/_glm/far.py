"""Linear models whose rows are elsewhere: in files, or on workers.

Whatever criteria ask of the rows of all folds is a sum over rows, so every piece of them is a
`Blocks` of its own, and what is asked of all is asked of each and added (hoag._data). A gradient, a
product with ∇²h, the losses and slopes of held-out rows, for all folds: one read of all pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._data.engine import Engine
from hoag._data.piece import Piece
from hoag._glm.blocks import Blocks, Source, Sums
from hoag._glm.chunks import Part
from hoag._glm.drawn import below
from hoag._glm.far_rows import FarRows, seen
from hoag._glm.fold_rule import FoldRule
from hoag._glm.lens import Lens
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.moments import Moments
from hoag._glm.rows import ArrayRows, Rows
from hoag._glm.targets import Target
from hoag._glm.term import picked
from hoag.problems import Ledger


@dataclass(frozen=True, eq=False)
class Prepare:
    """A piece as it was given ↦ its rows in blocks, as the model takes them.

    rule    the block of every row
    lens    the units of X
    target  y ↦ Target; `weigh`: y and weights ↦ weights; `unit` is what these are multiplied by
    targets   the numbers of those targets that are looked at; None: all
    """

    rule: FoldRule
    lens: Lens
    target: Any
    weigh: Any
    unit: float
    targets: Any = None

    def __call__(self, i: int, piece: Piece) -> Blocks:
        weights, labels = labelled(self.rule, self.weigh, i, piece)
        try:
            target = self.target(piece.y)
        except InvalidInput as error:
            raise InvalidInput(f"In piece {i}, whose rows are counted from 0: {error}") from None
        return self.blocks(seen(piece.X, self.lens), target, self.unit * weights, labels)

    def blocks(
        self, rows: Rows, target: Target, weights: Array, labels: npt.NDArray[np.intp]
    ) -> Blocks:
        """Of rows that are here."""
        y, design = target.y, target.design(rows)
        if self.targets is not None:
            y, design = picked(y, self.targets), design.of_targets(self.targets)
        fits, judges = target.loss, target.outer
        alike = type(fits) is type(judges) and vars(fits) == vars(judges)
        folds = self.rule.patterns
        source = Source(rows, y, weights, labels)
        return Blocks(folds.train, folds.test, fits, judges, alike, design, [source])


def labelled(
    rule: FoldRule, weigh: Any, i: int, piece: Piece
) -> tuple[Array, npt.NDArray[np.intp]]:
    """The weights of the rows of piece i, and their blocks; −1 where the weight is 0."""
    weights = piece.weights if weigh is None else weigh(piece.y, piece.weights)
    return weights, np.where(weights > 0, rule.labels(i, piece.y), -1)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a piece, for folds that may be others than those it was prepared for."""

    train: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]
    ask: Any

    def __call__(self, blocks: Blocks) -> Any:
        return self.ask(replace(blocks, train=self.train, test=self.test))


class Sampled(NamedTuple):
    """Some rows that were kept when all were read: X, y, weights, blocks, and what each drew.

    `share` is that of all rows: those that drew less are here, all of them. See hoag._glm.drawn.
    """

    X: Any
    y: npt.NDArray[Any]
    weights: Array
    labels: npt.NDArray[np.intp]
    draws: Array
    share: float


class Known(NamedTuple):
    """What one read has told: the rows of every block, their weights, and Σᵢ sᵢ aᵢⱼ²."""

    counts: npt.NDArray[np.intp]
    weights: Array
    squares: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FarBlocks(Blocks):
    """The rows of K folds, in pieces that an engine goes through; some of them are at hand."""

    engine: Engine
    prepare: Prepare
    known: Known
    sample: Sampled

    def _total(self, name: str, *args: Any) -> Any:
        asked = Asked(self.train, self.test, methodcaller(name, *args))
        self.ledger.charge(reads=1.0)
        return self.engine.total(asked, self.prepare)

    def like(self, models: Sequence[LinearModel]) -> Blocks | None:
        return Blocks.of(models)

    def joined(self, models: Sequence[LinearModel]) -> FarBlocks:
        """For all folds of some models on these rows."""
        train = np.concatenate([model.train.far.train for model in models])
        test = np.concatenate([model.test.far.test for model in models])
        return self.of_folds(train, test)

    def of_folds(self, train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> FarBlocks:
        """The same rows for other folds."""
        return replace(self, train=train, test=test)

    @property
    def rows(self) -> list[Rows]:
        return [self.design.rows]

    @property
    def n(self) -> int:
        return int(self.design.n)

    @property
    def counts(self) -> npt.NDArray[np.intp]:
        return self.known.counts

    @property
    def weights(self) -> Array:
        return self.known.weights

    @property
    def here(self) -> bool:
        return False

    @property
    def whole(self) -> bool:
        """Whether the sample at hand is all rows."""
        return self.sample.share >= 1.0

    def on(self, rows: Sequence[Rows]) -> Blocks:
        """With other rows, which are here: y and the weights are brought here, too."""
        kept = self.engine.gathered(_beside_rows, self.prepare)
        y, weights, labels = (np.concatenate(part) for part in zip(*kept, strict=True))
        source = Source(rows[0], y, weights, labels)
        losses = (self.loss, self.outer, self.alike)
        design = self.design.on(rows[0])
        return Blocks(self.train, self.test, *losses, design, [source], self.ledger)

    def softened(self) -> Blocks | None:
        """None: pieces are prepared for one loss."""
        return None

    def parts(self) -> Iterator[Part]:
        """Brings all rows here, some at a time: for what few of them need."""
        self.ledger.charge(reads=1.0)
        for parts in self.engine.gathered(_parts, self.prepare):
            yield from parts

    def of_targets(self, targets: npt.NDArray[np.intp]) -> FarBlocks:
        prepare = replace(self.prepare, targets=targets)
        design = self.design.of_targets(targets)
        return replace(self, design=design, prepare=prepare, ledger=Ledger())

    def sampled(self, rows: int, seed: int) -> Blocks:
        """On rows that are at hand: about as many as are asked for, or all of these."""
        return self.at_hand(min(rows / self.n, self.sample.share)).weighing(self.weights)

    def at_hand(self, share: float) -> Blocks:
        """A share of all rows, with weights of their own: λ is about that of all rows, then."""
        kept, prepare = self.sample, self.prepare
        some = below(kept.draws, kept.labels, share)
        X, target = kept.X[some], prepare.target(kept.y[some])
        rows = seen(X, prepare.lens) if sparse.issparse(X) else ArrayRows(prepare.lens.of(X))
        found = prepare.blocks(rows, target, kept.weights[some], kept.labels[some])
        return replace(found, train=self.train, test=self.test)

    # ---- sums over all rows

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        anew = curved and not isinstance(self.loss, Squared)
        found: Sums = self._total("sums", X, T, anew, valued)
        judged = 0.5 * float((self.test @ self.counts).sum()) / self.n
        self.ledger.charge(passes=self.folds * (1.0 if T is None else 2.0), held_out=judged)
        if anew:
            self._charge_grams(self.folds)
        return found._replace(hessian=self._of_squares) if curved and not anew else found

    @cached_property
    def _of_squares(self) -> Array:
        self._charge_grams(self.folds)
        return np.asarray(self._total("curved_squares"))

    def bends_at(self, X: Array) -> FarBends:  # type: ignore[override]
        return FarBends(self, X)

    def held(self, k: int, X: Array) -> Array:
        self.ledger.charge(held_out=0.5 * len(X) * float(self.test[k] @ self.counts) / self.n)
        return np.asarray(self._total("held", k, X))

    def bent(self, X: Array, Q: Array, T: Array) -> Array:
        self.ledger.charge(passes=self.folds * (2.0 + T.shape[2]))
        return np.asarray(self._total("bent", X, Q, T))

    def expanded(self, x: Array, curved: bool = True) -> tuple[Array, Array, Array]:
        value, gradient, hessian = self._total("expanded", x, curved)
        self.ledger.charge(passes=1.0)
        if curved:
            self._charge_grams(1)
        return value, gradient, hessian

    def diagonals(self, X: Array) -> Array:
        self.ledger.charge(passes=0.5 * self.folds)
        return np.asarray(self._total("diagonals", X))

    @property
    def centre(self) -> tuple[Array, Array]:
        """Where the units have put it: columns, and y, are about 0 there."""
        return np.zeros(self.design.features), np.zeros(self.design.outputs)

    def moments(self, a: Array, y: Array) -> tuple[Moments, ...]:
        self.ledger.charge(grams=1.0)
        return tuple(self._total("moments", a, y))


class FarBends:
    """H_k v_k for all folds: with the x of each, for its z are not kept anywhere."""

    def __init__(self, blocks: FarBlocks, X: Array) -> None:
        self._blocks, self._X = blocks, X

    def times(self, V: Array) -> Array:
        self._blocks.ledger.charge(passes=1.5 * self._blocks.folds)
        return np.asarray(self._blocks._total("bent_along", self._X, V))


def far_rows(engine: Engine, prepare: Prepare, n: int, entries: int, is_sparse: bool) -> FarRows:
    def gathered() -> list[Any]:
        return engine.gathered(_matrix, prepare)

    return FarRows((n, engine.features), entries, is_sparse, gathered)


def _matrix(blocks: Blocks) -> Any:
    """The rows of a piece, whole."""
    rows = blocks.design.rows
    if rows.shape[0] == 0:
        return sparse.csr_matrix(rows.shape) if rows.is_sparse else np.zeros(rows.shape)
    return stacked([A for _, A in rows.blocks()])


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays, or sparse matrices, one below another."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _parts(blocks: Blocks) -> list[Part]:
    return list(blocks.parts())


def _beside_rows(blocks: Blocks) -> tuple[Any, Array, npt.NDArray[np.intp]]:
    (source,) = blocks.sources
    return source.y, source.weights, source.labels
