"""A process that continues a batch or joins one learns from the service what there is already."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import FaultProxy

QUIET: dict[str, Any] = {
    "quiet": True,
    "console": False,
    "environment": False,
    "stop_poll_s": 0,
    "heartbeat_s": 0,
    "resources_s": 0,
}


@pytest.fixture(autouse=True)
def address(server: FakeIngest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_URL", server.url)
    monkeypatch.setenv("SVC_TOKEN", server.token)


def knows(server: FakeIngest, batch_id: str, **last_steps: int | None) -> None:
    jobs = [{"job_id": job, "last_step": step} for job, step in last_steps.items()]
    point = {"project": "vision", "newest_job": next(iter(last_steps), None), "jobs": jobs}
    server.gets[f"/api/batches/{batch_id}/resume-point"] = ("application/json", json.dumps(point).encode())


def steps(server: FakeIngest) -> list[int]:
    return [event["data"]["epoch"] for event in server.of("job_epoch")]


def test_a_process_that_continues_a_batch_counts_steps_from_its_last_one(server: FakeIngest) -> None:
    knows(server, "b", other=700, main=99)
    with svc.init("vision", batch_id="b", **QUIET) as run:
        run.log({"loss": 1.0})
        run.log({"loss": 1.0})
        run.log({"loss": 1.0}, step=3)
        run.log({"loss": 1.0})
    assert steps(server) == [100, 101, 3, 4]


@pytest.mark.parametrize("answer", ["unknown", "no steps"])
def test_a_new_batch_with_an_id_of_its_own_starts_at_0(
    server: FakeIngest, said: Callable[[], str], answer: str
) -> None:
    if answer == "no steps":
        knows(server, "b", main=None)
    else:
        server.gets["/api/batches/b/resume-point"] = ("application/json", b'{"code": "batch_not_found"}')
    with svc.init("vision", batch_id="b", **QUIET) as run:
        run.log({"loss": 1.0})
    assert steps(server) == [0]


def test_without_an_answer_it_starts_at_0_and_says_so_once(
    proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch, said: Callable[[], str]
) -> None:
    proxy.refuse()
    monkeypatch.setenv("SVC_URL", proxy.url)
    with svc.init("vision", batch_id="b", close_timeout_s=0.1, **QUIET) as run:
        run.log({"loss": 1.0})
        run.log({"loss": 1.0})
    assert said().count("could not say whether run b has steps already") == 1


def test_a_process_that_joins_a_batch_takes_its_project(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, said: Callable[[], str]
) -> None:
    knows(server, "shared")
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    with svc.init("another", name="w1", **QUIET) as run:
        run.log({"loss": 1.0})
    assert {event["source"]["project"] for event in server.events} == {"vision"}
    assert said().count("belongs to project vision") == 1


def test_lines_of_a_process_without_a_job_become_lines_of_the_newest_job_of_another(server: FakeIngest) -> None:
    with svc.init("vision", batch_id="b", **QUIET) as run:
        run.text("starting 3 workers")
        knows(server, "b", w2=1, w1=1)
    assert server.of("job_start") == []
    assert [(line["job_id"], line["data"]["line"]) for line in server.of("log_line")] == [("w2", "starting 3 workers")]
    assert server.of("batch_done")[0]["data"]["n_done"] == 0


def test_lines_of_a_run_without_any_job_have_a_job_of_their_own(server: FakeIngest) -> None:
    with svc.init("vision", batch_id="b", **QUIET) as run:
        run.text("nothing to train")
    assert [line["job_id"] for line in server.of("log_line")] == ["main"]


@pytest.mark.parametrize("name", [".", "..", "x" * 129, "a\x07b"])
def test_an_invalid_id_of_a_batch_to_join_is_refused_in_one_line(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, said: Callable[[], str], name: str
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", name)
    with svc.init("vision", **QUIET) as run:
        run.log({"loss": 1.0})
    assert server.types()[0] == "batch_start"
    assert name not in {event["batch_id"] for event in server.events}
    (line,) = [line for line in said().splitlines() if "SVC_BATCH_ID" in line]
    assert "this process reports a batch of its own" in line
