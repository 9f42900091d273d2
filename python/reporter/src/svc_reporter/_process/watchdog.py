"""Starts the watchdog: a small process that ends the runs of this process if it dies without closing them.

If events are still on disk when a run has ended, it sends them then, at low priority.

After SIGKILL, a segmentation fault, `os._exit` or an out-of-memory kill, a process cannot report anything itself. The
reporter sends the watchdog (see watchdog_child.py) over a socket pair which runs and jobs are open. The watchdog needs
no terminal and no port. SVC_WATCHDOG=0 switches it off.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .._delivery.queue import EncodedEvent
from .._shared.process import ProcessIdentity
from . import lifecycle

_CHILD = Path(__file__).with_name("watchdog_child.py")
_MAX_UNSENT = 1024 * 1024
_LINE_LIMIT = 1_000
_SEND_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0) | getattr(socket, "MSG_DONTWAIT", 0)
"""The training must get no SIGPIPE if the watchdog has ended, and must not wait if it is slow."""


def is_wanted() -> bool:
    return (
        sys.platform in ("linux", "darwin")
        and bool(sys.executable)
        and os.environ.get("SVC_WATCHDOG", "1").strip().lower() not in ("0", "no", "off", "false")
    )


class WatchedRun:
    """Tells the watchdog about one open run. Its methods do not raise and do not wait."""

    def __init__(self, connection: _Connection, facts: dict[str, Any]) -> None:
        self._connection = connection
        self.early: set[str] = set()
        """Ids of the events of `keep_early` that are not safe yet."""
        self.key = f"{facts['batch_id']} {id(self)}"
        connection.open(self.key, {"open": self.key, **facts, "start": _as_json(facts["start"])})

    def job_started(self, job_id: str, start: dict[str, Any]) -> None:
        """`start` is the data of the job's start event."""
        self._connection.send({"run": self.key, "job": job_id, "start": _as_json(start)})

    def encoded(self, events: Iterable[EncodedEvent]) -> None:
        """These events are about to be sent. If this process dies, the watchdog sends them."""
        for event in events:
            message = {"id": event.event_id, "type": event.event_type, "line": event.line.decode("utf-8")}
            self._connection.send({"run": self.key, "encoded": message})

    def keep_early(self, event: EncodedEvent) -> None:
        """An event of the run's first moments, for which the worker had no time yet: the watchdog keeps it until it is
        safe."""
        self.early.add(event.event_id)
        self.encoded([event])

    def safe(self, event_ids: Sequence[str]) -> None:
        """These events are stored by the service or spilled."""
        self.early.difference_update(event_ids)
        self._connection.send({"run": self.key, "safe": list(event_ids)})

    def job_ended(self, job_id: str, *, done: bool) -> None:
        self._connection.send({"run": self.key, "job_end": job_id, "done": done})

    def stderr(self, line: str) -> None:
        """A line that the training wrote to stderr; the last lines may contain the cause of its death."""
        self._connection.send({"run": self.key, "stderr": line[:_LINE_LIMIT]})

    def stopping(self) -> None:
        """A stop was requested: if the process dies now, its run counts as stopped."""
        self._connection.send({"run": self.key, "stopping": True})

    def closing(self, failure: str | None) -> None:
        """The run is ending. If the process dies first, the watchdog ends it with this failure, or as done."""
        self._connection.send({"run": self.key, "closing": True, "failure": failure})

    def ended(self, *, unsent: bool) -> None:
        """The run has ended. If it has `unsent` events on disk, the watchdog sends them."""
        self._connection.close(self.key, {"close": self.key, "unsent": unsent})


class Hold:
    """Has the watchdog renew the lease of a trial for as long as this process lives, or until `end`."""

    def __init__(self, connection: _Connection, facts: dict[str, Any]) -> None:
        self._connection = connection
        self.key = f"{facts['path']} {id(self)}"
        connection.open(self.key, {"hold": self.key, **facts})

    def end(self) -> None:
        self._connection.close(self.key, {"drop": self.key})


class _Connection:
    """The socket to the watchdog process. A forked copy of this process closes its end."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: set[str] = set()
        self._socket: socket.socket | None = None
        self._unsent = b""

    def open(self, key: str, message: dict[str, Any]) -> None:
        with self._lock:
            if self._socket is None:
                self._start()
            self._open.add(key)
            self.send(message)

    def close(self, key: str, message: dict[str, Any]) -> None:
        with self._lock:
            self.send(message)
            self._open.discard(key)
            if not self._open:
                self.disconnect()

    def send(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._socket is None:
                return
            data = self._unsent + json.dumps(message).encode("ascii") + b"\n"
            try:
                data = data[self._socket.send(data, _SEND_FLAGS) :]
            except (BlockingIOError, InterruptedError):
                pass  # the socket is full: the rest is sent with the next message
            except OSError:
                self.disconnect()
                return
            self._unsent = data if len(data) < _MAX_UNSENT else b""

    def disconnect(self) -> None:
        """Close the socket. The watchdog then ends, unless runs are still open."""
        connection, self._socket, self._unsent = self._socket, None, b""
        if connection is not None:
            try:
                connection.close()
            except OSError:
                return  # the script closed all its files

    def after_fork(self) -> None:
        self._lock = threading.RLock()
        self._open = set()
        self.disconnect()

    def _start(self) -> None:
        near, far = socket.socketpair()
        try:
            near.setblocking(False)
            # Room for a start with a large configuration while the watchdog is still starting.
            near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_UNSENT)
            identity = ProcessIdentity.own()
            # This process forks the watchdog and exits, so that the training has no unexpected child process.
            starter = subprocess.Popen(
                [sys.executable, "-S", "-E", str(_CHILD), str(identity.pid), identity.start_time or ""],
                stdin=far.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: value for name, value in os.environ.items() if not name.endswith("_TOKEN")},
                start_new_session=True,
            )
        except BaseException:
            near.close()
            raise
        finally:
            far.close()
        self._socket = near
        threading.Thread(target=starter.wait, name="svc-reporter-watchdog-start", daemon=True).start()


def _as_json(start: dict[str, Any] | None) -> dict[str, Any] | None:
    """The start data without values that JSON cannot encode."""
    if start is None:
        return None
    try:
        json.dumps(start)
        return start
    except (TypeError, ValueError):
        return {key: value for key, value in start.items() if isinstance(value, (str, int, float, bool))}


_connection = _Connection()
lifecycle.forked.append(_connection.after_fork)


def watch(facts: dict[str, Any]) -> WatchedRun | None:
    """Have the watchdog watch a run; `facts` are the data of _watchdog_child.RunState. Raises OSError.

    They go over the socket, so that the token does not show in the list of processes.
    """
    return WatchedRun(_connection, facts) if is_wanted() else None


def hold(facts: dict[str, Any]) -> Hold | None:
    """Have the watchdog renew the lease of a trial. `facts`: `Trial.keeping`, url and token. Raises OSError."""
    return Hold(_connection, facts) if is_wanted() else None
