"""Runs that people started themselves: the agent reports their death, and stops them when it is asked to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from svc_agent._home import Registration, save_registration
from svc_agent._identity import Identity
from svc_agent._oom import OomKills

from .kit.fake_api import FakeService
from .kit.wait import until

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()
    yield fake
    fake.close()


@pytest.fixture
def start(tmp_path: Path, service: FakeService) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts an agent of the home folder tmp_path."""
    save_registration(tmp_path / ".svc-agent", Registration(service.url, "a", "token", 1.0))
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        quick = ("--poll-interval", "0.1", "--heartbeat-interval", "60", "--stop-grace", "1")
        agent = subprocess.Popen(
            [sys.executable, "-m", "svc_agent", "run", *quick, *arguments],
            env={**kept, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(agent)
        return agent

    yield begin
    for agent in started:
        agent.kill()
        agent.wait()


def _sleeper(script: str = "import time; time.sleep(600)") -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def _identity(process: subprocess.Popen[str]) -> dict[str, Any]:
    identity = Identity.of(process.pid)
    assert identity is not None
    return dict(identity.__dict__)


def _record(home: Path, batch: str, process: dict[str, Any], **more: Any) -> Path:
    runs = home / ".svc-reporter" / "runs"
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = runs / f"{batch}.json"
    path.write_text(json.dumps({"version": 1, "batch_id": batch, "ended_at": None, **process, **more}))
    path.chmod(0o600)
    return path


def test_the_death_of_a_recorded_process_is_reported_until_it_is_acknowledged_and_then_no_more(
    tmp_path: Path, service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = _sleeper()
    identity = _identity(process)
    _record(tmp_path, "b", identity)
    service.heartbeat_status = 503
    agent = start("--heartbeat-interval", "0.5")
    until(lambda: service.heard("heartbeat"))
    assert service.heard("heartbeat")[0]["ended"] == []
    process.kill()
    process.wait()
    until(lambda: any(body["ended"] for body in service.heard("heartbeat")))
    (entry,) = service.heard("heartbeat")[-1]["ended"]
    reason = entry.pop("reason")
    assert entry == {"batch_id": "b", **identity}
    assert reason.startswith(f"process {identity['pid']} ended unexpectedly")
    agent.kill()
    agent.wait()
    service.heartbeat_status = 204
    service.said.clear()
    second = start()
    until(lambda: any(body["ended"] for body in service.heard("heartbeat")))
    until(lambda: (tmp_path / ".svc-agent" / "ended.json").exists())
    service.said.clear()
    second.kill()
    second.wait()
    start("--heartbeat-interval", "0.2")
    until(lambda: len(service.heard("heartbeat")) >= 20)
    assert not any(body["ended"] for body in service.heard("heartbeat"))


def test_a_run_that_wrote_its_end_or_that_others_may_have_written_is_not_reported(
    tmp_path: Path, service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    gone = {"pid": 2**22 - 3, "start_time": "1", "boot_id": "another boot"}
    _record(tmp_path, "ended", gone, ended_at="2026-11-23T12:00:00.000Z")
    _record(tmp_path, "forged", gone).chmod(0o666)
    _record(tmp_path, "rebooted", gone)
    start()
    until(lambda: any(body["ended"] for body in service.heard("heartbeat")))
    (entry,) = [entry for body in service.heard("heartbeat") for entry in body["ended"]]
    assert entry["batch_id"] == "rebooted"
    assert "started again" in entry["reason"]


def _stop(process: dict[str, Any] | None) -> dict[str, Any]:
    return {"cmd_id": str(uuid.uuid4()), "kind": "stop", "batch_id": "b", "pid": 1, "process": process}


def test_a_process_started_by_hand_gets_sigterm_and_its_end_is_reported(
    service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = _sleeper()
    service.jobs = [_stop(_identity(process))]
    start()
    assert process.wait(20) == -signal.SIGTERM
    until(lambda: service.heard("result"))
    assert service.heard("ack") == [{"pid": process.pid}]
    assert [step["step"] for body in service.heard("steps") for step in body["steps"]] == ["sigterm"]
    assert service.heard("result")[0]["exit_code"] == 143


def test_one_that_does_not_listen_gets_sigkill_and_so_do_its_children(
    service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = _sleeper(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "if child: print(child, flush=True)\n"
        "time.sleep(600)"
    )
    assert process.stdout is not None
    child = Identity.of(int(process.stdout.readline()))
    assert child is not None
    service.jobs = [_stop(_identity(process))]
    start()
    assert process.wait(20) == -signal.SIGKILL
    until(lambda: not child.is_alive())
    until(lambda: service.heard("result"))
    assert [step["step"] for body in service.heard("steps") for step in body["steps"]] == ["sigterm", "sigkill"]


def test_another_process_with_the_same_number_is_left_alone(
    service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = _sleeper()
    service.jobs = [_stop({**_identity(process), "start_time": "1"}), _stop(None)]
    start()
    until(lambda: len(service.heard("ack")) == 2)
    assert service.heard("ack") == [{"failure_reason": "process_gone"}] * 2
    assert process.poll() is None
    process.kill()
    process.wait()


def test_an_agent_that_takes_over_continues_a_stop(
    tmp_path: Path, service: FakeService, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = _sleeper(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    )
    assert process.stdout is not None
    process.stdout.readline()
    service.jobs = [_stop(_identity(process))]
    agent = start("--stop-grace", "5")
    until(lambda: service.heard("steps"))
    agent.kill()
    agent.wait()
    service.jobs = []
    start("--stop-grace", "0.2")
    assert process.wait(20) == -signal.SIGKILL
    until(lambda: service.heard("result"))
    assert service.heard("result")[0]["exit_code"] == 137


def test_a_rise_of_the_control_groups_counter_of_oom_kills_is_seen(tmp_path: Path) -> None:
    group, proc = tmp_path / "cgroup" / "job", tmp_path / "proc" / "7"
    group.mkdir(parents=True)
    proc.mkdir(parents=True)
    (proc / "cgroup").write_text("0::/job\n")
    events = group / "memory.events"
    events.write_text("low 0\noom 1\noom_kill 2\n")
    kills = OomKills(tmp_path / "cgroup", tmp_path / "proc")
    kills.watch("same", 7)
    assert not kills.has_increased("same")
    kills.watch("b", 7)
    events.write_text("low 0\noom 2\noom_kill 3\n")
    assert kills.has_increased("b")
    assert not kills.has_increased("never watched")
