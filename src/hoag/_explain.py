"""`hoag.explain`: what computes the loss that is minimised, and why, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from hoag._core.errors import InvalidParameterError
from hoag._core.result import Cost, Result
from hoag._core.types import ArrayLike, MatrixLike, ProblemLike
from hoag._core.words import about, counted
from hoag._criteria.base import Criterion, Explanation
from hoag._criteria.select import plan
from hoag.gam._model import AdditiveModel
from hoag.linear_model._base import TunedEstimator


def explain(
    what: BaseEstimator | ProblemLike | Criterion | Sequence[ProblemLike | Criterion],
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> Explanation:
    """What computes the loss that is minimised, why, what it takes, and what comes after.

    Nothing is fitted.

    Parameters
    ----------
    what : estimator, Problem, sequence of Problem, or Criterion
        An estimator that is fitted says what its fit has used; one that is not needs the data.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The rows, as the estimator's `fit` takes them.
    y : array-like of shape (n_samples,), default=None
        The targets, as the estimator's `fit` takes them.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights, as the estimator's `fit` takes them.
    **params : dict
        Other arguments of the estimator's `fit`.

    Returns
    -------
    Explanation
        Its `str` has the sentences, its attributes `data`, `used`, `why`, `work`, `end` and `spent`
        each of them.

    Raises
    ------
    InvalidParameterError
        Where the estimator is none of hoag's, or data are given for what has its own.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> told = hoag.explain(hoag.LogisticRegressionCV(), X, y)
    >>> print(told.data)
    5 folds of 569 rows × 30 columns, 1 hyperparameter (C)
    >>> print(told.used)
    all folds together, by factors of the Hessian of each
    >>> "5 folds × 569 rows × 30² = 2.6e6 products" in told.why
    True
    """
    if isinstance(what, TunedEstimator):
        return _of_estimator(what, X, y, sample_weight, params)
    if isinstance(what, AdditiveModel):
        if X is not None or "model_" not in vars(what):
            raise InvalidParameterError(
                f"{type(what).__name__} makes its columns when it is fitted.\nFit it, and give it "
                "alone, hoag.explain(model).",
                "X",
            )
        return _of_estimator(what.model_, None, None, None, {})
    if isinstance(what, (BaseEstimator, type)):
        name = what.__name__ if isinstance(what, type) else type(what).__name__
        raise InvalidParameterError(
            f"{name} is no estimator of hoag.\nGive an instance of one, or the problems "
            "themselves.",
            "what",
            what,
        )
    if X is not None or y is not None or sample_weight is not None or params:
        raise InvalidParameterError(
            "Problems and criteria have their data: X and y are for estimators.", "X"
        )
    criterion = plan(what)
    chosen = criterion.chosen
    if chosen is None:
        made = f"a criterion of the user's own, {type(criterion).__name__}"
        number = counted(criterion.lam0.size, "hyperparameter")
        chosen = Explanation(number, made, "It was given.")
    end = "The loss is computed once more, by its definition, at the λ that was found."
    return replace(chosen, end=end)


def _of_estimator(
    model: TunedEstimator, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
) -> Explanation:
    chosen, spent, name = None, "", type(model).__name__
    give = "give the data, hoag.explain(estimator, X, y)."
    if X is not None:
        chosen = model._chosen_for(X, y, sample_weight, params)
    elif "result_" in vars(model):
        chosen, spent = model._chosen, _spent(model.result_, vars(model).get("refit_cost_"))
    else:
        raise InvalidParameterError(f"This {name} is not fitted: {give}", "what")
    if chosen is None:
        raise InvalidParameterError(
            f"This {name} was fitted by an earlier version, which did not keep what it used: "
            f"{give}",
            "what",
        )
    return replace(chosen, data=f"{chosen.data} ({model._called})", end=_end(model), spent=spent)


def _end(model: TunedEstimator) -> str:
    """What follows the search."""
    called = model._called
    verified = f"The loss is computed once more, by its definition, at the {called} that was found"
    if model._closed_form():
        return f"{verified}; the fit there is that on all rows."
    if not model.refit:
        return f"{verified}; coefficients are the means of the folds' (refit=False)."
    return f"{verified}; then the model is fitted on all rows, from what the folds have found."


def _spent(result: Result, refit: Cost | None) -> str:
    """What a search took."""
    last = f" ({about(refit.passes)} of them for the last fit)" if refit else ""
    steps = counted(len(result.trace), "step")
    return f"{steps}, {result._cost(last)}, {result.seconds:.2g} seconds."
