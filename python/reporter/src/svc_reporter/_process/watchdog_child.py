"""The watchdog process: waits until the training's process ends, then ends its open runs. See watchdog.py.

Run as a script: `python -S watchdog_child.py PID START_TIME`. Standard input is a socket on which the training sends,
as one JSON object per line, which runs and jobs are open. The script imports most modules only when they are needed.

After the training's death it has SEND_S seconds, up to an alarm, to send the ends of jobs and batches, or to write them
to disk. After a run with events on disk, however it ended, it sends these, at low priority, for up to
SVC_SEND_AFTER_END_S seconds. SIGTERM ends it then: a Slurm step or a container waits for every process in it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections import deque
from typing import Any

if not __package__:  # as a script: the folder of the package, after the standard library
    sys.path[0:1] = []
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

SEND_S = 8.0
_TICK_S = 1.0
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_STDERR_LINES = 20
_IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGTSTP", "SIGPIPE")
"""Signals for the process group, which are meant for the training."""


class RunState:
    """What the training has reported about one of its runs."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.began = time.time()
        self.start: dict[str, Any] | None = facts.get("start")
        """The data of `batch_start`, until the training has encoded that event."""
        self.jobs: dict[str, float] = {}
        """Open jobs, with the Unix time of their start."""
        self.job_starts: dict[str, tuple[float, dict[str, Any]]] = {}
        """The data of each `job_start` that the training has not encoded yet, with its Unix time."""
        self.encoded: dict[str, dict[str, str]] = {}
        """By event id: encoded starts and early events that are neither stored by the service nor spilled."""
        self.n_done = self.n_failed = 0
        self.stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        """The last lines that the training wrote to stderr."""
        self.stopping = self.closing = False
        self.failure: str | None = None

    def apply(self, message: dict[str, Any]) -> None:
        """Update the state from one message of _watchdog.WatchedRun."""
        if "job" in message:
            self.jobs[message["job"]] = time.time()
            if message.get("start") is not None:
                self.job_starts[message["job"]] = (time.time(), message["start"])
        elif "encoded" in message:
            self._add_encoded(message["encoded"])
        elif "safe" in message:
            for event_id in message["safe"]:
                self.encoded.pop(event_id, None)
        elif "job_end" in message:
            self.jobs.pop(message["job_end"], None)
            if message["done"]:
                self.n_done += 1
            else:
                self.n_failed += 1
        elif "stderr" in message:
            self.stderr.append(message["stderr"])
        elif "stopping" in message:
            self.stopping = True
        elif "closing" in message:
            self.closing, self.failure = True, message["failure"]

    def _add_encoded(self, event: dict[str, str]) -> None:
        self.encoded[event["id"]] = event
        if event["type"] == "batch_start":
            self.start = None
        elif event["type"] == "job_start":
            self.job_starts.pop(str(json.loads(event["line"])["job_id"]), None)


class Parent:
    """The training's process."""

    def __init__(self, pid: int, start_time: str) -> None:
        self.pid = pid
        self._start_time = start_time
        self.handle: int | None = None
        """A pidfd, readable once the process has ended (Linux 5.3); None elsewhere."""
        self._stat: int | None = None
        try:
            self.handle = os.pidfd_open(pid)  # type: ignore[attr-defined,unused-ignore]  # not on macOS
        except (AttributeError, OSError):
            pass
        try:
            self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        except OSError:
            pass

    def is_alive(self) -> bool:
        if self.handle is not None:
            return not select.select([self.handle], [], [], 0)[0]
        fields = self._fields()
        if fields is not None:
            return fields[0] not in "ZX" and self._start_time in ("", fields[19])
        if os.path.exists("/proc/self/stat"):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        return True

    def describe_end(self) -> str:
        """How the process ended."""
        code = self._exit_code()
        if code is None:
            return f"process {self.pid} ended unexpectedly, as by SIGKILL or os._exit"
        if code & 127:
            try:
                return f"terminated by {signal.Signals(code & 127).name}"
            except ValueError:
                return f"terminated by signal {code & 127}"
        return f"process {self.pid} ended with exit status {code >> 8} without closing its run"

    def _exit_code(self) -> int | None:
        """The status as `wait` returns it; None if it is unknown.

        /proc has it only until the parent has collected it; the pidfd also after that (Linux 6.15).
        """
        fields = self._fields()
        if fields is not None and fields[0] in "ZX" and len(fields) > 49 and fields[49].isdigit():
            return int(fields[49])
        if self.handle is None:
            return None
        try:
            import fcntl
            import struct

            info = bytearray(64)  # struct pidfd_info of linux/pidfd.h
            struct.pack_into("=Q", info, 0, _PIDFD_INFO_EXIT)
            fcntl.ioctl(self.handle, _PIDFD_GET_INFO, info)
            (mask,) = struct.unpack_from("=Q", info, 0)
            return int(struct.unpack_from("=i", info, 60)[0]) if mask & _PIDFD_INFO_EXIT else None
        except (ImportError, OSError, ValueError):
            return None

    def _fields(self) -> list[str] | None:
        """The fields of /proc/PID/stat from the third on; None if it cannot be read.

        The descriptor was opened at the start, so it never refers to a later process with the same pid.
        """
        if self._stat is None:
            return None
        try:
            return os.pread(self._stat, 4096, 0).decode("utf-8", "replace").rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            return None


def _send_rest(unsent: list[dict[str, Any]], parent: Parent) -> int:
    if unsent:
        from svc_reporter._process.send_rest import send_rest

        send_rest(unsent, parent.is_alive)
    return 0


def main(pid: int, start_time: str) -> int:
    if os.fork():
        os._exit(0)  # detach: the training must not see a child process that it did not start
    for name in _IGNORED:
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_IGN)
    parent = Parent(pid, start_time)
    kills = oom_kills()
    runs: dict[str, RunState] = {}
    leases: dict[str, dict[str, Any]] = {}
    unsent: list[dict[str, Any]] = []
    """Facts of runs that have ended and left events or files on disk."""
    buffer = b""
    listening = True
    while True:
        waits = [parent.handle] if parent.handle is not None else []
        ready = select.select([0, *waits] if listening else waits, [], [], _TICK_S)[0]
        if listening and 0 in ready:
            data = _receive()
            listening = data != b""
            buffer = _read_messages(runs, leases, unsent, buffer + data)
            if data:
                continue  # read all messages before checking for the end
        if not runs and not leases and not listening:
            return _send_rest(unsent, parent)
        if not parent.is_alive():
            break
        _renew(leases)
    cause = parent.describe_end()
    while listening:
        data = _receive() if select.select([0], [], [], 0)[0] else b""
        listening = data != b""
        buffer = _read_messages(runs, leases, unsent, buffer + data)
    if not runs:
        return _send_rest(unsent, parent)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, SEND_S + 1)
    after = oom_kills()
    if kills is not None and after is not None and after > kills:
        cause += " (out of memory: the control group counted an oom kill)"
    from svc_reporter._process.crash_report import has_ended, has_unsent, send_crash_report

    deadline = time.monotonic() + SEND_S
    for run in runs.values():
        if not has_ended(run, pid):
            send_crash_report(run, cause, deadline)
    signal.setitimer(signal.ITIMER_REAL, 0)
    unsent.extend(run.facts for run in runs.values() if has_unsent(run.facts))
    return _send_rest(unsent, parent)


def oom_kills() -> float | None:
    """How many processes of the training's control group the kernel killed for lack of memory; None if unknown."""
    try:
        with open("/proc/self/cgroup", encoding="ascii", errors="replace") as file:
            groups = [line.strip().split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, path in (group for group in groups if len(group) == 3):
        if controllers not in ("", "memory"):
            continue
        for root, name in (("/sys/fs/cgroup", "memory.events"), ("/sys/fs/cgroup/memory", "memory.oom_control")):
            # Inside a container the control group is the root.
            for folder in (root + path.rstrip("/"), root):
                try:
                    with open(f"{folder}/{name}", encoding="ascii", errors="replace") as file:
                        counts = dict(line.split(None, 1) for line in file if " " in line)
                    return float(counts["oom_kill"])
                except (OSError, KeyError, ValueError):
                    continue
    return None


def _receive() -> bytes:
    try:
        return os.read(0, 65536)
    except InterruptedError:
        return b" "
    except OSError:
        return b""


def _renew(leases: dict[str, dict[str, Any]]) -> None:
    """Keep the trials of the training, so that no other worker gets them."""
    for key, lease in list(leases.items()):
        if time.monotonic() >= lease.setdefault("due", time.monotonic() + lease["lease_s"] / 4):
            from svc_reporter._process.crash_report import send_lease

            del lease["due"]
            if not send_lease(lease):
                del leases[key]


def _read_messages(
    runs: dict[str, RunState], leases: dict[str, dict[str, Any]], unsent: list[dict[str, Any]], buffer: bytes
) -> bytes:
    """Apply the complete lines of `buffer` to `runs`, `leases` and `unsent`; returns the incomplete rest."""
    *lines, rest = buffer.split(b"\n")
    for line in lines:
        try:
            message = json.loads(line)
            if "open" in message:
                runs[message["open"]] = RunState(message)
                if message.get("keep"):
                    leases[message["open"]] = {**message, **message["keep"]}
            elif "hold" in message:
                leases[message["hold"]] = message
            elif "drop" in message:
                leases.pop(message["drop"], None)
            elif "close" in message:
                leases.pop(message["close"], None)
                closed = runs.pop(message["close"], None)
                if closed is not None and message["unsent"]:
                    unsent.append(closed.facts)
            elif message["run"] in runs:
                runs[message["run"]].apply(message)
        except (ValueError, KeyError, TypeError):
            continue
    return rest


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2]))
