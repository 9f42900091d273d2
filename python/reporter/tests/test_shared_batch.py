"""Several processes that `init` one batch: nothing is taken over without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest

Said = Callable[[], str]
QUIET: dict[str, Any] = {"environment": False, "console": False, "resources_s": 0, "stop_poll_s": 0}


def test_the_name_of_a_run_that_joins_a_batch_names_its_job(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: Said
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "array")
    for task in range(2):
        run = svc.init("vision", name=f"task {task}", url=server.url, token=server.token, **QUIET)
        run.log({"loss": 1})
        run.finish()
    assert [event["job_id"] for event in server.of("job_start")] == ["task 0", "task 1"]
    assert f"svc: job task 1 of run array: {server.url}/b/array" in capsys.readouterr().err
    assert said() == ""


def test_a_run_that_joins_a_batch_without_a_name_is_warned_that_it_reports_main(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "array")
    with svc.init("vision", url=server.url, token=server.token, **QUIET) as run:
        run.log({"loss": 1})
    assert [event["job_id"] for event in server.of("job_start")] == ["main"]
    assert "reports its job 'main'" in said()
    assert "name=" in said()


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("code", ["batch_project_mismatch", "project_exists", "quota_exceeded"])
def test_events_that_another_project_would_take_are_kept(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, spill: Path, said: Said, count: int, code: str
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "b")
    server.refuse_item = lambda _event: {"status": 409, "code": code, "detail": "of project vision"}
    with svc.Reporter("speech", url=server.url, token=server.token, resources_s=0, stop_poll_s=0) as run:
        with run.job("a") as job:
            for epoch in range(count):
                job.epoch(epoch, loss=1.0)
    assert run.delivery.dropped == 0
    assert run.delivery.rejected == run.delivery.produced > count
    assert len(list((spill / "rejected").iterdir())) == 1
    assert code in said()


HOLDS = """
import os, sys, svc_reporter as svc
run = svc.init("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", environment=False, stop_poll_s=0)
run.flush(10)
print("open", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_second_process_with_the_same_batch_id_is_warned_while_the_first_runs(
    server: FakeIngest, spill: Path, said: Said, killed: bool
) -> None:
    env = {**os.environ, "URL": server.url}
    first = subprocess.Popen(
        [sys.executable, "-c", HOLDS], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    try:
        while "open" not in (line := first.stdout.readline()):
            assert line, "the first process ended"
        if killed:
            first.kill()
            first.wait()
        for _ in range(2):  # a restart within one process is no other process
            svc.init("vision", batch_id="b", url=server.url, token=server.token, **QUIET).finish()
    finally:
        first.kill()
        first.communicate()
    assert (f"process {first.pid} of this machine still reports batch b" in said()) is not killed
