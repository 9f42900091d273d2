"""Every integration with the run that `svc.init` began, which it finds by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import accelerate
import keras
import lightgbm
import lightning.pytorch as lightning
import optuna
import pytest
import torch
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import svc_reporter as svc
from svc_reporter.integrations.accelerate import SvcTracker
from svc_reporter.integrations.huggingface import SvcCallback as HuggingFace
from svc_reporter.integrations.keras import SvcCallback as Keras
from svc_reporter.integrations.lightgbm import SvcCallback as LightGbm
from svc_reporter.integrations.lightning import SvcCallback as Lightning
from svc_reporter.integrations.lightning import SvcLogger
from svc_reporter.integrations.optuna import SvcCallback as Optuna
from svc_reporter.integrations.sklearn import reporting
from svc_reporter.integrations.xgboost import SvcCallback as XgBoost

from .test_boosting import X, Y
from .test_deep_learning import _trainer


@pytest.fixture
def run(make: Callable[..., svc.Reporter]) -> Iterator[svc.Run]:
    quiet: dict[str, Any] = {"console": False, "environment": False, "quiet": True}
    with svc.init("frameworks", config={"note_of_run": "night"}, stop_poll_s=0, heartbeat_s=0, **quiet) as begun:
        yield begun


class _Line(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: Any, index: int) -> Any:
        loss = (self.layer(batch[0]) ** 2).mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def _lightning(folder: Path, **more: Any) -> None:
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 1)), batch_size=2)
    quiet: dict[str, Any] = {"enable_progress_bar": False, "enable_checkpointing": False, "accelerator": "cpu"}
    trainer = lightning.Trainer(max_epochs=2, log_every_n_steps=1, default_root_dir=folder, **quiet, **more)
    trainer.fit(_Line(), data)


def _with_lightning_callback(folder: Path) -> tuple[str, str]:
    _lightning(folder, callbacks=[Lightning()], logger=False)
    return "fit", "loss"


def _with_lightning_logger(folder: Path) -> tuple[str, str]:
    _lightning(folder, logger=SvcLogger())
    return "fit", "loss"


def _with_transformers(folder: Path) -> tuple[str, str]:
    _trainer(HuggingFace(), folder).train()
    return "train", "loss"


def _with_keras(_folder: Path) -> tuple[str, str]:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[Keras()])
    return "fit", "loss"


def _with_accelerate(_folder: Path) -> tuple[str, str]:
    accelerator = accelerate.Accelerator(log_with=SvcTracker(), cpu=True)
    accelerator.init_trackers("ignored", {"depth": 2})
    for step in range(3):
        accelerator.log({"loss": 1 / (step + 1)}, step=step)
    accelerator.end_training()
    return "train", "loss"


def _with_xgboost(_folder: Path) -> tuple[str, str]:
    data = xgboost.DMatrix(X, Y)
    parameters = {"objective": "binary:logistic", "nthread": 1}
    xgboost.train(parameters, data, 3, evals=[(data, "train")], callbacks=[XgBoost()], verbose_eval=False)
    return "boost", "train/logloss"


def _with_lightgbm(_folder: Path) -> tuple[str, str]:
    data = lightgbm.Dataset(X, Y)
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1}
    lightgbm.train(parameters, data, 3, valid_sets=[data], callbacks=[LightGbm()])
    return "boost", "training/binary_logloss"


def _with_optuna(_folder: Path) -> tuple[str, str]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        return x

    optuna.create_study().optimize(objective, n_trials=1, callbacks=[Optuna()])
    return "trial-0", "value"


TRAININGS = [
    _with_transformers,
    _with_lightning_callback,
    _with_lightning_logger,
    _with_keras,
    _with_accelerate,
    _with_xgboost,
    _with_lightgbm,
    _with_optuna,
]


@pytest.mark.parametrize("train", TRAININGS, ids=lambda train: train.__name__[6:])
def test_a_callback_without_arguments_reports_into_the_run_that_init_began(
    train: Callable[[Path], tuple[str, str]], run: svc.Run, stored: Any, tmp_path: Path
) -> None:
    job_id, key = train(tmp_path)
    run.finish()
    batch = stored(run.id)
    assert batch.status == "completed"
    assert list(batch.jobs) == [job_id]
    assert batch.jobs[job_id]["status"] == "completed"
    assert batch.curve(job_id, key)
    if train is not _with_optuna:  # a trial has parameters of its own
        assert batch.jobs[job_id]["params"]["note_of_run"] == "night"


def test_a_search_reports_into_the_run_that_init_began(run: svc.Run, stored: Any) -> None:
    with reporting():
        GridSearchCV(LogisticRegression(max_iter=50), {"C": [0.1, 1.0]}, cv=2, refit=False).fit(X, Y)
    run.finish()
    assert sorted(stored(run.id).jobs) == ["fit-0", "fit-1", "fit-2", "fit-3"]


def test_a_callback_takes_the_run_itself_and_its_copy_reports_into_it(run: svc.Run, stored: Any) -> None:
    data = xgboost.DMatrix(X, Y)
    callback = XgBoost(run)
    for one in (callback, copy.deepcopy(callback)):
        xgboost.train({"nthread": 1}, data, 2, evals=[(data, "train")], callbacks=[one], verbose_eval=False)
    run.log({"score": 1.0})
    run.finish()
    jobs = stored(run.id).jobs
    assert len(jobs) == 3
    assert {"boost", "main"} < set(jobs)
    assert all(job["params"]["note_of_run"] == "night" for job in jobs.values())


def test_a_callback_without_a_run_says_how_to_give_it_one() -> None:
    with pytest.raises(TypeError, match="call init before"):
        XgBoost()
