"""f(λ) in a small, growing space: the space, the model in it, its numbers, errors and price."""

import itertools
import pickle

import numpy as np
import pytest
import registry
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import hoag
from hoag._core.result import Ask, Cost
from hoag._criteria.galerkin import MOST, Galerkin
from hoag._glm import losses
from hoag._glm.basis import Subspace, diagonal_inverse, gram_inverse, preconditioner
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import Target, binary, multiclass, regression
from hoag.optimize import Auto

OUTER = {"brier": losses.Brier(), "multinomial-brier": losses.MultinomialBrier()}
MODELS = ("logistic", "multinomial", "ridge", "ridge-2", *OUTER)
PRECONDITION = {"gram": gram_inverse, "diagonal": diagonal_inverse}
LAM = np.array([2.0])
FREE = Ask(free=True)


def make(model, how="sparse", intercept=False, weighted=False, folds=1, seed=0, n=70, d=50):
    """The problems of some splits of random rows, and the preconditioner."""
    rng = np.random.default_rng(seed)
    A = registry.rows(rng, n, d) if how == "sparse" else rng.normal(size=(n, d))
    A *= np.exp(rng.uniform(-1, 1, size=d))
    kind = {"brier": "logistic", "multinomial-brier": "multinomial"}.get(model, model)
    y = registry.targets(kind, A / np.sqrt(d), rng)
    if kind in ("logistic", "multinomial"):
        target = (binary if kind == "logistic" else multiclass)(y, None, intercept)
    else:
        target = regression(y, intercept)
    target = Target(**{**target.__dict__, "outer": OUTER.get(model, target.outer)})
    weights = rng.uniform(0.2, 2.0, size=n) if weighted else np.ones(n)
    matrix = ArrayRows(sparse.csr_matrix(A) if how == "sparse" else A)
    parts = np.array_split(rng.permutation(n), max(folds, 2))
    splits = [(np.setdiff1d(np.arange(n), part), part) for part in parts][:folds]
    problems = linear_folds(matrix, target, splits, weights)
    pre = PRECONDITION[how](matrix, weights) if how in PRECONDITION else None
    return problems, pre


def criterion(*args, **kwargs):
    (problem, *_), pre = make(*args, **kwargs)
    return problem, Galerkin(hoag.criteria.Implicit(problem), pre)


def repeated(space, lam, times, eps=1e-12, warm=None):
    for _ in range(times):
        found = space.evaluate(lam, eps, warm)
        warm = found.warm
    return found


def dense(rows):
    return np.concatenate([block for _, block in rows.dense_blocks()])


def columns(space):
    """v_j as columns, whichever way they are stored; W row by row."""
    stored = space.stored[:, space.intercepts : space.filled]
    if space.precondition is not None:
        return stored
    A, K = dense(space.rows), space.outputs
    return np.stack([(A.T @ w.reshape(-1, K)).ravel() for w in stored.T], axis=1)


def check_space(space):
    k, m, K, V = space.intercepts, space.filled, space.outputs, columns(space)
    np.testing.assert_allclose(V.T @ V, np.eye(m - k), atol=1e-7)
    for Z, term in ((space.Z, space.model.train), (space.Z_test, space.model.test)):
        images = np.kron(dense(term.design.rows), np.eye(K)) @ V
        np.testing.assert_allclose(Z[:, k:m], images, atol=1e-7 * max(1.0, np.abs(images).max()))
        if k:
            assert np.array_equal(Z[:, :k], np.tile(term.design.Q, (term.design.n, 1)))
    assert space.shared == (space.Z is space.Z_test)


# Every model, with and without intercept and weights, three preconditioners, hold-out and folds.
CASES = [
    (model, how, intercept, weighted, folds)
    for k, (model, how) in enumerate(itertools.product(MODELS, ("gram", "diagonal", "sparse")))
    for intercept, weighted, folds in [(bool(k % 2), bool(k // 2 % 2), 1 + 2 * (k // 3 % 2))]
]
each_case = pytest.mark.parametrize("case", CASES, ids=["-".join(map(str, c)) for c in CASES])


@each_case
def test_columns_are_orthonormal_and_their_images_are_products_also_when_compressed(case):
    _, criterion_ = criterion(*case)
    warm, sizes = None, []
    for lam in (3.0, 1.0, 2.0, 2.0, 0.5, 2.0):
        warm = criterion_.evaluate(np.array([lam]), 1e-12, warm).warm
        check_space(warm.basis)
        sizes.append(warm.c.size - warm.basis.intercepts)
    assert max(sizes) <= MOST
    assert np.any(np.diff(sizes) < 0)  # it was compressed


@each_case
def test_inside_the_space_h_and_g_are_those_of_the_problem(case):
    problem, criterion_ = criterion(*case)
    space = criterion_.evaluate(LAM, 1e-12).warm.basis
    k, m = space.intercepts, space.filled
    c = np.random.default_rng(0).normal(size=m)
    restricted, x = problem.restricted(space, m), space.coefficients(c)
    hoag.testing.check_problem(restricted)
    inside = restricted.at(c, LAM)
    T = np.stack([space.coefficients(unit) for unit in np.eye(m)], axis=1)
    np.testing.assert_allclose(T @ c, x, atol=1e-9)
    np.testing.assert_allclose(T[-k:, :k] if k else 0.0, np.eye(k) if k else 0.0)
    point = problem.at(x, LAM)
    assert inside.h == pytest.approx(point.h, rel=1e-6)
    size = np.abs(T.T @ point.h_x).max()
    np.testing.assert_allclose(inside.h_x, T.T @ point.h_x, atol=1e-6 * size)
    H = np.stack([T.T @ (point.hessian @ t) for t in T.T], axis=1)
    np.testing.assert_allclose(inside.hessian.matrix(), H, atol=1e-6 * np.abs(H).max())
    np.testing.assert_allclose(inside.hessian.diagonal(), np.diag(H), rtol=1e-5)
    D = T.T @ (point.cross @ np.eye(1))
    np.testing.assert_allclose(inside.cross @ np.eye(1), D, atol=1e-6 * np.abs(D).max())
    assert inside.g == pytest.approx(point.g, rel=1e-6)
    size = max(1, np.abs(inside.g_x).max())
    np.testing.assert_allclose(inside.g_x, T.T @ point.g_x, atol=1e-6 * size)
    K, s = space.outputs, problem.train.weights
    units = np.eye(K) if K > 1 else [1.0]
    shape, at = (s.size, K) if K > 1 else s.size, inside.train.loss
    traces = [at.hvp(np.broadcast_to(e, shape)) @ np.atleast_1d(e) if K > 1
              else at.hvp(np.ones(shape)) for e in units]  # fmt: skip
    assert inside.train.mean_curvature == pytest.approx(s @ np.mean(traces, axis=0) / s.sum())


@given(
    new=st.sampled_from([0.0, 1e-10, 1e-6, 1e-2, 1.0]),
    scale=st.sampled_from([1e-100, 1e-6, 1.0, 1e6, 1e100]),
    case=st.sampled_from(CASES),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=30, deadline=None)
def test_only_what_is_new_is_added(new, scale, case, seed):
    (problem, *_), pre = make(*case)
    rng, space = np.random.default_rng(seed), Subspace(problem, 6, pre)
    rows, size = problem.train.design.rows, space.stored.shape[0]

    def images(stored):
        v = stored if pre else rows.backward(space.shaped(stored)).ravel()
        v = v.reshape(-1, space.outputs)
        return [t.design.rows.forward(v).ravel() for t in (problem.train, problem.test)]

    assert space.joined(np.zeros(size), *images(np.zeros(size)), space.filled) is None
    for _ in range(3):
        w = rng.normal(size=size)
        space = space.joined(w, *images(w), space.filled)
    old = space.stored[:, space.intercepts : space.filled] @ rng.normal(size=3)
    w = rng.normal(size=size)
    w = scale * (old + new * w * np.linalg.norm(old) / np.linalg.norm(w))
    larger = space.joined(w, *images(w), space.filled)
    assert (larger is None) == (new < 1e-4)
    check_space(larger or space)
    if pre is not None:  # orthonormal to rounding, however little was new
        V = columns(larger or space)
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)


def test_a_branch_does_not_touch_the_other():
    _, criterion_ = criterion("logistic", intercept=True)
    trunk = criterion_.evaluate(LAM, 1e-12).warm
    left = criterion_.evaluate(LAM - 1, 1e-12, trunk)
    assert left.warm.basis is trunk.basis  # the first to come grows it in place
    seen = left.warm.basis.Z.copy(), criterion_.solution(left)[0]
    before = criterion_.evaluate(LAM + 1, FREE, trunk)
    right = repeated(criterion_, LAM + 2, 5, warm=trunk)
    assert right.warm.basis is not left.warm.basis
    assert not np.shares_memory(right.warm.basis.Z, left.warm.basis.Z)
    assert np.array_equal(left.warm.basis.Z, seen[0])
    assert np.array_equal(criterion_.solution(left)[0], seen[1])
    after = criterion_.evaluate(LAM + 1, FREE, trunk)  # the old, smaller view
    assert (after.value, after.grad[0]) == (before.value, before.grad[0])
    again = criterion_.evaluate(LAM - 1, 1e-12, trunk)
    assert again.value == pytest.approx(left.value, rel=1e-9)


@each_case
def test_value_and_x_tend_to_those_of_a_tight_solve(case):
    problem, criterion_ = criterion(*case)
    found, truth = repeated(criterion_, LAM, 30), registry.exact(problem, LAM)
    assert found.value == pytest.approx(truth.value, rel=1e-5)
    x, cost = criterion_.solution(found)
    np.testing.assert_allclose(x, truth.x, atol=1e-5 * np.abs(truth.x).max())
    assert cost.passes in (0.0, 0.5 if case[1] == "sparse" else 0.0)
    step = 1e-4
    ends = [registry.exact(problem, LAM + t).value for t in (-step, step)]
    slope = (ends[1] - ends[0]) / (2 * step)
    assert truth.grad[0] == pytest.approx(slope, abs=1e-6 * truth.value)
    assert found.grad[0] == pytest.approx(slope, abs=0.1 * truth.value)  # see the next test


@each_case
def test_the_gradient_tends_to_that_of_a_tight_solve(case):
    problem, criterion_ = criterion(*case)
    found, truth = repeated(criterion_, LAM, 25), registry.exact(problem, LAM)
    assert found.grad[0] == pytest.approx(truth.grad[0], abs=3e-6 * truth.value)


def error_ratios(times):
    """estimated/true error of p of each evaluation, 120 random problems and λ."""
    rng, ratios = np.random.default_rng(0), []
    for k in range(120):
        problem, criterion_ = criterion(*CASES[k % len(CASES)], seed=k)
        lam, warm = np.array([rng.uniform(1, 5)]), None
        truth = registry.exact(problem, lam)
        for _ in range(times):
            found = criterion_.evaluate(lam, 1e-9, warm)
            warm, error = found.warm, abs(found.grad - truth.grad)[0]
            if error > 1e-9 * truth.value:
                ratios.append(found.error / error)
    return np.array(ratios)


def test_the_first_error_is_estimated():
    # Least 0.07, quartiles 0.5, 1.0 and 3.4; 92 % are within a factor 10.
    ratios = error_ratios(1)
    assert ratios.min() > 1 / 50
    assert np.mean((ratios > 0.1) & (ratios < 10)) > 0.6


def test_no_error_is_estimated_far_too_small():
    # Of five evaluations each: least 0.015, quartiles 0.5, 1.3 and 5; 84 % are within a factor 10.
    ratios = error_ratios(5)
    assert ratios.min() > 1 / 100
    assert np.mean((ratios > 0.1) & (ratios < 10)) > 0.6


@each_case
def test_looks_are_free(case):
    _, criterion_ = criterion(*case)
    warm = criterion_.evaluate(LAM, 0.1).warm
    for lam in (-8.0, 0.0, 2.0, 9.0):
        for gradient in (True, False):
            ask = Ask(free=True, gradient=gradient)
            assert criterion_.evaluate(np.array([lam]), ask, warm).cost == Cost()


@pytest.mark.parametrize("how", ["sparse", *(how for how in PRECONDITION)])
def test_a_pickled_warm_start_is_as_good(how):
    _, criterion_ = criterion("multinomial", how, intercept=True, folds=3)
    warm = criterion_.evaluate(LAM, 0.1).warm
    copy = pickle.loads(pickle.dumps(warm))
    assert copy.basis.model is None  # whoever has the basis has the model
    here, there = (repeated(criterion_, LAM - 1, 3, warm=start) for start in (warm, copy))
    assert here.value == pytest.approx(there.value, rel=1e-12)
    assert here.grad[0] == pytest.approx(there.grad[0], rel=1e-9)
    assert here.cost == there.cost
    np.testing.assert_allclose(*(criterion_.solution(found)[0] for found in (here, there)))


@pytest.mark.parametrize("model", ["logistic", "ridge"])
def test_a_space_that_is_complete_for_a_strong_penalty_is_not_for_a_weak_one(model):
    problem, criterion_ = criterion(model)
    warm = repeated(criterion_, np.array([12.0]), 6).warm
    found = repeated(criterion_, np.array([1.0]), 15, warm=warm)
    assert found.value == pytest.approx(registry.exact(problem, 1.0).value, rel=1e-3)


def test_a_value_is_as_near_as_asked_from_a_far_warm_start():
    problem, criterion_ = criterion("logistic")
    warm = repeated(criterion_, np.array([4.0]), 2).warm
    assert not warm.complete
    found = criterion_.value(np.array([-2.0]), 1e-2, warm)
    assert found.value == pytest.approx(registry.exact(problem, -2.0).value, abs=0.2)


def test_values_are_as_near_as_asked():
    for case, lam, eps in itertools.product(CASES[::3], (1.0, 4.0), (1e-1, 1e-3)):
        problem, criterion_ = criterion(*case)
        found = criterion_.value(np.array([lam]), eps)
        assert abs(found.value - registry.exact(problem, lam).value) <= 20 * eps, (case, lam, eps)


@pytest.mark.parametrize("lam", [-5.0, 0.0, 3.0])
@pytest.mark.parametrize("model", ["logistic", "multinomial", "ridge"])
def test_few_coefficients_are_solved_to_the_end(model, lam):
    problem = registry.make(model, intercept=True, weighted=True)
    exact = hoag.plan(problem)
    assert exact.traits.exact
    found, truth = exact.evaluate(lam, 0.1), registry.exact(problem, lam)
    assert found.value == pytest.approx(truth.value, rel=1e-9)
    assert found.grad[0] == pytest.approx(truth.grad[0], rel=1e-7, abs=1e-8)
    look = exact.evaluate(lam, FREE)
    assert look.value == pytest.approx(truth.value, rel=1e-3)


@given(
    n=st.integers(2, 8),
    d=st.sampled_from([1, 3, 41, 45]),
    scale=st.sampled_from([1e-150, 1e-8, 1.0, 1e3, 1e8]),
    spoilt=st.sampled_from(["", "zeros", "copies", "one class", "no rows"]),
    lam=st.floats(-6, 8),
    is_sparse=st.booleans(),
    intercept=st.booleans(),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=80, deadline=None)
def test_any_shape_and_scale_gives_finite_numbers(
    n, d, scale, spoilt, lam, is_sparse, intercept, seed
):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(n + 2, d)), rng.permutation(np.arange(n + 2) % 2)
    A[:, ::2] = {"zeros": 0.0, "copies": A[:, :1]}.get(spoilt, A[:, ::2])
    A *= 0.0 if spoilt == "no rows" else scale
    splits = [(np.flatnonzero(y == 1), np.flatnonzero(y == 0))]  # one class, and another to judge
    splits = splits if spoilt == "one class" else [(np.arange(n), np.arange(n, n + 2))]
    matrix = ArrayRows(sparse.csr_matrix(A) if is_sparse else A)
    (problem,) = linear_folds(matrix, binary(y, None, intercept), splits, np.ones(n + 2))
    criterion_ = Galerkin(hoag.criteria.Implicit(problem), preconditioner(matrix, np.ones(n + 2)))
    found = repeated(criterion_, np.array([lam]), 3, 1e-6)
    assert np.isfinite([found.value, found.value, found.grad[0]]).all()
    assert found.error >= 0
    x, _ = criterion_.solution(found)
    assert found.value == pytest.approx(problem.at(x, found.lam).g, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_a_direction_that_is_rounding_is_not_taken_in(scale):
    """One column that is not zero: after one direction ∇₁h cancels, and w is no picture of it."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A, y = np.zeros((6, 3)), rng.permutation(np.arange(6) % 2)
        A[:, 1] = scale * rng.normal(size=6)
        matrix = ArrayRows(sparse.csr_matrix(A))
        split = [(np.arange(4), np.arange(4, 6))]
        (problem,) = linear_folds(matrix, binary(y, None, False), split, np.ones(6))
        criterion_ = Galerkin(hoag.criteria.Implicit(problem))
        found = repeated(criterion_, np.zeros(1), 3, 1e-6)
        x, _ = criterion_.solution(found)
        assert found.value == pytest.approx(problem.at(x, found.lam).g, rel=1e-6, abs=1e-9)
    if scale < 1e8:  # see test_refit.py
        assert criterion_.certify(found, bound=True).bound >= 0


@each_case
def test_the_cost_equals_an_outside_count_to_the_last_product(case):
    problems, pre = make(*case)
    counter = {"passes": 0.0, "held_out": 0.0}
    terms = [(problems[0].train, "passes"), (problems[0].test, "held_out")]
    for term, column in terms[: 1 if len(problems) > 1 else 2]:  # folds share one matrix
        term.squared_norms  # noqa: B018  (reads A, multiplies nothing)
        matrix = term.design.rows
        matrix.A = registry.CountedMatrix(matrix.A, counter, column)
        matrix.At = registry.CountedMatrix(matrix.At, counter, column)
    folds = hoag.criteria.Sum(
        [Galerkin(hoag.criteria.Implicit(problem), pre) for problem in problems]
    )
    before = []
    result = hoag.minimize(
        folds, search=Auto(tol=1e-5), callback=lambda step: before.append(step.cost)
    )
    assert result.cost.passes + result.cost.held_out == sum(counter.values()) > 0
    if len(problems) == 1:
        assert result.cost.held_out == counter["held_out"] > 0
    made = 0.5 * len(problems) if pre is None else 0.0  # the x of each fold, made at the end
    assert result.cost.passes - before[-1].passes >= made + 0.5 * len(problems)  # and f at it
    assert result.trace[-1].cost == before[-1]
    for x, problem in zip(result.x, problems, strict=True):
        point = problem.at(x, result.lam)
        assert np.linalg.norm(point.h_x) <= 0.02 * np.linalg.norm(problem.at(0 * x, result.lam).h_x)
    assert result.value == pytest.approx(
        sum(problem.at(x, result.lam).g for x, problem in zip(result.x, problems, strict=True))
    )
