"""Samples that grow: their errors, their costs, and that the end is that of all rows."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import product

import numpy as np
import pytest
from quick import quick_pairs
from scipy.special import expit

import hoag
from hoag.autodiff import _samples as samples
from hoag.autodiff._derivatives import Derived
from hoag.autodiff._functions import Functions, Inner, Outer
from hoag.autodiff._pytree import Layout, Tree
from hoag.errors import InvalidInputError
from hoag.optimize import Auto, Growing, Run


class Logistic(Functions):
    """h = scale · Σ or mean of log-losses + ½Σ exp(λ_group) x² and g likewise; counts its work."""

    product = 1.0

    def __init__(self, train, test, groups, means=(False, True), scales=(1.0, 1.0), work=None):
        self.train, self.test, self.groups, self.means = train, test, groups, means
        self.scales, self.work = scales, [0, 0] if work is None else work
        self.rows = len(train[1]), len(test[1])

    def _loss(self, data, which, x):
        A, y = data
        self.work[which] += len(y)
        scale = self.scales[which] / (len(y) if self.means[which] else 1.0)
        z = y * (A @ x)
        slope, bend = -y * expit(-z), expit(z) * expit(-z)
        return scale * np.logaddexp(0, -z).sum(), scale * (A.T @ slope), scale * bend

    def inner(self, x, lam):
        h, h_x, bend = self._loss(self.train, 0, x)
        alpha = np.exp(lam)[self.groups]

        def times(v):
            self.work[0] += len(bend)
            A = self.train[0]
            return A.T @ (bend * (A @ v)) + alpha * v

        def across(v):
            self.work[0] += len(bend)  # as it is charged for, though no row is read
            return self._by_group(alpha * x * v)

        return Inner(h + 0.5 * float(alpha @ x**2), h_x + alpha * x, times, across)

    def _by_group(self, v):
        return np.bincount(self.groups, v, minlength=self.groups.max() + 1)

    def push(self, x, lam, w):
        return (np.exp(lam) * w)[self.groups] * x

    def hessian(self, x, lam):
        bend, A = self._loss(self.train, 0, x)[2], self.train[0]
        self.work[0] += (x.size - 1) * len(bend)
        return A.T @ (bend[:, None] * A) + np.diag(np.exp(lam)[self.groups])

    def outer(self, x, lam):
        g, g_x, _ = self._loss(self.test, 1, x)
        return Outer(g, g_x, np.zeros(lam.size))

    def part(self, train, test, scales):
        scales = scales[0] * self.scales[0], scales[1] * self.scales[1]
        train = tuple(one[train] for one in self.train)
        test = tuple(one[test] for one in self.test) if test.size else self.test
        return type(self)(train, test, self.groups, self.means, scales, self.work)


def rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    w = np.where(np.arange(p) < p // 2, rng.normal(size=p), 0.0)
    return X, np.sign(X @ w + 2 * rng.logistic(size=n))


def problem(n, p, groups=1, lam=6.0, kind=Logistic, seed=0, **how):
    X, y = rows(2 * n, p, seed)
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    functions = kind(train, test, np.arange(p) * groups // p, **how)
    x0, lam0 = np.zeros(p), np.full(groups, lam)
    x, view = (Tree(name, ("",), (v.shape,)) for name, v in (("x0", x0), ("lam0", lam0)))
    return Derived(functions, Layout.of(x, view, "linear"), x0, lam0)


def loss(made, lam):
    return hoag.criteria.Implicit(made, certificate=False).evaluate(lam, 1e-6)


@pytest.mark.parametrize("groups", [1, 3])
def test_the_end_is_that_of_all_rows_and_the_way_is_shorter(groups):
    made = problem(n=40000, p=30, groups=groups, lam=10.0)
    full = hoag.minimize(made)
    grown = hoag.minimize(made, search=Growing(seed=groups))
    assert grown.converged
    assert abs(grown.value / full.value - 1) < 2e-4
    assert abs(grown.value / loss(made, grown.lam).value - 1) < 1e-5
    first = next(s for s in grown.trace if loss(made, s.lam).value < 1.01 * full.value)
    slow = next(s for s in full.trace if loss(made, s.lam).value < 1.01 * full.value)
    assert first.cost.passes < slow.cost.passes / 5
    assert grown.trace[-1].evaluation.on_sample is None
    sampled = [s.evaluation for s in grown.trace if s.evaluation.on_sample is not None]
    assert len(sampled) >= 3
    assert all(one.f_error > 10 * one.on_sample[0] for one in sampled if one.f_error < np.inf)


@pytest.mark.parametrize("groups", [1, 2])
def test_the_errors_of_samples_cover_the_truth(groups):
    made = problem(n=40000, p=8, groups=groups, means=(True, False))
    criterion, inside = hoag.criteria.Implicit(made), []
    for lam in (np.array([-8.0, -6.0])[:groups], np.array([-3.0, -1.0])[:groups]):
        true = criterion.evaluate(lam, 1e-9)
        for seed in range(30):
            found = criterion.evaluate(lam, hoag.criteria.Ask(1e-6, rows=1000, seed=seed))
            off = abs(found.value - true.value), np.linalg.norm(found.grad - true.grad)
            inside.append((off[0] / found.f_error, off[1] / found.error))
    f, p = np.array(inside).T
    assert np.mean(f < 3) >= 0.9
    assert np.mean(p < 3) >= 0.75  # an error of two draws is rough: 82 to 97 % of 120 draws
    assert 0.2 < np.median(f) < 2  # and are no larger than they have to be
    assert 0.2 < np.median(p) < 2


def test_the_error_falls_as_one_over_the_root_of_the_rows():
    made = problem(n=40000, p=8)
    criterion = hoag.criteria.Implicit(made, certificate=False)
    f_error, error = np.mean(
        [
            [
                (found.f_error, found.error)
                for m in (800, 12800)
                for found in [criterion.evaluate(2.0, hoag.criteria.Ask(1e-6, rows=m, seed=seed))]
            ]
            for seed in range(10)
        ],
        axis=0,
    ).T
    assert 2.5 < f_error[0] / f_error[1] < 7
    assert 2.5 < error[0] / error[1] < 7


def test_costs_are_in_units_of_the_whole():
    made = problem(n=8000, p=5, groups=2)
    sampled = made.sample(2000)
    start, work = made.ledger.cost, list(made.functions.work)
    criterion = hoag.criteria.Implicit(made, certificate=False)
    found = criterion.evaluate([0.0, 1.0], hoag.criteria.Ask(1e-3, rows=2000))
    spent = made.ledger.cost - start
    assert found.cost == spent
    touched = np.array(made.functions.work) - work
    assert spent.held_out == pytest.approx(touched[1] / 8000)
    assert spent.passes >= touched[0] / 8000  # products with ∇²₁,₂h are charged and cost no row
    assert spent.passes < 1.5 * touched[0] / 8000
    assert sampled.shares == (0.25, 0.25)
    alone = criterion.evaluate([0.0, 1.0], hoag.criteria.Ask(1e-3, gradient=False, rows=2000))
    assert alone.f_error == np.inf  # without an adjoint nobody knows


def test_samples_are_nested_and_their_parts_make_them_up():
    few, more = (samples.drawn((500, 300), m, seed=3) for m in (100, 400))
    assert np.array_equal(few[0], more[0][:100])
    assert np.array_equal(few[1], more[1][:100])
    assert more[1].size == 300
    for means in ((False, True), (True, False)):
        made = problem(n=8000, p=5, means=means)
        x, lam = np.full(5, 0.3), np.ones(1)
        sample = made.sample(1000)
        points = [part.at(x, lam) for part in sample.parts(4)]
        one = sample.at(x, lam)
        assert np.mean([point.h for point in points]) == pytest.approx(one.h)
        assert np.mean([point.g for point in points]) == pytest.approx(one.g)
        assert np.allclose(np.mean([point.h_x for point in points], axis=0), one.h_x)
        assert made.sample(8000).at(x, lam).h == pytest.approx(made.at(x, lam).h)


class WithPenalty(Logistic):
    """As if the penalty were inside a sum over rows: it is there whatever the scale is."""

    def inner(self, x, lam):
        found = super().inner(x, lam)
        return found._replace(h=found.h + self.scales[0] * x @ x / 2)


class Worst(Logistic):
    def outer(self, x, lam):
        found = super().outer(x, lam)
        A, y = self.test
        return found._replace(g=self.scales[1] * float(np.max(np.logaddexp(0, -y * (A @ x)))))


@pytest.mark.parametrize(
    ("kind", "what"), [(WithPenalty, "h is neither .* penalty="), (Worst, "g is neither a sum")]
)
def test_functions_that_are_no_sums_get_a_sentence(kind, what):
    with pytest.raises(InvalidInputError, match=what):
        hoag.minimize(problem(n=8000, p=5, kind=kind), search=Growing())


def test_the_default_search_does_not_look_at_samples():
    made = problem(n=8000, p=12, groups=2)
    run = Run(hoag.plan(made))
    run.drive(Auto(), hoag.Box(-12, 12, size=2), made.lam0)
    assert all(entry.ask is None or entry.ask.rows is None for entry in run.journal.entries)


def test_a_seed_says_all_and_a_journal_leads_to_the_same_place():
    def one(seed, on_step=None, replay=None):
        made = problem(n=8000, p=12, groups=2)
        run = Run(hoag.plan(made), on_step, replay=replay)
        kept = run.drive(Growing(seed=seed), hoag.Box(-12, 12, size=2), made.lam0)
        return run, kept

    run, result = one(0)
    other = one(1)[1]
    assert not np.array_equal(result.trace[1].evaluation.grad, other.trace[1].evaluation.grad)
    journals = []

    def keep(step):
        journals.append(pickle.dumps(running[0].journal))

    running = []
    made = problem(n=8000, p=12, groups=2)
    running.append(Run(hoag.plan(made), keep))
    again = running[0].drive(Growing(seed=0), hoag.Box(-12, 12, size=2), made.lam0)
    resumed = one(0, replay=pickle.loads(journals[len(journals) // 2]))[1]
    for found in (again, resumed, one(0, replay=run.journal)[1]):
        assert [step.lam.tolist() for step in found.trace] == [
            step.lam.tolist() for step in result.trace
        ]
        assert found.value == result.value
    assert again.cost == result.cost
    hoag.testing.check_search(Growing())


def test_what_is_stopped_on_a_sample_is_settled_on_all_rows():
    made = problem(n=8000, p=12, lam=9.0)
    result = hoag.minimize(made, search=Growing(), callback=lambda step: step.k == 3)
    assert result.status.reason == "callback"
    assert result.evaluation.on_sample is None
    assert abs(result.value - loss(made, result.lam).value) <= 1e-4 * result.value


def test_folds_grow_together():
    folds = [problem(n=8000, p=12, lam=8.0, seed=seed) for seed in (0, 1)]
    full, grown = hoag.minimize(folds), hoag.minimize(folds, search=Growing())
    assert abs(grown.value / full.value - 1) < 2e-4
    sampled = [s.evaluation for s in grown.trace if s.evaluation.on_sample is not None]
    assert np.isclose(sampled[1].f_error, np.hypot(*(part.f_error for part in sampled[1].parts)))


def test_settings_are_checked():
    with pytest.raises(InvalidInputError, match="above 1"):
        Growing(factor=1.0)
    with pytest.raises(InvalidInputError, match="number of rows"):
        Growing(first=0)
    made = hoag.models.ridge(*rows(30, 3), *rows(30, 3))
    assert "on all rows" in str(hoag.minimize(made, search=Growing()).status)


def in_jax(h, groups):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from hoag.jax import problem

    jnp = jax.numpy
    return problem, partial(h, jnp, lambda a, b: jnp.logaddexp(a, b)), jnp.zeros


def in_torch(h, groups):
    torch = pytest.importorskip("torch")
    from hoag.torch import problem

    def zeros(size):
        return torch.zeros(size, dtype=torch.float64)

    softplus = torch.nn.functional.softplus
    return problem, partial(h, torch, lambda a, b: softplus(b)), zeros


@pytest.mark.parametrize(
    ("framework", "batches"),
    quick_pairs(
        product([in_jax, in_torch], [None, 3]),
        lambda framework, batches: (framework is in_torch) == (batches is None),
    ),
)
def test_functions_of_a_framework_on_rows(framework, batches):
    train, test, groups = rows(240, 4), rows(120, 4, 1), np.array([0, 0, 1, 1])

    def loss(lib, logaddexp, x, lam, data):
        return lib.sum(logaddexp(0.0, -data[1] * (data[0] @ x)))

    def penalty(x, lam):
        return 0.5 * ((lam.exp() if hasattr(lam, "exp") else np.e**lam)[groups] * x**2).sum()

    of, h, zeros = framework(loss, groups)
    made = of(
        *(h, lambda x, lam, data: h(x, lam, data) / len(data[1])),
        *(zeros(4), zeros(2)),
        train=train,
        test=test,
        penalty=penalty,
        batches=batches,
    )
    by_hand = Logistic(train, test, groups)
    assert made.functions.rows == by_hand.rows == (240, 120)
    which = np.arange(0, 200, 2), np.arange(5, 60)
    x, lam, v = np.array([0.3, -1.0, 0.5, 0.1]), np.array([0.2, -0.4]), np.array([1.0, 2, -1, 0.5])
    one, other = (f.part(*which, (2.5, 3.0)) for f in (made.functions, by_hand))
    here, there = one.inner(x, lam), other.inner(x, lam)
    assert here.h == pytest.approx(there.h)
    assert np.allclose(here.h_x, there.h_x)
    both = [(one.times(v), one.across(v)) for one in (here, there)]
    for a, b in zip(*both, strict=True):
        assert np.allclose(a, b)
    assert np.allclose(one.hessian(x, lam), other.hessian(x, lam))
    assert np.allclose(one.push(x, lam, lam), other.push(x, lam, lam))
    for a, b in zip(one.outer(x, lam), other.outer(x, lam), strict=True):
        assert np.allclose(a, b)
    assert one.rows == (100, 55)
