"""Raises StopRequested in the main thread from another thread, also while it sleeps or waits in the kernel.

The main thread takes SIGURG when a reporter opens there, if no other handler uses it: Python runs signal handlers in
the main thread, a blocking call returns for them, and this signal's default action is to do nothing, so a late
one does no harm. Where that is not possible (opened in another thread, Windows) the exception is set to be raised
at the next bytecode, which ends a loop but no single blocking call.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from ._errors import STOPPED_STATUS, StopRequested
from ._shield import shield

_number: Any = getattr(signal, "SIGURG", None)
_pending: list[str] = []
_raised_at: list[int] = []
"""How many StopRequested had been made whenever one was raised by its class."""
_at_the_end: Any = None
_by_exception: Any = None
"""ctypes' way of raising in another thread; loaded when it will be needed, never in a sending thread."""


def prepare() -> None:
    """To be called by the thread that opens a reporter."""
    global _by_exception
    if threading.current_thread() is threading.main_thread() and _number is not None:
        try:
            if signal.getsignal(_number) in (signal.SIG_DFL, _on_signal):
                signal.signal(_number, _on_signal)
                return
        except (ValueError, OSError):
            pass  # not the main interpreter
    if _by_exception is None and not _is_ready():
        try:
            import ctypes

            _by_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
            _by_exception.argtypes = (ctypes.c_ulong, ctypes.py_object)
        except (ImportError, AttributeError):
            return  # another interpreter than CPython


def give_back() -> None:
    """The last reporter was closed."""
    if threading.current_thread() is not threading.main_thread() or not _is_ready():
        return
    try:
        signal.signal(_number, signal.SIG_DFL)
    except (ValueError, OSError):
        return


def cancel() -> None:
    """The run is ending anyway: an interrupt that is under way must not disturb its close()."""
    _pending.clear()


def interrupt(batch_id: str) -> None:
    ident = threading.main_thread().ident
    if ident is None:
        return
    if _is_ready() and hasattr(signal, "pthread_kill"):
        _pending.append(batch_id)
        signal.pthread_kill(ident, _number)
    elif _by_exception is not None:
        _raised_at.append(StopRequested.made)
        _by_exception(ident, StopRequested)


def exit_with_its_status() -> None:
    """At interpreter exit: have the process end with status 143 where Python 3.10 and 3.11 would end it with 0.

    They take the status from the exception's instance, and make none of an exception that another thread raised by
    its class as long as no handler sees it. Only the very end of the interpreter can prove otherwise: an
    object's finalizer then runs after all exit handlers.
    """
    global _at_the_end
    if sys.version_info < (3, 12) and _raised_at and _raised_at[-1] == StopRequested.made:
        _at_the_end = _Status()


class _Status:
    def __del__(self, end: Callable[[int], object] = os._exit, status: int = STOPPED_STATUS) -> None:
        end(status)


def is_unheard() -> bool:
    """The main thread was interrupted by signal and has not come back to Python since: it waits inside C code."""
    return bool(_pending)


def _is_ready() -> bool:
    return _number is not None and signal.getsignal(_number) is _on_signal


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if not shield.postpone(number, _raise_pending):
        _raise_pending()


def _raise_pending() -> None:
    if _pending:
        batch_id = _pending.pop()
        _pending.clear()
        raise StopRequested(batch_id)
