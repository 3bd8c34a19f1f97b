"""The design matrix of an additive model, its penalties, and which columns are whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from hoag import penalties
from hoag._core.numeric import Array
from hoag.gam._bases import Basis
from hoag.gam._columns import Frame
from hoag.gam._errors import bad_terms
from hoag.gam._terms import Column, Term


@dataclass(frozen=True, eq=False)
class FittedTerm:
    """A basis, the term it is of, and where its coefficients and its λ are.

    reads    the columns of X that the basis is a function of
    columns  its columns of the design matrix, and so its coefficients
    lam      its λ, one for each penalty matrix
    """

    term: Term
    basis: Basis
    reads: tuple[Column, ...]
    columns: slice
    lam: slice

    @property
    def label(self) -> str:
        return self.basis.label


@dataclass(frozen=True, eq=False)
class Additive:
    """B = [B₁, B₂, …] and the means of its columns over the rows that were fitted.

    A fit with B is η = b + Bβ. What is shown of it is η = intercept_ + Σⱼ rowsⱼ coef_ⱼ, where

        curves   rows B − their mean, so that f has mean 0 over the rows that were fitted
        lines    rows x − its mean, with a slope for each unit of x as it was given
        levels   rows B, with coefficients whose mean over the categories is 0
    """

    parts: tuple[FittedTerm, ...]
    means: Array = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(frame: Frame, terms: Sequence[Term]) -> Additive:
        """The terms, as these columns show them."""
        parts: dict[str, FittedTerm] = {}
        first = lam = 0
        for term in terms:
            if not isinstance(term, Term):
                hint = "use smooth(), tensor(), linear() or category() of hoag.gam, or one formula."
                raise bad_terms(f"{term!r} is no term:", term, hint)
            names = {column: frame.name(column) for column in term.needs}
            for basis, reads in term.bases(names, frame.values(term.needs)):
                if basis.label in parts:
                    if basis.kind == "levels":
                        continue  # those of a curve by category, which were asked for, too
                    what = f"The term {basis.label} is there twice:"
                    raise bad_terms(what, basis.label, "leave one out.")
                columns = slice(first, first := first + basis.size)
                own = slice(lam, lam := lam + len(basis.penalties))
                parts[basis.label] = FittedTerm(term, basis, reads, columns, own)
        if not lam:
            what = "No term has a penalty, so there is nothing to tune:"
            raise bad_terms(what, list(parts), "add a smooth() or category().")
        return Additive(tuple(parts.values()))

    @property
    def size(self) -> int:
        return int(self.parts[-1].columns.stop)

    @property
    def penalties(self) -> Any:
        """Σⱼ exp(λⱼ) ½ βᵀSⱼβ, for the linear model of B."""
        return penalties.quadratic(
            [(part.columns, one.S) for part in self.parts for one in part.basis.penalties],
            names=[name for part in self.parts for name in part.basis.names],
            centred=[part.columns for part in self.parts if part.basis.centred],
        )

    def design(self, frame: Frame) -> Any:
        """B for some rows, CSR."""
        made = [part.basis.design(frame.values(part.reads)) for part in self.parts]
        return sparse.csr_matrix(sparse.hstack(made, format="csr"))

    @property
    def units(self) -> Array:
        """What a unit of each column of B is in the data: the spread of a line's column, else 1."""
        return self._each([part.basis.unit for part in self.parts])

    @property
    def centres(self) -> Array:
        """The row of B at which every f is 0, but for levels, whose coefficients see to that."""
        levels = self._each([part.basis.kind == "levels" for part in self.parts])
        return np.where(levels, 0.0, self.means)

    def _each(self, values: Sequence[float]) -> Array:
        """A number of each term, for each of its columns."""
        return np.repeat(values, [part.basis.size for part in self.parts])

    def rows(self, part: FittedTerm, B: Any) -> Array:
        """Those of a term's columns as its coefficients are shown; dense."""
        own = B.toarray() if sparse.issparse(B) else np.asarray(B)
        return np.asarray((own - self.centres[part.columns]) * self.units[part.columns])

    def gram(self, part: FittedTerm, B: Any, weights: Array) -> Array:
        """Σᵢ sᵢ(bᵢ − m)(bᵢ − m)ᵀ for the columns of a term, in their units."""
        own, m, unit = B[:, part.columns], self.means[part.columns], self.units[part.columns]
        square = (own.T @ own.multiply(weights[:, None])).toarray()
        return np.asarray((square - float(weights.sum()) * np.outer(m, m)) * np.outer(unit, unit))

    @property
    def shown(self) -> Array:
        """J with (coef_, intercept_) = J(β, b), (size + 1, size + 1)."""
        J = np.diag(np.append(1.0 / self.units, 1.0))
        J[-1, :-1] = self.centres
        for part in self.parts:
            if part.basis.kind == "levels":
                J[part.columns, part.columns] -= 1.0 / part.basis.size
                J[-1, part.columns] = 1.0 / part.basis.size
        return J

    def covariance(self, raw: Array, variances: Array, outputs: int) -> Array:
        """Of (coef_, intercept_), for each output, from that of (β, b).

            J raw Jᵀ + Σ τ²/L eeᵀ,   e = 1 for the intercept, −1 for the L levels of a category

        Levels are drawn about a mean of their own, which L of them show to τ²/L only, τ² their
        variance (`variances`, for each penalty): the intercept is this mean, and what it is off by
        is in the levels, too, with the other sign, so that no fitted row is the less certain.
        """
        each = np.eye(outputs)
        J = np.kron(self.shown, each)
        found = J @ raw @ J.T
        for part in self.parts:
            if part.basis.kind == "levels":
                e = np.zeros(self.size + 1)
                e[part.columns], e[-1] = -1.0, 1.0
                share = variances[part.lam.start] / part.basis.size
                found += share * np.kron(np.outer(e, e), each)
        return np.asarray(found)
