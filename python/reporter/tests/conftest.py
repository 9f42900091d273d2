from __future__ import annotations

import dataclasses
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._process import lifecycle
from svc_reporter._shared import tuning

from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import FaultProxy
from .kit.real_server import RealServer, real_server_process

_OUTSIDE = ("SVC_", "SLURM_", "OMPI_", "PMI_", "PMIX_", "MV2_", "JAX_")
_KEEP = ("SVC_TEST_URL", "SVC_TEST_TOKEN")


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home and a temp folder of the test's own, and no word of the surrounding cluster."""
    for name in list(os.environ):
        if name.startswith(_OUTSIDE) and name not in _KEEP:
            monkeypatch.delenv(name)
    monkeypatch.setenv("SVC_WATCHDOG", "0")  # one more process for every reporter; its own tests switch it on
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "GLOBAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    # Short: multiprocessing has sockets in it, whose paths the system limits to about 100 characters.
    temp = Path(tempfile.mkdtemp(prefix="svc-"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temp))
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    yield home
    for reporter in list(lifecycle._open):
        reporter.end_at_exit("left open by a test")
    shutil.rmtree(temp, ignore_errors=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Short waits; call it for other ones."""

    def tune(**changes: Any) -> None:
        monkeypatch.setattr(tuning, "DEFAULT", dataclasses.replace(tuning.DEFAULT, **changes))

    tune(backoff_s=(0.01, 0.03, 0.05), probe_first_s=0.2, probe_last_s=0.4, request_timeout_s=5.0, final_probe_s=0.3)
    return tune


@pytest.fixture
def server() -> Iterator[FakeIngest]:
    fake = FakeIngest()
    yield fake
    fake.close()


@pytest.fixture
def proxy(server: FakeIngest) -> Iterator[FaultProxy]:
    between = FaultProxy(server.url)
    yield between
    between.close()


@pytest.fixture
def spill(own_world: Path) -> Path:
    return own_world / ".svc-reporter"


@pytest.fixture
def make(server: FakeIngest) -> Callable[..., svc.Reporter]:
    """A reporter for the fake server, without the three periodic threads unless a test wants them."""

    def build(project: str = "vision", **arguments: Any) -> svc.Reporter:
        quiet = {"stop_poll_s": 0, "heartbeat_s": 0, "resources_s": 0}
        target = {"url": server.url, "token": server.token}
        return svc.Reporter(project, **{**target, **quiet, **arguments})

    return build


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    caplog.set_level(logging.DEBUG, "svc_reporter")
    return lambda: "\n".join(record.getMessage() for record in caplog.records if record.name == "svc_reporter")


def spilled_in(folder: Path) -> list[Path]:
    """What waits to be sent; the records of runs are kept beside it, and folders of files that were sent are empty."""
    if not folder.exists():
        return []
    others = [entry for entry in folder.iterdir() if entry.name not in ("runs", "files")]
    return [*others, *(folder / "files").glob("*/*")]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """The real service; a test that needs it fails, and is never skipped, if it is not available."""
    with real_server_process(tmp_path_factory.mktemp("service")) as service:
        yield service
