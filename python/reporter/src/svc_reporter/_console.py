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
from collections.abc import Callable
from typing import Any

LINES_PER_S = 1_000
"""Of both streams together; what is beyond is counted, and said once the second is over."""
_LINE_LIMIT = 16 * 1024
"""Characters of one line; a longer one is cut and says so."""
_REDRAWN_S = 10.0
"""A progress bar that is drawn over and over is sent at most this often until its line ends."""
_CURSOR = re.compile(r"\x1b\[[0-9;?]*[ABCDEFGHJKSTfhlsu]")
"""Movements of the cursor. Colours are kept: the page shows them."""

Send = Callable[[str, str], None]
"""Called with the stream's name and one line."""

_active: weakref.WeakSet[ConsoleCapture]


class ConsoleCapture:
    """Between `start` and `stop`, lines written to sys.stdout and sys.stderr are handed to `send`.

    `send` is called in the thread that writes, outside of any lock, and never for what it prints itself.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._within = threading.local()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._on = False
        self._streams: list[_Stream] = []
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

    def stop(self) -> None:
        """Gives the streams back, and sends what stands on their last lines."""
        if not self._on:
            return
        for stream in self._streams:
            stream.give_back()
            if self._pid == os.getpid():
                with self._lock:
                    rest = stream.rest()
                self._emit(stream.name, rest)
        if self._pid == os.getpid():
            self._say_left_out("stderr")
        self._on = False
        self._streams = []
        _active.discard(self)

    def forget_after_fork(self) -> None:
        """In a forked child: its output is its own, and a lock that was held is held for ever."""
        self._on = False
        self._lock = threading.RLock()

    def _heard(self, stream: _Stream, text: str) -> None:
        if not self._on or self._pid != os.getpid() or getattr(self._within, "sending", False):
            return
        if threading.current_thread().name.startswith("svc-reporter"):
            return  # complaints about sending must not be sent
        with self._lock:
            lines = stream.take(text)
        self._emit(stream.name, lines)

    def _emit(self, name: str, lines: list[str]) -> None:
        for line in lines:
            with self._lock:
                now = time.monotonic()
                over = now - self._second >= 1.0
                late = self._left_out if over else 0
                if over:
                    self._second, self._sent, self._left_out = now, 0, 0
                fits = self._sent < LINES_PER_S
                if fits:
                    self._sent += 1
                else:
                    self._left_out += 1
                    self.left_out += 1
            if late:
                self._hand_over(name, _said_left_out(late))
            if fits:
                self._hand_over(name, line)

    def _say_left_out(self, name: str) -> None:
        late, self._left_out = self._left_out, 0
        if late:
            self._hand_over(name, _said_left_out(late))

    def _hand_over(self, name: str, line: str) -> None:
        self._within.sending = True
        try:
            self._send(name, line)
        except Exception:
            return  # printing must go on, whatever becomes of the line
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
        """What stood on the line before it was drawn over."""
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
        """Where somebody has wrapped `write` since, theirs stays, and ours within it only passes on."""
        if self._own is not None and self.stream.__dict__.get("write") is self._own:
            del self.stream.write
            if self.stream.write != self._write:
                self.stream.write = self._write
        self._heard = _deaf

    def take(self, text: str) -> list[str]:
        """The lines that this text ends, with carriage returns folded as a terminal shows them."""
        lines: list[str] = []
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for part in whole:
            self._draw(part)
            lines += self._end_line()
        self._draw(rest)
        if len(self._line) > _LINE_LIMIT:
            lines += self._end_line()
        elif self._drawn and time.monotonic() - self._sent_at > _REDRAWN_S:
            lines += _shown(self._drawn)
            self._sent_at = time.monotonic()
        return lines

    def rest(self) -> list[str]:
        return self._end_line()

    def _draw(self, text: str) -> None:
        for i, part in enumerate(text.split("\r")):
            if i > 0:
                self._drawn, self._line = self._line or self._drawn, ""
            self._line += part

    def _end_line(self) -> list[str]:
        # After "bar\r" the cursor stands at the beginning, and the bar is still what one sees.
        line, self._line, self._drawn = self._line or self._drawn, "", ""
        self._sent_at = time.monotonic()
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
