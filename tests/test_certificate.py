"""The error of every gradient: the bound is never below it, the estimate is near it."""

import numpy as np
import pytest
import registry

import hoag
from hoag._linear import CG, Cholesky
from hoag.errors import SingularProblemError

MODELS = ("logistic", "multinomial", "ridge", "ridge-2", "kernel-ridge", "kernel-widths")
PENALTIES = ("shared", "per-class", "per-feature", "per-coefficient", "groups", "partly-free")


def draw(rng):
    """A random problem, λ and ε, over all models, penalties, weights and intercepts."""
    model = rng.choice(MODELS)
    setting = {
        "model": model,
        "weighted": bool(rng.integers(2)),
        "n": int(rng.integers(10, 50)),
        "d": int(rng.integers(1, 6)),
        "seed": int(rng.integers(2**31)),
    }
    if not model.startswith("kernel"):
        setting |= {
            "penalties": rng.choice(PENALTIES[: 6 if setting["d"] > 1 else 4]),
            "intercept": bool(rng.integers(2)),
        }
    problem = registry.make(**setting)
    lam = problem.lam0 + rng.uniform(-3, 3, size=problem.lam0.size)
    return setting, problem, lam, float(10 ** rng.uniform(-7, 0.5))


def exact(setting, problem, lam, found):
    """The evaluation to rounding; None where a free coefficient separates, X(λ) at infinity."""
    # Free coefficients of a multinomial model have a singular Hessian: no factor there.
    singular = setting["model"] == "multinomial" and setting["penalties"] == "partly-free"
    solver = CG(10000) if singular else Cholesky()
    try:
        return hoag.criteria.Implicit(problem, linear=solver, certificate=False).evaluate(
            lam, 1e-13, found.warm
        )
    except SingularProblemError:
        assert singular
        return None


@pytest.mark.parametrize("draws", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_bound_is_never_below_the_true_error_in_any_draw(draws):
    rng = np.random.default_rng(0)
    finite_wherever_promised, ratios, tightness, without_reference = True, [], [], 0
    for _ in range(draws):
        setting, problem, lam, eps = draw(rng)
        found = hoag.criteria.Implicit(problem).evaluate(lam, eps)
        truth = exact(setting, problem, lam, found)
        if truth is None:
            without_reference += 1
            continue
        refined = hoag.criteria.Implicit(problem, corrected=True).evaluate(lam, eps)
        error = np.linalg.norm(found.grad - truth.grad)
        # What remains in the reference itself is rounding.
        noise = 1e-11 * (1 + np.linalg.norm(truth.grad))
        assert found.bound >= error - noise, setting
        assert refined.bound >= np.linalg.norm(refined.grad - truth.grad) - noise, setting
        point = problem.at(found.x, lam)
        mu = point.strong_convexity
        if mu is None:
            continue
        radius = problem.train.radius if "kernel" not in setting["model"] else 0.0
        if radius * np.linalg.norm(point.h_x) / mu <= 0.5:
            finite_wherever_promised &= bool(np.isfinite(found.bound))
            if error > 100 * noise:
                ratios.append(found.error / error)
                tightness.append(found.bound / error)
    assert without_reference <= 0.005 * draws
    assert finite_wherever_promised
    assert len(ratios) > 0.2 * draws
    assert np.mean((np.array(ratios) > 0.5) & (np.array(ratios) < 2)) >= 0.9
    assert np.median(tightness) < 100


def test_with_exact_solves_the_estimate_is_the_error():
    for setting in registry.ONE_EACH:
        problem = registry.make(**setting, n=40)
        lam = problem.lam0 - 0.5
        criterion = hoag.criteria.Implicit(problem, linear=Cholesky())
        found = criterion.evaluate(lam, 1e-3)
        truth = criterion.evaluate(lam, 1e-13).grad
        error = np.linalg.norm(found.grad - truth)
        assert found.error == pytest.approx(error, rel=1e-2, abs=1e-12)


def test_bound_covers_intercepts():
    """Finite and valid with an unpenalised intercept, where μ = e^λ alone would be wrong."""
    ratios = []
    for seed in range(40):
        problem = registry.make("logistic", intercept=True, seed=seed, n=40)
        found = hoag.criteria.Implicit(problem).evaluate(np.array([-1.0]), 1e-3)
        assert problem.at(found.x, found.lam).strong_convexity is None
        truth = hoag.criteria.Implicit(problem, linear=Cholesky()).evaluate(
            found.lam, 1e-13, found.warm
        )
        error = np.linalg.norm(found.grad - truth.grad)
        assert error <= found.bound < np.inf
        ratios.append(found.bound / max(error, 1e-12))
    assert np.median(ratios) < 1000


@pytest.mark.parametrize("model", ["logistic", "multinomial"])
def test_bound_holds_for_solvers_that_gave_up_and_for_confident_rows(model):
    """Separable rows at large scales, and solvers cut short: never NaN, never below."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        scale = 10 ** rng.uniform(0, 3)
        problem = registry.make(model, seed=int(rng.integers(2**31)), n=15, d=5, scale=scale)
        lam = np.array([rng.uniform(-3, 3)])
        short = hoag.criteria.Implicit(
            problem, inner=hoag.solvers.LBFGS(int(rng.integers(1, 4))), linear=hoag.solvers.CG(2)
        ).evaluate(lam, 1e-8)
        full = hoag.criteria.Implicit(problem).evaluate(lam, 1e-8)
        truth = (
            hoag.criteria.Implicit(problem, linear=Cholesky()).evaluate(lam, 1e-13, full.warm).grad
        )
        for found in (short, full):
            assert not np.isnan(found.bound)
            error = np.linalg.norm(found.grad - truth)
            assert found.bound >= error - 1e-9 * (1 + np.linalg.norm(truth))


def test_a_users_problem_gets_the_estimate():
    inner = registry.make("logistic", n=40)

    class Plain:
        """The same problem with nothing but the required members."""

        x0, lam0 = inner.x0, inner.lam0

        def at(self, x, lam):
            return inner.at(x, lam)

    lam = np.array([0.2])
    found = hoag.criteria.Implicit(Plain()).evaluate(lam, 1e-2)
    known = hoag.criteria.Implicit(inner).evaluate(lam, 1e-2)
    assert found.error == pytest.approx(known.error, rel=1e-6)
    assert found.bound == np.inf


def test_it_can_be_switched_off_and_is_counted():
    problem = registry.make("logistic", n=40)
    lam = np.array([0.2])
    on = hoag.criteria.Implicit(problem).evaluate(lam, 1e-2)
    problem = registry.make("logistic", n=40)
    off = hoag.criteria.Implicit(problem, certificate=False).evaluate(lam, 1e-2)
    assert off.cost.certificate == 0
    assert np.isnan(off.error)
    assert off.bound == np.inf
    assert on.cost.passes - on.cost.certificate == off.cost.passes
    assert on.cost.certificate > 0
    np.testing.assert_array_equal(on.grad, off.grad)
