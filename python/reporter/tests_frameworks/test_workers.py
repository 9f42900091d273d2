"""Processes that PyTorch and joblib start: an `init` in the function of a worker reports, as its user expects."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc

PACKAGE = str(Path(svc.__file__).resolve().parents[1])

SPAWN = """
import torch, torch.distributed as distributed, torch.multiprocessing
import svc_reporter as svc

def train(rank, size):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method="file://RENDEZVOUS", rank=rank, world_size=size)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    run = svc.init("frameworks", resources_s=0, environment=False)
    for step in range(5):
        model(torch.ones(4, 3)).sum().backward()
        run.log({"loss": 1 / (step + 1)})
    run.finish()
    distributed.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, args=(2,), nprocs=2)
"""

JOBLIB = """
from joblib import Parallel, delayed
import svc_reporter as svc

def train(seed, batch_id):
    with svc.init("another", name=f"seed{seed}", batch_id=batch_id, resources_s=0, environment=False) as run:
        for step in range(5):
            run.log({"loss": seed / (step + 1)})

if __name__ == "__main__":
    run = svc.init("frameworks", n_total=3, resources_s=0, environment=False)
    print("three seeds, two at a time")
    Parallel(n_jobs=2)(delayed(train)(seed, run.id) for seed in range(3))
    run.finish()
"""


def _run(service: Any, program: str) -> str:
    """Runs the program; returns the id of the one batch that it made."""
    before = {batch["id"] for batch in service.call("GET", "/api/batches?limit=500")["items"]}
    Path("train.py").write_text(program.replace("RENDEZVOUS", str(Path("rendezvous").resolve())))
    done = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    after = {batch["id"] for batch in service.call("GET", "/api/batches?limit=500")["items"]}
    assert len(after - before) == 1, done.stderr[-3000:]
    return str(next(iter(after - before)))


@pytest.fixture(autouse=True)
def configured(make: Callable[..., svc.Reporter], monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setenv("PYTHONPATH", PACKAGE)


def test_the_first_rank_of_torchs_spawn_reports_one_run(service: Any, stored: Any) -> None:
    batch = stored(_run(service, SPAWN))
    assert batch.status == "completed"
    assert {name: job["status"] for name, job in batch.jobs.items()} == {"main": "completed"}
    assert batch.curve("main", "loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]


def test_workers_of_joblib_add_their_jobs_to_the_run_and_printed_lines_add_none(service: Any, stored: Any) -> None:
    batch = stored(_run(service, JOBLIB))
    assert batch.status == "completed"
    assert {name: job["status"] for name, job in batch.jobs.items()} == dict.fromkeys(
        ["seed0", "seed1", "seed2"], "completed"
    )
    assert batch.curve("seed2", "loss") == [(step, pytest.approx(2 / (step + 1))) for step in range(5)]
    shown = service.call("GET", f"/api/batches/{batch.id}")
    assert (shown["n_done"], shown["n_total"], shown["project"]) == (3, 3, "frameworks")
    lines = service.call("GET", f"/api/batches/{batch.id}/log-lines")["items"]
    assert "three seeds, two at a time" in [line["line"] for line in lines]
