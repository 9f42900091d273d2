"""The process around the reporters: interpreter exit, SIGTERM and fork.

Open reporters are listed here. At interpreter exit each is closed within its own timeout. On SIGTERM, whose
default action would end the process without a word, each gets the same chance and the signal then takes its
default action, so that the parent still sees a death by SIGTERM. A handler of the user's own is left alone.
After a fork the child's list is empty: its inherited reporters are inert and its signals are as before.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Protocol

from ._ranks import is_worker_process


class Open(Protocol):
    def end_at_exit(self, failure: str | None) -> None: ...
    def end_by_signal(self, reason: str) -> None: ...


_open: list[Open] = []
_hooked = False
_finalised_pid = 0
_handling_sigterm = False


def opened(reporter: Open) -> None:
    global _hooked, _finalised_pid
    _open.append(reporter)
    if not _hooked:
        _hooked = True
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
    if is_worker_process() and _finalised_pid != os.getpid():
        _finalised_pid = os.getpid()
        # multiprocessing ends its children by os._exit, past atexit; this is its own way of saying goodbye.
        importlib.import_module("multiprocessing.util").Finalize(None, _at_exit, exitpriority=10)
    _take_sigterm()


def closed(reporter: Open) -> None:
    if reporter in _open:
        _open.remove(reporter)
    if not _open:
        _give_back_sigterm()


def newest() -> Open | None:
    return _open[-1] if _open else None


def _take_sigterm() -> None:
    global _handling_sigterm
    if threading.current_thread() is not threading.main_thread() or _handling_sigterm:
        return
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)
            _handling_sigterm = True
    except (ValueError, OSError, AttributeError):
        return  # not the main interpreter, or a platform without it


def _give_back_sigterm() -> None:
    global _handling_sigterm
    if not _handling_sigterm or threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(signal.SIGTERM) is _on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _handling_sigterm = False
    except (ValueError, OSError):
        return


def _on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    for reporter in reversed(_open):
        reporter.end_by_signal("terminated by SIGTERM")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _at_exit() -> None:
    error = getattr(sys, "last_value", None)  # what the interpreter is dying of, if anything
    failure = f"{type(error).__name__}: {error}" if error is not None else None
    for reporter in reversed(_open):
        reporter.end_at_exit(failure)


def _after_fork() -> None:
    _open.clear()
    _give_back_sigterm()
