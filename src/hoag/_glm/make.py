"""From arrays to problems: one split, or folds, of every model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from hoag._core.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotSupportedError,
    check_given,
)
from hoag._core.types import CV, ArrayLike, MatrixLike
from hoag._glm.cox import cox_target, records
from hoag._glm.folds import as_penalty, as_rows, linear_folds, matrix, row_weights
from hoag._glm.groups import Penalties
from hoag._glm.kernel_ridge import KernelRidgeProblem
from hoag._glm.losses import ConcomitantHuber, LogLink, Ordinal
from hoag._glm.losses.base import Loss, OuterLoss
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty
from hoag._glm.rows import ArrayRows, Rows
from hoag._glm.targets import (
    Target,
    binary,
    multiclass,
    numbers,
    ordered,
    plain,
    positive_mean,
    regression,
    robust,
)
from hoag._glm.term import DataTerm
from hoag.problems import Charger, Ledger, Problem


def logistic(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = Σᵢ sᵢ log(1 + exp(−yᵢ aᵢᵀx)) + ½ Σⱼ exp(λ[group(j)]) xⱼ², g the same loss held out.

    With one shared penalty, C = exp(−λ) is scikit-learn's C.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Labels, any two values; the larger one is the positive class.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    intercept : bool, default=False
        Add a coefficient, last in x, that is not penalised.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    classes : array-like, default=None
        The labels, where the rows given do not show all of them.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = hoag.models.logistic(X[:400], y[:400], X[400:], y[400:], penalties="per-feature")
    >>> problem.lam0.size
    30
    """
    train = binary(y, classes, intercept)
    test = binary(y_test, train.classes, intercept, "y_test")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def multinomial(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = Σᵢ sᵢ (log Σ_c exp(aᵢᵀw_c) − aᵢᵀw_yᵢ) + ½ Σⱼ exp(λ[group(j)]) xⱼ².

    x holds W, shape (features, classes), row by row, then K − 1 intercepts in an orthonormal basis
    of the vectors that sum to zero (`problem.train.design.Q`). g is the same loss held out.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Labels, of any kind.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    intercept : bool, default=False
        Add a coefficient, last in x, that is not penalised.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    classes : array-like, default=None
        The labels, where the rows given do not show all of them.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = hoag.models.multinomial(X[::2], y[::2], X[1::2], y[1::2], penalties="per-class")
    >>> problem.lam0.size, problem.x0.size
    (3, 12)
    """
    train = multiclass(y, classes, intercept)
    test = multiclass(y_test, train.classes, intercept, "y_test")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def ridge(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = ½ Σᵢ sᵢ ‖yᵢ − aᵢᵀx‖² + ½ Σⱼ exp(λ[group(j)]) xⱼ²,  g = Σᵢ s′ᵢ ‖y′ᵢ − a′ᵢᵀx‖².

    With one shared penalty, exp(λ) is scikit-learn's alpha.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Numbers; with several targets, of shape (n, K), "per-class" is one penalty for each.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    intercept : bool, default=False
        Add a coefficient, last in x, that is not penalised.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> print(f"{hoag.minimize(problem).lam[0]:.2f}")
    -3.21
    """
    train = regression(y, intercept)
    test = regression(y_test, intercept, "y_test")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def kernel_ridge(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    widths: str = "shared",
    unit: float | None = None,
) -> KernelRidgeProblem:
    """(K(γ) + αI) x = y,  g = Σᵢ s′ᵢ (y′ᵢ − (K′(γ)x)ᵢ)², with λ = (log γ, log α).

    The kernel is scikit-learn's exp(−γ‖a − b‖²).

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Numbers.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    widths : {"shared", "per-feature"}, default="shared"
        "per-feature" gives every feature its own γⱼ, exp(−Σⱼ γⱼ(aⱼ − bⱼ)²), for dense rows.
    unit : float, default=None
        How many stored entries make one pass; None is those of the kernel matrix.

    Returns
    -------
    Problem
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.kernel_ridge(X[:60], y[:60], X[60:90], y[60:90])
    >>> problem.lam0.size  # the width and the ridge
    2
    """
    y, y_test = numbers(y, "y"), numbers(y_test, "y_test")
    if y.ndim != 1 or y_test.ndim != 1:
        raise InvalidDataError(
            "kernel_ridge takes one target: y and y_test of shape (n,).", parameter="y"
        )
    rows, held = matrix(A, "A"), matrix(A_test, "A_test")
    _check_sizes(rows, y, held, y_test)
    weights = row_weights(sample_weight, rows.shape[0], "sample_weight")
    test_weights = row_weights(test_weight, held.shape[0], "test_weight")
    return KernelRidgeProblem(rows, y, held, y_test, weights, test_weights, unit, widths)


def cox(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    penalties: Penalties | Penalty = "shared",
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    test_strata: ArrayLike | None = None,
    ties: str = "breslow",
) -> LinearModel:
    """h = L(s; Ax) + ½ Σⱼ exp(λ[group(j)]) xⱼ²,  g = L(s + s′; A′x) − L(s; A′x), A′ all rows.

    L is Cox's partial likelihood:

        L(s; z) = Σ_events sᵢ [log(Σ_{j at risk when i falls} sⱼ e^{zⱼ}) − zᵢ]

    g is what the held-out rows add to L of all rows, at the x of the training rows. There is no
    intercept. With one shared penalty, exp(λ) is scikit-survival's alpha.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n, 2) or structured array of shape (n,)
        Time and event (0 or 1), as two columns, or as scikit-survival has them.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m, 2) or structured array of shape (m,)
        Their times and events.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    strata : array-like of shape (n,), default=None
        A label for each row: risk sets are within a stratum.
    test_strata : array-like of shape (m,), default=None
        The same for the held-out rows.
    ties : {"breslow", "efron"}, default="breslow"
        How events at one time are compared.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, time = rng.normal(size=(90, 4)), rng.exponential(size=90)
    >>> y = np.column_stack([time * np.exp(-A[:, 0]), rng.random(90) < 0.7])
    >>> problem = hoag.models.cox(A[:60], y[:60], A[60:], y[60:], penalties="per-feature")
    >>> problem.lam0.size, bool(hoag.minimize(problem).converged)
    (4, True)
    """
    if isinstance(A, Rows) or isinstance(A_test, Rows):
        raise NotSupportedError(
            "cox compares held-out rows with training rows, and puts both into one matrix.\nGive "
            "arrays, or hoag.models.folds(hoag.models.cox, rows, y, cv=[(train, test)])."
        )
    parts = matrix(A, "A"), matrix(A_test, "A_test")
    tables = records(y), records(y_test, name="y_test")
    _check_sizes(parts[0], tables[0], parts[1], tables[1])
    n, n_test = map(len, tables)
    weights = np.append(
        row_weights(sample_weight, n, "sample_weight"),
        row_weights(test_weight, n_test, "test_weight"),
    )
    if (strata is None) != (test_strata is None):
        raise InvalidParameterError("Give both strata and test_strata, or neither.", "strata")
    every = None if strata is None else np.append(np.asarray(strata), np.asarray(test_strata))
    some_sparse = any(map(sparse.issparse, parts))
    together = sparse.vstack(parts, format="csr") if some_sparse else np.vstack(parts)
    target = cox_target(np.concatenate(tables), every, ties)
    splits = [(np.arange(n), np.arange(n, n + n_test))]
    return linear_folds(ArrayRows(together), target, splits, weights, penalties)[0]


def linear(
    loss: Loss,
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    outer: OuterLoss | None = None,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    test_offset: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = Σᵢ sᵢ loss(yᵢ, aᵢᵀx) + penalty(x, λ),  g = Σᵢ s′ᵢ outer(y′ᵢ, a′ᵢᵀx), with one's own loss.

    Parameters
    ----------
    loss : ScalarLoss
        An instance of a `hoag.glm.ScalarLoss`, or anything with its `at`.
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Numbers, as the loss takes them.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    outer : ScalarLoss, default=None
        The loss of held-out rows; None is the same.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    intercept : bool, default=False
        Add a coefficient, last in x, that is not penalised.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    offset : array-like of shape (n,), default=None
        With a loss of positive means: what is added to aᵢᵀx, the log of an exposure for one.
    test_offset : array-like of shape (m,), default=None
        The same for the held-out rows.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from hoag._glm.losses import Squared
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> halves = X[::2], y[::2], X[1::2], y[1::2]
    >>> problem = hoag.models.linear(Squared(), *halves, intercept=True)
    >>> problem.x0.size
    11
    """
    train = _by_loss(y, loss, outer, intercept, offset)
    test = _by_loss(y_test, loss, outer, intercept, test_offset, "y_test")
    if (offset is None) != (test_offset is None):
        raise InvalidParameterError("Give both offset and test_offset, or none.", "offset")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def ordinal(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    penalties: Penalties | Penalty = "shared",
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = −Σᵢ sᵢ log P(yᵢ) + ½ Σⱼ exp(λ[group(j)]) wⱼ²,  P(y > k) = σ(aᵢᵀw + level_k).

    x holds w and then one level for each threshold between two classes, counted from what the
    shares of the classes give (`problem.train.loss.cuts`). g is the same loss held out.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Classes in the order of their values, three or more.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    classes : array-like, default=None
        The labels, where the rows given do not show all of them.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grades = (y > 100) + 1 * (y > 200)
    >>> problem = hoag.models.ordinal(X[:300], grades[:300], X[300:], grades[300:])
    >>> problem.x0.size  # ten slopes, two thresholds
    12
    """
    train = ordered(y, classes)
    test = ordered(y_test, train.classes, cast(Ordinal, train.loss).cuts, "y_test")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def huber(
    A: MatrixLike | Rows,
    y: ArrayLike,
    A_test: MatrixLike | Rows,
    y_test: ArrayLike,
    *,
    delta: float = 1.35,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    unit: float | None = None,
) -> LinearModel:
    """h = ½ Σᵢ sᵢ (σ + σ H(rᵢ/σ)) + ½ Σⱼ exp(λ[group(j)]) wⱼ²,  rᵢ = aᵢᵀw − yᵢ.

    H(u) is u² up to |u| = delta and linear beyond; the spread σ is fitted, too, and last in x,
    counted from the spread of y. exp(λ) is the alpha of scikit-learn's HuberRegressor.

    Parameters
    ----------
    A : array-like, sparse matrix or Rows of shape (n, d)
        The training rows.
    y : array-like of shape (n,)
        Numbers.
    A_test : array-like, sparse matrix or Rows of shape (m, d)
        The held-out rows.
    y_test : array-like of shape (m,)
        Their targets.
    delta : float, default=1.35
        Where H becomes linear: scikit-learn's epsilon.
    penalties : str, array-like or Penalty, default="shared"
        Which coefficients share a λ: "shared", "per-feature", "per-coefficient", "per-class", group
        numbers, −1 for those without a penalty, or a `hoag.glm.Penalty`.
    intercept : bool, default=False
        Add a coefficient, last in x, that is not penalised.
    sample_weight : array-like of shape (n,), default=None
        sᵢ; None is 1 for every row.
    test_weight : array-like of shape (m,), default=None
        s′ᵢ, of the held-out rows; None is 1 for every row.
    unit : float, default=None
        How many stored entries make one pass; None is those of A.

    Returns
    -------
    LinearModel
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.huber(X[:300], y[:300], X[300:], y[300:], intercept=True)
    >>> problem.x0.size  # ten slopes, an intercept, the spread
    12
    """
    train = robust(y, delta, None, intercept)
    test = robust(y_test, delta, cast(ConcomitantHuber, train.loss).start, intercept, "y_test")
    return _hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def _by_loss(
    y: ArrayLike,
    loss: Loss,
    outer: OuterLoss | None = None,
    intercept: bool = False,
    offset: ArrayLike | None = None,
    name: str = "y",
) -> Target:
    outer = loss if outer is None else outer
    if isinstance(loss, LogLink):
        return positive_mean(y, loss, outer, intercept, offset, name)
    if offset is not None:
        raise InvalidParameterError(
            "An offset is for losses of positive means.\nSubtract it from y instead.", "offset"
        )
    return plain(y, loss, outer, intercept, name)


# How each model reads y, and which of its options say so.
READERS: dict[Any, tuple[Callable[..., Target], tuple[str, ...]]] = {
    logistic: (binary, ("classes", "intercept")),
    multinomial: (multiclass, ("classes", "intercept")),
    ridge: (regression, ("intercept",)),
    linear: (_by_loss, ("loss", "outer", "intercept", "offset")),
    ordinal: (ordered, ("classes",)),
    huber: (robust, ("delta", "intercept")),
    cox: (cox_target, ("strata", "ties")),
}


def _hold_out(
    train: tuple[Any, Target, Any],
    test: tuple[Any, Target, Any],
    penalties: Penalties | Penalty,
    unit: float | None,
) -> LinearModel:
    """One split, each part on rows of its own: A, y and weights for each."""
    target, target_test = train[1], test[1]
    if target.y.shape[1:] != target_test.y.shape[1:]:
        shapes = target.y.shape, target_test.y.shape
        raise InvalidDataError(
            f"y has shape {shapes[0]} but y_test {shapes[1]}: other targets.", parameter="y_test"
        )
    rows, rows_test = as_rows(train[0], "A"), as_rows(test[0], "A_test")
    _check_sizes(rows, target.y, rows_test, target_test.y)
    weights = row_weights(train[2], rows.shape[0], "sample_weight")
    test_weights = row_weights(test[2], rows_test.shape[0], "test_weight")
    if target.basis is not None and target.missing(weights).size:
        raise InvalidDataError(
            f"The class {target.missing(weights)[0]!r} has no training row with a positive "
            "weight, so its intercept has no finite value.\nUse intercept=False, or splits that "
            "keep every class in training.",
            parameter="y",
        )
    ledger = Ledger()
    designs = [target.design(r) for r in (rows, rows_test)]
    shares = [1.0 if unit is None else r.entries / unit for r in (rows, rows_test)]
    passes, held_out = Charger(ledger, "passes", shares[0]), Charger(ledger, "held_out", shares[1])
    return LinearModel(
        DataTerm(designs[0], target.loss, target.y, weights, passes),
        DataTerm(designs[1], target.outer, target_test.y, test_weights, held_out),
        as_penalty(penalties, designs[0]),
        ledger,
    )


def _check_sizes(A: Any, y: Any, A_test: Any, y_test: Any) -> None:
    if A.shape[1] != A_test.shape[1]:
        raise InvalidDataError(
            f"A has {A.shape[1]} columns but A_test has {A_test.shape[1]}.", parameter="A_test"
        )
    for rows, target, name in ((A, y, ""), (A_test, y_test, "_test")):
        if rows.shape[0] != len(target):
            raise InvalidDataError(
                f"A{name} has {rows.shape[0]} rows but y{name} has {len(target)} values.",
                parameter=f"y{name}",
            )


def folds(
    make: Callable[..., Problem],
    A: MatrixLike | Rows,
    y: ArrayLike,
    *,
    cv: CV = 5,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> list[Problem]:
    """One problem for each split of the rows, for `hoag.minimize` to add up.

    The folds of a linear model share one matrix and its transpose, with zero weights on the rows
    that are not theirs, so a product over any fold is a product over all rows: one pass. A held-out
    row of a class that its fold has not seen in training is not counted.

    Parameters
    ----------
    make : callable
        One of the functions here: `hoag.models.logistic`, `multinomial`, `ridge`, ….
    A : array-like, sparse matrix or Rows of shape (n, d)
        The rows of all folds.
    y : array-like of shape (n,)
        Their targets, as `make` takes them.
    cv : int, splitter or iterable, default=5
        A number of folds, a scikit-learn splitter or (train, test) indices; with `hoag.models.cox`,
        a number of folds is stratified by events.
    groups : array-like of shape (n,), default=None
        For splitters that keep groups of rows together.
    sample_weight : array-like of shape (n,), default=None
        The weights of the rows, in training and held out; None is 1 for every row.
    **options : dict
        Other arguments of `make`: penalties, intercept; `loss` and `outer` of `hoag.models.linear`;
        `strata` and `ties` of `hoag.models.cox`.

    Returns
    -------
    list of Problem
        For `hoag.minimize`.

    Raises
    ------
    InvalidDataError
        Where rows, targets or weights cannot be used.
    InvalidParameterError
        Where the penalties do not fit the coefficients.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import ShuffleSplit
    >>> X, y = load_diabetes(return_X_y=True)
    >>> len(hoag.models.folds(hoag.models.ridge, X, y, cv=ShuffleSplit(2, random_state=0)))
    2
    """
    check_given(y=y)
    y = np.asarray(y)
    rows = as_rows(A, "A")
    weights = row_weights(sample_weight, rows.shape[0], "sample_weight")
    if rows.shape[0] != len(y):
        raise InvalidDataError(
            f"A has {rows.shape[0]} rows but y has {len(y)} values.", parameter="y"
        )
    if make in READERS:
        reader, names = READERS[make]
        target = reader(y, **{name: options.pop(name) for name in names if name in options})
        shown = target.y["event"].astype(np.intp) if make is cox else y
        classes = target.classes is not None or make is cox
        splits = check_cv(cv, shown, classifier=classes).split(np.zeros(len(y)), shown, groups)
        return list(linear_folds(rows, target, splits, weights, **options))
    if isinstance(A, Rows):
        raise NotSupportedError(
            f"{make} needs an array or a sparse matrix, not {type(A).__name__}.", "A"
        )
    known = matrix(A, "A")
    unit = {"unit": float(known.shape[0]) ** 2} if make is kernel_ridge else {}
    return [
        make(
            *(known[train], y[train], known[test], y[test]),
            sample_weight=weights[train],
            test_weight=weights[test],
            **unit,
            **options,
        )
        for train, test in check_cv(cv, y).split(np.zeros(len(y)), y, groups)
    ]
