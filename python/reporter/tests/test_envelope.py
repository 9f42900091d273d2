"""Frequent events are filled into a template; they must come out as the careful way makes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svc_reporter._delivery.envelope import EventEncoder, fits_schema
from svc_reporter._delivery.queue import QueuedEvent
from svc_reporter._delivery.validate import validate
from svc_reporter._shared.ids import EventIds, now_ms
from svc_reporter._shared.messages import Messages
from svc_reporter._shared.tuning import DEFAULT

EPOCHS: list[dict[str, Any]] = [
    {"epoch": 3, "train_loss": 0.25, "acc": 1},
    {"epoch": -1, "val/loss": 1e-300, 'a "quoted" name': 2.5, "größe": 7},
    {"epoch": 4, "train_loss": "NaN"},
    {"epoch": 5, "group": {"top1": 0.5}},
    {"epoch": 6, "note": "text\x00 with NUL"},
    {"epoch": 7, "bad\ud800name": 1.0},
    {"epoch": 8, "flag": True},
    {"epoch": 3_000_000_000, "loss": 1.0},
    {"epoch": 1 - 2**53, "loss": 1.0},
    {"epoch": 2**53, "loss": 1.0},
    {"epoch": 9, "loss": float("nan")},
    {"epoch": 1.5, "loss": 1.0},
    {"loss": 1.0},
]
LINES: list[dict[str, Any]] = [
    {"line": "epoch 1", "level": "info"},
    {"line": 'a "quote", a \\ and a\ttab', "level": "warning", "stream": "stdout"},
    {"line": "NUL \x00 and \ud800", "level": "info"},
    {"line": "", "level": "x" * 33},
    {"line": "no level"},
    {"line": 5, "level": "info"},
    {"line": "x" * 300_000, "level": "info"},
]


def encoder() -> EventEncoder:
    return EventEncoder("vision", 'batch "1"', {"host": "näher", "user": "me"}, EventIds(), Messages(), DEFAULT)


@pytest.mark.parametrize(
    ("kind", "data"), [("job_epoch", data) for data in EPOCHS] + [("log_line", data) for data in LINES]
)
def test_an_event_from_a_template_equals_the_one_made_without_a_template(kind: str, data: dict[str, Any]) -> None:
    first: dict[str, Any] = {"epoch": 0} if kind == "job_epoch" else {"line": "", "level": "info"}
    careful, practised = encoder(), encoder()
    assert practised.encode(QueuedEvent(1, kind, "job ü", now_ms(), first)) is not None
    event = QueuedEvent(2, kind, "job ü", 1_700_000_000_123, data)
    expected, got = careful.encode(event), practised.encode(event)
    assert (expected is None) == (got is None)
    if expected is not None and got is not None:
        one, other = json.loads(expected.line), json.loads(got.line)
        assert other.pop("event_id") == got.event_id
        one.pop("event_id")
        assert one == other
        assert got.event_type == kind


@pytest.mark.parametrize(
    ("kind", "data"), [("job_epoch", data) for data in EPOCHS] + [("log_line", data) for data in LINES]
)
def test_events_from_a_template_are_valid_by_the_schema(kind: str, data: dict[str, Any]) -> None:
    event = {
        "event_id": EventIds().make(now_ms()),
        "schema_version": "1.1",
        "event_type": kind,
        "timestamp": "2026-01-31T12:00:00.123Z",
        "batch_id": "b",
        "job_id": "a",
        "source": {"project": "vision"},
        "data": data,
    }
    assert validate(event) == [] or not fits_schema(kind, data)


def test_every_job_has_its_own_template() -> None:
    made = encoder()
    events = [QueuedEvent(n, "job_epoch", f"job{n % 2}", now_ms(), {"epoch": n, "loss": 0.5}) for n in range(6)]
    lines = [made.encode(event) for event in events]
    assert [json.loads(one.line)["job_id"] for one in lines if one] == ["job0", "job1"] * 3
