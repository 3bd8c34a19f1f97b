"""Vectors as people's own structures, and back.

Inside the library x and λ are flat arrays. Whoever writes h(x, λ) in JAX or PyTorch has dicts,
lists and modules with arrays of any shape as leaves. A `Tree` is what the two have in common: the
names and shapes of the leaves, in order, and how to rebuild the structure from arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidInputError, InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.scaling import Scale, Scales
from hoag.domains import is_domain, product
from hoag.problems import as_real, refuse_complex


class Tree:
    """A structure with named leaves, and the flat vector of all their numbers: here one array.

    what     what it is called in messages
    names    one for each leaf, such as "penalty/encoder/0"; "" where the whole is one array
    shapes   of each leaf
    """

    def __init__(
        self, what: str, names: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]
    ) -> None:
        self.what, self.names, self.shapes = what, names, shapes

    def rebuild(self, arrays: Sequence[Array]) -> Any:
        """A list of arrays, one for each leaf → the structure, as the user had it."""
        return arrays[0]

    def take(self, tree: Any) -> list[Array]:
        """The structure → its leaves as arrays; InvalidInputError where it is another structure."""
        if isinstance(tree, (dict, list, tuple)):
            raise self.refused()
        return [self.numbers_of(tree)]

    def spread(self, spec: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
        """A structure that stops earlier, what counts as its leaf → one entry for each leaf."""
        return [spec]

    def refused(self, why: Any = "") -> InvalidInputError:
        more = f": {why}" if why else "."
        return InvalidParameterError(
            f"What was given has another structure than {self.what}{more}", self.what
        )

    def numbers_of(self, leaf: Any) -> Array:
        """A leaf as an array of numbers in double precision."""
        if leaf is not None:  # which NumPy takes for a NaN
            try:
                refuse_complex("A vector of x or λ", np.asarray(leaf))
                return np.asarray(leaf, dtype=float)
            except (TypeError, ValueError) as error:
                if isinstance(error, InvalidInputError):
                    raise
        raise InvalidParameterError(
            f"{leaf!r} was given where numbers were expected, as {self.what} has them.",
            self.what,
            leaf,
        )

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
                raise InvalidParameterError(
                    f"{what} has shape {np.shape(leaf)}{where}, where the problem has {shape}.",
                    what,
                )
        parts = [
            np.broadcast_to(as_real(what, leaf), shape).ravel()
            for leaf, shape in zip(leaves, self.shapes, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


class Pytree(Tree, ABC):
    """A structure of the user's as a framework knows them: dicts, lists, tuples, modules.

    util     the framework's functions on pytrees
    free     which leaves are numbers to be fitted or tuned; the others stay as they are
    """

    util: Any

    def __init__(self, given: Any, what: str) -> None:
        paths, self._structure = self.util.tree_flatten_with_path(given)
        self._paths, self._leaves = [path for path, _ in paths], [leaf for _, leaf in paths]
        names = [self.name(path) for path, _ in paths]
        for k, name in enumerate(names):
            self._leaves[k] = self.checked(self._leaves[k], f"{what}: {name}" if name else what)
        self.free = [k for k, leaf in enumerate(self._leaves) if self.is_free(leaf)]
        shapes = tuple(np.shape(self._leaves[k]) for k in self.free)
        super().__init__(what, tuple(names[k] for k in self.free), shapes)

    @abstractmethod
    def name(self, path: Any) -> str:
        """The keys of a leaf, each of a dict, a place in a list or an attribute."""

    def checked(self, leaf: Any, where: str) -> Any:
        """A leaf as it is kept; a sentence where it can be none."""
        return leaf

    def is_free(self, leaf: Any) -> bool:
        return True

    def typed(self, arrays: Sequence[Array]) -> list[Any]:
        """Arrays as the user had the leaves."""
        return list(arrays)

    @property
    def leaves(self) -> list[Any]:
        return [self._leaves[k] for k in self.free]

    def filled(self, parts: Sequence[Any]) -> Any:
        """A structure like the user's with other leaves, which may be tracers."""
        leaves = list(self._leaves)
        for k, part in zip(self.free, parts, strict=True):
            leaves[k] = part
        return self._structure.unflatten(leaves)

    def made(self, flat: Any) -> Any:
        """The structure of a flat vector, which may be a tracer."""
        return self.filled(self.split(flat))

    def rebuild(self, arrays: Sequence[Array]) -> Any:
        return self.filled(self.typed(arrays))

    def take(self, tree: Any) -> list[Array]:
        """Leaf by leaf, by their places: a list will do for a tuple, and dicts have no order."""
        paths, structure = self.util.tree_flatten_with_path(tree)
        given = dict(paths)
        if set(given) != set(self._paths):
            raise self.refused(f"{structure} in place of {self._structure}.")
        return [self.numbers_of(given[self._paths[k]]) for k in self.free]

    def spread(self, spec: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
        given = dict(self.util.tree_flatten_with_path(spec, is_leaf=is_leaf)[0])
        above = [
            next((path[:k] for k in range(len(path) + 1) if path[:k] in given), None)
            for path in self._paths
        ]
        if set(above) == set(given):
            return [given[above[k]] for k in self.free]
        try:  # each leaf may have a list, as a pair
            found = self._structure.flatten_up_to(spec)
        except (ValueError, TypeError, KeyError):
            found = [{}]
        if any(isinstance(one, dict) for one in found):
            raise InvalidParameterError(
                f"{spec!r} has another structure than {self.what}.\nGive one entry for all of it, "
                "or a structure like it, or like its upper part.",
                self.what,
                spec,
            )
        return [found[k] for k in self.free]


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
        readings, refused = list[Any](), []
        for read in (self._pair_of_structures, self._structure_of_domains):
            try:
                readings.append(read(bounds))
            except InvalidInputError as error:
                refused.append(error)
        if not readings:
            pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
            raise refused[0 if pair and not any(map(is_domain, bounds)) else 1]
        one, other = readings[0], readings[-1]
        if one is not other and [*one.lower, *one.upper] != [*other.lower, *other.upper]:
            raise InvalidParameterError(
                f"bounds={bounds!r} may be a pair (lower, upper), and also a pair for each of the "
                "two parts of lam0.\nGive a hoag.Box(lower, upper), or lam0 as a dict.",
                "bounds",
            )
        return cast(Domain, one)

    def _pair_of_structures(self, bounds: Any) -> Domain:
        if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
            raise InvalidParameterError(f"bounds={bounds!r} is no pair (lower, upper).", "bounds")
        return OwnBox(self, *(self._end(end) for end in bounds))

    def _structure_of_domains(self, bounds: Any) -> Domain:
        """From a pair or a domain for each leaf."""
        each = self.lam.spread(bounds, lambda one: _is_pair(one) or is_domain(one))
        parts = [self._part(k, one) for k, one in enumerate(each)]
        if any(is_domain(one) and not isinstance(one, Box) for one in each):
            return product(list(zip(self.lam.sizes, parts, strict=True)))
        return OwnBox(self, *(np.concatenate(side) for side in zip(*parts, strict=True)))

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

    def _end(self, end: Any) -> Array:
        if isinstance(end, np.ndarray) and end.shape == (self.lam.size,):
            return self.scales.back(end, self.lam.numbers, "a bound")
        return self.moved(end, "a bound")

    def _part(self, k: int, given: Any) -> Any:
        """The domain of one leaf's part of u: its lower and its upper ends, for a pair."""
        if is_domain(given) and not isinstance(given, Box):
            self._check_linear(given, [k])
            return given
        shape = self.lam.shapes[k]
        try:
            both = (given.lower, given.upper) if isinstance(given, Box) else given
            lower, upper = (np.broadcast_to(np.asarray(e, dtype=float), shape) for e in both)
        except (TypeError, ValueError):
            raise InvalidParameterError(
                f"bounds hold {given!r}, which is no pair (lower, upper) for hyperparameters of "
                f"shape {shape}.",
                "bounds",
                given,
            ) from None
        own, names = Scales([self.scales.parts[k]]), [self.lam.names[k]] * lower.size
        return own.back(lower.ravel(), names, "a bound"), own.back(upper.ravel(), names, "a bound")

    def _check_linear(self, domain: Any, leaves: Iterable[int]) -> None:
        for k in leaves:
            if not Scales([self.scales.parts[k]]).linear:
                raise InvalidParameterError(
                    f"{domain!r} is a domain of λ itself.\nGive {self.lam.names[k] or 'lam'} the "
                    'scale "linear".',
                    "bounds",
                    domain,
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
