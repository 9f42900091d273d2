"""Hydra and Ray: what starts trainings in other processes, or many of them in one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune

import svc_reporter as svc

Make = Callable[..., svc.Reporter]

TRAIN = """
import hydra
from omegaconf import DictConfig
from svc_reporter.integrations.hydra import current_job

@hydra.main(version_base=None, config_path=".", config_name="config")
def train(config: DictConfig) -> float:
    for epoch in range(3):
        current_job().epoch(epoch, val_loss=config.model.lr / (epoch + 1))
    if config.fail:
        raise RuntimeError("the loss is NaN")
    return config.model.lr

train()
"""
CONFIG = "model:\n  lr: 0.1\n  width: ???\nfail: false\ncopy_of_lr: ${model.lr}\n"
CALLBACK = (
    "+hydra.callbacks.svc._target_=svc_reporter.integrations.hydra.SvcCallback",
    "+hydra.callbacks.svc.project=frameworks",
    "+hydra.callbacks.svc.resources_s=0",
)


def _run_hydra(service: Any, *arguments: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Runs the script; returns how it ended and the id of the one batch that it made."""
    Path("train.py").write_text(TRAIN)
    Path("config.yaml").write_text(CONFIG)
    before = {b["id"] for b in service.call("GET", "/api/batches?limit=500")["items"]}
    command = [sys.executable, "train.py", *arguments, *CALLBACK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    made = [b["id"] for b in service.call("GET", "/api/batches?limit=500")["items"] if b["id"] not in before]
    assert len(made) == 1, done.stderr[-3000:]
    return done, made[0]


def test_a_hydra_run_is_a_batch_with_one_job_and_its_configuration(make: Make, service: Any, stored: Any) -> None:
    make()
    done, batch_id = _run_hydra(service, "model.lr=0.5")
    assert done.returncode == 0, done.stderr[-3000:]
    batch = stored(batch_id)
    [job] = batch.jobs.values()
    assert batch.status == job["status"] == "completed"
    assert job["params"] == {"model.lr": 0.5, "copy_of_lr": 0.5, "fail": False}
    assert job["metrics"]["return_value"] == 0.5
    assert batch.curve(job["id"], "val_loss") == [(0, 0.5), (1, 0.25), (2, pytest.approx(0.5 / 3))]


@pytest.mark.parametrize("launcher", [(), ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")])
def test_each_job_of_a_hydra_multirun_is_a_job_of_one_batch(
    make: Make, service: Any, stored: Any, launcher: tuple[str, ...]
) -> None:
    make()
    done, batch_id = _run_hydra(service, "-m", *launcher, "model.lr=0.1,0.01,0.001")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count(f"svc: run {batch_id}: ") == 1
    batch = stored(batch_id)
    assert batch.status == "completed"
    assert {name: job["metrics"]["return_value"] for name, job in batch.jobs.items()} == {
        "model.lr=0.1": 0.1,
        "model.lr=0.01": 0.01,
        "model.lr=0.001": 0.001,
    }


def test_a_hydra_job_that_raised_is_failed_with_the_exception(make: Make, service: Any, stored: Any) -> None:
    make()
    done, batch_id = _run_hydra(service, "fail=true")
    assert done.returncode == 1
    [job] = stored(batch_id).jobs.values()
    assert (job["status"], job["failure_reason"]) == ("failed", "RuntimeError: the loss is NaN")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 * 1024 * 1024,
        runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}},
    )
    yield
    ray.shutdown()


def test_a_reporter_handed_to_rays_workers_reports_from_there(make: Make, stored: Any, cluster: None) -> None:
    @ray.remote
    def train(run: svc.Reporter, number: int) -> int:
        with run.job(f"task{number}", number=number) as job:
            for epoch in range(5):
                job.epoch(epoch, loss=1 / (epoch + number + 1))
        run.flush(20)
        return os.getpid()

    with make(n_total=4) as run:
        workers = ray.get([train.remote(run, number) for number in range(4)], timeout=120)
    assert os.getpid() not in workers
    batch = stored(run.batch_id).wait(lambda b: len(b.jobs) == 4)
    assert {job["status"] for job in batch.jobs.values()} == {"completed"}
    assert batch.curve("task3", "loss") == [(epoch, pytest.approx(1 / (epoch + 4))) for epoch in range(5)]
    assert batch.status == "completed"


def test_trials_of_ray_tune_add_their_jobs_to_the_run(make: Make, stored: Any, cluster: None) -> None:
    def train(config: dict[str, float], batch_id: str, url: str, token: str) -> None:
        name = f"lr{config['lr']}"
        quiet: dict[str, Any] = {"resources_s": 0, "environment": False, "quiet": True}
        with svc.init("other", name=name, batch_id=batch_id, config=config, url=url, token=token, **quiet) as run:
            for step in range(3):
                run.log({"loss": config["lr"] / (step + 1)})
                tune.report({"loss": config["lr"] / (step + 1)})

    with make(n_total=2) as run:
        target = {"url": os.environ["SVC_URL"], "token": os.environ["SVC_TOKEN"]}
        trainable = tune.with_parameters(train, batch_id=run.batch_id, **target)
        results = tune.Tuner(trainable, param_space={"lr": tune.grid_search([0.1, 0.2])}).fit()
    assert results.get_best_result("loss", "min").config == {"lr": 0.1}
    batch = stored(run.batch_id)
    assert batch.status == "completed"
    assert sorted(job["params"]["lr"] for job in batch.jobs.values()) == [0.1, 0.2]
    assert {job["status"] for job in batch.jobs.values()} == {"completed"}
    assert sorted(batch.curve(name, "loss")[-1][1] for name in batch.jobs) == pytest.approx([0.1 / 3, 0.2 / 3])


def test_an_actor_of_ray_reports_under_the_batch_id_that_it_was_given(make: Make, stored: Any, cluster: None) -> None:
    @ray.remote
    class Trainer:
        def __init__(self, url: str, token: str, batch_id: str) -> None:
            self.run = svc.Reporter("frameworks", batch_id=batch_id, url=url, token=token, resources_s=0, stop_poll_s=0)

        def train(self) -> None:
            with self.run.job("actor") as job:
                job.epoch(0, loss=0.5)
            self.run.close()

    with make() as run:
        actor = Trainer.remote(os.environ["SVC_URL"], os.environ["SVC_TOKEN"], run.batch_id)
        ray.get(actor.train.remote(), timeout=120)
        run.log("the owner goes on")
    batch = stored(run.batch_id).wait(lambda b: "actor" in b.jobs)
    assert batch.jobs["actor"]["status"] == "completed"
    assert batch.curve("actor", "loss") == [(0, 0.5)]
    assert batch.status == "completed"
