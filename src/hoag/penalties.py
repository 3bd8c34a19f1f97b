"""Penalties that are no groups of coefficients, for `penalties=` of the linear estimators.

>>> import numpy as np
>>> import hoag
>>> hoag.penalties.quadratic([(slice(0, 3), np.ones(3))], names=["level"])
hoag.penalties.quadratic(1 forms: level)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hoag.estimators.sharing import Quadratics, Structure, dense
from hoag.values import ROUNDING, InvalidInput

__all__ = ["Structure", "quadratic"]


def quadratic(
    forms: Sequence[Any], *, names: Sequence[str] | None = None, centred: Sequence[slice] = ()
) -> Quadratics:
    """Σⱼ exp(λⱼ) ½ wᵀSⱼw with symmetric positive semidefinite Sⱼ, such as roughness.

    forms     one for each λ: (columns, S), with a slice of the columns of X and a matrix, dense or
              sparse, or a flat array for a diagonal
    names     what each λ is called; by default "form 0", …
    centred   slices of columns that add up to a constant, as the basis of a curve does: their part
              of the prediction is held at mean 0, and the intercept has the rest

    Coefficients that no form reaches are not penalised. Several outputs share λ.

    >>> import numpy as np
    >>> import hoag
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(100, 12)), np.diff(np.eye(12), axis=0)
    >>> y = X @ np.linspace(0, 1, 12) + rng.normal(size=100)
    >>> smooth = hoag.penalties.quadratic([(slice(0, 12), D.T @ D)])  # neighbours are alike
    >>> hoag.RidgeCV(penalties=smooth).fit(X, y).alpha_.shape
    (1,)
    """
    if not len(forms):
        raise InvalidInput("There is no form, and so no penalty to tune.")
    checked = []
    for j, form in enumerate(forms):
        if not (isinstance(form, tuple) and len(form) == 2):
            raise InvalidInput(f"Form {j} is no pair (slice of columns, matrix).")
        some = _columns(form[0], f"Form {j}")
        checked.append((some, _semidefinite(form[1], some.stop - some.start, j)))
    known = [f"form {j}" for j in range(len(checked))] if names is None else [*map(str, names)]
    if len(known) != len(checked):
        raise InvalidInput(f"There are {len(known)} names for {len(checked)} forms.")
    held = [_columns(some, f"centred[{k}]") for k, some in enumerate(centred)]
    for name, (some, S) in zip(known, checked, strict=True):
        for own in held:
            _check_centred(own, some, S, name)
    return Quadratics(checked, known, held)


def _columns(some: Any, name: str) -> slice:
    """A slice with both ends, which are numbers of columns."""
    if not (isinstance(some, slice) and some.step in (None, 1)):
        raise InvalidInput(f"{name} is for {some!r}: give a slice of columns, without a step.")
    if some.start is None or some.stop is None or not 0 <= some.start < some.stop:
        raise InvalidInput(
            f"{name} is for {some}: give a slice with both ends, counted from 0, that has columns."
        )
    return slice(int(some.start), int(some.stop))


def _semidefinite(S: Any, size: int, j: int) -> Any:
    """S of form j, dense or sparse or flat, without the eigenvalues that are rounding."""
    S = S if sparse.issparse(S) else np.asarray(S, dtype=float)
    if S.shape not in ((size,), (size, size)):
        raise InvalidInput(
            f"Form {j} has a matrix of shape {S.shape} for {size} columns: it should be "
            f"({size}, {size}), or ({size},)."
        )
    whole = dense(S)
    if not np.all(np.isfinite(whole)):
        raise InvalidInput(f"The matrix of form {j} has entries that are no finite numbers.")
    e, V = np.linalg.eigh(whole)
    least, most = float(e[0]), float(e[-1])
    symmetric = np.allclose(whole, whole.T, rtol=0, atol=ROUNDING * max(most, 0.0))
    if not (symmetric and most > 0 and least >= -(ROUNDING**0.5) * most):
        raise InvalidInput(
            f"The matrix of form {j} is not symmetric, positive semidefinite and above 0: its "
            f"eigenvalues go from {least:.2g} to {most:.2g}."
        )
    # Where some are negative, others as small as they are mean no more.
    kept = e > max(-size * least, size * ROUNDING * most)
    if np.all(kept | (np.abs(e) <= ROUNDING * most)):
        return S
    return (V[:, kept] * e[kept]) @ V[:, kept].T


def _check_centred(own: slice, some: slice, S: Any, name: str) -> None:
    """Whether a form lets the constant be that columns add up to, so that the intercept may."""
    constant = np.zeros(some.stop - some.start)
    constant[max(own.start - some.start, 0) : max(own.stop - some.start, 0)] = 1.0
    pulled = float(np.linalg.norm(dense(S) @ constant))
    if pulled > ROUNDING**0.5 * float(np.linalg.norm(dense(S))) * np.linalg.norm(constant):
        raise InvalidInput(
            f"The penalty {name!r} reaches the constant that columns {own.start} to "
            f"{own.stop - 1} add up to, which `centred` leaves to the intercept: leave them out of "
            "`centred`, or give a form that does not penalise a constant."
        )
