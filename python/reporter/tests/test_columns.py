"""Many epochs of one job travel as one envelope and columns, where the service says that it takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svc_reporter import Reporter
from svc_reporter._delivery.columns import apart, body_of
from svc_reporter._delivery.envelope import EncodedEpoch, EventEncoder
from svc_reporter._delivery.lines import LineReader
from svc_reporter._delivery.queue import EncodedEvent, QueuedEvent
from svc_reporter._delivery.transport import EPOCHS_TYPE
from svc_reporter._disk.spill import SpillFolder
from svc_reporter._shared.ids import EventIds
from svc_reporter._shared.messages import Messages
from svc_reporter._shared.tuning import DEFAULT

from .kit.fake_ingest import FakeIngest, spelled_out
from .kit.real_server import RealServer
from .kit.wait import until


def encoded(*events: tuple[str, str | None, dict[str, Any]]) -> list[EncodedEvent]:
    encoder = EventEncoder("vision", 'batch "1"', {"host": "näher", "user": "me"}, EventIds(), Messages(), DEFAULT)
    for kind, job, data in {(kind, job): (kind, job, data) for kind, job, data in events}.values():
        encoder.encode(QueuedEvent(0, kind, job, 1_700_000_000_000, data))
    made = [
        encoder.encode(QueuedEvent(n, kind, job, 1_700_000_000_000 + n, data))
        for n, (kind, job, data) in enumerate(events)
    ]
    return [event for event in made if event is not None]


def test_columns_spell_out_the_same_events_as_the_lines() -> None:
    values: list[dict[str, Any]] = [
        {"epoch": 0, "loss": 0.25, "acc": 1},
        {"loss": 1e-300, "epoch": -1, 'a "quoted" name': 2.5, "größe": 7},
        {"epoch": 2},
        {"epoch": 3, "loss": -0.0, "acc": 2**70},
    ]
    events = encoded(*[("job_epoch", "job ü", data) for data in values])
    assert spelled_out(json.loads(body_of(events))) == [json.loads(event.line) for event in events]
    assert all(len(event.line) <= event.size for event in events)


def test_only_epochs_of_one_job_go_together_and_ends_come_last() -> None:
    jobs = [("job_epoch", f"job{n % 2}", {"epoch": n, "loss": 0.5}) for n in range(12)]
    few = [("job_epoch", "few", {"epoch": 0, "loss": 0.5})]
    line = [("log_line", "job0", {"line": "hello", "level": "info"})]
    events = encoded(*jobs, *few, *line)
    assert apart(events, list(range(14)), 5) == [
        ([12, 13], False),
        (list(range(0, 12, 2)), True),
        (list(range(1, 12, 2)), True),
    ]
    assert apart(events, list(range(14)), 7) == [(list(range(14)), False)]
    ending = encoded(("job_done", "job0", {}), *jobs, ("job_start", "job2", {}))
    assert [positions for positions, _ in apart(ending, list(range(14)), 5)] == [
        [13],
        list(range(1, 13, 2)),
        list(range(2, 13, 2)),
        [0],
    ]


def test_lines_read_back_from_disk_go_as_columns_again() -> None:
    jobs: list[tuple[str, str | None, dict[str, Any]]] = [
        ("job_epoch", f'job "{n % 2}" ü', {"epoch": n, "loss": 1 / (n + 1), "größe": n, 'a "b"': -0.0, "huge": 1e300})
        for n in range(8)
    ]
    events = encoded(*jobs, ("log_line", "job", {"line": 'a "quoted" {line}', "level": "info"}))
    reader = LineReader()
    read = [reader.read(event.line) for event in events]
    kept = [event for event in read if event is not None]
    assert [(one.event_id, one.event_type, one.line) for one in kept] == [
        (one.event_id, one.event_type, one.line) for one in events
    ]
    assert all(len(one.line) <= one.size for one in kept)
    parts = apart(kept, list(range(9)), 4)
    assert parts == [([8], False), ([0, 2, 4, 6], True), ([1, 3, 5, 7], True)]
    for positions, _ in parts[1:]:
        of_job = [kept[position] for position in positions]
        assert spelled_out(json.loads(body_of(of_job))) == [json.loads(event.line) for event in of_job]


LINE = (
    '{"event_id":"%s","schema_version":"1.1","event_type":"job_epoch","timestamp":"2026-01-31T12:00:00.123Z",'
    '"batch_id":"b","job_id":"a","source":{"project":"p"},"data":%s}'
)


@pytest.mark.parametrize(
    "line",
    [
        LINE % ("1", '{"epoch":1,"loss":null}'),
        LINE % ("1", '{"epoch":1,"loss":"NaN"}'),
        LINE % ("1", '{"epoch":1,"loss":1e999}'),
        LINE % ("1", '{"epoch":true}'),
        LINE % ("1", '{"epoch":1.5}'),
        LINE % ("1", '{"epoch":1,"loss":{}}'),
        LINE % ("1", "{}"),
        LINE.replace('"source"', '"more":{"x":1},"source"') % ("1", '{"epoch":1}'),
        LINE.replace('"source"', '"data":{},"source"') % ("1", '{"epoch":1}'),
        LINE.replace("{", '{"event_type":"log_line",', 1) % ("1", '{"epoch":1}'),
        json.dumps(json.loads(LINE % ("1", '{"epoch":1}'))),
    ],
)
def test_a_line_that_columns_cannot_say_goes_as_it_is(line: str) -> None:
    reader = LineReader()
    for known in (False, True):  # the envelope of the epochs of job a
        event = reader.read(line.encode())
        assert event is not None
        assert not isinstance(event, EncodedEpoch)
        assert event.line == line.encode()
        if not known:
            assert isinstance(reader.read((LINE % ("0", '{"epoch":0}')).encode()), EncodedEpoch)


@pytest.mark.parametrize(
    "line", [LINE[:90], LINE % ("1", '{"epoch":1}}'), LINE[:-1] % ("1", '{"epoch":1}'), LINE % ("1", "{'epoch':1}")]
)
def test_a_torn_line_of_a_known_job_is_not_an_event(line: str) -> None:
    reader = LineReader()
    assert isinstance(reader.read((LINE % ("0", '{"epoch":0}')).encode()), EncodedEpoch)
    assert reader.read(line.encode()) is None
    assert reader.read(line.encode() + b"\xff") is None


def test_epochs_that_waited_on_disk_go_as_columns(server: FakeIngest, spill: Path) -> None:
    server.reply_headers = {"Accept-Post": f"application/json, {EPOCHS_TYPE}"}
    lines = [event.line for event in encoded(*[("job_epoch", "a", {"epoch": n, "loss": 0.5}) for n in range(1_300)])]
    SpillFolder([spill]).append("other", lines)
    with Reporter("vision", url=server.url, token=server.token) as run:
        until(lambda: len(server.of("job_epoch")) == 1_300)
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == list(range(1_300))
    assert server.in_columns == 800  # the answer to the first array says that the service takes them
    assert run.delivery.complete


def report(url: str, token: str, epochs: int) -> Reporter:
    with Reporter("vision", url=url, token=token) as run, run.job("a") as job:
        run.flush(5)
        for epoch in range(epochs):
            job.epoch(epoch, loss=1 / (1 + epoch), acc=epoch)
            if epoch % 50 == 0:
                job.log(f"at {epoch}")
    return run


def test_a_service_that_takes_columns_gets_them_and_has_every_event_once(server: FakeIngest) -> None:
    server.reply_headers = {"Accept-Post": f"application/json, {EPOCHS_TYPE}"}
    run = report(server.url, server.token, 400)
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(400))
    assert server.in_columns > 200
    assert (run.delivery["dropped"], run.delivery["spilled"]) == (0, 0)


def test_a_service_that_does_not_announce_columns_gets_arrays(server: FakeIngest) -> None:
    report(server.url, server.token, 100)
    assert len(server.of("job_epoch")) == 100
    assert server.in_columns == 0


def test_a_server_of_an_earlier_release_behind_the_same_address_gets_the_same_events_in_an_array(
    server: FakeIngest,
) -> None:
    server.reply_headers = {"Accept-Post": f"application/json, {EPOCHS_TYPE}"}
    server.takes_columns = False
    run = report(server.url, server.token, 100)
    assert sorted({event["data"]["epoch"] for event in server.of("job_epoch")}) == list(range(100))
    # A request that took long was written to disk as well, and sent again as duplicates.
    assert (run.delivery["dropped"], run.delivery["spilled"]) == (0, 0)


def test_the_real_service_takes_them(real_server: RealServer) -> None:
    run = report(real_server.url, real_server.token, 200)
    told = run.delivery
    assert (told["accepted"] + told["duplicate"], told["dropped"]) == (told["produced"], 0), told
