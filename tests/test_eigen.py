"""Decompositions for every λ, by a Gram matrix or by the rows, and fits with their leverages."""

from __future__ import annotations

import numpy as np
import pytest

import hoag
from hoag._criteria.curvature.eigen import GRAM_ERROR, Eigen
from hoag._criteria.curvature.leverage import Spectra, dual, exact
from hoag._glm.centred import CentredRows
from hoag._glm.rows import ArrayRows
from hoag._linalg import eigen


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("shape", [(30, 6), (6, 30), (6, 6)])
def test_singular_values_are_right_to_their_own_digits(shape, far):
    """Columns of scales 10^±4, and a row far out: a Gram matrix has no digit of the least left."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    A = rng.normal(size=shape) * np.geomspace(1e4, 1e-4, shape[1])
    A[0] *= 1e6 if far else 1.0
    U, sigma, V = eigen.singular(A)
    np.testing.assert_array_less(0.0, np.diff(sigma))  # the least first
    np.testing.assert_allclose(U.T @ U, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-12)
    np.testing.assert_allclose((U * sigma) @ V.T, A, atol=1e-12 * np.abs(A).max())
    with mpmath.workdps(60):
        M = mpmath.matrix(A.tolist())
        square = M.T * M if shape[0] >= shape[1] else M * M.T
        true = [float(mpmath.sqrt(v)) for v in sorted(mpmath.eigsy(square, eigvals_only=True))]
    np.testing.assert_allclose(sigma, true, rtol=1e-9)


def test_along_is_the_inverse_after_a_change():
    rng = np.random.default_rng(0)
    A, R, b = rng.normal(size=(9, 5)), rng.normal(size=(5, 2)), rng.normal(size=5)
    M = A.T @ A
    C = np.linalg.solve(M, R)
    changes = np.array([-0.01, 0.0, 1.0, 1e6])
    U, D = eigen.along(R.T @ C, changes)
    for k, d in enumerate(changes):
        ours = np.linalg.solve(M, b) - C @ U @ (D[:, k] * (U.T @ R.T @ np.linalg.solve(M, b)))
        np.testing.assert_allclose(ours, np.linalg.solve(M + d * R @ R.T, b), rtol=1e-8, atol=1e-8)


def test_a_gram_matrix_serves_as_long_as_its_rounding_is_little():
    known = Eigen(np.array([0.0, 1.0]), np.eye(2), 1e-16)
    limit = 1e-16 / GRAM_ERROR
    assert known.serves(1.01 * limit)
    assert not known.serves(0.99 * limit)
    assert not known.serves(50 * limit, room=0.01)  # what is left of 1 − h is known less well
    assert known.least == 1.0
    np.testing.assert_allclose(known.solve(1.0, np.ones((2, 1))), [[1.0], [0.5]])


def test_folds_and_rows_left_out_are_decomposed_again_where_it_does_not():
    t = np.linspace(0.1, 1, 40)
    X, y = t[:, None] ** np.arange(1, 9), np.sin(5 * t)
    spectral = hoag.plan(hoag.models.folds(hoag.models.ridge, X, y, cv=3, intercept=True))
    fold = spectral._folds[0]
    rows = CentredRows(ArrayRows(X), np.ones(40), True)
    spectra = Spectra(rows, (y - y.mean())[:, None], False)
    for known in (fold, spectra):
        assert known.at(1.0) is known.by_gram
        assert known.at(1e-18) is known.by_rows
        assert known.least(cheap=False) == np.inf
        assert known.least(cheap=True) == known.by_rows.eigen.least < 1e-10


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 4), (8, 12)])
def test_all_fits_with_leverages_are_one_fit(shape, intercept):
    """By a factor of either side and by a decomposition: θ, r and h, and what factors offer."""
    rng = np.random.default_rng(1)
    A, s = rng.normal(size=shape) + 1.0, rng.uniform(0.5, 2.0, shape[0])
    rows = CentredRows(ArrayRows(A), s, intercept)
    y = rng.normal(size=(shape[0], 2))
    y -= rows.share @ y
    alpha, centred = np.full(shape[1], 0.3), A - rows.mean
    inverse = np.linalg.inv(centred.T @ (s[:, None] * centred) + np.diag(alpha))
    theta = inverse @ centred.T @ (s[:, None] * y)
    h = rows.share + s * np.einsum("ij,jk,ik->i", centred, inverse, centred)
    for fit in (
        exact(rows, y, alpha),
        dual(rows, y, alpha),
        Spectra(rows, y, False).at(0.3).fit(0.3),
    ):
        np.testing.assert_allclose(fit.theta(), theta, rtol=1e-9)
        np.testing.assert_allclose(fit.residual, y - centred @ theta, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(fit.gap, 1 - h, rtol=1e-8)
    for fit in (exact(rows, y, alpha), dual(rows, y, alpha)):
        np.testing.assert_allclose(fit.inverse(np.eye(shape[1])), inverse, rtol=1e-8, atol=1e-10)
        B = np.zeros(shape)
        for some, columns, part, own in fit.blocks():
            np.testing.assert_allclose(part, centred[some, columns], atol=1e-12)
            B[some, columns] = own
        np.testing.assert_allclose(B, centred @ inverse, rtol=1e-8, atol=1e-10)
