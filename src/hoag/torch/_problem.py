"""`hoag.torch.problem`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import ROUNDOFF
from hoag._core.types import PyTree
from hoag.autodiff._data import UserData
from hoag.autodiff._derivatives import Derived, checked
from hoag.autodiff._functions import Summed
from hoag.autodiff._pytree import Layout
from hoag.torch._function import TorchFunction
from hoag.torch._module import ModuleTree
from hoag.torch._pytree import TorchArrays, TorchTree, recording


def problem(
    h: Callable[..., Any],
    g: Callable[..., Any],
    x0: PyTree,
    lam0: PyTree,
    *,
    train: PyTree = None,
    test: PyTree = None,
    penalty: Callable[[Any, Any], Any] | None = None,
    batches: Any = None,
    scale: PyTree = "linear",
    mu: float | Callable[[PyTree], Any] | None = None,
    convex: bool = True,
    solver: Callable[[Any, Any], Any] | None = None,
) -> Derived:
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ), h and g in PyTorch.

    Everything stays in the dtype and on the device of each tensor of x0 and lam0: float64, or
    float32, in which the last four digits of a gradient are noise. Arrays of NumPy and plain
    numbers become tensors like x0's. Gradients, products with the Hessian and with ∇²₁,₂h come from
    reverse passes; the Hessian is formed only where it is small. One pass of the cost is a gradient
    of h.

    Parameters
    ----------
    h, g : callable
        h(x, lam) and g(x, lam), tensors with one number; h(x, lam, train) and g(x, lam, test) where
        data are given.
    x0, lam0 : tensor, structure of tensors, or module
        Where to start: tensors, or dicts, lists and tuples of them; x0 may be a module.
    train : structure of tensors, default=None
        Data for h. Tensors that the functions close over will do as well. Where all of them have
        their rows along the first axis, and h and g are sums or means over these,
        `hoag.optimize.Growing` searches on samples.
    test : structure of tensors, default=None
        Data for g.
    penalty : callable, default=None
        penalty(x, lam), added to h once, where h is a sum over rows.
    batches : int, list, DataLoader or callable, default=None
        h is a sum over blocks of rows, one of which is in memory at a time: a number, into so many
        blocks of `train`; a list of blocks; a DataLoader; or a function without arguments that
        returns an iterator over them, called for each pass. h(x, lam, block) is added up.
    scale : str, float, Scale or structure, default="linear"
        What the search moves: λ itself ("linear", as when h has exp(lam)), its logarithm ("log"),
        its logit ("logit"), λ in units of a number, a `hoag.domains.Scale`; or a structure of
        these, like lam0 or like its upper part.
    mu : float or callable, default=None
        μ > 0 with ∇²₁h ⪰ μI for every x, or λ ↦ μ, where it is known.
    convex : bool, default=True
        Whether h is convex in x; where it is not, linear systems are regularised where they have to
        be, and the status says that all is local.
    solver : callable, default=None
        (lam, x0) ↦ x, an inner solver of one's own, such as a loop with torch.optim.

    Returns
    -------
    Problem
        For `hoag.minimize`, whose result has λ and x as structures of tensors.

    Raises
    ------
    InvalidParameterError
        Where the functions, the structures or the scale cannot be used.

    Notes
    -----
    Where x0 is a module, h and g are called with a copy of it in which the parameters are those of
    the moment: write model(A), model.encoder(A), model.named_parameters(), as always. Parameters
    with requires_grad=False stay as they are, tied ones stay tied. What is handed out, such as
    result.x, is a whole state_dict, with fixed parameters and buffers, for load_state_dict; a
    solver gets such a dict and returns one, or a module. The user's own module is never touched.
    The functions must be the same at every call: dropout and batch normalisation that are being
    trained are refused, so call eval() first where there are any.

    Examples
    --------
    >>> import torch
    >>> import hoag.torch
    >>> problem = hoag.torch.problem(
    ...     lambda x, lam: (x - 1) ** 2 + lam * x**2, lambda x, lam: (x - 0.8) ** 2,
    ...     x0=torch.tensor(0.0, dtype=torch.float64), lam0=1.0, scale="log",
    ... )
    >>> print(f"{hoag.minimize(problem).lam:.3f}")
    0.250
    """
    begun = time.perf_counter()
    x = _tree(x0, "x0")
    like = x.leaves[0]
    lam = _tree(lam0, "lam0", like)
    data = UserData.of(TorchArrays(like), train, test, batches)
    loss, judge = TorchFunction(h, "h", x, lam), TorchFunction(g, "g", x, lam)
    once = None if penalty is None else TorchFunction(penalty, "penalty", x, lam)
    start, lams = x.start, lam.start
    loss.at(next(iter(data.each()))).check(start, lams)
    judge.at(data.test).check(start, lams)
    if once is not None:
        once.check(start, lams)
    functions = Summed(loss, judge, once, data)
    x.check_unchanged()
    lam.check_unchanged()
    made = Derived(
        functions,
        Layout.of(x, lam, scale),
        start,
        lams,
        mu=mu,
        convex=convex,
        solver=None if solver is None else partial(_recorded, solver),
        roundoff=max(x.roundoff, lam.roundoff),
    )
    try:
        checked(made, lambda: functions.called(start, lams))
    except RuntimeError as error:
        raise NotSupportedError(
            "h must be differentiable twice in PyTorch, and g once, and they are not: "
            f"{str(error).rstrip('.')}. Attention has a second derivative under "
            "torch.nn.attention.sdpa_kernel(SDPBackend.MATH); what is compiled has none.",
            "h",
        ) from error
    _compare(made)
    made.compile_seconds = time.perf_counter() - begun
    return made


def _tree(given: Any, what: str, like: torch.Tensor | None = None) -> TorchTree:
    kind = ModuleTree if isinstance(given, torch.nn.Module) else TorchTree
    return kind(given, what, like)


def _compare(problem: Derived) -> None:
    """Warns where ∇²₁h v at x₀ is far from a difference of ∇₁h, in double precision.

    Some operations of PyTorch have a wrong second derivative, and say nothing. The step is so short
    that kinks, such as those of a network of ReLUs, hardly ever lie within it.
    """
    if problem.roundoff > ROUNDOFF:
        return
    x, lam, point = problem.x0, problem.lam0, problem.at(problem.x0, problem.lam0)
    v = np.random.default_rng(0).normal(size=x.size)
    t = ROUNDOFF ** (2 / 3) * max(1.0, float(np.abs(x).max()))
    ahead, behind = (problem.at(x + sign * t * v, lam).h_x for sign in (1, -1))
    difference = (ahead - behind) / (2 * t)
    off, size = (float(np.linalg.norm(d)) for d in (point.hessian @ v - difference, difference))
    if off > 0.01 * size + 10 * ROUNDOFF / t * float(np.linalg.norm(point.h_x)):
        warnings.warn(
            f"A product with ∇²₁h, the Hessian of h in x, is {off:.1e} away from a difference of "
            f"gradients of size {size:.1e} at x0. Either h has a kink there, or some operation in "
            "it has a wrong second derivative in PyTorch, as weight_norm has on processors: write "
            "that one out. hoag.testing.check_problem(problem) looks closer.",
            UserWarning,
            stacklevel=3,
        )


def _recorded(solver: Callable[[Any, Any], Any], lam: Any, x0: Any) -> Any:
    """The user's solver, which may take gradients whatever the caller has switched off."""
    with recording():
        return solver(lam, x0)
