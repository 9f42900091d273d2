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
        self.shed = 0

    def __len__(self) -> int:
        return len(self._keep) + len(self._logs) + len(self._samples)

    def put(self, event_type: str, job_id: str | None, ms: int, data: EventData) -> bool:
        """Take an event. True when the spillover has work, so that the caller wakes its writer."""
        with self._lock:
            self._seq += 1
            event = Pending(self._seq, event_type, job_id, ms, data)
            self._counts.add(produced=1)
            lane = self._lane(event_type)
            if len(self) >= self._limit and not self._make_room(lane):
                if lane is self._keep and len(self.spillover) < self._limit:
                    self.spillover.append(event)
                    return True
                self._shed_one()
                return False
            lane.append(event)
            return False

    def take(self, limit: int) -> list[Pending]:
        """Up to `limit` events, oldest first over all lanes."""
        taken: list[Pending] = []
        with self._lock:
            while len(taken) < limit:
                oldest: deque[Pending] | None = None
                for lane in self._lanes:
                    if lane and (oldest is None or lane[0].seq < oldest[0].seq):
                        oldest = lane
                if oldest is None:
                    break
                taken.append(oldest.popleft())
        return taken

    def take_spillover(self, limit: int) -> list[Pending]:
        taken: list[Pending] = []
        with self._lock:
            while self.spillover and len(taken) < limit:
                taken.append(self.spillover.popleft())
        return taken

    def _lane(self, event_type: str) -> deque[Pending]:
        if event_type == "log_line":
            return self._logs
        if event_type == "resource_snapshot":
            return self._samples
        return self._keep

    def _make_room(self, lane: deque[Pending]) -> bool:
        if lane is self._samples:
            return False
        for victims in (self._samples, self._logs):
            if victims:
                victims.popleft()
                self._shed_one()
                return True
        return False

    def _shed_one(self) -> None:
        self.shed += 1
        self._counts.add(dropped=1)
