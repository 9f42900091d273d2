"""Real libraries against the real server: every curve is compared with what the library itself reports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import svc_reporter as svc
from svc_reporter._cli import main

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["SVC_WATCHDOG"] = "0"

from tests.kit.real_server import RealServer, real_server_process


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with real_server_process(tmp_path_factory.mktemp("service")) as server:
        yield server


@pytest.fixture
def make(service: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., svc.Reporter]:
    monkeypatch.setenv("SVC_REPORTER_DIR", str(tmp_path / "spill"))
    monkeypatch.setenv("SVC_URL", service.url)
    monkeypatch.setenv("SVC_TOKEN", service.token)
    monkeypatch.chdir(tmp_path)

    def build(**more: Any) -> svc.Reporter:
        return svc.Reporter("frameworks", **{"stop_poll_s": 0, "heartbeat_s": 0, "resources_s": 0, **more})

    return build


class Stored:
    """What the server has of a batch, once all of it is there."""

    def __init__(self, service: RealServer, batch_id: str) -> None:
        self._service = service
        self.id = batch_id

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        found = self._service.call("GET", f"/api/batches/{self.id}/jobs?limit=500")["items"]
        return {job["id"]: job for job in found}

    @property
    def status(self) -> str:
        return str(self._service.call("GET", f"/api/batches/{self.id}")["status"])

    def curve(self, job: str, key: str) -> list[tuple[int, float]]:
        found = self._service.call("GET", f"/api/batches/{self.id}/metrics?job={job}&key={quote(key, safe='')}")
        return [pair for one in found["series"] for pair in zip(one["steps"], one["values"], strict=True)]

    def wait(self, done: Callable[[Stored], bool]) -> Stored:
        deadline = time.monotonic() + 30
        while not done(self):
            assert time.monotonic() < deadline, f"not there in time: {self.jobs}"
            time.sleep(0.1)
        return self


@pytest.fixture
def stored(service: RealServer) -> Callable[[str], Stored]:
    return lambda batch_id: Stored(service, batch_id)


@pytest.fixture
def imported(
    service: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs `svc-reporter import-from` and returns what it printed."""
    monkeypatch.setenv("SVC_REPORTER_DIR", str(tmp_path / "spill"))
    monkeypatch.setenv("SVC_URL", service.url)
    monkeypatch.setenv("SVC_TOKEN", service.token)
    monkeypatch.chdir(tmp_path)

    def run(source: str, path: object, *words: str, status: int = 0) -> str:
        found = main(["import-from", source, str(path), "--quiet", *words])
        said = capsys.readouterr()
        assert found == status, said.out + said.err
        return said.out

    return run
