"""Sends a claimed spill file, chunk by chunk, keeping the offset of what is acknowledged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ._answers import Fate
from ._claims import Claim, finish, read_offset, release, waiting, write_offset
from ._envelope import Sealed
from ._log import Voice
from ._sender import Sender, Stopped
from ._tuning import Tuning

OnFate = Callable[[Sealed, Fate, str], None]


class Replayed(NamedTuple):
    stopped: Stopped | None = None
    """None: all of it is settled and the file is gone."""
    left: Path | None = None
    """Where the rest of the file is, otherwise."""


def replay(
    held: Claim, sender: Sender, tuning: Tuning, voice: Voice, on_fate: OnFate, *, once: bool = False
) -> Replayed:
    """Deliver the rest of a claimed file, keeping its offset.

    `once` makes the first chunk a single attempt: that is what a probe of the circuit breaker is.
    """
    try:
        for events, ends in _chunks(held.path, tuning, voice):
            sent = sender.send(events, once=once)
            once = False
            settled = 0
            for position, (event, fate) in enumerate(zip(events, sent.fates, strict=True)):
                if fate is None:
                    break
                on_fate(event, fate, sent.reasons.get(position, ""))
                settled += 1
            if settled:
                write_offset(held.path, ends[settled - 1])
            if sent.stopped is not None:
                voice.say(logging.INFO, "replay stopped", f"{held.original} is kept for later: {sent.why}")
                return Replayed(sent.stopped, release(held))
    except OSError as error:
        voice.say(logging.WARNING, "replay unreadable", f"{held.original} cannot be read: {error}")
        return Replayed(Stopped.UNREADABLE, release(held))
    finish(held)
    return Replayed()


def in_order(folders: list[Path], tuning: Tuning) -> list[Path]:
    """Every spill file that may be claimed, oldest modification first (specification §2.4)."""
    return sorted((path for folder in folders for path in waiting(folder, tuning)), key=modified)


def modified(path: Path) -> int:
    """For sorting; a file that is gone meanwhile comes first, and its claim fails."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _chunks(path: Path, tuning: Tuning, voice: Voice) -> Iterator[tuple[list[Sealed], list[int]]]:
    """Chunks of events with, for each event, the file offset behind it."""
    with open(path, "rb") as file:
        offset = read_offset(path)
        file.seek(offset)
        events: list[Sealed] = []
        ends: list[int] = []
        size = 0
        for line in file:
            offset += len(line)
            event = _read(line)
            if event is None:
                if line.strip():
                    voice.say(
                        logging.WARNING,
                        "torn line",
                        f"{path.name}: an unfinished line was skipped ({len(line)} bytes)",
                    )
                if ends:
                    ends[-1] = offset
                continue
            if len(events) >= tuning.array_limit or size + len(event.line) > tuning.array_limit_bytes:
                yield events, ends
                events, ends, size = [], [], 0
            events.append(event)
            ends.append(offset)
            size += len(event.line) + 1
        if events:
            yield events, ends


def _read(line: bytes) -> Sealed | None:
    """The event of one line; None for a line whose writer died before it was whole."""
    text = line.strip()
    if not text:
        return None
    try:
        event = json.loads(text)
        return Sealed(str(event["event_id"]), str(event.get("event_type")), text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
