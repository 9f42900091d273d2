"""The constructor is the one place that raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest


@pytest.mark.parametrize(
    "arguments",
    [
        {"project": ""},
        {"project": "a/b"},
        {"project": " a"},
        {"project": "x" * 129},
        {"project": "a\x07"},
        {"n_total": -1},
        {"n_total": 2**31},
        {"batch_id": "."},
        {"batch_id": "x" * 129},
        {"batch_id": "a\n"},
        {"url": "localhost:8080"},
        {"url": "http://"},
        {"url": "http://user:pw@host"},
        {"url": "http://host:99999"},
        {"stop_poll_s": -1},
        {"heartbeat_s": float("nan")},
        {"queue_size": 0},
        {"close_timeout_s": float("inf")},
    ],
)
def test_arguments_that_can_never_work_raise_value_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        svc.Reporter(**{"project": "p", **arguments})


@pytest.mark.parametrize(
    "arguments",
    [
        {"project": None},
        {"project": 3},
        {"n_total": 1.5},
        {"n_total": True},
        {"experiment_type": None},
        {"tags": "one"},
        {"tags": [1]},
        {"resources_s": "30"},
        {"queue_size": 1.0},
        {"batch_id": 7},
    ],
)
def test_arguments_of_a_wrong_type_raise_type_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        svc.Reporter(**{"project": "p", **arguments})


def test_a_bad_address_in_the_environment_is_said_and_not_raised(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SVC_URL", "localhost:8080")
    monkeypatch.setenv("SVC_TOKEN", "em_live_x")
    with svc.Reporter("p") as run:
        with run.job("a"):
            pass
    assert run.delivery.spilled == 4
    assert "must begin with http" in caplog.text


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (None, "SVC_URL is not set"),
        ("localhost:8080", "SVC_URL: the service's address must begin with http:// or https://, got 'localhost:8080'"),
        ("em_live_hush1234", "SVC_URL: the service's address must begin with http:// or https://, got '***'"),
        ("ada:hush@lab:80", "SVC_URL: the service's address must begin with http:// or https://, got '***@lab:80'"),
        ("https://", "SVC_URL: the service's address has no host: 'https://'"),
        ("http://ada:hush", "SVC_URL: the service's address has no valid host and port; use http://host:port"),
        ("http://ada:hush@lab", "SVC_URL: the service's address must not contain a user or password; use a token"),
        ("http://lab?t=hush", "SVC_URL: the service's address must not contain a query or fragment; use http://lab"),
        ("offline:", "the mode is offline"),
    ],
)
def test_the_first_line_alone_says_why_a_run_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    spill: Path,
    address: str | None,
    reason: str,
) -> None:
    if address is not None and address != "offline:":
        monkeypatch.setenv("SVC_URL", address)
    mode = "offline" if address == "offline:" else None
    svc.init("vision", name="first", mode=mode, environment=False, token="em_live_x").finish()
    printed = capsys.readouterr().err
    first, last = printed.splitlines()
    advice = "Set SVC_URL, then `svc-reporter sync` sends them" if mode is None else "`svc-reporter sync` sends them"
    assert first == f"svc: run first: {reason}; events are kept in {spill}. {advice}"
    assert last == "svc: run first finished; 2 events left on disk for `svc-reporter sync`"
    assert "hush" not in printed + caplog.text
    assert caplog.text == ""


def test_stop_requested_is_no_exception() -> None:
    assert issubclass(svc.StopRequested, BaseException)
    assert not issubclass(svc.StopRequested, Exception)


@pytest.mark.parametrize("word", ["1", "true"])
def test_with_svc_disabled_nothing_is_reported_and_every_call_works(
    server: FakeIngest, spill: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    monkeypatch.setenv("SVC_DISABLED", word)
    with svc.init("vision", config={"lr": 1}, url=server.url, token=server.token) as run:
        print("a line")
        run.log({"loss": 1.0})
        run.alert("title")
        with run.job("other") as job:
            job.epoch(0, train_loss=1.0)
        assert run.flush(1)
    assert (run.summary["loss"], run.config.lr) == (1.0, 1)
    assert server.events == []
    assert not spill.exists()
    assert [line for line in capsys.readouterr().err.splitlines() if line] == [
        "svc: SVC_DISABLED is set, nothing is reported"
    ]


def test_svc_disabled_0_reports(make: Callable[..., svc.Reporter], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_DISABLED", "0")
    with make() as run:
        pass
    assert run.delivery.accepted == 2
