"""What descents share: the length of steps, what a domain leaves of p, how their ends are told."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box, Domain
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.result import Evaluation, Reason, Status
from hoag._core.words import percent

Mask = npt.NDArray[np.bool_]

# ‖p_k − ∇f‖ ≤ M ε_k, the paper's constant.
M = 1.0
# λ is a logarithm: no hyperparameter moves by more than this in a step of the default search.
LONGEST = 2.0
# No step this short is tried again.
SHORTEST = 1e-7
# What is left to gain is so many times what the next step promises; and a search does not end where
# a hyperparameter, moved by one, promises more than so many times the tolerance.
AHEAD = 5.0

TINY = float(np.finfo(np.float64).tiny)  # the least positive number


# ---- f and p as they are known


def size(now: Evaluation) -> float:
    """|f|, of which tolerances are shares; 1 where f = 0."""
    return abs(now.value) or 1.0


def gradient_error(evaluation: Evaluation, eps: float, exact: bool = False) -> float:
    """The error of p as it was measured, or M ε where it was not; 0 where no ε makes it smaller."""
    if exact:
        return 0.0
    return M * eps if np.isnan(evaluation.error) else evaluation.error


# ---- what a domain leaves of p


def free(lam: Array, p: Array, domain: Box) -> Mask:
    """Which hyperparameters are not on a bound that the gradient pushes against."""
    held = ((lam <= domain.lower) & (p > 0)) | ((lam >= domain.upper) & (p < 0))
    return np.asarray(~held)


def mapping(lam: Array, p: Array, domain: Domain, scale: float) -> float:
    """‖λ − P_D(λ − p/scale)‖: the gradient mapping."""
    return float(np.linalg.norm(lam - domain.project(lam - p / scale)))


def acting(lam: Array, p: Array, domain: Domain) -> Array:
    """−P_T(−p), T the directions that the domain leaves open at λ: what a step can use of p.

    A short projected step tells: (λ − P_D(λ − tp))/t tends to it from below as t goes to 0.
    """
    t = np.cbrt(ROUNDOFF) * (1.0 + float(np.linalg.norm(lam))) / (float(np.linalg.norm(p)) or 1.0)
    return np.asarray((lam - domain.project(lam - t * p)) / t)


def steepest(lam: Array, p: Array, domain: Domain) -> float:
    """What p promises for a move by one: of a single hyperparameter in a box, else along P_D."""
    if domain.as_box() is not None:
        towards = domain.project(lam - np.sign(p)) - lam
        return float(np.max(np.abs(p * towards)))
    sigma = by_one(acting(lam, p, domain), p)
    return float(p @ (lam - domain.project(lam - p / sigma)))


def by_one(slopes: Array, p: Array) -> float:
    """The σ with which P_D(λ − p/σ) is one away from λ, or less; `slopes` are what acts of p."""
    most = float(np.max(np.abs(p)))
    return max(float(np.max(np.abs(slopes))), float(np.sqrt(ROUNDOFF)) * most) or 1.0


# ---- a descent and its ends


def can_fall(gain: float) -> str:
    return f"the loss can still improve by about {percent(gain)}"


class Descent:
    """Steps within a domain until the loss can fall by no more than `tol` of itself.

    `evaluations` are those made so far, of at most max_iter.
    """

    def __init__(self, domain: Domain, tol: float, max_iter: int, evaluations: int = 0) -> None:
        self.domain, self.tol, self.max_iter = domain, tol, max_iter
        self.evaluations = evaluations

    @property
    def spent(self) -> bool:
        return self.evaluations >= self.max_iter

    def goal(self, now: Evaluation) -> float:
        """By how much f may still fall at the end."""
        return self.tol * size(now)

    def _notes(self, now: Evaluation) -> str:
        """What the end of a descent says of the evaluation beside why it stopped."""
        return now.note

    def converged(self, now: Evaluation, gain: float, *notes: str, how: str = "") -> Status:
        """`gain`, the share of the loss that is left to gain, is no more than was asked for."""
        status = Status(Reason.CONVERGED, gain=max(0.0, float(gain)), how=how)
        return status.noted(*notes, self._notes(now))

    def out_of_steps(self, now: Evaluation, left: str = "") -> Status:
        """`left` is what there is still to do."""
        left = left or f"before the loss was known to be within {percent(self.tol)} of its least"
        why = f"Stopped after max_iter={self.max_iter} steps, {left}. Raise max_iter or tol."
        return Status(Reason.MAX_ITER, why).noted(self._notes(now))

    def stalled(self, now: Evaluation, why: str) -> Status:
        """No step makes the loss fall, or no smaller error of p can be had."""
        why = f"Stalled at step {self.evaluations}: {why}."
        return Status(Reason.STALLED, why).noted(self._notes(now))
