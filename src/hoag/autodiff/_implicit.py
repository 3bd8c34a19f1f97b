"""X(λ) = argmin over x of h(x, λ), differentiable, for people who keep their own outer loop.

Whoever solves the inner problem, the derivative follows from ∇₁h(X(λ), λ) = 0 alone. A backward
pass that comes in with v solves one linear system and hands on p:

    ∇²₁h q = v,    p = −∇²₁,₂hᵀ q

That is the derivative where ∇₁h = 0, and something else where the solver stopped early. So each
backward pass makes one Newton step for x and one refinement of q, as hoag._criteria.certificate
does, and compares p with the p⁺ there: ‖p⁺ − p‖/‖p⁺‖ is the error that is held against `trust`.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy
from sklearn.exceptions import ConvergenceWarning

from hoag._core.errors import InvalidParameterError, SingularProblemError
from hoag._criteria.certificate import RELATIVE_RESIDUAL, ROUGH

Untrusted = Literal["raise", "warn", "correct", "nan", "ignore"]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where the x of an inner solver stands: how far from the minimum of h.

    x              as the solver returned it
    gradient_norm  ‖∇₁h‖ there
    definite       no negative curvature was met on the way of the Newton step
    distance       ‖x − X(λ)‖ as the Newton step estimates it; infinite where there is none

    >>> import hoag
    >>> from hoag.autodiff._implicit import Standing
    >>> Standing(x=1.0, gradient_norm=0.5, definite=True, distance=0.25).distance
    0.25
    """

    x: Any
    gradient_norm: float
    definite: bool
    distance: float


@dataclass(frozen=True)
class Verdict:
    """How far one backward pass is to be trusted: a word for programs, a sentence for people.

    reason         "trusted", "far" (from stationary), "indefinite" (no minimum), "unsolved" (by
                   conjugate gradients), "not_finite", or "ignored" (nothing was measured)
    gradient_norm  ‖∇₁h‖ at the solver's x
    distance       ‖x − X(λ)‖, estimated by the Newton step
    error          estimate of the relative error of what the pass returned
    products       with ∇²₁h that the pass took, the estimate's among them

    >>> from hoag.autodiff._implicit import Verdict
    >>> Verdict("far", 0.3, 0.1, 0.42, 17).trusted
    False
    """

    reason: str
    gradient_norm: float
    distance: float
    error: float
    products: int

    @property
    def trusted(self) -> bool:
        return self.reason in ("trusted", "ignored")

    @staticmethod
    def of(numbers: Iterable[float]) -> Verdict:
        """From ‖∇₁h‖, ‖δ‖, the error, the products, and four facts: 1 for yes, 0 for no."""
        gradient, distance, error, products, finite, definite, solved, trusted = numbers
        facts = {"not_finite": finite, "indefinite": definite, "unsolved": solved, "far": trusted}
        reason = next((reason for reason, well in facts.items() if not well), "trusted")
        known = reason in ("trusted", "far")
        worst = float("inf")
        return Verdict(
            reason,
            float(gradient),
            float(distance) if known else worst,
            float(error) if known else worst,
            int(products),
        )


@dataclass(frozen=True)
class Terms:
    """What was asked of the derivative; see `implicit`."""

    tol: float | None
    trust: float
    floor: float
    untrusted: Untrusted
    max_iter: int

    def tolerance(self, roundoff: float) -> float:
        """The relative residual of the linear solve, in an arithmetic with this roundoff."""
        least = 100 * roundoff  # what sums of many products are right to
        if roundoff > 1e-6:
            raise InvalidParameterError(
                f"x is in an arithmetic of {roundoff:.0e}, too coarse for second derivatives.\n"
                "Keep x and λ in float32 at least.",
                "x0",
            )
        if self.tol is not None and self.tol < least:
            raise InvalidParameterError(
                f"tol={self.tol:g} is below what the arithmetic of x can give, about "
                f"{least:.0e}.\nAsk for less, or compute in float64 (in JAX by "
                'jax.config.update("jax_enable_x64", True) before anything else).',
                "tol",
            )
        return max(1e-6, 10 * least) if self.tol is None else self.tol

    def enough(self, change: Any, size: Any) -> Any:
        """Whether an error of this size is within trust, for numbers of any library."""
        return (change <= self.trust * size) | (change <= self.floor)

    def answer(self, verdict: Verdict) -> None:
        """Raise, warn or keep silent about a backward pass, as was asked."""
        if verdict.trusted or self.untrusted in ("nan", "ignore"):
            return
        if self.untrusted == "raise":
            raise SingularProblemError(f"{self.sentence(verdict)}")
        warnings.warn(self.sentence(verdict), ConvergenceWarning, stacklevel=2)

    def sentence(self, verdict: Verdict) -> str:
        gradient = f"‖∇₁h‖ = {verdict.gradient_norm:.1e} at the x that the inner solver returned"
        if verdict.reason == "not_finite":
            if verdict.gradient_norm < float("inf"):
                return (
                    "The gradient of the outer loss that is pulled back through X(λ) is not "
                    "finite, or products with ∇²₁h are not: look at the outer loss, and at h, at "
                    "the x that the inner solver returned."
                )
            return (
                "∇₁h is not finite at the x that the inner solver returned: it has diverged, or h "
                "is not differentiable there. Take smaller steps, or start from another x0."
            )
        if verdict.reason == "indefinite":
            return (
                f"∇²₁h has negative curvature, with {gradient}: that is no minimum of h, and X(λ) "
                "has no derivative there. Let the inner solver go on; where h is not convex, start "
                "it elsewhere or add a penalty to h."
            )
        if verdict.reason == "unsolved":
            return (
                f"Conjugate gradients did not solve ∇²₁h q = v within max_iter={self.max_iter} "
                f"products, with {gradient}: the gradient of X(λ) is not known. Allow more, or "
                "scale x so that h is about equally curved in every direction."
            )
        error = f"{verdict.error:.1%}" if verdict.error < float("inf") else "more than can be told"
        which = "corrected gradient" if self.untrusted == "correct" else "gradient"
        instead = "" if self.untrusted == "correct" else 'pass untrusted="correct" for p⁺; '
        return (
            f"The {which} of X(λ) is off by about {error}, more than "
            f"trust={self.trust:g}: {gradient}, and the minimum is about {verdict.distance:.1e} "
            f"away. Let the inner solver run on, to a smaller ‖∇₁h‖; {instead}or, where the "
            "gradient itself is that small, set floor to what your outer loop needs."
        )


class Solved(NamedTuple):
    """q, the products it took, and whether curvature was positive, all finite, and tol met."""

    q: Any
    products: Any
    definite: Any
    finite: Any
    solved: Any


class System(ABC):
    """The inner problem at one λ, and the linear system that p is made of: flat arrays of `np`.

    x        that of the solver; `leaves` are the same as the user has them
    traced   whether this is being compiled
    """

    np: Any
    x: Any
    leaves: Sequence[Any]
    traced = False

    @abstractmethod
    def slope(self, x: Any) -> Any:
        """∇₁h."""

    @abstractmethod
    def product(self, x: Any, v: Any) -> Any:
        """∇²₁h v."""

    @abstractmethod
    def rhs(self, x: Any) -> Any:
        """The right-hand side: v, or −∇²₁,₂h w in forward mode."""

    @abstractmethod
    def out(self, x: Any, q: Any) -> Any:
        """p = −∇²₁,₂hᵀ q, or q itself in forward mode."""

    @abstractmethod
    def solve(self, x: Any, q: Any, r: Any, size: Any, tol: float, max_iter: int) -> Solved:
        """∇²₁h q = b by conjugate gradients from q, whose residual is r, until ‖r‖ ≤ tol · size."""

    @abstractmethod
    def built(self, vector: Any) -> Any:
        """A flat x as the user has it."""

    def choose(self, known: Any, found: Any, again: Callable[[], Any]) -> Any:
        return found if known else again()

    def norm(self, v: Any) -> Any:
        return self.np.sqrt(self.np.vdot(v, v))

    def solved(self, x: Any, b: Any, tol: float, terms: Terms) -> Solved:
        return self.solve(x, self.np.zeros_like(b), b, self.norm(b), tol, terms.max_iter)


@numpy.errstate(all="ignore")  # what is not finite gets a sentence
def derivative(system: System, start: Any, tol: float, terms: Terms) -> tuple[Any, Any, Any]:
    """p, q and the eight numbers of a Verdict, at the solver's x; see hoag._criteria.certificate.

    start   a q to begin with, at its best multiple and if that helps; or None
    """
    np, x, norm = system.np, system.x, system.norm

    def refined(x: Any, h_x: Any, q: Any, tol: float) -> tuple[Any, Any, Any, Solved, Solved]:
        """x⁺, q⁺ and p⁺, and the two solves that led there."""
        newton = system.solved(x, -h_x, tol, terms)
        x = x + newton.q
        left = system.solved(x, system.rhs(x) - system.product(x, q), tol, terms)
        return x, q + left.q, system.out(x, q + left.q), newton, left

    h_x, b = system.slope(x), system.rhs(x)
    q, r = np.zeros_like(b), b
    if start is not None:
        Hs = system.product(x, start)
        energy = np.vdot(start, Hs)
        scale = np.where(energy > 0, np.vdot(start, b), 0) / np.where(energy > 0, energy, 1)
        better = norm(b - scale * Hs) < norm(b)
        q, r = np.where(better, scale * start, q), np.where(better, b - scale * Hs, r)
    first = system.solve(x, q, r, norm(b), tol, terms.max_iter)
    p, gradient = system.out(x, first.q), norm(h_x)
    products = first.products + (start is not None)
    if terms.untrusted == "ignore":
        nan, yes = np.full_like(gradient, np.nan), np.ones_like(gradient)
        return p, first.q, np.stack([gradient, nan, nan, yes * products, *[yes] * 4])
    x_plus, q_plus, p_plus, newton, left = refined(x, h_x, first.q, RELATIVE_RESIDUAL)
    change, size = norm(p_plus - p), norm(p_plus)
    products = products + newton.products + left.products + 1
    finite = np.isfinite(gradient) & first.finite & newton.finite
    definite = first.definite & newton.definite & left.definite
    solvable = newton.solved & left.solved
    if terms.untrusted == "correct":

        def again() -> Any:
            found = refined(x_plus, system.slope(x_plus), q_plus, ROUGH)
            moved, more = norm(found[2] - p_plus), found[3].products + found[4].products + 1
            return (1 + ROUGH) * moved, norm(found[2]), products + more

        known = terms.enough(change, size)
        change, size, products = system.choose(known, (change, size, products), again)
        p = np.where(finite & definite & solvable, p_plus, p)
    error = change / np.maximum(size, np.finfo(x.dtype).tiny)
    error = np.where(np.isfinite(change), error, np.inf)
    facts = (finite, definite, solvable, terms.enough(change, size))
    numbers = [gradient, norm(newton.q), error, products, *facts]
    return p, first.q, np.stack([np.asarray(number, x.dtype) for number in numbers])


class AutodiffEngine(ABC):
    """What a framework does for `Argmin`: `solution` and `system`; the rest follows."""

    finfo: Any

    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        self.solver, self.h, self.terms = solver, h, terms
        self.last: Verdict | None = None
        self._warm: Any = None

    @abstractmethod
    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        """The solver's x, with the derivative of the minimum in λ and in the data."""

    @abstractmethod
    def system(self, lam: Any, x0: Any, data: tuple[Any, ...], along: Any = None) -> System:
        """The inner problem at the solver's x; with `along`, the system of dX/dλ · along."""

    def pushed(self, lam: Any, x0: Any, along: Any, data: tuple[Any, ...]) -> tuple[Any, Any]:
        system = self.system(lam, x0, data, along)
        dx, _, numbers = derivative(system, None, self.tol(system.leaves), self.terms)
        return system.built(system.x), system.built(self.judged(dx, numbers))

    def pulled(self, system: System, start: Any = None) -> tuple[Any, Any]:
        """p and q; from the last q, where none is given."""
        last = None if system.traced or start is not None else self._warm
        if last is not None and (last.shape, last.dtype) == (system.x.shape, system.x.dtype):
            start = last
        p, q, numbers = derivative(system, start, self.tol(system.leaves), self.terms)
        if not system.traced:
            self._warm = q
        return self.judged(p, numbers), q

    def standing(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> Standing:
        system = self.system(lam, x0, data)
        h_x = system.slope(system.x)
        step = system.solved(system.x, -h_x, RELATIVE_RESIDUAL, self.terms)
        definite = bool(step.definite & step.finite)
        distance = float(system.norm(step.q)) if definite and bool(step.solved) else float("inf")
        return Standing(system.built(system.x), float(system.norm(h_x)), definite, distance)

    def tol(self, leaves: Sequence[Any]) -> float:
        return self.terms.tolerance(max(float(self.finfo(leaf.dtype).eps) for leaf in leaves))

    def judged(self, p: Any, numbers: Any) -> Any:
        """The derivative, if it is trusted or nothing was asked; else what was asked for."""
        self.last = Verdict.of(numbers)
        if self.terms.untrusted == "ignore":
            self.last = replace(self.last, reason="ignored")
        self.terms.answer(self.last)
        return p + float("nan") if self.terms.untrusted == "nan" and not self.last.trusted else p


def check_leaves(leaves: Sequence[Any], models: Sequence[Any], said: str, like: str) -> None:
    """A sentence where arrays have other shapes or types than those that they should look like."""
    for leaf, model in zip(leaves, models, strict=True):
        if leaf.shape != model.shape or leaf.dtype != model.dtype:
            raise InvalidParameterError(
                f"{said} with a leaf of shape {tuple(leaf.shape)} in {leaf.dtype}, where {like} "
                f"has {tuple(model.shape)} in {model.dtype}: both must agree, and no precision be "
                "lost."
            )


def check_number(h: Any) -> None:
    if shape := tuple(numpy.shape(h)):
        raise InvalidParameterError(
            f"h(x, lam) has shape {shape}, and must be one number.\nSum it, or take the mean.", "h"
        )


class Argmin:
    """X(λ), made by `hoag.implicit`: call it, or ask where the solver's x stands.

    >>> import hoag
    >>> X = hoag.implicit(lambda lam, x0: 1 / (1 + lam), lambda x, lam: (x - 1) ** 2 + lam * x**2)
    >>> type(X).__name__, X.last
    ('Argmin', None)
    """

    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        self._solver, self._h, self._terms = solver, h, terms
        self._engines: dict[str, AutodiffEngine] = {}
        self._latest: AutodiffEngine | None = None

    def __call__(self, lam: Any, x0: Any, *data: Any, warm: Any = None) -> Any:
        """The solver's x, differentiable in lam and in the floating-point leaves of data."""
        return self._engine(lam, x0, data).solution(lam, x0, data, warm)

    def jvp(self, lam: Any, x0: Any, along: Any, *data: Any) -> tuple[Any, Any]:
        """(x, dX/dλ · along): the forward mode, judged like the backward pass."""
        return self._engine(lam, x0, data).pushed(lam, x0, along, data)

    def report(self, lam: Any, x0: Any, *data: Any) -> Standing:
        """Where the solver's x stands, by one Newton step."""
        return self._engine(lam, x0, data).standing(lam, x0, data)

    @property
    def last(self) -> Verdict | None:
        """The verdict on the last derivative that was computed outside compiled code."""
        return None if self._latest is None else self._latest.last

    def _engine(self, *given: Any) -> AutodiffEngine:
        name = "torch" if _has_tensors(given) else "jax"
        if name not in self._engines:
            self._engines[name] = _made(name, self._solver, self._h, self._terms)
        self._latest = self._engines[name]
        return self._latest


def _has_tensors(node: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if isinstance(node, (dict, list, tuple)):
        return any(map(_has_tensors, node.values() if isinstance(node, dict) else node))
    return isinstance(node, torch.Tensor)


def _made(
    name: str, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms
) -> AutodiffEngine:
    if name == "torch":
        from hoag.torch._implicit import TorchEngine

        return TorchEngine(solver, h, terms)
    try:
        from hoag.jax._implicit import JaxEngine
    except ImportError as error:
        raise InvalidParameterError(
            "hoag.implicit differentiates h by JAX or by PyTorch: λ and x0 hold no torch tensors, "
            f"and JAX cannot be imported ({error}).\nGive tensors, or pip install jax.",
            "lam",
        ) from error
    return JaxEngine(solver, h, terms)


def implicit(
    solver: Callable[..., Any],
    h: Callable[..., Any],
    *,
    tol: float | None = None,
    trust: float = 0.01,
    floor: float = 0.0,
    untrusted: Untrusted = "raise",
    max_iter: int = 1000,
) -> Argmin:
    """X(λ) = argmin over x of h(x, λ), differentiable: dX/dλ = −(∇²₁h)⁻¹ ∇²₁,₂h.

    x = X(lam, x0, *data) is what the solver returned; its derivative in lam, and in the
    floating-point leaves of data, is that of the minimum: one linear system, by conjugate gradients
    that start from the last q.

    Where the solver stopped too early for that, the derivative is wrong without a sign of it. So
    every backward pass estimates its relative error, by a Newton step for x and a refinement of q,
    and does what `untrusted` says where that is above `trust`. The estimate is of the product with
    the vector v that came in; that v itself was taken at the solver's x is not in it.

    Parameters
    ----------
    solver : callable
        `solver(lam, x0, *data)`, any inner optimiser; nothing of it is differentiated.
    h : callable
        `h(x, lam, *data)`, the inner loss, in JAX or in PyTorch.
    tol : float, default=None
        Relative residual of the linear system; None is 1e-6, or 1e-4 where x is in float32.
    trust : float, default=0.01
        The relative error that a derivative may have. At 1 % a step of an outer loop is as good as
        exact; inner solves that stop early without a word cost tens of percents.
    floor : float, default=0
        The error, in the units of the derivative, that never matters. Near the optimum of an outer
        loop the derivative itself vanishes, and with it what is 1 % of it.
    untrusted : {"raise", "warn", "correct", "nan", "ignore"}, default="raise"
        Raise SingularProblemError; warn (ConvergenceWarning); return the refined derivative, and
        warn only where that is off by more than `trust`, too; return NaN; or measure nothing.
    max_iter : int, default=1000
        Products with ∇²₁h that a linear solve may take.

    Returns
    -------
    callable
        X, with X(lam, x0, *data) ↦ x.

    Raises
    ------
    InvalidParameterError
        Where a setting cannot be used.
    SingularProblemError
        In a backward pass that is not to be trusted, with untrusted="raise".

    Examples
    --------
    >>> import hoag
    >>> import jax
    >>> def h(x, lam):
    ...     return 0.5 * (x - 1) ** 2 + 0.5 * lam * x**2
    >>> X = hoag.implicit(lambda lam, x0: 1 / (1 + lam), h)
    >>> round(float(jax.grad(X)(1.0, 0.0)), 6)
    -0.25
    >>> lazy = hoag.implicit(lambda lam, x0: x0, h)  # a solver that does nothing
    >>> try:
    ...     jax.grad(lazy)(1.0, 0.0)
    ... except hoag.HoagError as error:
    ...     print(str(error)[:44])
    The gradient of X(λ) is off by about 100.0%,
    """
    if untrusted not in get_args(Untrusted):
        allowed = ", ".join(map(repr, get_args(Untrusted)))
        raise InvalidParameterError.of("untrusted", untrusted, f"use one of {allowed}.")
    for name, value in {"tol": tol, "trust": trust, "max_iter": max_iter}.items():
        if value is not None and not value > 0:
            raise InvalidParameterError(f"{name}={value!r} must be positive.", name, value)
    if not callable(solver) or not callable(h):
        raise InvalidParameterError(
            "hoag.implicit(solver, h) takes two functions: solver(lam, x0, *data), which returns "
            "x, and h(x, lam, *data), which returns a number.",
            "solver",
        )
    return Argmin(solver, h, Terms(tol, trust, floor, untrusted, max_iter))
