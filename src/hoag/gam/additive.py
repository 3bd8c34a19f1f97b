"""The design matrix of an additive model, its penalties, and which columns are whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from hoag.gam.bases import Basis
from hoag.gam.table import Table
from hoag.gam.terms import Term
from hoag.values import Array, InvalidInput


@dataclass(frozen=True, eq=False)
class Part:
    """A basis, the term it is of, and where its coefficients and its λ are."""

    term: Term
    basis: Basis
    columns: slice
    penalties: slice

    @property
    def label(self) -> str:
        return self.basis.label


@dataclass(frozen=True, eq=False)
class Additive:
    """B = [B₁, B₂, …] and the means of its columns over the rows that were fitted."""

    parts: tuple[Part, ...]
    means: Array = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(table: Table, terms: Sequence[Term]) -> Additive:
        """The terms, as these columns show them."""
        parts: list[Part] = []
        seen: set[str] = set()
        first = number = 0
        for term in terms:
            if not isinstance(term, Term):
                raise InvalidInput(
                    f"{term!r} is no term: use smooth(), tensor(), linear() or category() of "
                    "hoag.gam, or one formula for all."
                )
            for basis in term.fitted(table.named(term), table.values(term)):
                if basis.label in seen:
                    if basis.kind == "levels":
                        continue  # those of a curve by category, which were asked for, too
                    raise InvalidInput(f"The term {basis.label} is there twice: leave one out.")
                seen.add(basis.label)
                columns = slice(first, first := first + basis.size)
                own = slice(number, number := number + len(basis.forms))
                parts.append(Part(term, basis, columns, own))
        if not number:
            raise InvalidInput(
                "No term has a penalty, so there is nothing to tune: add a smooth() or category()."
            )
        return Additive(tuple(parts))

    @property
    def labels(self) -> list[str]:
        return [part.label for part in self.parts]

    @property
    def size(self) -> int:
        return int(self.parts[-1].columns.stop)

    def design(self, table: Table) -> Any:
        """B for some rows, CSR."""
        made = [part.basis.design(table.values(part.term)) for part in self.parts]
        return sparse.csr_matrix(sparse.hstack(made, format="csr"))

    def centred_rows(self, part: Part, B: Any) -> Array:
        """The columns of a part less their means, so that its f has mean 0; dense."""
        own = B[:, part.columns]
        own = own.toarray() if sparse.issparse(own) else np.asarray(own)
        return np.asarray(own - self.means[part.columns])
