"""A stop under two ranks with real PyTorch and gloo: every process ends within 20 s, job and batch end as stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc

PACKAGE = str(Path(svc.__file__).resolve().parents[1])
LIMIT_S = 20
"""From pressing stop until the last rank is gone, with the poll of 10 s that is the default."""
LAUNCHER_LIMIT_S = 60
"""Until the launcher is gone, too."""

NOTE_RANK = """
import os, torch
torch.set_num_threads(1)
import svc_reporter as svc
rank = int(os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or 0)
open(f"rank-{rank}.pid", "w").write(str(os.getpid()))
"""

DDP = (
    NOTE_RANK
    + """
import sys, time, torch.distributed as distributed
stuck_rank, agrees = int(sys.argv[1]), sys.argv[2] == "agree"
distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
run = svc.Reporter("frameworks", resources_s=0)
job = run.job("fit")
job.begin()
for step in range(1_000_000):
    model(torch.ones(4, 3)).sum().backward()
    job.epoch(step, train_loss=1.0)
    if agrees:
        run.check_stop()
    if step == 3 and rank == stuck_rank:
        distributed.recv(torch.zeros(1), src=1 - rank)
    time.sleep(0.1)
"""
)

LIGHTNING = (
    NOTE_RANK
    + """
import lightning.pytorch as lightning
from torch.utils.data import DataLoader, TensorDataset
from svc_reporter.integrations.lightning import SvcCallback

class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, index):
        loss = (self.layer(batch[0]) - batch[1]).pow(2).mean()
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

run = svc.Reporter("frameworks", resources_s=0)
x = torch.rand(12, 3)
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1_000_000, log_every_n_steps=1,
    enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, logger=False,
    callbacks=[SvcCallback(run)])
trainer.fit(Line(), DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=2))
run.close()
"""
)

ACCELERATE = (
    NOTE_RANK
    + """
import time, accelerate
from svc_reporter.integrations.accelerate import SvcTracker
run = svc.Reporter("frameworks", resources_s=0)
accelerator = accelerate.Accelerator(cpu=True, log_with=SvcTracker(run, job_id="fit"))
accelerator.init_trackers("ignored")
model = accelerator.prepare(torch.nn.Linear(3, 1))
for step in range(1_000_000):
    accelerator.backward(model(torch.ones(4, 3)).sum())
    accelerator.log({"train_loss": 1.0}, step=step)
    time.sleep(0.1)
"""
)

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"]


@pytest.mark.parametrize(
    ("script", "command"),
    [
        pytest.param(DDP, [*TORCHRUN, "-1", "alone"], id="torchrun, a loop that only reports"),
        pytest.param(DDP, [*TORCHRUN, "-1", "agree"], id="torchrun, a loop that agrees on a stop"),
        pytest.param(DDP, [*TORCHRUN, "0", "alone"], id="torchrun, the first rank in a collective that never ends"),
        pytest.param(DDP, [*TORCHRUN, "1", "alone"], id="torchrun, the second rank in a collective that never ends"),
        pytest.param(LIGHTNING, ["train.py"], id="Lightning, ranks of its own making"),
        pytest.param(ACCELERATE, TORCHRUN, id="Accelerate under torchrun"),
    ],
)
def test_a_stop_ends_every_rank_within_20_seconds(
    make: Callable[..., svc.Reporter],
    service: Any,
    stored: Any,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    command: list[str],
) -> None:
    make()
    monkeypatch.setenv("PYTHONPATH", PACKAGE)  # the launchers' children run in this folder, not in that of the tests
    Path("train.py").write_text(script)
    before = _batches(service)
    with open("output.txt", "wb") as output:
        training = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + 120
        while not (made := _batches(service) - before) or not stored(next(iter(made))).curve("fit", "train_loss"):
            assert time.monotonic() < deadline, _said()
            assert training.poll() is None, _said()
            time.sleep(0.3)
        (batch_id,) = made
        batch = stored(batch_id)
        ranks = [_pid(0), _pid(1)]
        service.call("POST", f"/api/batches/{batch_id}/stop", {})
        begun = time.monotonic()
        while training.poll() is None or any(_is_there(pid) for pid in ranks):
            # The launcher is no rank: it notices the end of its ranks and tidies up in its own time.
            limit_s = LIMIT_S if any(_is_there(pid) for pid in ranks) else LAUNCHER_LIMIT_S
            assert time.monotonic() - begun < limit_s, [training.poll(), *map(_is_there, ranks), _said()]
            time.sleep(0.1)
        batch.wait(lambda b: b.status != "running")
        assert (batch.status, batch.jobs["fit"]["status"]) == ("stopped", "stopped"), _said()
    finally:
        # A launcher gives each rank a session of its own, and killed it leaves them behind.
        training.kill()
        training.wait(10)
        for rank in (0, 1):
            with suppress(OSError, ValueError):
                os.kill(_pid(rank), signal.SIGKILL)


def _batches(service: Any) -> set[str]:
    return {batch["id"] for batch in service.call("GET", "/api/batches?limit=500")["items"]}


def _said() -> str:
    return Path("output.txt").read_text("utf-8", "replace")[-3000:]


def _pid(rank: int) -> int:
    return int(Path(f"rank-{rank}.pid").read_text())


def _is_there(pid: int) -> bool:
    """Running, or stopped; one that ended and was not waited for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
