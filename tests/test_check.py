"""The derivative checker must name what is wrong, and only that."""

from types import SimpleNamespace

import numpy as np
import pytest

import hoag
from hoag.errors import InvalidInputError


class Broken:
    """A correct quadratic problem with one member spoiled."""

    def __init__(self, **spoiled):
        rng = np.random.default_rng(0)
        self.M = np.diag([1.0, 2.0, 5.0])
        self.c = rng.normal(size=3)
        self.x0, self.lam0 = np.zeros(3), np.zeros(2)
        self.spoiled = spoiled

    def at(self, x, lam):
        a = np.exp(lam)
        H = self.M * a[0] + np.eye(3) * a[1]
        members = {
            "h": 0.5 * x @ H @ x - self.c @ x,
            "h_x": H @ x - self.c,
            "hessian": H,
            "cross": np.stack([a[0] * self.M @ x, a[1] * x], axis=1),
            "g": np.sum(x**3) + a[1] * x[0],
            "g_x": 3 * x**2 + np.array([a[1], 0, 0]),
            "g_lam": np.array([0.0, a[1] * x[0]]),
            "strong_convexity": a[0] + a[1],
        }
        for name, change in self.spoiled.items():
            members[name] = change(members[name])
        return SimpleNamespace(**members)


def test_a_correct_problem_passes():
    assert max(hoag.testing.check_problem(Broken()).values()) < 1e-6


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("h_x", lambda v: v * 1.001),
        ("hessian", lambda H: H + 1e-2 * np.eye(3)),
        ("cross", lambda D: -D),
        ("g_x", lambda v: v + np.array([0, 1e-2, 0])),
        ("g_lam", lambda v: 0 * v),
        ("strong_convexity", lambda mu: 10 * mu),
    ],
)
def test_the_wrong_member_is_named(name, change):
    with pytest.raises(InvalidInputError, match=name) as error:
        hoag.testing.check_problem(Broken(**{name: change}))
    others = {"h_x", "hessian", "cross", "g_x", "g_lam", "strong_convexity"} - {name}
    if name == "h_x":  # the derivatives of a wrong gradient are wrong too
        others -= {"hessian", "cross"}
    named = {part.split()[0] for part in str(error.value).split(": ", 1)[1].split("; ")}
    assert not named & others


@pytest.mark.parametrize("name", ["h_x", "hessian", "cross", "g_x", "g_lam"])
def test_a_nan_is_a_wrong_derivative(name):
    with pytest.raises(InvalidInputError, match=name):
        hoag.testing.check_problem(Broken(**{name: lambda v: v * np.nan}))


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        ({"cross": lambda D: D.T}, r"point.cross has shape \(2, 3\)"),
        ({"cross": lambda D: D[:, 0]}, r"point.cross has shape \(3,\)"),
        ({"h_x": lambda v: v[:, None]}, "point.h_x has shape"),
        ({"g_lam": lambda v: 0.0}, "point.g_lam has shape"),
        ({"h": lambda v: "three"}, "point.h is not a number"),
    ],
)
def test_wrong_shapes_are_named(spoiled, message):
    with pytest.raises(InvalidInputError, match=message):
        hoag.testing.check_problem(Broken(**spoiled))


def test_a_missing_member_is_named():
    class Short(Broken):
        def at(self, x, lam):
            point = super().at(x, lam)
            del point.cross
            return point

    with pytest.raises(InvalidInputError, match="without the member cross"):
        hoag.testing.check_problem(Short())
    with pytest.raises(InvalidInputError, match="is a class"):
        hoag.testing.check_problem(Broken)
    with pytest.raises(InvalidInputError, match="is not a problem"):
        hoag.testing.check_problem(5)


def test_lists_will_do():
    problem = Broken(hessian=lambda H: H.tolist(), cross=lambda D: D.tolist(), h_x=list)
    assert max(hoag.testing.check_problem(problem).values()) < 1e-6


def test_asymmetric_hessian_and_wrong_transpose():
    tilt = np.array([[0, 1e-2, 0], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(InvalidInputError, match="hessian"):
        hoag.testing.check_problem(Broken(hessian=lambda H: H + tilt))

    class Lopsided:
        shape = (3, 2)
        dtype = np.dtype(float)

        def __init__(self, D):
            self.matvec, self.rmatvec = lambda v: D @ v, lambda q: 2 * D.T @ q

    with pytest.raises(InvalidInputError, match="rmatvec"):
        hoag.testing.check_problem(Broken(cross=Lopsided))
