"""Console capture: sends what Python prints to stdout and stderr as log lines, too.

Only the `write` of the two stream objects is replaced, so that logging handlers which hold a stream are captured as
well, and `isatty`, `fileno` and `encoding` do not change. Text is written to the terminal first. Output of C code and
of other processes, which goes to the file descriptors, is not captured.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from .._process.lifecycle import after_cells, before_cells

LINES_PER_S = 1_000
"""Of both streams together. Of further lines only the last are sent, after a line with the number of the others."""
_LAST_LINES = 50
"""How many last lines of a burst are sent: they may say why the process ended."""
_LINE_LIMIT = 16 * 1024
"""Characters of one line; a longer one is cut, with a note."""
_PROGRESS_EVERY_S = 10.0
"""A progress bar that overwrites its line is sent at most every so many seconds until the line ends."""
_CURSOR = re.compile(r"\x1b\[[0-9;?]*[ABCDEFGHJKSTfhlsu]")
"""Escape sequences that move the cursor. Those for colours are kept: the page shows them."""

_DRAIN_S = 0.05
"""Seconds for which writes are collected before they are split into lines."""
_LOCK_TIMEOUT_S = 2.0
_MAX_WRITES = 50_000
"""Limit of waiting writes; beyond it, the writing thread splits them into lines itself."""

Send = Callable[[str, str, float], None]
"""Called with the stream's name, one line, and the time.monotonic() at which it was written."""

_active: weakref.WeakSet[ConsoleCapture]


class ConsoleCapture:
    """Between `start` and `stop`, passes lines written to sys.stdout and sys.stderr to `send`.

    A write appends its text to a list, which takes about a microsecond. A thread splits it into lines every `_DRAIN_S`
    seconds and calls `send` in order of writing. Text that `send` itself prints is not captured.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._thread_state = threading.local()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._on = False
        self._streams: list[_Stream] = []
        self._written: deque[tuple[_Stream, str, float]] = deque()
        """Stream, text and time.monotonic() of writes that are not split into lines yet."""
        self._waiting = False
        """Whether the thread sleeps until `_wakes` has an item."""
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._second = 0.0
        self._sent = self._omitted = 0
        self._last_lines: deque[tuple[str, str, float]] = deque(maxlen=_LAST_LINES)
        """Stream, line and time.monotonic() of the last lines beyond LINES_PER_S in this second."""
        self.omitted = 0
        """How many lines were not sent in all, because there were more than LINES_PER_S."""

    def start(self) -> None:
        if self._on:
            return
        self._on = True
        self._capture_streams()
        before_cells(self._before_cell)
        _active.add(self)
        self._waiting = True
        self._thread = threading.Thread(target=self._run, name="svc-reporter-console", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # out of threads: `drain` and `stop` send the lines
            self._thread = None

    def _capture_streams(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name, None)
            if stream is not None and not any(known.stream is stream for known in self._streams):
                self._streams.append(_Stream(name, stream, self._on_write))

    def _before_cell(self, *_: Any) -> None:
        """IPython replaces `write` in each cell, and afterwards puts the one from before that cell back."""
        if self._on and self._pid == os.getpid():
            for stream in self._streams:
                stream.wrap_again()
            self._capture_streams()

    def stop(self) -> None:
        """Restore the streams and send the text that was written so far, incomplete last lines included."""
        if not self._on:
            return
        after_cells(self._before_cell)
        for stream in self._streams:
            stream.restore()
        if self._pid == os.getpid():
            self._wakes.put(False)
            self.drain()
            now = time.monotonic()
            for stream in self._streams:
                self._emit(stream.name, stream.rest(now), now)
            self._send_omitted()
        self._on = False
        self._streams = []
        _active.discard(self)

    def drain(self) -> None:
        """Send the complete lines that were written so far."""
        # With a timeout against a deadlock: a signal handler may run this in a thread that holds a lock for which the
        # owner of this one waits.
        if self._pid != os.getpid() or not self._lock.acquire(timeout=_LOCK_TIMEOUT_S):
            return
        try:
            while self._written:
                stream, text, at = self._written.popleft()
                texts = [text]
                while self._written and self._written[0][0] is stream and self._written[0][2] - at <= _DRAIN_S:
                    texts.append(self._written.popleft()[1])
                self._emit(stream.name, stream.take("".join(texts), at), at)
        finally:
            self._lock.release()

    def reset_after_fork(self) -> None:
        """In a forked child: stop capturing, and replace the lock, whose owner may not exist here."""
        self._on = False
        self._lock = threading.RLock()
        self._written = deque()

    def _on_write(self, stream: _Stream, text: str) -> None:
        if not self._on or self._pid != os.getpid() or getattr(self._thread_state, "sending", False):
            return
        if threading.current_thread().name.startswith("svc-reporter"):
            return  # messages about failed sending must not be sent
        self._written.append((stream, text, time.monotonic()))
        if self._waiting:
            self._waiting = False
            self._wakes.put(True)
        elif len(self._written) > _MAX_WRITES:
            self.drain()  # the thread is too slow: let the writer wait

    def _run(self) -> None:
        while self._is_woken() and self._on and self._pid == os.getpid():
            time.sleep(_DRAIN_S)
            self._waiting = True  # set before draining, so that a later write wakes the thread again
            self.drain()

    def _is_woken(self) -> bool:
        """Wait for a write. False when the capture ends."""
        while self._last_lines:
            try:
                return self._wakes.get(timeout=1.0)
            except Empty:  # nothing was written for a second: the burst is over
                with self._lock:
                    self._send_omitted()
        return self._wakes.get()

    def _emit(self, name: str, lines: list[str], at: float) -> None:
        for line in lines:
            if at - self._second >= 1.0:
                self._send_omitted()
                self._second, self._sent = at, 0
            if self._sent < LINES_PER_S:
                self._sent += 1
                self._send_line(name, line, at)
                continue
            if len(self._last_lines) == _LAST_LINES:
                self._omitted += 1
                self.omitted += 1
            self._last_lines.append((name, line, at))

    def _send_omitted(self) -> None:
        """Send what was left for the end of the second: how many lines were left out, and the last ones."""
        omitted, self._omitted = self._omitted, 0
        last_lines, self._last_lines = self._last_lines, deque(maxlen=_LAST_LINES)
        for position, (name, line, at) in enumerate(last_lines):
            if omitted and position == 0:
                self._send_line(name, _omitted_message(omitted), at)
            self._send_line(name, line, at)

    def _send_line(self, name: str, line: str, at: float) -> None:
        self._thread_state.sending = True
        try:
            self._send(name, line, at)
        except Exception:
            return  # an error here must not reach the code that prints
        finally:
            self._thread_state.sending = False


class _Stream:
    """One stream with a replaced `write`, and its current line."""

    def __init__(self, name: str, stream: Any, on_write: Callable[[_Stream, str], None]) -> None:
        self.name = name
        self.stream = stream
        self._on_write = on_write
        self._line = ""
        self._overwritten = ""
        """The text of the current line before a carriage return overwrote it."""
        self._sent_at = time.monotonic()
        self._write = stream.write
        self._wrapper: Callable[[Any], Any] | None = self._wrap()
        try:
            stream.write = self._wrapper
        except AttributeError:  # a stream without attributes is not captured
            self._wrapper = None

    def _wrap(self) -> Callable[[Any], Any]:
        write, me = self._write, self

        def write_and_notify(text: Any) -> Any:
            written = write(text)
            if isinstance(text, str) and text and me._wrapper is write_and_notify:
                me._on_write(me, text)
            return written

        return write_and_notify

    def wrap_again(self) -> None:
        """Put a wrapper around the current `write`, unless it is the wrapper; an earlier one then passes text only."""
        if self._wrapper is not None and self.stream.__dict__.get("write") is not self._wrapper:
            self._write = self.stream.write
            self._wrapper = self._wrap()
            self.stream.write = self._wrapper

    def restore(self) -> None:
        """Remove the wrapper. If another one was put around it, both stay, and ours only passes the text on."""
        if self._wrapper is not None and self.stream.__dict__.get("write") is self._wrapper:
            del self.stream.write
            if self.stream.write != self._write:
                self.stream.write = self._write
        self._on_write = _ignore

    def take(self, text: str, at: float) -> list[str]:
        """Add text that was written at time.monotonic() `at`; returns the lines that it completes.

        Text that a carriage return overwrites is left out, as on a terminal.
        """
        lines: list[str] = []
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for part in whole:
            self._write_text(part)
            lines += self._end_line(at)
        self._write_text(rest)
        if len(self._line) > _LINE_LIMIT:
            lines += self._end_line(at)
        elif self._overwritten and at - self._sent_at > _PROGRESS_EVERY_S:
            lines += _shown(self._overwritten)
            self._sent_at = at
        return lines

    def rest(self, at: float) -> list[str]:
        return self._end_line(at)

    def _write_text(self, text: str) -> None:
        for i, part in enumerate(text.split("\r")):
            if i > 0:
                self._overwritten, self._line = self._line or self._overwritten, ""
            self._line += part

    def _end_line(self, at: float) -> list[str]:
        # After "bar\r" the cursor is at the start of the line, and the text is still visible.
        line, self._line, self._overwritten = self._line or self._overwritten, "", ""
        self._sent_at = at
        return _shown(line)


def _ignore(_stream: _Stream, _text: str) -> None:
    return


def _shown(line: str) -> list[str]:
    line = _CURSOR.sub("", line).rstrip()
    if not line:
        return []
    if len(line) > _LINE_LIMIT:
        line = f"{line[:_LINE_LIMIT]} … ({len(line) - _LINE_LIMIT:,} characters left out)"
    return [line]


def _omitted_message(count: int) -> str:
    return f"[{count:,} lines left out: more than {LINES_PER_S:,} a second]"


def _after_fork() -> None:
    for capture in list(_active):
        capture.reset_after_fork()


_active = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
