"""A daemon thread that calls a function at regular intervals."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from .messages import Messages


class Periodic:
    """Calls `action` every `every_s` seconds, the first time after one interval, until `stop`.

    Intervals vary by 5%, so that the reporters of a cluster do not send at the same time. An exception of `action` is
    logged once and does not end the thread. If `action` returns False, the thread ends.
    """

    def __init__(
        self,
        name: str,
        every_s: float,
        action: Callable[[], bool | None],
        messages: Messages,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._name = name
        self._every_s = every_s
        self._action = action
        self._messages = messages
        self._at_end = at_end
        """Called by the thread when it ends."""
        self.stopped = self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"svc-reporter-{name}", daemon=True)

    def start(self) -> None:
        """Start the thread; an interval of 0 switches it off."""
        if not self._every_s:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            self._messages.log_once(
                logging.WARNING, f"thread {self._name}", f"cannot start the thread {self._name}: {error}"
            )

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        try:
            self._repeat()
        finally:
            if self._at_end is not None:
                self._at_end()

    def _repeat(self) -> None:
        while not self._stopped.wait(self._every_s * random.uniform(0.95, 1.05)):
            try:
                if self._action() is False:
                    return
            except Exception as error:
                self._messages.log_once(logging.WARNING, f"periodic {self._name}", f"{self._name}: {error!r}")
