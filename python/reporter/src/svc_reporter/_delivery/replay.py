"""Sends a claimed spill file in chunks, and stores the offset up to which the service has acknowledged it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import NamedTuple

from .._disk.claims import Claim, finish, read_offset, release, waiting, write_offset
from .._disk.own_files import open_file
from .._disk.spill import LINE_LIMIT, keep_unreadable
from .._shared.messages import Messages
from .._shared.tuning import Tuning
from .lines import LineReader
from .queue import EncodedEvent
from .responses import Outcome
from .sender import Refusing, Sender, Stopped
from .spill_writer import SpillWriter

OnOutcomes = Callable[[Sequence[tuple[EncodedEvent, Outcome, str]]], None]
"""Called with the events that have got an outcome, and the reason where the service gave one."""


class Replayed(NamedTuple):
    stopped: Stopped | None = None
    """None: every event has an outcome, and the file was deleted."""
    left: Path | None = None
    """The file with the remaining events, if it was stopped."""


class Replay:
    """Sends the remaining events of a claimed file, one chunk for each `step`."""

    def __init__(self, held: Claim, tuning: Tuning, messages: Messages, on_outcomes: OnOutcomes) -> None:
        self._in_flight = held
        self._messages = messages
        self._on_outcomes = on_outcomes
        self._chunks = _chunks(held.path, tuning, messages)

    def step(self, sender: Sender | Refusing, *, once: bool = False) -> Replayed | None:
        """Send one chunk. Returns None if there may be more. `once` sends without retries. Never raises."""
        held = self._in_flight
        try:
            chunk = next(self._chunks, None)
            if chunk is None:
                finish(held)
                return Replayed()
            events, ends, unreadable = chunk
            sent = sender.send(events, once=once)
            done: list[tuple[EncodedEvent, Outcome, str]] = []
            for position, (event, outcome) in enumerate(zip(events, sent.outcomes, strict=True)):
                if outcome is None:
                    break
                done.append((event, outcome, sent.reasons.get(position, "")))
            settled = len(done)
            if done:
                self._on_outcomes(done)
            if settled == len(events) and unreadable:
                self._keep_unreadable(unreadable)
            if settled:
                write_offset(held.path, ends[settled - 1])
            if sent.stopped is not None:
                self._messages.log(
                    logging.INFO,
                    "replay stopped",
                    f"{held.original} could not be sent and is kept for a later replay: {sent.why}",
                )
                return Replayed(sent.stopped, self.release())
        except OSError as error:
            self._messages.log(logging.WARNING, "replay unreadable", f"{held.original} cannot be read: {error}")
            return Replayed(Stopped.UNREADABLE, self.release())
        return None

    def _keep_unreadable(self, lines: list[bytes]) -> None:
        kept = keep_unreadable(self._in_flight.path.parent, self._in_flight.original, lines)
        self._messages.log(
            logging.ERROR,
            "unreadable",
            f"{self._in_flight.original}: {len(lines):,} lines are not events; they are kept in {kept}",
        )

    def release(self) -> Path:
        """End the replay, so that any process can claim the rest of the file. Returns its path."""
        self._chunks.close()
        return release(self._in_flight)


def replay(
    held: Claim, sender: Sender, tuning: Tuning, messages: Messages, on_outcomes: OnOutcomes, *, once: bool = False
) -> Replayed:
    """Send all remaining events of a claimed file. `once` sends without retries. Never raises."""
    steps = Replay(held, tuning, messages, on_outcomes)
    while True:
        done = steps.step(sender, once=once)
        if done is not None:
            return done


def reject_others(spill_writer: SpillWriter, settled: Sequence[tuple[EncodedEvent, Outcome, str]]) -> None:
    """Keep what the service rejected of other runs."""
    for event, outcome, reason in settled:
        if outcome is Outcome.REJECTED:
            spill_writer.reject_from_other_batch(event, reason)


def in_order(folders: list[Path], tuning: Tuning) -> list[Path]:
    """All spill files that can be claimed, least recently modified first (specification §2.4)."""
    return sorted((path for folder in folders for path in waiting(folder, tuning)), key=modified)


def modified(path: Path) -> int:
    """Modification time in nanoseconds, for sorting; 0 for a file that was deleted meanwhile."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


class _Chunk(NamedTuple):
    events: list[EncodedEvent]
    ends: list[int]
    """The file offset of the end of each event."""
    unreadable: list[bytes]
    """Complete lines between them that are not events."""


def _chunks(path: Path, tuning: Tuning, messages: Messages) -> Generator[_Chunk, None, None]:
    """The events of the file from the stored offset on. Raises OSError."""
    with open(open_file(path, os.O_RDONLY), "rb") as file:
        offset = read_offset(path)
        file.seek(offset)
        chunk = _Chunk([], [], [])
        size = 0
        reader = LineReader()
        while line := file.readline(LINE_LIMIT):
            offset += len(line)
            event = reader.read(line.strip())
            if event is None:
                if not line.endswith(b"\n") and len(line) < LINE_LIMIT:
                    messages.log(
                        logging.WARNING,
                        "torn line",
                        f"{path.name}: an incomplete line of {len(line)} bytes was skipped",
                    )
                elif line.strip():
                    chunk.unreadable.append(line)
                    size += len(line)
                if chunk.ends:
                    chunk.ends[-1] = offset
                if size <= tuning.array_limit_bytes:
                    continue
            if len(chunk.events) >= tuning.array_limit or size + len(line) > tuning.array_limit_bytes:
                yield chunk
                chunk, size = _Chunk([], [], []), 0
            if event is not None:
                chunk.events.append(event)
                chunk.ends.append(offset)
                size += event.size + 1
        if chunk.events or chunk.unreadable:
            yield chunk
