"""f = Σ_k f_k: criteria added, as the folds of cross-validation are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from hoag._core import clock
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import Criterion, Traits
from hoag.problems import Problem

T = TypeVar("T")


class Sum(Criterion):
    """f = Σ_k f_k, the criterion of K-fold cross-validation.

    The gradient errors of the folds add as vectors where they were measured, the bounds as numbers;
    errors that are only sizes as the root of the sum of their squares. An evaluation holds those of
    its parts, and each part goes on from its own.

    Parameters
    ----------
    criteria : sequence of Criterion
        The summands, with one λ.
    n_jobs : int, default=None
        How many are evaluated at a time, through joblib: threads, unless its configuration names
        another backend. None is one, or what that configuration says.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True), cv=3)
    >>> criterion = hoag.criteria.Sum([hoag.criteria.Implicit(fold) for fold in folds])
    >>> found = criterion.evaluate(-2.0, 1e-6)
    >>> len(found.parts), round(found.value - sum(part.value for part in found.parts), 6)
    (3, 0.0)
    """

    def __init__(self, criteria: Sequence[Criterion], n_jobs: int | None = None) -> None:
        self.criteria = list(criteria)
        self.n_jobs = n_jobs
        if not self.criteria:
            raise InvalidParameterError("Sum needs at least one criterion.", "criteria")
        for part in self.criteria:
            if not isinstance(part, Criterion):
                raise InvalidParameterError(
                    f"Sum adds criteria; {type(part).__name__} is none.\nWrap each problem in "
                    "hoag.criteria.Implicit(problem), or give the list to hoag.minimize.",
                    "criteria",
                    part,
                )
        sizes = {np.size(part.lam0) for part in self.criteria}
        if len(sizes) > 1:
            raise InvalidParameterError(
                f"The criteria to add have different numbers of hyperparameters: {sorted(sizes)}.",
                "criteria",
            )

    @property
    def lam0(self) -> Array:
        return self.criteria[0].lam0

    @property
    def traits(self) -> Traits:
        parts = [part.traits for part in self.criteria]
        looks = [part.scan_spacing for part in parts if part.scan_spacing is not None]
        sizes = [part.rows for part in parts if part.rows is not None]
        fewest = [part.fewest for part in parts if part.fewest is not None]
        least = [part.least for part in parts if part.least is not None]
        return Traits(
            scan_spacing=max(looks) if len(looks) == len(parts) else None,
            has_hessian=all(part.has_hessian for part in parts),
            exact=all(part.exact for part in parts),
            rows=min(sizes) if len(sizes) == len(parts) else None,
            fewest=max(fewest) if len(fewest) == len(parts) else None,
            least=min(least) if len(least) == len(parts) else None,
            blocks=parts[0].blocks,
        )

    @property
    def stands_on(self) -> Problem | None:
        return self.criteria[0].stands_on

    def outer_lipschitz(self) -> tuple[float, Cost]:
        parts = [criterion.outer_lipschitz() for criterion in self.criteria]
        return sum(part[0] for part in parts), sum((part[1] for part in parts), Cost())

    def _on_sample(self, rows: int, seed: int) -> Sum:
        return Sum([part.sampled(rows, seed) for part in self.criteria], self.n_jobs)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        starts = warm if warm is not None else [None] * len(self.criteria)
        if self.traits.scan_spacing:  # ε is met as an error there, not as a residual: it is shared
            ask = replace(ask, eps=ask.eps / np.sqrt(len(self.criteria)))
        return added(lam, self._each(lambda part, start: part.evaluate(lam, ask, start), starts))

    def levels(self, lams: Sequence[Array]) -> tuple[Array, Cost] | None:
        parts = self._each(lambda part, _: part.levels(lams), [None] * len(self.criteria))
        if any(part is None for part in parts):
            return None
        return np.sum([part[0] for part in parts], axis=0), sum((part[1] for part in parts), Cost())

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        own = tol / np.sqrt(len(self.criteria))
        parts = self._each(lambda part, piece: part.verify(piece, own, deadline), found.parts)
        folds = np.array([part.value for part in parts])
        return replace(added(found.lam, parts), folds=folds)

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        parts = self._each(lambda part, piece: part.certify(piece, bound), found.parts)
        return added(found.lam, parts)

    def solution(self, found: Evaluation) -> tuple[tuple[Any, ...], Cost]:
        """The x of every part."""
        parts = [part.solution(own) for part, own in zip(self.criteria, found.parts, strict=True)]
        return tuple(x for x, _ in parts), sum((cost for _, cost in parts), Cost())

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """As the criterion that is added has it, from what all that were added have found."""
        (found,) = parts
        return self.criteria[0]._refit(problem, found.parts, tol)

    def rebind(self, found: Evaluation) -> Evaluation:
        for part, own in zip(self.criteria, found.parts):
            part.rebind(own)
        return found

    def _each(self, call: Callable[[Criterion, Any], Any], pieces: Sequence[Any]) -> list[Any]:
        """`call` for every part with its piece."""
        return in_threads(call, zip(self.criteria, pieces, strict=True), self.n_jobs)


def in_threads(
    call: Callable[..., T], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> list[T]:
    """call(*own) for all arguments, `n_jobs` at a time, through joblib."""
    if effective_n_jobs(n_jobs) == 1:
        return [call(*own) for own in arguments]
    timed = clock.carried(call)
    jobs = (delayed(timed)(*own) for own in arguments)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def added(lam: Array, parts: Sequence[Evaluation]) -> Evaluation:
    """The sum of some evaluations, each of an f of its own."""
    corrections = [part.correction for part in parts if part.correction is not None]
    total = np.sum(corrections, axis=0) if len(corrections) == len(parts) else None
    hessians = [part.hessian for part in parts if part.hessian is not None]
    errors = float(np.linalg.norm([part.error for part in parts]))
    bound = float(np.sum([part.bound for part in parts]))
    own = np.linalg.norm([part.own_errors for part in parts], axis=0)
    sampled = any(part.on_sample is not None for part in parts)
    return Evaluation(
        lam=lam,
        value=float(np.sum([part.value for part in parts])),
        grad=np.sum([part.grad for part in parts], axis=0),
        g=float(np.sum([part.g for part in parts])),
        f_error=float(np.linalg.norm([part.f_error for part in parts])),
        error=min(errors if total is None else float(np.linalg.norm(total)), bound),
        bound=bound,
        correction=total,
        hessian=np.sum(hessians, axis=0) if len(hessians) == len(parts) else None,
        x=None if any(part.x is None for part in parts) else tuple(part.x for part in parts),
        warm=tuple(part.warm for part in parts),
        cost=sum((part.cost for part in parts), Cost()),
        converged=all(part.converged for part in parts),
        note=" ".join(
            f"Part {k + 1} of {len(parts)}: {part.note}"
            for k, part in enumerate(parts)
            if part.note
        ),
        parts=tuple(parts),
        on_sample=(float(own[0]), float(own[1])) if sampled else None,
    )
