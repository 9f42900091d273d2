"""Endings and stops of runs that people start themselves, seen by the real agent, reporter and service together.

The column "with agent" of the matrix; the column without is python/reporter/tests/test_endings.py.
"""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from .kit.cable import Cable
from .kit.host import Host
from .kit.real_server import Service
from .kit.wait import until

REPORTER = Path(__file__).resolve().parents[2] / "reporter" / "src"
MAX_S = 20.0
"""So long after an end the service shows it."""
WAIT = "time.sleep(600)"
TRAIN = """
import os, sys, time
if os.environ.get("GROUP"):
    open(os.environ["GROUP"] + "/cgroup.procs", "w").write(str(os.getpid()))
import svc_reporter as svc
options = {"stop_poll_s": 2, "heartbeat_s": 0, "resources_s": 0, "stop": os.environ.get("STOP", "interrupt")}
with svc.Reporter(os.environ["BATCH"], batch_id=os.environ["BATCH"], **options) as run, run.job("a") as job:
    job.epoch(0, train_loss=1.0)
    assert run.flush(30)
    print("ready", flush=True)
    END
"""


class Run:
    """A training that someone started on the host, past its first epoch, in a project of its own."""

    def __init__(self, host: Host, end: str, **env: str) -> None:
        self._host = host
        self.batch = f"end-{secrets.token_hex(6)}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAIN.replace("END", end)],
            env={
                **host.env(SVC_URL=host.url, SVC_TOKEN=host.person.reporter, BATCH=self.batch),
                "PYTHONPATH": str(REPORTER),
                **env,
            },
            cwd=host.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=open(host.home / f"{self.batch}.err", "wb"),  # noqa: SIM115 - the process keeps it
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.said()

    def said(self) -> str:
        return (self._host.home / f"{self.batch}.err").read_text("utf-8", "replace")[-3000:]

    def shown(self) -> dict[str, Any]:
        found = self._host.service.ok("GET", f"/api/batches/{self.batch}", self._host.person.session)
        assert isinstance(found, dict)
        return found

    def until_over(self) -> dict[str, Any]:
        """The batch, once the service does not show it as running; at most MAX_S from now."""
        until(lambda: self.shown()["status"] != "running", f"for {self.batch} to be over; {self.said()}", MAX_S)
        return self.shown()

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait(30) == -signal.SIGKILL


@pytest.fixture
def this_host(tmp_path: Path, shared_service: Service) -> Iterator[Host]:
    """Registered under the name by which reporters call this machine; its agent does not run yet."""
    host = Host(socket.gethostname(), tmp_path / "host", shared_service, shared_service.person())
    host.register()
    yield host
    host.close()


@pytest.fixture
def cable(shared_service: Service) -> Iterator[Cable]:
    made = Cable(shared_service.port)
    yield made
    made.cut()


@pytest.fixture
def cabled_host(tmp_path: Path, shared_service: Service, cable: Cable) -> Iterator[Host]:
    """The same, whose programs reach the service through a cable."""
    host = Host(socket.gethostname(), tmp_path / "cabled", shared_service, shared_service.person(), cable.url)
    host.register()
    yield host
    host.close()


@pytest.fixture
def start(this_host: Host) -> Iterator[Callable[..., Run]]:
    started: list[Run] = []

    def begin(end: str, host: Host = this_host, **env: str) -> Run:
        run = Run(host, end, **env)
        started.append(run)
        return run

    yield begin
    for run in started:
        run.process.kill()
        run.process.wait()
        assert run.process.stdout is not None
        run.process.stdout.close()


def test_a_killed_run_without_a_watchdog_is_lost_and_its_process_is_named(
    this_host: Host, start: Callable[..., Run]
) -> None:
    this_host.run()
    run = start(WAIT, SVC_WATCHDOG="0")
    run.kill()
    shown = run.until_over()
    assert shown["status"] == "lost"
    assert shown["failure_reason"].startswith(f"process {run.process.pid} ended unexpectedly")


@pytest.mark.parametrize("end", [WAIT, "os._exit(0)", "os.kill(os.getpid(), 11)"])
def test_the_end_reported_by_the_watchdog_is_kept_beside_an_agent(
    this_host: Host, start: Callable[..., Run], end: str
) -> None:
    this_host.run()
    run = start(end, SVC_WATCHDOG="1")
    if end == WAIT:
        run.kill()
    run.process.wait(30)
    shown = run.until_over()
    assert shown["status"] == "failed"
    known = {WAIT: "terminated by SIGKILL", "os.kill(os.getpid(), 11)": "terminated by SIGSEGV"}
    # What the watchdog says of an exit, and of a signal where the kernel forgets the status with the process.
    other = f"process {run.process.pid} ended "
    assert shown["failure_reason"].startswith((known.get(end, other), other))


@pytest.mark.parametrize("watchdog", [pytest.param("0", marks=pytest.mark.slow), "1"])
def test_ordinary_ends_are_not_made_lost_by_the_agent(
    this_host: Host, start: Callable[..., Run], watchdog: str
) -> None:
    this_host.run()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
    ends = {
        "pass": "completed",
        "raise RuntimeError('no more data')": "failed",
        "sys.exit(2)": "failed",
        limit + "bytearray(1 << 31)": "failed",
    }
    runs = {end: start(end, SVC_WATCHDOG=watchdog) for end in ends}
    for run in runs.values():
        run.process.wait(30)
    reasons = {signal.SIGTERM: "terminated by SIGTERM", signal.SIGINT: "KeyboardInterrupt"}
    if watchdog == "1":  # the reporter leaves these signals alone, so its watchdog reports the end
        reasons |= {number: f"terminated by {number.name}" for number in (signal.SIGHUP, signal.SIGUSR1)}
    signals = {number: start(WAIT, SVC_WATCHDOG=watchdog) for number in reasons}
    for number, run in signals.items():
        run.process.send_signal(number)
        shown = run.until_over()  # before the status is collected: an older kernel forgets it then
        assert run.process.wait(30) == -number
        assert (shown["status"], shown["failure_reason"]) == ("failed", reasons[number])
    # When the agent has reported one that died after all of them, it has judged them, too.
    killed = start(WAIT, SVC_WATCHDOG="0")
    killed.kill()
    assert killed.until_over()["status"] == "lost"
    assert {end: run.shown()["status"] for end, run in runs.items()} == ends
    assert {run.shown()["status"] for run in signals.values()} == {"failed"}


@pytest.mark.parametrize("watchdog", [pytest.param("0", marks=pytest.mark.slow), "1"])
def test_endings_behind_a_cut_network_are_shown_once_it_is_back(
    cabled_host: Host, cable: Cable, start: Callable[..., Run], watchdog: str, tmp_path: Path
) -> None:
    """The agent says which process is gone as soon as it can; what reporters wrote to disk comes with a `sync`."""
    cabled_host.run()
    cut = tmp_path / "cut"
    wait = f"while not os.path.exists({str(cut)!r}): time.sleep(0.02)"
    killed, returned, failed = [
        start(end, cabled_host, SVC_WATCHDOG=watchdog)
        for end in (WAIT, wait, f"{wait}\n    raise RuntimeError('no more data')")
    ]
    cable.cut()
    cut.touch()
    killed.kill()
    assert (returned.process.wait(60), failed.process.wait(60)) == (0, 1)
    time.sleep(4)  # more than what an agent waits before it reports a process as gone
    assert {run.shown()["status"] for run in (killed, returned, failed)} == {"running"}
    cable.plug_in()
    shown = killed.until_over()
    # A watchdog that still tries to send may be quicker than the agent.
    assert shown["status"] in (("lost", "failed") if watchdog == "1" else ("lost",))
    unexpected = f"process {killed.process.pid} ended unexpectedly"
    assert shown["failure_reason"].startswith((unexpected, "terminated by SIGKILL"))
    # The ends of the others are on this host's disk, and no agent calls them lost.
    assert {run.shown()["status"] for run in (returned, failed)} == {"running"}
    sync = [sys.executable, "-m", "svc_reporter", "sync"]
    env = cabled_host.env(SVC_URL=cabled_host.url, SVC_TOKEN=cabled_host.person.reporter)
    done = subprocess.run(sync, env={**env, "PYTHONPATH": str(REPORTER)}, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (returned.shown()["status"], failed.shown()["status"]) == ("completed", "failed")
    assert "no more data" in failed.shown()["failure_reason"]
    assert killed.shown()["status"] == ("failed" if watchdog == "1" else "lost")


EAT = "held = [bytearray(os.urandom(1 << 20)) for _ in range(4096)]"


@pytest.mark.parametrize(("watchdog", "status"), [("0", "lost"), ("1", "failed")])
def test_a_run_killed_for_memory_by_its_control_group_has_that_reason(
    this_host: Host, start: Callable[..., Run], watchdog: str, status: str
) -> None:
    """Where no control group can be made, the limit of the process has to do: then Python itself says it."""
    this_host.run()
    group = Path(f"/sys/fs/cgroup/memory/svc-test-{secrets.token_hex(6)}")
    try:
        group.mkdir()
    except OSError:
        limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
        shown = start(limit + EAT, SVC_WATCHDOG=watchdog).until_over()
        assert (shown["status"], "MemoryError" in shown["failure_reason"]) == ("failed", True)
        return
    try:
        (group / "memory.limit_in_bytes").write_text(str(192 << 20))
        go = this_host.work / "go"
        wait = f"while not os.path.exists({str(go)!r}): time.sleep(0.1)"
        run = start(f"{wait}\n    {EAT}", SVC_WATCHDOG=watchdog, GROUP=str(group))
        # The agent counts from when it first sees the process, and it looks once a second.
        ready = datetime.now(timezone.utc)
        until(
            lambda: _last_seen(this_host) > ready + timedelta(seconds=3), "for the agent to have seen the process", 60
        )
        go.touch()
        assert run.process.wait(60) == -signal.SIGKILL
        shown = run.until_over()
        assert shown["status"] == status
        assert "out of memory: the control group counted an oom kill" in shown["failure_reason"]
    finally:
        deadline = time.monotonic() + 15
        while group.exists() and time.monotonic() < deadline:
            try:
                group.rmdir()
            except OSError:  # the watchdog is still in it
                time.sleep(0.1)


@pytest.mark.parametrize("loop", [WAIT, "while True: sum(range(1000))"])
def test_a_stop_ends_a_cooperative_run_that_never_calls_through_the_agent(
    this_host: Host, start: Callable[..., Run], loop: str
) -> None:
    this_host.run()
    run = start(loop, STOP="cooperative")
    this_host.service.ok("POST", f"/api/batches/{run.batch}/stop", this_host.person.session, {})
    run.process.wait(MAX_S)
    shown = run.until_over()
    assert shown["status"] == "stopped"
    until(lambda: "exited" in _steps(this_host, run), "for the agent's result")
    assert [step for step in _steps(this_host, run) if step in ("sigterm", "sigkill")] == ["sigterm"]


@pytest.mark.slow
def test_a_run_whose_host_is_gone_stays_running_until_its_agent_is_back(
    this_host: Host, start: Callable[..., Run]
) -> None:
    """What only silence can say then, and after how long, is in test/life/life.test.ts."""
    this_host.run()
    run = start(WAIT, SVC_WATCHDOG="0")
    this_host.kill()
    run.kill()
    time.sleep(6)  # twice what an agent waits before it reports a process as gone
    assert run.shown()["status"] == "running"
    this_host.run()
    assert run.until_over()["status"] == "lost"


def _last_seen(host: Host) -> datetime:
    [shown] = host.service.ok("GET", "/api/hosts", host.person.session)["items"]
    return datetime.fromisoformat(shown["last_seen_at"].replace("Z", "+00:00"))


def _steps(host: Host, run: Run) -> list[str]:
    return [item["step"] for item in host.service.timeline(host.person, run.batch) if item["kind"] == "stop"]
