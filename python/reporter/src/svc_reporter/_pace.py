"""When the worker sends what is pending, and its sleep in between.

Each time the worker has something to do it takes the interpreter away from the training, so a fast training is not
followed event by event. An event after a pause goes at once; those that come within `round_s` of it wait for the next
round, unless they become enough for an array or a thread waits for them. Arrays follow each other `array_gap_s` apart,
or sooner where one is full.
"""

from __future__ import annotations

import sys
import time
from queue import Empty, SimpleQueue

from ._queue import EventQueue
from ._shutdown import Shutdown
from ._tuning import Tuning

_NEVER = sys.maxsize
_MIN_SLEEP_S = 0.02
_CLOSING_SLEEP_S = 0.05


class Pace:
    def __init__(self, queue: EventQueue, shutdown: Shutdown, tuning: Tuning) -> None:
        self._queue = queue
        self._shutdown = shutdown
        self._tuning = tuning
        self._left = 0
        """Events of this round that are still to be sent, one by one."""
        self._next_round = 0.0
        self._next_array = 0.0
        self._awaited = 0
        """Of all events that were ever put: the first so many are waited for."""
        self._enough = _NEVER
        """So many pending events end the sleep."""
        self._wakes: SimpleQueue[None] = SimpleQueue()

    # --- called from other threads

    def wake(self) -> None:
        """An event was put into the queue."""
        if len(self._queue) >= self._enough:
            self._enough = _NEVER
            self._wakes.put(None)

    def hurry(self) -> None:
        """A thread waits for the pending events: they are sent now."""
        self._awaited = self._queue.produced
        if self._enough != _NEVER:
            self._enough = _NEVER
            self._wakes.put(None)

    # --- the worker's thread

    def share(self) -> int:
        """How many of the pending events go with the next request; 0 when it is not yet time."""
        pending = len(self._queue)
        if pending == 0:
            self._left = 0
            return 0
        if pending >= self._tuning.array_threshold:
            if pending < self._tuning.array_limit and self.until_array_s() > 0:
                return 0
            self._begin(0)
            self._next_array = time.monotonic() + self._tuning.array_gap_s
            return self._tuning.array_limit
        if self._left == 0:
            if self.until_round_s() > 0:
                return 0
            self._begin(pending)
        self._left -= 1
        return 1

    def until_round_s(self) -> float:
        return self._until(self._next_round)

    def until_due_s(self) -> float:
        """Until what is pending may go: as an array where it is enough for one, else with the next round."""
        return self.until_array_s() if len(self._queue) >= self._tuning.array_threshold else self.until_round_s()

    def until_array_s(self) -> float:
        return self._until(self._next_array)

    def sleep(self, wait_s: float, enough: int, *, heed_pending: bool) -> None:
        """Until so many events are pending, `hurry`, or the time is over."""
        self._enough = enough
        # Events that were put before `_enough` was set did not wake this thread.
        if not (heed_pending and len(self._queue) >= enough):
            try:
                self._wakes.get(timeout=max(_MIN_SLEEP_S, _CLOSING_SLEEP_S if self._shutdown.closing else wait_s))
            except Empty:
                pass
        self._enough = _NEVER

    def next_round_in(self, seconds: float) -> None:
        """Until then nothing is due, unless a thread waits for it."""
        self._left = 0
        self._next_round = time.monotonic() + seconds

    def _until(self, due: float) -> float:
        if self._shutdown.closing or self._awaited > self._queue.produced - len(self._queue):
            return 0.0
        return max(0.0, due - time.monotonic())

    def _begin(self, events: int) -> None:
        self._left = events
        self._next_round = time.monotonic() + self._tuning.round_s
