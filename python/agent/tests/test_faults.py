"""Processes killed at any moment: nothing is started twice, and every report is true."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from .kit.host import Host
from .kit.real_server import Service
from .kit.wait import until

COUNTED = 'echo "$SVC_CMD_ID" >> started; sleep {seconds}; echo "$SVC_CMD_ID" >> finished'
GATED = 'echo "$SVC_CMD_ID" >> started; until [ -e go ]; do sleep 0.05; done; echo "$SVC_CMD_ID" >> finished'
"""Ends after `let_end`, so that no slow machine ends it before a test has seen it run."""


def let_end(host: Host) -> None:
    (host.work / "go").touch()


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def own_service(service_folder: Path) -> Iterator[Service]:
    """One that the test may kill."""
    folder = service_folder / "own"
    folder.mkdir(mode=0o755)
    service = Service(folder)
    yield service
    service.stop()


@pytest.mark.slow
def test_a_daemon_that_is_killed_at_any_moment_of_a_start_starts_each_command_exactly_once(host: Host) -> None:
    batch = host.ran(COUNTED.format(seconds="0.3"))
    cmd_ids = [host.service.rerun(host.person, batch) for _ in range(8)]
    for attempt in range(16):
        host.run("--max-concurrent", "8")
        # From before its first poll until well after the processes began.
        time.sleep(0.12 + 0.04 * attempt)
        host.kill()
    host.run("--max-concurrent", "8")
    for cmd_id in cmd_ids:
        command = host.until_state(batch, cmd_id, "done", "failed")
        # Killed between the shim's mark and its process: unknown, so it is reported as unknown and never started again.
        assert (command["state"], command["failure_reason"]) in (("done", None), ("failed", "start_unknown"))
    started = lines(host.work / "started")
    assert len(started) == len(set(started))
    assert sorted(started) == sorted(lines(host.work / "finished"))
    done = [c for c in cmd_ids if host.service.command(host.person, batch, c)["state"] == "done"]
    assert sorted(done) == sorted(started)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_outlive_the_daemon_and_the_next_one_reports_how_they_ended(
    host: Host, number: signal.Signals
) -> None:
    host.run()
    batch, cmd_id = host.rerun(GATED + "; exit 5")
    host.until_state(batch, cmd_id, "in_flight")
    assert host.kill(number) == (0 if number is signal.SIGTERM else -signal.SIGKILL)
    let_end(host)
    until(lambda: lines(host.work / "finished"), "for the process to go on")
    host.run()
    assert host.until_state(batch, cmd_id, "failed")["exit_code"] == 5
    assert lines(host.work / "started") == [cmd_id]


def test_a_process_that_runs_still_is_adopted_and_can_be_stopped(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun("sleep 600")
    pid = host.until_state(batch, cmd_id, "in_flight")["pid"]
    host.kill()
    host.run()
    until(lambda: "adopted" in [step["step"] for step in host.service.timeline(host.person, batch)], "for its adoption")
    os.killpg(pid, signal.SIGTERM)
    assert host.until_state(batch, cmd_id, "failed")["exit_code"] == 143


def test_a_killed_process_is_reported_with_its_signal(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun("echo so far; exec sleep 600")
    pid = host.until_state(batch, cmd_id, "in_flight")["pid"]
    os.kill(pid, signal.SIGKILL)
    found = host.until_state(batch, cmd_id, "failed")
    assert (found["exit_code"], found["failure_reason"], found["output_tail"]) == (137, None, "so far\n")


def test_a_process_whose_shim_was_killed_keeps_running_and_its_end_is_reported_without_an_exit_code(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun("echo before; until [ -e go ]; do sleep 0.05; done; echo after; touch through")
    pid = host.until_state(batch, cmd_id, "in_flight")["pid"]
    os.kill(_parent(pid), signal.SIGKILL)
    let_end(host)
    found = host.until_state(batch, cmd_id, "failed")
    assert (found["exit_code"], found["failure_reason"]) == (None, "process_lost")
    assert (host.work / "through").exists()
    assert found["output_tail"].split() == ["before", "after"]


def test_after_a_reboot_nothing_is_started_again_and_a_reused_pid_is_not_mistaken_for_the_process(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun(COUNTED.format(seconds="600"))
    pid = host.until_state(batch, cmd_id, "in_flight")["pid"]
    host.kill()
    os.kill(_parent(pid), signal.SIGKILL)
    # As a reboot leaves it: another boot id, and under the old pid some other process.
    record = host.runs / cmd_id / "child.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "boot_id": "the boot before"}))
    host.run()
    found = host.until_state(batch, cmd_id, "failed")
    assert (found["exit_code"], found["failure_reason"]) == (None, "host_rebooted")
    os.kill(pid, 0)
    assert lines(host.work / "started") == [cmd_id]


@pytest.mark.slow
def test_results_of_commands_during_an_outage_of_the_service_are_reported_once_it_is_back(
    own_service: Service, make_host: Callable[[Service], Host]
) -> None:
    host = make_host(own_service)
    host.register()
    host.run()
    batch, cmd_id = host.rerun(GATED)
    waiting, waiting_id = host.rerun(COUNTED.format(seconds="0"), None)
    host.until_state(waiting, waiting_id, "done", "in_flight")
    host.until_state(batch, cmd_id, "in_flight")
    own_service.kill()
    let_end(host)
    until(lambda: host.record(cmd_id, "exit.json"), "for the process to end")
    until(lambda: list((host.folder / "spool").glob("*.json")), "for the result to be spooled")
    # The result outlives the daemon too.
    host.kill()
    own_service.start()
    host.run()
    assert host.until_state(batch, cmd_id, "done")["exit_code"] == 0
    assert sorted(lines(host.work / "started")) == sorted([cmd_id, waiting_id])
    until(lambda: not list((host.folder / "spool").glob("*.json")), "for the spool to be empty")


def test_a_revoked_agent_exits_with_77_at_its_next_poll_and_its_process_keeps_running(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun(GATED)
    host.until_state(batch, cmd_id, "in_flight")
    agent_id = host.token_file()["agent_id"]
    host.service.ok("DELETE", f"/api/hosts/{agent_id}", host.person.session)
    assert host.ended() == 77
    assert "does not accept this agent's token" in host.log()
    let_end(host)
    until(lambda: lines(host.work / "finished") == [cmd_id], "for the process to go on")
    command = host.service.command(host.person, batch, cmd_id)
    assert (command["state"], command["failure_reason"]) == ("failed", "agent_revoked")


def test_registering_the_host_again_ends_the_old_daemon_and_the_new_one_adopts_its_processes(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun(GATED)
    host.until_state(batch, cmd_id, "in_flight")
    before = host.token_file()
    after = host.register()
    assert (before["agent_id"], before["agent_token"] == after["agent_token"]) == (after["agent_id"], False)
    assert host.ended() == 77
    host.run()
    let_end(host)
    assert host.until_state(batch, cmd_id, "done")["exit_code"] == 0
    assert lines(host.work / "started") == [cmd_id]


@pytest.mark.slow
def test_times_are_those_of_the_clock_of_the_database_even_if_the_service_is_hours_ahead(
    service_folder: Path, make_host: Callable[[Service], Host], request: pytest.FixtureRequest
) -> None:
    folder = service_folder / "skewed"
    folder.mkdir(mode=0o755)
    ahead = (
        "const D = Date, by = 3 * 3600e3; globalThis.Date = class extends D {"
        " constructor(...a) { if (a.length) super(...a); else super(D.now() + by) }"
        " static now() { return D.now() + by } }"
    )
    service = Service(folder, node_options=("--import", f"data:text/javascript,{quote(ahead)}"))
    request.addfinalizer(service.stop)
    host = make_host(service)
    host.register()
    host.run()
    batch, cmd_id = host.rerun("sleep 1")
    host.until_state(batch, cmd_id, "done")
    steps = service.timeline(host.person, batch)
    assert [s["step"] for s in steps] == ["requested", "delivered", "acknowledged", "started", "exited"]
    at = {s["step"]: _seconds(s["at"]) for s in steps}
    assert 0.5 < at["exited"] - at["started"] < 20
    assert abs(at["started"] - time.time()) < 600


def _seconds(text: str) -> float:
    whole, _, fraction = text.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(f"0.{fraction or 0}")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
