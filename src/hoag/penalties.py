"""Penalties that are no groups of coefficients, for `penalties=` of the linear estimators."""

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
    if not forms:
        raise InvalidInput("There is no form, and so no penalty to tune.")
    checked = []
    for j, form in enumerate(forms):
        if not (isinstance(form, tuple) and len(form) == 2 and isinstance(form[0], slice)):
            raise InvalidInput(f"Form {j} is no pair (slice of columns, matrix).")
        some, S = form
        if some.start is None or some.stop is None or some.step not in (None, 1):
            raise InvalidInput(f"Form {j} is for {some}: give a slice with both ends and no step.")
        S = S if sparse.issparse(S) else np.asarray(S, dtype=float)
        size = some.stop - some.start
        if S.shape not in ((size,), (size, size)):
            raise InvalidInput(
                f"Form {j} has a matrix of shape {S.shape} for {size} columns: it should be "
                f"({size}, {size}), or ({size},)."
            )
        whole = dense(S)
        least, most = np.linalg.eigvalsh(whole)[[0, -1]] if size else (0.0, 0.0)
        symmetric = np.allclose(whole, whole.T, rtol=0, atol=ROUNDING * max(most, 0.0))
        if not (symmetric and most > 0 and least >= -(ROUNDING**0.5) * most):
            raise InvalidInput(
                f"The matrix of form {j} is not symmetric, positive semidefinite and above 0: its "
                f"eigenvalues go from {least:.2g} to {most:.2g}."
            )
        checked.append((slice(int(some.start), int(some.stop)), S))
    known = [f"form {j}" for j in range(len(checked))] if names is None else [*map(str, names)]
    if len(known) != len(checked):
        raise InvalidInput(f"There are {len(known)} names for {len(checked)} forms.")
    return Quadratics(checked, known, list(centred))
