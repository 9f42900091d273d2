"""Runs on this host that the agent did not start: detects those that died, and stops their processes.

Reporters write a record of each run, `<folder>/runs/<batch>.json`, with the process's pid, start time and boot id
(svc_reporter's `_run_record.py`). If the record has no end and the process has ended, the run has died.
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
from ._records import read_own
from ._runs import Run
from ._spool import Spool

_log = logging.getLogger("svc_agent")
_CHECK_EVERY_S = 1.0
_DELAY_S = 3.0
"""Seconds between the end of a process and the report of its death. In this time the process's record may get its end,
or its watchdog may end the run."""
_MAX_AT_ONCE = 500
_KEPT_S = 30 * 86_400


class EndedRuns:
    """Watches the records of this user's runs. `file` stores which dead runs were reported."""

    def __init__(self, file: Path, folders: list[Path]) -> None:
        self._file = file
        self._folders = folders
        known = read_json(file)
        self._known: dict[str, float] = known if isinstance(known, dict) else {}
        self._read: dict[Path, tuple[int, dict[str, Any] | None]] = {}
        self._dead: dict[str, tuple[float, dict[str, Any]]] = {}
        """By run: time.monotonic() at which its process was found dead, and the report."""
        self._reported: set[str] = set()
        self._oom = OomKills()
        self._check_at = 0.0

    def check(self) -> bool:
        """Check the records, at most once a second. True if there is something new to report."""
        now = time.monotonic()
        if now < self._check_at:
            return False
        self._check_at = now + _CHECK_EVERY_S
        open_now: set[str] = set()
        for record in self._records():
            key = _key(record)
            open_now.add(key)
            if key in self._known or key in self._dead:
                continue
            identity = Identity(record["pid"], record["start_time"], record["boot_id"])
            if identity.is_alive():
                self._oom.watch(key, identity.pid)
            else:
                self._dead[key] = (now, {**_identity_of(record), "reason": self._reason(key, identity)})
        for key in [key for key in self._dead if key not in open_now]:
            del self._dead[key]  # its end was written meanwhile
        reportable = {_key(entry) for entry in self.to_report()}
        has_new = not reportable <= self._reported
        self._reported = reportable
        return has_new

    def to_report(self) -> list[dict[str, Any]]:
        """Entries of the heartbeat's `ended`, until `acknowledged`."""
        reportable = time.monotonic() - _DELAY_S
        return [entry for since, entry in self._dead.values() if since <= reportable][:_MAX_AT_ONCE]

    def acknowledged(self, entries: list[dict[str, Any]]) -> None:
        """The service has stored these entries: do not report them again, not even after a restart."""
        now = time.time()
        for entry in entries:
            self._known[_key(entry)] = now
            self._dead.pop(_key(entry), None)
            _log.info("%s: %s", entry["batch_id"], entry["reason"])
        if entries:
            self._known = {key: at for key, at in self._known.items() if now - at < _KEPT_S}
            write_json(self._file, self._known)

    def _reason(self, key: str, identity: Identity) -> str:
        if identity.boot_id != boot_id():
            return f"process {identity.pid} is gone: its host was started again"
        killed = " (out of memory: the control group counted an oom kill)" if self._oom.has_increased(key) else ""
        return f"process {identity.pid} ended unexpectedly{killed}"

    def _records(self) -> list[dict[str, Any]]:
        """The records of runs without an end that only this user can have written."""
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


class ForeignStop:
    """Stops a process that this agent did not start: SIGTERM, and after the grace period SIGKILL, also to its children.

    `state` is stored, so that a restarted agent continues the stop.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self._identity = Identity.from_json(state)

    @staticmethod
    def begin(process: Any) -> ForeignStop | None:
        """Begin to stop a process; None if it has ended or its identity is unknown."""
        try:
            identity = Identity.from_json(process)
        except (KeyError, TypeError, ValueError):
            return None
        return ForeignStop(dict(identity.__dict__)) if identity.pid > 1 and identity.is_alive() else None

    def advance(self, grace_s: float) -> list[str]:
        """Do the next step if it is due; returns the steps taken, `ended` as the last one."""
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
        """What a shell shows for the last signal that was sent. Only the parent process knows the real exit code."""
        return 128 + (signal.SIGKILL if "sigkill_at" in self.state else signal.SIGTERM)

    def _children_left(self) -> bool:
        """Whether children still run that have the rest of the grace period to end."""
        return "sigkill_at" not in self.state and any(child.is_alive() for child in self._children())

    def _note_children(self) -> None:
        """Add the current children to the state, because they cannot be found after their parent has ended."""
        known = {(child["pid"], child["start_time"]) for child in self.state.get("children", [])}
        for pid in descendants_of(self._identity.pid):
            started = start_time_of(pid)
            if started is not None and (pid, started) not in known:
                self.state.setdefault("children", []).append({"pid": pid, "start_time": started})

    def _children(self) -> list[Identity]:
        boot = self._identity.boot_id
        return [Identity(child["pid"], child["start_time"], boot) for child in self.state.get("children", [])]


def continue_foreign_stop(record: Run, spool: Spool, jobs_path: str, grace_s: float) -> None:
    """Continue to stop a process that this agent did not start, and report the steps and the end."""
    state = record.read("hand-stop.json")
    if state is None:
        return
    stop = ForeignStop(copy.deepcopy(state))
    steps = stop.advance(grace_s)
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
    data = read_own(path)
    if not isinstance(data, dict) or data.get("version") != 1 or data.get("ended_at") is not None:
        return None
    pid = data.get("pid")
    known = isinstance(pid, int) and pid > 0 and all(data.get(k) for k in ("batch_id", "start_time", "boot_id"))
    return data if known else None


def _identity_of(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("batch_id", "pid", "start_time", "boot_id")}


def _key(record: dict[str, Any]) -> str:
    return json.dumps(list(_identity_of(record).values()))


def _signal(identity: Identity, number: signal.Signals) -> None:
    try:
        if identity.is_alive():
            os.kill(identity.pid, number)
    except (ProcessLookupError, PermissionError):
        pass
