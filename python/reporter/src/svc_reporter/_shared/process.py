"""Identifies a process, its machine and its user.

The system reuses pids, but not a pid with its start time within one boot.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class ProcessIdentity:
    pid: int
    start_time: str | None
    """Linux: clock ticks from boot (field 22 of /proc/PID/stat). Windows: 100 ns since 1601. None elsewhere."""
    boot_id: str | None
    """Changes with every boot of the machine; None without /proc."""

    @staticmethod
    def of(pid: int) -> ProcessIdentity:
        return ProcessIdentity(pid, start_time(pid), boot_id())

    @staticmethod
    def own() -> ProcessIdentity:
        return ProcessIdentity.of(os.getpid())

    @staticmethod
    def from_data(data: Any) -> ProcessIdentity | None:
        """None for anything but an object with a positive `pid` and text or null in the other two."""
        if not isinstance(data, dict):
            return None
        pid, start, boot = data.get("pid"), data.get("start_time"), data.get("boot_id")
        if isinstance(pid, bool) or not isinstance(pid, int) or pid <= 0:
            return None
        if not isinstance(start, (str, type(None))) or not isinstance(boot, (str, type(None))):
            return None
        return ProcessIdentity(pid, start, boot)

    def as_data(self) -> dict[str, Any]:
        """`{pid, start_time, boot_id}`, as `batch_start` and the record of a run have it."""
        return {"pid": self.pid, "start_time": self.start_time, "boot_id": self.boot_id}

    def is_alive(self) -> bool | None:
        """Whether this process still runs; None if this machine cannot tell. A zombie counts as ended."""
        if self.boot_id is not None and boot_id() not in (None, self.boot_id):
            return False
        if has_proc():
            found = _stat(self.pid)
            if found is None or found[0] in "ZX":
                return False
            return None if self.start_time is None else found[19] == self.start_time
        if sys.platform == "win32":
            alive, started = _windows_process(self.pid)
            if alive and started and self.start_time:
                return started == self.start_time
            return False if alive is False else None
        return _pid_is_used(self.pid)


def working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted under the process
        return os.environ.get("PWD", "")


def has_proc() -> bool:
    return _BOOT_ID.exists()


def boot_id() -> str | None:
    try:
        return _BOOT_ID.read_text("ascii").strip() or None
    except OSError:
        return None


def start_time(pid: int) -> str | None:
    """The start time of a process; None if there is no such process, or if the system does not provide it (macOS)."""
    if sys.platform == "win32":
        return _windows_process(pid)[1]
    fields = _stat(pid)
    return None if fields is None else fields[19]


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on. The second, the program's name, may hold any character."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return fields if len(fields) > 19 else None


def _windows_process(pid: int) -> tuple[bool | None, str | None]:
    from . import windows

    return windows.process(pid)


def _pid_is_used(pid: int) -> bool | None:
    """Without start times: False if no process has the pid, else None, because another process may have it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return None
    return None


def hostname() -> str:
    try:
        return socket.gethostname() or "unknown"
    except OSError:
        return "unknown"


def user_name() -> str:
    for name in ("USER", "LOGNAME", "USERNAME"):
        value = os.environ.get(name)
        if value:
            return value
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, OSError):
        return "unknown"
