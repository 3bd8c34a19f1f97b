"""A penalty from outside: second differences, with every loss and every criterion that there is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hoag
from hoag import glm, testing


class Differences(glm.QuadraticPenalty):
    """½ exp(λ₁) Σⱼ (xⱼ − 2xⱼ₊₁ + xⱼ₊₂)² + ½ exp(λ₂) Σⱼ xⱼ² over the slopes; intercepts are free."""

    n_lam = 2

    def __init__(self, slopes: int, intercepts: int) -> None:
        self.slopes, self.size = slopes, slopes + intercepts

    def at(self, lam):
        return DifferencesAt(self.slopes, np.exp(lam - self.shift))


class DifferencesAt(glm.QuadraticForm):
    def __init__(self, slopes: int, strengths: np.ndarray) -> None:
        self.slopes, self.strengths = slopes, strengths

    def apply(self, X):
        return self.columns(X).sum(axis=-1)

    def columns(self, X):
        W, found = X[..., : self.slopes], np.zeros((*X.shape, 2))
        d = np.diff(W, n=2, axis=-1)
        for shift, times in enumerate((1.0, -2.0, 1.0)):
            found[..., shift : shift + d.shape[-1], 0] += times * d
        found[..., : self.slopes, 1] = W
        return self.strengths * found


SLOPES, LAM = 7, np.array([0.7, -0.4])


def as_quadratic(intercepts: int) -> glm.Quadratic:
    """The same by its matrices."""
    D = np.diff(np.eye(SLOPES), n=2, axis=0)
    some = slice(0, SLOPES)
    return glm.Quadratic(SLOPES + intercepts, [(some, D.T @ D), (some, np.ones(SLOPES))])


def split(loss: str, penalty: glm.Penalty, intercept: bool, cv) -> list:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(90, SLOPES)) + 0.5
    z = A @ np.sin(np.arange(SLOPES)) + 1
    y = z + rng.normal(size=90) if loss == "ridge" else z > rng.logistic(size=90)
    make = getattr(hoag.models, loss)
    return hoag.models.folds(make, A, y, cv=cv, penalties=penalty, intercept=intercept)


CRITERIA = ("folds", "joint", "held out", "alo", "gcv", "reml")


def criterion(
    name: str, loss: str, penalty: glm.Penalty, intercept: bool
) -> hoag.criteria.Criterion:
    if name == "folds":
        return hoag.criteria.Sum(
            [hoag.criteria.Implicit(own) for own in split(loss, penalty, intercept, 3)]
        )
    if name == "joint":
        return hoag.plan(split(loss, penalty, intercept, 3))
    (one,) = split(loss, penalty, intercept, [(np.arange(60), np.arange(60, 90))])
    return (
        hoag.criteria.Implicit(one)
        if name == "held out"
        else hoag.criteria.without_folds(one, name)
    )


@pytest.mark.parametrize("intercept", [False, True])
def test_the_penalty_keeps_its_contract(intercept):
    own = Differences(SLOPES, int(intercept))
    testing.check_penalty(own)
    (model,) = split("logistic", own, intercept, [(np.arange(60), np.arange(60, 90))])
    hoag.testing.check_problem(model)
    for mine, theirs in zip(own.terms, as_quadratic(int(intercept)).terms, strict=True):
        expected = np.zeros((own.size, own.size))
        expected[theirs.some, theirs.some] = theirs.dense
        assert_allclose(mine.dense, expected, atol=1e-12)
    assert own.fixed is None


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["ridge", "logistic"])
@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_takes_it(name, loss, intercept):
    """Gradients against differences, and f, p, ∇²f and profiles beside those of glm.Quadratic."""
    penalties = Differences(SLOPES, int(intercept)), as_quadratic(int(intercept))
    own, known = (criterion(name, loss, penalty, intercept) for penalty in penalties)
    assert type(own) is type(known)
    testing.check_criterion(own, LAM)
    curved = own.traits.has_hessian
    asked = hoag.criteria.Ask(1e-10, hessian=curved)
    mine, theirs = own.evaluate(LAM, asked), known.evaluate(LAM, asked)
    assert_allclose(mine.value, theirs.value, rtol=1e-9)
    assert_allclose(mine.grad, theirs.grad, atol=1e-9 * abs(theirs.value))
    if curved:
        assert_allclose(mine.hessian, theirs.hessian, atol=1e-9 * abs(theirs.value))
        places = LAM[:, None] + np.array([-1.0, 0.5, 2.0])
        profiles = [one.profile(at, places)[0] for one, at in ((own, mine), (known, theirs))]
        assert_allclose(*profiles, rtol=1e-9)
    assert curved or name not in ("joint", "reml")


@pytest.mark.parametrize("loss", ["ridge", "logistic"])
def test_a_search_ends_where_it_does_with_the_matrices(loss):
    penalties = Differences(SLOPES, 1), as_quadratic(1)
    mine, theirs = (hoag.minimize(split(loss, own, True, 5)) for own in penalties)
    assert mine.converged
    assert_allclose(mine.value, theirs.value, rtol=1e-9)
    assert_allclose(mine.lam, theirs.lam, atol=1e-4)
