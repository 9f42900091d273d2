"""Ranks under torchrun with real PyTorch and gloo: rank 0 reports, and its log says why another one failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc

PYTHONPATH = ":".join(str(path) for path in (Path(svc.__file__).resolve().parents[1], Path(__file__).parents[1]))

TRAIN = """
import os, torch, transformers
import svc_reporter as svc
from svc_reporter.integrations.huggingface import SvcCallback
from tests_frameworks.test_deep_learning import _trainer

class Fails(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        if os.environ["RANK"] == "1" and state.global_step == 3:
            raise RuntimeError("shard 1 is corrupt")

torch.set_num_threads(1)
run = svc.init("frameworks", resources_s=0)
if os.environ["RANK"] == "0":
    open("run.txt", "w").write(run.id)
trainer = _trainer(SvcCallback(), "out")
trainer.add_callback(Fails())
trainer.train()
"""


def test_callbacks_work_on_every_rank_and_the_log_has_the_error_of_the_rank_that_failed(
    make: Callable[..., svc.Reporter], service: Any, stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    Path("train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert Path("run.txt").exists(), done.stderr[-3000:]
    batch = stored(Path("run.txt").read_text())
    assert (batch.status, batch.jobs["train"]["status"]) == ("failed", "failed"), done.stderr[-3000:]
    assert [step for step, _ in batch.curve("train", "loss")][:2] == [1, 2]
    first = service.call("GET", f"/api/batches/{batch.id}/log-lines?level=error")["items"][0]
    assert first["job_id"] == "train"
    assert first["line"].startswith("rank 1 on ")
    assert "failed: RuntimeError: shard 1 is corrupt\nTraceback" in first["line"]
