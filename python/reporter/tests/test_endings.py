"""Every way in which a training ends, against the real service: status, reason, and at most 20 s until it says so."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from svc_reporter._shared.errors import STOPPED_STATUS
from svc_reporter._shared.tuning import Tuning

from .kit import process
from .kit.fault_proxy import FaultProxy
from .kit.real_server import RealServer
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

README = Path(__file__).resolve().parents[1] / "README.md"

BODY = """
run = svc.Reporter("endings", batch_id=os.environ["BATCH"], resources_s=0, heartbeat_s=0)
def work():
    END
with run, run.job("a") as job:
    job.epoch(0, train_loss=1.0)
    run.flush(10)
    print("ready", flush=True)
    work()
"""
LOOSE = BODY.replace('with run, run.job("a") as job:', "job = run.job('a')\nif True:")
FAILED = "failed"


def _ending(server: RealServer, body: str, end: str, number: int | None = None) -> tuple[dict[str, Any], int, float]:
    """The batch as the service shows it once it is over, the exit status, and the seconds that it took to be so."""
    batch = f"end-{secrets.token_hex(6)}"
    env = {"BATCH": batch, "SVC_URL": server.url, "SVC_TOKEN": server.token, "SVC_WATCHDOG": "1"}
    running = process.script(body.replace("END", end), env)
    assert running.stdout is not None
    ready = running.stdout.readline()
    assert ready == "ready\n", running.communicate()[1]
    if number is not None:
        running.send_signal(number)
    running.wait(30)
    begin = time.monotonic()
    while True:
        found = server.call("GET", f"/api/batches/{batch}")
        took_s = time.monotonic() - begin
        if found["status"] != "running" or took_s > 20:
            running.communicate()
            return found, running.returncode, took_s
        time.sleep(0.1)


WAIT = "time.sleep(600)"
WAIT_FOR_CUT = """    while not os.path.exists(os.environ["CUT"]):
        time.sleep(0.02)
    work()"""


SUDDEN = "by the watchdog"
"""In place of words: the watchdog gives the reason."""


def _is_reason(reason: str | None, words: str | None, number: int | None) -> bool:
    if words is None or not reason:
        return words is None and not reason
    if words is not SUDDEN:
        return words in reason
    # Before Linux 6.15 the kernel forgets the signal once the parent has collected the status.
    by_signal = number is not None and reason == f"terminated by {signal.Signals(number).name}"
    return by_signal or re.match(r"process \d+ ended ", reason) is not None


ENDINGS: list[tuple[str, int | None, str, int, str | None]] = [
    ("return", None, "completed", 0, None),
    ("raise RuntimeError('no more data')", None, FAILED, 1, "RuntimeError: no more data"),
    ("raise MemoryError", None, FAILED, 1, "MemoryError"),
    ("sys.exit(2)", None, FAILED, 2, "2"),
    ("sys.exit(0)", None, "completed", 0, None),
    (WAIT, signal.SIGINT, FAILED, -2, "KeyboardInterrupt"),
    (WAIT, signal.SIGTERM, FAILED, -15, "SIGTERM"),
    (WAIT, signal.SIGHUP, FAILED, -1, SUDDEN),
    (WAIT, signal.SIGUSR1, FAILED, -10, SUDDEN),
    (WAIT, signal.SIGQUIT, FAILED, -3, SUDDEN),
    (WAIT, signal.SIGUSR2, FAILED, -12, SUDDEN),
    (WAIT, signal.SIGXCPU, FAILED, -24, SUDDEN),
    (WAIT, signal.SIGKILL, FAILED, -9, SUDDEN),
    (WAIT, signal.SIGSEGV, FAILED, -11, SUDDEN),
    ("os._exit(0)", None, FAILED, 0, SUDDEN),
    ("os._exit(3)", None, FAILED, 3, SUDDEN),
    (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); bytearray(1 << 31)",
        None,
        FAILED,
        1,
        "MemoryError",
    ),
]
"""What happens in the training, the signal that it gets, and then: status, exit status, words of the reason."""


@pytest.mark.parametrize(("end", "number", "status", "code", "words"), ENDINGS)
def test_a_run_ends_as_its_process_does(
    real_server: RealServer, end: str, number: int | None, status: str, code: int, words: str | None
) -> None:
    batch, returncode, took_s = _ending(real_server, BODY, end, number)
    assert (batch["status"], returncode) == (status, code)
    assert took_s <= 20
    assert _is_reason(batch["failure_reason"], words, number), batch["failure_reason"]


@pytest.mark.parametrize(
    ("end", "number", "status", "words"),
    [
        ("return", None, "completed", None),
        ("raise RuntimeError('no more data')", None, FAILED, "RuntimeError: no more data"),
        (WAIT, signal.SIGTERM, FAILED, "SIGTERM"),
        (WAIT, signal.SIGKILL, FAILED, SUDDEN),
    ],
)
def test_a_run_that_ends_without_a_network_has_ended_so_once_its_spill_file_is_sent(
    real_server: RealServer, tmp_path: Path, end: str, number: int | None, status: str, words: str | None
) -> None:
    proxy = FaultProxy(real_server.url)
    cut = tmp_path / "cut"
    batch = f"offline-{secrets.token_hex(6)}"
    env = {"BATCH": batch, "SVC_URL": proxy.url, "SVC_TOKEN": real_server.token, "SVC_WATCHDOG": "1", "CUT": str(cut)}
    try:
        body = BODY.replace("    work()", WAIT_FOR_CUT).replace("END", end)
        running = process.script(body, env)
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        proxy.refuse()
        cut.touch()
        if number is not None:
            running.send_signal(number)
        running.wait(60)
        running.communicate()
        assert real_server.call("GET", f"/api/batches/{batch}")["status"] == "running"
        spill = Path(os.environ["HOME"]) / ".svc-reporter" / f"{batch}.jsonl"
        until(lambda: spill.exists() and b'"batch_' in spill.read_bytes(), 20)
        sync = {**os.environ, "PYTHONPATH": str(process.SOURCE), "SVC_URL": real_server.url}
        sync["SVC_TOKEN"] = real_server.token
        subprocess.run([sys.executable, "-m", "svc_reporter", "sync"], env=sync, timeout=60, check=True)
    finally:
        proxy.close()
    found = real_server.call("GET", f"/api/batches/{batch}")
    assert found["status"] == status
    assert _is_reason(found["failure_reason"], words, number), found["failure_reason"]


def _readme_row(beginning: str) -> str:
    (row,) = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {beginning}")]
    return row


def test_the_readme_names_the_signals_that_are_tried_here() -> None:
    tried = [(signal.Signals(number).name, words) for _, number, _, _, words in ENDINGS if number is not None]
    caught = {name for name, words in tried if words == name}
    sudden = {name for name, words in tried if words is SUDDEN}
    assert set(re.findall(r"SIG[A-Z]+\d?", _readme_row("the script raises, is interrupted"))) == caught
    assert set(re.findall(r"SIG[A-Z]+\d?", _readme_row("the process dies without ending its run"))) == sudden


def test_the_readme_has_the_configured_times_of_a_stop() -> None:
    row, tuning = _readme_row("a user presses Stop"), Tuning()
    for words in (
        f"for {tuning.interrupt_s:.0f} s ({tuning.interrupt_ranks_s:.0f} s with several ranks)",
        f"waits in a collective operation for {tuning.stuck_rank_s:.0f} s",
        f"exit status {STOPPED_STATUS}",
    ):
        assert words in row
    backoff = ", ".join(f"{wait_s:g}" for wait_s in tuning.backoff_s)
    assert f"three retries ({backoff} s)" in _readme_row("the service cannot be reached")
    assert f"send their counts with `flush()` and every {tuning.counts_s:.0f} s" in README.read_text(encoding="utf-8")


EAT = "held = [bytearray(os.urandom(1 << 20)) for _ in range(4096)]"


def test_a_run_killed_for_memory_by_its_control_group_has_that_reason(real_server: RealServer) -> None:
    """Where no control group can be made, the limit of the process has to do: then Python itself says it."""
    group = Path(f"/sys/fs/cgroup/memory/svc-test-{secrets.token_hex(6)}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(192 << 20))
    except OSError:
        limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
        batch, _, _ = _ending(real_server, BODY, limit + EAT)
        assert (batch["status"], "MemoryError" in batch["failure_reason"]) == (FAILED, True)
        return
    try:
        enter = f'open("{group}/cgroup.procs", "w").write(str(os.getpid()))\n'
        batch, returncode, took_s = _ending(real_server, enter + BODY, EAT)
        assert (batch["status"], returncode) == (FAILED, -signal.SIGKILL)
        assert "out of memory: the control group counted an oom kill" in batch["failure_reason"]
        assert took_s <= 20
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    deadline = time.monotonic() + 15
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):  # the watchdog is still in it
            group.rmdir()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [("return", "completed", 0), ("sys.exit(2)", FAILED, 2), ("raise ValueError('bad')", FAILED, 1)],
)
def test_a_run_without_a_context_ends_as_its_process_does(
    real_server: RealServer, end: str, status: str, code: int
) -> None:
    batch, returncode, _ = _ending(real_server, LOOSE, end)
    assert (batch["status"], returncode) == (status, code)


@pytest.mark.parametrize(
    "loop",
    [
        "time.sleep(600)",
        "while True: run.log('step'); time.sleep(0.01)",
        "while True: job.epoch(1, train_loss=1.0); time.sleep(0.01)",
        "while True: sum(range(100))",
    ],
)
def test_a_stop_ends_a_run_of_any_kind_as_stopped_within_20_s(real_server: RealServer, loop: str) -> None:
    batch = f"stop-{secrets.token_hex(6)}"
    env = {"BATCH": batch, "SVC_URL": real_server.url, "SVC_TOKEN": real_server.token}
    body = BODY.replace("resources_s=0", "resources_s=0, stop_poll_s=2")
    quick = "_tuning.DEFAULT = dataclasses.replace(_tuning.DEFAULT, interrupt_s=2.0)\n"
    running = process.script(quick + body.replace("END", loop), env)
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    real_server.call("POST", f"/api/batches/{batch}/stop", {})
    assert running.wait(20) == 143
    _, err = running.communicate()
    assert "Traceback" not in err
    assert f"stop of batch {batch} was requested" in err
    assert real_server.call("GET", f"/api/batches/{batch}")["status"] == "stopped"
