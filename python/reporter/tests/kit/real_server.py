"""The real service for end-to-end tests: the one that SVC_TEST_URL names, or one started from this checkout."""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[4]
_START_S = 60


@dataclass(frozen=True)
class RealServer:
    url: str
    token: str
    """A reporter token; reading needs `session`, the JWT of the same user, where the test made the user."""
    session: str | None = None

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        return call(self.url, method, path, body, token or self.session or self.token)


def call(url: str, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url + path, data=data, method=method)
    request.add_header("Accept", "application/json")
    if data is not None:
        request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=20) as response:
            content = response.read()
    except HTTPError as error:
        raise AssertionError(f"{method} {path}: HTTP {error.code} {error.read()[:500]!r}") from error
    return json.loads(content) if content else None


@contextmanager
def real_server_process(folder: Path) -> Iterator[RealServer]:
    url, token = os.environ.get("SVC_TEST_URL"), os.environ.get("SVC_TEST_TOKEN")
    if url and token:
        yield RealServer(url.rstrip("/"), token, os.environ.get("SVC_TEST_SESSION"))
        return
    entry = ROOT / "dist" / "cli" / "main.js"
    assert entry.exists(), f"{entry} is missing: run `npm run build`, or set SVC_TEST_URL and SVC_TEST_TOKEN"
    port = _free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    env |= {"SVC_PORT": str(port), "SVC_DATA_DIR": str(folder / "data")}
    env["SVC_REGISTRATIONS_PER_HOUR"] = "100000"
    log = open(folder / "service.log", "wb")  # noqa: SIM115 - handed to the process, closed below
    process = subprocess.Popen(
        ["node", str(entry), "start"], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        base = f"http://127.0.0.1:{port}"
        _await_ready(base, process, folder / "service.log")
        email, password = f"reporter-{secrets.token_hex(4)}@example.org", secrets.token_urlsafe(16)
        session = call(base, "POST", "/api/auth/register", {"email": email, "password": password})["token"]
        made = call(base, "POST", "/api/tokens", {"name": "reporter tests", "scope": "reporter"}, session)
        yield RealServer(base, made["token"], session)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _await_ready(base: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the service ended at once:\n{log.read_text('utf-8', 'replace')[-3000:]}"
        try:
            with urlopen(f"{base}/readyz", timeout=2) as response:
                if response.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the service was not ready in {_START_S} s:\n{log.read_text('utf-8', 'replace')[-3000:]}")


def _free_port() -> int:
    # Below the ports that a system gives to others meanwhile: outgoing connections, and those who bind port 0.
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
