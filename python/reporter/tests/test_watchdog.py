"""A training that dies without a word: its watchdog ends its run, and leaves nothing behind itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from svc_reporter._process import watchdog_child

from .conftest import lines_of
from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import FaultProxy, delay
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

BODY = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.1,
                   resources_s=0, heartbeat_s=0)
with run, run.job("a") as job:
    job.epoch(0, train_loss=1.0)
    run.flush(5)
    print("ready", flush=True)
    END
"""


def _start(server_url: str, end: str, **env: str) -> subprocess.Popen[str]:
    running = process.script(BODY.replace("END", end), {"URL": server_url, "SVC_WATCHDOG": "1", **env})
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    return running


def _watchdogs() -> list[int]:
    """Watchdogs of this test's processes: each test has a home of its own, which they inherit."""
    mine = f"HOME={os.environ['HOME']}".encode()
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            if b"watchdog_child.py" in command and mine in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except (OSError, ValueError):
            continue
    return found


def _ends(server: FakeIngest) -> list[tuple[str, str]]:
    ends = [*server.of("job_failed"), *server.of("batch_failed")]
    return [(event["event_type"], event["data"]["reason"]) for event in ends]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "terminated by SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", "terminated by SIGSEGV"),
        ("os._exit(3)", "process {pid} ended with exit status 3 "),
        ("os.abort()", "terminated by SIGABRT"),
    ],
)
def test_a_sudden_death_ends_job_and_batch_as_failed_with_the_visible_reason(
    server: FakeIngest, end: str, words: str
) -> None:
    running = _start(server.url, end)
    until(lambda: bool(server.of("batch_failed")), 15)  # its exit status was not collected yet, so it can be seen
    running.communicate(timeout=20)
    pid = running.pid
    assert [kind for kind, _ in _ends(server)] == ["job_failed", "batch_failed"]
    for _, reason in _ends(server):
        assert reason.startswith(words.format(pid=pid))
    assert server.of("batch_failed")[0]["data"]["n_failed"] == 1
    until(lambda: _watchdogs() == [], 10)


def _knows_after_collection() -> bool:
    """Whether this kernel tells the status of a process that its parent has collected (Linux 6.15)."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return release is not None and tuple(map(int, release.groups())) >= (6, 15)


@pytest.mark.parametrize("knows", [True, False])
def test_the_signal_is_named_after_the_parent_has_collected_the_status(
    monkeypatch: pytest.MonkeyPatch, knows: bool
) -> None:
    running = subprocess.Popen(["sleep", "100"])
    parent = watchdog_child.Parent(running.pid, "")
    running.kill()
    running.wait()
    assert not parent.is_alive()
    if not knows:  # a kernel before Linux 6.15
        monkeypatch.setattr(watchdog_child, "_PIDFD_GET_INFO", 0)
    unknown = f"process {running.pid} ended unexpectedly, as by SIGKILL or os._exit"
    assert parent.describe_end() == ("terminated by SIGKILL" if knows and _knows_after_collection() else unknown)


def test_the_watchdog_of_a_run_that_ends_well_ends_with_it_and_logs_nothing(server: FakeIngest) -> None:
    running = _start(server.url, "assert len(os.listdir(f'/proc/{os.getpid()}/task')) > 1")
    running.communicate(timeout=20)
    assert running.returncode == 0
    until(lambda: _watchdogs() == [], 5)
    assert server.types() == ["batch_start", "job_start", "job_epoch", "job_done", "batch_done"]


def test_the_watchdog_has_no_terminal_no_descriptor_and_no_session_of_the_training_and_ignores_its_signals(
    server: FakeIngest, tmp_path: Path
) -> None:
    running = _start(server.url, "time.sleep(600)")
    until(lambda: _detached(running.pid))
    (dog,) = _detached(running.pid)
    assert os.getsid(dog) != os.getsid(running.pid)
    assert b"em_live" not in Path(f"/proc/{dog}/cmdline").read_bytes() + Path(f"/proc/{dog}/environ").read_bytes()
    until(lambda: int(_status(dog, "SigIgn"), 16) >> (signal.SIGTERM - 1) & 1 == 1)
    open_files = {os.readlink(f"/proc/{dog}/fd/{name}") for name in os.listdir(f"/proc/{dog}/fd")}
    kinds = {name.split(":")[0] for name in open_files} - {"/dev/null", f"/proc/{running.pid}/stat"}
    assert kinds == {"socket", "anon_inode"}
    assert sum(name.startswith("socket:") for name in open_files) == 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(dog, number)
    time.sleep(0.3)
    assert _watchdogs() == [dog]
    running.kill()
    until(lambda: bool(server.of("batch_failed")), 15)
    running.communicate(timeout=20)
    until(lambda: _watchdogs() == [], 10)


def _detached(training: int) -> list[int]:
    """The watchdog, once the process that the training started has forked it and ended."""
    dogs = _watchdogs()
    try:
        return dogs if [int(_status(dog, "PPid")) != training for dog in dogs] == [True] else []
    except OSError:
        return []  # one ended meanwhile


def _status(pid: int, field: str) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:"))


def test_events_that_the_end_had_no_time_for_are_sent_after_the_script_has_ended(server: FakeIngest) -> None:
    proxy = FaultProxy(server.url)
    proxy.always = delay(0.3)
    body = """
    run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                       resources_s=0, heartbeat_s=0, close_timeout_s=0.5)
    with run, run.job("a") as job:
        for epoch in range(3000):
            job.epoch(epoch, train_loss=1.0)
    assert run.sends_later
    """
    running = process.script(textwrap.dedent(body), {"URL": proxy.url, "SVC_WATCHDOG": "1"})
    _, errors = running.communicate(timeout=20)
    assert running.returncode == 0, errors
    try:
        arrived = len(server.of("job_epoch"))
        until(lambda: len(server.of("job_epoch")) == 3000 and bool(server.of("batch_done")), 60)
        assert arrived < 3000
        until(lambda: _watchdogs() == [], 20)
    finally:
        proxy.close()


def test_it_notices_the_death_while_a_forked_child_lives_on(server: FakeIngest) -> None:
    end = "pid = os.fork()\n    if pid == 0: time.sleep(5); os._exit(0)\n    os.kill(os.getpid(), signal.SIGKILL)"
    begin = time.monotonic()
    running = _start(server.url, end)
    until(lambda: bool(server.of("batch_failed")), 15)
    assert time.monotonic() - begin < 15
    running.communicate(timeout=20)


def test_a_death_after_a_stop_ends_the_run_as_stopped(server: FakeIngest) -> None:
    server.stop_requested = True
    end = "_wait = [time.sleep(0.01) for _ in iter(lambda: run.stop_requested, True)]; time.sleep(0.3); os._exit(1)"
    running = _start(server.url, end)
    until(lambda: bool(server.of("batch_failed")), 15)
    assert {reason for _, reason in _ends(server)} == {"stop_requested"}
    running.communicate(timeout=20)


def test_events_on_disk_are_sent_after_the_end_events(server: FakeIngest, proxy: FaultProxy, spill: Path) -> None:
    go = spill.parent / "go"
    end = f"""while not os.path.exists({str(go)!r}): time.sleep(0.01)
    for e in range(1, 100): job.epoch(e)
    run.flush(2)
    print("spilled", flush=True)
    time.sleep(600)"""
    running = _start(proxy.url, end)
    proxy.refuse()
    go.touch()
    assert running.stdout is not None
    assert running.stdout.readline() == "spilled\n"
    spilled = spill / "b.jsonl"
    until(lambda: spilled.exists() and len(lines_of(spilled)) == 99, 20)
    proxy.accept()
    running.kill()
    until(lambda: bool(server.of("batch_failed")) and len(server.of("job_epoch")) == 100, 15)
    assert [kind for kind, _ in _ends(server)] == ["job_failed", "batch_failed"]
    running.communicate(timeout=20)
    until(lambda: _watchdogs() == [], 10)
    assert not list(spill.glob("b.jsonl*"))


def test_with_the_service_away_the_ends_wait_on_disk_and_are_sent_once_it_is_back(
    server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    running = _start(proxy.url, "time.sleep(600)")
    proxy.refuse()
    running.kill()
    running.communicate(timeout=20)
    until(lambda: (spill / "b.jsonl").exists(), 15)
    proxy.accept()
    until(lambda: bool(server.of("batch_failed")), 60)
    assert [kind for kind, _ in _ends(server)] == ["job_failed", "batch_failed"]
    until(lambda: _watchdogs() == [], 20)
    assert not list(spill.glob("b.jsonl*"))


def test_it_leaves_what_is_on_disk_to_the_next_run_if_the_setting_says_so(
    server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    running = _start(proxy.url, "time.sleep(600)", SVC_SEND_AFTER_END_S="0")
    proxy.refuse()
    running.kill()
    running.communicate(timeout=20)
    until(lambda: _watchdogs() == [], 20)
    assert [event["event_type"] for event in lines_of(spill / "b.jsonl")] == ["job_failed", "batch_failed"]


def test_a_run_that_ends_after_its_script_closed_all_files_is_not_reported_as_dead(server: FakeIngest) -> None:
    close = "from svc_reporter._process import watchdog; os.close(watchdog._connection._socket.fileno())"
    _, stderr = _start(server.url, close).communicate(timeout=20)
    until(lambda: _watchdogs() == [], 15)
    assert stderr == ""
    assert server.types()[-2:] == ["job_done", "batch_done"]


def test_it_can_be_switched_off(server: FakeIngest) -> None:
    running = _start(server.url, "time.sleep(600)", SVC_WATCHDOG="0")
    assert _watchdogs() == []
    running.kill()
    running.communicate(timeout=20)
