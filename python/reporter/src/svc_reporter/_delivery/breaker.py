"""The circuit breaker: while the server cannot be reached, events are spilled without waiting for retries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from .._shared.tuning import Tuning


class Breaker:
    """Closed: events are sent. Open: events are spilled, and a probe is sent from time to time.

    Probes are 10 s apart at first, at most 30 s, with a jitter of 10%, so that the reporters of a cluster do not probe
    a recovering server in the same second.
    """

    def __init__(self, tuning: Tuning, now: Callable[[], float] = time.monotonic) -> None:
        self._tuning = tuning
        self._now = now
        self._wait_s = tuning.probe_first_s
        self._probe_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self._probe_at is not None

    def trip(self) -> None:
        """Open the breaker, or after a failed probe wait longer for the next one."""
        if self._probe_at is not None:
            self._wait_s = min(self._wait_s * 1.5, self._tuning.probe_last_s)
        wait_s = self._wait_s * random.uniform(0.9, 1.1)
        wait_s = min(max(wait_s, self._tuning.probe_first_s), self._tuning.probe_last_s)
        self._probe_at = self._now() + wait_s

    def reset(self) -> None:
        """Close the breaker."""
        self._probe_at = None
        self._wait_s = self._tuning.probe_first_s

    def until_probe_s(self) -> float:
        """Seconds until the next probe is due; 0 when it is due or the breaker is closed."""
        return 0.0 if self._probe_at is None else max(0.0, self._probe_at - self._now())
