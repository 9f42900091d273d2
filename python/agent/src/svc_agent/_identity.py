"""Identifies a process: the system reuses pids, but not a pid with its start time within one boot."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Identity:
    pid: int
    start_time: str
    """In units of the kernel; only compared for equality."""
    boot_id: str

    @staticmethod
    def of(pid: int) -> Identity | None:
        """The identity of a running process; None if it has ended."""
        started = _start_time(pid)
        return None if started is None else Identity(pid, started, boot_id())

    @staticmethod
    def from_json(data: Any) -> Identity:
        return Identity(int(data["pid"]), str(data["start_time"]), str(data["boot_id"]))

    def is_alive(self) -> bool:
        return self.boot_id == boot_id() and _start_time(self.pid) == self.start_time


def boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return _output_of("sysctl", "-n", "kern.boottime") or "unknown"


def members_of_session(session: int) -> list[int]:
    """Pids of a session, including other process groups. Empty except on Linux."""
    found: list[int] = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            fields = _stat(int(name))
            if fields is not None and fields[3] == str(session):
                found.append(int(name))
    return found


def descendants_of(pid: int) -> list[int]:
    """Pids of all descendants. Empty except on Linux."""
    parents: dict[int, int] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        fields = _stat(int(name)) if name.isdigit() else None
        if fields is not None:
            parents[int(name)] = int(fields[1])
    found = [pid]
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor and child not in found]
    return found[1:]


def has_process_of_command(cmd_id: str) -> bool:
    """Whether a process of this command runs in any session, such as its reporter's watchdog."""
    mark = f"SVC_CMD_ID={cmd_id}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def start_time_of(pid: int) -> str | None:
    """The start time; None for a process that has ended, including a zombie."""
    return _start_time(pid)


def _start_time(pid: int) -> str | None:
    """The start time; None for a process that has ended, including a zombie."""
    if not _BOOT_ID.exists():
        return _output_of("ps", "-o", "lstart=", "-p", str(pid)) or None
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else fields[19]


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on. The second, the name, may contain any character."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def _output_of(*command: str) -> str:
    """The output of a command; empty if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
