"""Writes events to the spill file while the worker cannot: it may be inside a request for seconds.

That is what found the queue full, and everything in memory as soon as any of it is too old, because a process that is
killed loses what is only in memory. A training that outruns even this thread writes blocks itself, so that memory stays
bounded and no event is lost.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ._delivery import Counts
from ._envelope import Sealer
from ._keep import Keeper
from ._log import Voice
from ._queue import EventQueue, Pending
from ._shutdown import Shutdown

if TYPE_CHECKING:
    from ._worker import Worker

_BLOCK = 500
_LOOK_S = 0.1
"""How often it looks at what is in memory."""
_LOOKS = 3
"""Events that wait at so many looks, and are still there at the next, are too old: they are written to disk. Looks are
counted rather than time: while the training holds the interpreter's lock, all threads wait, also the one that sends."""
_HELP_AT = 4_000
"""Waiting events from which on the training writes, too."""
_HELP_BLOCK = 100
"""Events that one call of the training writes then: some milliseconds."""
_DISK_RETRY_S = 1.0


class Overflow:
    def __init__(
        self,
        queue: EventQueue,
        sealer: Sealer,
        keeper: Keeper,
        counts: Counts,
        shutdown: Shutdown,
        worker: Worker,
        voice: Voice,
    ) -> None:
        self._queue = queue
        self._sealer = sealer
        self._keeper = keeper
        self._counts = counts
        self._shutdown = shutdown
        self._worker = worker
        self._voice = voice
        self._looked = 0.0
        self._produced: deque[int] = deque([0] * _LOOKS, _LOOKS)
        """How many events there were at each of the last looks, the oldest first."""
        self._long = 0
        """The last send, as `Worker.sending` numbers them, that took too long: new events go to disk at once."""
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
                        return  # interpreter shutdown: close() writes the spillover itself
                    self._thread = thread

    def wake(self) -> None:
        self.start()
        if self._queue.disk_is_full:
            lost = self._counts.read(0).dropped
            if lost:
                self._voice.say(logging.ERROR, "lost", f"events lost so far: {lost:,}; queue and disk are full")
        elif len(self._queue.spillover) >= _HELP_AT:
            self._write(self._queue.take_spillover(_HELP_BLOCK))
        elif self._wakes.empty():
            self._wakes.put(None)

    def is_idle(self) -> bool:
        return not self._busy and not self._queue.spillover

    def is_writing(self) -> bool:
        return self._busy and self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        self._wakes.put(None)

    def _write(self, events: list[Pending], why: str | None = "more events come than the service takes") -> None:
        """To disk; what the disk does not take waits in the spillover again."""
        sealed = []
        origins = []
        for event in events:
            done = self._sealer.seal(event)
            if done is None:
                self._counts.add(dropped=1)
            else:
                sealed.append(done)
                origins.append(event)
        left = self._keeper.spill(sealed, why)
        self._queue.disk_is_full = bool(left)
        if left:
            # Newest first, which restores their order.
            self._queue.spillover.extendleft(reversed(origins[len(origins) - len(left) :]))

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
            self._look()
            try:
                self._wakes.get(timeout=_DISK_RETRY_S if self._queue.disk_is_full else _LOOK_S)
                while True:
                    self._wakes.get_nowait()
            except Empty:
                continue

    def _look(self) -> None:
        """Write what is in memory to disk if some of it is too old; close() does that by itself."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S or self._shutdown.closing:
            return
        self._looked = now
        delivery = self._counts.read(self._queue.produced)
        old = self._produced[0]
        self._produced.append(delivery.produced)
        sending = self._worker.sending
        is_too_old = delivery.produced - delivery.pending < old
        if not sending or self._queue.disk_is_full or not (is_too_old or sending == self._long):
            return
        self._long = sending
        self._worker.insure(sending)
        while self._worker.sending == sending and not self._shutdown.closing:
            self._busy = True
            events = self._queue.take_data(_BLOCK)
            self._write(events, None)
            self._busy = False
            if len(events) < _BLOCK:
                return
