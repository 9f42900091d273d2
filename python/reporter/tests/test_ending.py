"""close(), interpreter exit, SIGTERM: bounded, and nothing lost that can be kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._process import lifecycle
from svc_reporter._process.failure import reason_of

from .conftest import lines_of
from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import HANG, FaultProxy, status
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]
RUN = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                   resources_s=0, close_timeout_s=float(os.environ.get("CLOSE", "5")))
"""


@pytest.mark.parametrize("timeout_s", [0.0, 0.3, 1.0])
def test_close_with_a_server_that_hangs_ends_in_time_with_everything_on_disk(
    make: Make, proxy: FaultProxy, spill: Path, timeout_s: float
) -> None:
    proxy.always = HANG
    run = make(url=proxy.url, batch_id="b")
    with run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
    begin = time.monotonic()
    run.close(timeout_s)
    assert time.monotonic() - begin <= timeout_s + 1
    kept = lines_of(spill / "b.jsonl")
    assert len({event["event_id"] for event in kept}) == run.delivery.spilled == run.delivery.produced == 104
    assert kept[-1]["event_type"] == "batch_done"


def test_a_429_longer_than_close_may_take_goes_to_disk_at_once(
    make: Make, server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    proxy.always = status(429, Retry_After="60")
    run = make(url=proxy.url, batch_id="b")
    with run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
    until(lambda: proxy.posts >= 1)
    begin = time.monotonic()
    run.close(8)
    assert time.monotonic() - begin < 3
    assert len(lines_of(spill / "b.jsonl")) == 104
    assert server.events == []


def test_close_waits_for_a_slow_server_that_answers_in_time(make: Make, server: FakeIngest, proxy: FaultProxy) -> None:
    from .kit.fault_proxy import delay

    proxy.always = delay(0.05)
    with make(url=proxy.url) as run:
        with run.job("a") as job:
            for epoch in range(1200):
                job.epoch(epoch, train_loss=1.0)
    assert run.delivery.complete
    assert len(server.of("job_epoch")) == 1200


def test_events_taken_over_by_close_are_not_counted_twice_if_the_answer_arrives_later(
    make: Make, server: FakeIngest, proxy: FaultProxy
) -> None:
    from .kit.fault_proxy import delay

    run = make(url=proxy.url, batch_id="b")
    with run.job("a") as job:
        run.flush(5)
        proxy.always = delay(1.0)
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
    run.close(0.2)
    before = run.delivery
    time.sleep(1.5)
    assert run.delivery == before
    assert before.accepted + before.duplicate + before.spilled + before.dropped == before.produced
    with make():
        pass  # the replay finds them stored already
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(100))


def test_flush_returns_whether_everything_has_reached_the_service(make: Make, proxy: FaultProxy) -> None:
    with make(url=proxy.url) as run:
        run.log("x")
        assert run.flush(5)
        proxy.refuse()
        with run.job("a"):
            pass
        assert not run.flush(5)
        proxy.accept()


def test_a_script_that_never_closes_its_run_still_delivers_at_exit(server: FakeIngest) -> None:
    body = (
        RUN
        + """
job = run.job("a")
for epoch in range(50):
    job.epoch(epoch, train_loss=1.0)
"""
    )
    process.run(body, {"URL": server.url})
    assert server.types() == ["batch_start", "job_start", *["job_epoch"] * 50, "job_done", "batch_done"]


def test_a_script_that_dies_of_an_exception_ends_its_batch_as_failed(server: FakeIngest) -> None:
    process.run(RUN + "run.job('a').begin()\nraise RuntimeError('out of memory')", {"URL": server.url}, code=1)
    assert server.events[-1]["event_type"] == "batch_failed"
    assert server.events[-1]["data"]["reason"] == "RuntimeError: out of memory"
    assert server.of("job_failed")


@pytest.mark.parametrize("fault", ["dead", "hang"])
def test_exit_with_a_bad_server_takes_no_longer_than_the_timeout_and_a_second(
    proxy: FaultProxy, spill: Path, fault: str
) -> None:
    if fault == "dead":
        proxy.refuse()
    proxy.always = HANG
    body = (
        RUN
        + """
with run, run.job("a") as job:
    for epoch in range(1000):
        job.epoch(epoch, train_loss=1.0)
    begin = time.monotonic()
    import atexit
atexit._run_exitfuncs()
print(time.monotonic() - begin)
"""
    )
    out, _ = process.run(body, {"URL": proxy.url, "CLOSE": "1.5"})
    assert float(out) <= 2.5
    assert len(lines_of(spill / "b.jsonl")) == 1004


STEPS = (
    RUN
    + """
with run:
    job = run.job("a")
    with job:
        print("ready", flush=True)
        for epoch in range(10_000):
            job.epoch(epoch, train_loss=1.0)
            time.sleep(0.01)
"""
)


@pytest.mark.parametrize("fault", ["none", "dead", "hang"])
def test_sigterm_ends_batch_and_job_and_the_process_dies_of_it(
    server: FakeIngest, proxy: FaultProxy, spill: Path, fault: str
) -> None:
    running = process.script(STEPS, {"URL": proxy.url, "CLOSE": "2"})
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    until(lambda: len(server.of("job_epoch")) >= 3)
    if fault == "dead":
        proxy.refuse()
    elif fault == "hang":
        proxy.always = HANG
    begin = time.monotonic()
    running.terminate()
    running.wait(20)
    assert time.monotonic() - begin < 4
    assert running.returncode == -signal.SIGTERM
    events = server.events + (lines_of(spill / "b.jsonl") if fault != "none" else [])
    ends = [event for event in events if event["event_type"] in ("job_failed", "batch_failed")]
    assert [event["event_type"] for event in ends] == ["job_failed", "batch_failed"]
    assert {event["data"]["reason"] for event in ends} == {"terminated by SIGTERM"}
    epochs = sorted({event["data"]["epoch"] for event in events if event["event_type"] == "job_epoch"})
    assert epochs == list(range(len(epochs)))


@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGXCPU"])
def test_of_a_death_by_another_signal_the_watchdog_ends_the_run(server: FakeIngest, name: str) -> None:
    number = signal.Signals[name]
    running = process.script(STEPS, {"URL": server.url, "SVC_WATCHDOG": "1"})
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(number)
    until(lambda: bool(server.of("batch_failed")), 15)
    running.communicate(timeout=20)
    assert running.returncode == -number
    ends = [*server.of("job_failed"), *server.of("batch_failed")]
    assert [event["data"]["reason"] for event in ends] == [f"terminated by {name}"] * 2


def test_a_signal_that_is_ignored_or_used_by_faulthandler_is_not_changed(server: FakeIngest) -> None:
    body = (
        """
import faulthandler
faulthandler.register(signal.SIGUSR1)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
"""
        + RUN
        + """
with run:
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(0.1)
"""
    )
    _, err = process.run(body, {"URL": server.url})
    assert "most recent call first" in err
    assert server.types()[-1] == "batch_done"


@pytest.mark.parametrize(
    ("last", "status", "reason"),
    [
        ("sys.exit(2)", 2, "SystemExit: 2"),
        ("sys.exit('no data')", 1, "SystemExit: no data"),
        ("import argparse; argparse.ArgumentParser().error('wrong')", 2, "SystemExit: 2"),
        ("sys.exit(0)", 0, None),
        ("sys.exit()", 0, None),
    ],
)
def test_sys_exit_without_a_context_ends_the_run_by_its_status(
    server: FakeIngest, last: str, status: int, reason: str | None
) -> None:
    process.run(f"{RUN}\nrun.job('a').begin()\n{last}", {"URL": server.url}, code=status)
    end = server.events[-1]
    assert end["event_type"] == ("batch_failed" if reason else "batch_done")
    assert end["data"].get("reason") == reason


def test_a_sigterm_that_follows_a_stop_ends_the_run_as_stopped_before_the_poll_saw_the_flag(server: FakeIngest) -> None:
    running = process.script(STEPS, {"URL": server.url})
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    server.stop_requested = True
    running.terminate()
    running.communicate(timeout=20)
    assert running.returncode == -signal.SIGTERM
    assert server.events[-1]["data"]["reason"] == "stop_requested"


def test_every_request_has_its_sending_time(make: Make, server: FakeIngest) -> None:
    with make() as run, run.job("a"):
        pass
    assert run.delivery.complete
    for headers in server.headers:
        sent = datetime.fromisoformat(headers["x-svc-sent-at"].replace("Z", "+00:00"))
        assert abs(sent.timestamp() - time.time()) < 60


def test_sigterm_during_close_settles_for_the_disk(proxy: FaultProxy, spill: Path) -> None:
    proxy.always = HANG
    body = (
        RUN
        + """
run.job("a").begin()
print("ready", flush=True)
run.close()
"""
    )
    running = process.script(body, {"URL": proxy.url, "CLOSE": "60"})
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(0.3)
    begin = time.monotonic()
    running.terminate()
    running.wait(20)
    assert time.monotonic() - begin < 3
    assert running.returncode == -signal.SIGTERM
    assert [event["event_type"] for event in lines_of(spill / "b.jsonl")][:2] == ["batch_start", "job_start"]


@pytest.mark.parametrize("responds", [True, False])
def test_a_second_ctrl_c_cuts_the_end_of_the_run_short_and_does_not_lose_it(
    server: FakeIngest, proxy: FaultProxy, spill: Path, responds: bool
) -> None:
    body = """
from svc_reporter._delivery import pipeline
wait = pipeline.Pipeline._wait
def wait_and_interrupt(*arguments):
    pipeline.Pipeline._wait = wait
    os.kill(os.getpid(), signal.SIGINT)  # the user presses Ctrl-C again while close() waits
    wait(*arguments)
pipeline.Pipeline._wait = wait_and_interrupt
run = svc.init("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0,
               environment=False, close_timeout_s=60)
run.log({"loss": 1.0})
os.kill(os.getpid(), signal.SIGINT)
"""
    if not responds:
        proxy.always = HANG
    begin = time.monotonic()
    _, err = process.run(body, {"URL": proxy.url}, code=-signal.SIGINT)
    assert time.monotonic() - begin < 30
    assert err.splitlines()[-1].startswith("svc: run b ended: KeyboardInterrupt")
    assert "Error in sys.excepthook" not in err
    end = server.events[-1] if responds else lines_of(spill / "b.jsonl")[-1]
    assert (end["event_type"], end["data"]["reason"]) == ("batch_failed", "KeyboardInterrupt")


def test_a_process_dies_of_ctrl_c_also_if_its_end_imports_a_namedtuple(server: FakeIngest) -> None:
    # Python forgets that it is to die of SIGINT once code is run from a string.
    body = """
import atexit, collections
run = svc.init("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0)
atexit.register(lambda: collections.namedtuple("Late", "field"))
os.kill(os.getpid(), signal.SIGINT)
"""
    _, err = process.run(body, {"URL": server.url}, code=-signal.SIGINT)
    assert err.splitlines()[-1].startswith("svc: run ")
    assert server.events[-1]["data"]["reason"] == "KeyboardInterrupt"


def test_a_run_whose_service_is_away_does_not_wait_for_its_files(proxy: FaultProxy, spill: Path) -> None:
    proxy.refuse()
    body = """
run = svc.init("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", close_timeout_s=60)
run.log({"loss": 1.0})
"""
    begin = time.monotonic()
    _, err = process.run(body, {"URL": proxy.url})
    assert time.monotonic() - begin < 30
    assert "files left on disk for" in err.splitlines()[-1]
    assert list((spill / "files" / "todo").iterdir())


def test_the_reason_of_a_failure_in_a_spawned_process_is_its_error() -> None:
    # torch.multiprocessing.spawn raises such a message.
    text = "\n\n-- Process 1 terminated with the following error:\nTraceback (…):\n  …\nValueError: no such file\n"
    assert reason_of(RuntimeError(text)) == "RuntimeError: ValueError: no such file"


def test_no_connection_is_left_open_after_the_end(server: FakeIngest) -> None:
    body = """
run = svc.init("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.01, quiet=True)
run.log({"loss": 1.0})
"""
    _, err = process.run(body, {"URL": server.url, "PYTHONWARNINGS": "always::ResourceWarning"})
    assert "ResourceWarning" not in err


def test_the_first_process_of_a_container_ends_after_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel discards a signal with the default action there, so that the training would go on unreported."""
    killed: list[tuple[int, int]] = []
    exited: list[int] = []
    monkeypatch.setattr(lifecycle, "_open", [])
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    monkeypatch.setattr(os, "_exit", exited.append)
    lifecycle._end_by_signal(signal.SIGUSR2, None)
    assert (killed, exited) == ([(1, signal.SIGUSR2)], [128 + signal.SIGUSR2])


def test_a_users_own_sigterm_handler_is_left_alone(server: FakeIngest) -> None:
    body = (
        """
def mine(*_):
    print("mine", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, mine)
"""
        + STEPS
    )
    running = process.script(body, {"URL": server.url})
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.terminate()
    out, _ = running.communicate(timeout=20)
    assert out == "mine\n"
    assert running.returncode == 7
    assert server.events[-1]["data"]["reason"] == "SystemExit: 7"


def test_ctrl_c_fails_the_batch_and_is_not_swallowed(make: Make, server: FakeIngest) -> None:
    with pytest.raises(KeyboardInterrupt):
        with make():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    assert server.events[-1]["data"]["reason"] == "KeyboardInterrupt"


def test_nothing_is_left_running_after_close(make: Make) -> None:
    import threading

    with make(stop_poll_s=0.1, heartbeat_s=0.1, resources_s=0.1):
        assert {t.name for t in threading.enumerate()} >= {
            "svc-reporter-worker",
            "svc-reporter-heartbeat",
            "svc-reporter-stop-poll",
            "svc-reporter-resources",
        }
        assert all(t.daemon for t in threading.enumerate() if t.name.startswith("svc-reporter"))
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("svc-reporter")], 5)
