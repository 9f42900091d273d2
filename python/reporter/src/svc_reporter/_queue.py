"""The bounded queue between the training and the worker.

The training's side is one lock held for about a microsecond and one append: it never waits for the worker,
never touches disk or network while there is room. The lock is re-entrant because a signal handler or a finaliser
may log while the interrupted frame is inside `put`.

When it is full, further events leave through `spillover`, which the pipeline writes to disk. Only where the disk
takes nothing are events lost: resource samples first, then log lines, then metrics. What starts or ends a batch or
a job has a lane of its own, which is never shed and goes first when there is more than one request can carry.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ._delivery import Counts

EventData = dict[str, Any] | Callable[[], dict[str, Any]]
"""A callable is resolved by the worker: reading git state must not delay the training's first step."""

STARTS_AND_ENDS = frozenset({"batch_start", "batch_done", "batch_failed", "job_start", "job_done", "job_failed"})
STARTS = frozenset({"batch_start", "job_start"})
_BATCH_ENDS = frozenset({"batch_done", "batch_failed"})


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
        self._over = False
        """The batch's last event was put: its receipt counts what came before it, and nothing comes after."""
        self._ends: deque[Pending] = deque()
        self._metrics: deque[Pending] = deque()
        self._logs: deque[Pending] = deque()
        self._samples: deque[Pending] = deque()
        self._lanes = (self._ends, self._metrics, self._logs, self._samples)
        self.spillover: deque[Pending] = deque()
        """Events that found the queue full, on their way to disk."""
        self.disk_is_full = False
        """The disk took nothing at the last attempt: the spillover is bounded by the same limit until it does."""

    def __len__(self) -> int:
        return len(self._ends) + len(self._metrics) + len(self._logs) + len(self._samples)

    @property
    def produced(self) -> int:
        """Every event that was ever put."""
        return self._seq

    @property
    def has_ends(self) -> bool:
        """A start or an end waits."""
        return bool(self._ends)

    def put(self, event_type: str, job_id: str | None, ms: int, data: EventData) -> bool:
        """Take an event. True when the spillover has work, so that the caller wakes its writer."""
        lane = self._metrics
        if event_type == "job_epoch":
            pass  # the frequent one first
        elif event_type == "log_line":
            lane = self._logs
        elif event_type == "resource_snapshot":
            lane = self._samples
        elif event_type in STARTS_AND_ENDS:
            lane = self._ends
        with self._lock:
            if self._over:
                return False  # another thread still reports while the batch's end is on its way
            self._over = event_type in _BATCH_ENDS
            seq = self._seq = self._seq + 1
            event = Pending(seq, event_type, job_id, ms, data)
            if lane is self._ends:
                # The batch's own are two; those of jobs are as many as a back-fill makes.
                if len(lane) < self._limit or job_id is None:
                    lane.append(event)
                    return False
            elif len(self._metrics) + len(self._logs) + len(self._samples) < self._limit:
                lane.append(event)
                return False
            if not self.disk_is_full or lane is self._ends or len(self.spillover) < self._limit:
                self.spillover.append(event)
                return True
            if self._make_room(lane):
                lane.append(event)
            else:
                self._counts.add(dropped=1)
            return True

    def lose(self) -> None:
        """Count an event that could not be made of what the training gave: it is lost before it is one."""
        with self._lock:
            if not self._over:
                self._seq += 1
                self._counts.add(dropped=1)

    def take(self, limit: int) -> list[Pending]:
        """Up to `limit` events, oldest first over all lanes; with more than that, starts and ends before the rest.

        Without the lock: a deque's own operations are atomic, and a consumer that held it while the training
        calls `put` would cost the training a thread switch.
        """
        taken = self.take_ends(limit) if 1 < limit < len(self) else []
        ahead = bool(taken)
        while len(taken) < limit:
            try:
                oldest = min((lane for lane in self._lanes if lane), key=_head)
                taken.append(oldest.popleft())
            except ValueError:
                break  # all lanes are empty
            except IndexError:
                continue  # `put` shed the last of a lane meanwhile
        return sorted(taken, key=_seq) if ahead else taken

    def take_ends(self, limit: int) -> list[Pending]:
        return _take(self._ends, limit)

    def take_data(self, limit: int) -> list[Pending]:
        """Up to `limit` events that neither start nor end anything, lane by lane."""
        taken: list[Pending] = []
        for lane in (self._metrics, self._logs, self._samples):
            taken += _take(lane, limit - len(taken))
        return taken

    def take_spillover(self, limit: int) -> list[Pending]:
        return _take(self.spillover, limit)

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


def _take(lane: deque[Pending], limit: int) -> list[Pending]:
    taken: list[Pending] = []
    while lane and len(taken) < limit:
        try:
            taken.append(lane.popleft())
        except IndexError:
            break
    return taken


def _head(lane: deque[Pending]) -> int:
    return lane[0].seq


def _seq(event: Pending) -> int:
    return event.seq
