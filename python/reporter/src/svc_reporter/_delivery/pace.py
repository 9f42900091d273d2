"""Decides when the worker sends the waiting events, and lets it sleep until then.

Each wake-up of the worker takes the interpreter lock from the training, so events of a fast training are collected. The
first event after a pause is sent at once. Further events within `round_s` wait for the next round, unless they are
enough for an array or a thread waits in `flush`. Arrays are sent at least `array_gap_s` apart, or at once if one is
full.
"""

from __future__ import annotations

import sys
import time
from queue import Empty, SimpleQueue

from .._shared.tuning import Tuning
from .queue import EventQueue
from .shutdown import Shutdown

_NEVER = sys.maxsize
_MIN_SLEEP_S = 0.02
_CLOSING_SLEEP_S = 0.05


class Pace:
    def __init__(self, queue: EventQueue, shutdown: Shutdown, tuning: Tuning) -> None:
        self._queue = queue
        self._shutdown = shutdown
        self._tuning = tuning
        self._left_in_round = 0
        """How many events of this round are still to be sent, one by one."""
        self._next_round = 0.0
        self._next_array = 0.0
        self._send_now_up_to = 0
        """The number of the last event that a thread waits for; events up to it are sent without delay."""
        self._wake_threshold = _NEVER
        """How many waiting events end the sleep."""
        self._wakes: SimpleQueue[None] = SimpleQueue()

    # --- called from other threads

    def wake(self) -> None:
        """To be called after an event was put into the queue."""
        if len(self._queue) >= self._wake_threshold:
            self._wake_threshold = _NEVER
            self._wakes.put(None)

    def send_now(self) -> None:
        """Send the waiting events without delay, because a thread waits for them."""
        self._send_now_up_to = self._queue.produced
        if self._wake_threshold != _NEVER:
            self._wake_threshold = _NEVER
            self._wakes.put(None)

    # --- the worker's thread

    def next_request_size(self) -> int:
        """How many events the next request is to carry; 0 if none is due yet."""
        pending = len(self._queue)
        if pending == 0:
            self._left_in_round = 0
            return 0
        if pending >= self._tuning.array_threshold:
            if pending < self._tuning.array_limit and self.until_array_s() > 0:
                return 0
            self._begin_round(0)
            self._next_array = time.monotonic() + self._tuning.array_gap_s
            return self._tuning.array_limit
        if self._left_in_round == 0:
            if self.until_round_s() > 0:
                return 0
            self._begin_round(pending)
        self._left_in_round -= 1
        return 1

    def until_round_s(self) -> float:
        return self._until(self._next_round)

    def until_due_s(self) -> float:
        """Seconds until the waiting events are due: as an array if they are enough for one, else in the next round."""
        return self.until_array_s() if len(self._queue) >= self._tuning.array_threshold else self.until_round_s()

    def until_array_s(self) -> float:
        return self._until(self._next_array)

    def sleep(self, wait_s: float, wake_threshold: int, *, wake_if_pending: bool) -> None:
        """Sleep for `wait_s` seconds at most: until `wake_threshold` events wait or `send_now` is called.

        Returns at once if so many wait already, where `wake_if_pending` is set.
        """
        self._wake_threshold = wake_threshold
        # Events that came before `_wake_threshold` was set woke no one.
        if not (wake_if_pending and len(self._queue) >= wake_threshold):
            try:
                self._wakes.get(timeout=max(_MIN_SLEEP_S, _CLOSING_SLEEP_S if self._shutdown.closing else wait_s))
            except Empty:
                pass
        self._wake_threshold = _NEVER

    def next_round_in(self, seconds: float) -> None:
        """Let no event be due for so many seconds, unless a thread waits for it."""
        self._left_in_round = 0
        self._next_round = time.monotonic() + seconds

    def _until(self, due: float) -> float:
        if self._shutdown.closing or self._send_now_up_to > self._queue.produced - len(self._queue):
            return 0.0
        return max(0.0, due - time.monotonic())

    def _begin_round(self, events: int) -> None:
        self._left_in_round = events
        self._next_round = time.monotonic() + self._tuning.round_s
