"""Reads lines of spill files, so that epochs go as columns again (columns.py)."""

from __future__ import annotations

import json
import re
from typing import Any

from .._disk.spill import event_in
from .envelope import MAX_TEMPLATES, EncodedEpoch, Envelope, is_plain
from .queue import EncodedEvent

_EPOCH_LINE = re.compile(
    r'\{"event_id":"([0-9A-Za-z-]+)",("schema_version":"[^"\\]+","event_type":"job_epoch"),'
    r'"timestamp":"([0-9TZ:.+-]+)",(.+?),"data":(\{[^{}]*\})\}'
)
_ENVELOPE = ("schema_version", "event_type", "batch_id", "job_id", "source")
_parse = json.JSONDecoder().raw_decode


class LineReader:
    """Parses the whole line only of the first epoch of a job, and of other events."""

    def __init__(self) -> None:
        self._envelopes: dict[tuple[str, str], Envelope] = {}

    def read(self, line: bytes) -> EncodedEvent | None:
        """The event of one line, which has no white space around it; None if it is not an event."""
        event: dict[str, Any] | None = None
        try:
            parts = _EPOCH_LINE.fullmatch(line.decode())
            if parts is not None:
                event_id, head, at, tail, text = parts.groups()
                envelope = self._envelopes.get((head, tail))
                if envelope is None:
                    event = event_in(line)
                    envelope = None if event is None else self._learn(event, head, tail, text)
                data, end = _parse(text)
                if envelope is not None and end == len(text) and is_plain(data):
                    return EncodedEpoch(event_id, at, data, envelope, len(line), line)
        except (ValueError, OverflowError, RecursionError):
            pass  # not UTF-8, or not JSON
        event = event or event_in(line)
        return None if event is None else EncodedEvent(event["event_id"], event["event_type"], line)

    def _learn(self, event: dict[str, Any], head: str, tail: str, data: str) -> Envelope | None:
        """Keep the envelope of a line if its parts are those of the event: a foreign line may be nested differently."""
        fields = {key: event.get(key) for key in _ENVELOPE}
        if json.loads(f"{{{head},{tail}}}") != fields or json.loads(data) != event["data"]:
            return None
        envelope = Envelope(head, tail)
        if len(self._envelopes) < MAX_TEMPLATES:
            self._envelopes[head, tail] = envelope
        return envelope
