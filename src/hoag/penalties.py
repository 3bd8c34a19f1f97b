"""Penalties that are more than groups of coefficients, for `penalties=` of linear estimators.

>>> import numpy as np
>>> import hoag
>>> hoag.penalties.quadratic([(slice(0, 3), np.ones(3))], names=["level"])
hoag.penalties.quadratic(1 forms: level)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.numeric import ROUNDING, Array
from hoag._core.types import ArrayLike, MatrixLike
from hoag._linalg.orthogonal import independent
from hoag._linalg.symmetric import eigenvectors
from hoag.linear_model._compat import _get_feature_names
from hoag.linear_model._penalties import LEVEL, FromFeatures, Quadratics, Structure, dense

__all__ = ["Structure", "from_features", "quadratic"]


def quadratic(
    forms: Sequence[tuple[slice, MatrixLike]],
    *,
    names: Sequence[str] | None = None,
    centred: Sequence[slice] = (),
) -> Quadratics:
    """Σⱼ exp(λⱼ) ½ wᵀSⱼw with symmetric positive semidefinite Sⱼ, such as roughness.

    Coefficients that no form reaches are not penalised. Several outputs share λ.

    Parameters
    ----------
    forms : sequence of (slice, matrix)
        One for each λ: a slice of the columns of X, and S, a matrix, dense or sparse, or a flat
        array for a diagonal.
    names : sequence of str, default=None
        What each λ is called; None is "form 0", ….
    centred : sequence of slice, default=()
        Columns that add up to a constant, as the basis of a curve does: their part of the
        prediction is held at mean 0, and the intercept has the rest.

    Returns
    -------
    Structure
        For `penalties` of the linear estimators.

    Raises
    ------
    InvalidParameterError
        Where a matrix does not fit its columns, or is not positive semidefinite.

    Examples
    --------
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
        raise InvalidParameterError("There is no form, and so no penalty to tune.", "forms")
    checked = []
    for j, form in enumerate(forms):
        if not (isinstance(form, tuple) and len(form) == 2):
            raise InvalidParameterError(
                f"Form {j} is no pair (slice of columns, matrix).", "forms", form
            )
        some = _columns(form[0], f"Form {j}")
        checked.append((some, _semidefinite(form[1], some.stop - some.start, j)))
    known = [f"form {j}" for j in range(len(checked))] if names is None else [*map(str, names)]
    if len(known) != len(checked):
        raise InvalidParameterError(
            f"There are {len(known)} names for {len(checked)} forms.", "names"
        )
    held = [_columns(some, f"centred[{k}]") for k, some in enumerate(centred)]
    for name, (some, S) in zip(known, checked, strict=True):
        for own in held:
            _check_centred(own, some, S, name)
    return Quadratics(checked, known, held)


def from_features(Z: MatrixLike, *, groups: ArrayLike | None = None) -> FromFeatures:
    """log α = α₀ + Zα: penalties that what is known of the features explains.

    A few α are tuned in place of a penalty for each feature: `lam_`, `lam_interval_` and
    `penalties_` are of α, "level" first, by which all penalties have the same; `alpha_` has the
    penalties of the features, as with "per-feature". `bounds` are those of log α of a feature:
    beyond them it is clipped.

    Parameters
    ----------
    Z : array-like or DataFrame of shape (n_features, k) or (n_groups, k)
        A column for each thing that is known of a feature, or of a group, such as how often a word
        occurs; the column names of a DataFrame become those of α. Columns are centred and scaled to
        a mean square of 1.
    groups : array-like of shape (n_features,), default=None
        Group numbers of the features, or of the coefficients, −1 for those without a penalty, where
        Z has a row for each group.

    Returns
    -------
    Structure
        For `penalties` of the linear estimators.

    Raises
    ------
    InvalidParameterError
        Where Z or the groups cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> import hoag
    >>> rng = np.random.default_rng(0)
    >>> sizes = rng.choice([0.1, 1.0, 10.0], size=40)  # how large each effect may be
    >>> X = rng.normal(size=(80, 40))
    >>> y = X @ (sizes * rng.normal(size=40)) + 5 * rng.normal(size=80)
    >>> model = hoag.RidgeCV(penalties=hoag.penalties.from_features(np.log(sizes))).fit(X, y)
    >>> model.penalties_["name"].tolist(), model.alpha_.shape
    (['level', 'z0'], (40,))
    >>> bool(model.lam_[1] < 0)  # larger effects are penalised less
    True
    """
    named = _get_feature_names(Z)
    names = None if named is None else [str(name) for name in named]
    try:
        rows = cast(Any, Z).toarray() if sparse.issparse(Z) else np.asarray(Z, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            "The side information of from_features has entries that are no numbers.\nEncode them, "
            "such as by pandas.get_dummies(Z, drop_first=True)."
        ) from None
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not len(rows):
        raise InvalidDataError(
            f"The side information of from_features has shape {rows.shape}.\nGive a row for each "
            "feature and a column for each thing that is known of it."
        )
    names = [f"z{j}" for j in range(rows.shape[1])] if names is None else names
    if LEVEL in names:
        raise InvalidParameterError(
            f"A column of from_features is called {LEVEL!r}, which is what all penalties have in "
            "common.\nGive it another name.",
            "names",
        )
    numbers = None if groups is None else _group_numbers(groups, len(rows))
    return FromFeatures(_standardised(rows, names), names, numbers)


def _standardised(rows: Array, names: Sequence[str]) -> Array:
    """Every column with mean 0 and mean square 1; none may follow from the others."""
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        i, j = bad[0]
        raise InvalidDataError(
            f"The side information {names[j]!r} is {rows[i, j]} for feature {i}: all of it must "
            "be finite numbers.",
            f"feature {i}",
        )
    largest = np.max(np.abs(rows), axis=0, initial=0.0)
    Z = rows / np.where(largest > 0, largest, 1.0)
    Z = Z - Z.mean(axis=0)
    spread = np.sqrt(np.mean(Z**2, axis=0))
    constant = np.flatnonzero(spread <= ROUNDING)
    if constant.size:
        raise InvalidDataError(
            f"The side information {names[constant[0]]!r} is the same for all features: what they "
            f"have in common is the {LEVEL} already, so leave it out.",
            f"column {names[constant[0]]!r}",
        )
    Z = Z / spread
    if Z.shape[1] and not independent(Z):
        raise InvalidDataError(
            "Some columns of the side information of from_features follow from the others.\nLeave "
            "them out, or each of several would have any share of one effect."
        )
    return np.asarray(Z)


def _group_numbers(groups: Any, size: int) -> Any:
    numbers = np.asarray(groups)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidParameterError("groups of from_features are not whole numbers.", "groups")
    if int(numbers.max(initial=-1)) + 1 != size:
        raise InvalidDataError(
            f"from_features got {size} rows of side information for groups numbered up to "
            f"{int(numbers.max(initial=-1))}.\nGive one row for each group.",
            parameter="groups",
        )
    return numbers.astype(np.intp)


def _columns(some: Any, name: str) -> slice:
    """A slice with both ends, which are numbers of columns."""
    if not (isinstance(some, slice) and some.step in (None, 1)):
        raise InvalidParameterError(
            f"{name} is for {some!r}.\nGive a slice of columns, without a step.", "forms", some
        )
    if some.start is None or some.stop is None or not 0 <= some.start < some.stop:
        raise InvalidParameterError(
            f"{name} is for {some}.\nGive a slice with both ends, counted from 0, that has "
            "columns.",
            "forms",
            some,
        )
    return slice(int(some.start), int(some.stop))


def _semidefinite(S: Any, size: int, j: int) -> Any:
    """S of form j, dense or sparse or flat, without the eigenvalues that are rounding."""
    S = S if sparse.issparse(S) else np.asarray(S, dtype=float)
    if S.shape not in ((size,), (size, size)):
        raise InvalidParameterError(
            f"Form {j} has a matrix of shape {S.shape} for {size} columns: it should be ({size}, "
            f"{size}), or ({size},).",
            "forms",
            where=f"form {j}",
        )
    whole = dense(S)
    if not np.all(np.isfinite(whole)):
        raise InvalidParameterError(
            f"The matrix of form {j} has entries that are no finite numbers.",
            "forms",
            where=f"form {j}",
        )
    e, V = eigenvectors(whole)
    least, most = float(e[0]), float(e[-1])
    symmetric = np.allclose(whole, whole.T, rtol=0, atol=ROUNDING * max(most, 0.0))
    if not (symmetric and most > 0 and least >= -(ROUNDING**0.5) * most):
        raise InvalidParameterError(
            f"The matrix of form {j} is not symmetric, positive semidefinite and above 0: its "
            f"eigenvalues go from {least:.2g} to {most:.2g}.",
            "forms",
            where=f"form {j}",
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
        raise InvalidParameterError(
            f"The penalty {name!r} reaches the constant that columns {own.start} to "
            f"{own.stop - 1} add up to, which `centred` leaves to the intercept.\nLeave them out "
            "of `centred`, or give a form that does not penalise a constant.",
            "centred",
        )
