"""Closes open reporters at interpreter exit and on signals that end the process, and handles forks.

At interpreter exit each open reporter is closed within its timeout. A signal whose default action ends the process
closes them too; then the default action follows, so that the parent sees that signal. Handlers of the user are not
replaced, nor are those of C code (faulthandler). In a forked child no reporter is open, and the handlers are removed.
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
"""Signals that end a training, where the system has them. SIGINT is not among them: Python raises KeyboardInterrupt."""


class OpenReporter(Protocol):
    def end_at_exit(self, failure: str | None) -> None: ...
    def end_by_signal(self, reason: str) -> None: ...


_open: list[OpenReporter] = []
_hooked = False
_finalised_pid = 0
_handled_signals: set[int] = set()
_original_exit: Callable[..., NoReturn] | None = None
"""The sys.exit that was replaced; None while it is not."""
_exit_failure: str | None = None
"""The status of the last call of sys.exit, if it means failure. Nothing else keeps it until interpreter exit."""
_survived_error: BaseException | None = None
"""The error in sys.last_value after which the process went on, as a notebook or an interactive session does."""
forked: list[Callable[[], None]] = []
"""Functions to be called in a forked child."""


def opened(reporter: OpenReporter) -> None:
    global _hooked, _finalised_pid
    _open.append(reporter)
    if not _hooked:
        _hooked = True
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
        _watch_cells()
    _goes_on()
    if is_worker_process() and _finalised_pid != os.getpid():
        _finalised_pid = os.getpid()
        # multiprocessing ends its children by os._exit, without atexit, but runs its finalizers.
        importlib.import_module("multiprocessing.util").Finalize(None, _at_exit, exitpriority=10)
    _install_signal_handlers()
    _patch_exit()
    _interrupt.install()
    _shield.install()


def closed(reporter: OpenReporter) -> None:
    if reporter in _open:
        _open.remove(reporter)
    if not _open:
        _restore_signal_handlers()
        _restore_exit()
        _interrupt.restore()
        _shield.restore()


def newest() -> OpenReporter | None:
    return _open[-1] if _open else None


# --- signals


def _install_signal_handlers() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    caught = _signals_with_handler()
    for name in ENDING_SIGNALS:
        number: Any = getattr(signal, name, None)
        if number is None or number in _handled_signals:
            continue
        try:
            if signal.getsignal(number) is signal.SIG_DFL and not caught >> (number - 1) & 1:
                signal.signal(number, _on_signal)
                _handled_signals.add(number)
        except (ValueError, OSError):
            continue  # not the main interpreter, or a platform without it


def _restore_signal_handlers() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in list(_handled_signals):
        try:
            if signal.getsignal(number) is _on_signal:
                signal.signal(number, signal.SIG_DFL)
            _handled_signals.discard(number)
        except (ValueError, OSError):
            continue


def _signals_with_handler() -> int:
    """Bit mask of the signals with a handler, also those of C code, which Python does not list.

    Always 0 on systems other than Linux.
    """
    try:
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16)
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if not _shield.shield.postpone_end(number, lambda: _end_by_signal(number)):
        _end_by_signal(number)


def _end_by_signal(number: int) -> None:
    for reporter in reversed(_open):
        reporter.end_by_signal(f"terminated by {signal.Signals(number).name}")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    if os.getpid() == 1:  # the first process of a container: the kernel discards signals that it does not handle
        os._exit(128 + number)


# --- exit


def _patch_exit() -> None:
    """Replace sys.exit by a function that records the status: an atexit function cannot read it otherwise."""
    global _original_exit, _exit_failure
    if _original_exit is None:
        _exit_failure = None
        _original_exit = sys.exit
        sys.exit = _recording_exit


def _restore_exit() -> None:
    global _original_exit
    if _original_exit is not None and sys.exit is _recording_exit:
        sys.exit, _original_exit = _original_exit, None


def _recording_exit(status: Any = None, /) -> NoReturn:
    global _exit_failure
    if threading.current_thread() is threading.main_thread():
        _exit_failure = None if status is None or status == 0 else f"SystemExit: {status}"
    raise SystemExit(status)


def _goes_on(*_: Any) -> None:
    """The process goes on after the error that came last, so that error is not its end."""
    global _survived_error, _exit_failure
    _survived_error, _exit_failure = getattr(sys, "last_value", None), None


def _watch_cells() -> None:
    """In IPython and notebooks: a cell that begins shows that the process went on after the error of an earlier one."""
    try:
        shell = sys.modules["IPython"].get_ipython()
        shell.events.register("pre_run_cell", _goes_on)
    except Exception:
        return  # no IPython, or one without these events


def _at_exit() -> None:
    error = getattr(sys, "last_value", None)  # an uncaught exception
    if error is _survived_error:
        error = None
    failure = f"{type(error).__name__}: {error}" if error is not None else _exit_failure
    for reporter in reversed(_open):
        reporter.end_at_exit(failure)
    _interrupt.exit_with_stop_status()


def _after_fork() -> None:
    _open.clear()
    _shield.shield.reset()
    for action in forked:
        action()
    _restore_signal_handlers()
    _restore_exit()
    _interrupt.restore()
    _shield.restore()
