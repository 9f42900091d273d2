"""Closes open reporters at interpreter exit and on SIGTERM, and handles forks.

At interpreter exit each open reporter is closed within its timeout. SIGTERM closes them too; then the default action
follows, so that the parent sees that signal. A program that asks sees no handler, and its own one takes precedence, as
do those of C code (faulthandler). All other signals do what they do without a reporter: Ctrl-C raises
KeyboardInterrupt, and after a death by a signal the watchdog ends the run. In a forked child no reporter is open, and
the handlers are removed.
"""

from __future__ import annotations

import _thread
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

from .._shared import signals
from . import interrupt
from .failure import reason_of
from .ranks import is_worker_process

ENDING_SIGNALS = ("SIGTERM", "SIGBREAK")
"""Signals with which schedulers and Windows end a training, where the system has them."""


KERNEL_RESTARTED = "the kernel of the notebook was restarted before the run was finished"


class OpenReporter(Protocol):
    def forget(self) -> None: ...
    def end_at_exit(self, failure: str | None) -> None: ...
    def end_by_signal(self, reason: str) -> None: ...


_open: list[OpenReporter] = []
_hooked = False
_finalised_pid = 0
_original_exit: Callable[..., NoReturn] | None = None
"""The sys.exit that was replaced; None while it is not."""
_exit_failure: str | None = None
"""The status of the last call of sys.exit, if it means failure. Nothing else keeps it until interpreter exit."""
_survived_error: BaseException | None = None
"""The error in sys.last_value after which the process went on, as a notebook or an interactive session does."""
_kernel: Any = None
"""The kernel of a notebook; at its end IPython no longer has it."""
_fork = threading.local()
"""`held`: the signals that this thread blocks while it forks."""
forked: list[Callable[[], None]] = []
"""Functions to be called in a forked child."""


def opened(reporter: OpenReporter) -> None:
    global _hooked, _finalised_pid
    _open.append(reporter)
    if not _hooked:
        _hooked = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)
        before_cells(_goes_on)
    _goes_on()
    if _finalised_pid != os.getpid():
        _finalised_pid = os.getpid()
        call_at_exit(_at_exit)
    _install_signal_handlers()
    _patch_exit()
    interrupt.install()
    signals.start()


def call_at_exit(action: Callable[[], object], priority: int = 10) -> None:
    """Call `action` at interpreter exit; of those with a higher priority, or added later, first."""
    if is_worker_process():
        # multiprocessing ends its children by os._exit, without atexit, but runs its finalizers.
        importlib.import_module("multiprocessing.util").Finalize(None, action, exitpriority=priority)
    atexit.unregister(action)
    atexit.register(action)


def closed(reporter: OpenReporter) -> None:
    if reporter in _open:
        _open.remove(reporter)
    if not _open:
        _restore_exit()
        signals.stop()
        restore_signal_handlers()


def restore_signal_handlers() -> None:
    """Remove the handlers, if no reporter is open; only the main thread can."""
    if not _open:
        for number in _ending_signals():
            signals.remove_hidden_handler(number)
        interrupt.restore()


def newest() -> OpenReporter | None:
    return _open[-1] if _open else None


# --- signals


def _ending_signals() -> list[int]:
    return [int(getattr(signal, name)) for name in ENDING_SIGNALS if hasattr(signal, name)]


def _install_signal_handlers() -> None:
    caught = _signals_with_handler()
    for number in _ending_signals():
        if not caught >> (number - 1) & 1:
            signals.set_hidden_handler(number, _end_by_signal)


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


def _end_by_signal(number: int, _frame: FrameType | None) -> None:
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


# What looks at sys.exit, or pickles it, sees that of Python.
_recording_exit.__module__, _recording_exit.__name__, _recording_exit.__qualname__ = "sys", "exit", "exit"
_recording_exit.__doc__ = sys.exit.__doc__


def _goes_on(*_: Any) -> None:
    """The process goes on after the error that came last, so that error is not its end."""
    global _survived_error, _exit_failure
    _survived_error, _exit_failure = getattr(sys, "last_value", None), None


def before_cells(action: Callable[..., object]) -> None:
    """In IPython and notebooks: call `action` before each cell."""
    global _kernel
    try:
        shell = sys.modules["IPython"].get_ipython()
        shell.events.register("pre_run_cell", action)
        _kernel = getattr(shell, "kernel", None)
    except Exception:
        return  # no IPython, or one without these events


def after_cells(action: Callable[..., object]) -> None:
    """Undo `before_cells`."""
    try:
        shell = sys.modules["IPython"].get_ipython()
        shell.events.unregister("pre_run_cell", action)
    except Exception:
        return


def _kernel_restarts() -> bool:
    """Whether this is the kernel of a notebook whose user restarts it, which cuts off what it was doing."""
    try:
        return bool(_kernel._shutdown_message["content"]["restart"])
    except Exception:
        return False


def exit_failure() -> str | None:
    """At interpreter exit: why the script failed; None if it did not."""
    # An uncaught exception; in a child of multiprocessing it is still on its way.
    error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    failure = _exit_failure if error is None or error is _survived_error else reason_of(error)
    return KERNEL_RESTARTED if failure is None and _kernel_restarts() else failure


def _at_exit() -> None:
    failure = exit_failure()
    for reporter in reversed(_open):
        reporter.end_at_exit(failure)
    interrupt.exit_with_stop_status()
    error = getattr(sys, "last_value", None)
    if type(error) is KeyboardInterrupt and error is not _survived_error and not is_interactive():
        interrupt.exit_as_interrupted()


def is_interactive() -> bool:
    """Whether a person types the statements, in Python's shell, `python -i` or a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


# --- forks


def _before_fork() -> None:
    """Hold back the ending signals until the handlers are removed in the child.

    Of a signal with a handler that comes before Python runs there, it forgets that it came: a pool that terminates its
    workers would wait for ever.
    """
    try:
        numbers = [number for number in _ending_signals() if signals.has_hidden_handler(number)]
        _fork.held = ()
        if numbers and hasattr(signal, "pthread_sigmask"):
            _fork.held = tuple(set(numbers) - set(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
            signal.pthread_sigmask(signal.SIG_BLOCK, _fork.held)
    except KeyboardInterrupt:
        _thread.interrupt_main()  # Python would only print what this function raises


def _after_fork_in_parent() -> None:
    try:
        held, _fork.held = getattr(_fork, "held", ()), ()
        if held:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, held)
    except KeyboardInterrupt:
        _thread.interrupt_main()


def _after_fork() -> None:
    try:
        for reporter in _open:
            reporter.forget()
        _open.clear()
        signals.forget()
        for action in forked:
            action()
        restore_signal_handlers()
        _restore_exit()
    finally:
        _after_fork_in_parent()
