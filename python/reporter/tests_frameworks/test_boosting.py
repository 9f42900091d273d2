"""XGBoost, LightGBM, scikit-learn, Optuna and joblib."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import optuna
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

import svc_reporter as svc
from svc_reporter.integrations.lightgbm import SvcCallback as LightGbm
from svc_reporter.integrations.optuna import SvcCallback as Optuna
from svc_reporter.integrations.sklearn import log_model, reporting
from svc_reporter.integrations.xgboost import SvcCallback as XgBoost
from svc_reporter.query import Api

Make = Callable[..., svc.Reporter]
X, Y = load_digits(return_X_y=True)
X, Y = X[:400], (Y[:400] > 4).astype(int)


def test_xgboost_reports_its_parameters_curve_and_early_stop(make: Make, stored: Any) -> None:
    train, valid = xgboost.DMatrix(X[:300], Y[:300]), xgboost.DMatrix(X[300:], Y[300:])
    history: dict[str, Any] = {}
    with make() as run:
        model = xgboost.train(
            {"objective": "binary:logistic", "max_depth": 3, "eta": 0.9, "nthread": 1},
            train,
            60,
            evals=[(train, "train"), (valid, "valid")],
            evals_result=history,
            early_stopping_rounds=3,
            callbacks=[XgBoost(run)],
            verbose_eval=False,
        )
    job = stored(run.batch_id).jobs["boost"]
    assert job["status"] == "completed"
    assert job["params"]["max_depth"] == 3
    assert job["params"]["eta"] == pytest.approx(0.9)
    assert job["metrics"]["best_iteration"] == model.best_iteration
    assert job["metrics"]["best_score"] == pytest.approx(model.best_score)
    assert [value for _, value in stored(run.batch_id).curve("boost", "valid/logloss")] == history["valid"]["logloss"]


def test_a_continued_xgboost_training_has_the_best_round_of_its_own_early_stopping_only(
    make: Make, stored: Any
) -> None:
    train, valid = xgboost.DMatrix(X[:300], Y[:300]), xgboost.DMatrix(X[300:], Y[300:])
    params = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.9, "nthread": 1}
    shared: dict[str, Any] = {"evals": [(valid, "valid")], "verbose_eval": False}
    earlier = xgboost.train(params, train, 60, early_stopping_rounds=3, **shared)
    with make() as run:
        plain = [XgBoost(run, job_id="plain")]
        xgboost.train({**params, "eta": 0.1}, train, 5, xgb_model=earlier, callbacks=plain, **shared)
        stopping = [XgBoost(run, job_id="stopping")]
        model = xgboost.train(
            params, train, 5, xgb_model=earlier, callbacks=stopping, early_stopping_rounds=2, **shared
        )
    jobs = stored(run.batch_id).jobs
    assert not {"best_iteration", "best_score"} & set(jobs["plain"]["metrics"])
    assert jobs["stopping"]["metrics"]["best_iteration"] == model.best_iteration > earlier.best_iteration
    assert jobs["stopping"]["metrics"]["best_score"] == pytest.approx(model.best_score)


def test_cross_validation_has_the_standard_deviations_too(make: Make, stored: Any) -> None:
    with make() as run:
        params = {"objective": "binary:logistic", "nthread": 1}
        x = xgboost.cv(params, xgboost.DMatrix(X, Y), 4, nfold=3, callbacks=[XgBoost(run, job_id="x")])
        light = {"objective": "binary", "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5}
        made = lightgbm.cv(light, lightgbm.Dataset(X, Y), 4, nfold=3, callbacks=[LightGbm(run, job_id="l")])
    batch = stored(run.batch_id)
    values = {key: [value for _, value in batch.curve("x", f"test/logloss{key}")] for key in ("", "-std")}
    assert values[""] == pytest.approx(list(x["test-logloss-mean"]))
    assert values["-std"] == pytest.approx(list(x["test-logloss-std"]))
    values = {key: [value for _, value in batch.curve("l", f"valid/binary_logloss{key}")] for key in ("", "-std")}
    assert values[""] == pytest.approx(made["valid binary_logloss-mean"])
    assert values["-std"] == pytest.approx(made["valid binary_logloss-stdv"])
    assert min(values["-std"]) > 0


def test_a_boosting_that_raised_is_failed_though_the_script_caught_it(make: Make, stored: Any) -> None:
    def boom(model: Any, data: Any) -> Any:
        raise RuntimeError("bad loss")

    data = xgboost.DMatrix(X, Y)
    light = lightgbm.Dataset(X, Y)

    class Boom(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            raise RuntimeError("bad round")

    def late(env: Any) -> None:
        if env.iteration == 2:
            raise RuntimeError("bad round")

    late.order = 40  # type: ignore[attr-defined]
    with make() as run:
        for call in (
            lambda: xgboost.train({"nthread": 1}, data, 5, callbacks=[XgBoost(run, job_id="x"), Boom()]),
            lambda: lightgbm.train(
                {"verbosity": -1}, light, 5, valid_sets=[light], callbacks=[LightGbm(run, job_id="l"), late]
            ),
        ):
            with pytest.raises(RuntimeError):
                call()
    jobs = stored(run.batch_id).jobs
    assert jobs["x"]["status"] == "failed"
    assert jobs["x"]["failure_reason"] == "ended without its end"
    assert jobs["l"]["status"] == "failed"
    assert jobs["l"]["failure_reason"] == "RuntimeError: bad round"


def test_lightgbm_reports_its_parameters_and_ends_its_job_with_the_early_stop(make: Make, stored: Any) -> None:
    train = lightgbm.Dataset(X[:300], Y[:300])
    valid = lightgbm.Dataset(X[300:], Y[300:], reference=train)
    history: dict[str, Any] = {}
    with make() as run:
        model = lightgbm.train(
            {"objective": "binary", "num_leaves": 4, "learning_rate": 0.9, "verbosity": -1, "num_threads": 1},
            train,
            200,
            valid_sets=[valid],
            valid_names=["valid"],
            callbacks=[LightGbm(run), lightgbm.early_stopping(3, verbose=False), lightgbm.record_evaluation(history)],
        )
        assert not run._jobs.open
    job = stored(run.batch_id).jobs["boost"]
    assert job["status"] == "completed"
    assert job["params"]["num_leaves"] == 4
    assert job["metrics"]["best_iteration"] + 1 == model.best_iteration
    curve = [value for _, value in stored(run.batch_id).curve("boost", "valid/binary_logloss")]
    assert curve == history["valid"]["binary_logloss"]


def test_boosters_and_fitted_models_are_kept_if_asked(make: Make, service: Any, tmp_path: Path) -> None:
    train, valid = xgboost.DMatrix(X[:300], Y[:300]), xgboost.DMatrix(X[300:], Y[300:])
    with make() as run:
        booster = xgboost.train(
            {"objective": "binary:logistic", "eta": 0.9, "nthread": 1},
            train,
            60,
            evals=[(valid, "valid")],
            early_stopping_rounds=3,
            callbacks=[XgBoost(run, job_id="xgb", log_model=True)],
            verbose_eval=False,
        )
        grown = lightgbm.train(
            {"objective": "binary", "learning_rate": 0.9, "num_threads": 1, "verbose": -1},
            lightgbm.Dataset(X[:300], Y[:300]),
            60,
            valid_sets=[lightgbm.Dataset(X[300:], Y[300:])],
            callbacks=[LightGbm(run, job_id="lgb", log_model=True), lightgbm.early_stopping(3, verbose=False)],
        )
        fitted = LogisticRegression(max_iter=500).fit(X, Y)
        log_model(fitted, run, name="digits", accuracy=0.9)
        assert run.files.wait(time.monotonic() + 60)
    api = Api(service.url, service.session)

    def downloaded(name: str) -> tuple[Any, Path]:
        artifact = api.artifact(f"frameworks/{name}:latest")
        return artifact, Path(artifact.download(tmp_path / name))

    found, folder = downloaded(f"model-{run.batch_id}-xgb")
    assert found.metadata["best_iteration"] == booster.best_iteration
    assert (xgboost.Booster(model_file=folder / "model.json").predict(valid) == booster.predict(valid)).all()
    found, folder = downloaded(f"model-{run.batch_id}-lgb")
    assert found.metadata["best_iteration"] == grown.best_iteration - 1
    loaded = lightgbm.Booster(model_file=str(folder / "model.txt"))
    assert loaded.predict(X[300:]) == pytest.approx(grown.predict(X[300:]))
    found, folder = downloaded("digits")
    assert found.metadata["parameters"]["max_iter"] == 500
    assert (joblib.load(folder / "model.joblib").predict(X) == fitted.predict(X)).all()


def test_a_fitted_model_with_its_callback_can_be_dumped_cloned_and_loaded(make: Make, tmp_path: Any) -> None:
    with make() as run:
        model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, callbacks=[XgBoost(run)])
        model.fit(X, Y)
        joblib.dump(model, tmp_path / "model.joblib")
        assert (joblib.load(tmp_path / "model.joblib").predict(X) == model.predict(X)).all()
        assert run.credential.encode() not in (tmp_path / "model.joblib").read_bytes()
        clone(model).fit(X, Y)
        pickle.loads(pickle.dumps(LightGbm(run)))
        copy.deepcopy(LightGbm(run))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_fit_of_a_grid_search_is_a_job_with_its_true_duration(make: Make, stored: Any, n_jobs: int) -> None:
    search = GridSearchCV(LogisticRegression(max_iter=50), {"C": [0.01, 1.0]}, cv=3, n_jobs=n_jobs)
    with make(n_total=6) as run:
        with reporting(run, job_id="grid"):
            search.fit(X, Y)
    found = stored(run.batch_id).wait(
        lambda batch: len(batch.jobs) == 6 and all(j["status"] == "completed" for j in batch.jobs.values())
    )
    jobs = [found.jobs[f"grid-{number}"] for number in range(6)]
    assert [job["params"]["C"] for job in jobs] == [0.01] * 3 + [1.0] * 3
    scores = [search.cv_results_[f"split{split}_test_score"][candidate] for candidate in (0, 1) for split in (0, 1, 2)]
    assert [job["metrics"]["test_score"] for job in jobs] == pytest.approx(scores)
    for job in jobs:
        assert job["elapsed_s"] >= job["metrics"]["fit_time"] * 0.9


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_line_that_the_script_of_a_search_prints_adds_no_job(make: Make, stored: Any, n_jobs: int) -> None:
    make()
    quiet: dict[str, Any] = {"environment": False, "quiet": True, "stop_poll_s": 0, "resources_s": 0}
    with svc.init("frameworks", n_total=2, **quiet) as run:
        print("a grid of two")
        with reporting(run, job_id="grid"):
            GridSearchCV(LogisticRegression(max_iter=50), {"C": [1.0]}, cv=2, n_jobs=n_jobs).fit(X, Y)
        print("done")
    found = stored(run.id).wait(lambda batch: len(batch.jobs) >= 2)
    assert sorted(found.jobs) == ["grid-0", "grid-1"]
    lines = found._service.call("GET", f"/api/batches/{run.id}/log-lines")["items"]
    assert [line["line"] for line in lines if line["line"] in ("a grid of two", "done")] == ["a grid of two", "done"]


def test_cross_validation_reports_each_fold_and_a_fold_that_raised_is_failed(make: Make, stored: Any) -> None:
    class Fragile(LogisticRegression):  # type: ignore[misc]
        def fit(self, x: Any, y: Any) -> Any:
            raise ValueError("no convergence")

    with make() as run, reporting(run):
        cross_validate(LogisticRegression(max_iter=50), X, Y, cv=2)
        with pytest.raises(ValueError, match="convergence"):
            cross_validate(Fragile(), X, Y, cv=2, error_score="raise")
    jobs = stored(run.batch_id).jobs
    assert [job["status"] for job in jobs.values()].count("completed") == 2
    assert jobs["fit-2"]["failure_reason"] == "ValueError: no convergence"


def test_optuna_trials_are_jobs_and_pruned_ones_are_told_apart(make: Make, stored: Any) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        trial.report(x / 2, 1)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise ValueError("diverged")
        return x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    with make(n_total=4) as run:
        study.optimize(objective, n_trials=4, callbacks=[Optuna(run)], catch=(ValueError,))
    batch = stored(run.batch_id)
    jobs = batch.jobs
    assert [jobs[f"trial-{n}"]["status"] for n in range(4)] == ["completed", "completed", "failed", "completed"]
    assert jobs["trial-1"]["pruned"] is True
    assert jobs["trial-0"]["metrics"]["value"] == study.trials[0].value
    assert jobs["trial-0"]["params"]["x"] == study.trials[0].params["x"]
    assert batch.curve("trial-3", "value") == sorted(study.trials[3].intermediate_values.items())


def test_a_pruned_trial_that_leaves_the_block_of_its_job_is_a_pruned_job(make: Make, stored: Any) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.RandomSampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=2)
    )
    with make(n_total=10) as run:

        def objective(trial: optuna.Trial) -> float:
            x = trial.suggest_float("x", 0, 1)
            with run.job(f"trial-{trial.number}", x=x) as job:
                for step in range(3):
                    job.epoch(step, value=x)
                    trial.report(x, step)
                    if trial.should_prune():
                        raise optuna.TrialPruned
            return x

        study.optimize(objective, n_trials=10)
    jobs = stored(run.batch_id).jobs
    pruned = [trial.number for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
    assert len(pruned) > 2
    assert [n for n in range(10) if jobs[f"trial-{n}"]["pruned"]] == pruned
    assert {job["status"] for job in jobs.values()} == {"completed"}


def _work(run: svc.Reporter, seed: int) -> int:
    with run.job(f"seed-{seed}", seed=seed) as job:
        job.epoch(0, train_loss=seed / 10)
    run.flush(5)
    return seed


def test_a_reporter_handed_to_joblib_reports_from_its_processes(make: Make, stored: Any) -> None:
    with make(n_total=4) as run:
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(_work)(run, seed) for seed in range(4)) == [0, 1, 2, 3]
    found = stored(run.batch_id).wait(
        lambda batch: len(batch.jobs) == 4 and all(j["status"] == "completed" for j in batch.jobs.values())
    )
    assert sorted(found.jobs) == [f"seed-{seed}" for seed in range(4)]
