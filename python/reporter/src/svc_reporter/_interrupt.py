"""Raises StopRequested in the main thread from another thread, also while it sleeps or waits in the kernel.

The main thread takes SIGURG when a reporter opens there, if nobody else uses it: Python runs signal handlers in
the main thread, a blocking call returns for them, and this signal's default action is to do nothing, so a late
one harms nobody. Where that is not possible (opened in another thread, Windows) the exception is set to be raised
at the next bytecode, which ends a loop but no single blocking call.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from ._errors import StopRequested

_number: Any = getattr(signal, "SIGURG", None)
_pending: list[str] = []
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
        _by_exception(ident, StopRequested)


def is_unheard() -> bool:
    """The main thread was interrupted by signal and has not come back to Python since: it waits inside C code."""
    return bool(_pending)


def _is_ready() -> bool:
    return _number is not None and signal.getsignal(_number) is _on_signal


def _on_signal(_signal: int, _frame: FrameType | None) -> None:
    if _pending:
        batch_id = _pending.pop()
        _pending.clear()
        raise StopRequested(batch_id)
