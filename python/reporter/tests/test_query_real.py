"""svc_reporter.query against the real service: what was reported is read back whole."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter import QueryError
from svc_reporter.query import Api
from svc_reporter.query._table import FrameKind

from .kit.real_server import RealServer

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def project() -> str:
    return f"query-{secrets.token_hex(4)}"


@pytest.fixture
def report(
    real_server: RealServer, project: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    monkeypatch.setenv("SVC_REPORTER_DIR", str(tmp_path))

    def make(**more: Any) -> svc.Reporter:
        given = {"url": real_server.url, "token": real_server.token, "stop_poll_s": 0, "heartbeat_s": 0}
        return svc.Reporter(project, **{**given, "resources_s": 0, **more})

    return make


@pytest.fixture
def api(real_server: RealServer) -> Api:
    return Api(real_server.url, real_server.session or real_server.token)


def test_the_best_run_is_the_one_with_the_best_point_though_it_ended_worse(
    report: Callable[..., Any], api: Api, project: str
) -> None:
    curves = {"a": [0.9, 0.5, 0.6], "b": [0.9, 0.1, 0.8], "c": [float("nan"), 0.4, 0.4]}
    ids = {}
    for name, curve in curves.items():
        with report() as run, run.job("fit") as job:
            ids[name] = run.batch_id
            for epoch, value in enumerate(curve):
                job.epoch(epoch, val_loss=value)
    best = api.best("val_loss", "min", project=project)
    assert best is not None
    assert (best.batch["id"], best.job_id, best.step, best.value) == (ids["b"], "fit", 1, 0.1)
    worst = api.best("val_loss", "max", project=project)
    assert worst is not None
    assert (worst.value, worst.step) == (0.9, 0)
    assert api.best("no_such_metric", project=project) is None
    with pytest.raises(ValueError, match="goal"):
        api.best("val_loss", "least")  # type: ignore[arg-type]  # what the test is about


def test_jobs_have_times_and_a_column_for_each_nested_parameter(
    report: Callable[..., Any], api: Api, project: str
) -> None:
    with report() as run, run.job("fit", optimizer={"name": "sgd", "lr": 0.1}) as job:
        job.epoch(0, loss=0.5)
    [row] = api.jobs_frame(project=project, frame="table").records()
    assert row["param.optimizer.lr"] == 0.1
    assert row["latest.loss"] == 0.5
    assert abs((datetime.now(timezone.utc) - row["started_at"]).total_seconds()) < 600
    frame = api.jobs_frame(run.batch_id, frame="pandas")
    assert str(frame["started_at"].dtype).startswith("datetime64")


def test_configuration_logs_samples_series_and_attempts_are_read(
    report: Callable[..., Any], api: Api, project: str
) -> None:
    with report(config={"lr": 0.1, "layers": {"width": 8}}, resources_s=0.2) as run:
        for _ in range(2):
            with run.job("fit") as job:
                job.epoch(0, loss=0.5)
                job.log("first")
                job.log("second", level="warning")
        time.sleep(0.8)
    assert api.config(run.batch_id) == {"lr": 0.1, "layers": {"width": 8}}
    assert [line["line"] for line in api.logs(run.batch_id)] == ["first", "second"] * 2
    assert [line["line"] for line in api.logs(run.batch_id, level="warning")] == ["second"] * 2
    assert [line["line"] for line in api.logs(run.batch_id, tail=1)] == ["second"]
    assert [(point["job_id"], point["step"], point["value"]) for point in api.series(run.batch_id)] == [("fit", 0, 0.5)]
    assert [attempt["n"] for attempt in api.attempts(run.batch_id, "fit")] == [1, 2]
    samples = api.resources_frame(run.batch_id, "ram_mb", frame="table").records()
    assert samples
    assert all(sample["value"] > 0 and sample["time"].tzinfo is timezone.utc for sample in samples)


def test_notes_and_tags_are_written_with_a_session_and_refused_to_a_reporter_token(
    report: Callable[..., Any], api: Api, real_server: RealServer
) -> None:
    with report() as run:
        run.log("a line")
    changed = api.update(run.batch_id, name="renamed", notes="*why*", tags=["night"], starred=True)
    read = api.batch(run.batch_id)
    for batch in (changed, read):
        assert (batch["name"], batch["notes"], batch["tags"], batch["starred"]) == ("renamed", "*why*", ["night"], True)
    with pytest.raises(QueryError) as refused:
        Api(real_server.url, real_server.token).update(run.batch_id, notes="x")
    assert refused.value.status in (401, 403)
    with pytest.raises(ValueError, match="nothing to change"):
        api.update(run.batch_id)


def test_a_batch_is_followed_live_until_it_ends(report: Callable[..., Any], api: Api) -> None:
    began, go = threading.Event(), threading.Event()
    ids: list[str] = []

    def train() -> None:
        with report() as run, run.job("fit") as job:
            ids.append(run.batch_id)
            job.epoch(0, loss=1.0)
            run.flush(20)
            began.set()
            go.wait(20)
            for epoch in range(1, 4):
                job.epoch(epoch, loss=1 / (epoch + 1))
            job.log("almost done")

    training = threading.Thread(target=train)
    training.start()
    assert began.wait(30)
    points, lines, statuses = [], [], []
    for message in api.follow(ids[0], timeout_s=60):
        go.set()
        points += [(point["epoch"], point["values"]["loss"]) for point in message.payload.get("points", ())]
        lines += [line["line"] for line in message.payload.get("lines", ())]
        statuses += [message.payload["batch"]["status"]] if "batch" in message.payload else []
    training.join(30)
    assert points == [(1, 1 / 2), (2, 1 / 3), (3, 1 / 4)]
    assert lines == ["almost done"]
    assert (statuses[0], statuses[-1]) == ("running", "completed")
    assert [message.payload["batch"]["status"] for message in api.follow(ids[0])] == ["completed"]
    with pytest.raises(QueryError) as refused:
        list(api.follow("no-such-batch"))
    assert refused.value.status in (403, 404)


def test_a_wide_frame_is_the_long_one_pivoted(report: Callable[..., Any], api: Api) -> None:
    with report() as run:
        for name in ("b", "a"):
            with run.job(name) as job:
                job.epoch(0, loss=1.0)
                job.epoch(1, loss=0.5, acc=0.75)
    long = api.metrics_frame(run.batch_id, frame="pandas")
    pivoted = long.pivot(index=["batch_id", "job_id", "step"], columns="key", values="value").reset_index()
    frames: tuple[FrameKind, ...] = ("pandas", "polars", "table")
    for frame in frames:
        wide = api.metrics_frame(run.batch_id, wide=True, frame=frame)
        assert list(wide.columns) == list(pivoted.columns)
        assert [row[:3] for row in zip(*(list(wide[name]) for name in wide.columns), strict=True)] == [
            tuple(row) for row in pivoted[["batch_id", "job_id", "step"]].itertuples(index=False)
        ]
        assert list(wide["loss"]) == list(pivoted["loss"])


def test_a_misspelt_filter_is_an_error_of_types(tmp_path: Path) -> None:
    script = tmp_path / "read.py"
    script.write_text(
        "from svc_reporter.query import Api\n"
        "api = Api('http://localhost')\n"
        "api.jobs_frame(project='vision', status=['failed'])\n"
        "api.jobs_frame(projct='vision')\n"
        "api.batches(statuss='failed')\n"
        "api.best('val_loss', 'least')\n"
    )
    env = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "c"), str(script)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Unexpected keyword argument "projct"' in done.stdout, done.stdout
    assert 'Unexpected keyword argument "statuss"' in done.stdout
    assert "read.py:6" in done.stdout
    assert "read.py:3" not in done.stdout
