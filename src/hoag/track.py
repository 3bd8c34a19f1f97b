"""Every step of a search in other people's dashboards while it runs: Optuna's and MLflow's.

>>> import hoag, optuna
>>> from sklearn.datasets import load_diabetes
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study()  # or with storage="sqlite:///runs.db", which dashboards open
>>> model = hoag.RidgeCV(cv=5, callback=hoag.track.optuna_study(study))
>>> model = model.fit(*load_diabetes(return_X_y=True))
>>> len(study.trials) == model.n_iter_
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hoag._core.errors import InvalidParameterError, MissingPackageError
from hoag._core.result import Result, Step

__all__ = ["add_trials", "log_result", "mlflow_run", "optuna_study"]

# Called with every Step; returning True stops the search.
Told = Callable[[Step], bool | None]


def optuna_study(
    study: Any,
    names: Sequence[str] = (),
    bounds: tuple[float, float] = (-1000.0, 1000.0),
    then: Told | None = None,
) -> Told:
    """A callback that adds every step to an Optuna study, as a finished trial.

    A trial has λ as its parameters, the loss as its value, and f_error, passes and seconds as user
    attributes. A step that the study has already is left out, so that a search that goes on from a
    checkpoint adds what is new.

    Parameters
    ----------
    study : optuna.Study
        As optuna.create_study made it, to be minimised; its storage is what dashboards open.
    names : sequence of str, default=()
        Of the hyperparameters; () is lam_0, lam_1, …, or those of the user's own problem.
    bounds : (float, float), default=(-1000, 1000)
        Of every λ, for Optuna, which draws its pictures between them.
    then : callable, default=None
        Another callback, which may stop the search.

    Returns
    -------
    callable
        For `callback` of `hoag.minimize` and of the estimators.

    Raises
    ------
    InvalidParameterError
        Where the study is not to be minimised.

    Examples
    --------
    >>> import hoag, optuna
    >>> from sklearn.datasets import load_diabetes
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> study = optuna.create_study()
    >>> result = hoag.minimize(folds, callback=hoag.track.optuna_study(study, ["log alpha"]))
    >>> list(study.best_params)
    ['log alpha']
    """
    _check_minimised(study)
    known: set[tuple[Any, ...]] = set()

    def tell(step: Step) -> bool | None:
        if not known:
            known.update(_told(trial) for trial in study.trials)
        trial = _trial(step, _named(step, names), bounds)
        if _told(trial) not in known:
            study.add_trial(trial)
            known.add(_told(trial))
        return None if then is None else then(step)

    return tell


def add_trials(
    study: Any,
    result: Result,
    names: Sequence[str] = (),
    bounds: tuple[float, float] = (-1000.0, 1000.0),
) -> None:
    """Add the whole trace of a result to an Optuna study, one finished trial for each step.

    Parameters
    ----------
    study : optuna.Study
        As optuna.create_study made it, to be minimised.
    result : Result
        What `hoag.minimize` returned, or `result_` of an estimator.
    names : sequence of str, default=()
        Of the hyperparameters; () is the result's, where it has some.
    bounds : (float, float), default=(-1000, 1000)
        Of every λ, for Optuna, which draws its pictures between them.

    Raises
    ------
    InvalidParameterError
        Where the study is not to be minimised.

    Examples
    --------
    >>> import hoag, optuna
    >>> from sklearn.datasets import load_diabetes
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds, search=hoag.optimize.Grid(5))
    >>> study = optuna.create_study()
    >>> hoag.track.add_trials(study, result)
    >>> len(study.trials), study.best_params
    (5, {'lam_0': 0.0})
    """
    _check_minimised(study)
    names = names or result.names
    trials = [_trial(step, _named(step, names), bounds) for step in result.trace]
    known = {_told(trial) for trial in study.trials}
    study.add_trials([trial for trial in trials if _told(trial) not in known])


def mlflow_run(names: Sequence[str] = (), then: Told | None = None) -> Told:
    """A callback that logs every step as metrics of the MLflow run that is active.

    The loss, every λ by its name, f_error, passes and seconds, with the number of the step. At the
    end `log_result` adds where the search ended.

    Parameters
    ----------
    names : sequence of str, default=()
        Of the hyperparameters; () is lam_0, lam_1, …, or those of the user's own problem.
    then : callable, default=None
        Another callback, which may stop the search.

    Returns
    -------
    callable
        For `callback` of `hoag.minimize` and of the estimators.

    Examples
    --------
    >>> import hoag
    >>> model = hoag.RidgeCV(callback=hoag.track.mlflow_run())  # doctest: +SKIP
    """
    mlflow = _mlflow()

    def tell(step: Step) -> bool | None:
        lam = _named(step, names)
        mlflow.log_metrics({"loss": step.evaluation.value} | lam | _measured(step), step=step.k)
        return None if then is None else then(step)

    return tell


def log_result(result: Result, names: Sequence[str] = ()) -> None:
    """Log where a search ended, as parameters and tags of the MLflow run that is active.

    Parameters
    ----------
    result : Result
        What `hoag.minimize` returned, or `result_` of an estimator.
    names : sequence of str, default=()
        Of the hyperparameters; () is the result's, where it has some.

    Examples
    --------
    >>> import hoag
    >>> hoag.track.log_result(model.result_)  # doctest: +SKIP
    """
    mlflow = _mlflow()
    best = Step(0, 0.0, result.evaluation, result.cost, result.seconds, layout=result.layout)
    mlflow.log_params(_named(best, names or result.names))
    mlflow.log_metric("best loss", result.value)
    mlflow.set_tags({"status": result.status.reason, "why": str(result.status)})


def _named(step: Step, names: Sequence[str]) -> dict[str, float]:
    """λ by name, flat and in the user's units."""
    lam, layout = step.evaluation.lam, step.layout
    if layout is not None:
        lam, names = np.asarray(layout.scales.to(lam)), names or layout.names
    if len(names) != lam.size or not all(names):
        if names and len(names) != lam.size:
            raise InvalidParameterError.of(
                "names", list(names), f"there are {lam.size} hyperparameters."
            )
        names = [f"lam_{j}" for j in range(lam.size)]
    return dict(zip(names, lam.tolist(), strict=True))


def _measured(step: Step) -> dict[str, float]:
    """What is known beside the loss; what is not finite is left out, which no dashboard reads."""
    found = step.evaluation
    told = {"f_error": found.f_error, "passes": step.cost.passes, "seconds": step.seconds}
    return {name: float(value) for name, value in told.items() if np.isfinite(value)}


def _trial(step: Step, lam: dict[str, float], bounds: tuple[float, float]) -> Any:
    optuna = _optuna()
    lower, upper = min(bounds[0], *lam.values()), max(bounds[1], *lam.values())
    within = optuna.distributions.FloatDistribution(lower, upper)
    value, states = float(step.evaluation.value), optuna.trial.TrialState
    good = bool(np.isfinite(value))
    return optuna.trial.create_trial(
        state=states.COMPLETE if good else states.FAIL,
        value=value if good else None,
        params=lam,
        distributions=dict.fromkeys(lam, within),
        user_attrs={"step": step.k, **_measured(step)},
    )


def _told(trial: Any) -> tuple[Any, ...]:
    """By what a step is known again in a study."""
    values: Iterable[Any] = trial.values or ()
    return trial.user_attrs.get("step"), tuple(sorted(trial.params.items())), tuple(values)


def _check_minimised(study: Any) -> None:
    if [direction.name for direction in study.directions] != ["MINIMIZE"]:
        raise InvalidParameterError(
            "The study is to be maximised, or has several values, and a search minimises one.\n"
            "Use optuna.create_study(direction='minimize').",
            "study",
        )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingPackageError.of("hoag.track.optuna", "Optuna", "optuna") from None
    return optuna


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError:
        raise MissingPackageError.of("hoag.track.mlflow", "MLflow", "mlflow-skinny") from None
    return mlflow
