"""The default search on samples of the rows that grow: λ is near before all rows are used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hoag._core.domain import Domain
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Evaluation
from hoag._criteria.base import Traits
from hoag.optimize._asks import Asking, Evaluate, Steps
from hoag.optimize._auto import Auto
from hoag.optimize._quasi_newton import InBox, SecantDescent
from hoag.optimize._steps import acting


class Growing(Auto):
    """min over λ in D of f(λ), by quasi-Newton steps on samples of the rows that grow to all.

    On a sample λ moves while its slope is larger than the sampling error of that slope, which is
    measured; then the sample grows, and λ, x, q and what is known of ∇²f are where it begins. Where
    λ was already good on a sample to `tol`, all rows are next. The end is on all rows in any case,
    and as good as that of `Auto`: λ and the loss are those of all rows.

    For problems that are sums or means over rows: those of hoag.jax and hoag.torch with train= and
    test=. Others are searched as by `Auto`.

    Parameters
    ----------
    tol : float, default=1e-4
        Stop when the loss can fall by no more than this share of itself.
    first : int, default=None
        Rows of the first sample; None is as few as the problem says will do.
    factor : float, default=4
        How many times as many rows a sample has as the last: with four times as many, the error is
        half as large.
    seed : int, default=0
        Of the order in which rows come into samples.
    max_iter : int, default=100
        The most evaluations, of all sizes together.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> hoag.minimize(folds, search=hoag.optimize.Growing(tol=1e-6)).converged
    True
    """

    def __init__(
        self,
        tol: float = 1e-4,
        first: int | None = None,
        factor: float = 4.0,
        seed: int = 0,
        max_iter: int = 100,
        time_budget: float | None = None,
    ) -> None:
        super().__init__(tol, max_iter, time_budget)
        if first is not None and not first >= 4:
            raise InvalidParameterError.of(
                "first", first, "give a number of rows, at least four, or None."
            )
        if not factor > 1:
            raise InvalidParameterError.of(
                "factor", factor, "samples must grow; give a number above 1."
            )
        self.first, self.factor, self.seed = first, factor, seed

    def steps(self, domain: Domain, lam0: Array, traits: Traits) -> Steps:
        """A descent on each sample, from where the last one ended."""
        if traits.fewest is None or traits.rows is None or (box := domain.as_box()) is None:
            status = yield from super().steps(domain, lam0, traits)
            why = "All steps were on all rows: no sample of them stands for this problem."
            return status.noted(why)
        rows, last = float(self.first or traits.fewest), None
        descent = InBox(box, self.tol, self.max_iter or 1, traits.exact)
        while rows * np.sqrt(self.factor) <= traits.rows and descent.evaluations < descent.max_iter:
            last, enough = yield from self._on(int(rows), descent, lam0, last)
            rows = traits.rows if enough else self.factor * rows
        lam = lam0 if last is None else last.lam
        return (yield from descent.from_there(domain.project(lam), last))

    def _on(
        self, rows: int, descent: SecantDescent, lam: Array, last: Evaluation | None
    ) -> Asking[tuple[Evaluation | None, bool]]:
        """Where a descent comes to on a sample, and whether nothing is left to gain, by `tol`.

        It ends before that where the sample has nothing more to say.
        """
        steps = descent.from_there(descent.domain.project(lam if last is None else last.lam), last)
        answer, fresh = None, True
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                return last, end.value.converged and not _hidden(last, descent.domain)
            if not isinstance(asked, Evaluate):
                answer = yield asked
                continue
            if not fresh and _hidden(last, descent.domain):
                steps.close()
                return last, False
            answer = yield replace(asked, ask=replace(asked.ask, rows=rows, seed=self.seed))
            if not np.isfinite(answer.value):
                steps.close()  # there is no fit to so few rows
                return last, False
            last, fresh = answer, False


def _hidden(found: Evaluation | None, domain: Domain) -> bool:
    """Whether the slope is no larger than its sampling error."""
    if found is None or found.on_sample is None or not np.isfinite(found.error):
        return False
    sampling = found.error - np.nan_to_num(found.on_sample[1])
    p = acting(found.lam, found.grad, domain)
    return bool(np.linalg.norm(p) <= sampling)
