"""Starts the watchdog: a small child process that ends the runs of this process if it dies without closing them.

SIGKILL, a segmentation fault, `os._exit` and the kernel's out-of-memory killer leave a process no time to say
anything. The child (see _watchdog_child.py) learns over a socket pair which runs and jobs are open, and needs no
terminal, no port and nothing else of this process. SVC_WATCHDOG=0 switches it off.
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

from . import _lifecycle
from ._envelope import Sealed
from ._process import ProcessIdentity

_CHILD = Path(__file__).with_name("_watchdog_child.py")
_MAX_UNSENT = 1024 * 1024
_LINE_LIMIT = 1_000
_QUIET = getattr(socket, "MSG_NOSIGNAL", 0) | getattr(socket, "MSG_DONTWAIT", 0)
"""A watchdog that has ended must not cause a SIGPIPE in the training, and a slow one must not delay it."""


def is_wanted() -> bool:
    return (
        sys.platform in ("linux", "darwin")
        and bool(sys.executable)
        and os.environ.get("SVC_WATCHDOG", "1").strip().lower() not in ("0", "no", "off", "false")
    )


class Watched:
    """One open run, as the watchdog knows it. Nothing here raises or waits."""

    def __init__(self, link: _Link, facts: dict[str, Any]) -> None:
        self._link = link
        self.key = f"{facts['batch_id']} {id(self)}"
        link.open(self, {"open": self.key, **facts, "start": _as_json(facts["start"])})

    def job_started(self, job_id: str, start: dict[str, Any]) -> None:
        """`start` is the data of the job's start event."""
        self._link.send({"run": self.key, "job": job_id, "start": _as_json(start)})

    def sealed(self, events: Iterable[Sealed]) -> None:
        """These starts are on their way to the service; the watchdog sends them again, should they not arrive."""
        for event in events:
            message = {"id": event.event_id, "type": event.event_type, "line": event.line.decode("utf-8")}
            self._link.send({"run": self.key, "sealed": message})

    def safe(self, event_ids: Sequence[str]) -> None:
        """These starts are with the service or on disk."""
        self._link.send({"run": self.key, "safe": list(event_ids)})

    def job_ended(self, job_id: str, *, done: bool) -> None:
        self._link.send({"run": self.key, "job_end": job_id, "done": done})

    def stderr(self, line: str) -> None:
        """A line that the training wrote to stderr; the last ones may say why it died."""
        self._link.send({"run": self.key, "stderr": line[:_LINE_LIMIT]})

    def stopping(self) -> None:
        """A stop was asked for: however the process ends now, its run was stopped."""
        self._link.send({"run": self.key, "stopping": True})

    def closing(self, failure: str | None) -> None:
        """The run ends like this, should the process die before its last event is out."""
        self._link.send({"run": self.key, "closing": True, "failure": failure})

    def ended(self) -> None:
        self._link.close(self)


class _Link:
    """The socket to the child. A fork leaves the child's copy without it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._runs: set[str] = set()
        self._socket: socket.socket | None = None
        self._unsent = b""

    def open(self, run: Watched, message: dict[str, Any]) -> None:
        with self._lock:
            if self._socket is None:
                self._start()
            self._runs.add(run.key)
            self.send(message)

    def close(self, run: Watched) -> None:
        with self._lock:
            self.send({"close": run.key})
            self._runs.discard(run.key)
            if not self._runs:
                self.forget()

    def send(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._socket is None:
                return
            data = self._unsent + json.dumps(message).encode("ascii") + b"\n"
            try:
                data = data[self._socket.send(data, _QUIET) :]
            except (BlockingIOError, InterruptedError):
                pass  # it reads on soon; what is unsent goes first the next time
            except OSError:
                self.forget()
                return
            self._unsent = data if len(data) < _MAX_UNSENT else b""

    def forget(self) -> None:
        """Without a socket there is no watchdog: it ends when no run is open at its other end."""
        link, self._socket, self._unsent = self._socket, None, b""
        if link is not None:
            link.close()

    def after_fork(self) -> None:
        self._lock = threading.RLock()
        self._runs = set()
        self.forget()

    def _start(self) -> None:
        near, far = socket.socketpair()
        try:
            near.setblocking(False)
            # Room for a start with a long configuration while the child itself is still starting.
            near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_UNSENT)
            identity = ProcessIdentity.own()
            # Its own start makes a second child and ends, so that the training has none that it did not make.
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
    """The start without values that JSON does not know: the worker has other means for those."""
    if start is None:
        return None
    try:
        json.dumps(start)
        return start
    except (TypeError, ValueError):
        return {key: value for key, value in start.items() if isinstance(value, (str, int, float, bool))}


_link = _Link()
_lifecycle.forked.append(_link.after_fork)


def watch(facts: dict[str, Any]) -> Watched | None:
    """Have a run watched from now on; `facts` are those that _watchdog_child.Run needs. Raises OSError.

    They go over the socket, the token too: nothing of them can be seen in a list of processes.
    """
    return Watched(_link, facts) if is_wanted() else None
