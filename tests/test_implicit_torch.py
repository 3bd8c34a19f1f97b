"""hoag.implicit in PyTorch: the derivative of the minimum, and what is said where x is none."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import hoag
from hoag.errors import InvalidInputError, SingularProblemError

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
A = torch.tensor(rng.normal(size=(30, 6)))
B = A.sum(1) + torch.tensor(rng.normal(size=30))
ZERO, V = torch.zeros(6, dtype=torch.double), torch.tensor([1.0, -2, 0.5, 3, 1, -1]).double()


def number(value):
    return torch.tensor(value, dtype=torch.double, requires_grad=True)


def ridge(x, lam, A=A, b=B):
    return 0.5 * torch.sum((A @ x - b) ** 2) + 0.5 * torch.sum(torch.exp(lam) * x**2)


def exact(lam, x0, A=A, b=B):
    H = A.T @ A + torch.diag(torch.exp(lam) * torch.ones(6, dtype=A.dtype))
    return torch.linalg.solve(H, A.T @ b)


def idle(lam, x0, *data):
    return x0


def slope(X, x0=ZERO, v=V, lam=0.3):
    lam = number(lam)
    return torch.autograd.grad(X(lam, x0) @ v, lam)[0]


@pytest.mark.parametrize("lam", [0.3, np.linspace(-1, 1, 6)], ids=["one", "several"])
def test_ridge_is_its_closed_form(lam):
    X, lam = hoag.implicit(exact, ridge, tol=1e-12), number(lam)
    jacobian = torch.autograd.functional.jacobian(lambda lam: X(lam, ZERO), lam)
    x = exact(lam, ZERO).detach()
    H = A.T @ A + torch.diag(torch.exp(lam) * torch.ones(6))
    closed = -torch.linalg.solve(H, torch.diag(torch.exp(lam) * x)).detach()
    closed = closed.sum(1) if lam.ndim == 0 else closed
    torch.testing.assert_close(jacobian, closed, rtol=1e-8, atol=1e-12)
    along = torch.cos(torch.arange(lam.numel()).double()).reshape(lam.shape)
    same, push = X.jvp(lam, ZERO, along)
    torch.testing.assert_close(same, x)
    wanted = closed * along if lam.ndim == 0 else closed @ along
    torch.testing.assert_close(push, wanted, rtol=1e-8, atol=1e-12)


def test_gradcheck_with_the_data_and_grad_mode_of_the_solver():
    """torch.optim as the inner solver, which wants gradients itself; y and rows differentiated."""
    y = torch.sign(B)

    def h(x, lam, rows):
        fitted = rows @ x["slope"] + x["shift"][0]
        small = torch.exp(lam[0]) * x["slope"].square().sum() + lam[1] * x["shift"][0] ** 2
        return torch.nn.functional.softplus(-y * fitted).sum() + small

    def solver(lam, x0, rows):
        assert torch.is_grad_enabled()
        leaves = [x0["slope"].clone().requires_grad_(), x0["shift"][0].clone().requires_grad_()]
        search = torch.optim.LBFGS(
            leaves, max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
        )

        def closure():
            search.zero_grad()
            value = h({"slope": leaves[0], "shift": (leaves[1],)}, lam, rows)
            value.backward()
            return value

        search.step(closure)
        return {"slope": leaves[0], "shift": (leaves[1],)}

    X = hoag.implicit(solver, h, tol=1e-12)
    x0 = {"slope": torch.zeros(2).double(), "shift": (torch.zeros(()).double(),)}

    def f(first, second, rows):
        x = X((first, second), x0, rows)
        assert isinstance(x["shift"], tuple)
        return torch.sin(x["slope"]).sum() + x["shift"][0]

    rows = A[:, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(f, (number(0.5), number(2.0), rows), atol=1e-6, nondet_tol=1e-9)
    lam = number(2.0)
    (p,) = torch.autograd.grad(f(number(0.5), lam, rows), lam, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        p.backward()


@pytest.mark.filterwarnings("error")
def test_a_module_in_single_precision():
    """Parameters by functional_call, in float32 as modules have them."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    rows, y = A.float(), B.float()

    def h(params, decay):
        fitted = torch.func.functional_call(net, params, (rows,))[:, 0]
        small = sum(
            torch.exp(decay[name.split(".")[0]]) * p.square().sum() for name, p in params.items()
        )
        return torch.mean((fitted - y) ** 2) + small

    def solver(decay, params):
        leaves = {name: p.clone().requires_grad_() for name, p in params.items()}
        search = torch.optim.LBFGS(
            leaves.values(), max_iter=500, tolerance_grad=1e-6, line_search_fn="strong_wolfe"
        )

        def closure():
            search.zero_grad()
            value = h(leaves, decay)
            value.backward()
            return value

        search.step(closure)
        return leaves

    X = hoag.implicit(solver, h)
    start = dict(net.named_parameters())

    def f(first):
        x = X({"0": first, "2": torch.tensor(-2.0)}, start)
        assert list(x) == list(start)
        assert x["0.weight"].dtype == torch.float32
        return x["0.weight"].square().sum()

    lam = torch.tensor(-2.0, requires_grad=True)
    f(lam).backward()
    assert lam.grad.dtype == torch.float32
    difference = (f(torch.tensor(-1.95)) - f(torch.tensor(-2.05))) / 0.1
    assert float(lam.grad) == pytest.approx(float(difference), rel=0.02)
    with pytest.raises(InvalidInputError, match="tol=1e-06 is below"):
        hoag.implicit(solver, h, tol=1e-6)({"0": lam, "2": lam}, start)


# -- trust


def test_a_solver_that_ignores_lam_raises():
    """Differentiated naively, the derivative is silently zero."""
    assert slope(hoag.implicit(idle, ridge, untrusted="ignore")) == 0
    X = hoag.implicit(idle, ridge)
    with pytest.raises(SingularProblemError, match=r"off by about 100.*‖∇₁h‖ = .*correct"):
        slope(X)
    assert (X.last.reason, X.last.trusted) == ("far", False)
    with pytest.raises(SingularProblemError, match="off by about"):
        slope(X, V)
    with pytest.raises(SingularProblemError, match="off by about"):
        X.jvp(number(0.3), ZERO, number(1.0))


def test_the_other_answers():
    x = exact(torch.tensor(0.3).double(), ZERO)
    right = float(slope(hoag.implicit(exact, ridge)))

    def told(untrusted, x0=x + 0.05 * V, **more):
        return float(slope(hoag.implicit(idle, ridge, untrusted=untrusted, **more), x0))

    raw = told("ignore")
    assert abs(raw - right) > 0.05 * abs(right)
    with pytest.warns(ConvergenceWarning, match="is off by about"):
        assert told("warn") == raw
    assert np.isnan(told("nan"))
    assert told("nan", x) == pytest.approx(right, rel=1e-5)
    assert told("raise", floor=1.0) == raw
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # the Newton step is solved to a tenth, and with it the error
        assert abs(told("correct", trust=0.02) - right) < 0.15 * abs(raw - right)
    with pytest.warns(ConvergenceWarning, match="The corrected gradient"):
        told("correct", trust=1e-6)


def test_the_estimate_is_the_error():
    """‖p⁺ − p‖/‖p⁺‖ beside the true relative error, over draws of early stopping."""

    def logistic(x, lam, A, y):
        return torch.nn.functional.softplus(-y * (A @ x)).sum() + 0.5 * lam.exp() @ x**2

    def descent(lam, A, y, steps):
        x, bend = ZERO.clone(), 0.25 * torch.linalg.norm(A, 2) ** 2 + lam.exp().max()
        for _ in range(steps):
            x = x - (lam.exp() * x - A.T @ (y * torch.sigmoid(-y * (A @ x)))) / bend
        return x

    X = hoag.implicit(idle, logistic, tol=1e-10, trust=1e9)
    trues = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = torch.tensor(rng.normal(size=(30, 6)))
        y = torch.sign(A.sum(1) + torch.tensor(rng.normal(size=30)))
        lam, v = number(rng.normal(size=6)), torch.tensor(rng.normal(size=6))

        def p(steps, A=A, y=y, lam=lam, v=v):
            x = descent(lam.detach(), A, y, steps)
            return torch.autograd.grad(X(lam, x, A, y) @ v, lam)[0].numpy()

        early, verdict, right = p(int(10 ** rng.uniform(0, 1.5))), X.last, p(500)
        trues.append(np.linalg.norm(early - right) / np.linalg.norm(right))
        assert trues[-1] / 3 < verdict.error < 3 * trues[-1]
    assert min(trues) < 0.02 < 0.2 < max(trues)  # near and far, both


def test_negative_curvature_and_infinities_have_their_own_sentences():
    def saddle(x, lam):
        return x[0] ** 2 - x[1] ** 2 + 0.5 * x[1] ** 4 + lam * x[0]

    X = hoag.implicit(lambda lam, x0: torch.stack([-lam / 2, 0 * lam]), saddle)
    with pytest.raises(SingularProblemError, match=r"negative curvature.*no minimum of h"):
        slope(X, torch.zeros(2).double(), torch.ones(2).double())
    X = hoag.implicit(idle, ridge)
    with pytest.raises(SingularProblemError, match="∇₁h is not finite"):
        slope(X, torch.full((6,), torch.inf).double())
    with pytest.raises(SingularProblemError, match="outer loss"):
        slope(hoag.implicit(exact, ridge), v=torch.full((6,), torch.nan).double())
    with pytest.raises(SingularProblemError, match="max_iter=1"):
        slope(hoag.implicit(idle, ridge, max_iter=1))


def test_the_last_q_saves_products():
    rng = np.random.default_rng(0)
    A, b = torch.tensor(rng.normal(size=(60, 40))), torch.tensor(rng.normal(size=60))

    def solver(lam, x0):
        return torch.linalg.solve(A.T @ A + torch.exp(lam) * torch.eye(40), A.T @ b)

    X = hoag.implicit(solver, lambda x, lam: ridge(x, lam, A, b))
    zero, v = torch.zeros(40).double(), torch.ones(40).double()
    slope(X, zero, v, 1.0)
    cold = X.last.products
    slope(X, zero, v, 1.001)
    assert X.last.products < 0.8 * cold


def test_the_report_measures_the_distance():
    lam = number(0.3)
    x = exact(lam, ZERO).detach() + 0.1
    told = hoag.implicit(idle, ridge).report(lam, x)
    assert told.definite
    assert told.distance == pytest.approx(0.1 * np.sqrt(6), rel=0.1)
    x.requires_grad_()
    gradient = torch.autograd.grad(ridge(x, lam), x)[0]
    assert told.gradient_norm == pytest.approx(float(gradient.norm()))
    told = hoag.implicit(idle, lambda x, lam: -x @ x).report(lam, ZERO + 1)
    assert (told.definite, told.distance) == (False, np.inf)


# -- wrong use


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (lambda lam, x0: x0.float(), "in torch.float32, where x0 has .*torch.float64"),
        (lambda lam, x0: (x0,), "of structure .*and x0 is"),
        (lambda lam, x0: x0[:3], r"shape \(3,\)"),
        (lambda lam, x0: 1.0, "leaf of 1.0"),
    ],
)
def test_an_x_unlike_x0_gets_a_sentence(solver, said):
    with pytest.raises(InvalidInputError, match=said):
        hoag.implicit(solver, ridge)(number(0.3), ZERO)


def test_other_wrong_use_gets_sentences():
    X = hoag.implicit(idle, lambda x, lam: x * lam)
    with pytest.raises(InvalidInputError, match=r"h\(x, lam\) has shape \(6,\)"):
        slope(X)
    with pytest.raises(InvalidInputError, match="λ has no floating-point tensor"):
        X(1.0, ZERO)
    with pytest.raises(InvalidInputError, match="x0 has a leaf that is no floating-point"):
        X(number(0.3), [ZERO, 3])
    with pytest.raises(InvalidInputError, match="too coarse"):
        X(number(0.3), ZERO.half())
    with pytest.raises(InvalidInputError, match="warm= is for JAX"):
        X(number(0.3), ZERO, warm=ZERO)
    with pytest.raises(InvalidInputError, match="along, the direction in λ"):
        X.jvp(number(0.3), ZERO, ZERO)
