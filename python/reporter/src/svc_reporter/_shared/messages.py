"""Rate-limited logging of the package's own messages."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable

_MAX_NAMES = 10_000
"""Names of a topic that are remembered; a further one may be in several messages."""
_SHOWN_NAMES = 5
_SHOWN_LENGTH = 60

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
        self._names: dict[str, _Names] = {}
        """By topic, of `log_names`."""

    def log(self, level: int, topic: str, message: str) -> None:
        """Log the message, unless one on this topic was logged less than `every_s` ago."""
        now = time.monotonic()
        with self._lock_of_this_process():
            last, suppressed = self._logged.get(topic, (float("-inf"), 0))
            if now - last < self._every_s:
                self._logged[topic] = (last, suppressed + 1)
                return
            self._note(topic, now)
        suffix = f" ({suppressed} similar messages suppressed)" if suppressed else ""
        _emit(level, message + suffix)

    def log_once(self, level: int, topic: str, message: str) -> None:
        """Log the message, unless one on this topic was logged before."""
        with self._lock_of_this_process():
            if topic in self._logged:
                return
            self._note(topic, float("inf"))
        _emit(level, message)

    def _note(self, topic: str, at: float) -> None:
        # Some topics name a job.
        if topic not in self._logged and len(self._logged) >= _MAX_NAMES:
            del self._logged[next(iter(self._logged))]
        self._logged[topic] = (at, 0)

    def log_names(self, level: int, topic: str, names: Iterable[str], text: str, *, at_once: int = 1) -> None:
        """Log what applies to these names; `{names}` in `text` stands for those that no message had before.

        The first `at_once` messages are logged at once. Further names wait for the next message, one every `every_s`
        seconds, and for `flush`.
        """
        with self._lock_of_this_process():
            group = self._names.setdefault(topic, _Names(level, text))
            waiting = group.waiting
            for name in names:
                if name not in group.known:
                    waiting.append(name)
                    if len(group.known) < _MAX_NAMES:
                        group.known.add(name)
            now = time.monotonic()
            if not waiting or (group.messages >= at_once and now - group.at < self._every_s):
                return
            message = group.message(now)
        _emit(level, message)

    def flush(self) -> None:
        """Log the names that wait for a message."""
        with self._lock_of_this_process():
            groups = [group for group in self._names.values() if group.waiting]
            messages = [(group.level, group.message(time.monotonic())) for group in groups]
        for level, message in messages:
            _emit(level, message)

    def _lock_of_this_process(self) -> threading.RLock:
        if self._pid != os.getpid():  # a fork may have copied the lock while another thread held it
            self._pid, self._lock = os.getpid(), threading.RLock()
        return self._lock


class _Names:
    """The names of one topic of `log_names`."""

    def __init__(self, level: int, text: str) -> None:
        self.level = level
        self._text = text
        self.known: set[str] = set()
        self.waiting: list[str] = []
        self.messages = 0
        self.at = 0.0
        """time.monotonic() of the last message."""

    def message(self, now: float) -> str:
        names, self.waiting = self.waiting, []
        self.messages += 1
        self.at = now
        shown = ", ".join(name[:_SHOWN_LENGTH] for name in names[:_SHOWN_NAMES])
        more = f" and {len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
        return self._text.replace("{count}", f"{len(names):,}").replace("{names}", shown + more)


def _emit(level: int, message: str) -> None:
    try:
        # Without a handler Python prints the text alone, and it does not say whose it is.
        logger.log(level, message if logger.hasHandlers() else f"svc: {message}")
    except Exception:
        # An exception in the user's logging handler must not reach the training through this package.
        return
