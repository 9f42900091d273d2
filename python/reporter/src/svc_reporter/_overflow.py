"""Writes metrics that found the queue full to the spill file, so that neither the training nor they suffer.

Its own thread, started when first needed: the worker may be inside a request for seconds just then.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue

from ._delivery import Counts
from ._envelope import Sealer
from ._keep import Keeper
from ._queue import EventQueue, Pending
from ._shutdown import Shutdown


class Overflow:
    def __init__(self, queue: EventQueue, sealer: Sealer, keeper: Keeper, counts: Counts, shutdown: Shutdown) -> None:
        self._queue = queue
        self._sealer = sealer
        self._keeper = keeper
        self._counts = counts
        self._shutdown = shutdown
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.RLock()
        self._busy = False

    def wake(self) -> None:
        if self._thread is None:
            with self._start_lock:
                if self._thread is None:
                    thread = threading.Thread(target=self._run, name="svc-reporter-overflow", daemon=True)
                    try:
                        thread.start()
                    except RuntimeError:
                        return  # interpreter shutdown: close() writes the spillover itself
                    self._thread = thread
        self._wakes.put(None)

    def is_idle(self) -> bool:
        return not self._busy and not self._queue.spillover

    def is_writing(self) -> bool:
        return self._busy and self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        self._wakes.put(None)

    def write(self, events: list[Pending]) -> None:
        sealed = [done for done in map(self._sealer.seal, events) if done is not None]
        self._counts.add(dropped=len(events) - len(sealed))
        self._keeper.give_up(self._keeper.spill(sealed, "the queue is full"), "queue and disk are full")

    def _run(self) -> None:
        while not self._shutdown.abandoned:
            self._busy = True
            events = self._queue.take_spillover(500)
            if events:
                self.write(events)
                continue
            self._busy = False
            if self._shutdown.ending:
                return
            self._wakes.get()
            while not self._wakes.empty():
                self._wakes.get()
