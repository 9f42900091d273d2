"""Rate-limited logging of the package's own messages."""

from __future__ import annotations

import logging
import os
import threading
import time

logger = logging.getLogger("svc_reporter")


class Messages:
    """Logs to the logger `svc_reporter`, at most one message per topic every `every_s` seconds.

    Without the limit, a server that refuses every epoch would fill the terminal.
    """

    def __init__(self, every_s: float = 60.0) -> None:
        self._every_s = every_s
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._logged: dict[str, tuple[float, int]] = {}
        """By topic: time.monotonic() of the last message, and how many were suppressed since."""

    def log(self, level: int, topic: str, message: str) -> None:
        """Log the message, unless one on this topic was logged less than `every_s` ago."""
        now = time.monotonic()
        with self._lock_of_this_process():
            last, suppressed = self._logged.get(topic, (float("-inf"), 0))
            if now - last < self._every_s:
                self._logged[topic] = (last, suppressed + 1)
                return
            self._logged[topic] = (now, 0)
        suffix = f" ({suppressed} similar messages suppressed)" if suppressed else ""
        _emit(level, message + suffix)

    def log_once(self, level: int, topic: str, message: str) -> None:
        """Log the message, unless one on this topic was logged before."""
        with self._lock_of_this_process():
            if topic in self._logged:
                return
            self._logged[topic] = (float("inf"), 0)
        _emit(level, message)

    def _lock_of_this_process(self) -> threading.RLock:
        if self._pid != os.getpid():  # a fork may have copied the lock while another thread held it
            self._pid, self._lock = os.getpid(), threading.RLock()
        return self._lock


def _emit(level: int, message: str) -> None:
    try:
        logger.log(level, message)
    except Exception:
        # An exception in the user's logging handler must not reach the training through this package.
        return
