"""`SvcSweeper` with the real Hydra, and torchrun with the real torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._sweeps.sweep import Sweep

_HYDRA = """
import hydra
import svc_reporter as svc

@hydra.main(version_base=None, config_path=None, config_name=None)
def train(config):
    loss = (config.lr - 0.1) ** 2 + config.model.depth
    if config.get("report", False):
        with svc.init(quiet=True, console=False) as run:
            assert run.config["model.depth"] == config.model.depth
            run.log({"loss": loss}, step=0)
    return loss

train()
"""


@pytest.fixture(autouse=True)
def project(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_URL", service.url)
    monkeypatch.setenv("SVC_TOKEN", service.token)
    if not any(one["slug"] == "frameworks" for one in service.call("GET", "/api/projects")["items"]):
        service.call("POST", "/api/projects", {"slug": "frameworks"})


def _run(script: Path, *words: str, **env: str) -> str:
    command = [sys.executable, str(script), *words]
    done = subprocess.run(
        command, cwd=script.parent, env={**os.environ, **env}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("report", ["true", "false"])
def test_hydra_works_on_a_sweep_of_the_service(tmp_path: Path, report: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(_HYDRA)
    sweeper = ["project=frameworks", "metric=loss", "n_trials=3", "n_jobs=2"]
    printed = _run(
        script,
        "-m",
        "hydra/sweeper=svc",
        *(f"hydra.sweeper.{word}" for word in sweeper),
        "+lr=tag(log, interval(1e-3, 1.0))",
        "+model.depth=choice(2, 4)",
        f"+report={report}",
    )
    sweep = Sweep.of(printed.split("svc: sweep ")[1].split(":")[0])
    assert sweep.document["parameters"]["lr"] == {"min": 0.001, "max": 1.0, "distribution": "log_uniform_values"}
    trials = sweep.trials()
    assert [one["state"] for one in trials] == ["completed"] * 3
    for one in trials:
        assert one["value"] == pytest.approx((one["params"]["lr"] - 0.1) ** 2 + one["params"]["model.depth"])


def test_all_ranks_of_torchrun_get_the_trial_of_rank_0(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    metric = {"name": "loss", "goal": "minimize"}
    definition = {"name": "ranks", "method": "grid", "metric": metric, "parameters": {"n": {"min": 0, "max": 2}}}
    sweep = svc.sweep(definition, project="frameworks")
    script = tmp_path / "ranks.py"
    script.write_text(
        "import sys, torch.distributed as dist, svc_reporter as svc\n"
        "dist.init_process_group('gloo')\n"
        "while (params := svc.ask(sys.argv[1])) is not None:\n"
        # One write: the ranks share a pipe, and torchrun makes their output unbuffered.
        "    sys.stdout.write(f'got {params.n}\\n')\n"
        "    with svc.init(quiet=True, console=False) as run:\n"
        "        run.log({'loss': float(params.n)}, step=0)\n"
        "dist.destroy_process_group()\n"
    )
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
        sweep.id,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("got")) == [
        f"got {n}" for n in range(3) for _ in range(2)
    ]
    assert [one["state"] for one in sweep.trials()] == ["completed"] * 3
