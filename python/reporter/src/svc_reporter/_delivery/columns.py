"""Encodes many epochs of one job as one envelope with columns: two fifths of the bytes of single events."""

from __future__ import annotations

from collections.abc import Sequence

from .envelope import EncodedEpoch, Envelope, to_json
from .queue import STARTS, STARTS_AND_ENDS, EncodedEvent


def apart(events: Sequence[EncodedEvent], positions: list[int], least: int) -> list[tuple[list[int], bool]]:
    """Split the positions into requests, each with whether it is sent as columns: at least `least` epochs of one job.

    Starts come before any columns and ends come last; other events may be sent in any order.
    """
    by_job: dict[Envelope, list[int]] = {}
    rest: list[int] = []
    ends: list[int] = []
    for position in positions:
        event = events[position]
        if isinstance(event, EncodedEpoch):
            by_job.setdefault(event.envelope, []).append(position)
        elif event.event_type in STARTS_AND_ENDS and event.event_type not in STARTS:
            ends.append(position)
        else:
            rest.append(position)
    parts: list[tuple[list[int], bool]] = []
    for of_job in by_job.values():
        if len(of_job) >= least:
            parts.append((of_job, True))
        else:
            rest += of_job
    if not parts:
        return [(positions, False)]
    return [*([(sorted(rest), False)] if rest else []), *parts, *([(ends, False)] if ends else [])]


def body_of(events: Sequence[EncodedEvent]) -> bytes:
    """The request body for epochs of one job."""
    epochs = [event for event in events if isinstance(event, EncodedEpoch)]
    data = [event.data for event in epochs]
    shapes = dict.fromkeys(map(tuple, data))
    names = dict.fromkeys(name for shape in shapes for name in shape if name != "epoch")
    envelope = epochs[0].envelope
    columns = to_json(
        {
            "event_ids": [event.event_id for event in epochs],
            "timestamps": [event.timestamp for event in epochs],
            "epochs": [one["epoch"] for one in data],
            "series": {name: [one.get(name) for one in data] for name in names},
        }
    )
    head = envelope.head.replace(',"event_type":"job_epoch"', "", 1)
    return f"{{{head},{envelope.tail},{columns[1:]}".encode()
