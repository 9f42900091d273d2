"""The package's own voice: few lines, each fault said once or at most once a minute."""

from __future__ import annotations

import logging
import os
import threading
import time

logger = logging.getLogger("svc_reporter")


class Voice:
    """Logs through `svc_reporter`, holding back repeats of the same fault.

    A server that refuses every epoch of a night must not fill the terminal: the first line of a
    `topic` is logged, further ones at most once per `every_s`, with the number held back.
    """

    def __init__(self, every_s: float = 60.0) -> None:
        self._every_s = every_s
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._said: dict[str, tuple[float, int]] = {}

    def say(self, level: int, topic: str, message: str) -> None:
        now = time.monotonic()
        with self._own_lock():
            last, held = self._said.get(topic, (float("-inf"), 0))
            if now - last < self._every_s:
                self._said[topic] = (last, held + 1)
                return
            self._said[topic] = (now, 0)
        suffix = f" ({held} more like this since the last line)" if held else ""
        _emit(level, message + suffix)

    def once(self, level: int, topic: str, message: str) -> None:
        with self._own_lock():
            if topic in self._said:
                return
            self._said[topic] = (float("inf"), 0)
        _emit(level, message)

    def _own_lock(self) -> threading.RLock:
        if self._pid != os.getpid():  # a fork may have copied the lock while another thread held it
            self._pid, self._lock = os.getpid(), threading.RLock()
        return self._lock


def _emit(level: int, message: str) -> None:
    try:
        logger.log(level, message)
    except Exception:
        # A broken logging handler of the user's must not reach the training through this package.
        return
