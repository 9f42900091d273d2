"""Sends a claimed spill file, chunk by chunk, keeping the offset of what is acknowledged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator
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
    """None: all of it is settled and the file was deleted."""
    left: Path | None = None
    """Where the rest of the file is, otherwise."""


class Replay:
    """The delivery of the rest of a claimed file, one request at a time, keeping its offset."""

    def __init__(self, held: Claim, tuning: Tuning, voice: Voice, on_fate: OnFate) -> None:
        self._held = held
        self._voice = voice
        self._on_fate = on_fate
        self._chunks = _chunks(held.path, tuning, voice)

    def step(self, sender: Sender, *, once: bool = False) -> Replayed | None:
        """Deliver one chunk. None: there may be more. `once` makes it a single attempt: a probe of the breaker."""
        held = self._held
        try:
            chunk = next(self._chunks, None)
            if chunk is None:
                finish(held)
                return Replayed()
            events, ends = chunk
            sent = sender.send(events, once=once)
            settled = 0
            for position, (event, fate) in enumerate(zip(events, sent.fates, strict=True)):
                if fate is None:
                    break
                self._on_fate(event, fate, sent.reasons.get(position, ""))
                settled += 1
            if settled:
                write_offset(held.path, ends[settled - 1])
            if sent.stopped is not None:
                self._voice.say(logging.INFO, "replay stopped", f"{held.original} is kept for later: {sent.why}")
                return Replayed(sent.stopped, self.release())
        except OSError as error:
            self._voice.say(logging.WARNING, "replay unreadable", f"{held.original} cannot be read: {error}")
            return Replayed(Stopped.UNREADABLE, self.release())
        return None

    def release(self) -> Path:
        """Give the rest of the file back; returns where it is."""
        self._chunks.close()
        return release(self._held)


def replay(held: Claim, sender: Sender, tuning: Tuning, voice: Voice, on_fate: OnFate) -> Replayed:
    """Deliver the rest of a claimed file."""
    steps = Replay(held, tuning, voice, on_fate)
    while True:
        done = steps.step(sender)
        if done is not None:
            return done


def in_order(folders: list[Path], tuning: Tuning) -> list[Path]:
    """Every spill file that may be claimed, oldest modification first (specification §2.4)."""
    return sorted((path for folder in folders for path in waiting(folder, tuning)), key=modified)


def modified(path: Path) -> int:
    """For sorting; a file that was deleted in the meantime comes first, and its claim fails."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _chunks(path: Path, tuning: Tuning, voice: Voice) -> Generator[tuple[list[Sealed], list[int]], None, None]:
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
            if len(events) >= tuning.array_limit or size + event.size > tuning.array_limit_bytes:
                yield events, ends
                events, ends, size = [], [], 0
            events.append(event)
            ends.append(offset)
            size += event.size + 1
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
