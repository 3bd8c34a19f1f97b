"""Searches in Optuna's studies and MLflow's runs."""

from __future__ import annotations

import builtins
import warnings

import numpy as np
import pytest

import hoag
from hoag import models, track
from hoag.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(60, 3))
y = X @ [1.0, 0.0, 2.0] + np.random.default_rng(1).normal(size=60)


def folds(**options):
    return models.folds(models.ridge, X, y, cv=3, **options)


@pytest.fixture
def optuna():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def storages(optuna, kind, folder):
    if kind == "memory":
        return None
    if kind == "sqlite":
        return f"sqlite:///{folder}/runs.db"
    from optuna.storages.journal import JournalFileBackend

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optuna.storages.JournalStorage(JournalFileBackend(str(folder / "runs.log")))


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_every_step_is_a_trial_as_soon_as_it_is_taken(optuna, kind, tmp_path):
    study = optuna.create_study(storage=storages(optuna, kind, tmp_path), study_name="hoag")
    seen = []

    def then(step):
        seen.append(len(study.trials))
        return step.k == 4

    found = hoag.minimize(
        folds(penalties="per-feature"), search=hoag.optimize.Hoag(),
        callback=track.optuna_study(study, ["a", "b", "c"], then=then),
    )  # fmt: skip
    assert found.status.reason == "callback"  # one's own callback still stops
    assert seen == [1, 2, 3, 4]
    for step, trial in zip(found.trace, study.trials, strict=True):
        assert trial.value == step.evaluation.value
        assert list(trial.params.values()) == step.lam.tolist()
        assert list(trial.params) == ["a", "b", "c"]
        assert trial.user_attrs["passes"] == step.cost.passes
    assert study.best_value == min(step.evaluation.value for step in found.trace)
    assert len(optuna.search_space.intersection_search_space(study.trials)) == 3


def test_a_result_becomes_a_study_and_no_step_is_told_twice(optuna):
    found = hoag.minimize(folds(), search=hoag.optimize.Grid(5))
    study = optuna.create_study()
    track.add_trials(study, found)
    track.add_trials(study, found)
    assert [trial.params["lam_0"] for trial in study.trials] == [-12.0, -6.0, 0.0, 6.0, 12.0]


def test_a_search_that_goes_on_from_a_checkpoint_goes_on_in_its_study(optuna, tmp_path):
    study, path = optuna.create_study(), tmp_path / "run.ckpt"

    def fit(then):
        told = track.optuna_study(study, then=then)
        search = hoag.optimize.Hoag(max_iter=6)
        return hoag.minimize(folds(), search=search, callback=told, checkpoint=path)

    fit(lambda step: step.k == 3)
    assert len(study.trials) == 3
    whole = fit(None)
    assert len(study.trials) == len(whole.trace) > 3


def test_names_of_ones_own_problem_and_values_that_are_not_finite(optuna):
    problem = hoag.problem(
        h=lambda x, lam: 0.5 * np.sum((x - 2) ** 2) + 0.5 * lam[0] * x @ x,
        h_x=lambda x, lam: x - 2 + lam[0] * x,
        hessian=lambda x, lam: (1 + lam[0]) * np.eye(2),
        cross=lambda x, lam: x[:, None],
        g=lambda x, lam: np.sum((x - 1.0) ** 2),
        g_x=lambda x, lam: 2 * (x - 1.0),
        g_lam=lambda x, lam: np.zeros(1),
        x0=np.zeros(2),
        lam0=[1.0],
        scale="log",
    )
    study = optuna.create_study()
    found = hoag.minimize(problem, callback=track.optuna_study(study))
    [(_, best)] = study.best_params.items()
    assert best == pytest.approx(float(found.lam[0]), rel=0.1)  # in the user's units, no logarithm
    bad = hoag.optimize.Step(
        1,
        0.0,
        hoag.criteria.Evaluation(np.zeros(1), np.inf, np.zeros(1)),
        hoag.criteria.Cost(),
        0.0,
    )
    track.optuna_study(study)(bad)
    assert study.trials[-1].state.name == "FAIL"
    with pytest.raises(InvalidInputError, match="there are 1 hyperparameters"):
        track.optuna_study(study, ["a", "b"])(bad)
    with pytest.raises(InvalidInputError, match="direction='minimize'"):
        track.optuna_study(optuna.create_study(direction="maximize"))


def test_mlflow_shows_every_step_and_the_end(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        model = hoag.RidgeCV(cv=3, penalties="per-feature", callback=track.mlflow_run())
        model.fit(X, y)
        track.log_result(model.result_)
    client = mlflow.tracking.MlflowClient()
    losses = client.get_metric_history(run.info.run_id, "loss")
    assert [one.value for one in losses] == [s.evaluation.value for s in model.result_.trace]
    kept = client.get_run(run.info.run_id).data
    assert kept.tags["status"] == "converged"
    assert len(kept.params) == 3


@pytest.mark.parametrize(("package", "words"), [("mlflow", "mlflow-skinny"), ("optuna", "optuna")])
def test_what_is_missing_is_named(package, words, monkeypatch):
    imported = builtins.__import__

    def without(name, *arguments, **options):
        if name == package:
            raise ImportError(name)
        return imported(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=f"pip install {words}"):
        track.mlflow_run() if package == "mlflow" else track._optuna()
