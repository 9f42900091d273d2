"""`svc-reporter import`: back-filling events from files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from svc_reporter._cli import main
from svc_reporter.importing._events import wait_s

from .kit.fake_ingest import FakeIngest


def _event(number: int) -> str:
    return json.dumps(
        {
            "event_id": f"00000000-0000-7000-8000-{number:012x}",
            "schema_version": "1.1",
            "event_type": "job_epoch",
            "timestamp": "2026-01-01T00:00:00Z",
            "batch_id": "old",
            "job_id": "a",
            "source": {"project": "vision"},
            "data": {"epoch": number},
        }
    )


def _import(server: FakeIngest, *files: Path) -> int:
    return main(["import", "--url", server.url, "--token", server.token, *map(str, files)])


def test_every_event_of_the_files_is_sent_once_and_the_files_stay(
    server: FakeIngest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text("\n".join(map(_event, range(700))) + "\n\n")
    second.write_text("\n".join(map(_event, range(700, 803))))
    assert _import(server, first, second) == 0
    assert [event["data"]["epoch"] for event in server.events] == list(range(803))
    assert "803 events sent: 803 accepted" in capsys.readouterr().out
    assert _import(server, first) == 0
    assert "700 duplicate" in capsys.readouterr().out
    assert len(server.events) == 803


def test_invalid_lines_and_refused_events_are_reported_and_the_rest_is_sent(
    server: FakeIngest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([_event(1), "not json", _event(2).replace('"epoch": 2', '"epoch": "x"'), _event(3)]))
    assert _import(server, file) == 1
    said = capsys.readouterr()
    assert "1 lines are no events" in said.err
    assert f"{file}:2: no event" in said.err
    assert f"{file}:3: refused: 00000000-0000-7000-8000-000000000002" in said.err
    assert [event["data"]["epoch"] for event in server.events] == [1, 3]


def test_of_many_refused_events_the_first_are_said_and_the_others_counted(
    server: FakeIngest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(_event(n).replace(f'"epoch": {n}', '"epoch": "x"') for n in range(120)))
    assert _import(server, file) == 1
    said = capsys.readouterr()
    assert said.err.count("refused:") == 20
    assert "and 100 more like these" in said.err
    assert "120 dropped" in said.out


def test_a_file_that_is_missing_is_said(server: FakeIngest, capsys: pytest.CaptureFixture[str]) -> None:
    assert _import(server, Path("/nowhere.jsonl")) == 1
    assert "/nowhere.jsonl" in capsys.readouterr().err


def test_the_pace_follows_the_rate_headers() -> None:
    policy = '"events";q=1000;w=2'
    assert wait_s({}, 500) == 0
    assert wait_s({"ratelimit-policy": policy, "ratelimit": '"events";r=800;t=1'}, 500) == 0
    assert wait_s({"ratelimit-policy": policy, "ratelimit": '"events";r=100;t=2'}, 500) == pytest.approx(0.8)


def test_an_import_waits_for_its_turn_before_it_is_refused(server: FakeIngest, tmp_path: Path) -> None:
    server.reply_headers = {"RateLimit-Policy": '"events";q=1000;w=1', "RateLimit": '"events";r=0;t=1'}
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(_event, range(1000))))
    begin = time.monotonic()
    assert _import(server, file) == 0
    assert time.monotonic() - begin >= 0.4
    assert len(server.events) == 1000
