"""From the stop flag to the end of the training: the reporter's steps of a stop.

1. The poll sees the flag.
2. The next call of `epoch`, `log`, `job` or `check_stop` raises StopRequested.
3. If no such call comes for 10 s (4 s under several ranks, where `epoch` does not raise), the main thread is
   interrupted wherever it is, as Ctrl-C would do it, and StopRequested is raised there. `stop="cooperative"`
   leaves this step out.
4. Under several ranks the main thread may wait in a collective (a C++ call, up to 30 min for gloo) where no
   exception reaches it. If it has not come back to Python 2 s later, the reporter ends the run as stopped, sends
   what it has for 2 s and ends the process with status 143. The launcher and the lost connections end the others.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from . import _interrupt, _ranks
from ._errors import StopRequested

MODES = ("interrupt", "cooperative")
STUCK_STATUS = 143
"""Exit status of a rank that was stuck in a collective: 128 + SIGTERM, as launchers expect of a stopped process."""


class Stop:
    """The state of one reporter's stop. Plain attributes: a signal handler may read them at any moment."""

    def __init__(self, batch_id: str, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f'stop must be "interrupt" or "cooperative", got {mode!r}')
        self._batch_id = batch_id
        self.mode = mode
        self.seen = False
        self.honoured = False
        """The training was told to stop, by exception or through a library's early end."""
        self._answered = False
        """The main thread was told, so that it need not be interrupted."""
        self._announced = False
        self._who = ""

    @property
    def alone(self) -> bool:
        """The only rank. One of several that leaves the loop would hang the others in their next collective.

        Asked each time: Lightning, for one, makes the other ranks long after the script made its Reporter.
        """
        return _ranks.world_size() == 1

    def see(self, answer: dict[str, Any]) -> None:
        """The service's answer says that a stop was requested."""
        by, at = answer.get("requested_by"), answer.get("requested_at")
        if isinstance(by, dict):
            by = by.get("name") or by.get("email")
        self._who = (f" by {by}" if isinstance(by, str) and by else "") + (
            f" at {at}" if isinstance(at, str) and at else ""
        )
        self.seen = True

    def raise_if_requested(self) -> None:
        if self.seen and self.alone:
            self.raise_now()

    def raise_first(self) -> None:
        """For `log`: raises once only, so that code that cleans up after a stop can still log what it does."""
        if self.seen and self.alone and not self.honoured:
            self.raise_now()

    def raise_now(self) -> None:
        self.honour()
        self.announce()
        raise StopRequested(self._batch_id)

    def honour(self) -> None:
        self.seen = self.honoured = True
        if threading.current_thread() is threading.main_thread():
            self._answered = True

    def announce(self) -> None:
        """One line on stderr that names who asked, with any logging configuration."""
        if self._announced:
            return
        self._announced = True
        try:
            sys.stderr.write(f"svc-reporter: stop of batch {self._batch_id} was requested{self._who}\n")
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return  # no stderr, or a closed one

    def interrupt_if_unanswered(self, ended: threading.Event, interrupt_s: float) -> None:
        """In the polling thread: wait so long for the training to answer, then interrupt the main thread."""
        if self.mode != "interrupt" or ended.wait(interrupt_s) or self._answered:
            return
        self.honoured = True
        self.announce()
        _interrupt.interrupt(self._batch_id)

    def is_stuck(self, ended: threading.Event, stuck_s: float) -> bool:
        """In the polling thread, after the interruption: whether this rank's main thread did not hear it in time."""
        return not self.alone and self.mode == "interrupt" and not ended.wait(stuck_s) and _interrupt.is_unheard()
