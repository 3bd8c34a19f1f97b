"""What is taken of the fits: Φ with its partial derivatives, for hoag._criteria.hypergradient.

Held-out loss is of K folds; the others are of one fit on all rows, and hold out none: approximate
leave-one-out, and analytic criteria, which are functions of the deviance D and the effective
degrees of freedom df. The marginal likelihood is in hoag._criteria.marginal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from hoag._core.errors import NotSupportedError
from hoag._core.numeric import Array
from hoag._criteria.hypergradient import Fit, Partials, RowsAtFit, axes
from hoag._glm.losses import OuterLoss
from hoag._linalg.general import solve_rows


class Risk(ABC):
    """Φ of the fits of all folds at one λ.

    Derive from it, and write `at(fit)`, which returns `Partials`.

    Attributes
    ----------
    of_folds : bool
        What it judges by is held out of each fold; else it is of one fit on all rows.
    sees_rows : bool
        It is of predictions and quadratic forms of single rows, and not of sums alone.
    sees_hessian : bool
        It depends on H, of one fit.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> class Median(hoag.glm.Risk):  # the sum of the folds' median losses
    ...     def at(self, fit):
    ...         folds, by_x = [], np.zeros_like(fit.X)
    ...         for k, held in enumerate(fit.held_out):
    ...             middle = np.argsort(held.loss.value)[len(held.y) // 2]
    ...             folds.append(held.loss.value[middle])
    ...             unit = np.arange(len(held.y)) == middle
    ...             by_x[k] = held.gradient(unit * held.loss.slope)
    ...         return hoag.glm.Partials(sum(folds), by_x, np.array(folds))
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, (y - y.mean()) / y.std(), cv=5)
    >>> criterion = hoag.plan(folds, risk=Median())
    >>> found, h = criterion.evaluate(-1.0), 1e-5
    >>> rise = criterion.value(-1.0 + h).value - criterion.value(-1.0 - h).value
    >>> bool(abs(found.grad[0] - rise / (2 * h)) < 1e-6)
    True
    """

    of_folds = True
    sees_rows = False
    sees_hessian = False

    @abstractmethod
    def at(self, fit: Fit) -> Partials:
        """Φ of a fit, and its partial derivatives."""

    def sample(self, coefficients: int) -> int | None:
        """Of how many rows a sample should be on which a descent ends near that on all of them.

        None where there is no such sample.
        """
        return None

    def of_sample(self, rows: int) -> Risk | None:
        """The same for a sample of the rows; None where there is none."""
        return None

    def has_hessian(self, constant: bool) -> bool:
        """Whether ∇²f is offered, where ∇²L is constant or is not."""
        return False

    def predictions(self, fit: Fit) -> Array:
        """What the fit without each row predicts for it, as the loss takes it."""
        raise NotSupportedError("Only approximate leave-one-out predicts rows that are left out.")

    def hessian(self, fit: Fit, Q: Array, p: Array) -> Array:
        """∇²f, (s, s)."""
        raise NotSupportedError(
            f"{type(self).__name__} has no second derivatives.\nAsk has_hessian."
        )

    def profile(self, fit: Fit, places: Array) -> Array | None:
        """Φ along every axis from this fit, at places of shape (s, L); None where it is not known.

        Places that are nan are not asked for.
        """
        return None


class HeldOut(Risk):
    """Σ_k g_k, g_k = Σᵢ s′ᵢ loss′(yᵢ, zᵢ) over the rows that fold k holds out.

    Examples
    --------
    >>> from hoag import glm
    >>> glm.HeldOut().has_hessian(constant=False)
    True
    """

    def at(self, fit: Fit) -> Partials:
        g = fit.sums.g
        return Partials(float(g.sum()), fit.sums.g_x, g, size=float(np.abs(g).sum()))

    def has_hessian(self, constant: bool) -> bool:
        return True

    def hessian(self, fit: Fit, Q: Array, p: Array) -> Array:
        """fᵢⱼ = Σ_k tᵢᵀ(∇²g − D³L[q])tⱼ − Eᵢⱼ − Eⱼᵢ + δᵢⱼ pᵢ,  Eᵢⱼ = exp(λᵢ) qᵀSᵢtⱼ."""
        T = fit.tangents
        E = np.einsum("kai,kaj->ij", fit.penalty.columns(Q), T, optimize=True)
        B = fit.design.second_order(fit.X, Q, T) - E - E.T
        return np.asarray(0.5 * (B + B.T) + np.diag(p))

    def profile(self, fit: Fit, places: Array) -> Array:
        """By one Newton step from x to every place: exact for squares."""
        total = np.where(np.isfinite(places), 0.0, np.nan)
        for k in range(len(fit.X)):
            for j, asked, axis, c in axes(fit, places, k):
                total[j, asked] += fit.design.held(k, axis.moved(c))
        return total


@dataclass(frozen=True, eq=False)
class ApproximateLeaveOneOut(Risk):
    """Σᵢ sᵢ g(yᵢ, z̃ᵢ),  z̃ᵢ = zᵢ + Vᵢwᵢ,  wᵢ = (I − CᵢVᵢ)⁻¹ sᵢloss′ᵢ.

    z̃ᵢ is what one Newton step towards the fit without row i predicts for row i: exact where the
    loss is a square.
    """

    outer: OuterLoss

    of_folds = False
    sees_rows = True
    sees_hessian = True

    def at(self, fit: Fit) -> Partials:
        rows, term = fit.rows, fit.rows.term
        w, Vw = _steps(rows)
        z = rows.shaped(rows.z.reshape(w.shape) + Vw)
        judged = self.outer.at(term.y, z)
        slope = term.weights[:, None] * judged.slope.reshape(w.shape)
        C, V = rows.C, rows.V
        turned = solve_rows(_identity(C) - V @ C, _times(V, slope))
        by_w = slope + _times(C, turned)
        by_V = by_w[:, :, None] * w[:, None, :]
        by_V = 0.5 * (by_V + by_V.transpose(0, 2, 1))
        by_z = rows.shaped(by_w + rows.third(turned, Vw))
        each = term.weights * judged.value
        size = abs(float(each.sum())) + float(np.sum(np.abs(by_V * V)))
        by_x = term.backward(by_z)[None]
        return Partials(float(each.sum()), by_x, each, by_V, size=size)

    def predictions(self, fit: Fit) -> Array:
        """z̃, as the loss takes it."""
        _, Vw = _steps(fit.rows)
        return fit.rows.shaped(fit.rows.z.reshape(Vw.shape) + Vw)


def _steps(rows: RowsAtFit) -> tuple[Array, Array]:
    """w and Vw of every row, (n, outputs)."""
    w = solve_rows(_identity(rows.C) - rows.C @ rows.V, rows.slope)
    return w, _times(rows.V, w)


@dataclass(frozen=True, eq=False)
class Analytic(Risk):
    """F(D, df) of the deviance D = u Σᵢ s̃ᵢ(loss − least loss) and df = Σᵢ tr(CᵢVᵢ).

    s̃ are the weights with mean 1 over the `n` rows that count, `weight` their sum as they are,
    `observed` is n, or n times the number of targets; u is 2, so that D is the sum of squares for
    ½ squares; `least` = Σ s̃ times the least loss that any z has.
    """

    n: int
    observed: int
    weight: float
    least: float = 0.0
    unit: float = 2.0

    of_folds = False
    sees_hessian = True

    @abstractmethod
    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        """F, ∂F/∂D and ∂F/∂df."""

    def second(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        """∂²F/∂D², ∂²F/∂D∂df and ∂²F/∂df²."""
        return 0.0, 0.0, 0.0

    @property
    def _share(self) -> float:
        return self.unit * self.n / self.weight

    def deviance(self, loss: float) -> float:
        return self._share * loss - self.unit * self.least

    def at(self, fit: Fit) -> Partials:
        value, by_D, by_df = self.of(self.deviance(fit.loss), fit.degrees)
        size = 2 * abs(value) + abs(by_df * fit.degrees)
        return Partials(value, by_D * self._share * fit.sums.gradient, by_degrees=by_df, size=size)

    def has_hessian(self, constant: bool) -> bool:
        return constant

    def hessian(self, fit: Fit, Q: Array, p: Array) -> Array:
        loss, df = fit.loss_expansion(), fit.degrees_expansion()
        dD, D = self._share * loss.grad, self.deviance(loss.value)
        _, by_D, by_df = self.of(D, df.value)
        DD, D_df, df_df = self.second(D, df.value)
        both = np.outer(dD, df.grad)
        total = by_D * self._share * loss.hessian + by_df * df.hessian + D_df * (both + both.T)
        return np.asarray(total + DD * np.outer(dD, dD) + df_df * np.outer(df.grad, df.grad))

    def profile(self, fit: Fit, places: Array) -> Array | None:
        """Exact for squares; for other losses not offered."""
        if not fit.constant_hessian:
            return None
        found = np.full(places.shape, np.nan)
        for j, asked, axis, c in axes(fit, places):
            moved = axis.changes(fit.penalty, c)
            pairs = zip(fit.loss + moved.loss, fit.degrees + moved.degrees, strict=True)
            found[j, asked] = [self.of(self.deviance(L), df)[0] for L, df in pairs]
        return found


@dataclass(frozen=True, eq=False)
class Gcv(Analytic):
    """scale · D/(1 − df/n)²: generalised cross-validation, in the units of held-out losses."""

    scale: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        gap = 1.0 - degrees / self.observed
        by_D = self.scale / gap**2
        value = by_D * deviance
        return value, by_D, 2.0 * value / gap / self.observed

    def second(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        gap = 1.0 - degrees / self.observed
        by_D = self.scale / gap**2
        twice = 2.0 * by_D / gap / self.observed
        return 0.0, twice, 3.0 * twice * deviance / gap / self.observed


@dataclass(frozen=True, eq=False)
class Information(Analytic):
    """D/φ + price · df: Akaike's criterion for a price of 2, Schwarz's for log n."""

    price: float = 2.0
    dispersion: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return deviance / self.dispersion + self.price * degrees, 1.0 / self.dispersion, self.price


@dataclass(frozen=True, eq=False)
class InformationOfSquares(Analytic):
    """exp(c/n) for c = n log(D/n) + price · df: the same for squares whose noise is not known.

    It is positive, and in the units of squares, so that a share of it is n times as much of c.
    """

    price: float = 2.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        by_D = float(np.exp(self.price * degrees / self.observed)) / self.observed
        value = by_D * deviance
        return value, by_D, value * self.price / self.observed

    def second(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        _, by_D, by_df = self.of(deviance, degrees)
        return 0.0, by_D * self.price / self.observed, by_df * self.price / self.observed


@dataclass(frozen=True, eq=False)
class Cp(Analytic):
    """D + 2σ²df: Mallows' Cp, or Stein's unbiased estimate of the risk, + nσ².

    The expected squared error on new observations of the same rows.
    """

    noise: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return deviance + 2.0 * self.noise * degrees, 1.0, 2.0 * self.noise


def _identity(C: Array) -> Array:
    return np.eye(C.shape[1])


def _times(M: Array, v: Array) -> Array:
    return np.asarray(np.einsum("iab,ib->ia", M, v))
