"""Postpones Ctrl-C, the interrupt of a stop and ending signals while an event is being recorded, or a run ends.

Python runs signal handlers in the main thread between any two instructions. An exception raised there while an event is
being recorded would lose the event, or count an event that was not queued; while a run ends, it would lose its end.
`with shield:` postpones the effect of the handlers to the end of the block. Blocks may be nested, and take
microseconds; the end of a run takes longer, so a signal cuts it short.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ident = threading.get_ident
_INTERRUPT: Any = signal.SIGINT


class Shield:
    def __init__(self) -> None:
        self.main = threading.main_thread().ident
        self._depth = 0
        """Open blocks of the main thread; only that thread runs signal handlers."""
        self._postponed: dict[int, Callable[[], object]] = {}
        self._hurry: Callable[[], object] | None = None
        """Called when Ctrl-C or an ending signal is postponed."""

    def __enter__(self) -> None:
        if _ident() == self.main:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        if _ident() == self.main:
            self._depth -= 1
            if self._postponed and not self._depth:
                self._run_postponed()

    @contextmanager
    def cut_short_by_signals(self, hurry: Callable[[], object]) -> Iterator[None]:
        """A block that may take seconds: Ctrl-C and ending signals call `hurry`, and take effect at its end."""
        is_main = _ident() == self.main
        before = self._hurry
        with self:
            if is_main:
                self._hurry = hurry
            try:
                yield
            finally:
                if is_main:
                    self._hurry = before

    def postpone(self, number: int, effect: Callable[[], object]) -> bool:
        """For a signal handler: postpone `effect` to the end of the block. False if no block is open.

        If the signal comes again meanwhile, the effect runs once, as with pending signals in the kernel.
        """
        if not self._depth:
            return False
        self._postponed[number] = effect
        return True

    def postpone_end(self, number: int, effect: Callable[[], object]) -> bool:
        """`postpone` for a signal with which the user wants the process to end: nothing may take long now."""
        if not self.postpone(number, effect):
            return False
        if self._hurry is not None:
            self._hurry()
        return True

    def reset(self) -> None:
        """In a forked child: the thread that forked may have been inside a block."""
        self.main = threading.main_thread().ident
        self._depth = 0
        self._postponed.clear()
        self._hurry = None

    def _run_postponed(self) -> None:
        postponed, self._postponed = self._postponed, {}
        interrupt = postponed.pop(_INTERRUPT, None)
        for effect in postponed.values():  # effects that end the process come before KeyboardInterrupt
            effect()
        if interrupt is not None:
            interrupt()


shield = Shield()


def install() -> None:
    """Replace Python's own handler of SIGINT, no other one. To be called by the thread that opens a reporter."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(_INTERRUPT) is signal.default_int_handler:
            signal.signal(_INTERRUPT, _on_interrupt)
    except (ValueError, OSError):
        return  # not the main interpreter


def restore() -> None:
    """Restore Python's handler of SIGINT, after the last reporter was closed."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(_INTERRUPT) is _on_interrupt:
            signal.signal(_INTERRUPT, signal.default_int_handler)
    except (ValueError, OSError):
        return


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    if not shield.postpone_end(number, lambda: signal.default_int_handler(number, frame)):
        signal.default_int_handler(number, frame)
