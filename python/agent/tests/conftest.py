from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .kit.host import Host
from .kit.real_server import Service

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def service_folder() -> Iterator[Path]:
    """As root, the service's database runs as another user, who must be able to pass through."""
    folder = Path(tempfile.mkdtemp(prefix="svc-agent-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_service(service_folder: Path) -> Iterator[Service]:
    service = Service(service_folder)
    yield service
    service.stop()


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[Callable[[Service], Host]]:
    hosts: list[Host] = []

    def make(service: Service) -> Host:
        name = f"host-{next(_numbers)}"
        host = Host(name, tmp_path / name, service, service.person())
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        host.close()


@pytest.fixture
def host(make_host: Callable[[Service], Host], shared_service: Service) -> Host:
    """A registered host; its agent does not run yet."""
    made = make_host(shared_service)
    made.register()
    return made
