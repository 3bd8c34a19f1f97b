"""Algorithm 1 of "Hyperparameter optimization with approximate gradient" (Pedregosa, 2016).

The length of its steps λ ← P_D(λ − p/L) is up to a step rule: Constant(L), or Adaptive() as there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hoag._core.domain import Domain
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import FALLEN, Array
from hoag._core.result import Ask, Evaluation, Reason, Status
from hoag._core.settings import Settings
from hoag._criteria.base import Traits
from hoag._schedules import ExponentialDecay, Schedule
from hoag.optimize._asks import ACCURACY, Evaluate, Lipschitz, Note, Steps, whole_number
from hoag.optimize._run import Search
from hoag.optimize._steps import AHEAD, Descent, M, gradient_error, mapping, size, steepest


class StepRule(Settings, ABC):
    """How L, by which the steps of `Hoag` are divided, goes from one step to the next."""

    needs_lipschitz = False  # whether `next` wants the Lipschitz constant of g from the data

    @abstractmethod
    def first(self, p: Array) -> float:
        """L₁, from the first hypergradient."""

    @abstractmethod
    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        """L_{k+1}, from the last two evaluations and their tolerances."""


class Constant(StepRule):
    """The same L at every step, the setting of Theorem 2, which asks that ∇f be L-Lipschitz.

    Parameters
    ----------
    L : float
        Steps are p/L.

    Examples
    --------
    >>> from hoag.optimize import Constant, Hoag
    >>> Hoag(step=Constant(L=10.0))
    Hoag(schedule=ExponentialDecay(first=0.1, rate=0.9), step=Constant(L=10.0))
    """

    def __init__(self, L: float) -> None:
        if not (np.isfinite(L) and L > 0):
            raise InvalidParameterError.of("L", L, "L must be a positive number.")
        self.L = float(L)

    def first(self, p: Array) -> float:
        """L."""
        return self.L

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        """L."""
        return self.L


class Adaptive(StepRule):
    """Enlarge the step by `grow` where f fell as L promises, else halve it.

    With Δ = ‖λ_k − λ_{k−1}‖ and the L that made this step, the test is

        g_k ≤ g_{k−1} + C ε_k + ε_{k−1}(C + M) Δ − (L/2) Δ²

    The slack takes ε_k for a bound on ‖x_k − X(λ_k)‖, which it is where the strong convexity of h
    is known; elsewhere ε_k bounds ‖∇₁h‖.

    Parameters
    ----------
    C : float or "data", default=1
        The Lipschitz constant of g in x, a number or the problem's own.
    descent : {"proved", "displayed"}, default="proved"
        The paper displays LΔ² in place of (L/2)Δ²; "displayed" selects it. On a convex stretch that
        form holds only through the slack, so with a small C the step halves itself to nothing.
    grow : float, default=1.05
        The paper's β.
    longest : float, default=inf
        No hyperparameter moves by more in one step.
    safeguards : bool, default=True
        What is ours in it; see the notes.

    Notes
    -----
    Two things are ours. g_k stands for f(λ_k), and is taken as g − q·∇₁h, which is nearer to it: at
    loose tolerances g alone may not move at all between two steps. And there is a safeguard: ∇f
    changes by ‖p_k − p_{k−1}‖ over Δ, up to the errors of both, so its Lipschitz constant is at
    least that, and so is L. Without it, a start near a stationary point (L₁ = ‖p₁‖ tiny) throws λ
    across the box into a flat region before halving can catch up, and near the optimum the step
    grows until λ oscillates. With one hyperparameter it makes the last steps those of the secant; a
    larger `grow` than the paper's then makes nearly all of them so. safeguards=False leaves these
    and `longest` out.

    Examples
    --------
    >>> from hoag.optimize import Adaptive, Hoag
    >>> Hoag(step=Adaptive(C=2.0))
    Hoag(schedule=ExponentialDecay(first=0.1, rate=0.9), step=Adaptive(C=2.0))
    """

    SHRINK = 0.5  # the paper's α

    def __init__(
        self,
        C: float | str = 1.0,
        descent: str = "proved",
        grow: float = 1.05,
        longest: float = np.inf,
        safeguards: bool = True,
    ) -> None:
        if C != "data" and (isinstance(C, str) or not (np.isfinite(C) and C >= 0)):
            raise InvalidParameterError.of("C", C, "give a number ≥ 0, or 'data'.")
        if descent not in ("proved", "displayed"):
            raise InvalidParameterError.of(
                "descent", descent, "use 'proved' (L/2 Δ²) or 'displayed' (LΔ²)."
            )
        if not (np.isfinite(grow) and grow > 1):
            raise InvalidParameterError.of("grow", grow, "give a number above 1.")
        if not longest > 0:
            raise InvalidParameterError.of("longest", longest, "give a positive number.")
        self.C, self.needs_lipschitz = C, C == "data"
        self.descent, self.grow = descent, grow
        self.longest, self.safeguards = longest, safeguards

    def first(self, p: Array) -> float:
        """L₁ = ‖p₁‖, so that the first step has length at most 1."""
        return float(np.linalg.norm(p)) or 1.0

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        """L by the test above, and at least what the two hypergradients show."""
        delta = float(np.linalg.norm(now.lam - before.lam))
        if delta == 0:
            return L
        C = C if self.needs_lipschitz else float(self.C)
        eps_before, eps_now = eps
        slack = C * eps_now + eps_before * (C + M) * delta
        promised = (0.5 if self.descent == "proved" else 1.0) * L * delta**2
        if not self.safeguards:
            descended = now.g <= before.g + slack - promised
            return L / (self.grow if descended else self.SHRINK)
        descended = now.value <= before.value + slack - promised
        errors = gradient_error(before, eps_before) + gradient_error(now, eps_now)
        shown = (float(np.linalg.norm(now.grad - before.grad)) - errors) / delta
        short = float(np.max(np.abs(now.grad))) / self.longest
        return max(L / (self.grow if descended else self.SHRINK), shown, short)


class Hoag(Search):
    """λ_{k+1} = P_D(λ_k − p_k/L), with p_k computed only to the tolerance ε_k, as in the paper.

    Where the error of p_k was measured and is as large as p_k, λ stays for the next, smaller ε.

    Parameters
    ----------
    schedule : callable, default=None
        k ↦ ε_k, for k = 1, 2, …; None is `hoag.solvers.ExponentialDecay()`.
    step : Adaptive or Constant, default=None
        How L changes; None is `Adaptive()` as in the paper's experiments.
    tol : float, default=1e-5
        Stop when the gradient mapping ‖λ − P_D(λ − p/L₁)‖ plus the error of p over L₁ is at most
        tol. L₁ = ‖p₁‖ is the first L, so a shrinking step does not count: tol is relative to the
        first gradient, or to 1e-3 of the first loss where that is larger, so that a start near the
        optimum can stop. An error that was not measured counts as ε_k.
    gain : float, default=0
        Stop also when the loss can fall by no more than this share of itself, judged from the last
        steps: five times the decrease (L/2)(‖λ − P_D(λ − p/L)‖ + error/L)² that one more promises,
        while no hyperparameter, moved by one, promises more than five times `gain`. 0 is never for
        this reason.
    max_iter : int, default=200
        The most evaluations.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    References
    ----------
    F. Pedregosa, "Hyperparameter optimization with approximate gradient", ICML 2016.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds, search=hoag.optimize.Hoag(gain=1e-4))
    >>> result.converged, len(result.trace) > 1
    (True, True)
    """

    domains = Domain

    # tol is relative to the first gradient, or to this share of the first loss where that is more.
    LEAST_SCALE = 1e-3

    # Stalled: the step size has shrunk by this factor since the start, so many steps were each
    # shorter than it, and the gradient mapping is as large as before them.
    STALLED = 1e-3
    STALL_STEPS = 10

    def __init__(
        self,
        schedule: Schedule | None = None,
        step: StepRule | None = None,
        tol: float = 1e-5,
        gain: float = 0.0,
        max_iter: int = 200,
        time_budget: float | None = None,
    ) -> None:
        whole_number("max_iter", max_iter)
        for name, value in (("schedule", schedule), ("step", step)):
            if isinstance(value, type):
                raise InvalidParameterError(
                    f"{name}={value.__name__} is a class.\nWrite {value.__name__}().", name, value
                )
        if schedule is not None and not callable(schedule):
            raise InvalidParameterError.of("schedule", schedule, "give a function k ↦ ε_k.")
        if step is not None and not isinstance(step, StepRule):
            raise InvalidParameterError.of("step", step, "give Adaptive() or Constant(L).")
        if not tol >= 0:
            raise InvalidParameterError.of("tol", tol, "it must be a number ≥ 0.")
        self.schedule = schedule or ExponentialDecay()
        self.step = step or Adaptive()
        if not gain >= 0:
            raise InvalidParameterError.of("gain", gain, "it must be a number ≥ 0.")
        self.tol = tol
        self.gain = gain
        self.max_iter, self.time_budget = max_iter, time_budget
        self.accuracy = max(ACCURACY, gain)

    def steps(self, domain: Domain, lam0: Array, traits: Traits) -> Steps:
        """The paper's lines (i) to (iv), until one of the stopping rules holds."""
        C = (yield Lipschitz()) if self.step.needs_lipschitz else np.nan
        lam, L, scale, waited_with = lam0, np.nan, np.nan, np.inf
        now: Evaluation | None = None
        taken: deque[_Taken] = deque(maxlen=self.STALL_STEPS + 1)
        first_size, descent = np.nan, Descent(domain, self.gain, int(self.max_iter or 1))
        origin: tuple[float, Evaluation, float] | None = None  # L, p, ε of the last step taken
        while True:
            descent.evaluations += 1
            eps = self._tolerance(descent.evaluations)
            now = yield Evaluate(lam, Ask(eps), now)  # (i), (ii), (iii)
            p = now.grad
            if origin is None:
                L = self.step.first(p)
                scale = max(float(np.linalg.norm(p)), self.LEAST_SCALE * abs(now.value)) or 1.0
                first_size = 1 / L
            else:
                L = self.step.next(origin[0], C, origin[1], now, (origin[2], eps))
            slope = mapping(lam, p, domain, scale)
            yield Note(1 / L, slope)
            error = gradient_error(now, eps, traits.exact)
            taken.append(_Taken(lam, 1 / L, slope))
            status = (
                self._stationary(descent, now, slope, error / scale)
                or self._no_gain(descent, now, error, taken)
                or self._stalled(descent, now, taken, first_size)
            )
            if status is None and descent.spent:
                told = (
                    f"with the gradient mapping at {slope:.1e} and its error at "
                    f"{error / scale:.1e}, together above tol={self.tol:g}"
                )
                status = descent.out_of_steps(now, "" if self.gain > self.tol else told)
            if status is not None:
                return status
            # Where the direction is not known yet: stay and let ε shrink, while that helps.
            waits = now.error >= np.linalg.norm(p) and error < FALLEN * waited_with and error > 0
            waited_with = error if waits else np.inf
            if waits:
                continue
            origin = (L, now.light(), eps)
            lam = domain.project(lam - p / L)  # (iv)

    def _tolerance(self, k: int) -> float:
        eps = float(self.schedule(k))
        if not (np.isfinite(eps) and eps >= 0):
            raise InvalidParameterError(
                f"The schedule gave ε_{k} = {eps}; it must be a number ≥ 0.", "schedule", eps
            )
        return eps

    def _stationary(
        self, descent: Descent, now: Evaluation, slope: float, error: float
    ) -> Status | None:
        if not slope + error <= self.tol:
            return None
        why = (
            f"Converged at step {descent.evaluations}: the gradient mapping is {slope:.1e} and its "
            f"error {error:.1e}, together at most tol={self.tol:g}."
        )
        return Status(Reason.CONVERGED, why).noted(now.note)

    def _no_gain(
        self, descent: Descent, now: Evaluation, error: float, taken: Sequence[_Taken]
    ) -> Status | None:
        """What more steps may gain, and the steepest slope in the box, as shares of the loss."""
        # a step that was just halved says little about the curvature
        L = min(1 / step.size for step in list(taken)[-self.STALL_STEPS // 2 :])
        step = mapping(now.lam, now.grad, descent.domain, L)
        ahead = AHEAD * L / 2 * (step + error / L) ** 2
        steep = steepest(now.lam, now.grad, descent.domain)
        if not (ahead <= descent.goal(now) and steep <= AHEAD * descent.goal(now)):
            return None
        return descent.converged(now, ahead / size(now))

    def _stalled(
        self, descent: Descent, now: Evaluation, taken: Sequence[_Taken], first_size: float
    ) -> Status | None:
        last = list(taken)
        collapsed = last[-1].size < self.STALLED * first_size
        falling = last[-1].mapping < FALLEN * last[0].mapping
        if len(last) <= self.STALL_STEPS or not collapsed or falling:
            return None
        moves = [np.linalg.norm(b.lam - a.lam) for a, b in pairwise(last)]
        waited = min(moves) == 0  # for a smaller ε, which is no collapse
        if not (max(moves) < self.STALLED and last[-1].mapping > self.tol and not waited):
            return None
        why = (
            f"the last {self.STALL_STEPS} steps moved less than {self.STALLED:g} each, the step "
            f"size is down to {last[-1].size:.1e}, and the gradient mapping is still "
            f"{last[-1].mapping:.1e}, above tol={self.tol:g}. The step rule asks for more "
            "descent than g shows at these tolerances: try Adaptive() with a larger C, or a "
            "tighter schedule"
        )
        return descent.stalled(now, why)


class _Taken(NamedTuple):
    lam: Array
    size: float
    mapping: float
