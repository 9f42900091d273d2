"""Signal handlers that a program does not notice, and code that no signal handler of a program interrupts.

Python runs signal handlers in the main thread, between any two instructions; one may raise an exception there, as that
of Ctrl-C does. Programs and libraries ask which handlers are set, and set theirs only where they find the default. So:

- `set_hidden_handler` sets a handler that `signal.getsignal` and `signal.signal` show as the default. A handler that
  the program sets later replaces it.
- `uninterrupted` runs a function in a thread of its own, where no handler runs, while the caller waits.
- `recording` marks functions that take microseconds: hidden handlers wait for their end.

What a program's handler raises inside a recording leaves the run consistent: `EventQueue.put` counts again, and the
exception is not taken for an error of the recorded values (`raise_if_by_signal`).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # has no stubs
import functools
import signal
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_RESEND_S = 0.002
_WAIT_S = 0.05
_recordings: set[Any] = set()
"""Code of the functions that hidden handlers do not interrupt."""


postponed: dict[int, Callable[[int, FrameType | None], None]] = {}
"""Signals that came inside a recording, and what they do."""


class _Hidden(int):
    """A handler that equals SIG_DFL. `_signal` calls it, because only an exact int is the default there."""

    function: Callable[[int, FrameType | None], None]

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _is_recording(frame) and _helper.later(functools.partial(_resend, number)):
            postponed[number] = self.function
            return
        postponed.pop(number, None)
        self.function(number, frame)


def set_hidden_handler(number: int, function: Callable[[int, FrameType | None], None]) -> bool:
    """Handle a signal whose action is the default one. False if it has a handler, or where that is not possible."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        if _signal.getsignal(number) != signal.SIG_DFL:
            return False
        handler = _Hidden(int(signal.SIG_DFL))
        handler.function = function
        _signal.signal(number, handler)
        return has_hidden_handler(number)
    except (ValueError, OSError, TypeError):
        return False  # not the main interpreter, or a platform without it


def has_hidden_handler(number: int) -> bool:
    return isinstance(_signal.getsignal(number), _Hidden)


def remove_hidden_handler(number: int) -> None:
    """Set the default action, unless the program has set a handler. Only the main thread can do that."""
    try:
        if threading.current_thread() is threading.main_thread() and has_hidden_handler(number):
            signal.signal(number, signal.SIG_DFL)
    except (ValueError, OSError):
        return


def take_effect() -> None:
    """After a recording in the main thread: run what was postponed, if anything was."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        number, function = postponed.popitem()
    except KeyError:
        return  # the signal came again meanwhile, and took effect
    function(number, None)


def recording(function: _Function) -> _Function:
    """Mark a function that hidden handlers do not interrupt."""
    _recordings.add(function.__code__)
    return function


def raise_if_by_signal(error: BaseException) -> None:
    """Raise the exception again if a signal handler of the program has raised it, as one for SIGALRM may."""
    if _is_by_signal(error):
        raise error


def _is_by_signal(error: BaseException) -> bool:
    codes = set()
    for number in signal.valid_signals():
        handler: Any = _signal.getsignal(number)
        handler = getattr(handler, "func", handler)  # functools.partial
        function = getattr(handler, "__func__", handler)
        codes.add(getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None))
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def uninterrupted(action: Callable[[], object], on_interrupt: Callable[[], object], limit_s: float) -> None:
    """Run `action` to its end, although signal handlers of the program raise meanwhile; then raise what came first.

    `on_interrupt` is called for each of them. After `limit_s` seconds the caller no longer waits: it may hold a lock
    that `action` needs.
    """
    if threading.current_thread() is not threading.main_thread():
        action()
        return
    ended = threading.Lock()
    ended.acquire()
    begun: list[bool] = []
    failure: list[BaseException] = []
    interrupt: BaseException | None = None
    wanted = False
    end = time.monotonic() + limit_s

    def run() -> None:
        if begun:
            return  # an interrupt came before `wanted` was set
        begun.append(True)
        try:
            action()
        except BaseException as error:
            failure.append(error)
        finally:
            ended.release()

    while True:
        try:
            wanted = wanted or _helper.later(run)
            # In short waits: a signal just before one has no effect until it ends.
            if not wanted or ended.acquire(timeout=_WAIT_S) or time.monotonic() > end:
                break
        except BaseException as error:
            interrupt = interrupt or error
            on_interrupt()
    if not wanted:
        action()
    if failure:
        raise failure[0]
    if interrupt is not None:
        raise interrupt


class _Helper:
    """A thread that runs functions one after the other."""

    def __init__(self) -> None:
        self._wanted: SimpleQueue[Callable[[], object] | None] | None = None

    def start(self) -> None:
        if self._wanted is not None:
            return
        wanted: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        thread = threading.Thread(target=self._run, args=(wanted,), name="svc-reporter-end", daemon=True)
        try:
            thread.start()
            self._wanted = wanted
        except RuntimeError:
            return  # out of threads: `uninterrupted` calls its functions in the caller's thread

    def stop(self) -> None:
        """End the thread after the functions that wait."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            wanted.put(None)

    def forget(self) -> None:
        """In a forked child: the thread does not exist there."""
        self._wanted = None
        postponed.clear()

    def later(self, action: Callable[[], object]) -> bool:
        """Let the thread run `action`. False if it does not run, or for the thread itself."""
        wanted = self._wanted
        if wanted is None:
            return False
        wanted.put(action)
        return True

    @staticmethod
    def _run(wanted: SimpleQueue[Callable[[], object] | None]) -> None:
        while (action := wanted.get()) is not None:
            action()


_helper = _Helper()
start, stop, forget = _helper.start, _helper.stop, _helper.forget


def _is_recording(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _recordings:
            return True
        frame = frame.f_back
    return False


def _resend(number: int) -> None:
    """Send a signal to the main thread once more, because it came inside a recording, unless it has taken effect."""
    time.sleep(_RESEND_S)
    if number not in postponed:
        return
    ident = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and ident is not None:
        signal.pthread_kill(ident, number)
    else:
        signal.raise_signal(number)
