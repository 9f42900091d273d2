"""Stop and partial reruns."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import TimeoutExpired

import pytest

import svc_reporter as svc

from .kit import process
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
def test_a_partial_rerun_reports_only_the_requested_jobs(
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
    assert start["n_total"] == 2
    assert server.of("batch_done")[0]["data"]["n_done"] == 2


def test_ids_with_commas_are_given_as_a_json_list(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_RERUN_JOBS", '["lr=1,wd=2"]')
    run = make()
    assert run.wants("lr=1,wd=2")
    assert not run.wants("lr=1")


def test_jobs_that_never_began_count_as_planned_in_a_rerun(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_RERUN_OF", "b0")
    monkeypatch.setenv("SVC_RERUN_JOBS", '["seed1"]')
    monkeypatch.setenv("SVC_RERUN_DONE", '["seed0"]')
    with make(n_total=5):
        pass
    assert server.of("batch_start")[0]["data"]["n_total"] == 4
    # The same batch once more still has all its jobs.
    with make(n_total=5, batch_id="b0"):
        pass
    assert server.of("batch_start")[1]["data"]["n_total"] == 5


def test_without_a_rerun_every_job_is_requested(make: Make) -> None:
    run = make(n_total=3)
    assert run.wants("anything")
    assert run.n_planned == 3


LONG = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.1,
                   resources_s=0, heartbeat_s=0, **OPTIONS)
"""


def _stopped(server: FakeIngest, body: str, options: str = "dict()", *, timeout_s: float = 20) -> tuple[int, str, str]:
    server.stop_requested = True
    server.stop_answer = {"requested_by": "ada@example.org", "requested_at": "2026-11-23T12:00:00Z"}
    quick = "_tuning.DEFAULT = dataclasses.replace(_tuning.DEFAULT, interrupt_s=0.3, interrupt_ranks_s=0.3,\n"
    quick += "    stuck_rank_s=0.3)\n"
    running = process.script(f"OPTIONS = {options}\n" + quick + LONG + body, {"URL": server.url})
    try:
        out, err = running.communicate(timeout=timeout_s)
    except TimeoutExpired:
        running.kill()
        running.communicate()
        raise
    return running.returncode, out, err


def test_a_stop_interrupts_an_epoch_that_sleeps_and_ends_the_process_with_143_and_one_line(server: FakeIngest) -> None:
    body = """
with run, run.job("a") as job:
    job.epoch(0, train_loss=1.0)
    time.sleep(600)
"""
    status, _, err = _stopped(server, body)
    assert status == 143
    lines = err.splitlines()
    assert lines == ["svc-reporter: stop of batch b was requested by ada@example.org at 2026-11-23T12:00:00Z"]
    assert [e["data"]["reason"] for e in (*server.of("job_failed"), *server.of("batch_failed"))] == [
        "stop_requested"
    ] * 2


def test_a_stop_interrupts_a_loop_that_never_calls_without_a_context(server: FakeIngest) -> None:
    status, _, err = _stopped(server, "run.job('a').begin()\nwhile True: sum(range(1000))")
    assert status == 143
    assert "Traceback" not in err
    assert server.of("batch_failed")[0]["data"]["reason"] == "stop_requested"


def test_a_stop_interrupts_the_main_thread_of_a_run_that_another_thread_opened(server: FakeIngest) -> None:
    body = """
t = threading.Thread(target=run.job("a").begin)
t.start()
t.join()
with run:
    while True: time.sleep(0.05)
"""
    status, _, err = _stopped(server, body)
    assert status == 143
    assert "Traceback" not in err


def test_a_run_that_another_thread_opened_ends_with_143_where_nothing_handles_the_exception(server: FakeIngest) -> None:
    body = """
t = threading.Thread(target=run.job("a").begin)
t.start()
t.join()
import atexit
atexit.register(print, "last words")
while True: sum(range(1000))
"""
    status, out, err = _stopped(server, body)
    assert (status, out) == (143, "last words\n")
    assert "Traceback" not in err
    assert server.of("batch_failed")[0]["data"]["reason"] == "stop_requested"


def test_a_loop_that_only_logs_is_stopped_at_its_next_line_and_may_log_while_it_cleans_up(server: FakeIngest) -> None:
    body = """
with run:
    try:
        while True:
            run.log("step")
            time.sleep(0.01)
    finally:
        run.log("saved")
        print("saved")
"""
    status, out, _ = _stopped(server, body)
    assert (status, out) == (143, "saved\n")
    assert server.of("log_line")[-1]["data"]["line"] == "saved"


def test_a_cooperative_stop_waits_for_the_next_call(server: FakeIngest) -> None:
    body = """
with run, run.job("a") as job:
    time.sleep(1.5)
    print("undisturbed")
    job.epoch(0)
"""
    status, out, _ = _stopped(server, body, 'dict(stop="cooperative")')
    assert (status, out) == (143, "undisturbed\n")


def test_one_rank_of_several_is_interrupted_if_the_ranks_make_no_common_decision(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    body = """
with run, run.job("a") as job:
    for epoch in range(100_000):
        job.epoch(epoch)
        time.sleep(0.01)
"""
    status, _, _ = _stopped(server, body)
    assert status == 143


STUCK = """
import ctypes
with run, run.job("a") as job:
    job.epoch(0, train_loss=1.0)
    lock = ctypes.create_string_buffer(128)
    library = ctypes.CDLL(None)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)  # waits for ever, as a collective does whose other rank never comes
"""


def test_a_rank_that_waits_in_c_code_ends_its_run_as_stopped_and_itself_with_143(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    status, _, err = _stopped(server, STUCK)
    assert status == 143
    assert err == "svc-reporter: stop of batch b was requested by ada@example.org at 2026-11-23T12:00:00Z\n"
    assert [e["data"]["reason"] for e in (*server.of("job_failed"), *server.of("batch_failed"))] == [
        "stop_requested"
    ] * 2
    assert [e["data"]["epoch"] for e in server.of("job_epoch")] == [0]


def test_a_run_of_one_rank_is_not_ended_inside_c_code(server: FakeIngest) -> None:
    """It may be writing a checkpoint, and no other rank waits for it."""
    with pytest.raises(TimeoutExpired):
        _stopped(server, STUCK, timeout_s=4)
    assert server.of("batch_failed") == []


def test_a_stop_that_the_training_answers_is_not_followed_by_an_interrupt(server: FakeIngest) -> None:
    body = """
with run, run.job("a") as job:
    try:
        while True:
            job.epoch(0)
            time.sleep(0.01)
    except svc.StopRequested:
        time.sleep(1)
        print("checkpoint saved")
"""
    status, out, _ = _stopped(server, body)
    assert (status, out) == (0, "checkpoint saved\n")
    assert server.of("batch_failed")[0]["data"]["reason"] == "stop_requested"


def test_another_value_for_stop_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="cooperative"):
        make(stop="maybe")
