"""hoag.minimize for people: their own problem, their mistakes."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import registry
from hypothesis import given
from hypothesis import strategies as st

import hoag
from hoag.errors import InvalidInputError, SingularProblemError


class Denoise:
    """A hand-written problem: h = ½‖x − b‖² + ½Σe^λ xⱼ², g = ½‖x − c‖² + λ²/100."""

    def __init__(self, **changes):
        self.b, self.c = np.array([3.0, 1.0, -2.0]), np.array([1.0, 0.2, -0.5])
        self.x0, self.lam0 = np.zeros(3), np.zeros(1)
        self.changes = changes

    def at(self, x, lam):
        a = np.exp(lam[0])
        members = {
            "h": 0.5 * np.sum((x - self.b) ** 2) + 0.5 * a * np.sum(x**2),
            "h_x": x - self.b + a * x,
            "hessian": (1 + a) * np.eye(3),
            "cross": (a * x)[:, None],
            "g": 0.5 * np.sum((x - self.c) ** 2) + lam[0] ** 2 / 100,
            "g_x": x - self.c,
            "g_lam": lam / 50,
            "strong_convexity": 1 + a,
        }
        return SimpleNamespace(**{**members, **self.changes})


def test_a_problem_with_plain_arrays_is_solved():
    hoag.testing.check_problem(Denoise())
    result = hoag.minimize(Denoise())
    grid = np.linspace(-3, 3, 20001)
    x = Denoise().b[:, None] / (1 + np.exp(grid))
    f = 0.5 * np.sum((x - Denoise().c[:, None]) ** 2, axis=0) + grid**2 / 100
    assert result.converged
    assert result.lam[0] == pytest.approx(grid[np.argmin(f)], abs=1e-3)
    assert isinstance(str(result.status), str)


def test_every_linear_solver_works_on_it():
    for solver in (hoag.solvers.CG(preconditioner=hoag.solvers.jacobi), hoag.solvers.Cholesky()):
        assert hoag.minimize(hoag.criteria.Implicit(Denoise(), linear=solver)).converged

    class NoDiagonal:
        shape, dtype = (3, 3), np.dtype(float)

        def matvec(self, v):
            return 2.0 * v

        rmatvec = matvec

    jacobi = hoag.solvers.CG(preconditioner=hoag.solvers.jacobi)
    with pytest.raises(InvalidInputError, match="diagonal"):
        hoag.minimize(hoag.criteria.Implicit(Denoise(hessian=NoDiagonal()), linear=jacobi))


def test_results_do_not_share_memory_with_the_problem():
    problem = registry.make("logistic")
    result = hoag.minimize(problem, lam0=12.0)
    result.x[:] = 99.0
    np.testing.assert_array_equal(problem.x0, np.zeros(4))
    x = np.ones(4)
    point = problem.at(x, np.zeros(1))
    wanted = problem.at(np.ones(4), np.zeros(1)).h_x
    x[:] = 5.0
    np.testing.assert_array_equal(problem.at(np.ones(4), np.zeros(1)).h_x, wanted)
    assert point.h > 0


def test_without_strong_convexity_it_works_too():
    problem = Denoise(strong_convexity=None)
    assert hoag.minimize(problem).converged


def test_a_list_of_problems_is_their_sum():
    problems = [registry.make("logistic", seed=seed) for seed in range(3)]
    result = hoag.minimize(problems)
    assert isinstance(result.x, tuple)
    assert len(result.x) == 3
    values = [p.at(x, result.lam).g for p, x in zip(problems, result.x, strict=True)]
    assert sum(values) == pytest.approx(result.value)


def test_evaluate_takes_a_number_or_a_list():
    criterion = hoag.criteria.Implicit(registry.make("logistic"))
    wanted = criterion.evaluate(np.array([0.5]), 1e-6).grad
    for lam in (0.5, [0.5]):
        np.testing.assert_allclose(criterion.evaluate(lam, 1e-6).grad, wanted)


def test_a_bound_that_holds_lambda_back_is_named():
    result = hoag.minimize(Denoise(), bounds=(-3, -1), lam0=-2.0)
    assert result.converged
    assert "lam = -1 is on its upper bound" in str(result.status)


def test_convergence_in_a_worse_place_is_not_called_convergence():
    class TwoBasins(Denoise):
        """f falls steeply at the start and is flat, and higher, beyond: g = w(λ)."""

        def at(self, x, lam):
            point = super().at(x, lam)
            t = lam[0]
            point.g = float(-np.exp(-((t + 0.5) ** 2) * 8) + 2)
            point.g_x = 0 * x
            point.g_lam = np.array([16 * (t + 0.5) * np.exp(-((t + 0.5) ** 2) * 8)])
            return point

    search = hoag.optimize.Hoag(step=hoag.optimize.Constant(0.05))
    result = hoag.minimize(TwoBasins(), lam0=-0.3, search=search)
    assert not result.converged
    assert result.lam[0] == -0.3
    assert "the loss was lower by 36 % at a value tried before, which is returned" in str(
        result.status
    )


def test_lam0_may_be_a_number_and_bounds_arrays():
    problem = registry.make("ridge", penalties="per-feature")
    box = (np.full(4, -3.0), np.array([1.0, 2.0, 3.0, 4.0]))
    result = hoag.minimize(problem, lam0=0.5, bounds=box, search=hoag.optimize.Hoag(max_iter=3))
    np.testing.assert_array_equal(result.trace[0].lam, np.full(4, 0.5))
    assert np.all(result.lam >= box[0])
    assert np.all(result.lam <= box[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoag.minimize(Denoise(), lam0=13.0), r"lam0\[0\] = 13 lies outside"),
        (lambda: hoag.minimize(Denoise(), lam0=[0.0, 1.0]), "1 hyperparameters"),
        (lambda: hoag.minimize(Denoise(), lam0=np.nan), "not finite"),
        (lambda: hoag.minimize(Denoise(), bounds=(3, -3)), "box is empty"),
        (lambda: hoag.minimize(Denoise(), bounds=(-np.inf, 3)), "compact"),
        (lambda: hoag.minimize(Denoise(), bounds=5), "pair"),
        (lambda: hoag.minimize(Denoise(), bounds=([0, 0], [1, 1])), "do not fit"),
        (lambda: hoag.minimize(Denoise(), bounds=hoag.Box([0, 0], [1, 1])), "do not fit"),
        (lambda: hoag.minimize([]), "empty"),
        (lambda: hoag.minimize(object()), "is not a problem: it has no at"),
        (lambda: hoag.minimize(SimpleNamespace(at=None, lam0=np.zeros(1))), "no x0"),
        (lambda: hoag.minimize(Denoise(h_x=np.zeros(2))), r"point.h_x has shape \(2,\)"),
        (lambda: hoag.minimize(Denoise(cross=np.zeros((3, 2)))), r"point.cross has shape \(3, 2\)"),
        (lambda: hoag.minimize(Denoise(g_lam=np.zeros(3))), "point.g_lam has shape"),
        (lambda: hoag.minimize(Denoise(hessian=np.eye(2))), "point.hessian has shape"),
        (lambda: hoag.minimize(Denoise(g=np.zeros(3))), "point.g has shape"),
        (lambda: hoag.minimize(Denoise(), search=hoag.optimize.Hoag(lambda k: -1.0)), "schedule"),
        (lambda: hoag.optimize.Hoag(max_iter=0), "at least one"),
        (lambda: hoag.optimize.Hoag(max_iter=2.5), "whole number"),
        (lambda: hoag.optimize.Hoag(schedule=hoag.solvers.ExponentialDecay), "is a class"),
        (lambda: hoag.optimize.Hoag(schedule=1e-3), "function"),
        (lambda: hoag.optimize.Hoag(step=0.1), "Adaptive"),
        (lambda: hoag.minimize(Denoise(), search=hoag.optimize.Hoag), "instance"),
        (lambda: hoag.criteria.Sum([]), "at least one"),
        (lambda: hoag.criteria.Sum([Denoise()]), "Wrap each problem"),
        (
            lambda: hoag.minimize([registry.make("ridge"), registry.make("kernel-ridge")]),
            "different numbers",
        ),
        (
            lambda: hoag.criteria.Implicit(Denoise()).evaluate([0.0, 1.0], 1e-3),
            r"lam has shape \(2,\)",
        ),
        (lambda: hoag.optimize.Constant(-1.0), "positive"),
        (lambda: hoag.optimize.Hoag(tol=-1.0), "tol"),
        (lambda: hoag.optimize.Adaptive(C=np.nan), "number"),
        (lambda: hoag.minimize(Denoise(strong_convexity=0.0)), "strong_convexity is 0"),
        (lambda: hoag.optimize.Adaptive(C="guess"), "'data'"),
        (lambda: hoag.optimize.Adaptive(descent="steep"), "displayed"),
    ],
)
def test_errors_say_what_and_where(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_a_start_that_holds_nan_is_refused():
    problem = Denoise()
    problem.x0 = np.array([0.0, np.nan, 0.0])
    with pytest.raises(InvalidInputError, match=r"problem\.x0 holds a NaN"):
        hoag.minimize(problem)
    problem = Denoise()
    problem.lam0 = np.zeros((1, 1))
    with pytest.raises(InvalidInputError, match=r"problem\.lam0 has shape"):
        hoag.minimize(problem)


def test_a_nan_gradient_is_an_error_that_says_where():
    with pytest.raises(SingularProblemError, match="diverges at lam"):
        hoag.minimize(Denoise(h_x=np.full(3, np.nan)))


@given(
    lower=st.lists(st.floats(-50, 0), min_size=1, max_size=4),
    width=st.floats(0, 50),
    shift=st.floats(-100, 100),
)
def test_projection_is_the_nearest_point_of_the_box(lower, width, shift):
    box = hoag.Box(lower, np.array(lower) + width)
    lam = np.array(lower) + shift
    near = box.project(lam)
    assert box.contains(near)
    corners = box.sample(np.random.default_rng(0), 20)
    assert np.all(np.linalg.norm(near - lam) <= np.linalg.norm(corners - lam, axis=1) + 1e-9)
    np.testing.assert_array_equal(box.project(near), near)


def test_grid_and_sample():
    box = hoag.Box([0, 10], [1, 20])
    grid = list(box.grid(3))
    assert len(grid) == 9
    np.testing.assert_array_equal(grid[1], [0, 15])
    assert all(box.contains(lam) for lam in grid)
    assert all(box.contains(lam) for lam in box.sample(np.random.default_rng(0), 10))


PUBLIC = dir(hoag)
ROOT = Path(hoag.__file__).parent
UNITS = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
MODULES = sorted(UNITS & set(PUBLIC))


def test_the_public_names_are_few_and_listed_once():
    """In `__init__.pyi`; whatever else has been imported, nothing else is shown."""
    import hoag._inner

    assert sorted({*hoag.__all__, "__version__", "dask", "jax", "torch"}) == PUBLIC == dir(hoag)
    assert len(PUBLIC) <= 45
    assert not [name for name in PUBLIC if name.startswith("_") and name != "__version__"]
    spaces: dict[str, object] = {}
    exec("from hoag import *", spaces)
    assert {*hoag.__all__} <= {*spaces}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hoag.nothing  # noqa: B018


def test_every_module_says_what_it_offers_and_modules_without_underscore_are_public():
    deprecated = {*hoag._OLD_MODULES}
    inside = {"autodiff", "cli"}  # what is public of them is `hoag.problem`, and the command
    public = {unit for unit in UNITS if not unit.startswith("_")}
    assert public - deprecated - inside == set(MODULES)
    for name in set(MODULES) - {"dask", "jax", "torch"}:
        assert getattr(hoag, name).__all__


@pytest.mark.parametrize("first", sorted({*MODULES, "LogisticRegressionCV", "minimize"}))
def test_any_name_can_be_the_first_that_is_used(first):
    """Modules that import each other fail only where one of them comes first."""
    if first in ("dask", "jax", "torch"):
        pytest.importorskip({"dask": "distributed"}.get(first, first))
    script = f"import hoag; hoag.{first}"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
