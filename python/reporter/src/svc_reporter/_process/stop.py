"""Stops the training after a user asked for it. The steps:

1. The poll reads the stop flag.
2. The next call of `epoch`, `log`, `job` or `check_stop` raises StopRequested.
3. If there is no such call for 10 s (4 s with several ranks, where `epoch` does not raise), StopRequested is raised in
   the main thread, at any instruction, as with Ctrl-C. `stop="cooperative"` skips this step.
4. With several ranks the main thread may wait in a collective operation (a C++ call, up to 30 min for gloo), where no
   exception can be raised. If it has not returned to Python after 2 s, the reporter ends the run as stopped, sends
   events for at most 2 s and ends the process with status 143. The launcher and lost connections end the other ranks.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from .._shared.errors import StopRequested
from . import interrupt, ranks

MODES = ("interrupt", "cooperative")
STUCK_STATUS = 143
"""Exit status of a rank that was stuck in a collective operation: 128 + SIGTERM, as launchers expect."""


class Stop:
    """Whether a stop was requested and delivered. Without a lock: a signal handler may read it at any moment."""

    def __init__(self, batch_id: str, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f'stop must be "interrupt" or "cooperative", got {mode!r}')
        self._batch_id = batch_id
        self.mode = mode
        self.seen = False
        self.honoured = False
        """The training was told to stop, by exception or through a library's early end."""
        self._delivered = False
        """The main thread was told to stop, so it need not be interrupted."""
        self._announced = False
        self._who = ""

    @property
    def alone(self) -> bool:
        """Whether this is the only rank. If one of several left the loop, the others would hang in a collective.

        Computed on each call, because Lightning starts the other ranks after the script has made its Reporter.
        """
        return ranks.world_size() == 1

    def record(self, response: dict[str, Any]) -> None:
        """Record a requested stop; `response` is the body of the stop poll."""
        by, at = response.get("requested_by"), response.get("requested_at")
        if isinstance(by, dict):
            by = by.get("name") or by.get("email")
        self._who = (f" by {by}" if isinstance(by, str) and by else "") + (
            f" at {at}" if isinstance(at, str) and at else ""
        )
        self.seen = True

    def raise_if_requested(self) -> None:
        if self.seen and self.alone:
            self.raise_now()

    def raise_once(self) -> None:
        """For `log`: raise only once, so that clean-up code after a stop can still log."""
        if self.seen and self.alone and not self.honoured:
            self.raise_now()

    def raise_now(self) -> None:
        self.honour()
        self.announce()
        raise StopRequested(self._batch_id)

    def honour(self) -> None:
        self.seen = self.honoured = True
        if threading.current_thread() is threading.main_thread():
            self._delivered = True

    def announce(self) -> None:
        """Print who requested the stop to stderr, once; the logging configuration may hide log messages."""
        if self._announced:
            return
        self._announced = True
        try:
            sys.stderr.write(f"svc-reporter: stop of batch {self._batch_id} was requested{self._who}\n")
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return  # no stderr, or a closed one

    def interrupt_if_ignored(self, ended: threading.Event, interrupt_s: float) -> None:
        """In the polling thread: wait `interrupt_s` seconds for a reaction, then interrupt the main thread."""
        if self.mode != "interrupt" or ended.wait(interrupt_s) or self._delivered:
            return
        self.honoured = True
        self.announce()
        interrupt.interrupt(self._batch_id)

    def is_stuck(self, ended: threading.Event, stuck_s: float) -> bool:
        """In the polling thread, after the interrupt: whether it is still pending after `stuck_s` seconds."""
        return not self.alone and self.mode == "interrupt" and not ended.wait(stuck_s) and interrupt.is_pending()
