"""Stop and partial reruns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]


def test_a_stop_leaves_the_loop_through_except_exception_and_ends_the_batch_as_stopped(
    make: Make, server: FakeIngest
) -> None:
    def train() -> None:
        with make(stop_poll_s=0.02) as run:
            with run.job("a") as job:
                for epoch in range(100_000):
                    try:
                        job.epoch(epoch, train_loss=1.0)
                    except Exception:
                        continue
                    if epoch == 3:
                        server.stop_requested = True
                        until(lambda: run.stop_requested)

    with pytest.raises(svc.StopRequested):
        train()
    assert [e["data"]["epoch"] for e in server.of("job_epoch")] == [0, 1, 2, 3, 4]  # recorded before it is raised
    assert server.of("job_failed")[0]["data"]["reason"] == "stop_requested"
    assert server.events[-1]["event_type"] == "batch_failed"
    assert server.events[-1]["data"]["reason"] == "stop_requested"


def test_a_stop_is_raised_when_the_next_job_of_a_sweep_is_entered(make: Make, server: FakeIngest) -> None:
    server.stop_requested = True
    with pytest.raises(svc.StopRequested) as caught:
        with make(stop_poll_s=0.02) as run:
            until(lambda: run.stop_requested)
            with run.job("a"):
                raise AssertionError("the job must not run")
    assert caught.value.batch_id == run.batch_id
    assert "job_start" not in server.types()


def test_a_stop_that_the_script_catches_itself_still_ends_the_batch_as_stopped(make: Make, server: FakeIngest) -> None:
    server.stop_requested = True
    with make(stop_poll_s=0.02) as run:
        until(lambda: run.stop_requested)
        try:
            run.check_stop()
        except svc.StopRequested:
            pass
    assert server.events[-1]["data"]["reason"] == "stop_requested"


def test_under_several_ranks_a_stop_is_only_raised_by_common_decision(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    server.stop_requested = True
    with make(stop_poll_s=0.02) as run:
        until(lambda: run.stop_requested)
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            run.check_stop(agree=lambda _mine: False)
            asked: list[bool] = []

            def agree(mine: bool) -> bool:
                asked.append(mine)
                return True

            with pytest.raises(svc.StopRequested):
                run.check_stop(agree)
            assert asked == [True]
    monkeypatch.setenv("RANK", "1")
    with make() as other:
        with pytest.raises(svc.StopRequested):
            other.check_stop(agree=lambda _mine: True)


def test_a_poll_that_fails_is_no_stop(make: Make, server: FakeIngest) -> None:
    server.gets["/api/batches/b%2F1/stop-requested"] = ("text/html", b"<html>")
    with make(stop_poll_s=0.02, batch_id="b/1") as run:
        run.flush(1)
        until(lambda: server.polls == 0)
        server.gets.clear()
        until(lambda: server.polls >= 2)
        assert not run.stop_requested


@pytest.mark.parametrize("text", ["seed1,seed 2", '["seed1", "seed 2"]', " seed1 , seed 2 ,"])
def test_a_partial_rerun_reports_the_wanted_jobs_only(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SVC_RERUN_OF", "b0")
    monkeypatch.setenv("SVC_RERUN_JOBS", text)
    with make(n_total=3) as run:
        for name in ("seed0", "seed1", "seed 2"):
            with run.job(name) as job:
                job.epoch(0, train_loss=1.0)
                job.log("x")
            assert job.skipped is not run.wants(name)
    assert [event["job_id"] for event in server.of("job_done")] == ["seed1", "seed 2"]
    assert {event["job_id"] for event in server.events if event["job_id"]} == {"seed1", "seed 2"}
    start = server.of("batch_start")[0]["data"]
    assert start["rerun_of"] == "b0"
    assert start["rerun_jobs"] == ["seed 2", "seed1"]
    assert server.of("batch_done")[0]["data"]["n_done"] == 2


def test_ids_with_commas_are_given_as_a_json_list(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_RERUN_JOBS", '["lr=1,wd=2"]')
    run = make()
    assert run.wants("lr=1,wd=2")
    assert not run.wants("lr=1")


def test_without_a_rerun_every_job_is_wanted(make: Make) -> None:
    assert make().wants("anything")
