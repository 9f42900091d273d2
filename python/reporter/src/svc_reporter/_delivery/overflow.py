"""The overflow thread: writes events to the spill file while the worker is inside a request.

It writes events that came while the queue was full. It also writes all events in memory once the oldest is too old,
because a process that is killed loses the events in its memory. If events come faster than this thread writes, the
training's own thread waits for it, so that memory stays bounded and no event is lost. It does not write itself: Ctrl-C
would interrupt it there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from .._shared.messages import Messages
from .delivery import Counts
from .envelope import EventEncoder
from .queue import EventQueue, QueuedEvent
from .shutdown import Shutdown
from .spill_writer import SpillWriter

if TYPE_CHECKING:
    from .worker import Worker

_BLOCK = 500
_CHECK_EVERY_S = 0.1
"""Seconds between two checks of the age of the events in memory."""
_MAX_CHECKS = 3
"""Events that are still in memory after so many checks are too old. Checks are counted instead of time because all
threads, the sending one included, wait while the training holds the interpreter lock."""
_CALLER_WAITS_FROM = 4_000
"""With so many events in `spillover`, the thread that reports an event waits until some are written."""
_CALLER_WAITS_S = 2.0
_DISK_RETRY_S = 1.0


class Overflow:
    def __init__(
        self,
        queue: EventQueue,
        encoder: EventEncoder,
        spill_writer: SpillWriter,
        counts: Counts,
        shutdown: Shutdown,
        worker: Worker,
        messages: Messages,
    ) -> None:
        self._queue = queue
        self._encoder = encoder
        self._spill_writer = spill_writer
        self._counts = counts
        self._shutdown = shutdown
        self._worker = worker
        self._messages = messages
        self._checked_at = 0.0
        self._produced: deque[int] = deque([0] * _MAX_CHECKS, _MAX_CHECKS)
        """How many events had been produced at each of the last checks, oldest first."""
        self._slow_send = 0
        """The last `Worker.sending` that took too long. While it lasts, new events are written to disk at once."""
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.RLock()
        self._busy = False

    def start(self) -> None:
        if self._thread is None:
            with self._start_lock:
                if self._thread is None:
                    thread = threading.Thread(target=self._run, name="svc-reporter-overflow", daemon=True)
                    try:
                        thread.start()
                    except RuntimeError:
                        return  # interpreter shutdown: close() writes the spillover
                    self._thread = thread

    def wake(self) -> None:
        self.start()
        if self._queue.disk_is_full:
            lost = self._counts.read(0).dropped
            if lost:
                self._messages.log(
                    logging.ERROR,
                    "lost",
                    f"{lost:,} events lost so far, because queue and disk are full. Free disk space",
                )
            return
        if self._wakes.empty():
            self._wakes.put(None)
        end = time.monotonic() + _CALLER_WAITS_S
        while len(self._queue.spillover) >= _CALLER_WAITS_FROM and not self._queue.disk_is_full:
            if self._thread is None or not self._thread.is_alive() or time.monotonic() > end:
                return
            time.sleep(0.001)

    def is_idle(self) -> bool:
        return not self._busy and not self._queue.spillover

    def is_writing(self) -> bool:
        return self._busy and self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        self._wakes.put(None)

    def _write(self, events: list[QueuedEvent], why: str = "events come faster than they can be sent") -> None:
        """Write events to the spill file; those that cannot be written go back to `spillover`."""
        encoded = []
        origins = []
        for event in events:
            done = self._encoder.encode(event)
            if done is None:
                self._counts.add(dropped=1)
            else:
                encoded.append(done)
                origins.append(event)
        left = self._spill_writer.spill(encoded, why, " and sent as fast as the service takes them")
        self._worker.note_safe(encoded[: len(encoded) - len(left)])
        self._queue.disk_is_full = bool(left)
        if left:
            self._queue.put_back(origins[len(origins) - len(left) :])

    def _run(self) -> None:
        while not self._shutdown.abandoned:
            self._busy = True
            events = self._queue.take_spillover(_BLOCK)
            if events:
                self._write(events)
                if not self._queue.disk_is_full:
                    continue
            self._busy = False
            if self._shutdown.ending:
                return
            self._check_age()
            try:
                self._wakes.get(timeout=_DISK_RETRY_S if self._queue.disk_is_full else _CHECK_EVERY_S)
                while True:
                    self._wakes.get_nowait()
            except Empty:
                continue

    def _check_age(self) -> None:
        """Write all events in memory to disk if the oldest is too old. Does nothing on closing: close() does it."""
        now = time.monotonic()
        if now - self._checked_at < _CHECK_EVERY_S or self._shutdown.closing:
            return
        self._checked_at = now
        delivery = self._counts.read(self._queue.produced)
        old = self._produced[0]
        self._produced.append(delivery.produced)
        sending = self._worker.sending
        is_too_old = delivery.produced - delivery.pending < old
        if not sending or self._queue.disk_is_full or not (is_too_old or sending == self._slow_send):
            return
        self._slow_send = sending
        self._worker.spill_in_flight(sending)
        while self._worker.sending == sending and not self._shutdown.closing:
            self._busy = True
            events = self._queue.take_data(_BLOCK)
            self._write(events, "")
            self._busy = False
            if len(events) < _BLOCK:
                return
