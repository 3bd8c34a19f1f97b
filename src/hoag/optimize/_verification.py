"""The end of a run: f is computed once more at the λ that is returned, from its definition.

while another λ at which f was computed promises less than the best that is verified:
    verify it, too
return the lowest of the verified values, with the error of its gradient
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hoag._core.result import Ask, Evaluation, Reason, Result, Status
from hoag._core.words import percent
from hoag._criteria.base import SETTLED
from hoag.optimize._asks import Evaluate

if TYPE_CHECKING:
    from hoag.optimize._run import Run

# A certificate that nobody asked for may cost this share of the run.
SHARE = 0.2
LARGEST = float(np.sqrt(np.finfo(float).max))  # whose square does not overflow


class Verification:
    """What is verified of a run, each λ once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def verified(self, found: Evaluation) -> Evaluation:
        """f by its definition at the λ of an evaluation."""
        key, run = found.lam.tobytes(), self.run
        if key not in run.verified:
            tol, deadline = run.accuracy * abs(found.value), run.record.deadline()
            run.verified[key] = run.record.evaluation(
                "verify", lambda: run.criterion.verify(found, tol, deadline)
            )
        return run.verified[key]

    def result(self, status: Status) -> Result:
        """The result, verified: where the search converged at its last point, else the best one."""
        run = self.run
        chosen = run.last if status.converged else run.best
        # A search that has verified where it ends has compared that with what it scanned, to tol.
        own = run.accuracy if chosen.lam.tobytes() in run.verified else 0.0
        first = known = self.verified(chosen)
        if not np.isfinite(known.value):
            reason = Reason.NOT_FINITE if status.converged else status.reason
            why = f"{status.ended} Its loss, computed again, is {known.value}."
            return self.unverified(replace(status, reason=reason, why=why))
        for other in self._promising():
            share = own if run.criterion.traits.exact else run.accuracy
            lower = known.value - known.f_error - share * abs(known.value)
            if run.record.late or not other.highest < lower:
                break
            rival = self.verified(self._whole(other))
            known = min(rival, known, key=lambda found: found.highest)
        if status.converged:
            status = self._corrected(status, first, known)
        return self._made(self._certified(known), status)

    def _corrected(self, status: Status, first: Evaluation, known: Evaluation) -> Status:
        """The status of a search that had converged, by what is verified."""
        accuracy = 2 * SETTLED * self.run.accuracy
        if known.highest < first.value - accuracy * abs(first.value):
            less = percent((first.value - known.value) / (abs(first.value) or 1.0))
            why = (
                f"{status.ended} But the loss was lower by {less} at a value tried before, which "
                "is returned: the loss has other minima, or is flat. Search again, in narrower "
                "bounds about this value."
            )
            status = replace(status, reason=Reason.LEFT_BEHIND, why=why)
        if status.converged and known.f_error > accuracy * abs(known.value):
            why = "The loss is not known: a fit stopped short of its minimum at the value returned."
            if np.isfinite(known.f_error):
                share = percent(known.f_error / (abs(known.value) or 1.0))
                why = f"Computed again, the loss is known only to ± {share}."
            why = f"Not converged. {why} The search itself had ended: {status.ended}"
            status = replace(status, reason=Reason.NOT_VERIFIED, why=why).noted(known.note)
        return status

    def _promising(self) -> list[Evaluation]:
        """All at which f was computed on all rows, the lowest first, without (x, q).

        Free scan values are among them where these are as exact as any evaluation.
        """
        exact = self.run.criterion.traits.exact
        found: list[Evaluation] = [
            one.answer
            for one in self.run.record.entries
            if one.ask is not None and (one.ask.whole or (exact and one.ask.rows is None))
        ]
        known = [one for one in found if np.isfinite(one.highest)]
        return sorted(known, key=lambda one: one.highest)

    def _whole(self, light: Evaluation) -> Evaluation:
        """An evaluation with all that verification goes on from, computed again unless held."""
        run = self.run
        for held in (run.best, run.last):
            if np.array_equal(held.lam, light.lam):
                return held
        look = Evaluate(light.lam, Ask(run.accuracy * abs(light.value)))
        return run.record.evaluation("evaluate", lambda: run.computed(look), look.lam, look.ask)

    def _certified(self, found: Evaluation) -> Evaluation:
        """With the error of p, as far as it is asked for, or costs little."""
        run = self.run
        if run.certificate == "none" or not np.all(np.isfinite(found.grad)):
            return found
        bound = run.certificate == "bound"
        if not np.isnan(found.error) and not bound:
            return found
        if run.certificate == "auto":
            last, total = run.trace[-1].evaluation.cost, run.cost
            late = run.seconds >= run.record.budget
            # Exact solves leave the factor of the λ that was just verified.
            expensive = last.passes + last.grams > SHARE * (total.passes + total.grams)
            if late or (expensive and not run.criterion.traits.exact):
                return found
        known = run.record.evaluation("certify", lambda: run.criterion.certify(found, bound))
        return replace(
            known, value=found.value, g=found.g, f_error=found.f_error, x=found.x, warm=found.warm
        )

    # ---- without verification

    def unverified(self, status: Status, with_x: bool = False) -> Result:
        """The best as it was found; nothing is computed but its x, where that is wanted."""
        best = self._made(self.run.best, status)
        if not with_x:
            return best
        x, cost = self.run.criterion.solution(best.evaluation)
        return replace(best, evaluation=replace(best.evaluation, x=x), cost=best.cost + cost)

    def _made(self, found: Evaluation, status: Status) -> Result:
        run = self.run
        chosen = str(run.criterion.chosen or "")
        return Result(
            *(found, status, tuple(run.trace), run.cost, run.seconds),
            searched=run.sides,
            chosen=chosen,
        )


def overflow(ask: Ask, found: Evaluation) -> str:
    """Which part of an evaluation no search can compute with; "" where squares do not overflow."""
    if not np.isfinite(found.value):
        return f"the outer loss is {found.value}"
    parts = {
        "the outer loss": found.value,
        "the gradient": found.grad if ask.gradient else 0.0,
        "the error of the gradient": found.error if np.isfinite(found.error) else 0.0,
        "the Hessian of the outer loss": 0.0 if found.hessian is None else found.hessian,
    }
    for name, part in parts.items():
        largest = np.max(np.abs(part), initial=0.0)
        if not np.isfinite(largest):
            return f"{name} is not finite"
        if largest > LARGEST:
            return f"{name} is so large that its square overflows"
    return ""
