"""Console capture: what the process prints to stdout and stderr, sent as log lines too.

The streams stay the ones they were: `isatty`, `fileno`, `encoding` and everything else is theirs, and what is written
goes to the terminal first. Only their `write` is replaced, so that handlers which hold a stream since before are heard
as well. What other processes and C code write to the file descriptors is not.
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
from queue import SimpleQueue
from typing import Any

LINES_PER_S = 1_000
"""Of both streams together; what is beyond is counted, and said once the second is over."""
_LINE_LIMIT = 16 * 1024
"""Characters of one line; a longer one is cut and says so."""
_REDRAWN_S = 10.0
"""A progress bar that is drawn over and over is sent at most this often until its line ends."""
_CURSOR = re.compile(r"\x1b\[[0-9;?]*[ABCDEFGHJKSTfhlsu]")
"""Movements of the cursor. Colours are kept: the page shows them."""

_DRAIN_S = 0.05
"""How long writes are collected before lines are made of them."""
_LOCK_S = 2.0
_MAX_WRITES = 50_000
"""Writes that wait for the thread; with more, the writer makes the lines itself."""

Send = Callable[[str, str, float], None]
"""Called with the stream's name, one line, and the time.monotonic() at which it was written."""

_active: weakref.WeakSet[ConsoleCapture]


class ConsoleCapture:
    """Between `start` and `stop`, lines written to sys.stdout and sys.stderr are handed to `send`.

    A write appends its text to a list, which costs about a microsecond; a thread makes lines of it every `_DRAIN_S`.
    `send` is called in that thread, in order of writing, and never for what it prints itself.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._within = threading.local()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._on = False
        self._streams: list[_Stream] = []
        self._written: deque[tuple[_Stream, str, float]] = deque()
        """Stream, text and time.monotonic() of writes that no line was made of yet."""
        self._waiting = False
        """The thread sleeps until it is woken."""
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._second = 0.0
        self._sent = self._left_out = 0
        self.left_out = 0
        """Lines that were not sent, in all: more than LINES_PER_S a second."""

    def start(self) -> None:
        if self._on:
            return
        self._on = True
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name, None)
            if stream is not None and not any(known.stream is stream for known in self._streams):
                self._streams.append(_Stream(name, stream, self._heard))
        _active.add(self)
        self._waiting = True
        self._thread = threading.Thread(target=self._run, name="svc-reporter-console", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # out of threads: `catch_up` and `stop` make the lines
            self._thread = None

    def stop(self) -> None:
        """Restores the streams, and sends the text of their last lines."""
        if not self._on:
            return
        for stream in self._streams:
            stream.give_back()
        if self._pid == os.getpid():
            self._wakes.put(False)
            self.catch_up()
            now = time.monotonic()
            for stream in self._streams:
                self._emit(stream.name, stream.rest(now), now)
            self._say_left_out("stderr", now)
        self._on = False
        self._streams = []
        _active.discard(self)

    def catch_up(self) -> None:
        """Sends the lines of everything that was written so far."""
        # Not for ever: a signal handler may run here while the thread that has the lock waits for what the handler's
        # own thread holds.
        if self._pid != os.getpid() or not self._lock.acquire(timeout=_LOCK_S):
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

    def forget_after_fork(self) -> None:
        """In a forked child: its output is its own, and a lock that was held is held for ever."""
        self._on = False
        self._lock = threading.RLock()
        self._written = deque()

    def _heard(self, stream: _Stream, text: str) -> None:
        if not self._on or self._pid != os.getpid() or getattr(self._within, "sending", False):
            return
        if threading.current_thread().name.startswith("svc-reporter"):
            return  # complaints about sending must not be sent
        self._written.append((stream, text, time.monotonic()))
        if self._waiting:
            self._waiting = False
            self._wakes.put(True)
        elif len(self._written) > _MAX_WRITES:
            self.catch_up()  # the thread does not keep up, so that the writer waits

    def _run(self) -> None:
        while self._wakes.get() and self._on and self._pid == os.getpid():
            time.sleep(_DRAIN_S)
            self._waiting = True  # before the list is emptied: a write from here on wakes the thread again
            self.catch_up()

    def _emit(self, name: str, lines: list[str], at: float) -> None:
        for line in lines:
            over = at - self._second >= 1.0
            late = self._left_out if over else 0
            if over:
                self._second, self._sent, self._left_out = at, 0, 0
            fits = self._sent < LINES_PER_S
            if fits:
                self._sent += 1
            else:
                self._left_out += 1
                self.left_out += 1
            if late:
                self._hand_over(name, _said_left_out(late), at)
            if fits:
                self._hand_over(name, line, at)

    def _say_left_out(self, name: str, at: float) -> None:
        late, self._left_out = self._left_out, 0
        if late:
            self._hand_over(name, _said_left_out(late), at)

    def _hand_over(self, name: str, line: str, at: float) -> None:
        self._within.sending = True
        try:
            self._send(name, line, at)
        except Exception:
            return  # printing must work even if the line is lost
        finally:
            self._within.sending = False


class _Stream:
    """One stream whose `write` is listened to, and the line that is being written on it."""

    def __init__(self, name: str, stream: Any, heard: Callable[[_Stream, str], None]) -> None:
        self.name = name
        self.stream = stream
        self._heard = heard
        self._line = ""
        self._drawn = ""
        """The text of the line before it was drawn over."""
        self._sent_at = time.monotonic()
        self._write = stream.write
        self._own: Callable[[Any], Any] | None = self._make()
        try:
            stream.write = self._own
        except AttributeError:  # a stream that takes no attributes is not listened to
            self._own = None

    def _make(self) -> Callable[[Any], Any]:
        write, me = self._write, self

        def listened(text: Any) -> Any:
            written = write(text)
            if isinstance(text, str) and text:
                me._heard(me, text)
            return written

        return listened

    def give_back(self) -> None:
        """If another wrapper was put around `write` since, it stays, and ours inside it only passes the text on."""
        if self._own is not None and self.stream.__dict__.get("write") is self._own:
            del self.stream.write
            if self.stream.write != self._write:
                self.stream.write = self._write
        self._heard = _deaf

    def take(self, text: str, at: float) -> list[str]:
        """The lines that this text ends, with carriage returns folded as a terminal shows them; `at`: when."""
        lines: list[str] = []
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for part in whole:
            self._draw(part)
            lines += self._end_line(at)
        self._draw(rest)
        if len(self._line) > _LINE_LIMIT:
            lines += self._end_line(at)
        elif self._drawn and at - self._sent_at > _REDRAWN_S:
            lines += _shown(self._drawn)
            self._sent_at = at
        return lines

    def rest(self, at: float) -> list[str]:
        return self._end_line(at)

    def _draw(self, text: str) -> None:
        for i, part in enumerate(text.split("\r")):
            if i > 0:
                self._drawn, self._line = self._line or self._drawn, ""
            self._line += part

    def _end_line(self, at: float) -> list[str]:
        # After "bar\r" the cursor is at the beginning, and the bar is still visible.
        line, self._line, self._drawn = self._line or self._drawn, "", ""
        self._sent_at = at
        return _shown(line)


def _deaf(_stream: _Stream, _text: str) -> None:
    return


def _shown(line: str) -> list[str]:
    line = _CURSOR.sub("", line).rstrip()
    if not line:
        return []
    if len(line) > _LINE_LIMIT:
        line = f"{line[:_LINE_LIMIT]} … ({len(line) - _LINE_LIMIT:,} characters left out)"
    return [line]


def _said_left_out(count: int) -> str:
    return f"[{count:,} lines left out: more than {LINES_PER_S:,} a second]"


def _after_fork() -> None:
    for capture in list(_active):
        capture.forget_after_fork()


_active = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
