"""What a training leaves behind that is killed before the service has answered: in its first moments, or in a fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import svc_reporter as svc

from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import HANG, PASS, FaultProxy, delay
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

BODY = """
run = svc.init(project="vision", name="night", config={"lr": 0.1}, url=os.environ["URL"], token="em_live_test")
for step in range(5):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
print(run.id, flush=True)
END
"""


@pytest.fixture
def proxy(server: FakeIngest) -> Iterator[FaultProxy]:
    proxy = FaultProxy(server.url)
    yield proxy
    proxy.close()


def _killed_after(url: str, seconds: float) -> str:
    """The batch id of a run that was killed so long after its five steps."""
    end = "time.sleep(60)"
    running: subprocess.Popen[str] = process.script(BODY.replace("END", end), {"URL": url, "SVC_WATCHDOG": "1"})
    assert running.stdout is not None
    batch_id = running.stdout.readline().strip()
    assert batch_id
    time.sleep(seconds)
    running.kill()
    running.communicate(timeout=20)
    return batch_id


def _assert_ended(server: FakeIngest, batch_id: str) -> None:
    (start,) = server.of("batch_start")
    assert start["batch_id"] == batch_id
    assert start["data"]["name"] == "night"
    assert start["data"]["config"] == {"lr": 0.1}
    (job,) = server.of("job_start")
    (end,) = server.of("batch_failed")
    # Whether the watchdog still finds the status depends on who collects it first.
    assert re.search("terminated by SIGKILL|ended", end["data"]["reason"])
    assert [event["job_id"] for event in server.of("job_failed")] == [job["job_id"]]
    types = server.types()
    assert types.index("batch_start") < types.index("batch_failed")


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_run_that_is_killed_at_once_has_its_name_and_ends(server: FakeIngest, seconds: float) -> None:
    batch_id = _killed_after(server.url, seconds)
    until(lambda: bool(server.of("batch_failed")), 20)
    _assert_ended(server, batch_id)


@pytest.mark.parametrize("death", ["os._exit(5)", "os.kill(os.getpid(), 9)", "import ctypes; ctypes.string_at(0)"])
@pytest.mark.parametrize("away", [False, True])
def test_a_run_that_dies_at_once_leaves_every_step_and_line_of_its_first_moments(
    server: FakeIngest, proxy: FaultProxy, death: str, away: bool
) -> None:
    if away:
        proxy.refuse()
    end = f"run.text('a line')\nsys.stdout.flush()\n{death}"
    ended = process.script(BODY.replace("END", end), {"URL": proxy.url, "SVC_WATCHDOG": "1"})
    out, _ = ended.communicate(timeout=30)
    batch_id = out.split()[0]
    if away:
        folder = os.path.join(os.environ["HOME"], ".svc-reporter")
        until(lambda: any('"event_type":"batch_failed"' in text for text in _texts(folder)), 20)
        proxy.accept()
        assert _sync(proxy.url) == 0
    until(lambda: bool(server.of("batch_failed")), 20)
    assert {event["batch_id"] for event in server.events} == {batch_id}
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == [0, 1, 2, 3, 4]
    assert "a line" in [event["data"]["line"] for event in server.of("log_line")]
    assert len(server.of("job_start")) == len(server.of("job_failed")) == 1


def test_the_watchdog_keeps_no_event_that_is_safe_and_only_those_of_the_first_moments(server: FakeIngest) -> None:
    end = """
for step in range(5, 1_000):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
assert run.flush(20)
for _ in range(200):
    if not run.reporter._watched.early:
        break
    time.sleep(0.05)
print(len(run.reporter._watched.early), run.reporter._pipeline._early_left, flush=True)
os.kill(os.getpid(), 9)
"""
    ended = process.script(BODY.replace("END", end), {"URL": server.url, "SVC_WATCHDOG": "1"})
    out, _ = ended.communicate(timeout=40)
    assert out.split()[1:] == ["0", "0"]
    until(lambda: bool(server.of("batch_failed")), 20)
    # Two requests may be on their way: the order of arrival is not promised.
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(1_000))


def test_the_watchdog_keeps_no_event_that_was_written_to_disk_while_a_request_had_no_answer(
    server: FakeIngest, proxy: FaultProxy
) -> None:
    proxy.always = HANG
    end = """
for step in range(5, 250):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
for _ in range(400):
    if not run.reporter._watched.early:
        break
    time.sleep(0.05)
print(len(run.reporter._watched.early), flush=True)
os.kill(os.getpid(), 9)
"""
    ended = process.script(BODY.replace("END", end), {"URL": proxy.url, "SVC_WATCHDOG": "1"})
    out, _ = ended.communicate(timeout=60)
    assert out.split()[1:] == ["0"]


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_while_the_service_is_away_start_and_end_reach_the_disk(
    server: FakeIngest, proxy: FaultProxy, seconds: float
) -> None:
    proxy.refuse()
    batch_id = _killed_after(proxy.url, seconds)
    folder = os.path.join(os.environ["HOME"], ".svc-reporter")
    until(lambda: any('"event_type":"batch_failed"' in text for text in _texts(folder)), 20)
    proxy.accept()
    assert _sync(proxy.url) == 0
    _assert_ended(server, batch_id)
    if seconds:
        assert len(server.of("job_epoch")) == 5


def test_events_queued_behind_a_request_without_an_answer_survive_a_kill(server: FakeIngest, proxy: FaultProxy) -> None:
    proxy.always = HANG
    batch_id = _killed_after(proxy.url, 3.0)
    folder = os.path.join(os.environ["HOME"], ".svc-reporter")
    until(lambda: any('"event_type":"batch_failed"' in text for text in _texts(folder)), 30)
    proxy.always = PASS
    assert _sync(proxy.url) == 0
    _assert_ended(server, batch_id)
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seconds", [0.65, *(pytest.param(other, marks=pytest.mark.slow) for other in (0.55, 0.75))])
def test_a_kill_after_a_request_without_an_answer_loses_only_the_last_half_second(
    server: FakeIngest, proxy: FaultProxy, seconds: float
) -> None:
    """Also where the request has just begun when the events are made, or begins a moment after that."""
    end = """
for step in range(5, 100_000):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
    os.write(1, f"{step} {time.time()}\\n".encode())
    time.sleep(0.004)
"""
    running = process.script(BODY.replace("END", end), {"URL": proxy.url, "SVC_WATCHDOG": "1"})
    assert running.stdout is not None
    assert running.stdout.readline()
    until(lambda: len(server.of("job_epoch")) > 20, 20)
    proxy.always = HANG
    time.sleep(seconds)
    killed = time.time()
    running.kill()
    out, _ = running.communicate(timeout=30)
    folder = os.path.join(os.environ["HOME"], ".svc-reporter")
    until(lambda: any('"event_type":"batch_failed"' in text for text in _texts(folder)), 30)
    proxy.always = PASS
    assert _sync(proxy.url) == 0
    stored = {event["data"]["epoch"] for event in server.of("job_epoch")}
    lost = {int(step): killed - float(at) for step, at in map(str.split, out.splitlines()) if int(step) not in stored}
    assert max(lost.values(), default=0) < 0.5


def test_events_that_went_to_disk_in_a_long_request_are_counted_once(server: FakeIngest, proxy: FaultProxy) -> None:
    with svc.Reporter("vision", url=proxy.url, token=server.token, stop_poll_s=0, heartbeat_s=0, resources_s=0) as run:
        with run.job("a") as job:
            assert run.flush(10)
            proxy.script.append(delay(2.0))
            for epoch in range(40):
                job.epoch(epoch, train_loss=1.0)
            until(lambda: run.delivery.spilled > 0, 10)
            for epoch in range(40, 80):
                job.epoch(epoch, train_loss=1.0)
            assert run.flush(20)
            delivery = run.delivery
            assert delivery.complete
            assert delivery.duplicate > 0
    assert run.delivery.complete
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(80))


def test_the_last_lines_on_stderr_are_in_the_end_event(server: FakeIngest) -> None:
    end = """
for line in range(30):
    print(f"warning {line}", file=sys.stderr)
print("fine", flush=True)
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGKILL)
"""
    running = process.script(BODY.replace("END", end), {"URL": server.url, "SVC_WATCHDOG": "1"})
    running.communicate(timeout=20)
    until(lambda: bool(server.of("batch_failed")), 20)
    lines = [f"warning {line}" for line in range(10, 30)]
    for event in (*server.of("job_failed"), *server.of("batch_failed")):
        assert event["data"]["traceback"].splitlines() == ["The last lines on stderr:", *lines]


def _texts(folder: str) -> list[str]:
    texts: list[str] = []
    for place, _, names in os.walk(folder):
        for name in names:
            if "jsonl" in name:
                try:
                    with open(os.path.join(place, name), encoding="utf-8") as file:
                        texts.append(file.read())
                except OSError:
                    continue
    return texts


def _sync(url: str) -> int:
    env = {**os.environ, "SVC_URL": url, "SVC_TOKEN": "em_live_test", "PYTHONPATH": str(process.SOURCE)}
    return subprocess.run([sys.executable, "-m", "svc_reporter", "sync"], env=env, timeout=60, check=False).returncode
