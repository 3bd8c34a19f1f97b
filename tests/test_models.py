"""Invariances of the models, agreement with scikit-learn, and their errors."""

import numpy as np
import pytest
import registry
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

import hoag
from hoag import models
from hoag._glm import losses
from hoag._glm.folds import check_sparse
from hoag.errors import InvalidInputError

RNG = np.random.default_rng(1)
A, A_TEST = registry.rows(RNG, 40, 5), registry.rows(RNG, 25, 5)
LABELS, LABELS_TEST = RNG.integers(0, 2, 40), RNG.integers(0, 2, 25)
CLASSES, CLASSES_TEST = RNG.integers(0, 3, 40), RNG.integers(0, 3, 25)
Y, Y_TEST = RNG.normal(size=40), RNG.normal(size=25)


def solved(problem, lam, eps=1e-10):
    return hoag.criteria.Implicit(problem).evaluate(np.asarray(lam, dtype=float), eps)


@pytest.mark.parametrize("model", ["logistic", "multinomial", "ridge", "kernel-ridge"])
def test_row_weights_are_repeated_rows(model):
    y, y_test = {
        "logistic": (LABELS, LABELS_TEST),
        "multinomial": (CLASSES, CLASSES_TEST),
    }.get(model, (Y, Y_TEST))
    make = getattr(models, model.replace("-", "_"))
    times, times_test = RNG.integers(0, 3, 40), RNG.integers(1, 3, 25)
    weighted = make(A, y, A_TEST, y_test, sample_weight=times, test_weight=times_test)
    repeated = make(
        np.repeat(A, times, 0), np.repeat(y, times), np.repeat(A_TEST, times_test, 0),
        np.repeat(y_test, times_test),
    )  # fmt: skip
    lam = weighted.lam0 + 0.3
    one, other = solved(weighted, lam), solved(repeated, lam)
    assert one.value == pytest.approx(other.value, rel=1e-8)
    np.testing.assert_allclose(one.grad, other.grad, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("make", [models.logistic, models.ridge])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_dense_is_sparse_whatever_the_index_and_float_type(make, fmt):
    y, y_test = (LABELS, LABELS_TEST) if make is models.logistic else (Y, Y_TEST)
    lam = np.array([-0.5])
    wanted = solved(make(A, y, A_TEST, y_test, intercept=True), lam)
    S, S_test = registry.FORMATS[fmt](A), registry.FORMATS[fmt](A_TEST)
    for dtype in (np.int32, np.int64):
        for matrix in (S, S_test):
            matrix.indices, matrix.indptr = (
                matrix.indices.astype(dtype),
                matrix.indptr.astype(dtype),
            )
        found = solved(make(S, y, S_test, y_test, intercept=True), lam)
        assert found.value == pytest.approx(wanted.value, rel=1e-9)
        np.testing.assert_allclose(found.grad, wanted.grad, rtol=1e-7)
    single = solved(
        make(S.astype(np.float32), y, S_test.astype(np.float32), y_test, intercept=True), lam
    )
    assert single.value == pytest.approx(wanted.value, rel=1e-5)


@pytest.mark.parametrize("make", [models.logistic, models.multinomial, models.ridge])
def test_intercept_is_an_unpenalised_column_of_ones(make):
    y, y_test = {
        models.logistic: (LABELS, LABELS_TEST),
        models.multinomial: (CLASSES, CLASSES_TEST),
    }.get(make, (Y, Y_TEST))
    wanted = solved(make(A, y, A_TEST, y_test, intercept=True), [0.2])
    ones = [np.column_stack([M, np.ones(len(M))]) for M in (A, A_TEST)]
    groups = np.array([0, 0, 0, 0, 0, -1])
    found = solved(make(ones[0], y, ones[1], y_test, penalties=groups), [0.2])
    assert found.value == pytest.approx(wanted.value, rel=1e-8)
    np.testing.assert_allclose(found.grad, wanted.grad, rtol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_two_class_multinomial_is_logistic_with_lambda_larger_by_log_2(intercept):
    # w = (v, −v)/… : the penalty ½e^λ(‖v‖² + ‖v‖²)/4 on the difference is e^λ/2 of the binary one.
    binary = solved(models.logistic(A, LABELS, A_TEST, LABELS_TEST, intercept=intercept), [0.3])
    both = solved(
        models.multinomial(A, LABELS, A_TEST, LABELS_TEST, intercept=intercept),
        [0.3 + np.log(2)],
    )
    assert both.value == pytest.approx(binary.value, rel=1e-9)
    np.testing.assert_allclose(both.grad, binary.grad, rtol=1e-7)
    W = both.x[:10].reshape(5, 2)
    np.testing.assert_allclose(W[:, 1] - W[:, 0], binary.x[:5], rtol=1e-7)


def test_coefficients_are_scikit_learns():
    lam = np.array([0.7])
    alpha = float(np.exp(lam[0]))
    x = solved(models.logistic(A, LABELS, A_TEST, LABELS_TEST, intercept=True), lam).x
    other = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10000).fit(A, LABELS)
    np.testing.assert_allclose(x, np.append(other.coef_, other.intercept_), atol=1e-6)

    problem = models.multinomial(A, CLASSES, A_TEST, CLASSES_TEST, intercept=True)
    x = solved(problem, lam).x
    other = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10000).fit(A, CLASSES)
    np.testing.assert_allclose(x[:15].reshape(5, 3).T, other.coef_, atol=1e-5)
    intercepts = problem.train.design.Q @ x[15:]
    np.testing.assert_allclose(intercepts, other.intercept_ - other.intercept_.mean(), atol=1e-5)

    weights = RNG.uniform(0.5, 2, 40)
    x = solved(models.ridge(A, Y, A_TEST, Y_TEST, intercept=True, sample_weight=weights), lam).x
    other = Ridge(alpha=alpha).fit(A, Y, sample_weight=weights)
    np.testing.assert_allclose(x, np.append(other.coef_, other.intercept_), atol=1e-9)

    problem = models.kernel_ridge(A, Y, A_TEST, Y_TEST, sample_weight=weights)
    x = solved(problem, [-1.0, 0.7]).x
    other = KernelRidge(alpha=alpha, kernel="rbf", gamma=np.exp(-1.0)).fit(A, Y, weights)
    np.testing.assert_allclose(problem.dual_coef(x), other.dual_coef_, atol=1e-9)
    held_out = np.sum((Y_TEST - other.predict(A_TEST)) ** 2)
    assert problem.at(x, np.array([-1.0, 0.7])).g == pytest.approx(held_out, rel=1e-9)


def test_margins_of_ten_thousand_are_safe():
    far = np.array([1e4, -1e4])
    for y in (np.array([1.0, 1.0]), np.array([-1.0, -1.0])):
        at = losses.Logistic().at(y, far)
        np.testing.assert_allclose(at.value, np.maximum(-y * far, 0))
        assert np.all(np.isfinite(at.slope))
        assert np.all(at.curvature_bound >= 0)
    at = losses.Multinomial().at(np.array([0, 1]), np.array([[1e4, -1e4, 0], [1e4, -1e4, 0]]))
    np.testing.assert_allclose(at.value, [0, 2e4])
    assert np.all(np.isfinite(at.slope))
    np.testing.assert_allclose(at.slope.sum(axis=1), 0, atol=1e-15)
    # A confident row keeps its slope: e⁻⁴⁰ and not 0.
    assert losses.Logistic().at(np.ones(1), np.array([40.0])).slope[0] == pytest.approx(
        -np.exp(-40.0), rel=1e-12
    )


@given(
    n=st.integers(1, 6),
    d=st.integers(1, 4),
    scale=st.sampled_from([1e-8, 1e-3, 1.0, 1e3]),
    intercept=st.booleans(),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_any_shape_and_scale_gives_a_finite_certified_gradient(n, d, scale, intercept, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    rows, rows_test = scale * rng.normal(size=(n, d)), scale * rng.normal(size=(2, d))
    constant = data.draw(st.booleans())
    if constant:
        rows[:, 0] = 0.0
    y = np.append(rng.integers(0, 2, n - 1), 1) if n > 1 else np.array([1])
    if intercept and np.unique(y).size == 1:
        with pytest.raises(InvalidInputError, match="no training row"):
            models.logistic(rows, y, rows_test, [0, 1], classes=[0, 1], intercept=True)
        return
    problem = models.logistic(rows, y, rows_test, [0, 1], classes=[0, 1], intercept=intercept)
    found = hoag.criteria.Implicit(problem).evaluate(np.array([data.draw(st.floats(-3, 3))]), 1e-6)
    assert np.all(np.isfinite(found.grad))
    assert np.isfinite(found.error)


def test_confident_rows_keep_their_curvature():
    """Against 50 digits, where p − p² and p·v − p(p·v) cancel in double precision."""
    from decimal import Decimal, getcontext

    getcontext().prec = 50
    z, v = [60.0, 0.0, -3.0], [1e4, -2e4, 3e3]
    e = [Decimal(value).exp() for value in z]
    p = [value / sum(e) for value in e]
    mean = sum(a * Decimal(b) for a, b in zip(p, v, strict=True))
    wanted = [float(a * (Decimal(b) - mean)) for a, b in zip(p, v, strict=True)]
    trace = float(sum(a * (1 - a) for a in p))
    at = losses.Multinomial().at(np.array([0]), np.array([z]))
    np.testing.assert_allclose(at.hvp(np.array([v]))[0], wanted, rtol=1e-12)
    assert at.curvature_bound[0] == pytest.approx(trace, rel=1e-12)


def test_kernel_ridge_does_not_care_where_the_origin_is():
    lam = np.array([-1.0, -3.0])
    here = solved(models.kernel_ridge(A, Y, A_TEST, Y_TEST), lam)
    far = solved(models.kernel_ridge(A + 2.0**20, Y, A_TEST + 2.0**20, Y_TEST), lam)
    np.testing.assert_allclose(far.grad, here.grad, rtol=1e-6)


def test_folds_count_passes_over_all_rows():
    problems = models.folds(models.ridge, A, Y, cv=KFold(4))
    assert len(problems) == 4
    point = problems[0].at(problems[0].x0, problems[0].lam0)
    point.h_x  # noqa: B018
    assert problems[0].ledger.cost.passes == 1.0
    point.g_x  # noqa: B018
    assert problems[0].ledger.cost.held_out == 0.5  # the predictions are those of the training term


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: models.logistic(A, LABELS[:-1], A_TEST, LABELS_TEST), "40 rows but y has 39"),
        (
            lambda: models.logistic(A, LABELS, A_TEST[:, :4], LABELS_TEST),
            "5 columns but A_test has 4",
        ),
        (lambda: models.logistic(A, CLASSES, A_TEST, CLASSES_TEST), "two classes"),
        (lambda: models.logistic(A, LABELS, A_TEST, LABELS_TEST + 1), "not among the classes"),
        (lambda: models.multinomial(A, np.zeros(40), A_TEST, np.zeros(25)), "at least two classes"),
        (lambda: models.logistic(A * np.nan, LABELS, A_TEST, LABELS_TEST), "NaN"),
        (lambda: models.ridge(A, np.append(Y[1:], np.inf), A_TEST, Y_TEST), "infinity"),
        (lambda: models.ridge(A, Y, A_TEST, np.ones((25, 2))), "other targets"),
        (lambda: models.kernel_ridge(A, np.ones((40, 2)), A_TEST, Y_TEST), "one target"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, penalties="fancy"), "not known"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, penalties=[0, 1]), "shape"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, penalties=[0, 2, 2, 0, 0]), "without a gap"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, penalties=[-1] * 5), "no hyperparameter"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, penalties=np.ones(5)), "integers"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, sample_weight=-np.ones(40)), "non-negative"),
        (lambda: models.ridge(A, Y, A_TEST, Y_TEST, sample_weight=np.ones(3)), "40 rows"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_malformed_sparse_rows_are_refused():
    S = sparse.csr_matrix(A)
    S.indices[0] = 99
    with pytest.raises(ValueError, match="malformed"):
        models.ridge(S, Y, A_TEST, Y_TEST)
    S = sparse.csr_matrix(A)
    S.indptr[-1] -= 1
    with pytest.raises(ValueError, match="malformed"):
        models.ridge(S, Y, A_TEST, Y_TEST)


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("estimator", [hoag.KernelRidgeCV(), hoag.RidgeCV(cv=5)])
def test_entries_that_are_stored_in_parts_are_added_up(estimator, fmt):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    whole = sparse.csr_matrix(X).asformat(fmt)
    parts = np.repeat(whole.data, 2) * np.resize([3.0, -2.0], 2 * whole.nnz)
    doubled = type(whole)((parts, np.repeat(whole.indices, 2), 2 * whole.indptr), whole.shape)
    y = X[:, 0] + rng.normal(size=40)
    plain, found = (clone(estimator).fit(rows, y) for rows in (X, doubled))
    assert found.criterion_ == pytest.approx(plain.criterion_, rel=1e-9)
    np.testing.assert_allclose(found.predict(doubled), plain.predict(X), rtol=1e-6, atol=1e-9)
    assert doubled.nnz == 2 * whole.nnz  # which is the caller's


@pytest.mark.parametrize("estimator", [hoag.LogisticRegressionCV(), hoag.RidgeCV()])
@pytest.mark.parametrize("side", ["row", "col"])
@pytest.mark.parametrize("index", [-1, 10**6])
def test_coordinates_outside_the_matrix_are_refused_before_they_are_followed(
    estimator, side, index
):
    rng = np.random.default_rng(0)
    A = sparse.coo_matrix(rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.5))
    getattr(A, side)[0] = index
    with pytest.raises(ValueError, match="malformed sparse matrix"):
        estimator.fit(A, np.arange(50) % 2)


def test_blocks_outside_the_matrix_are_refused_before_they_are_followed():
    A = sparse.bsr_matrix(np.kron(np.eye(4), np.ones((2, 2))), blocksize=(2, 2))
    A.indices[1] = 10**6
    with pytest.raises(ValueError, match="malformed"):
        hoag.RidgeCV().fit(A, np.arange(8.0))


def test_a_loss_with_linear_tails_fits_too_and_is_not_taken_for_squares():
    """Its slope is bounded and its curvature 2 or 0, which says nothing of a constant Hessian."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 4))
    y = A @ rng.normal(size=4) + rng.standard_t(1.5, size=80)
    loss = losses.Huber(0.5)
    problem = hoag.models.linear(loss, A[:60], y[:60], A[60:], y[60:], outer=losses.Squared(1.0))
    assert not problem.facts.quadratic
    found = hoag.plan(problem).value(np.zeros(1), 1e-8)

    def h(x):
        return loss.value(y[:60], A[:60] @ x).sum() + 0.5 * x @ x

    def slope(x):
        return A[:60].T @ loss.slope(y[:60], A[:60] @ x) + x

    x = minimize(h, np.zeros(4), jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    assert found.value == pytest.approx(np.sum((y[60:] - A[60:] @ x) ** 2), rel=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("several", [False, True])
def test_entries_in_parts_are_added_up_among_unsorted_ones(form, several):
    rng = np.random.default_rng(0)
    whole = sparse.random(90, 30, 0.2, form, random_state=0)
    A = whole.copy()
    for start, stop in zip(A.indptr, A.indptr[1:], strict=False):
        turn = rng.permutation(stop - start)
        A.indices[start:stop], A.data[start:stop] = (
            A.indices[start:stop][turn],
            A.data[start:stop][turn],
        )
    A.has_sorted_indices = False
    if several:  # the first line has its first entry twice, half of it each
        A.indices = np.insert(A.indices, 0, A.indices[0])
        A.data = np.insert(A.data, 0, A.data[0] / 2, axis=0)
        A.data[1] /= 2
        A.indptr = A.indptr + (np.arange(A.indptr.size) > 0)
        A.has_canonical_format = False
    checked = check_sparse(A, "A")
    assert checked.nnz == whole.nnz
    assert checked.has_canonical_format
    np.testing.assert_allclose(checked.toarray(), whole.toarray())
