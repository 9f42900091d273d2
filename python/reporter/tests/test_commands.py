"""svc-reporter sync and doctor."""

from __future__ import annotations

import datetime
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._cli import doctor, main, sync
from svc_reporter._delivery.transport import Transport
from svc_reporter._disk import claims
from svc_reporter._shared.tuning import Tuning

from .conftest import spilled_in
from .kit.fake_ingest import FakeIngest
from .test_replay import received, write_spill

Make = Callable[..., svc.Reporter]


@pytest.fixture
def here(server: FakeIngest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_URL", server.url)
    monkeypatch.setenv("SVC_TOKEN", server.token)


@pytest.mark.usefixtures("here")
def test_sync_sends_stored_events_and_prints_the_result(
    server: FakeIngest, spill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_spill(spill, "b", range(30))
    server.refuse_item = lambda e: {"status": 422, "code": "bad"} if e["data"]["epoch"] == 7 else None
    assert main(["sync"]) == 0
    out = capsys.readouterr().out
    assert "1 file sent: 29 accepted, 0 duplicate, 1 dropped, 0 set aside" in out
    assert "refused: job_epoch" in out
    assert spilled_in(spill) == []


@pytest.mark.usefixtures("here")
def test_sync_waits_for_a_file_that_another_process_holds(
    server: FakeIngest, spill: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spill(spill, "b", range(30))
    (path,) = claims.waiting(spill, Tuning())
    held = claims.claim(path)
    assert held is not None
    monkeypatch.setattr(sync, "_WAIT_S", 0.3)
    assert main(["sync"]) == 1
    out = capsys.readouterr().out
    assert "0 files sent" in out
    assert "files that another process is sending: 1" in out
    monkeypatch.setattr(sync, "_WAIT_S", 60)
    release = threading.Timer(0.3, claims.release, [held])
    release.start()
    assert main(["sync"]) == 0
    release.join()
    assert received(server, "b") == list(range(30))


def test_sync_with_a_dead_server_keeps_the_files_and_fails(
    spill: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spill(spill, "b", range(30))
    assert main(["sync", "--url", "http://127.0.0.1:9", "--token", "em_live_x"]) == 1
    captured = capsys.readouterr()
    assert "left: " in captured.out
    assert "stopped: the service cannot be reached" in captured.err
    assert main(["sync"]) == 1
    assert "SVC_URL is not set" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_events_stored_after_a_401_are_sent_with_the_new_token(
    make: Make, server: FakeIngest, spill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with make(token="em_live_old", batch_id="b") as run:
        with run.job("a") as job:
            for epoch in range(30):
                job.epoch(epoch, train_loss=1.0)
    assert server.events == []
    assert main(["sync"]) == 0
    assert "files of rejected events: 1;" in capsys.readouterr().out
    assert main(["sync", "--rejected", "--quiet"]) == 0
    assert received(server, "b") == list(range(30))
    assert server.types()[0] == "batch_start"
    assert list((spill / "rejected").iterdir()) == []


@pytest.mark.usefixtures("here")
def test_rejected_events_can_be_sent_to_another_project(
    make: Make, server: FakeIngest, spill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = {"status": 409, "code": "project_exists", "detail": 'send to "other"'}
    server.refuse_item = lambda event: None if event["source"]["project"] == "other" else taken
    with make(batch_id="b") as run:
        with run.job("a") as job:
            for epoch in range(30):
                job.epoch(epoch, train_loss=1.0)
    with make(batch_id="c", token="em_live_old"):  # refused for its token: its project is right
        pass
    assert main(["sync", "--rejected", "--quiet"]) == 1
    assert server.events == []
    server.refuse_item = lambda event: (
        taken if event["batch_id"] == "b" and event["source"]["project"] != "other" else None
    )
    assert main(["sync", "--rejected", "--project", "other", "--quiet"]) == 0
    assert received(server, "b") == list(range(30))
    projects = {(event["batch_id"], event["source"]["project"] == "other") for event in server.events}
    assert projects == {("b", True), ("c", False)}
    assert list((spill / "rejected").iterdir()) == []
    with pytest.raises(SystemExit):
        main(["sync", "--project", "other"])
    assert "--project needs --rejected" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_doctor_finds_nothing_wrong_with_a_good_setup(
    server: FakeIngest, spill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_spill(spill, "b", range(3))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "FAULT" not in out
    assert "may report" in out
    assert "1 spill files wait" in out
    assert server.events == []


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["--url", "http://127.0.0.1:9", "--token", "em_live_x"], "does not respond"),
        (["--token", "wrong"], "the token is not accepted"),
        (["--url", "http://no-such-host.invalid"], "has no address"),
    ],
)
@pytest.mark.usefixtures("here")
def test_doctor_names_the_fault(arguments: list[str], finding: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *arguments]) == 1
    out = capsys.readouterr().out
    assert f"FAULT {finding}" in out or finding in out
    assert "→" in out


@pytest.mark.parametrize(
    ("path", "body", "finding"),
    [
        ("/livez", b"<title>Sign in</title>", "/livez: HTTP 200: not from the service: Sign in"),
        ("/livez", b"[]", "/livez: HTTP 200"),
    ],
)
@pytest.mark.usefixtures("here")
def test_doctor_is_not_deceived_by_a_sign_in_page(
    server: FakeIngest, path: str, body: bytes, finding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.gets[path] = ("text/html", body)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert finding in out
    assert "may report" not in out


@pytest.mark.usefixtures("here")
def test_doctor_says_how_to_trust_a_certificate_of_an_own_ca(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise ssl.SSLCertVerificationError("certificate verify failed")

    monkeypatch.setattr(Transport, "_connect", refuse)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "set SSL_CERT_FILE to the CA's certificate" in out
    assert "is the service running" not in out


def test_doctor_without_any_configuration_prints_what_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "FAULT SVC_URL is not set" in out
    assert "FAULT SVC_TOKEN is not set" in out


@pytest.mark.usefixtures("here")
def test_doctor_finds_a_wrong_clock_and_a_home_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)
    monkeypatch.setattr(doctor, "now_ms", lambda: int(late.timestamp() * 1000))
    monkeypatch.setenv("HOME", "/proc")
    monkeypatch.setenv("RANK", "1")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "s ahead of the service's" in out
    assert "cannot be written" in out
    assert "rank 1" in out


def test_wrong_usage_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["nonsense"], ["sync", "--url", "nowhere"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert svc.__version__ in capsys.readouterr().out


def test_python_m_is_the_same_command() -> None:
    command = [sys.executable, "-m", "svc_reporter"]
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"svc-reporter {svc.__version__}\n"
    assert subprocess.run(command, capture_output=True).returncode == 2
