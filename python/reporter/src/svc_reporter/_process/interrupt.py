"""Raises StopRequested in the main thread from another thread, also while it sleeps or waits in a system call.

If a reporter opens in the main thread and SIGURG has no handler, it gets a hidden one that raises the exception: Python
runs signal handlers in the main thread, and a blocking call is interrupted for them. The default action of SIGURG is to
do nothing, so a late signal is harmless. Otherwise (opened in another thread, Windows) the exception is raised at the
next bytecode instruction, which ends a loop but does not interrupt a blocking call.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from .._shared.errors import STOPPED_STATUS, StopRequested
from .._shared.signals import has_hidden_handler, remove_hidden_handler, set_hidden_handler

_number: Any = getattr(signal, "SIGURG", None)
_pending: list[str] = []
_raised_at: list[int] = []
"""The value of StopRequested.made at each time that the class was raised asynchronously."""
_exit_status_setter: Any = None
_set_async_exception: Any = None
"""PyThreadState_SetAsyncExc of ctypes. Loaded when a reporter opens, not in a thread that sends."""


def install() -> None:
    """Prepare `interrupt`. To be called by the thread that opens a reporter."""
    if _number is None or not (has_hidden_handler(_number) or set_hidden_handler(_number, _raise_pending)):
        _load()


def restore() -> None:
    """Remove the signal handler, after the last reporter was closed."""
    if _number is not None:
        remove_hidden_handler(_number)


def _load() -> None:
    global _set_async_exception
    if _set_async_exception is None:
        try:
            import ctypes

            _set_async_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
            _set_async_exception.argtypes = (ctypes.c_ulong, ctypes.py_object)
        except (ImportError, AttributeError):
            return  # another interpreter than CPython


def cancel() -> None:
    """Drop a pending interrupt: the run is ending and its close() must not be interrupted."""
    _pending.clear()


def interrupt(batch_id: str) -> None:
    """Raise StopRequested in the main thread. Does nothing where that is not possible."""
    ident = threading.main_thread().ident
    if ident is None:
        return
    if _number is not None and has_hidden_handler(_number):
        _pending.append(batch_id)
        signal.pthread_kill(ident, _number)
        return
    _load()  # the program may have reset the handler meanwhile
    if _set_async_exception is not None:
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


def exit_as_interrupted() -> None:
    """At interpreter exit after an uncaught KeyboardInterrupt: have the process die of SIGINT, as without a reporter.

    Python notes that error, but forgets it once code is run from a string, as an import does that makes a namedtuple.
    """
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")


class _ExitStatusSetter:
    def __del__(self, end: Callable[[int], object] = os._exit, status: int = STOPPED_STATUS) -> None:
        end(status)


def is_pending() -> bool:
    """Whether an interrupt was sent and not raised yet, because the main thread is inside C code."""
    return bool(_pending)


def _raise_pending(_number: int, _frame: FrameType | None) -> None:
    if _pending:
        batch_id = _pending.pop()
        _pending.clear()
        raise StopRequested(batch_id)
