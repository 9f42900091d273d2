"""The bounded queue between the training and the worker.

`put` holds a lock for about a microsecond. It does not wait for the worker, and does not use disk or network while the
queue has room. The lock is re-entrant because a signal handler or finalizer may log while the same thread is inside
`put`. A signal handler may also raise there, between any two instructions, as Ctrl-C does: then the queue counts again
how many events it has got.

If the queue is full, further events go to `spillover`, which the overflow thread writes to disk. Events are lost only
if the disk is full too: first resource samples, then log lines, then metrics. Starts and ends of batches and jobs have
a lane of their own; they are never dropped, and go first if one request cannot carry all waiting events.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .delivery import Counts


class EncodedEvent:
    """An event with its id, encoded as JSON."""

    __slots__ = ("_line", "event_id", "event_type")

    def __init__(self, event_id: str, event_type: str, line: bytes) -> None:
        self.event_id = event_id
        self.event_type = event_type
        self._line = line

    @property
    def line(self) -> bytes:
        """The event as JSON in UTF-8, without a newline."""
        return self._line

    @property
    def size(self) -> int:
        """Upper bound for the bytes of `line`."""
        return len(self._line)


EventData = dict[str, Any] | Callable[[], dict[str, Any]] | EncodedEvent
"""The worker calls a callable to get the data: reading the state of git must not delay the training. Events of the
first moments are encoded already."""

STARTS_AND_ENDS = frozenset({"batch_start", "batch_done", "batch_failed", "job_start", "job_done", "job_failed"})
STARTS = frozenset({"batch_start", "job_start"})
_BATCH_ENDS = frozenset({"batch_done", "batch_failed"})


class QueuedEvent(NamedTuple):
    """An event as reported by the training; the worker adds its id and envelope and encodes it as JSON."""

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
        self._taken = self._lost = 0
        """How many events were taken out, and how many were counted without ever being in a lane."""
        self._takers = 0
        self._taking = threading.RLock()
        self._closed = False
        """The batch's last event was put. It carries the delivery counts, so no event may follow it."""
        self._ends: deque[QueuedEvent] = deque()
        self._metrics: deque[QueuedEvent] = deque()
        self._logs: deque[QueuedEvent] = deque()
        self._samples: deque[QueuedEvent] = deque()
        self._lanes = (self._ends, self._metrics, self._logs, self._samples)
        self.spillover: deque[QueuedEvent] = deque()
        """Events that came while the queue was full, to be written to disk."""
        self.disk_is_full = False
        """The last write to disk failed. Until one succeeds, `spillover` is limited to `limit` events, too, and the
        worker sends what is in it, as it does the rest."""

    def __len__(self) -> int:
        return self._in_lanes() + (len(self.spillover) if self.disk_is_full else 0)

    def _in_lanes(self) -> int:
        return len(self._ends) + len(self._metrics) + len(self._logs) + len(self._samples)

    @property
    def produced(self) -> int:
        """How many events were ever put."""
        return self._seq

    @property
    def has_ends(self) -> bool:
        """Whether a start or an end of a batch or job waits."""
        return bool(self._ends)

    def put(self, event_type: str, job_id: str | None, ms: int, data: EventData) -> bool:
        """Add an event; `ms` is Unix time in milliseconds. True if the caller must wake the overflow thread."""
        lane = self._metrics
        if event_type == "job_epoch":
            pass  # checked first because it is the most frequent type
        elif event_type == "log_line":
            lane = self._logs
        elif event_type == "resource_snapshot":
            lane = self._samples
        elif event_type in STARTS_AND_ENDS:
            lane = self._ends
        with self._lock:
            if self._closed:
                return False  # another thread reports after the batch's end
            self._closed = event_type in _BATCH_ENDS
            try:
                seq = self._seq = self._seq + 1
                event = QueuedEvent(seq, event_type, job_id, ms, data)
                if lane is self._ends:
                    # A batch has one start and one end; an import may put any number of those of jobs.
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
                    self._lost += 1
                    self._counts.add(dropped=1)
                return True
            except BaseException:
                self._count_again()
                raise

    def _count_again(self) -> None:
        """After an exception in `put`: find out whether the event is in a lane. Callers hold the lock."""
        while self._takers:
            time.sleep(0.0001)  # another thread has taken events and not counted them yet
        self._seq = self._taken + self._in_lanes() + len(self.spillover) + self._lost

    def count_lost(self) -> None:
        """Count a report of the training that could not be turned into an event: as produced and dropped."""
        with self._lock:
            if not self._closed:
                self._seq += 1
                self._lost += 1
                self._counts.add(dropped=1)

    def take(self, limit: int) -> list[QueuedEvent]:
        """Remove and return up to `limit` events, oldest first. If more wait, starts and ends have priority.

        Works without the lock: operations of a deque are atomic, and if this thread held the lock, `put` would cost the
        training a thread switch.
        """
        taken = self.take_ends(limit) if 1 < limit < len(self) else []
        has_priority = bool(taken)
        with self._counting(taken):
            self._take_oldest(taken, limit)
        return sorted(taken, key=_seq) if has_priority else taken

    def _take_oldest(self, taken: list[QueuedEvent], limit: int) -> None:
        while len(taken) < limit:
            lanes = (*self._lanes, self.spillover) if self.disk_is_full else self._lanes
            try:
                oldest = min((lane for lane in lanes if lane), key=_head)
                taken.append(oldest.popleft())
            except ValueError:
                break  # all lanes are empty
            except IndexError:
                continue  # `put` removed the last event of a lane meanwhile

    def take_ends(self, limit: int) -> list[QueuedEvent]:
        return self._take([self._ends], limit)

    def take_data(self, limit: int) -> list[QueuedEvent]:
        """Remove and return up to `limit` events that are no starts or ends, lane by lane."""
        return self._take([self._metrics, self._logs, self._samples], limit)

    def take_spillover(self, limit: int) -> list[QueuedEvent]:
        return self._take([self.spillover], limit)

    def put_back(self, events: list[QueuedEvent]) -> None:
        """Put the last events of `take_spillover` back, in their order."""
        with self._counting([], -len(events)):
            self.spillover.extendleft(reversed(events))

    def _take(self, lanes: list[deque[QueuedEvent]], limit: int) -> list[QueuedEvent]:
        taken: list[QueuedEvent] = []
        with self._counting(taken):
            for lane in lanes:
                while lane and len(taken) < limit:
                    try:
                        taken.append(lane.popleft())
                    except IndexError:
                        break
        return taken

    @contextmanager
    def _counting(self, taken: list[QueuedEvent], more: int = 0) -> Iterator[None]:
        """Count the events that are added to `taken` as taken out; see `_count_again`."""
        before = len(taken)
        with self._taking:
            self._takers += 1
        try:
            yield
        finally:
            with self._taking:
                self._taken += len(taken) - before + more
                self._takers -= 1

    def _make_room(self, lane: deque[QueuedEvent]) -> bool:
        """Drop one event of less value than those of `lane`. False if there is none."""
        if lane is self._samples:
            return False
        for victims in (self._samples, self._logs):
            try:
                victims.popleft()
            except IndexError:
                continue
            self._lost += 1
            self._counts.add(dropped=1)
            return True
        return False


def _head(lane: deque[QueuedEvent]) -> int:
    return lane[0].seq


def _seq(event: QueuedEvent) -> int:
    return event.seq
