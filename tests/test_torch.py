"""hoag.torch: the library's models rewritten in PyTorch, modules, dtypes, data, and wrong uses."""

from typing import NamedTuple

import numpy as np
import pytest
import registry

import hoag
from hoag.errors import InvalidInputError, SingularProblemError

torch = pytest.importorskip("torch")

import rewritten_torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, softplus  # noqa: E402

import hoag.torch  # noqa: E402
from hoag import optimize, solvers  # noqa: E402

F64 = torch.float64


def tensor(value, dtype=F64):
    return torch.tensor(value, dtype=dtype)


def draws(*shape, seed=0, dtype=F64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


ONE = torch.ones(2, dtype=F64)


# The models of the library, rewritten

REWRITTEN = [
    {"model": "logistic", "penalties": "per-feature", "intercept": True, "weighted": True},
    {"model": "logistic", "penalties": "shared"},
    {"model": "multinomial", "penalties": "per-class", "intercept": True},
    {"model": "ridge", "penalties": "partly-free", "weighted": True},
    {"model": "ridge-2", "penalties": "groups", "intercept": True},
    {"model": "kernel-ridge", "weighted": True},
    {"model": "kernel-widths"},
]


def rewritten(model, penalties="shared", intercept=False, weighted=False, n=30, d=4):
    """(the library's problem, the one in PyTorch)."""
    ours = registry.make(model, penalties=penalties, intercept=intercept, weighted=weighted)
    rng = np.random.default_rng(0)
    A = registry.rows(rng, 2 * n, d)
    y = registry.targets(model, A, rng)
    s = rng.uniform(0.2, 2.0, size=2 * n) if weighted else np.ones(2 * n)
    train, test = ((A[k], y[k], s[k]) for k in (slice(n), slice(n, None)))
    make = rewritten_torch.REWRITTEN[model]
    if model.startswith("kernel"):
        return ours, make(train, test, d if model == "kernel-widths" else 1, None)
    groups = rewritten_torch.groups_of(penalties, d, ours.train.design.outputs)
    return ours, make(train, test, groups, ours.train.design.Q if intercept else None)


def named(setting):
    flags = [name for name in ("intercept", "weighted") if setting.get(name)]
    return "-".join([setting["model"], setting.get("penalties", ""), *flags])


def members(problem, x, lam, v, w):
    point = problem.at(x, lam)
    return {
        "h": point.h,
        "h_x": point.h_x,
        "hessian": point.hessian @ v,
        "matrix": point.hessian.matrix(),
        "cross": point.cross @ w,
        "rcross": point.cross.rmatvec(v),
        "g": point.g,
        "g_x": point.g_x,
        "g_lam": point.g_lam,
    }


@pytest.mark.parametrize("setting", REWRITTEN, ids=named)
def test_the_models_rewritten_are_the_same_problems(setting):
    ours, theirs = rewritten(**setting)
    rng = np.random.default_rng(1)
    x, lam = registry.random_point(ours, 2)
    v, w = rng.normal(size=x.size), rng.normal(size=lam.size)
    one, other = (members(problem, x, lam, v, w) for problem in (ours, theirs))
    for name, value in one.items():
        scale = max(np.linalg.norm(np.atleast_1d(value)), 1e-300)
        assert np.linalg.norm(np.atleast_1d(value - other[name])) <= 1e-8 * scale, name
    assert max(hoag.testing.check_problem(theirs).values()) < 1e-6


@pytest.mark.parametrize("setting", REWRITTEN, ids=named)
def test_the_models_rewritten_are_tuned_to_the_same_place(setting):
    ours, theirs = rewritten(**setting)
    tight = optimize.Auto(tol=1e-10)
    box = (-4.0, 4.0)
    start = np.clip(ours.lam0, -4, 4)
    one = hoag.minimize(ours, start, box, tight)
    domain = hoag.Box(*(theirs.layout.scales.to(np.full(start.size, end)) for end in box))
    other = hoag.minimize(theirs, theirs.layout.given_lam(start), domain, tight)
    assert one.converged
    assert other.converged
    assert other.value == pytest.approx(one.value, rel=1e-8)


# Structures of tensors


class Weights(NamedTuple):
    slope: torch.Tensor
    offset: torch.Tensor


A, B = draws(40, 3), draws(30, 3, seed=1)
TRUE = tensor([1.0, -2.0, 0.0])
Y = A @ TRUE + 0.5 * draws(40, seed=2)
Z = B @ TRUE + 0.5 * draws(30, seed=3)
LABELS, HELD = (Y > 0).long(), (Z > 0).long()


def h_tree(x, lam):
    head = x["head"]
    fit = torch.sum((A @ head.slope + head.offset + x["more"][0][0, 0] - Y) ** 2)
    decay = torch.sum(lam["w"] * head.slope**2) + lam["b"] * head.offset**2
    return fit + decay + torch.sum(x["more"][0] ** 2)


def g_tree(x, lam):
    return torch.mean((B @ x["head"].slope + x["head"].offset - Z) ** 2)


def tree_problem(device=None, **more):
    like = {"dtype": F64, "device": device}
    x0 = {
        "head": Weights(torch.zeros(3, **like), torch.zeros((), **like)),
        "more": [torch.zeros(2, 2, **like)],
    }
    lam0 = {"w": torch.ones(3, **like), "b": 1.0}
    return hoag.torch.problem(h_tree, g_tree, x0, lam0, **{"scale": "log", **more})


def test_structures_come_back_with_names_dtypes_and_shapes():
    problem = tree_problem()
    assert max(hoag.testing.check_problem(problem).values()) < 1e-6
    steps = []
    result = hoag.minimize(problem, callback=lambda step: steps.append(step.lam) and None)
    assert result.converged
    assert result.names == ("w[0]", "w[1]", "w[2]", "b")
    assert isinstance(result.x["head"], Weights)
    assert result.x["more"][0].shape == (2, 2)
    assert result.x["head"].slope.dtype == F64
    assert not result.x["head"].slope.requires_grad
    assert set(steps[-1]) == {"w", "b"}
    assert steps[-1]["w"].shape == (3,)
    assert "w[0]" in "".join(result.to_frame().columns)
    # X(λ) is a minimum of h
    slope = result.x["head"].slope.clone().requires_grad_()
    x = {"head": Weights(slope, result.x["head"].offset), "more": result.x["more"]}
    h_tree(x, result.lam).backward()
    assert float(slope.grad.norm()) < 1e-3


def test_every_leaf_keeps_its_own_dtype():
    def h(x, lam):
        return torch.sum((A @ x["a"] - Y) ** 2) + lam * torch.sum(x["a"] ** 2) + (x["b"] - 1) ** 2

    def g(x, lam):
        return torch.mean((B @ x["a"] + x["b"] - 1 - Z) ** 2)

    x0 = {"a": torch.zeros(3, dtype=F64), "b": torch.zeros((), dtype=torch.float32)}
    problem = hoag.torch.problem(h, g, x0, 1.0, scale="log")
    result = hoag.minimize(problem)
    assert result.x["a"].dtype == F64
    assert result.x["b"].dtype == torch.float32
    assert result.lam.dtype == F64
    assert problem.roundoff == torch.finfo(torch.float32).eps
    hoag.testing.check_problem(problem)


def test_single_precision_finds_nearly_the_same():
    def made(dtype):
        rows, y, held, z = (t.to(dtype) for t in (A, Y, B, Z))
        return hoag.torch.problem(
            lambda x, lam: torch.sum((rows @ x - y) ** 2) + torch.exp(lam) * torch.sum(x**2),
            lambda x, lam: torch.mean((held @ x - z) ** 2),
            torch.zeros(3, dtype=dtype),
            torch.zeros((), dtype=dtype),
        )

    single = made(torch.float32)
    assert max(hoag.testing.check_problem(single).values()) < 1e-2
    one, other = hoag.minimize(made(F64)), hoag.minimize(single)
    assert other.converged
    assert other.x.dtype == other.lam.dtype == torch.float32
    assert other.value == pytest.approx(one.value, rel=1e-3)


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("batches", [None, 2])
def test_gradients_may_be_asked_of_x0_or_not_and_are_off_elsewhere(off, batches):
    x0, lam0 = torch.zeros(3, dtype=F64, requires_grad=True), tensor(0.0).requires_grad_()

    def squares(x, lam, data):
        return torch.sum((data[0] @ x - data[1]) ** 2)

    def made(x0, lam0):
        return hoag.torch.problem(
            squares,
            squares,
            x0,
            lam0,
            train=(A.numpy(), Y.numpy()),
            test=(B.numpy(), Z.numpy()),
            penalty=lambda x, lam: torch.exp(lam) * torch.sum(x**2),
            batches=batches,
            solver=None if batches is None else descended,
        )

    def descended(lam, x0):
        x = x0.requires_grad_()
        optim = torch.optim.LBFGS([x], max_iter=50, line_search_fn="strong_wolfe")

        def closure():
            optim.zero_grad()
            value = squares(x, lam, (A, Y)) + torch.exp(lam) * torch.sum(x**2)
            value.backward()
            return value

        optim.step(closure)
        return x

    short = optimize.Auto(max_iter=2)
    expected = hoag.minimize(made(x0, lam0), search=short)
    with off():
        again = hoag.minimize(made(x0.detach(), lam0.detach()), search=short)
    assert again.value == expected.value
    assert x0.grad is None
    assert lam0.grad is None
    assert torch.equal(x0.detach(), torch.zeros(3, dtype=F64))


def test_the_device_is_that_of_the_tensors_and_not_the_default_one():
    with torch.device("meta"):  # where nothing can be computed
        result = hoag.minimize(tree_problem(device="cpu"), search=optimize.Auto(max_iter=1))
    assert result.x["head"].slope.device.type == "cpu"


def test_what_a_function_does_not_depend_on_has_zeros():
    problem = hoag.torch.problem(
        lambda x, lam: torch.sum((x["a"] - 1) ** 2) + 3 * torch.sum(x["b"]),  # no λ, linear in b
        lambda x, lam: 2 * lam["lam"][0],  # no x, and of λ one number
        {"a": torch.zeros(2, dtype=F64), "b": torch.zeros(2, dtype=F64)},
        {"lam": torch.ones(3, dtype=F64)},
    )
    point = problem.at(problem.x0, problem.lam0)
    np.testing.assert_array_equal(point.h_x, [-2, -2, 3, 3])
    np.testing.assert_array_equal(point.hessian.matrix(), np.diag([2.0, 2, 0, 0]))
    np.testing.assert_array_equal(point.hessian @ np.ones(4), [2, 2, 0, 0])
    np.testing.assert_array_equal(point.cross @ np.ones(3), np.zeros(4))
    np.testing.assert_array_equal(point.cross.rmatvec(np.ones(4)), np.zeros(3))
    assert not point.g_x.any()
    np.testing.assert_array_equal(point.g_lam, [2, 0, 0])


def test_a_hyperparameter_that_is_lost_on_the_way_is_told_of():
    def h(x, lam):
        return torch.sum((x - 1) ** 2) + lam["used"] * x @ x + lam["lost"].item() * x @ x

    x0 = torch.zeros(2, dtype=F64)
    with pytest.raises(InvalidInputError, match=r"depends on lam, at lost,.*item\(\)"):
        hoag.torch.problem(h, lambda x, lam: torch.sum(x**2), x0, {"used": 1.0, "lost": 1.0})


def test_a_hessian_is_formed_row_by_row_where_it_cannot_be_at_once():
    asked = []

    def guard(slope):  # reads a number, which several vectors at a time do not have
        asked.append(float(slope.detach().sum()))
        return slope

    def h(x, lam):
        y = x * 1
        if y.requires_grad:
            y.register_hook(guard)
        return torch.sum(y**2 * tensor([1.0, 2.0])) + lam * torch.sum(x**2)

    problem = hoag.torch.problem(h, lambda x, lam: torch.sum(x), ONE, 1.0)
    asked.clear()
    H = problem.at(problem.x0, problem.lam0).hessian.matrix()
    np.testing.assert_allclose(H, np.diag([4.0, 6.0]))
    assert len(asked) == 2 + 2 * 1  # both gradients, and both rows


# Data, whole and in blocks


def loss(x, lam, data):
    rows, y = data
    return torch.sum(softplus(-torch.sign(y) * (rows @ x)))


def decay(x, lam):
    return torch.sum(torch.exp(lam) * x**2)


def blocks():
    yield A[:11], Y[:11]
    yield A[11:], Y[11:]


@pytest.mark.parametrize(
    "how",
    [
        {"train": (A, Y), "batches": 3},
        {"train": (A.numpy(), Y.numpy()), "batches": 3},
        {"batches": [(A[:30], Y[:30]), (A[30:], Y[30:])]},
        {"batches": blocks},
        {
            "batches": torch.utils.data.DataLoader(
                torch.utils.data.TensorDataset(A, Y), batch_size=7
            )
        },
    ],
    ids=["number", "numpy", "list", "function", "loader"],
)
def test_blocks_add_up_to_the_whole(how):
    def made(**data):
        x0, lam0 = torch.zeros(3, dtype=F64), torch.zeros(3, dtype=F64)
        return hoag.torch.problem(
            loss, lambda x, lam, test: loss(x, lam, test), x0, lam0, test=(B, Z), penalty=decay,
            **data,
        )  # fmt: skip

    whole, parts = made(train=(A, Y)), made(**how)
    rng = np.random.default_rng(0)
    x, lam, v, w = rng.normal(size=(4, 3))
    other = members(parts, x, lam, v, w)
    for name, value in members(whole, x, lam, v, w).items():
        np.testing.assert_allclose(other[name], value, rtol=1e-10, atol=1e-12, err_msg=name)
    before = parts.ledger.cost.passes
    point = parts.at(x, lam)
    point.hessian @ v
    assert parts.ledger.cost.passes - before == 3.0
    before = whole.ledger.cost.passes
    point = whole.at(x, lam)
    point.hessian @ v
    assert whole.ledger.cost.passes - before == 2.0


def test_arrays_of_numpy_become_tensors_like_x0():
    seen = []

    def h(model, lam, data):
        seen.append(data)
        return cross_entropy(model(data["rows"]), data["y"], reduction="sum")

    def decay(model, lam):
        return lam * sum(p.square().sum() for p in model.parameters())

    data = {"rows": A.numpy()[::-1], "y": LABELS.numpy()[::-1], "name": np.array(["train"])}
    model = nn.Linear(3, 2)
    problem = hoag.torch.problem(h, h, model, 1.0, train=data, test=data, penalty=decay)
    assert problem.roundoff == torch.finfo(torch.float32).eps
    assert [seen[0][key].dtype for key in ("rows", "y")] == [torch.float32, torch.int64]
    np.testing.assert_array_equal(seen[0]["rows"], A.numpy()[::-1].astype(np.float32))
    assert seen[0]["name"] is data["name"]


# Modules


class Net(nn.Module):
    def __init__(self, dtype=F64):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.head = nn.Linear(3, 2)
        self.register_buffer("shift", torch.ones(3))
        self.to(dtype)

    def forward(self, x):
        return self.head(self.encoder(x + self.shift))


def h_net(model, lam, data):
    rows, y = data
    fit = cross_entropy(model(rows), y, reduction="sum")
    return fit + sum((lam[name] * p**2).sum() for name, p in model.named_parameters())


def g_net(model, lam, data):
    return cross_entropy(model.head(model.encoder(data[0] + model.shift)), data[1])


def net_problem(model, dtype=F64, **more):
    lam0 = {n: torch.ones((), dtype=dtype) for n, p in model.named_parameters() if p.requires_grad}
    data = {"train": (A.to(dtype), LABELS), "test": (B.to(dtype), HELD)}
    settings = {"scale": "log", "convex": False, **data, **more}
    return hoag.torch.problem(h_net, g_net, model, lam0, **settings)


@pytest.mark.parametrize("dtype", [F64, torch.float32], ids=str)
def test_a_penalty_for_every_layer_of_a_network(dtype):
    model = Net(dtype)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    problem = net_problem(model, dtype)
    found = hoag.testing.check_problem(problem, directions=1)
    assert max(found.values()) < (1e-6 if dtype == F64 else 1e-2)
    result = hoag.minimize(problem, search=optimize.Auto(max_iter=1))
    assert "h is not convex" in str(result.status)
    assert result.names[0] == "encoder.0.weight"
    assert list(result.x) == list(before)
    assert result.x["shift"].dtype == dtype
    for name, value in model.state_dict().items():  # nothing of the user's has changed
        assert torch.equal(value, before[name])
    assert all(p.grad is None and isinstance(p, nn.Parameter) for p in model.parameters())
    model.load_state_dict(result.x)
    with torch.no_grad():
        again = g_net(model, None, (B.to(dtype), HELD))
    assert float(again) == pytest.approx(result.value, rel=1e-4)


@pytest.mark.parametrize(("optimizer", "handing"), [("LBFGS", "state_dict"), ("Adam", "module")])
def test_a_network_with_a_loop_of_torch_optim(optimizer, handing):
    model, calls = Net(), []

    def solver(lam, x0):
        calls.append(lam)
        own = Net()
        own.load_state_dict(x0)
        if optimizer == "LBFGS":
            steps, optim = 3, torch.optim.LBFGS(own.parameters(), line_search_fn="strong_wolfe")
        else:
            steps, optim = 300, torch.optim.Adam(own.parameters(), lr=0.05)

        def closure():
            optim.zero_grad()
            value = h_net(own, lam, (A, LABELS))
            value.backward()
            return value

        for _ in range(steps):
            optim.step(closure)
        return own if handing == "module" else own.state_dict()

    problem = net_problem(model, solver=solver)
    with torch.no_grad():  # the loop needs gradients all the same
        result = hoag.minimize(problem, search=optimize.Auto(max_iter=2))
    assert calls
    assert set(calls[0]) == set(dict(model.named_parameters()))
    assert "h is not convex" in str(result.status)
    # the minimum that was judged is the loop's, and going on from it changes little
    found = solver(result.lam, result.x)
    model.load_state_dict(found if handing == "state_dict" else found.state_dict())
    with torch.no_grad():
        assert float(g_net(model, None, (B, HELD))) == pytest.approx(result.value, rel=1e-2)


def test_frozen_parameters_stay_and_tied_ones_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3, bias=False, dtype=F64)
            self.second = nn.Linear(3, 3, bias=False, dtype=F64)
            self.second.weight = self.first.weight
            self.scale = nn.Parameter(tensor(0.5), requires_grad=False)

        def forward(self, rows):
            return self.second(torch.tanh(self.first(rows))).sum(1) * self.scale

    torch.manual_seed(0)
    model = Tied()

    def h(model, lam):
        return torch.sum((model(A) - Y) ** 2) + torch.exp(lam) * model.first.weight.square().sum()

    def g(model, lam):
        return torch.mean((model(B) - Z) ** 2)

    problem = hoag.torch.problem(h, g, model, 0.0, convex=False)
    assert problem.x0.size == 9
    assert max(hoag.testing.check_problem(problem).values()) < 1e-6
    result = hoag.minimize(problem, search=optimize.Auto(max_iter=2))
    assert torch.equal(result.x["first.weight"], result.x["second.weight"])
    assert not torch.equal(result.x["first.weight"], model.first.weight)
    assert result.x["scale"] == 0.5
    model.load_state_dict(result.x)
    assert float(g(model, None).detach()) == pytest.approx(result.value, rel=1e-6)


def test_modules_that_are_evaluated_may_have_dropout_and_batch_norm():
    torch.manual_seed(0)
    layers = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 1)
    model = nn.Sequential(*layers).to(F64).eval()

    def h(model, lam):
        penalty = sum(p.square().sum() for p in model.parameters())
        return torch.sum((model(A)[:, 0] - Y) ** 2) + torch.exp(lam) * penalty

    def g(model, lam):
        return torch.mean((model(B)[:, 0] - Z) ** 2)

    problem = hoag.torch.problem(h, g, model, 0.0, convex=False)
    hoag.testing.check_problem(problem, directions=1)
    state = problem.layout.given_x(problem.x0)
    assert list(state) == list(model.state_dict())
    model.load_state_dict(state)


def test_hyperparameters_may_be_a_module():
    torch.manual_seed(0)
    weigher = nn.Linear(3, 1, dtype=F64)  # a weight for every row, learned

    def h(x, lam):
        weights = torch.sigmoid(lam(A))[:, 0]
        return torch.sum(weights * (A @ x - Y) ** 2) + torch.sum(x**2)

    def g(x, lam):
        return torch.mean((B @ x - Z) ** 2)

    problem = hoag.torch.problem(h, g, torch.zeros(3, dtype=F64), weigher)
    assert max(hoag.testing.check_problem(problem).values()) < 1e-6
    result = hoag.minimize(problem, bounds=(-5.0, 5.0), search=optimize.Auto(max_iter=2))
    assert result.names == ("weight[0,0]", "weight[0,1]", "weight[0,2]", "bias[0]")
    weigher.load_state_dict(result.lam)


# Everything that a problem goes into


def ridge_problem(rows=A, y=Y, **more):
    return hoag.torch.problem(
        lambda x, lam: torch.sum((rows @ x - y) ** 2) / 2 + lam * torch.sum(x**2) / 2,
        lambda x, lam: torch.sum((B @ x - Z) ** 2),
        torch.zeros(3, dtype=F64),
        tensor(1.0),
        **{"scale": "log", **more},
    )


def known():
    """The same by the library's own."""
    return hoag.minimize(hoag.models.ridge(*(t.numpy() for t in (A, Y, B, Z))))


@pytest.mark.parametrize(
    "how",
    [
        optimize.Hoag(schedule)
        for schedule in (solvers.QuadraticDecay(), solvers.CubicDecay(), solvers.ExponentialDecay())
    ]
    + [
        optimize.Hoag(),
        optimize.Auto(),
        optimize.Auto(tol=1e-8),
        optimize.Grid(20),
        optimize.Random(20),
    ],
    ids=repr,
)
def test_every_search(how):
    result = hoag.minimize(ridge_problem(), search=how, certificate="estimate")
    by_chance = isinstance(how, (optimize.Grid, optimize.Random))
    assert result.value == pytest.approx(known().value, rel=0.1 if by_chance else 1e-2)
    assert result.lam.dtype == F64
    assert by_chance or result.evaluation.error < 1e-3


def test_a_strong_convexity_that_is_known_is_used():
    problem = ridge_problem(mu=lambda lam: lam)
    point = problem.at(problem.x0, np.log([3.0]))
    assert point.strong_convexity == pytest.approx(3.0)
    with pytest.raises(InvalidInputError, match="mu=-1"):
        ridge_problem(mu=-1)


def test_unrolled_and_folds():
    unrolled = hoag.criteria.Unrolled(ridge_problem(), n_iter=200)
    result = hoag.minimize(unrolled, search=optimize.Hoag(max_iter=20))
    assert result.value == pytest.approx(known().value, rel=1e-2)
    halves = [ridge_problem(A[k::2], Y[k::2]) for k in (0, 1)]
    summed = hoag.minimize(halves)
    ours = [hoag.models.ridge(*(t.numpy() for t in (A[k::2], Y[k::2], B, Z))) for k in (0, 1)]
    assert summed.value == pytest.approx(hoag.minimize(ours).value, rel=1e-4)
    assert isinstance(summed.x, tuple)
    assert summed.x[0].shape == (3,)


def test_bounds_and_scales_by_leaf():
    bounds = {"w": (0.5, 2.0), "b": (tensor(0.1), tensor(3.0))}
    problem = tree_problem(scale={"w": "log", "b": "linear"})
    result = hoag.minimize(problem, bounds=bounds)
    assert 0.5 <= float(result.lam["w"].min()) <= float(result.lam["w"].max()) <= 2.0 + 1e-12
    assert 0.1 <= float(result.lam["b"]) <= 3.0
    moved = hoag.minimize(problem, lam0={"w": tensor([1.0, 1.5, 2.0]), "b": 1.0}, bounds=bounds)
    assert moved.value == pytest.approx(result.value, rel=1e-3)


# Wrong uses


def square(x, lam):
    return torch.sum(x**2) + lam.sum()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(ONE.clone())
        self.register_buffer("calls", torch.zeros(()))

    def forward(self):
        self.calls += 1
        return (self.weight**2).sum()


def noisy(x, lam):
    return torch.sum(x**2) * torch.rand((), dtype=F64)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((lambda x, lam: x**2, square, ONE, 1.0), r"h\(x, lam\) returns shape \(2,\); it must"),
        ((lambda x, lam: 1.0, square, ONE, 1.0), "h.* returns a float; it must be a tensor"),
        (
            (square, lambda x, lam: A @ x, ONE, 1.0),
            r"g\(x, lam\) cannot be called .*: size mismatch",
        ),
        ((lambda x, lam: square(x.float(), lam.float()), square, ONE, 1.0), "returns float32; it"),
        (
            (lambda x, lam: square(x.detach(), lam), square, ONE, 1.0),
            "does not depend on x, as far",
        ),
        (
            (square, square, {"a": ONE, "b": [torch.arange(3)]}, 1.0),
            "x0: b/0 is of type int64, and",
        ),
        ((square, square, ONE, {"k": 1}), "lam0: k is of type int64, and has no gradient"),
        ((square, square, ONE.to(torch.complex128), 1.0), "x0 is of type complex128. Give real"),
        ((square, square, ONE.half(), 1.0), "x0 is of type float16, in which"),
        ((square, square, ONE.to_sparse(), 1.0), "x0 is a sparse tensor"),
        ((square, square, {"w": "a"}, 1.0), "x0: w is a str, and must be a tensor"),
        ((square, square, {"m": nn.Linear(2, 2)}, 1.0), "x0: m is a module among other leaves"),
        ((square, square, {}, 1.0), "x0 has no tensor of numbers in it"),
        ((square, square, ONE, tensor([1.0, torch.nan])), "lam0 holds a NaN or an infinity"),
        ((lambda x, lam: torch.log(x - 1).sum(), square, ONE, 1.0), "^h is -inf at x0 and lam0"),
        ((square, lambda x, lam: torch.sqrt(x - 1).sum(), ONE, 1.0), "∇₁g, .* is inf at x0"),
        ((noisy, square, ONE, 1.0), "h at x0 and lam0 was .* the function changes between calls"),
        ((5, square, ONE, 1.0), "h=5: give a function of x and lam"),
        (
            (lambda m, lam: m(), lambda m, lam: m.weight.sum(), Counter(), 1.0),
            "x0: the buffer calls changes when",
        ),
        ((square, square, nn.Dropout(0.5), 1.0), "x0: the module, Dropout, drops entries"),
        (
            (square, square, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), 1.0),
            r"x0: 1, BatchNorm1d, changes its running statistics .* eval\(\)",
        ),
        (
            (square, square, nn.MultiheadAttention(2, 1, dropout=0.1), 1.0),
            "MultiheadAttention, drop",
        ),
        ((square, square, nn.LazyLinear(2), 1.0), "x0: weight has no shape yet"),
        ((square, square, nn.Linear(2, 1).requires_grad_(False), 1.0), "without a parameter that"),
    ],
)
def test_wrong_use_gets_a_sentence(arguments, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        hoag.torch.problem(*arguments)


def test_an_operation_without_a_second_derivative_is_named():
    with pytest.raises(InvalidInputError, match=r"twice in PyTorch.*cdist_backward"):
        hoag.torch.problem(
            lambda x, lam: torch.cdist(A[:, :2], x[None], p=1).sum(), square, ONE, 1.0
        )


def test_a_second_derivative_that_is_silently_wrong_is_found():
    class Once(torch.autograd.Function):  # its slope is no function of x, as far as PyTorch sees
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, slope):
            return 2 * slope * ctx.saved_tensors[0]

    def h(x, lam):
        return torch.sum(Once.apply(x)) + lam * torch.sum(x**2)

    with pytest.warns(UserWarning, match="wrong second derivative"):
        hoag.torch.problem(h, square, ONE, 1.0)


@pytest.mark.parametrize(
    ("train", "batches", "sentence"),
    [
        ((A, Y[:5]), 2, "batches=2: train must hold"),
        ((A, Y), 41, "batches=41: train must hold"),
        (None, [], "batches=.*: give a number"),
        ((A, Y), [(A, Y)], "batches=.*: give a number"),
        (None, iter([(A, Y)]), "batches=.*: give a number"),
    ],
)
def test_wrong_batches_get_a_sentence(train, batches, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        hoag.torch.problem(loss, square, ONE, 1.0, train=train, batches=batches)


def test_what_a_solver_returns_is_checked():
    problem = net_problem(Net(), solver=lambda lam, x0: {"head.weight": x0["head.weight"]})
    with pytest.raises(
        InvalidInputError, match=r"another structure than x0.*no encoder\.0\.weight"
    ):
        problem.inner.solve(problem, problem.lam0, problem.x0, 1e-9)


def test_an_inner_problem_without_a_minimum_is_told():
    def h(x, lam):
        return -torch.sum(x**2) + lam * torch.sum(x)

    with pytest.raises(SingularProblemError, match=r"h has fallen .* and goes on"):
        hoag.minimize(hoag.torch.problem(h, square, ONE, 1.0))


def test_parameters_changed_in_place_are_not_the_users():
    x0 = torch.ones(2, dtype=F64)

    def h(x, lam):
        x.data.mul_(2)
        return torch.sum(x**2) + lam * torch.sum(x)

    with pytest.warns(UserWarning, match="wrong second derivative"):
        problem = hoag.torch.problem(h, square, x0, 1.0)
    before = problem.x0.copy()
    assert problem.at(problem.x0, problem.lam0).h == 12.0
    assert torch.equal(x0, torch.ones(2, dtype=F64))
    np.testing.assert_array_equal(problem.x0, before)
    with pytest.raises(InvalidInputError, match="in-place"):
        hoag.torch.problem(lambda x, lam: x.mul_(2).sum(), square, x0, 1.0)
