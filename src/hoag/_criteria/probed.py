"""Scores of one fit where no factor is affordable: Vᵢ = aᵢᵀH⁻¹aᵢ by random probes.

    u_k = Aᵀ(√C ξ_k) + √S ζ_k,   w_k = H⁻¹u_k,   y_k = Aw_k,   e_k = ξ_k − √C y_k
    Vᵢ ≈ a/(ca + b) for every row,   a = mean over k of y²,   b = mean over k of e²

with signs ξ, ζ drawn once. E[a] = Vᵢ and E[b] = 1 − cᵢVᵢ, whose estimates are both positive: no
row is left out with a leverage above 1. The same draws serve every λ, so that f is smooth, and its
derivative is exact, by an adjoint for each probe. What probes make wrong to first order in 1/m is
taken off by the jackknife,

    f = m Φ(all probes) − (m − 1) mean over k of Φ(all but k)

and the spread of m Φ − (m − 1)Φ(all but k) over k is what f_error says: how far f is from the score
itself. It does not fall with more precise solves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hoag._core import clock
from hoag._core.errors import InvalidInput
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.base import Criterion, Traits, no_gradient, unsolved
from hoag._criteria.scores import Judged, LeftOut, Score, Seen
from hoag._glm.model import LinearModel, LinearPoint
from hoag._glm.penalties import Ridge
from hoag._glm.term import DataTerm
from hoag.inner import Continued, Newton
from hoag.linear import CG, LinearSolver, jacobi
from hoag.problems import Counted, Problem


class Leverage(NamedTuple):
    """V of every row from a = mean y² and b = mean e², and its derivatives."""

    V: Array
    by_a: Array
    by_b: Array
    by_c: Array

    @staticmethod
    def of(a: Array, b: Array, c: Array) -> Leverage:
        whole = c * a + b
        return Leverage(a / whole, b / whole**2, -a / whole**2, -((a / whole) ** 2))


@storable
@dataclass(frozen=True, eq=False)
class Warm:
    """x, and the solutions for every probe and every adjoint of one, as they were at some λ."""

    x: Array
    W: list[Array]
    G: list[Array | None]


class _Fit(NamedTuple):
    """x, the point there, √c, and for every probe w, Hw − u, y = Aw and e = ξ − √c y."""

    term: DataTerm
    x: Array
    point: LinearPoint
    root: Array
    W: list[Array]
    left: list[Array]
    Y: Array
    E: Array
    note: str

    def seen(self, V: Array) -> Seen:
        return Seen(self.term, self.term.predict(self.x), V[:, None, None])


@dataclass
class _Sums:
    """Of scores with their weights: what they and their derivatives add up to.

    rows         what each row adds, or None
    by_z, by_c   derivatives in z, and by V in c, (n,)
    weights      in the mean of y² and of e², each times the share of a probe, (2, n)
    """

    rows: Array | None = None
    by_z: Any = 0.0
    by_c: Any = 0.0
    weights: Any = 0.0

    def add(self, factor: float, judged: Judged, lever: Leverage, share: float) -> Array:
        """One more; what it adds to the weights of its probes."""
        by_V = factor * judged.by_V[:, 0, 0]
        own = share * by_V * np.stack([lever.by_a, lever.by_b])
        self.by_z = self.by_z + factor * judged.by_z[:, 0]
        self.by_c = self.by_c + by_V * lever.by_c
        self.weights = self.weights + own
        if judged.rows is not None:
            self.rows = factor * judged.rows + (0.0 if self.rows is None else self.rows)
        return np.asarray(own)


class _Jackknifed(NamedTuple):
    """f and its spread, the sums, and derivatives in y² and e² of every probe, (n, m)."""

    value: float
    spread: float
    sums: _Sums
    by_a: Array
    by_b: Array


class Probed(Criterion):
    """A score of the fit on all rows of a model with one output and ridge penalties."""

    def __init__(self, problem: LinearModel, score: Score, probes: int = 32, seed: int = 0) -> None:
        self.problem, self.score, self.probes, self.seed = problem, score, probes, seed
        assert isinstance(problem.penalty, Ridge)
        self.penalty = problem.penalty

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def stands_on(self) -> Problem:
        return self.problem

    @property
    def traits(self) -> Traits:
        return Traits(blocks=np.arange(self.lam0.size))

    @cached_property
    def _draws(self) -> tuple[Array, Array]:
        """ξ, (n, m), and ζ, (size, m): signs."""
        rng, design = np.random.default_rng(self.seed), self.problem.train.design
        xi, zeta = (rng.integers(0, 2, (size, self.probes)) for size in (design.n, design.size))
        return np.asarray(2.0 * xi - 1.0), np.asarray(2.0 * zeta - 1.0)

    @cached_property
    def _linear(self) -> LinearSolver:
        plain = self.problem.facts.sparse and self.lam0.size == 1
        return CG(5000, None if plain else jacobi)

    @cached_property
    def _start(self) -> tuple[float, float]:
        """The loss and ‖∇₁h‖ at x₀: what errors are measured by."""
        point = self.problem.at(np.array(self.problem.x0), self.lam0)
        return abs(point.h), float(np.linalg.norm(point.h_x))

    def _share(self, eps: float) -> float:
        """The share of each right-hand side that solves may leave."""
        return float(np.clip(eps / self._start[0], EXACT, EXACT**0.4))

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before, share = self.problem.ledger.cost, self._share(ask.eps)
        fit = self._fitted(lam, share, warm)
        found = self._judged(lam, fit, share, warm, ask.gradient)
        return replace(found, cost=self.problem.ledger.cost - before)

    def _fitted(self, lam: Array, share: float, warm: Warm | None) -> _Fit:
        """X(λ) and the probes there."""
        train, (xi, zeta) = self.problem.train, self._draws
        x = np.array(self.problem.x0) if warm is None else warm.x
        newton = Continued(Newton(self._linear))
        solve = newton.solve(Counted(self.problem), lam, x, share * self._start[1])
        point: LinearPoint = solve.point
        curvature = train.weights * point.train.loss.curve(np.ones(train.design.n))
        root, alpha = np.sqrt(curvature), np.sqrt(self.penalty.alpha(lam))
        solves = []
        for k in range(self.probes):
            clock.check()
            u = train.backward(root * xi[:, k]) + alpha * zeta[:, k]
            solves.append(self._solved(point, u, None if warm is None else warm.W[k], share))
        W, left = [one.x for one in solves], [one.r for one in solves]
        Y = np.stack([train.forward(w) for w in W], axis=1)
        note = _note(solve, "The fit") or _note(max(solves, key=_stopped), "A probe's solve")
        return _Fit(train, solve.x, point, root, W, left, Y, xi - root[:, None] * Y, note)

    def _solved(self, point: LinearPoint, b: Array, q0: Array | None, share: float) -> Solve:
        return self._linear.solve(point.hessian, b, q0, share * float(np.linalg.norm(b)))

    def seen(self, lam: Array, warm: Warm | None = None) -> Seen:
        """The rows at λ with V as all probes have it."""
        fit = self._fitted(lam, EXACT**0.5, warm)
        a, b = ((part**2).mean(axis=1) for part in (fit.Y, fit.E))
        return fit.seen(Leverage.of(a, b, fit.root**2).V)

    def _judged(
        self, lam: Array, fit: _Fit, share: float, warm: Warm | None, gradient: bool
    ) -> Evaluation:
        known = self._jackknifed(fit)
        value, grad = known.value, no_gradient(lam)
        G: list[Array | None] = [None] * self.probes if warm is None else warm.G
        change, lost = 0.0, share * abs(value)
        if gradient:
            q, adjoints, parts = self._adjoint(lam, fit, known, share, warm)
            G = list(adjoints)
            grad = np.asarray(sum(self.penalty.by_group(part) for part in parts))
            # what is left of x and of every w, seen by its adjoint: f to second order in it
            change = -float(q @ fit.point.h_x)
            change -= sum(float(g @ r) for g, r in zip(adjoints, fit.left, strict=True))
            lost = share * sum(float(np.sum(np.abs(part))) for part in parts)
        left = share * abs(value) + ROUNDING * abs(value) + abs(change)
        if fit.note:
            left += unsolved(abs(change), abs(value))
        return Evaluation(
            lam,
            value + change,
            grad,
            g=value,
            f_error=known.spread + left,
            error=lost if gradient else np.nan,
            x=fit.x,
            warm=Warm(fit.x, fit.W, G),
            converged=not fit.note,
            note=fit.note,
            folds=known.sums.rows,
            on_sample=(left, lost),
        )

    def _jackknifed(self, fit: _Fit) -> _Jackknifed:
        """f, its spread, and its derivatives in z, in c by V, and in y² and e² of each probe."""
        m, c = self.probes, fit.root**2
        a, b = fit.Y**2, fit.E**2
        total, each = _Sums(), np.empty((2, *a.shape))
        values = np.empty(m)
        whole_a, whole_b = a.sum(axis=1), b.sum(axis=1)
        lever = Leverage.of(whole_a / m, whole_b / m, c)
        all_of_them = self.score.at(fit.seen(lever.V))
        total.add(float(m), all_of_them, lever, 1.0 / m)
        for k in range(m):
            clock.check()
            lever = Leverage.of((whole_a - a[:, k]) / (m - 1), (whole_b - b[:, k]) / (m - 1), c)
            judged = self.score.at(fit.seen(lever.V))
            values[k] = m * all_of_them.value - (m - 1) * judged.value
            each[:, :, k] = total.add(-(m - 1.0) / m, judged, lever, 1.0 / (m - 1))
        by_a, by_b = (total.weights[j][:, None] - each[j] for j in range(2))
        spread = float(np.std(values, ddof=1) / np.sqrt(m))
        return _Jackknifed(float(values.mean()), spread, total, by_a, by_b)

    def _adjoint(
        self, lam: Array, fit: _Fit, known: _Jackknifed, share: float, warm: Warm | None
    ) -> tuple[Array, list[Array], list[Array]]:
        """q, the adjoint of each probe, and what sums over groups to p."""
        train, (xi, zeta) = self.problem.train, self._draws
        alpha, root = self.penalty.alpha(lam), fit.root
        bend = train.weights * fit.point.train.loss.third(np.ones(len(root)), np.ones(len(root)))
        over = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        by_z = known.sums.by_z + bend * (
            known.sums.by_c - over * np.sum(known.by_b * fit.E * fit.Y, axis=1)
        )
        G, parts = [], []
        for k in range(self.probes):
            clock.check()
            y, e = fit.Y[:, k], fit.E[:, k]
            omega = 2.0 * (known.by_a[:, k] * y - known.by_b[:, k] * root * e)
            start = None if warm is None else warm.G[k]
            g = self._solved(fit.point, train.backward(omega), start, share).x
            seen = train.forward(g)
            by_z = by_z + bend * seen * (0.5 * over * xi[:, k] - y)
            parts.append(g * (0.5 * np.sqrt(alpha) * zeta[:, k] - alpha * fit.W[k]))
            G.append(g)
        q = self._solved(fit.point, train.backward(by_z), None, share).x
        return q, G, [-alpha * q * fit.x, *parts]

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """From what was found, with solves as precise as tol asks."""
        before = self.problem.ledger.cost
        share = float(np.clip(0.1 * tol / (abs(found.value) or 1.0), EXACT, EXACT**0.4))
        fit = self._fitted(found.lam, share, found.warm)
        known = self._judged(found.lam, fit, share, found.warm, True)
        why = f"It is estimated by {self.probes} random probes of the rows' leverages."
        return replace(
            known,
            grad=found.grad,
            error=found.error,
            f_error=known.f_error + abs(known.value - found.value),
            note=f"{known.note} {why}".strip(),
            cost=self.problem.ledger.cost - before,
        )

    def degrees(self, found: Evaluation) -> float:
        """df = Σᵢ tr(CᵢVᵢ) of the fit that was found, about."""
        return self.seen(found.lam, found.warm).degrees

    def predictions(self, lam: Array) -> Array:
        """z̃ at λ, what the fit without each row predicts for it; for approximate leave-one-out."""
        if not isinstance(self.score, LeftOut):
            raise InvalidInput("Only approximate leave-one-out predicts rows that are left out.")
        return self.score.predictions(self.seen(lam))

    def outer_lipschitz(self) -> tuple[float, Cost]:
        raise InvalidInput("A score of one fit has no bounded slope: give C a number.")


def _stopped(solve: Solve) -> tuple[bool, float]:
    return not solve.converged, solve.residual


def _note(solve: Solve, what: str) -> str:
    if solve.converged:
        return ""
    return f"{what} stopped ({solve.reason}) at a residual of {solve.residual:.1e}."
