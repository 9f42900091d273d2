"""A daemon thread that does something small every so many seconds."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from ._log import Voice


class Periodic:
    """Calls `action` every `every_s` seconds, the first time after one interval, until `stop`.

    Intervals vary by 5%, so that a cluster's reporters do not ask in step. What `action` raises is said
    once and does not end the thread; when it returns False the thread ends by itself.
    """

    def __init__(self, name: str, every_s: float, action: Callable[[], bool | None], voice: Voice) -> None:
        self._name = name
        self._every_s = every_s
        self._action = action
        self._voice = voice
        self.stopped = self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"svc-reporter-{name}", daemon=True)

    def start(self) -> None:
        """Nothing happens with an interval of 0, which switches the thread off."""
        if not self._every_s:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            self._voice.once(logging.WARNING, f"thread {self._name}", f"no {self._name} thread: {error}")

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_s * random.uniform(0.95, 1.05)):
            try:
                if self._action() is False:
                    return
            except Exception as error:
                self._voice.once(logging.WARNING, f"periodic {self._name}", f"{self._name}: {error!r}")
