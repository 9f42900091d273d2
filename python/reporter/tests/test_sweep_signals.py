"""Workers of a sweep that are ended from outside: an eviction gives the trial back, a stop and Ctrl-C do not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._sweeps.sweep import Sweep

from .kit.real_server import ROOT, RealServer
from .test_sweeps import PROJECT, definition, service, train

__all__ = ["service"]
_WORKER = """
import os, sys, time
import svc_reporter as svc
svc.ask(sys.argv[1])
run = svc.init(quiet=True, console=False, environment=False)
run.log({"loss": 1.0}, step=0)
run.reporter.flush(10)
print("ready", flush=True)
time.sleep(60)
"""


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def states(sweep: Sweep) -> list[str]:
    return [one["state"] for one in sweep.trials()]


def started(arguments: list[str], **more: Any) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(arguments, stdout=subprocess.PIPE, **more)
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == b"ready"
    return worker


def ended(worker: subprocess.Popen[bytes]) -> int:
    worker.communicate(timeout=60)
    return worker.returncode


def test_an_evicted_worker_gives_its_trial_back(service: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    sweep = svc.sweep(definition(max_trials=1), project=PROJECT)
    worker = started([sys.executable, "-c", _WORKER, sweep.id])
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == -signal.SIGTERM
    assert states(sweep) == ["lost"]
    batch = service.call("GET", f"/api/batches/{sweep.batch_id}")
    assert (batch["status"], batch["n_failed"]) == ("running", 0)
    svc.agent(sweep.id, train)
    assert [(one["state"], one["handed_out"]) for one in sweep.trials()] == [("completed", 2)]
    assert sweep.refresh().document["state"] == "finished"


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_stop_and_an_interrupt_end_the_trial(
    service: RealServer, monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    sweep = svc.sweep(definition(max_trials=1), project=PROJECT)
    worker = started([sys.executable, "-c", _WORKER, sweep.id])
    if is_stopped:
        service.call("POST", f"/api/batches/{sweep.batch_id}/stop")
    worker.send_signal(signal.SIGTERM if is_stopped else signal.SIGINT)
    ended(worker)
    assert states(sweep) == ["stopped" if is_stopped else "failed"]


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_evicted_command_of_a_worker_is_given_back(
    service: RealServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrapped: bool
) -> None:
    """`wrapped` in a shell, which turns the signal into a status, and where the command has no reporter."""
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    sweep = svc.sweep(definition(max_trials=1), project=PROJECT)
    program = "import time; print('ready', flush=True); time.sleep(60)"
    shell = """trap 'kill $!; wait; exit 1' TERM; "$0" -c "$1" & wait $!"""
    command = ["bash", "-c", shell, sys.executable, program] if wrapped else [sys.executable, "-c", program]
    worker = started([sys.executable, "-m", "svc_reporter", "sweep", "run", sweep.id, "--", *command])
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 143
    assert states(sweep) == ["lost"]


_FAKE_SLURM = {
    "sbatch": """
        for line in "$(grep -o 'array=.*' "$1")"; do range=${line#array=}; done
        echo "$@" > "$FAKE/job"
        for task in $(seq "${range%-*}" "${range#*-}"); do
            SLURM_ARRAY_JOB_ID=40 SLURM_ARRAY_TASK_ID=$task "$FAKE/task" "$@"
        done
        """,
    "task": """
        SLURM_JOB_ID=$((100 + SLURM_ARRAY_TASK_ID)) setsid bash "$@" > /dev/null 2>> "$FAKE/log" &
        echo $! >> "$FAKE/tasks"
        """,
    # As Slurm: a step that a signal ended has the status of a shell.
    "srun": """
        "$@" &
        echo $! >> "$FAKE/steps"
        wait $!
        """,
    "scontrol": """
        [ "$1" = requeue ] || exit 1
        export SLURM_ARRAY_JOB_ID=${2%_*} SLURM_ARRAY_TASK_ID=${2#*_} SLURM_RESTART_COUNT=1
        echo "$2" >> "$FAKE/requeued"
        "$FAKE/task" $(cat "$FAKE/job")
        """,
}
_TRIAL = """
import os, time
import svc_reporter as svc
with svc.init(quiet=True, console=False, environment=False) as run:
    run.log({"val_loss": run.config.lr}, step=0)
    run.reporter.flush(10)
    while os.path.exists(os.environ["FAKE"] + "/hold"):
        time.sleep(0.05)
"""


@pytest.mark.slow
def test_the_guides_array_is_requeued_at_its_time_limit(
    service: RealServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    guide = (ROOT / "docs" / "guides" / "slurm.md").read_text("utf-8")
    found = re.search(r"```sh file=sweep.sbatch\n(.*?)```", guide, re.DOTALL)
    assert found is not None
    fake = tmp_path / "fake"
    fake.mkdir()
    for name, script in _FAKE_SLURM.items():
        (fake / name).write_text(f"#!/bin/bash\n{script}")
        (fake / name).chmod(0o700)
    for name, script in (("svc-reporter", "-m svc_reporter"), ("python", "")):
        (fake / name).write_text(f'#!/bin/bash\nexec {sys.executable} {script} "$@"\n')
        (fake / name).chmod(0o700)
    (fake / "hold").touch()
    (tmp_path / "sweep.sbatch").write_text(found[1])
    (tmp_path / "trial.py").write_text(_TRIAL)
    monkeypatch.setenv("FAKE", str(fake))
    monkeypatch.setenv("PYTHONPATH", str(Path(svc.__file__).parents[1]))
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    (Path.home() / ".config" / "svc").mkdir(parents=True)
    (Path.home() / ".config" / "svc" / "token").write_text(os.environ["SVC_TOKEN"])
    space = {"lr": {"values": [0.1, 0.01]}, "depth": {"values": [2, 4]}}
    metric = {"name": "val_loss", "goal": "minimize"}
    sweep = svc.sweep(definition(parameters=space, metric=metric), project=PROJECT)

    def pids(name: str) -> list[int]:
        return [int(line) for line in (fake / name).read_text().split()] if (fake / name).exists() else []

    try:
        subprocess.run(["sbatch", "sweep.sbatch", sweep.id], cwd=tmp_path, check=True, timeout=60)
        reported = f"/api/batches/{sweep.batch_id}/jobs"
        until(lambda: len(service.call("GET", reported)["items"]) == 3, "three tasks work on a trial each")
        until(lambda: len(pids("steps")) == 3 and states(sweep) == ["running"] * 3, "three steps run")
        for step in pids("steps"):
            os.kill(step, signal.SIGTERM)
        requeued = fake / "requeued"
        until(lambda: requeued.exists() and len(requeued.read_text().split()) == 3, "the tasks are requeued")
        (fake / "hold").unlink()
        until(lambda: sweep.refresh().document["state"] == "finished", "the requeued tasks complete the grid")
    finally:
        (fake / "hold").unlink(missing_ok=True)
        for task in pids("tasks"):
            until(lambda task=task: not Path(f"/proc/{task}").exists(), "the tasks end")  # type: ignore[misc]
    trials = sweep.trials()
    assert [(one["number"], one["state"], one["failure_reason"]) for one in trials] == [
        (n, "completed", None) for n in range(4)
    ]
    assert sum(one["handed_out"] for one in trials) == 4 + 3
    assert sorted(requeued.read_text().split()) == ["40_0", "40_1", "40_2"]
    assert {str(one["worker"]).split(" ", 1)[1] for one in trials} <= {f"slurm 40_{n}" for n in range(3)}
