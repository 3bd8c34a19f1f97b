"""Every loss against differences of itself, and against what others compute."""

import numpy as np
import pytest
from sklearn import metrics

from hoag._glm import losses
from hoag._glm.losses import ordinal

RNG = np.random.default_rng(3)
N = 40


def _counts(z):
    return RNG.poisson(np.exp(z)).astype(float)


def _sizes(z):
    return np.exp(z) * RNG.gamma(2.0, 0.5, size=z.shape)


def _claims(z):
    return _sizes(z) * RNG.poisson(1.0, size=z.shape)


def _signs(z):
    return np.where(RNG.random(z.shape) < 0.5, 1.0, -1.0)


SCALAR = {
    "logistic": (losses.Logistic(), _signs),
    "poisson": (losses.Poisson(), _counts),
    "gamma": (losses.Gamma(1.0), _sizes),
    "tweedie": (losses.Tweedie(1.3, 1.0), _claims),
    "inverse_gaussian": (losses.InverseGaussian(), _sizes),
    "squared_hinge": (losses.SquaredHinge(), _signs),
    "quantile": (losses.SmoothQuantile(0.8, 0.3), lambda z: z + RNG.normal(size=z.shape)),
    "squared": (losses.Squared(), lambda z: z + RNG.normal(size=z.shape)),
}
CUTS = np.array([1.2, 0.3, -0.9])
PAIRS = {
    "ordinal": (losses.Ordinal(CUTS), 3, lambda: RNG.integers(0, 4, N)),
    "huber": (losses.ConcomitantHuber(1.35, 1.5), 2, lambda: 3 * RNG.normal(size=N)),
}


def _case(name):
    """The loss, y, and a z where it is smooth."""
    if name in SCALAR:
        loss, draw = SCALAR[name]
        z = RNG.normal(size=N)
        y = draw(z)
        near = name == "squared_hinge"
        return loss, y, np.where(near & (np.abs(1 - y * z) < 1e-2), 0.5, z)
    loss, columns, draw = PAIRS[name]
    z = 0.1 * RNG.normal(size=(N, columns))
    return loss, draw(), z + (0 if name == "huber" else RNG.normal(size=(N, 1)))


@pytest.mark.parametrize("name", [*SCALAR, *PAIRS])
def test_derivatives_of_all_orders_are_differences(name):
    loss, y, z = _case(name)
    u, v, h = RNG.normal(size=z.shape), RNG.normal(size=z.shape), 1e-5
    at, ahead, behind = (loss.at(y, z + t * u) for t in (0, h, -h))

    def difference(of):
        return (of(ahead) - of(behind)) / (2 * h)

    along = (at.slope * u).reshape(N, -1).sum(axis=1)
    np.testing.assert_allclose(difference(lambda a: a.value), along, atol=1e-7, rtol=1e-6)
    np.testing.assert_allclose(difference(lambda a: a.slope), at.hvp(u), atol=1e-7, rtol=1e-6)
    np.testing.assert_allclose(difference(lambda a: a.hvp(v)), at.third(u, v), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", [*SCALAR, *PAIRS])
def test_forms_grams_and_ceilings_are_of_the_same_matrices(name):
    loss, y, z = _case(name)
    at, K = loss.at(y, z), 1 if z.ndim == 1 else z.shape[1]
    units = [at.hvp(np.broadcast_to(e, z.shape) if K > 1 else np.ones(N)) for e in np.eye(K)]
    C = np.stack(units, axis=-1).reshape(N, K, K)
    np.testing.assert_allclose(C, C.transpose(0, 2, 1), atol=1e-12)
    V, Z, s = RNG.normal(size=(K, 3)), RNG.normal(size=(N * K, 3)), RNG.uniform(1, 2, N)
    np.testing.assert_allclose(
        at.quadratic_forms(V), np.einsum("am,nab,bm->nm", V, C, V), atol=1e-10
    )
    Zi = Z.reshape(N, K, 3)
    np.testing.assert_allclose(at.gram(Z, s), np.einsum("n,nam,nab,nbl->ml", s, Zi, C, Zi))
    largest = np.linalg.eigvalsh(C)[:, -1]
    assert np.all(at.curvature_bound >= largest - 1e-10 * np.abs(largest))


@pytest.mark.parametrize("name", [n for n in SCALAR if np.isfinite(SCALAR[n][0].self_concordance)])
def test_curvature_changes_no_faster_than_the_constant_says(name):
    loss, y, z = _case(name)
    at = loss.at(y, z)
    ones = np.ones(N)
    slack = loss.self_concordance * at.hvp(ones) * (1 + 1e-9) + 1e-15
    assert np.all(np.abs(at.third(ones, ones)) <= slack)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "inverse_gaussian"])
def test_deviances_are_scikit_learns(name):
    loss, y, z = _case(name)
    mine = np.mean(loss.at(y, z).value) / loss.scale
    theirs = metrics.mean_tweedie_deviance(y, np.exp(z), power=loss.power)
    assert mine == pytest.approx(theirs, rel=1e-12)
    # Scaling y scales the loss: what units of y rest on.
    scaled = loss.at(7.0 * y, z + np.log(7.0)).value
    np.testing.assert_allclose(scaled, 7.0 ** (2 - loss.power) * loss.at(y, z).value, atol=1e-13)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "inverse_gaussian"])
def test_means_too_large_to_square_are_finite(name):
    loss, y, _ = _case(name)
    for far in (1e4, -1e4):
        at = loss.at(y, np.full(N, far))
        for part in (at.value, at.slope, at.curvature_bound, at.third_derivative):
            assert np.all(np.isfinite(part))


def test_a_smoothed_quantile_is_never_below_the_pinball_loss_nor_far_above():
    y, z = RNG.normal(size=N), np.zeros(N)
    loss = losses.SmoothQuantile(0.3, 0.01)
    above = loss.at(y, z).value - np.maximum(0.3 * y, -0.7 * y)
    assert np.all(above >= -1e-15)
    assert np.all(above <= 0.01 * np.log(2) + 1e-15)


def test_ordinal_losses_are_log_probabilities_and_none_outside_of_the_model():
    z = RNG.normal(size=(N, 1)) + 0.1 * RNG.normal(size=(N, 3))
    y = RNG.integers(0, 4, N)
    P = ordinal.probabilities(z + CUTS)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    value = losses.Ordinal(CUTS).at(y, z).value
    np.testing.assert_allclose(value, -np.log(P[np.arange(N), y]), rtol=1e-10)
    crossed = losses.Ordinal(CUTS).at(np.array([1]), np.array([[-5.0, 5.0, 0.0]]))
    assert crossed.value[0] > 1e200
    assert np.all(np.isfinite(crossed.slope))


def test_hubers_loss_at_its_best_spread_is_scikit_learns_objective():
    # σ + σH(r/σ), summed, is what sklearn.linear_model.HuberRegressor minimises; κ²/σ is ours.
    y, sigma, delta = RNG.normal(size=N), 0.7, 1.35
    z = np.column_stack([RNG.normal(size=N), np.full(N, sigma - 1.0)])
    r = np.abs(z[:, 0] - y) / sigma
    plain = sigma + sigma * np.where(r < delta, r**2, 2 * delta * r - delta**2)
    loss = losses.ConcomitantHuber(delta, 1.0)
    assert loss.least**2 < 1e-7
    np.testing.assert_allclose(loss.at(y, z).value, (plain + loss.least**2 / sigma) / 2, rtol=1e-12)


def test_an_offset_is_added_to_z():
    loss, y, z = _case("poisson")
    o = RNG.normal(size=N)
    both = losses.Offset(loss).at(np.column_stack([y, o]), z)
    np.testing.assert_array_equal(both.slope, loss.at(y, z + o).slope)


@pytest.mark.parametrize("name", ["multinomial", "multinomial brier"])
def test_losses_of_rows_that_are_all_but_certain_have_all_their_digits(name):
    """log(1 + 2e⁻ᵐ) and its like, where e⁻ᵐ is far below rounding beside 1."""
    loss = losses.Multinomial() if name == "multinomial" else losses.MultinomialBrier()
    for margin in (5.0, 30.0, 60.0):
        at = loss.at(np.array([1]), np.array([[100.0 - margin, 100.0, 100.0 - margin]]))
        other = np.exp(-margin) / (1 + 2 * np.exp(-margin))
        value = np.log1p(2 * np.exp(-margin)) if name == "multinomial" else 6 * other**2
        assert at.value[0] == pytest.approx(value, rel=1e-12)


def test_a_loss_of_several_outputs_is_their_sum_and_the_old_name_of_a_derivative_still_works():
    with pytest.warns(DeprecationWarning, match="third_derivative"):

        class Cubes(losses.ScalarLoss):
            convex = False

            def value(self, y, z):
                return (z - y) ** 3

            def slope(self, y, z):
                return 3 * (z - y) ** 2

            def curvature(self, y, z):
                return 6 * (z - y)

            def jerk(self, y, z):
                return np.full(z.shape, 6.0)

    y, z = RNG.normal(size=(2, N, 3))
    at, each = Cubes().at(y, z), [Cubes().at(y[:, k], z[:, k]) for k in range(3)]
    np.testing.assert_allclose(at.value, sum(one.value for one in each))
    np.testing.assert_array_equal(at.third(z, y), 6 * z * y)
    np.testing.assert_allclose(at.curvature_bound, np.max(6 * (z - y), axis=1))
