"""The real service, started from this checkout on a port and a folder of its own; it can be killed and come back."""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[4]
_START_S = 120


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


def _free_port() -> int:
    # Below the ports that a system gives to others meanwhile, also while the service is down: outgoing connections, and
    # those who bind port 0.
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass(frozen=True)
class Person:
    session: str
    reporter: str
    """A reporter token."""


class Service:
    def __init__(self, folder: Path, *, node_options: tuple[str, ...] = ()) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._node_options = node_options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        env |= {"SVC_PORT": str(self.port), "SVC_DATA_DIR": str(self._folder / "data")}
        env["SVC_REGISTRATIONS_PER_HOUR"] = "100000"
        with open(self._folder / "service.log", "ab") as log:
            self._process = subprocess.Popen(
                ["node", "--import", "tsx", *self._node_options, "src/cli/main.ts", "start"],
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, f"the service ended at once:\n{self._log()}"
            try:
                with urlopen(f"{self.url}/readyz", timeout=2) as response:
                    if response.status == 200:
                        return
            except (URLError, OSError):
                time.sleep(0.1)
        raise AssertionError(f"the service was not ready in {_START_S} s:\n{self._log()}")

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, path: str, token: str | None = None, body: Any = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=30) as response:
                return Answer(response.status, _parsed(response.read()))
        except HTTPError as error:
            return Answer(error.code, _parsed(error.read()))

    def ok(self, method: str, path: str, token: str | None = None, body: Any = None) -> Any:
        answer = self.call(method, path, token, body)
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {answer.body}"
        return answer.body

    def person(self) -> Person:
        email = f"{secrets.token_hex(6)}@example.org"
        session = self.ok("POST", "/api/auth/register", body={"email": email, "password": secrets.token_hex(16)})[
            "token"
        ]
        made = self.ok("POST", "/api/tokens", session, {"name": "tests", "scope": "reporter"})
        return Person(session, made["token"])

    def ran(
        self,
        person: Person,
        host: str,
        command: str,
        cwd: Path | str,
        *,
        n_total: int = 1,
        jobs: dict[str, str | None] | None = None,
    ) -> str:
        """A batch that was run on the host, as its reporter tells of it; `jobs` with the type of their last event."""
        batch = f"ran-{secrets.token_hex(6)}"
        self.report(person.reporter, batch, host, "batch_start", n_total=n_total, command=command, cwd=str(cwd))
        for job, end in (jobs or {}).items():
            self.report(person.reporter, batch, host, "job_start", job)
            if end is not None:
                data = {"reason": "OOM", "elapsed_s": 1} if end == "job_failed" else {}
                self.report(person.reporter, batch, host, end, job, **data)
        self.report(person.reporter, batch, host, "batch_done", n_done=1, n_failed=0, total_elapsed_s=1)
        return batch

    def report(self, token: str, batch: str, host: str, event: str, job: str | None = None, **data: Any) -> None:
        if event == "batch_start":
            data = {"experiment_type": "train", **data}
        envelope = {
            "event_id": str(uuid.uuid4()),
            "schema_version": "1.1",
            "event_type": event,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "batch_id": batch,
            "job_id": job,
            "source": {"project": f"of-{host}", "host": host},
            "data": data,
        }
        self.ok("POST", "/api/events", token, envelope)

    def rerun(self, person: Person, batch: str, **wish: Any) -> str:
        return str(self.ok("POST", f"/api/batches/{batch}/rerun", person.session, wish)["cmd_id"])

    def command(self, person: Person, batch: str, cmd_id: str) -> dict[str, Any]:
        items = self.ok("GET", f"/api/batches/{batch}/commands", person.session)["items"]
        return next(item for item in items if item["cmd_id"] == cmd_id)

    def timeline(self, person: Person, batch: str) -> list[dict[str, Any]]:
        """The steps of stops and reruns; the rest of a batch's timeline is about the batch itself."""
        items = self.ok("GET", f"/api/batches/{batch}/timeline", person.session)["items"]
        return [item for item in items if item["kind"] in ("stop", "rerun")]

    def _log(self) -> str:
        return (self._folder / "service.log").read_text("utf-8", "replace")[-3000:]


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content) if content else None
    except ValueError:
        return content
