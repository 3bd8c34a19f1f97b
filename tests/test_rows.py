"""What linear models are made of: matrices without a transpose, rows of a split, losses as sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, log_softmax, softmax

import hoag
from hoag import models
from hoag._glm import losses, rows
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import binary


def dense(matrix):
    return np.concatenate([block for _, block in matrix.dense_blocks()])


def wide(A):
    """The same rows with 64-bit indices."""
    A = sparse.csr_matrix(A)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


@given(
    n=st.integers(1, 7),
    d=st.integers(1, 5),
    density=st.sampled_from([0.0, 0.4, 1.0]),
    scale=st.sampled_from([1.0, 0.25, 1e-100]),
    is_sparse=st.booleans(),
    block=st.sampled_from([1.0, 3.0, 1e5]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=80, deadline=None)
def test_a_matrix_is_its_dense_array(n, d, density, scale, is_sparse, block, seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    A = wide(D) if is_sparse else D
    matrix = ArrayRows(A).scaled(scale) if seed % 2 else ArrayRows(A, scale)
    assert matrix.entries == (A.nnz if is_sparse else n * d)
    if is_sparse:
        assert matrix.A.indices.dtype == matrix.A.indptr.dtype == np.int32
        assert np.shares_memory(matrix.A.data, A.data) or A.nnz == 0
        assert A.indices.dtype == np.int64  # the caller's is left as it was
    whole, S = scale * D, rng.uniform(0, 2, n)
    kept = rows.BLOCK_ENTRIES
    rows.BLOCK_ENTRIES = block  # rows are squared some at a time
    try:
        squares, norms = matrix.squared_backward(S), matrix.squared_norms
    finally:
        rows.BLOCK_ENTRIES = kept
    close = {"rtol": 1e-12, "atol": 0.0}
    np.testing.assert_allclose(squares, S @ whole**2, **close)
    np.testing.assert_allclose(norms, np.sum(whole**2, axis=1), **close)
    np.testing.assert_allclose(dense(matrix), whole, **close)
    size = {"rtol": 1e-12, "atol": 1e-13 * scale}
    for shape in ((), (3,)):
        v, u = rng.normal(size=(d, *shape)), rng.normal(size=(n, *shape))
        np.testing.assert_allclose(matrix.forward(v), whole @ v, **size)
        np.testing.assert_allclose(matrix.backward(u), whole.T @ u, **size)
    wanted = whole.T @ (S[:, None] * whole)
    np.testing.assert_allclose(matrix.gram(S), wanted, rtol=1e-12, atol=1e-13 * scale**2)


@pytest.mark.parametrize("to", [np.array, wide, sparse.csr_matrix, sparse.csr_array])
def test_some_rows_are_a_slice_and_are_copied_only_where_they_are_scattered(to):
    rng = np.random.default_rng(0)
    D = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.5)
    D[3] = 0.0
    matrix = ArrayRows(to(D), 0.5)

    def memory(matrix):
        return matrix.A.data if sparse.issparse(matrix.A) else matrix.A

    for first, last in ((0, 9), (2, 6), (3, 4), (8, 9)):
        part = matrix.take(np.arange(first, last))
        assert np.array_equal(dense(part), 0.5 * D[first:last])
        assert np.shares_memory(memory(part), memory(matrix)) or not memory(part).size
        np.testing.assert_allclose(part.forward(np.ones(4)), 0.5 * D[first:last] @ np.ones(4))
    for some in ([5, 1, 1], [0, 2], [8, 7]):
        part = matrix.take(np.array(some))
        assert np.array_equal(dense(part), 0.5 * D[some])
        assert not np.shares_memory(memory(part), memory(matrix))
    with pytest.raises(ValueError, match=r"dimension mismatch|matmul"):
        matrix.take(np.arange(2)).forward(np.ones(5))


@pytest.mark.parametrize("to", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_single_split_is_the_problem_on_its_slices(to, scattered, intercept):
    rng = np.random.default_rng(1)
    A, weights = rng.normal(size=(60, 5)), rng.uniform(0.2, 2.0, 60)
    y = np.where(A[:, 0] + rng.normal(size=60) > 0, 1, -1)
    order = rng.permutation(60) if scattered else np.arange(60)
    train, test = np.sort(order[:40]), np.sort(order[40:])
    matrix, target = ArrayRows(to(A)), binary(y, None, intercept)
    (split,) = linear_folds(matrix, target, [(train, test)], weights)
    assert (split.train.design.n, split.test.design.n) == (40, 20)
    own = models.logistic(
        to(A[train]), y[train], to(A[test]), y[test],
        intercept=intercept, sample_weight=weights[train], test_weight=weights[test],
    )  # fmt: skip
    for lam in (-2.0, 1.0):
        here, there = (
            hoag.criteria.Implicit(p).evaluate(np.array([lam]), 1e-9) for p in (split, own)
        )
        assert here.value == pytest.approx(there.value, rel=1e-12)
        assert here.grad[0] == pytest.approx(there.grad[0], rel=1e-9)
        assert here.cost == there.cost  # a pass is over the rows of the split
    two = linear_folds(matrix, target, [(train, test), (test, train)], weights)
    assert all(p.train.design is p.test.design and p.train.design.rows is matrix for p in two)
    f, f_two = (hoag.criteria.Implicit(p).evaluate(np.ones(1), 1e-9).value for p in (split, two[0]))
    assert f == pytest.approx(f_two, rel=1e-12)


@given(
    loss=st.sampled_from([losses.Logistic(), losses.Multinomial(), losses.Squared(0.7)]),
    n=st.integers(1, 6),
    K=st.integers(1, 4),
    m=st.integers(0, 5),
    scale=st.sampled_from([0.0, 1.0, 30.0]),
    zeros=st.booleans(),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_gram_is_the_sum_of_its_rows(loss, n, K, m, scale, zeros, seed):
    rng = np.random.default_rng(seed)
    K = max(K, 2) if isinstance(loss, losses.Multinomial) else K
    K = 1 if isinstance(loss, losses.Logistic) else K
    z = scale * rng.normal(size=(n, K) if K > 1 else n)
    y = {
        losses.Multinomial: rng.integers(0, K, n),
        losses.Logistic: rng.choice([-1.0, 1.0], n),
    }.get(type(loss), rng.normal(size=z.shape))
    s = rng.uniform(0.1, 2, n) * (rng.random(n) < (0.5 if zeros else 1.0))
    Z, at = rng.normal(size=(n * K, m)), loss.at(y, z)
    wanted = np.zeros((m, m))
    second = [at.hvp(np.broadcast_to(unit if K > 1 else 1.0, z.shape)) for unit in np.eye(K)]
    for i, Z_i in enumerate(Z.reshape(n, K, m)):
        H = np.stack([np.atleast_1d(column[i]) for column in second], axis=1)
        wanted += s[i] * Z_i.T @ H @ Z_i
    np.testing.assert_allclose(at.gram(Z, s), wanted, rtol=1e-10, atol=1e-11)


def test_extreme_margins():
    z = np.array([-800.0, -745.0, -40.0, -1e-9, 0.0, 1e-9, 3.0, 40.0, 745.0, 800.0])
    for y in (np.ones(10), -np.ones(10)):
        at, margin = losses.Logistic().at(y, z), y * z
        np.testing.assert_allclose(at.value, np.logaddexp(0, -margin), rtol=1e-14)
        np.testing.assert_allclose(at.slope, -y * expit(-margin), rtol=1e-14, atol=1e-320)
        ceiling = expit(margin) * expit(-margin)
        np.testing.assert_allclose(at.curvature_bound, ceiling, rtol=1e-14, atol=1e-320)
        assert np.all(np.isfinite(at.gram(np.ones((10, 2)), np.ones(10))))
    Z = np.stack([z, 0 * z, -z / 2], axis=1)
    for y in (np.zeros(10, int), np.full(10, 2)):
        at = losses.Multinomial().at(y, Z)
        np.testing.assert_allclose(at.value, -log_softmax(Z, 1)[:, y[0]], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(at.slope, softmax(Z, 1) - np.eye(3)[y], atol=1e-15)
        assert np.all(np.isfinite(at.gram(np.ones((30, 2)), np.ones(10))))
