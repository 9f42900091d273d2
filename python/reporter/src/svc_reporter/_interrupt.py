"""Raises StopRequested in the main thread from another thread, also while it sleeps or waits in a system call.

If a reporter opens in the main thread and SIGURG has no handler, it gets one that raises the exception: Python runs
signal handlers in the main thread, and a blocking call is interrupted for them. The default action of SIGURG is to do
nothing, so a late signal is harmless. Otherwise (opened in another thread, Windows) the exception is raised at the next
bytecode instruction, which ends a loop but does not interrupt a blocking call.
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
"""The value of StopRequested.made at each time that the class was raised asynchronously."""
_exit_status_setter: Any = None
_set_async_exception: Any = None
"""PyThreadState_SetAsyncExc of ctypes. Loaded when a reporter opens, not in a thread that sends."""


def install() -> None:
    """Prepare `interrupt`. To be called by the thread that opens a reporter."""
    global _set_async_exception
    if threading.current_thread() is threading.main_thread() and _number is not None:
        try:
            if signal.getsignal(_number) in (signal.SIG_DFL, _on_signal):
                signal.signal(_number, _on_signal)
                return
        except (ValueError, OSError):
            pass  # not the main interpreter
    if _set_async_exception is None and not _has_signal_handler():
        try:
            import ctypes

            _set_async_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
            _set_async_exception.argtypes = (ctypes.c_ulong, ctypes.py_object)
        except (ImportError, AttributeError):
            return  # another interpreter than CPython


def restore() -> None:
    """Remove the signal handler, after the last reporter was closed."""
    if threading.current_thread() is not threading.main_thread() or not _has_signal_handler():
        return
    try:
        signal.signal(_number, signal.SIG_DFL)
    except (ValueError, OSError):
        return


def cancel() -> None:
    """Drop a pending interrupt: the run is ending and its close() must not be interrupted."""
    _pending.clear()


def interrupt(batch_id: str) -> None:
    """Raise StopRequested in the main thread. Does nothing where that is not possible."""
    ident = threading.main_thread().ident
    if ident is None:
        return
    if _has_signal_handler() and hasattr(signal, "pthread_kill"):
        _pending.append(batch_id)
        signal.pthread_kill(ident, _number)
    elif _set_async_exception is not None:
        _raised_at.append(StopRequested.made)
        _set_async_exception(ident, StopRequested)


def exit_with_stop_status() -> None:
    """At interpreter exit: make the process end with status 143 where Python 3.10 and 3.11 would end it with 0.

    They read the status from the exception's instance, and an exception raised asynchronously by its class has none
    until a handler catches it. A finalizer of an object runs after all exit handlers, so it can set the status.
    """
    global _exit_status_setter
    if sys.version_info < (3, 12) and _raised_at and _raised_at[-1] == StopRequested.made:
        _exit_status_setter = _ExitStatusSetter()


class _ExitStatusSetter:
    def __del__(self, end: Callable[[int], object] = os._exit, status: int = STOPPED_STATUS) -> None:
        end(status)


def is_pending() -> bool:
    """Whether an interrupt was sent and not raised yet, because the main thread is inside C code."""
    return bool(_pending)


def _has_signal_handler() -> bool:
    return _number is not None and signal.getsignal(_number) is _on_signal


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if not shield.postpone(number, _raise_pending):
        _raise_pending()


def _raise_pending() -> None:
    if _pending:
        batch_id = _pending.pop()
        _pending.clear()
        raise StopRequested(batch_id)
