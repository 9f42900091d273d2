"""When a reporter's threads must end, and waiting that knows about it."""

from __future__ import annotations

import time


class Shutdown:
    """Plain attributes, written by the closing thread and read by the others: no lock can be left held."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        """Monotonic time by which everything must be settled; None while the reporter is open."""
        self.ending = False
        """The last event is in the queue: threads end once they have nothing left."""
        self.abandoned = False
        """The closing thread has taken over what is left; others must not touch events any more."""

    @property
    def closing(self) -> bool:
        return self.deadline is not None

    def left_s(self) -> float:
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def pause(self, seconds: float) -> bool:
        """Sleep; False at once when the wait would not end before the deadline."""
        end = time.monotonic() + seconds
        while True:
            if self.abandoned or (self.deadline is not None and end > self.deadline):
                return False
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, 0.05))
