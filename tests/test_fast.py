"""Auto with one hyperparameter: the root of p, by secants and by free looks."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import registry
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import LinearOperator

import hoag
from hoag import models
from hoag._core.domain import Box
from hoag._core.result import Cost, Evaluation
from hoag._criteria.base import SPACING
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import Galerkin
from hoag._criteria.implicit import Implicit
from hoag.errors import InvalidInputError
from hoag.optimize import Auto
from hoag.optimize._scan import RISEN, scan
from hoag.problems import priced

BOX = Box(-12.0, 12.0, size=1)


class Known(hoag.criteria.Criterion):
    """f by hand, with a slope that is wrong by up to `noise`·ε, and never by less than `floor`.

    A free look has the error of the evaluation that it starts from, as in a space.
    """

    @property
    def lam0(self):
        return np.zeros(1)

    @property
    def traits(self):
        return hoag.criteria.Traits(scan_spacing=3.0 if self.free_looks else None)

    def __init__(self, f, slope, noise=1.0, floor=0.0, measured=True, free_looks=False, seed=0):
        self.f, self.slope, self.noise, self.floor = f, slope, noise, floor
        self.measured, self.free_looks = measured, free_looks
        self.rng, self.seen = np.random.default_rng(seed), []

    def _evaluate(self, lam, ask, warm):
        error = max(self.noise * (1.0 if ask.free else min(ask.eps, 1.0)), self.floor)
        wrong = warm if warm is not None and ask.free else error * self.rng.uniform(-1, 1)
        p, value = self.slope(lam[0]) + wrong, float(self.f(lam[0]))
        self.seen.append((float(lam[0]), ask))
        return Evaluation(
            lam=np.array(lam),
            value=value,
            grad=np.array([p]),
            error=error if self.measured and not ask.free else np.nan,
            warm=wrong,
            cost=Cost(passes=0.0 if ask.free else 1.0),
        )


def search(known, start=0.0, tol=1e-6, domain=BOX, max_iter=100, on_step=None, **options):
    fast = Auto(tol, max_iter, **options)
    return fast.minimize(known, domain, np.array([float(start)]), on_step)


SHAPES = {  # f − its least value, and f′, at the distance t from the minimum
    "parabola": (lambda t: t**2 / 2, lambda t: t),
    "cosh": (lambda t: np.log(np.cosh(t)), np.tanh),
    "lopsided": (lambda t: np.expm1(t) - t, np.expm1),
    "steep on the left": (lambda t: np.expm1(-t) + t, lambda t: -np.expm1(-t)),
    "concave far away": (lambda t: 3 - 27 / (9 + t**2), lambda t: 54 * t / (9 + t**2) ** 2),
}


def left(shape, free_looks, draws=250):
    """What f can still fall by, in units of tol·f, where searches ended; and how many steps."""
    rng, (f, slope), found = np.random.default_rng(0), SHAPES[shape], []
    for seed in range(draws):
        best, start, tol = rng.uniform(-5, 5), rng.uniform(-10, 10), rng.choice([1e-3, 1e-6])
        curvature, least = rng.choice([0.03, 1.0, 30.0]), rng.choice([0.1, 3.0, 1e3])
        noise, measured = rng.choice([0.0, 1.0, 1.0 if free_looks else 100.0]), seed % 2 == 0
        known = Known(
            lambda lam, least=least, c=curvature, best=best: least + c * f(lam - best),
            lambda lam, c=curvature, best=best: c * slope(lam - best),
            noise=noise if measured else 1.0,  # what was not measured counts as ε
            measured=measured,
            free_looks=free_looks,
            seed=seed,
        )
        result = search(known, start, tol)
        assert result.status.reason in ("converged", "left_behind"), result.status
        found.append((1 - least / known.f(result.lam[0])) / tol)
    return np.array(found)


@pytest.mark.parametrize(
    ("shape", "free_looks"),
    [(shape, True) for shape in SHAPES] + [(shape, False) for shape in SHAPES],
)
@pytest.mark.parametrize("draws", [60, pytest.param(250, marks=pytest.mark.slow)])
def test_what_is_left_is_what_it_says(shape, free_looks, draws):
    # In 250 draws, median 0.03 to 0.05, 99 % 0.3 to 1.6, the largest 2.5.
    assert left(shape, free_looks, draws).max() <= 10


@pytest.mark.parametrize("start", [0.0, 1e-6])
def test_a_start_at_the_minimum_stays_there(start):
    result = search(Known(lambda t: 1 + t**2 / 2, lambda t: t), start, tol=1e-4)
    assert result.converged
    assert min(step.eps for step in result.trace) > 1e-6  # 1e-2 is enough for this tol
    assert len(result.trace) < 15


@pytest.mark.parametrize("free_looks", [False, True])
@pytest.mark.parametrize(("sign", "end"), [(1, "lower"), (-1, "upper")])
def test_a_minimum_on_the_bound_is_found(sign, end, free_looks):
    known = Known(lambda t: 1 + np.exp(sign * t / 4), lambda t: sign * np.exp(sign * t / 4) / 4,
                  free_looks=free_looks)  # fmt: skip
    result = search(known, domain=Box(-3.0, 3.0))
    assert result.converged
    assert result.lam[0] == -3.0 * sign
    assert f"{end} bound" in str(result.worded().status)
    assert result.trace[-1].mapping == 0.0
    assert all(-3 <= lam <= 3 for lam, _ in known.seen)


@pytest.mark.parametrize("free_looks", [False, True])
def test_a_flat_function_has_no_slope(free_looks):
    result = search(Known(lambda t: 1.0, lambda t: 0.0, 0.0, free_looks=free_looks), 3.0)
    assert result.converged
    assert "stationary to rounding" in str(result.status)


def test_steps_double_where_f_is_concave():
    f, slope = SHAPES["concave far away"]
    known = Known(lambda t: 0.01 + f(t + 11), lambda t: slope(t + 11))
    result = search(known, 12.0)
    assert result.converged
    assert known.f(result.lam[0]) <= 0.01 * (1 + 1e-5)
    steps = np.abs(np.diff([step.lam[0] for step in result.trace]))
    assert steps[0] <= 2.0
    assert steps.max() >= 4.0


def test_lambda_waits_while_the_error_is_larger_than_the_slope():
    result = search(Known(lambda t: 1 + t**2 / 2, lambda t: t, noise=1e3), 1.0)
    lams = [step.lam[0] for step in result.trace]
    waited = [step for step in result.trace if step.evaluation.error > abs(step.evaluation.grad[0])]
    assert len(waited) >= 2
    assert lams[0] == lams[1] == 1.0
    assert result.trace[1].eps < result.trace[0].eps
    assert result.converged


def test_an_error_that_never_shrinks_is_no_convergence():
    known = Known(lambda t: 1 + t**2 / 2, lambda t: t, floor=0.1)
    result = search(known, 3.0)
    assert result.status.reason == "stalled"
    assert "the error of the gradient stays at 1.0e-01" in str(result.status)
    free = Known(known.f, known.slope, floor=0.1, free_looks=True)
    assert search(free, 3.0).status.reason == "max_iter"


@pytest.mark.parametrize("free_looks", [False, True])
def test_it_ends_when_it_is_told_to(free_looks):
    def known():
        return Known(lambda t: 1 + t**2 / 2, lambda t: t, noise=30.0, free_looks=free_looks)

    few = search(known(), 9.0, max_iter=2)
    assert (few.status.reason, len(few.trace)) == ("max_iter", 2)
    assert "max_iter=2" in str(few.status)
    once = search(known(), 9.0, on_step=lambda step: True)
    assert (once.status.reason, len(once.trace)) == ("callback", 1)
    never = search(known(), 9.0, time_budget=0.0)
    assert (never.status.reason, len(never.trace)) == ("time_budget", 1)
    for result in (few, once, never):
        assert not result.converged
        assert str(result.status).endswith(".")


def basins(deep, shallow):
    """Two wells, at −4 (0.5 deep) and 5 (0.3 or `shallow` deep), in a level of 1."""

    def well(t, depth):
        return -depth * np.exp(-(t**2) / 4), depth * t / 2 * np.exp(-(t**2) / 4)

    def both(t):
        parts = well(t + 4, deep), well(t - 5, shallow)
        return 1 + sum(part[0] for part in parts), sum(part[1] for part in parts)

    return Known(lambda t: both(t)[0], lambda t: both(t)[1], free_looks=True)


@pytest.mark.parametrize("start", [1.0, 2.5, 4.0])
@pytest.mark.parametrize(("deep", "shallow", "best"), [(0.5, 0.3, -4.0), (0.3, 0.6, 5.0)])
def test_free_looks_find_the_lower_of_two_basins(start, deep, shallow, best):
    known = basins(deep, shallow)
    result = search(known, start)
    assert result.converged, result.status
    assert abs(result.lam[0] - best) < 0.05
    assert result.cost.passes < 20  # of them, looks cost nothing


def answered(asking, criterion):
    """What a generator finds out, with every look answered by the criterion."""
    answer = None
    while True:
        try:
            look = asking.send(answer)
        except StopIteration as end:
            return end.value
        start = None if look.start is None else look.start.warm
        answer = criterion.evaluate(look.lam, look.ask, start)


def test_a_scan_goes_from_strong_to_weak_until_f_has_risen_and_stays_in_the_box():
    def f(t):
        return 2 + np.cosh((t - 0.7) / 2)

    known = Known(f, lambda t: np.sinh((t - 0.7) / 2) / 2, noise=0.01, free_looks=True)
    look = hoag.criteria.Ask(np.inf, free=True)
    basin = answered(scan(BOX, SPACING, look, risen=RISEN), known).best
    lams = [lam for lam, _ in known.seen]
    places = int(np.argmin(lams)) + 1
    np.testing.assert_allclose(lams[:places], 12.0 - SPACING * np.arange(places))
    assert min(lams) == -3.0  # where f is 1.5 times its least value, and more
    assert all(ask.free for _, ask in known.seen)
    assert abs(basin.lam - 0.7) <= 0.1
    assert basin.curvature > 0
    assert np.isfinite(basin.start.warm)
    rising = Known(lambda t: 1 + np.exp(t), np.exp, free_looks=True)
    assert answered(scan(Box(-2.0, 5.0), SPACING, look, risen=RISEN), rising).best.lam == -2.0


class Modelled(Known):
    """Looks see f near the λ they start from, and further off a plane of their own."""

    traits = hoag.criteria.Traits(scan_spacing=3.0, modelled=True)

    def _evaluate(self, lam, ask, warm):
        if not ask.free:
            return replace(super()._evaluate(lam, ask, None), warm=float(lam[0]))
        centre = -9.0 if warm is None else warm
        far = np.clip(lam[0] - centre, -4, 4)
        near, slope = self.f(centre + far), self.slope(centre + far)
        sinks = -0.02 * abs(lam[0] - centre - far)  # the further away, the lower
        p = slope if abs(lam[0] - centre) < 4 else 0.02 * -np.sign(far)
        return Evaluation(np.array(lam), near + sinks, np.array([p]), warm=warm)


@pytest.mark.parametrize("best", [-5.0, 0.0, 3.0, 10.0])
def test_where_f_is_not_what_its_model_says_the_box_is_looked_at_again(best):
    known = Modelled(lambda t: 2 - np.exp(-((t - best) ** 2) / 18), None)
    known.slope = lambda t: (t - best) / 9 * np.exp(-((t - best) ** 2) / 18)
    result = search(known, 0.0, tol=1e-5)
    assert result.converged, result.status
    assert abs(result.lam[0] - best) < 0.1
    assert "models of the loss about one fit" in result.status.how


def test_a_plateau_beside_a_wall_is_no_minimum():
    def f(t):
        return 1 + np.exp(-2 * (t + 1)) - 0.01 / (1 + np.exp(t - 3))

    def slope(t):
        return -2 * np.exp(-2 * (t + 1)) + 0.01 * np.exp(t - 3) / (1 + np.exp(t - 3)) ** 2

    least = f(np.linspace(-12, 12, 20001)).min()
    for start in np.linspace(-6, 6, 13):
        known = Known(f, slope, noise=0.01, free_looks=True)
        result = search(known, start, tol=1e-4)
        assert f(result.lam[0]) - least <= 10 * 1e-4 * least, (start, result.lam)


def test_every_start_leads_to_the_same_minimum_and_to_its_x():
    A, y = registry.text()
    problems = models.folds(models.logistic, A, y, cv=3, intercept=True)
    least = min(
        sum(registry.exact(p, lam).value for p in problems) for lam in np.linspace(-3, 3, 25)
    )
    for start in (-12.0, -5.0, 0.0, 6.0, 12.0):
        criterion = Sum([Galerkin(Implicit(p)) for p in problems])
        steps, spent = [], sum(p.ledger.cost.passes for p in problems)
        result = hoag.minimize(criterion, start, search=Auto(), callback=steps.append)
        assert result.converged, result.status
        assert result.trace[-1].cost.passes == steps[-1].cost.passes
        # x is made at the end, half a pass for each fold, and f computed again at it, by one more.
        assert result.cost.passes >= steps[-1].cost.passes + 4.5
        spent = sum(p.ledger.cost.passes for p in problems) - spent
        assert result.cost.passes == pytest.approx(spent)
        truths = [registry.exact(p, result.lam) for p in problems]
        assert sum(t.value for t in truths) <= least * (1 + 1e-3)
        assert result.value == pytest.approx(sum(t.value for t in truths), rel=1e-3)
        for x, truth in zip(result.x, truths, strict=True):
            np.testing.assert_allclose(x, truth.x, atol=0.02 * np.abs(truth.x).max())


def test_a_part_without_a_solution_of_its_own_may_be_added():
    problems = [registry.make("logistic"), priced(registry.make("ridge"))]
    result = hoag.minimize(problems)
    assert [x.shape for x in result.x] == [(4,), (4,)]


@pytest.mark.parametrize(
    "bad",
    [
        *({"max_iter": 0}, {"max_iter": 2.5}, {"tol": 0.0}, {"tol": -1.0}, {"tol": np.nan}),
        {"max_iter": np.inf},
    ],
)
def test_bad_settings_are_refused_in_a_sentence(bad):
    with pytest.raises(InvalidInputError, match=rf"^{next(iter(bad))}=.*: .*\.$"):
        Auto(**bad)


def test_settings_are_shown():
    assert repr(Auto()) == "Auto()"
    assert repr(Auto(1e-3, time_budget=2.0)) == "Auto(tol=0.001, time_budget=2.0)"


@pytest.mark.parametrize("seed", range(6))
def test_one_hyperparameter_by_secants_alone_ends_as_near_as_it_says(seed):
    """A long secant makes f look more bent than it is at its minimum: 14 of 60 ended too high."""
    rng = np.random.default_rng(seed)
    n, p = rng.integers(30, 80), rng.integers(10, 60)
    (A, B), truth = rng.normal(size=(2, n, p)), rng.normal(size=p) * (rng.random(p) < 0.4)
    y, z = A @ truth + rng.normal(size=n), B @ truth + rng.normal(size=n)
    G, c = A.T @ A, A.T @ y

    class Bare:
        x0, lam0 = np.zeros(p), np.zeros(1)

        def at(self, x, lam):
            alpha = np.exp(lam[0])
            return SimpleNamespace(
                h=0.5 * np.sum((A @ x - y) ** 2) + 0.5 * alpha * x @ x,
                h_x=G @ x - c + alpha * x,
                hessian=LinearOperator((p, p), matvec=lambda v: G @ v + alpha * v),
                cross=(alpha * x)[:, None],
                g=np.sum((B @ x - z) ** 2),
                g_x=2 * B.T @ (B @ x - z),
                g_lam=np.zeros(1),
                strong_convexity=None,
            )

    def f(lam):
        x = np.linalg.solve(G + np.exp(lam) * np.eye(p), c)
        return np.sum((B @ x - z) ** 2)

    result = hoag.minimize(Bare())
    near = np.clip(result.lam[0] + np.array([-1.0, 1.0]), -12, 12)
    least = minimize_scalar(f, bounds=near, method="bounded", options={"xatol": 1e-9}).fun
    assert result.converged
    assert f(result.lam[0]) <= (1 + 1e-4) * least
