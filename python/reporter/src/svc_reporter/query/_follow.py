"""The live stream of one batch (contract §6) as an iterator: reconnects with its cursor, and ends with the batch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from .._shared.errors import QueryError
from ._client import Client, segment
from ._values import as_time

Kind = Literal["batch", "metrics", "logs", "resources"]
_KINDS = ("batch", "metrics", "logs", "resources")
_AGAIN_S = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
"""Seconds between attempts to reconnect, enough for an upgrade of the service; after the last an error is raised."""
_LINGER_S = 2.0
"""Seconds to wait after a batch's end, because its last points and lines may arrive later."""


class Message(NamedTuple):
    """`payload` as docs/api.md describes it for the channel: `{"batch": …}`, `{"points": […]}`, `{"lines": […]}`."""

    kind: str
    type: str
    at: datetime | None
    """In UTC."""
    payload: dict[str, Any]


def follow(client: Client, batch_id: str, kinds: tuple[str, ...], timeout_s: float | None) -> Iterator[Message]:
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if unknown or not kinds:
        raise ValueError(f"kinds must be some of {', '.join(_KINDS)}, got {kinds!r}")
    return _messages(client, batch_id, kinds, timeout_s)


def _messages(client: Client, batch_id: str, kinds: tuple[str, ...], timeout_s: float | None) -> Iterator[Message]:
    # The channel of the batch is always followed, because it reports the end.
    channels = [f"{kind}:{batch_id}" for kind in dict.fromkeys(("batch", *kinds))]
    until = None if timeout_s is None else time.monotonic() + timeout_s
    cursor: str | None = None
    first, over, failures = True, False, 0
    while True:
        try:
            filters = {"channel": channels, "last_event_id": cursor}
            left_s = None if until is None else max(0.1, until - time.monotonic())
            events = client.events("/api/sse", filters, left_s)
            for event in events:
                failures = 0
                cursor = event.get("id") or cursor
                if first:
                    first = False
                    batch = client.get(f"/api/batches/{segment(batch_id)}")
                    if "batch" in kinds:
                        yield Message("batch", "summary", as_time(batch["last_received_at"]), {"batch": batch})
                    over = batch["status"] != "running"
                    if over:
                        return
                message = _message(event)
                if message is not None and message.kind in kinds:
                    yield message
                if message is not None and _is_over(message) and not over:
                    over = True
                    events.end_in(_LINGER_S)
        except QueryError as error:
            if error.status is not None or failures >= len(_AGAIN_S):
                raise
        if over or (until is not None and time.monotonic() >= until):
            return
        time.sleep(_AGAIN_S[min(failures, len(_AGAIN_S) - 1)])
        failures += 1


def _message(event: dict[str, str]) -> Message | None:
    """None for a comment, and for a reset, after which the stream goes on from its own cursor."""
    if event.get("event", "") not in _KINDS or "data" not in event:
        return None
    data = json.loads(event["data"])
    return Message(event["event"], data["type"], as_time(data["at"]), data["payload"])


def _is_over(message: Message) -> bool:
    batch = message.payload.get("batch") if message.kind == "batch" else None
    return isinstance(batch, dict) and batch.get("status") not in ("running", "lost", None)
