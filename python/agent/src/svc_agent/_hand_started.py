"""Runs on this host that people started themselves: which of them have died, and how one is stopped.

Reporters leave a record of each run, `<folder>/runs/<batch>.json` with the process's pid, start time and boot id
(svc_reporter's `_run_record.py`). A record without an end whose process has ended is evidence that the run has died.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

from ._files import read_json, write_json
from ._identity import Identity, boot_id, descendants_of, start_time_of
from ._oom import OomKills
from ._runs import Run
from ._spool import Spool

_log = logging.getLogger("svc_agent")
_LOOK_EVERY_S = 1.0
_SETTLE_S = 3.0
"""A process that ends well, or whose watchdog ends its run, has so long before it is reported as gone."""
_MAX_BYTES = 4 * 1024 * 1024
_MAX_AT_ONCE = 500
_KEPT_S = 30 * 86_400


class EndedRuns:
    """Watches the records of this user's runs. `file` keeps which of the dead the service knows already."""

    def __init__(self, file: Path, folders: list[Path]) -> None:
        self._file = file
        self._folders = folders
        known = read_json(file)
        self._known: dict[str, float] = known if isinstance(known, dict) else {}
        self._read: dict[Path, tuple[int, dict[str, Any] | None]] = {}
        self._gone: dict[str, tuple[float, dict[str, Any]]] = {}
        """When it was first seen to be gone, and what is to be said of it."""
        self._said: set[str] = set()
        self._oom = OomKills()
        self._look_at = 0.0

    def look(self) -> bool:
        """Look at the records, at most once a second. True when there is something new to report."""
        now = time.monotonic()
        if now < self._look_at:
            return False
        self._look_at = now + _LOOK_EVERY_S
        open_now: set[str] = set()
        for record in self._records():
            key = _key(record)
            open_now.add(key)
            if key in self._known or key in self._gone:
                continue
            identity = Identity(record["pid"], record["start_time"], record["boot_id"])
            if identity.is_alive():
                self._oom.watch(key, identity.pid)
            else:
                self._gone[key] = (now, {**_facts(record), "reason": self._reason(key, identity)})
        for key in [key for key in self._gone if key not in open_now]:
            del self._gone[key]  # its end was written after all
        ripe = {_key(entry) for entry in self.to_report()}
        news = not ripe <= self._said
        self._said = ripe
        return news

    def to_report(self) -> list[dict[str, Any]]:
        """Entries of the heartbeat's `ended`, until `acknowledged`."""
        ripe = time.monotonic() - _SETTLE_S
        return [entry for since, entry in self._gone.values() if since <= ripe][:_MAX_AT_ONCE]

    def acknowledged(self, entries: list[dict[str, Any]]) -> None:
        """The service has taken them: they are not reported again, by a later agent neither."""
        now = time.time()
        for entry in entries:
            self._known[_key(entry)] = now
            self._gone.pop(_key(entry), None)
            _log.info("%s: %s", entry["batch_id"], entry["reason"])
        if entries:
            self._known = {key: at for key, at in self._known.items() if now - at < _KEPT_S}
            write_json(self._file, self._known)

    def _reason(self, key: str, identity: Identity) -> str:
        if identity.boot_id != boot_id():
            return f"process {identity.pid} is gone: its host was started again"
        killed = " (out of memory: the control group counted an oom kill)" if self._oom.has_risen(key) else ""
        return f"process {identity.pid} ended unexpectedly{killed}"

    def _records(self) -> list[dict[str, Any]]:
        """Those of runs that have not ended, as far as they were written by this user alone."""
        found: list[dict[str, Any]] = []
        seen: dict[Path, tuple[int, dict[str, Any] | None]] = {}
        for folder in self._folders:
            try:
                with os.scandir(folder / "runs") as entries:
                    files = [(Path(e.path), e.stat().st_mtime_ns) for e in entries if e.name.endswith(".json")]
            except OSError:
                continue
            for path, modified in files:
                last = self._read.get(path)
                seen[path] = last if last is not None and last[0] == modified else (modified, _open_record(path))
                record = seen[path][1]
                if record is not None:
                    found.append(record)
        self._read = seen
        return found


class HandStop:
    """Stops a process that this agent did not start: SIGTERM to it alone, and after the grace SIGKILL to it and its
    children. Written down, so that an agent that takes over goes on where this one was."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self._identity = Identity.from_json(state)

    @staticmethod
    def begin(process: Any) -> HandStop | None:
        """None if that process has ended, or its identity was not recorded."""
        try:
            identity = Identity.from_json(process)
        except (KeyError, TypeError, ValueError):
            return None
        return HandStop(dict(identity.__dict__)) if identity.pid > 1 and identity.is_alive() else None

    def push(self, grace_s: float) -> list[str]:
        """One look; does what is due and returns the steps that were taken. `ended` is the last one."""
        now = time.time()
        steps: list[str] = []
        if not self._identity.is_alive() and not self._children_left():
            steps.append("ended")
        elif "sigterm_at" not in self.state:
            self.state["sigterm_at"] = now
            self._note_children()
            _signal(self._identity, signal.SIGTERM)
            steps.append("sigterm")
        elif "sigkill_at" not in self.state:
            self._note_children()
            if not 0 <= now - self.state["sigterm_at"] < grace_s:
                self.state["sigkill_at"] = now
                _signal(self._identity, signal.SIGKILL)
                for child in self._children():
                    _signal(child, signal.SIGKILL)
                steps.append("sigkill")
        return steps

    def exit_code(self) -> int:
        """Only its parent knows the exit code, so this is what a shell shows for the last signal that was sent."""
        return 128 + (signal.SIGKILL if "sigkill_at" in self.state else signal.SIGTERM)

    def _children_left(self) -> bool:
        """Children that outlive their parent get what is left of the grace."""
        return "sigkill_at" not in self.state and any(child.is_alive() for child in self._children())

    def _note_children(self) -> None:
        """While their parent lives they can be told from others' processes; afterwards only by this list."""
        known = {(child["pid"], child["start_time"]) for child in self.state.get("children", [])}
        for pid in descendants_of(self._identity.pid):
            started = start_time_of(pid)
            if started is not None and (pid, started) not in known:
                self.state.setdefault("children", []).append({"pid": pid, "start_time": started})

    def _children(self) -> list[Identity]:
        boot = self._identity.boot_id
        return [Identity(child["pid"], child["start_time"], boot) for child in self.state.get("children", [])]


def push_hand_stop(record: Run, spool: Spool, jobs_path: str, grace_s: float) -> None:
    """One look at a process that was not started here and is being stopped; says what was done and how it ended."""
    state = record.read("hand-stop.json")
    if state is None:
        return
    stop = HandStop(copy.deepcopy(state))
    steps = stop.push(grace_s)
    if stop.state != state:
        record.write("hand-stop.json", stop.state)
    for step in steps:
        if step == "ended":
            spool.put(f"{jobs_path}/{record.cmd_id}/result", {"exit_code": stop.exit_code()}, time.time())
            record.mark("reported")
            _log.info("process %s, which this agent did not start, was stopped", state["pid"])
        else:
            spool.put(f"{jobs_path}/{record.cmd_id}/steps", {"steps": [{"step": step}]}, time.time())


def _open_record(path: Path) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_uid != os.getuid() or info.st_mode & 0o022:
                return None
            data = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or data.get("version") != 1 or data.get("ended_at") is not None:
        return None
    pid = data.get("pid")
    known = isinstance(pid, int) and pid > 0 and all(data.get(k) for k in ("batch_id", "start_time", "boot_id"))
    return data if known else None


def _facts(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("batch_id", "pid", "start_time", "boot_id")}


def _key(record: dict[str, Any]) -> str:
    return json.dumps(list(_facts(record).values()))


def _signal(identity: Identity, number: signal.Signals) -> None:
    try:
        if identity.is_alive():
            os.kill(identity.pid, number)
    except (ProcessLookupError, PermissionError):
        pass
