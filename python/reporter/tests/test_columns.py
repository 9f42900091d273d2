"""Many epochs of one job travel as one envelope and columns, where the service says that it takes them."""

from __future__ import annotations

import json
from typing import Any

from svc_reporter import Reporter
from svc_reporter._delivery.columns import apart, body_of
from svc_reporter._delivery.envelope import EventEncoder
from svc_reporter._delivery.queue import EncodedEvent, QueuedEvent
from svc_reporter._delivery.transport import EPOCHS_TYPE
from svc_reporter._shared.ids import EventIds
from svc_reporter._shared.messages import Messages
from svc_reporter._shared.tuning import DEFAULT

from .kit.fake_ingest import FakeIngest, spelled_out
from .kit.real_server import RealServer


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
