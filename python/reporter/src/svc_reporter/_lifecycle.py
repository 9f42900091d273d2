"""The process around the reporters: interpreter exit, exit status, signals that end the process, and fork.

Open reporters are listed here. At interpreter exit each is closed within its own timeout. A signal whose default
action would end the process at once gives each the same chance and then takes its default action, so that
the parent still sees a death by that signal. A handler of the user's own is left alone, one in C (faulthandler)
too. After a fork the child's list is empty: its inherited reporters are inert and its signals are as before.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Protocol

from . import _interrupt, _shield
from ._ranks import is_worker_process

ENDING_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGBREAK")
"""Those that clusters, terminals and people end a training with, where the system has them; SIGINT is Python's
KeyboardInterrupt."""


class Open(Protocol):
    def end_at_exit(self, failure: str | None) -> None: ...
    def end_by_signal(self, reason: str) -> None: ...


_open: list[Open] = []
_hooked = False
_finalised_pid = 0
_taken: set[int] = set()
_exit: Callable[..., NoReturn] | None = None
"""sys.exit as it was found."""
_exit_failure: str | None = None
"""With what sys.exit was called last, where that is a failure: at interpreter exit nothing else knows it."""
forked: list[Callable[[], None]] = []
"""Called in a forked child."""


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
    _take_signals()
    _take_exit()
    _interrupt.prepare()
    _shield.prepare()


def closed(reporter: Open) -> None:
    if reporter in _open:
        _open.remove(reporter)
    if not _open:
        _give_back_signals()
        _give_back_exit()
        _interrupt.give_back()
        _shield.give_back()


def newest() -> Open | None:
    return _open[-1] if _open else None


# --- signals


def _take_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    caught = _caught_in_c()
    for name in ENDING_SIGNALS:
        number: Any = getattr(signal, name, None)
        if number is None or number in _taken:
            continue
        try:
            if signal.getsignal(number) is signal.SIG_DFL and not caught >> (number - 1) & 1:
                signal.signal(number, _on_signal)
                _taken.add(number)
        except (ValueError, OSError):
            continue  # not the main interpreter, or a platform without it


def _give_back_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in list(_taken):
        try:
            if signal.getsignal(number) is _on_signal:
                signal.signal(number, signal.SIG_DFL)
            _taken.discard(number)
        except (ValueError, OSError):
            continue


def _caught_in_c() -> int:
    """The signals that have a handler, as a mask: Python does not know of those that C code has set. Linux only."""
    try:
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16)
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if not _shield.shield.postpone(number, lambda: _end_by(number)):
        _end_by(number)


def _end_by(number: int) -> None:
    for reporter in reversed(_open):
        reporter.end_by_signal(f"terminated by {signal.Signals(number).name}")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


# --- exit


def _take_exit() -> None:
    """SystemExit leaves nothing behind that atexit could read, so what sys.exit is called with is noted."""
    global _exit, _exit_failure
    if _exit is None:
        _exit_failure = None
        _exit = sys.exit
        sys.exit = _noting_exit


def _give_back_exit() -> None:
    global _exit
    if _exit is not None and sys.exit is _noting_exit:
        sys.exit, _exit = _exit, None


def _noting_exit(status: Any = None, /) -> NoReturn:
    global _exit_failure
    if threading.current_thread() is threading.main_thread():
        _exit_failure = None if status is None or status == 0 else f"SystemExit: {status}"
    raise SystemExit(status)


def _at_exit() -> None:
    error = getattr(sys, "last_value", None)  # what the interpreter is dying of, if anything
    failure = f"{type(error).__name__}: {error}" if error is not None else _exit_failure
    for reporter in reversed(_open):
        reporter.end_at_exit(failure)
    _interrupt.exit_with_its_status()


def _after_fork() -> None:
    _open.clear()
    _shield.shield.forget()
    for action in forked:
        action()
    _give_back_signals()
    _give_back_exit()
    _interrupt.give_back()
    _shield.give_back()
