"""The reporter against the real service, directly and through the fault proxy."""

from __future__ import annotations

import importlib
import math
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import svc_reporter as svc
from svc_reporter._cli import main
from svc_reporter.query import Api

from .conftest import spilled_in
from .kit import process
from .kit.fault_proxy import (
    CUT_ANSWER,
    DROP_ANSWER_AFTER_COMMIT,
    RESET_MID_BODY,
    Fault,
    FaultProxy,
    delay,
    status,
)
from .kit.real_server import RealServer
from .kit.wait import until

# Whole processes against the real service.
pytestmark = pytest.mark.slow

Read = Callable[..., Any]


@pytest.fixture
def bad_day(real_server: RealServer) -> Iterator[FaultProxy]:
    between = FaultProxy(real_server.url)
    yield between
    between.close()


@pytest.fixture
def project() -> str:
    return f"reporter-{secrets.token_hex(4)}"


@pytest.fixture
def run_of(real_server: RealServer, project: str) -> Callable[..., svc.Reporter]:
    def build(**arguments: Any) -> svc.Reporter:
        return svc.Reporter(project, **{"url": real_server.url, "token": real_server.token, **arguments})

    return build


@pytest.fixture
def read(real_server: RealServer) -> Read:
    """`read(batch_id, "/jobs")`: what the service says of a batch."""

    def get(batch_id: str, path: str = "") -> Any:
        return real_server.call("GET", f"/api/batches/{quote(batch_id, safe='')}{path}")

    return get


def test_a_sweep_arrives_whole(run_of: Callable[..., svc.Reporter], read: Read, project: str) -> None:
    with run_of(experiment_type="sweep", n_total=2, tags=["a"], config={"lr": 0.1}) as run:
        for seed in range(2):
            with run.job(f"seed{seed}", model="resnet18", dataset="cifar10", width=64) as job:
                for epoch in range(60):
                    loss = math.nan if epoch == 7 else 1 / (epoch + 1)
                    job.epoch(epoch, train_loss=loss, val_loss=2 * loss, acc=epoch / 60)
                job.log("done soon", level="warning")
                job.done(metrics={"acc": 0.9})
    assert run.delivery.accepted == run.delivery.produced
    batch = read(run.batch_id)
    assert batch["project"] == project
    assert batch["status"] == "completed"
    assert batch["n_done"] == 2
    assert batch["tags"] == ["a"]
    assert batch["env_snapshot"]["cwd"]
    jobs = read(run.batch_id, "/jobs")["items"]
    assert sorted((job["id"], job["status"], job["epochs"]) for job in jobs) == [
        ("seed0", "completed", 60),
        ("seed1", "completed", 60),
    ]
    assert jobs[0]["metrics"] == {"acc": 0.9}
    series = read(run.batch_id, "/metrics?keys=train_loss&jobs=seed0")["series"]
    assert series[0]["steps"] == list(range(60))
    assert series[0]["values"][7] == "NaN"
    lines = read(run.batch_id, "/log-lines?job_id=seed0")["items"]
    assert [line["line"] for line in lines] == ["done soon"]


@pytest.mark.parametrize(
    "fault",
    [
        RESET_MID_BODY,
        DROP_ANSWER_AFTER_COMMIT,
        CUT_ANSWER,
        delay(0.2),
        status(503),
        status(429, Retry_After="0"),
    ],
    ids=lambda fault: f"{fault.kind}{fault.status}",
)
@pytest.mark.parametrize("pending", [2, 90])
def test_faults_on_the_way_neither_lose_nor_double_an_epoch(
    run_of: Callable[..., svc.Reporter], read: Read, bad_day: FaultProxy, fault: Fault, pending: int
) -> None:
    with run_of(url=bad_day.url) as run:
        with run.job("a") as job:
            run.flush(10)
            bad_day.script.extend([fault, Fault(), fault])
            for epoch in range(pending):
                job.epoch(epoch, train_loss=1.0)
    assert run.delivery.complete
    assert read(run.batch_id, "/metrics?keys=train_loss")["series"][0]["steps"] == list(range(pending))
    assert read(run.batch_id)["status"] == "completed"


def test_a_batch_spilled_while_the_service_was_away_is_completed_by_the_next_process(
    run_of: Callable[..., svc.Reporter], read: Read, bad_day: FaultProxy, spill: Path
) -> None:
    with run_of(url=bad_day.url) as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            run.flush(10)
            bad_day.refuse()
            for epoch in range(1, 1500):
                job.epoch(epoch, train_loss=1.0)
    assert run.delivery.spilled > 1400
    assert read(run.batch_id)["status"] == "running"
    with run_of():
        pass
    assert read(run.batch_id)["status"] == "completed"
    assert read(run.batch_id, "/metrics?keys=train_loss")["series"][0]["steps"] == list(range(1500))
    assert spilled_in(spill) == []


def test_pressing_stop_ends_the_training_and_the_batch_is_stopped(
    run_of: Callable[..., svc.Reporter], read: Read, real_server: RealServer
) -> None:
    def train(run: svc.Reporter) -> None:
        with run, run.job("a") as job:
            for epoch in range(1_000_000):
                job.epoch(epoch, train_loss=1.0)
                if epoch == 5:
                    run.flush(10)
                    real_server.call("POST", f"/api/batches/{run.batch_id}/stop", {})
                if epoch > 5:
                    until(lambda: run.stop_requested)

    run = run_of(stop_poll_s=0.05)
    with pytest.raises(svc.StopRequested):
        train(run)
    assert read(run.batch_id)["status"] == "stopped"
    assert read(run.batch_id, "/jobs")["items"][0]["status"] in ("stopped", "failed")


def test_odd_batch_and_job_ids_survive_the_round_trip(run_of: Callable[..., svc.Reporter], read: Read) -> None:
    batch_id = f"ünï/😀 a,b {secrets.token_hex(3)}"
    with run_of(batch_id=batch_id, stop_poll_s=0.05) as run:
        with run.job("lr=1,wd=2/x") as job:
            job.epoch(0, train_loss=math.inf)
        assert run.flush(10)
    assert read(batch_id)["id"] == batch_id
    assert read(batch_id, "/jobs")["items"][0]["id"] == "lr=1,wd=2/x"


def test_resources_and_heartbeats_are_accepted(run_of: Callable[..., svc.Reporter], read: Read) -> None:
    with run_of(resources_s=0.05, heartbeat_s=0.05) as run:
        with run.job("a"):
            until(lambda: run.delivery.accepted > 8)
    assert run.delivery.dropped == 0
    lines = read(run.batch_id, "/log-lines?job_id=a")["items"]
    assert {line["line"] for line in lines} == {"heartbeat"}


def test_a_rerun_names_the_batch_that_it_repeats(
    run_of: Callable[..., svc.Reporter], read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_of() as first:
        pass
    monkeypatch.setenv("SVC_RERUN_OF", first.batch_id)
    monkeypatch.setenv("SVC_RERUN_JOBS", '["b"]')
    with run_of(n_total=2) as second:
        for name in ("a", "b"):
            with second.job(name):
                pass
    assert read(second.batch_id)["rerun_of"] == first.batch_id
    assert [job["id"] for job in read(second.batch_id, "/jobs")["items"]] == ["b"]


def test_a_killed_process_leaves_all_acknowledged_events(read: Read, real_server: RealServer, project: str) -> None:
    body = """
with svc.Reporter(os.environ["PROJECT"], batch_id=os.environ["BATCH"]) as run:
    with run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
        run.flush(20)
        os.kill(os.getpid(), signal.SIGKILL)
"""
    batch_id = f"killed-{secrets.token_hex(4)}"
    env = {"SVC_URL": real_server.url, "SVC_TOKEN": real_server.token, "PROJECT": project, "BATCH": batch_id}
    process.run(body, env, code=-9)
    assert read(batch_id)["status"] == "running"
    assert read(batch_id, "/metrics?keys=train_loss")["series"][0]["steps"] == list(range(100))


def test_a_bad_token_is_set_aside_and_sync_sends_it_later(
    run_of: Callable[..., svc.Reporter],
    read: Read,
    real_server: RealServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with run_of(token="em_live_00000000000000000000000000000000000000") as run:
        with run.job("a") as job:
            for epoch in range(40):
                job.epoch(epoch, train_loss=1.0)
    assert run.delivery.rejected == run.delivery.produced
    monkeypatch.setenv("SVC_URL", real_server.url)
    monkeypatch.setenv("SVC_TOKEN", real_server.token)
    assert main(["sync", "--rejected"]) == 0
    assert read(run.batch_id)["status"] == "completed"
    assert read(run.batch_id, "/delivery")["state"] == "complete"
    assert main(["doctor"]) == 0
    assert "FAULT" not in capsys.readouterr().out


def test_two_processes_with_one_batch_id_share_the_batch(
    run_of: Callable[..., svc.Reporter], read: Read, real_server: RealServer, project: str
) -> None:
    body = """
with svc.Reporter(os.environ["PROJECT"]) as run:
    with run.job(f"guest-{os.environ['N']}") as job:
        job.epoch(0, train_loss=1.0)
"""
    with run_of(n_total=2) as run:
        env = {**os.environ, "SVC_URL": real_server.url, "SVC_TOKEN": real_server.token, "PROJECT": project}
        guests = [process.script(body, {**env, "SVC_BATCH_ID": run.batch_id, "N": str(n)}) for n in range(2)]
        for guest in guests:
            _, err = guest.communicate(timeout=60)
            assert guest.returncode == 0, err
        assert read(run.batch_id)["status"] == "running"
    assert read(run.batch_id)["status"] == "completed"
    assert sorted(job["id"] for job in read(run.batch_id, "/jobs")["items"]) == ["guest-0", "guest-1"]


@pytest.mark.parametrize("frame", ["pandas", "polars", "table"])
def test_reported_data_is_read_back_completely(
    run_of: Callable[..., svc.Reporter], real_server: RealServer, project: str, frame: Any
) -> None:
    with run_of(n_total=2) as run:
        for name in ("a", "lr=1,wd=2"):
            with run.job(name, lr=0.5) as job:
                for epoch in range(700):
                    job.epoch(epoch, train_loss=math.nan if epoch == 5 else epoch, acc=epoch / 7)
                job.done({"acc": 100.0})
    api = Api(real_server.url, real_server.session or real_server.token)
    (batch,) = api.batches(project=project)
    assert batch["id"] == run.batch_id
    jobs = api.jobs_table(run.batch_id)
    assert sorted(jobs["job_id"]) == ["a", "lr=1,wd=2"]
    assert jobs["metric.acc"] == [100.0, 100.0]
    assert jobs["param.lr"] == [0.5, 0.5]
    assert len(api.metrics_frame(run.batch_id, frame=frame)) == 2 * 2 * 700
    wide = api.metrics_frame([run.batch_id], ["train_loss", "acc"], wide=True, jobs="a", frame=frame)
    assert len(wide) == 700
    assert list(wide["step"]) == list(range(700))
    losses = list(wide["train_loss"])
    assert math.isnan(losses[5])
    assert losses[6:] == list(range(6, 700))


def test_histories_as_csv_and_as_arrow_are_the_same(
    run_of: Callable[..., svc.Reporter], real_server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_of() as run:
        with run.job("a") as job:
            for epoch, loss in enumerate((0.1, 1e-300, math.inf, -math.inf, 3.0)):
                job.epoch(epoch, train_loss=loss)
    api = Api(real_server.url, real_server.session or real_server.token)
    arrow = api.metrics_table(run.batch_id)
    whole = importlib.import_module

    def without_pyarrow(name: str) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return whole(name)

    monkeypatch.setattr("importlib.import_module", without_pyarrow)
    csv = api.metrics_table(run.batch_id)
    for name in ("batch_id", "job_id", "step", "key", "value"):
        assert csv[name] == arrow[name]


def test_a_job_that_is_started_again_is_an_attempt(run_of: Callable[..., svc.Reporter], read: Read) -> None:
    with run_of(n_total=1) as run:
        with pytest.raises(RuntimeError), run.job("a") as job:
            for epoch in range(5):
                job.epoch(epoch, loss=1.0)
            raise RuntimeError("CUDA out of memory")
        with run.job("a") as job:
            job.epoch(3, loss=0.5)
    with run_of(n_total=1, batch_id=run.batch_id) as again, again.job("a") as job:
        job.epoch(4, loss=0.25)
        job.epoch(5, loss=0.25)
    first, second, third = read(run.batch_id, "/jobs/a/attempts")["items"]
    assert [first["status"], second["status"], third["status"]] == ["failed", "completed", "completed"]
    assert "CUDA out of memory" in first["failure_reason"]
    assert [first["epochs"], second["epochs"], third["epochs"]] == [5, 1, 2]
    assert first["superseded_ranges"] == [[3, 4]]
    old = read(run.batch_id, "/jobs/a/attempts/1/metrics")["series"]
    assert [(one["key"], one["values"]) for one in old] == [("loss", [1.0] * 5)]
    (now,) = read(run.batch_id, "/metrics?keys=loss")["series"]
    assert now["values"] == [1.0, 1.0, 1.0, 0.5, 0.25, 0.25]


def test_the_last_line_says_with_which_status_a_script_gave_up(real_server: RealServer) -> None:
    body = """
svc.init("vision", name="mine", batch_id="gave up", environment=False).log({"loss": 1.0})
sys.exit(3)
"""
    _, err = process.run(body, {"SVC_URL": real_server.url, "SVC_TOKEN": real_server.token}, code=3)
    assert err.splitlines()[-1] == f"svc: run mine ended: SystemExit: 3: {real_server.url}/b/gave%20up"
    assert real_server.call("GET", "/api/batches/gave%20up")["failure_reason"] == "SystemExit: 3"


def test_every_line_on_the_terminal_says_whose_it_is() -> None:
    body = """
run = svc.init("vision", name="mine", environment=False)
run.finish()
run.log({"loss": 1.0})
"""
    _, err = process.run(body, {"SVC_URL": "http://127.0.0.1:9"})
    said = err.splitlines()
    assert all(line.startswith("svc: ") for line in said), said
    assert "svc: log was called after the run had ended; its values are not recorded" in said
    assert [line for line in said if "SVC_TOKEN" in line] == [said[0]]
    assert said[0].startswith("svc: run mine: SVC_TOKEN is not set; events are kept in /")


def test_a_run_whose_project_is_refused_ends_without_waiting_for_its_files(real_server: RealServer) -> None:
    name = f"taken-{secrets.token_hex(4)}"
    real_server.call("POST", "/api/projects", {"slug": name})
    body = f"""
run = svc.init({name.title()!r}, name="mine", environment=["entry"], close_timeout_s=600)
run.log({{"loss": 1.0}})
"""
    _, err = process.run(body, {"SVC_URL": real_server.url, "SVC_TOKEN": real_server.token})
    (refusal,) = (line for line in err.splitlines() if "project_exists" in line)
    assert refusal.endswith("`svc-reporter sync --rejected` sends them, to another project with `--project NAME`")
    assert "left on disk for `svc-reporter sync --rejected`: http" in err.splitlines()[-1]
