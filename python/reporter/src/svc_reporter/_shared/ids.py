"""Event ids and timestamps."""

from __future__ import annotations

import os
import random
import threading
import time


class EventIds:
    """Makes UUIDv7 strings: time first, so that the service's unique index grows at one end.

    The last 48 bits are drawn once per reporter, so that it can tell its own events from others' in a spill file
    (`mine`), and the service can compare what is stored with what each process produced (header `X-Svc-Sender`);
    a counter and 14 random bits keep ids of one millisecond apart.
    """

    def __init__(self) -> None:
        self.sender = os.urandom(6).hex()
        """The last 12 digits of every id."""
        self._random = random.Random(os.urandom(16))
        self._lock = threading.RLock()
        self._ms = 0
        self._head = ""
        """The text of an id's time, `_ms`: some events share a millisecond."""
        self._count = 0

    def make(self, ms: int) -> str:
        """An id for an event of the Unix time `ms` (milliseconds)."""
        with self._lock:
            if ms > self._ms:
                self._turn_to(ms)
            else:
                self._count += 1
                if self._count > 0xFFF:
                    self._turn_to(self._ms + 1)
            return f"{self._head}{self._count:03x}-{0x8000 | self._random.getrandbits(14):04x}-{self.sender}"

    def _turn_to(self, ms: int) -> None:
        self._ms, self._count = ms, 0
        stamp = f"{ms & 0xFFFF_FFFF_FFFF:012x}"
        self._head = f"{stamp[:8]}-{stamp[8:]}-7"

    def mine(self, event_id: str) -> bool:
        return event_id.endswith(self.sender)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


_formatted: tuple[int, str] = (-1, "")
"""The last formatted second and its text, because thousands of events share one second."""


def timestamp(ms: int) -> str:
    """Unix milliseconds → `2026-01-31T12:00:00.123Z` (specification §2.1, fractional form of contract §1)."""
    global _formatted
    seconds, fraction = divmod(ms, 1000)
    known = _formatted
    if known[0] != seconds:
        known = _formatted = (seconds, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)))
    return f"{known[1]}.{fraction:03d}Z"


def new_batch_id(experiment_type: str, ms: int) -> str:
    """A readable id that sorts by time: `train-20260131-120000-3fa9c1`."""
    word = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in experiment_type)[:40] or "run"
    return f"{word}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(ms / 1000))}-{os.urandom(3).hex()}"
