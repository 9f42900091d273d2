"""A service may need a newer reporter than the one that runs; its user gets a warning, and nothing else changes."""

import logging

import pytest

from svc_reporter import Reporter, __version__
from svc_reporter._cli import main
from svc_reporter._delivery.needed_version import is_older

from .kit.fake_ingest import FakeIngest
from .kit.real_server import RealServer


@pytest.mark.parametrize(
    ("version", "needed", "older"),
    [
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.1.1", True),
        ("0.9.0", "0.10.0", True),
        ("1.0", "1.0.0", False),
        ("2.0.0", "1.9.9", False),
        ("1.2.0b1", "1.2.0", False),
        ("1.2.0", "nonsense", False),
    ],
)
def test_releases_are_compared_by_number(version: str, needed: str, older: bool) -> None:
    assert is_older(version, needed) is older


def test_a_reporter_that_is_too_old_logs_once_how_to_upgrade_and_keeps_reporting(
    server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply_headers = {"X-Svc-Reporter-Needed": "99.2.0"}
    with (
        caplog.at_level(logging.WARNING, "svc_reporter"),
        Reporter("vision", url=server.url, token=server.token) as run,
        run.job("a") as job,
    ):
        for epoch in range(3):
            job.epoch(epoch, loss=1.0)
            run.flush(5)
    said = [record.getMessage() for record in caplog.records if "99.2.0" in record.getMessage()]
    assert said == [
        f"{server.url} needs svc-reporter 99.2.0 or newer, and this is {__version__}: reported data may be shown "
        f"incompletely. Upgrade with: pip install --upgrade --index-url {server.url}/pip/simple/ svc-reporter"
    ]
    assert len(server.of("job_epoch")) == 3


def test_a_reporter_that_is_new_enough_logs_nothing(real_server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, "svc_reporter"),
        Reporter("vision", url=real_server.url, token=real_server.token) as run,
        run.job("a") as job,
    ):
        job.epoch(0, loss=1.0)
    assert [record.getMessage() for record in caplog.records] == []


def test_doctor_prints_that_the_reporter_is_too_old(
    server: FakeIngest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply_headers = {"X-Svc-Reporter-Needed": "99.2.0"}
    monkeypatch.setenv("SVC_URL", server.url)
    monkeypatch.setenv("SVC_TOKEN", server.token)
    assert main(["doctor"]) == 1
    assert "is older than the service needs" in capsys.readouterr().out
