"""A host with the real agent on it: a home folder of its own, the daemon as a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .real_server import Person, Service
from .wait import until

SOURCE = Path(__file__).resolve().parents[2] / "src"


def write_run_record(home: Path, batch: str, command: str, cwd: Path | str, **other: Any) -> Path:
    """Writes what a reporter with this home folder records of a run; returns the record's file."""
    folder = home / ".svc-reporter" / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{batch}.json"
    path.touch(mode=0o600)
    digest = hashlib.sha256(command.encode()).hexdigest()
    record = {"version": 1, "batch_id": batch, "command": command, "cwd": str(cwd), "hash": digest, **other}
    path.write_text(json.dumps(record))
    return path


class Host:
    def __init__(self, name: str, home: Path, service: Service, person: Person, url: str | None = None) -> None:
        """`url`: where its programs find the service, if elsewhere than the test does."""
        self.name = name
        self.url = url or service.url
        self.home = home
        self.service = service
        self.person = person
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.home / ".svc-agent"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def env(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        return {**kept, "HOME": str(self.home), "PYTHONPATH": str(SOURCE), **more}

    def agent(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "svc_agent", *arguments],
            env=env or self.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def register(self, token: str | None = None) -> dict[str, Any]:
        token = token or self.person.session
        done = self.agent("register", "--svc-url", self.url, "--hostname", self.name, "--token", token)
        assert done.returncode == 0, done.stderr
        return self.token_file()

    def token_file(self) -> dict[str, Any]:
        found = json.loads((self.folder / "token.json").read_text())
        assert isinstance(found, dict)
        return found

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        quick = ("--poll-interval", "0.2", "--heartbeat-interval", "1")
        with open(self.home / "agent.log", "ab") as log:
            self._daemon = subprocess.Popen(
                [sys.executable, "-m", "svc_agent", "run", *quick, *arguments],
                env=env or self.env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self._daemon

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Ends the daemon; returns its exit code."""
        assert self._daemon is not None
        self._daemon.send_signal(number)
        return self._daemon.wait(20)

    def ended(self) -> int:
        assert self._daemon is not None
        return self._daemon.wait(30)

    def record(self, cmd_id: str, name: str) -> Any:
        try:
            return json.loads((self.runs / cmd_id / name).read_text())
        except (OSError, ValueError):
            return None

    def ran(self, command: str, cwd: Path | str | None = None, **more: Any) -> str:
        """A batch that ran on this host, which its reporter recorded here."""
        batch = self.service.ran(self.person, self.name, command, cwd or self.work, **more)
        write_run_record(self.home, batch, command, cwd or self.work)
        return batch

    def rerun(self, command: str, cwd: Path | str | None = None) -> tuple[str, str]:
        """Queues a command as a rerun of a batch; returns the batch and the command's id."""
        batch = self.ran(command, cwd)
        return batch, self.service.rerun(self.person, batch)

    def until_state(self, batch: str, cmd_id: str, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            command = self.service.command(self.person, batch, cmd_id)
            return command if command["state"] in states else None

        found = until(reached, f"for {cmd_id} to be {states}; {self.log()}")
        assert found is not None
        return found

    def log(self) -> str:
        try:
            return (self.home / "agent.log").read_text("utf-8", "replace")[-3000:]
        except OSError:
            return ""

    def close(self) -> None:
        if self._daemon is not None and self._daemon.poll() is None:
            self.kill()
        for child in self.runs.glob("*/child.json"):
            try:
                os.killpg(json.loads(child.read_text())["pid"], signal.SIGKILL)
            except (OSError, ValueError):
                pass
