"""As somebody writes who has a problem of their own."""

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

import hoag

Array = npt.NDArray[np.float64]


class Shrinkage:
    """h = ½‖x − b‖² + ½e^λ‖x‖²,  g = ½‖x − 1‖²."""

    def __init__(self) -> None:
        self.b = np.array([3.0, 1.0])
        self.x0, self.lam0 = np.zeros(2), np.zeros(1)

    def at(self, x: Array, lam: Array) -> SimpleNamespace:
        a = float(np.exp(lam[0]))
        return SimpleNamespace(
            h=0.5 * float((x - self.b) @ (x - self.b)) + 0.5 * a * float(x @ x),
            h_x=x - self.b + a * x,
            hessian=(1 + a) * np.eye(2),
            cross=(a * x)[:, None],
            g=0.5 * float((x - 1) @ (x - 1)),
            g_x=x - 1,
            g_lam=np.zeros(1),
            strong_convexity=1 + a,
        )


result = hoag.minimize(Shrinkage(), lam0=0.5, bounds=(-6, 6))
print(result.lam[0], result.value, result.status.reason, result.to_frame())
box = hoag.Box(-6, 6)
search = hoag.optimize.Hoag(schedule=hoag.solvers.QuadraticDecay(), step=hoag.optimize.Adaptive())
criterion = hoag.criteria.Implicit(Shrinkage(), linear=hoag.solvers.Cholesky(), corrected=True)
print(hoag.minimize(criterion, bounds=box, search=search, checkpoint="search.ckpt").converged)
folds = [hoag.criteria.Implicit(Shrinkage()) for _ in range(3)]
found = hoag.criteria.Sum(folds).evaluate([0.5], hoag.criteria.Ask(eps=1e-6))
print(found.grad, found.error, hoag.testing.check_problem(Shrinkage())["h_x"])
plain = hoag.problem(
    h=lambda x, lam: float((x - 3) @ (x - 3) + lam @ (x * x)),
    g=lambda x, lam: float((x - 2) @ (x - 2)),
    x0=[1.0],
    lam0=[1.0],
    scale="log",
)
print(hoag.minimize([plain, plain], callback=lambda step: step.k > 5).trace[0].evaluation.value)
