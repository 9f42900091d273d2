"""Encodes reported events as JSON, with the envelope of specification §2.1."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple

from .._shared.ids import EventIds, timestamp
from .._shared.messages import Messages
from .._shared.plain import clean_text
from .._shared.signals import raise_if_by_signal
from .._shared.tuning import Tuning
from .queue import EncodedEvent, QueuedEvent
from .validate import validate

SCHEMA_VERSION = "1.1"
_CUT_LINE = 60_000
"""Characters kept of a log line that makes its event too large; at most 4 bytes each, under 256 KiB."""
_NEEDED = ("experiment_type", "n_total", "n_total_jobs", "epoch", "line", "level", "model", "dataset", "reason")
_NUMBERS = frozenset({float, int})
_FREQUENT = ("job_epoch", "log_line")
MAX_TEMPLATES = 1_000
_STEP_LIMIT = 2**53
_LEVEL_LIMIT = 32
_NUMBER_BYTES = 24
"""The most characters that a double takes, or an integer that is exact as a double."""
_ENVELOPE_BYTES = 128
"""Upper bound for the bytes of a line beside the text of its envelope and its data."""
_NAMED_CUTS = 20
_NAMED_LENGTH = 80
"""An event names at most so many of the values that were cut, each with at most so many characters."""


class Envelope(NamedTuple):
    """The JSON text that all epochs of one job share, in the order of a line."""

    head: str
    """Between id and timestamp."""
    tail: str
    """Between timestamp and data."""


class EncodedEpoch(EncodedEvent):
    """A job_epoch whose JSON is made only when needed: many epochs of one job are sent as columns (columns.py)."""

    __slots__ = ("_size", "data", "envelope", "timestamp")

    def __init__(
        self, event_id: str, timestamp: str, data: dict[str, Any], envelope: Envelope, size: int, line: bytes = b""
    ) -> None:
        self.event_id = event_id
        self.event_type = "job_epoch"
        self._line = line
        self.timestamp = timestamp
        self.data = data
        self.envelope = envelope
        self._size = size

    @property
    def line(self) -> bytes:
        if not self._line:
            self._line = _line(self.event_id, self.timestamp, self.envelope, to_json(self.data))
        return self._line

    @property
    def size(self) -> int:
        return self._size


def _line(event_id: str, at: str, envelope: Envelope, data: str) -> bytes:
    text = f'{{"event_id":"{event_id}",{envelope.head},"timestamp":"{at}",{envelope.tail},"data":{data}}}'
    return text.encode()


class EventEncoder:
    """Gives events their envelope, validates them against the schema and serialises them."""

    def __init__(
        self, project: str, batch_id: str, source: dict[str, str], ids: EventIds, messages: Messages, tuning: Tuning
    ) -> None:
        self._project = project
        self._batch_id = batch_id
        self._source = source
        self._ids = ids
        self._messages = messages
        self._limit = tuning.event_limit_bytes
        self._templates: dict[tuple[str, str | None], Envelope] = {}
        """By event type and job."""
        self._sizes: dict[tuple[str, ...], int] = {}
        """By the names of an epoch's values: upper bound for the bytes of its data."""

    def encode(self, event: QueuedEvent) -> EncodedEvent | None:
        """The encoded event; None, with a log message, if the service would reject it. Raises what a signal did."""
        given = event.data
        if isinstance(given, EncodedEvent):
            return given
        try:
            return self._encode(event, given() if callable(given) else given)
        except Exception as error:
            raise_if_by_signal(error)
            self._messages.log(logging.ERROR, f"encode {event.event_type}", f"{event.event_type} dropped: {error!r}")
            return None

    def _encode(self, event: QueuedEvent, data: dict[str, Any]) -> EncodedEvent | None:
        template = self._templates.get((event.event_type, event.job_id))
        if template is not None and fits_schema(event.event_type, data):
            encoded = self._fill(template, event, data)
            if encoded is not None:
                return encoded
        source: dict[str, str] = {"project": self._project}
        if event.event_type == "batch_start":
            source.update(self._source)
            snapshot = data.get("env_snapshot")
            if isinstance(snapshot, dict):
                source.update({key: snapshot[key] for key in ("commit", "command") if snapshot.get(key)})
        elif "host" in self._source:
            source["host"] = self._source["host"]
        event_id = self._ids.make(event.ms)
        envelope: dict[str, Any] = {
            "event_id": event_id,
            "schema_version": SCHEMA_VERSION,
            "event_type": event.event_type,
            "timestamp": timestamp(event.ms),
            "batch_id": self._batch_id,
            "job_id": event.job_id,
            "source": source,
            "data": data,
        }
        line = encode(envelope)
        if len(line) > self._limit:
            line = encode(self._cut(envelope))
        problems = validate(envelope)
        if problems:
            self._messages.log(
                logging.ERROR,
                f"invalid {event.event_type}",
                f"{event.event_type} dropped, it violates the event schema: {'; '.join(problems[:3])}",
            )
            return None
        if len(line) > self._limit:
            self._messages.log(
                logging.ERROR,
                f"large {event.event_type}",
                f"{event.event_type} dropped: {len(line):,} bytes, the service takes at most {self._limit:,}",
            )
            return None
        if event.event_type in _FREQUENT and len(self._templates) < MAX_TEMPLATES:
            self._learn(envelope)
        return EncodedEvent(event_id, event.event_type, line)

    def _learn(self, envelope: dict[str, Any]) -> None:
        """Cache the text of a valid envelope for further events of its type and job."""
        first = encode({key: envelope[key] for key in ("schema_version", "event_type")}).decode("utf-8")[1:-1]
        second = encode({key: envelope[key] for key in ("batch_id", "job_id", "source")}).decode("utf-8")[1:-1]
        self._templates[envelope["event_type"], envelope["job_id"]] = Envelope(first, second)

    def _fill(self, template: Envelope, event: QueuedEvent, data: dict[str, Any]) -> EncodedEvent | None:
        """Encode an event with a cached envelope, in a quarter of the time; None if it needs the full encoding."""
        try:
            if event.event_type == "job_epoch":
                size = self._size_of(data)
                if size is not None and all(map(isfinite, data.values())):
                    size += len(template.head) + len(template.tail) + _ENVELOPE_BYTES
                    at = timestamp(event.ms)
                    return EncodedEpoch(self._ids.make(event.ms), at, data, template, size)
            text = to_json(data)
            if "\\u0000" in text:
                return None
            event_id = self._ids.make(event.ms)
            line = _line(event_id, timestamp(event.ms), template, text)
        except (ValueError, TypeError, OverflowError):  # not finite, not JSON, or a lone surrogate
            return None
        return EncodedEvent(event_id, event.event_type, line) if len(line) <= self._limit else None

    def _size_of(self, data: dict[str, Any]) -> int | None:
        """Upper bound for the bytes of numbers with these names; None if the names need the full encoding."""
        names = tuple(data)
        size = self._sizes.get(names)
        if size is None:
            text = to_json(dict.fromkeys(names, 0))
            if "\\u0000" in text or len(self._sizes) >= MAX_TEMPLATES:
                return None
            size = len(text.encode()) + len(names) * _NUMBER_BYTES
            if size > self._limit // 2:
                return None
            self._sizes[names] = size
        return size

    def _cut(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """Shorten an event that exceeds the size limit, so that it is not lost.

        A long log line is cut at its end. Then the largest values are removed until the event fits, those of `config`,
        `metrics` and other objects key by key. Their names are listed in `truncated` and logged.
        """
        data = dict(envelope["data"])
        cut: list[str] = []
        line = data.get("line")
        if isinstance(line, str) and len(line) > _CUT_LINE:
            data["line"] = f"{line[:_CUT_LINE]}… [{len(line) - _CUT_LINE:,} more characters]"
            cut.append("line")
        excess = len(encode({**envelope, "data": {**data, "truncated": cut}})) - self._limit
        if excess > 0:
            cut += _drop_largest(data, excess)
            shown = ", ".join(cut[:5]) + (f" and {len(cut) - 5} more" if len(cut) > 5 else "")
            self._messages.log(
                logging.WARNING, f"cut {envelope['event_type']}", f"{envelope['event_type']} is too large; cut: {shown}"
            )
        if cut:
            data["truncated"] = cut[:_NAMED_CUTS]
        return {**envelope, "data": data}


def _json_encoder() -> Callable[[Any], str]:
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)  # only in CPython
    if make is None:
        return encoder.encode
    # JSONEncoder.encode creates one of these in each call, which takes as long as encoding an epoch.
    chunks = make(None, encoder.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


to_json = _json_encoder()


def fits_schema(event_type: str, data: dict[str, Any]) -> bool:
    """A fast check of frequent events: true only if the data are valid. A test compares it with the validator."""
    if event_type == "job_epoch":
        epoch = data.get("epoch")
        if type(epoch) is not int or not -_STEP_LIMIT < epoch < _STEP_LIMIT:
            return False
        return _NUMBERS.issuperset(map(type, data.values()))
    line, level = data.get("line"), data.get("level")
    return type(line) is str and type(level) is str and 0 < len(level) <= _LEVEL_LIMIT


def is_plain(data: dict[str, Any]) -> bool:
    """Whether the data of an epoch are its number and finite numbers, which may go as columns."""
    return fits_schema("job_epoch", data) and all(map(isfinite, data.values()))


def encode(envelope: dict[str, Any]) -> bytes:
    """The envelope as JSON in UTF-8, without characters that the service rejects."""
    text = to_json(envelope)
    if "\\u0000" not in text:
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            pass  # a lone surrogate, as in a file name that is not UTF-8
    envelope.update(clean_text(envelope))
    return to_json(envelope).encode("utf-8")


def _drop_largest(data: dict[str, Any], excess: int) -> list[str]:
    """Remove the largest values from `data` until it is `excess` bytes smaller, and a margin. Returns their names."""
    sizes: list[tuple[int, str, str | None]] = []
    for key, value in data.items():
        if isinstance(value, dict):
            sizes += [(_size(name, inner), key, str(name)) for name, inner in value.items()]
        elif key not in _NEEDED:
            sizes.append((_size(key, value), key, None))
    sizes.sort(reverse=True, key=lambda one: one[0])
    left = excess + 2_048  # for the names of what was cut
    cut: list[str] = []
    for size, key, name in sizes:
        if left <= 0:
            break
        left -= size
        if name is None:
            del data[key]
            cut.append(key)
        else:
            data[key] = {inner: value for inner, value in data[key].items() if inner != name}
            cut.append(f"{key}.{name}"[:_NAMED_LENGTH])
    return cut


def _size(key: str, value: Any) -> int:
    """Bytes that an object gets shorter by without this entry: its text and a comma."""
    return len(encode({str(key): value})) - 1
