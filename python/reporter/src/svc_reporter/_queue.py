"""The bounded queue between the training and the worker.

The training's side is one lock held for about a microsecond and one append: it never waits for the worker,
never touches disk or network. The lock is re-entrant because a signal handler or a finaliser may log while
the interrupted frame is inside `put`.

When it is full, what matters least goes first: resource samples, then log lines. Metrics and life-cycle
events are never shed for them; they leave through `spillover`, which the pipeline writes to disk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ._delivery import Counts

EventData = dict[str, Any] | Callable[[], dict[str, Any]]
"""A callable is resolved by the worker: reading git state must not delay the training's first step."""


class Pending(NamedTuple):
    """An event as the training left it; the worker gives it an id, an envelope and its JSON."""

    seq: int
    event_type: str
    job_id: str | None
    ms: int
    data: EventData


class EventQueue:
    def __init__(self, limit: int, counts: Counts) -> None:
        self._limit = limit
        self._counts = counts
        self._lock = threading.RLock()
        self._seq = 0
        self._keep: deque[Pending] = deque()
        self._logs: deque[Pending] = deque()
        self._samples: deque[Pending] = deque()
        self._lanes = (self._keep, self._logs, self._samples)
        self.spillover: deque[Pending] = deque()
        """Metrics and life-cycle events that found the queue full; bounded by the same limit."""

    def __len__(self) -> int:
        return len(self._keep) + len(self._logs) + len(self._samples)

    @property
    def produced(self) -> int:
        """Every event that was ever put."""
        return self._seq

    def put(self, event_type: str, job_id: str | None, ms: int, data: EventData) -> bool:
        """Take an event. True when the spillover has work, so that the caller wakes its writer."""
        lane = self._keep
        if event_type == "log_line":
            lane = self._logs
        elif event_type == "resource_snapshot":
            lane = self._samples
        with self._lock:
            seq = self._seq = self._seq + 1
            event = Pending(seq, event_type, job_id, ms, data)
            if len(self._keep) + len(self._logs) + len(self._samples) < self._limit or self._make_room(lane):
                lane.append(event)
                return False
            if lane is self._keep and len(self.spillover) < self._limit:
                self.spillover.append(event)
                return True
            self._counts.add(dropped=1)
            return False

    def take(self, limit: int) -> list[Pending]:
        """Up to `limit` events, oldest first over all lanes.

        Without the lock: a deque's own operations are atomic, and a consumer that held it while the training
        calls `put` would cost the training a thread switch.
        """
        taken: list[Pending] = []
        while len(taken) < limit:
            try:
                oldest = min((lane for lane in self._lanes if lane), key=_head)
                taken.append(oldest.popleft())
            except ValueError:
                break  # all lanes are empty
            except IndexError:
                continue  # `put` shed the last of a lane meanwhile
        return taken

    def take_spillover(self, limit: int) -> list[Pending]:
        taken: list[Pending] = []
        while self.spillover and len(taken) < limit:
            try:
                taken.append(self.spillover.popleft())
            except IndexError:
                break
        return taken

    def _make_room(self, lane: deque[Pending]) -> bool:
        if lane is self._samples:
            return False
        for victims in (self._samples, self._logs):
            try:
                victims.popleft()
            except IndexError:
                continue
            self._counts.add(dropped=1)
            return True
        return False


def _head(lane: deque[Pending]) -> int:
    return lane[0].seq
