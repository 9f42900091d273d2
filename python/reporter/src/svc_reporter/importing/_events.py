"""`svc-reporter import FILE…`: sends events from files, one JSON object per line, within the service's rate limit."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from .._delivery.queue import EncodedEvent
from .._delivery.responses import Outcome
from .._delivery.sender import Sender, Stopped
from .._delivery.settings import Settings
from .._delivery.shutdown import Shutdown
from .._delivery.transport import Response, Transport

_LEFT = re.compile(r"\br=(\d+)")
_POLICY = re.compile(r"\bq=(\d+)\s*;\s*w=(\d+)")
_BAR = 30
_MAX_PRINTED = 20
"""How many rejected events and invalid lines are printed with their place; further ones are only counted."""


class PacedTransport(Transport):
    """Waits before each request as the rate limit headers of the last response demand, to avoid a 429."""

    _not_before = 0.0

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        accept: str = "application/json",
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        time.sleep(max(0.0, self._not_before - time.monotonic()))
        response = super().request(method, path, body, accept, content_type=content_type, headers=headers)
        self._not_before = time.monotonic() + wait_s(response.headers, 1 if body is None else body.count(b'"event_id"'))
        return response


def wait_s(headers: dict[str, str], events: int) -> float:
    """Seconds until the token bucket of the rate limit allows a request of so many events."""
    left, policy = _LEFT.search(headers.get("ratelimit", "")), _POLICY.search(headers.get("ratelimit-policy", ""))
    if left is None or policy is None:
        return 0.0
    burst, window_s = int(policy[1]), max(1, int(policy[2]))
    return max(0.0, min(events, burst) - int(left[1])) * window_s / max(1, burst)


@dataclass
class Imported:
    events: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    unreadable: int = 0
    stopped: Stopped | None = None

    @property
    def refused(self) -> int:
        return sum(self.outcomes.get(outcome, 0) for outcome in (Outcome.DROPPED, Outcome.REJECTED)) + self.unreadable


def import_files(
    settings: Settings, paths: list[Path], *, quiet: bool = False, screen: TextIO | None = None
) -> Imported:
    """Send all events of the files. May be repeated, because the service ignores events that it has.

    Raises ValueError without an address or token, OSError for a file that cannot be read.
    """
    if settings.target is None or not settings.token:
        raise ValueError("; ".join(settings.complaints) or "no service is configured")
    tuning = settings.tuning
    transport = PacedTransport(settings.target, settings.token, tuning.request_timeout_s)
    sender = Sender(transport, tuning, Shutdown().pause)
    total = sum(path.stat().st_size for path in paths)
    progress = Progress(total, None if quiet else screen or sys.stderr)
    done = Imported()
    try:
        for events, places, size in _chunks(paths, tuning.array_limit, tuning.array_limit_bytes, done, progress):
            transport.names_senders = _is_by_reporters(events)
            sent = sender.send(events)
            for position, outcome in enumerate(sent.outcomes):
                if outcome is not None:
                    done.events += 1
                    done.outcomes[outcome] = done.outcomes.get(outcome, 0) + 1
                    if outcome in (Outcome.DROPPED, Outcome.REJECTED):
                        why = sent.reasons.get(position, "")
                        progress.fault(f"{places[position]}: refused: {events[position].event_id}: {why}")
            if sent.stopped is not None:
                done.stopped = sent.stopped
                progress.line(f"stopped: {sent.why}")
                break
            progress.show(size, done.events)
    finally:
        progress.end()
        transport.close()
    return done


def _is_by_reporters(events: list[EncodedEvent]) -> bool:
    """Whether the event ids are from reporters: those of one process share their last 12 digits."""
    return len({event.event_id[-12:] for event in events}) <= max(1, len(events) // 2)


def _chunks(
    paths: list[Path], limit: int, limit_bytes: int, done: Imported, progress: Progress
) -> Iterator[tuple[list[EncodedEvent], list[str], int]]:
    """Chunks for one request each: the events, the file and line of each, and how many bytes were read so far."""
    events: list[EncodedEvent] = []
    places: list[str] = []
    size = read = 0
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                event = _event(line)
                if event is None:
                    read += len(line)
                    if line.strip():
                        done.unreadable += 1
                        progress.fault(
                            f"{path}:{number}: no event: an event is a JSON object with event_id and event_type"
                        )
                    continue
                if events and (len(events) >= limit or size + event.size > limit_bytes):
                    yield events, places, read
                    events, places, size = [], [], 0
                read += len(line)
                events.append(event)
                places.append(f"{path}:{number}")
                size += event.size + 1
    if events:
        yield events, places, read


def _event(line: bytes) -> EncodedEvent | None:
    text = line.strip()
    try:
        event = json.loads(text)
        return EncodedEvent(str(event["event_id"]), str(event["event_type"]), text)
    except (ValueError, KeyError, TypeError):
        return None


class Progress:
    """A progress bar on a terminal; elsewhere a line every ten seconds."""

    def __init__(self, total: int, screen: TextIO | None) -> None:
        self._total = max(1, total)
        self._screen = screen
        self._is_terminal = screen is not None and screen.isatty()
        self._began = time.monotonic()
        self._shown_at = self._began if not self._is_terminal else 0.0
        self._faults = 0

    def set_total(self, total: int) -> None:
        self._total = max(1, total)

    def show(self, read: int, events: int) -> None:
        now = time.monotonic()
        if self._screen is None or now - self._shown_at < (0.1 if self._is_terminal else 10):
            return
        self._shown_at = now
        share = min(1.0, read / self._total)
        elapsed_s = max(1e-6, now - self._began)
        left_s = round(elapsed_s * (1 - share) / share) if share else 0
        text = f"{share:4.0%}  {events:,} events  {events / elapsed_s:,.0f}/s  {left_s // 60}:{left_s % 60:02d} left"
        if self._is_terminal:
            bar = "#" * round(share * _BAR)
            self._screen.write(f"\r[{bar:<{_BAR}}] {text}  ")
        else:
            self._screen.write(text + "\n")
        self._screen.flush()

    def line(self, text: str) -> None:
        if self._screen is not None:
            self._screen.write(("\r\033[K" if self._is_terminal else "") + text + "\n")

    def fault(self, text: str) -> None:
        self._faults += 1
        if self._faults <= _MAX_PRINTED:
            self.line(text)

    def end(self) -> None:
        more = self._faults - _MAX_PRINTED
        if more > 0:
            self.line(f"and {more:,} more like these")
        if self._screen is not None and self._is_terminal:
            self._screen.write("\r\033[K")
            self._screen.flush()
