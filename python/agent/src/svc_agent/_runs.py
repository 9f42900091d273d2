"""The commands of this host, with a folder for each. Its files are consistent after a crash at any time.

command.json   the command from the service; the agent writes it before it starts anything
hold           locked as long as the shim runs
begun          the shim is about to start the process; from here on it is never started again
child.json     the process: pid, start time, boot id
refused.json   the process could not be started
exit.json      the exit code of the process
stop.json      the progress of a stop
hand-stop.json   the progress of a stop of a process that the agent did not start
acked, reported   the acknowledgement or the result is in the spool
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from . import _shim
from ._files import private_folder, read_json, sync_folder, write_json
from ._identity import Identity, boot_id

_KEPT_S = 7 * 86_400
_TAIL_BYTES = 8_192


class Phase(Enum):
    NOT_STARTED = "never started"
    STARTING = "starting"
    RUNNING = "running"
    REFUSED = "refused"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True)
class State:
    phase: Phase
    pid: int | None = None
    exit_code: int | None = None
    failure_reason: str | None = None
    started_at: float | None = None
    ended_at: float | None = None


class Run:
    """One command and its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cmd_id = folder.name

    @property
    def reported(self) -> bool:
        return self.has("reported")

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def mark(self, name: str) -> None:
        (self.folder / name).touch(mode=0o600)
        sync_folder(self.folder)

    def read(self, name: str) -> dict[str, Any] | None:
        value = read_json(self.folder / name)
        return value if isinstance(value, dict) else None

    def write(self, name: str, value: dict[str, Any]) -> None:
        write_json(self.folder / name, value)

    def identity(self) -> Identity | None:
        child = self.read("child.json")
        return None if child is None else Identity.from_json(child)

    def state(self) -> State:
        """The state: LOST if the end of the process is unknown, RUNNING unless the process has certainly ended."""
        # Read the lock first: if the shim ends after this, its last file is already written.
        held = self._is_held()
        child, end, refusal = self.read("child.json"), self.read("exit.json"), self.read("refused.json")
        if refusal is not None:
            return State(Phase.REFUSED, failure_reason=str(refusal["failure_reason"]), ended_at=refusal["at"])
        if child is None:
            if held:
                return State(Phase.STARTING)
            return State(Phase.LOST, failure_reason="start_unknown") if self.has("begun") else State(Phase.NOT_STARTED)
        identity = Identity.from_json(child)
        known = {"pid": identity.pid, "started_at": child["at"]}
        if end is not None:
            return State(Phase.ENDED, exit_code=end["exit_code"], ended_at=end["at"], **known)
        if held or identity.is_alive():
            return State(Phase.RUNNING, **known)
        rebooted = identity.boot_id not in ("", boot_id())
        return State(Phase.LOST, failure_reason="host_rebooted" if rebooted else "process_lost", **known)

    def start(self, command: str, cwd: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start the shim, which starts the process. Raises OSError if the shim cannot be started."""
        hold = os.open(self.folder / "hold", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shim = subprocess.Popen(
                [sys.executable, "-I", str(Path(_shim.__file__)), str(self.folder)],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(hold,),
            )
        finally:
            os.close(hold)
        assert shim.stdin is not None
        try:
            with shim.stdin as pipe:
                pipe.write(json.dumps({"command": command, "cwd": cwd, "env": env}).encode())
        except BrokenPipeError:
            pass  # the shim died; the files in its folder show its progress
        return shim

    def tail(self) -> str:
        """The end of the output of the process, at most 8 KiB."""
        text = b""
        for name in (_shim.OUTPUT, _shim.OUTPUT + ".1"):
            try:
                with open(self.folder / name, "rb") as file:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - (_TAIL_BYTES - len(text))))
                    text = file.read(_TAIL_BYTES - len(text)) + text
            except OSError:
                pass
            if len(text) >= _TAIL_BYTES:
                break
        return text.decode("utf-8", "replace")

    def _is_held(self) -> bool:
        try:
            descriptor = os.open(self.folder / "hold", os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False


class Runs:
    """All commands of this host."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)

    def has(self, cmd_id: str) -> bool:
        return (self._folder / cmd_id).exists()

    def create(self, cmd_id: str, command: dict[str, Any]) -> Run:
        run = Run(self._folder / cmd_id)
        run.folder.mkdir(mode=0o700)
        run.write("command.json", command)
        sync_folder(self._folder)
        return run

    def unreported(self) -> list[Run]:
        return [run for run in self._all() if not run.reported]

    def forget_unstarted(self) -> None:
        """Delete commands whose process an earlier agent did not start; the service sends them again."""
        for run in self.unreported():
            if run.state().phase is Phase.NOT_STARTED and not run.has("hand-stop.json"):
                self.forget(run)

    def forget(self, run: Run) -> None:
        shutil.rmtree(run.folder, ignore_errors=True)

    def prune(self) -> None:
        """Delete reported commands after a week."""
        for run in self._all():
            try:
                if run.reported and time.time() - (run.folder / "reported").stat().st_mtime > _KEPT_S:
                    shutil.rmtree(run.folder, ignore_errors=True)
            except OSError:
                pass

    def _all(self) -> list[Run]:
        return [Run(self._folder / name) for name in sorted(os.listdir(self._folder))]
