"""Vectors as people's own structures, and back.

Inside the library x and λ are flat arrays. Whoever writes h(x, λ) in JAX or PyTorch has dicts,
lists and modules with arrays of any shape as leaves. A `Tree` is what the two have in common: the
names and shapes of the leaves, in order, and how to rebuild the structure from arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag.domains import is_domain, product
from hoag.own.scales import Scale, Scales
from hoag.problems import as_real


@dataclass(frozen=True, eq=False)
class Tree:
    """A structure with named leaves, and the flat vector of all their numbers.

    names    one for each leaf, such as "penalty/encoder/0"; "" where the whole is one array
    shapes   of each leaf
    rebuild  a list of arrays, one for each leaf → the structure, as the user had it
    take     the structure → its leaves as arrays; InvalidInput where it is another structure
    spread   (a structure that stops earlier, what counts as its leaf) → one entry for each leaf
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    rebuild: Callable[[Sequence[Array]], Any]
    take: Callable[[Any], list[Array]]
    spread: Callable[[Any, Callable[[Any], bool]], list[Any]]

    @property
    def sizes(self) -> list[int]:
        return [int(np.prod(shape)) for shape in self.shapes]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """A name for every single number: the leaf's, with indices where it has several."""
        return tuple(
            name + ("" if shape == () else f"[{','.join(map(str, index))}]")
            for name, shape in zip(self.names, self.shapes, strict=True)
            for index in np.ndindex(*shape)
        )

    def split(self, flat: Any) -> list[Any]:
        """The leaves of a flat vector, of whatever library's arrays it is."""
        parts, start = [], 0
        for size, shape in zip(self.sizes, self.shapes, strict=True):
            parts.append(flat[start : start + size].reshape(shape))
            start += size
        return parts

    def tree(self, flat: Array) -> Any:
        return self.rebuild(self.split(np.asarray(flat)))

    def flat(self, tree: Any, what: str) -> Array:
        """A structure of this kind as a flat vector; a number stands for every entry."""
        if isinstance(tree, (int, float)) and self.shapes != ((),):
            return np.full(self.size, float(tree))
        leaves = self.take(tree)
        for name, leaf, shape in zip(self.names, leaves, self.shapes, strict=True):
            if np.shape(leaf) not in ((), shape):
                where = f" at {name}" if name else ""
                raise InvalidInput(
                    f"{what} has shape {np.shape(leaf)}{where}, where the problem has {shape}."
                )
        parts = [
            np.broadcast_to(as_real(what, leaf), shape).ravel()
            for leaf, shape in zip(leaves, self.shapes, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def nested(tree: Any, what: str, as_array: Callable[[Any], Array], as_leaf: Any) -> Tree:
    """A Tree of dicts, lists and tuples; as_leaf(k, array) is the k-th leaf as the user has it."""
    found = list(_leaves(tree, ()))
    shapes = tuple(np.shape(as_array(leaf)) for _, leaf in found)
    own = _Nested(tree, what, as_array, as_leaf)
    return Tree(tuple(name for name, _ in found), shapes, own.rebuild, own.take, own.spread)


@dataclass(frozen=True, eq=False)
class _Nested:
    """What `nested` was given; it pickles where that does."""

    tree: Any
    what: str
    as_array: Callable[[Any], Array]
    as_leaf: Callable[[int, Array], Any]

    def rebuild(self, arrays: Sequence[Array]) -> Any:
        rest = iter([self.as_leaf(k, array) for k, array in enumerate(arrays)])
        return _mapped(self.tree, lambda _: next(rest))

    def take(self, other: Any) -> list[Array]:
        try:
            return [self.as_array(leaf) for leaf in _together(self.tree, other, self.what, ())]
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"{other!r} was given where numbers were expected, as {self.what} has them."
            ) from None

    def spread(self, spec: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
        return _spread(self.tree, spec, is_leaf, self.what)


def _leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """(name, leaf) of every leaf, in order."""
    below = _children(node)
    if below is None:
        yield "/".join(path), node
    for key, child in below or ():
        yield from _leaves(child, (*path, str(key)))


def _children(node: Any) -> list[tuple[Any, Any]] | None:
    """(key, child) of a container; None of a leaf."""
    if isinstance(node, dict):
        return list(node.items())
    if isinstance(node, tuple) and type(node) is not tuple:  # a NamedTuple
        return list(zip(type(node)._fields, node, strict=True))  # type: ignore[attr-defined]
    if isinstance(node, (list, tuple)):
        return list(enumerate(node))
    return None


def _mapped(node: Any, leaf: Callable[[Any], Any]) -> Any:
    below = _children(node)
    if below is None:
        return leaf(node)
    mapped = {key: _mapped(child, leaf) for key, child in below}
    if isinstance(node, dict):
        return mapped
    if type(node) in (list, tuple):
        return type(node)(mapped.values())
    return type(node)(*mapped.values())


def _together(tree: Any, other: Any, what: str, path: tuple[str, ...]) -> list[Any]:
    """The leaves of `other`, which must have the structure of `tree`."""
    below = _children(tree)
    if below is None:
        if isinstance(other, (dict, list, tuple)):
            raise _other_structure(what, path)
        return [other]
    theirs = dict(_children(other) or ())
    if set(theirs) != {key for key, _ in below}:
        raise _other_structure(what, path)
    return [
        leaf
        for key, child in below
        for leaf in _together(child, theirs[key], what, (*path, str(key)))
    ]


def _spread(tree: Any, spec: Any, is_leaf: Callable[[Any], bool], what: str) -> list[Any]:
    below = _children(tree)
    if is_leaf(spec) or below is None:
        return [spec for _ in _leaves(tree, ())]
    theirs = dict(_children(spec) or ())
    if set(theirs) != {key for key, _ in below}:
        raise _other_structure(what, ())
    return [one for key, child in below for one in _spread(child, theirs[key], is_leaf, what)]


def _other_structure(what: str, path: tuple[str, ...]) -> InvalidInput:
    where = f" at {'/'.join(path)}" if path else ""
    return InvalidInput(f"What was given has another structure than {what}{where}.")


@dataclass(frozen=True, eq=False)
class Layout:
    """What the user's x and λ look like: how flat vectors are handed out, and back in.

    A search moves u, and λ = scales.to(u) is the user's.
    """

    x: Tree
    lam: Tree
    scales: Scales

    @staticmethod
    def of(x: Tree, lam: Tree, scale: Any) -> Layout:
        """With one scale for all of λ, or a structure of scales like λ, or like its upper part."""
        each = lam.spread(scale, lambda one: isinstance(one, (str, int, float, Scale)))
        parts = zip(lam.sizes, map(Scale.of, each), strict=True)
        return Layout(x, lam, Scales(list(parts)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of every hyperparameter; none where λ is one flat array."""
        plain = self.lam.names == ("",) and len(self.lam.shapes[0]) == 1
        return () if plain else self.lam.numbers

    @property
    def axes(self) -> tuple[str, ...]:
        """What the search moves, by name: that of each hyperparameter, with its scale."""
        return self.scales.words([_called("lam", name) for name in self.lam.numbers])

    def alike(self, other: Layout) -> bool:
        """Whether λ has the same names, shapes and scales."""
        if (self.lam.names, self.lam.shapes) != (other.lam.names, other.lam.shapes):
            return False
        u = np.linspace(-1.0, 1.0, max(self.lam.size, 2))[: self.lam.size]
        return bool(np.array_equal(self.scales.to(u), other.scales.to(u)))

    def given_lam(self, u: Array) -> Any:
        """λ as the user has it."""
        return self.lam.tree(self.scales.to(u))

    def given_x(self, x: Any) -> Any:
        """x as the user has it; a tuple of them for folds."""
        if x is None or isinstance(x, tuple):
            return x if x is None else tuple(self.given_x(one) for one in x)
        return self.x.tree(x)

    def moved(self, lam: Any, what: str = "lam") -> Array:
        """The u of a λ that the user gave."""
        return self.scales.back(self.lam.flat(lam, what), self.lam.numbers, what)

    def domain(self, bounds: Any) -> Domain:
        """The domain of u, from bounds on λ: a pair, a domain, or a structure of these.

        A pair is of numbers or structures like λ. Without any, u has the library's own box, −12 to
        12.
        """
        if bounds is None:
            return OwnBox(self, -12.0, 12.0)
        if isinstance(bounds, Box):
            bounds = (bounds.lower, bounds.upper)
        if is_domain(bounds):
            self._check_linear(bounds, range(len(self.lam.names)))
            return product([(self.lam.size, bounds)])
        parts = self._structure_of_domains(bounds)
        if parts is not None:
            return product(parts)
        readings, refused = [], []
        for read in (self._pair_of_structures, self._structure_of_pairs):
            try:
                readings.append(OwnBox(self, *read(bounds)))
            except InvalidInput as error:
                refused.append(error)
        if not readings:
            pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
            raise refused[0 if pair else 1]
        one, other = readings[0], readings[-1]
        if not (np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)):
            raise InvalidInput(
                f"bounds={bounds!r} may be a pair (lower, upper), and also a pair for each of the "
                "two parts of lam0. Give a hoag.Box(lower, upper), or lam0 as a dict."
            )
        return one

    def _pair_of_structures(self, bounds: Any) -> tuple[Array, Array]:
        if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
            raise InvalidInput(f"bounds={bounds!r} is no pair (lower, upper).")
        lower, upper = (self._end(end) for end in bounds)
        return lower, upper

    def _structure_of_pairs(self, bounds: Any) -> tuple[Array, Array]:
        pairs = self.lam.spread(bounds, _is_pair)
        ends = [self._ends(k, pair) for k, pair in enumerate(pairs)]
        lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
        return lower, upper

    def in_units_of(self, domain: Domain) -> Layout:
        """The same where u has a box no wider than the library's own, for λ that are linear.

        A search takes no step longer than two: of bounds that are 1e6 apart it would see nothing.
        """
        usual = self.domain(None)
        if not (isinstance(domain, Box) and isinstance(usual, Box)):
            return self
        most = float(np.max(usual.upper - usual.lower))
        parts, start = [], 0
        for size, scale in self.scales.parts:
            some = slice(start, start + size)
            widest = float(np.max(domain.upper[some] - domain.lower[some], initial=0.0))
            wide = Scales([(size, scale)]).linear and widest > most
            parts.append((size, Scale.of(widest / most) if wide else scale))
            start += size
        same = all(new is old for (_, new), (_, old) in zip(parts, self.scales.parts, strict=True))
        return self if same else Layout(self.x, self.lam, Scales(parts))

    def _structure_of_domains(self, bounds: Any) -> list[tuple[int, Any]] | None:
        """(size, domain) for each leaf, where one of them at least is more than a pair."""
        try:
            each = self.lam.spread(bounds, lambda one: _is_pair(one) or is_domain(one))
        except InvalidInput:
            return None
        if not any(is_domain(one) and not isinstance(one, Box) for one in each):
            return None
        return [self._part(k, one) for k, one in enumerate(each)]

    def _end(self, end: Any) -> Array:
        if isinstance(end, np.ndarray) and end.shape == (self.lam.size,):
            return self.scales.back(end, self.lam.numbers, "a bound")
        return self.moved(end, "a bound")

    def _part(self, k: int, given: Any) -> tuple[int, Any]:
        """The size of one leaf, and the domain of its part of u."""
        if is_domain(given) and not isinstance(given, Box):
            self._check_linear(given, [k])
            return self.lam.sizes[k], given
        return self.lam.sizes[k], self._ends(k, given)

    def _ends(self, k: int, pair: Any) -> tuple[Array, Array]:
        """The lower and the upper ends of one leaf's part of u."""
        shape = self.lam.shapes[k]
        try:
            both = (pair.lower, pair.upper) if isinstance(pair, Box) else pair
            lower, upper = (np.broadcast_to(np.asarray(e, dtype=float), shape) for e in both)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"bounds hold {pair!r}, which is no pair (lower, upper) for hyperparameters of "
                f"shape {shape}."
            ) from None
        own, names = Scales([self.scales.parts[k]]), [self.lam.names[k]] * lower.size
        return own.back(lower.ravel(), names, "a bound"), own.back(upper.ravel(), names, "a bound")

    def _check_linear(self, domain: Any, leaves: Iterable[int]) -> None:
        for k in leaves:
            if not Scales([self.scales.parts[k]]).linear:
                raise InvalidInput(
                    f"{domain!r} is a domain of λ itself: give {self.lam.names[k] or 'lam'} the "
                    'scale "linear".'
                )


def _called(what: str, name: str) -> str:
    """The name of a number; `what` with its index, where the whole is one array."""
    return f"{what}{name}" if name[:1] in ("", "[") else name


def _is_pair(one: Any) -> bool:
    """(lower, upper) of one leaf, or of all below a branch; and not a tuple of such pairs."""
    if isinstance(one, tuple):
        return not any(isinstance(end, (tuple, Box)) for end in one)
    return isinstance(one, Box)


class OwnBox(Box):
    """A box of u that speaks of λ, by the user's names and in the user's units."""

    def __init__(self, layout: Layout, lower: Any, upper: Any) -> None:
        super().__init__(lower, upper, size=layout.lam.size)
        object.__setattr__(self, "layout", layout)

    layout: Layout

    def shown(self, lam: Array) -> Array:
        return self.layout.scales.to(lam)

    def told(self, lam: Array, j: int, what: str = "lam") -> str:
        name = self.layout.lam.numbers[j]
        where = _called(what, name)
        return f"{where if where != name else f'{what}: {name}'} = {self.shown(lam)[j]:g}"
