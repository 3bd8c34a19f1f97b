"""The types of what users give, in one place.

ArrayLike   what np.asarray takes: arrays, lists, pandas' frames and series
MatrixLike  the same, or a sparse matrix or array
PyTree      a structure of arrays as the user has it (dicts, lists, tuples, modules), or an array
Warm        where an evaluation may start: only the criterion that made it opens it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike as ArrayLike


class Sparse(Protocol):
    """A sparse matrix or array of SciPy."""

    def tocsr(self, copy: bool = ...) -> Any: ...


class Operator(Protocol):
    """A square matrix by its products: an array, a sparse matrix, or a LinearOperator."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __matmul__(self, v: Any, /) -> Any: ...


class Projects(Protocol):
    """A closed convex set that λ may move in, by its projection."""

    def project(self, lam: Any, /) -> Any: ...


class CVSplitter(Protocol):
    """Of scikit-learn: what cuts rows into training and held-out ones."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]: ...


class ProblemLike(Protocol):
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ), as anybody writes it."""

    @property
    def x0(self) -> Any: ...

    @property
    def lam0(self) -> Any: ...

    def at(self, x: Any, lam: Any, /) -> Any: ...


MatrixLike: TypeAlias = ArrayLike | Sparse
Path: TypeAlias = str | PathLike[str]
PyTree: TypeAlias = Any
Warm: TypeAlias = Any
Bounds: TypeAlias = tuple[ArrayLike, ArrayLike] | Projects | Mapping[str, Any] | Sequence[Any]
CV: TypeAlias = int | CVSplitter | Iterable[tuple[ArrayLike, ArrayLike]]
