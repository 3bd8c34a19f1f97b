"""From arrays to problems: what is checked, encoded and copied on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import null_space
from sklearn.model_selection import check_cv
from sklearn.utils import check_array

from hoag.models.kernel_ridge import KernelRidgeProblem
from hoag.models.linear import LinearProblem
from hoag.models.losses import Logistic, Loss, Multinomial, Squared
from hoag.models.penalties import Penalties, group_numbers
from hoag.models.rows import DataTerm, Rows
from hoag.problem import Ledger, Problem
from hoag.values import Array, InvalidInput


def logistic(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    penalties: Penalties = "shared",
    intercept: bool = False,
    sample_weight: Any = None,
    test_weight: Any = None,
    classes: Any = None,
    unit: float | None = None,
) -> LinearProblem:
    """h = Σᵢ sᵢ log(1 + exp(−yᵢ aᵢᵀx)) + ½ Σⱼ exp(λ[group(j)]) xⱼ², g the same loss held out.

    Labels are any two values; the larger one is the positive class. With one shared penalty,
    C = exp(−λ) is scikit-learn's C.

    penalties   "shared", "per-feature", "per-coefficient", "per-class", or group numbers
    intercept   add a coefficient, last in x, that is not penalised
    classes     the labels, when the rows given do not show both
    unit        how many stored entries make one pass; by default those of A
    """
    classes = _classes(y, classes)
    if len(classes) != 2:
        raise InvalidInput(
            f"The binary model needs two classes; the labels have {len(classes)}. "
            + (
                "Use multinomial() for more."
                if len(classes) > 2
                else "Name both with classes=[...] if these rows happen to show only one."
            )
        )
    _check_classes(y, classes, sample_weight, intercept)
    return _linear_problem(
        (Logistic(), Logistic()),
        (A, _signs(y, classes, "y"), sample_weight),
        (A_test, _signs(y_test, classes, "y_test"), test_weight),
        outputs=1,
        basis=np.eye(1) if intercept else None,
        penalties=penalties,
        unit=unit,
    )


def multinomial(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    penalties: Penalties = "shared",
    intercept: bool = False,
    sample_weight: Any = None,
    test_weight: Any = None,
    classes: Any = None,
    unit: float | None = None,
) -> LinearProblem:
    """h = Σᵢ sᵢ (log Σ_c exp(aᵢᵀw_c) − aᵢᵀw_yᵢ) + ½ Σⱼ exp(λ[group(j)]) xⱼ².

    x holds W, shape (features, classes), row by row, then K − 1 intercepts in an orthonormal basis
    of the vectors that sum to zero (`problem.train.rows.Q`). Arguments as in `logistic`.
    """
    classes = _classes(y, classes)
    K = len(classes)
    if K < 2:
        raise InvalidInput("The multinomial model needs at least two classes; y has one.")
    _check_classes(y, classes, sample_weight, intercept)
    return _linear_problem(
        (Multinomial(), Multinomial()),
        (A, _codes(y, classes, "y"), sample_weight),
        (A_test, _codes(y_test, classes, "y_test"), test_weight),
        outputs=K,
        basis=null_space(np.ones((1, K))) if intercept else None,
        penalties=penalties,
        unit=unit,
    )


def ridge(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    penalties: Penalties = "shared",
    intercept: bool = False,
    sample_weight: Any = None,
    test_weight: Any = None,
    unit: float | None = None,
) -> LinearProblem:
    """h = ½ Σᵢ sᵢ ‖yᵢ − aᵢᵀx‖² + ½ Σⱼ exp(λ[group(j)]) xⱼ²,  g = Σᵢ s′ᵢ ‖y′ᵢ − a′ᵢᵀx‖².

    y may have several targets, shape (n, K); "per-class" is then one penalty for each target.
    With one shared penalty, exp(λ) is scikit-learn's alpha. Arguments as in `logistic`.
    """
    y, y_test = _targets(y, "y"), _targets(y_test, "y_test")
    if y.shape[1:] != y_test.shape[1:]:
        raise InvalidInput(f"y has shape {y.shape} but y_test {y_test.shape}: other targets.")
    outputs = 1 if y.ndim == 1 else y.shape[1]
    return _linear_problem(
        (Squared(0.5), Squared(1.0)),
        (A, y, sample_weight),
        (A_test, y_test, test_weight),
        outputs=outputs,
        basis=np.eye(outputs) if intercept else None,
        penalties=penalties,
        unit=unit,
    )


def kernel_ridge(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    sample_weight: Any = None,
    test_weight: Any = None,
    unit: float | None = None,
) -> KernelRidgeProblem:
    """(K(e^λ₁) + e^λ₂ I) x = y,  g = Σᵢ s′ᵢ (y′ᵢ − (K′(e^λ₁)x)ᵢ)², with λ = (log γ, log α).

    The kernel is scikit-learn's exp(−γ‖a − b‖²).
    """
    y, y_test = _targets(y, "y"), _targets(y_test, "y_test")
    if y.ndim != 1 or y_test.ndim != 1:
        raise InvalidInput("kernel_ridge takes one target: y and y_test of shape (n,).")
    A, A_test = _matrix(A, "A"), _matrix(A_test, "A_test")
    _check_sizes(A, y, A_test, y_test)
    weights = _weights(sample_weight, A.shape[0], "sample_weight")
    test_weights = _weights(test_weight, A_test.shape[0], "test_weight")
    return KernelRidgeProblem(A, y, A_test, y_test, weights, test_weights, unit)


def folds(
    make: Callable[..., Problem],
    A: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> list[Problem]:
    """One problem for each split of the rows: `make` is logistic, multinomial, ridge, ….

    `cv` is a number of folds, a scikit-learn splitter or an iterable of (train, test) indices.
    A pass is counted over all rows given, so a product with four fifths of them is 0.8.
    """
    A, y = _matrix(A, "A"), np.asarray(y)
    classifier = make in (logistic, multinomial)
    if classifier:
        options.setdefault("classes", np.unique(y))
    weights = _weights(sample_weight, A.shape[0], "sample_weight")
    entries = A.nnz if sparse.issparse(A) else A.size
    unit = float(A.shape[0]) ** 2 if make is kernel_ridge else float(entries)
    splitter = check_cv(cv, y, classifier=classifier)
    splits: Iterable[Any] = splitter.split(A, y, groups)
    problems = []
    for train, test in splits:
        parts: dict[str, Any] = {}
        if weights is not None:
            parts = {"sample_weight": weights[train], "test_weight": weights[test]}
        problems.append(make(A[train], y[train], A[test], y[test], unit=unit, **parts, **options))
    return problems


def _linear_problem(
    losses: tuple[Loss, Loss],
    train: tuple[Any, npt.NDArray[Any], Any],
    test: tuple[Any, npt.NDArray[Any], Any],
    outputs: int,
    basis: Array | None,
    penalties: Penalties,
    unit: float | None,
) -> LinearProblem:
    A, y, A_test, y_test = _matrix(train[0], "A"), train[1], _matrix(test[0], "A_test"), test[1]
    _check_sizes(A, y, A_test, y_test)
    ledger = Ledger()
    terms = []
    for matrix, target, loss, weight, name in (
        (A, y, losses[0], train[2], "passes"),
        (A_test, y_test, losses[1], test[2], "held_out"),
    ):
        entries = matrix.nnz if sparse.issparse(matrix) else matrix.size
        share = 1.0 if unit is None else entries / max(unit, 1.0)
        rows = Rows(matrix, outputs, basis, _charger(ledger, name, share))
        which = "sample_weight" if name == "passes" else "test_weight"
        terms.append(DataTerm(rows, loss, target, _weights(weight, rows.n, which)))
    intercepts = 0 if basis is None else basis.shape[1]
    groups = group_numbers(penalties, A.shape[1], outputs, intercepts)
    return LinearProblem(terms[0], terms[1], groups, ledger)


class _charger:
    """Writes `share` of every product into one column of the ledger; pickles."""

    def __init__(self, ledger: Ledger, column: str, share: float) -> None:
        self._ledger, self._column, self._share = ledger, column, share

    def __call__(self, passes: float) -> None:
        self._ledger.charge(**{self._column: self._share * passes})


def _matrix(A: Any, name: str) -> Any:
    if sparse.issparse(A) and A.format in ("csr", "csc"):
        # scikit-learn fits a malformed matrix silently, or crashes on it.
        if A.indptr[-1] != A.data.size or A.indices.size != A.data.size:
            raise InvalidInput(f"{name} is a malformed sparse matrix: its arrays disagree in size.")
        try:
            A.check_format(full_check=True)
        except ValueError as error:
            raise InvalidInput(f"{name} is a malformed sparse matrix: {error}.") from None
    return check_array(A, accept_sparse="csr", dtype=np.float64, input_name=name)


def _targets(y: Any, name: str) -> Array:
    y = np.asarray(y)
    checked = check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)
    return np.asarray(checked[:, 0] if checked.ndim == 2 and checked.shape[1] == 1 else checked)


def _weights(weights: Any, n: int, name: str) -> Array | None:
    if weights is None:
        return None
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name=name)
    if weights.shape != (n,):
        raise InvalidInput(f"{name} has shape {weights.shape}; there are {n} rows.")
    if np.any(weights < 0) or not np.any(weights > 0):
        raise InvalidInput(f"{name} must be non-negative, and positive for some row.")
    return np.asarray(weights)


def _check_sizes(A: Any, y: Any, A_test: Any, y_test: Any) -> None:
    if A.shape[1] != A_test.shape[1]:
        raise InvalidInput(f"A has {A.shape[1]} columns but A_test has {A_test.shape[1]}.")
    for matrix, target, name in ((A, y, ""), (A_test, y_test, "_test")):
        if matrix.shape[0] != len(target):
            raise InvalidInput(
                f"A{name} has {matrix.shape[0]} rows but y{name} has {len(target)} values."
            )


def _classes(y: Any, classes: Any) -> npt.NDArray[Any]:
    labels = np.asarray(y if classes is None else classes)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise InvalidInput("The labels hold a NaN or an infinity.")
    return np.unique(labels)


def _check_classes(y: Any, classes: npt.NDArray[Any], weights: Any, intercept: bool) -> None:
    """Without a row of some class, its intercept would run to minus infinity."""
    if not intercept:
        return
    seen = np.asarray(y) if weights is None else np.asarray(y)[np.asarray(weights) > 0]
    missing = np.setdiff1d(classes, seen)
    if missing.size:
        raise InvalidInput(
            f"The class {missing[0]!r} has no training row with a positive weight, so its "
            "intercept has no finite value. Use intercept=False, or splits that keep every class "
            "in training."
        )


def _codes(y: Any, classes: npt.NDArray[Any], name: str) -> npt.NDArray[np.intp]:
    y = np.asarray(y)
    if y.ndim != 1:
        raise InvalidInput(f"{name} has shape {y.shape}; labels are a flat array.")
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    unknown = classes[codes] != y
    if np.any(unknown):
        raise InvalidInput(
            f"{name} has the label {y[unknown][0]!r}, which is not among the classes "
            f"{np.array2string(classes, threshold=6)}."
        )
    return np.asarray(codes)


def _signs(y: Any, classes: npt.NDArray[Any], name: str) -> Array:
    return np.asarray(2.0 * _codes(y, classes, name) - 1.0, dtype=np.float64)
