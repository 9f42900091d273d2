"""The state of a reporter's shutdown, shared by its threads, and a sleep that respects its deadline."""

from __future__ import annotations

import time


class Shutdown:
    """Plain attributes without a lock, written by the closing thread and read by the others."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        """time.monotonic() by which close() must end; None while the reporter is open."""
        self.ending = False
        """The last event is in the queue: threads end once they have no work left."""
        self._limit = float("inf")
        """time.monotonic() that no deadline may exceed."""
        self.abandoned = False
        """The closing thread has taken all unsent events; other threads must not use them any more."""

    def begin(self, seconds: float) -> None:
        """The reporter closes, within so many seconds."""
        self.deadline = min(time.monotonic() + seconds, self._limit)

    def hurry(self, seconds: float) -> None:
        """close() may take at most so many more seconds, whether it has begun or not."""
        self._limit = min(self._limit, time.monotonic() + seconds)
        if self.deadline is not None:
            self.deadline = min(self.deadline, self._limit)

    @property
    def closing(self) -> bool:
        return self.deadline is not None

    def left_s(self) -> float:
        """Seconds until the deadline; infinity while the reporter is open."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def pause(self, seconds: float) -> bool:
        """Sleep for so many seconds. Returns False at once if that would exceed the deadline."""
        end = time.monotonic() + seconds
        while True:
            if self.abandoned or (self.deadline is not None and end > self.deadline):
                return False
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, 0.05))
