"""Keeps interrupts out of the recording of an event: Ctrl-C, the interrupt of a stop and ending signals come after it.

Python runs signal handlers in the main thread between any two of its instructions. An exception raised there in the
middle of a recording would lose the event, or count one that was never kept. `with shield:` puts the effect of the
handlers off to the end of the block. Blocks may nest, and take microseconds.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_ident = threading.get_ident
_INTERRUPT: Any = signal.SIGINT


class Shield:
    def __init__(self) -> None:
        self.main = threading.main_thread().ident
        self._depth = 0
        """Open blocks of the main thread: no other one runs signal handlers."""
        self._waiting: dict[int, Callable[[], object]] = {}

    def __enter__(self) -> None:
        if _ident() == self.main:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        if _ident() == self.main:
            self._depth -= 1
            if self._waiting and not self._depth:
                self._deliver()

    def postpone(self, number: int, effect: Callable[[], object]) -> bool:
        """For a signal handler: True when the effect waits for the end of a recording; False when it is to come now.

        If the signal comes again meanwhile, both count as one, like in the kernel.
        """
        if not self._depth:
            return False
        self._waiting[number] = effect
        return True

    def forget(self) -> None:
        """In a forked child, whose parent's main thread may have been inside a block."""
        self.main = threading.main_thread().ident
        self._depth = 0
        self._waiting.clear()

    def _deliver(self) -> None:
        waiting, self._waiting = self._waiting, {}
        interrupt = waiting.pop(_INTERRUPT, None)
        for effect in waiting.values():  # what ends the process goes before what the training may survive
            effect()
        if interrupt is not None:
            interrupt()


shield = Shield()


def prepare() -> None:
    """Take Ctrl-C where Python's own handler has it; to be called by the thread that opens a reporter."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(_INTERRUPT) is signal.default_int_handler:
            signal.signal(_INTERRUPT, _on_interrupt)
    except (ValueError, OSError):
        return  # not the main interpreter


def give_back() -> None:
    """The last reporter was closed."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(_INTERRUPT) is _on_interrupt:
            signal.signal(_INTERRUPT, signal.default_int_handler)
    except (ValueError, OSError):
        return


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    if not shield.postpone(number, lambda: signal.default_int_handler(number, frame)):
        signal.default_int_handler(number, frame)
