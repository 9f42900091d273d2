"""Console capture: what was printed is in the log, and the terminal is as it was."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
import time
from typing import Any

import pytest

from svc_reporter._capture.console import ConsoleCapture

from .kit.wait import until


class Terminal(io.StringIO):
    """Something that is written to, with answers of its own."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 41


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in the test's body: pytest puts streams of its own there when that begins."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return terminal


def captured(write: Any) -> list[str]:
    lines: list[str] = []
    capture = ConsoleCapture(lambda stream, line, _at: lines.append(f"{stream}: {line}"))
    capture.start()
    try:
        write()
    finally:
        capture.stop()
    return lines


def test_lines_are_sent_whole_and_the_terminal_gets_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def write() -> None:
        print("one", end="")
        print(" line")
        sys.stderr.write("two\nthree")
        print("\x1b[31mred\x1b[0m\x1b[2K")

    assert captured(write) == ["stdout: one line", "stderr: two", "stdout: \x1b[31mred\x1b[0m", "stderr: three"]
    assert terminal.getvalue() == "one line\n\x1b[31mred\x1b[0m\x1b[2K\n"


def test_a_progress_bar_is_one_line_its_last(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)

    def write() -> None:
        for percent in range(0, 101, 10):
            sys.stdout.write(f"\r{percent}%")
        sys.stdout.write("\n")
        sys.stdout.write("a\r\nb\r\n")
        sys.stdout.write("80%\r")

    assert captured(write) == ["stdout: 100%", "stdout: a", "stdout: b", "stdout: 80%"]


def test_a_bar_that_takes_long_is_sent_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def write() -> None:
        for percent in range(10):
            now[0] += 4
            sys.stdout.write(f"\r{percent}%")

    assert captured(write) == ["stdout: 1%", "stdout: 4%", "stdout: 7%", "stdout: 9%"]


def test_of_more_than_1000_lines_a_second_the_last_are_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_terminal(monkeypatch)
    now = [10.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def write() -> None:
        for n in range(1_500):
            print(n)
        now[0] += 1
        print("later")
        for n in range(1_200):
            print(n)

    lines = captured(write)
    assert lines[999:1002] == [
        "stdout: 999",
        "stdout: [450 lines left out: more than 1,000 a second]",
        "stdout: 1450",
    ]
    assert lines[1050:1052] == ["stdout: 1499", "stdout: later"]
    assert lines[-51:-49] == ["stdout: [151 lines left out: more than 1,000 a second]", "stdout: 1150"]
    assert lines[-1] == "stdout: 1199"
    assert len(lines) == 2 * (1_000 + 1 + 50)


def test_the_end_of_a_burst_is_sent_without_a_further_line(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    lines: list[str] = []
    capture = ConsoleCapture(lambda _stream, line, _at: lines.append(line))
    capture.start()
    try:
        sys.stdout.write("".join(f"{n}\n" for n in range(1_100)))
        until(lambda: lines[-1:] == ["1099"])
    finally:
        capture.stop()
    assert lines[1_000:1_002] == ["[50 lines left out: more than 1,000 a second]", "1050"]


def test_output_printed_while_sending_is_not_sent_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    lines: list[str] = []

    def send(_stream: str, line: str, _at: float) -> None:
        lines.append(line)
        print("sent", line)
        logging.getLogger("other").warning("sent too")

    capture = ConsoleCapture(send)
    capture.start()
    print("once")
    capture.stop()
    assert lines == ["once"]
    assert terminal.getvalue() == "once\nsent once\n"


def test_a_sender_that_fails_does_not_reach_print(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def send(_stream: str, _line: str, _at: float) -> None:
        raise RuntimeError("away")

    capture = ConsoleCapture(send)
    capture.start()
    print("still printed")
    capture.stop()
    assert terminal.getvalue() == "still printed\n"


def test_streams_keep_their_answers_and_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    before = sys.stdout.write
    capture = ConsoleCapture(lambda _stream, _line, _at: None)
    capture.start()
    assert sys.stdout is terminal
    assert sys.stdout.isatty()
    assert sys.stdout.fileno() == 41
    capture.stop()
    assert sys.stdout.write == before
    assert "write" not in vars(terminal)


def test_somebody_elses_wrapper_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    lines: list[str] = []
    capture = ConsoleCapture(lambda _stream, line, _at: lines.append(line))
    capture.start()
    inner = sys.stdout.write
    theirs: list[str] = []

    def wrapper(text: str) -> int:
        theirs.append(text)
        return inner(text)

    sys.stdout.write = wrapper  # type: ignore[method-assign]  # as other loggers do
    capture.stop()
    print("after")
    assert theirs == ["after", "\n"]
    assert terminal.getvalue() == "after\n"
    assert lines == []


def test_a_handler_that_holds_the_stream_since_before_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    handler = logging.StreamHandler(sys.stderr)
    log = logging.getLogger("held before")
    log.addHandler(handler)
    try:
        assert captured(lambda: log.warning("heard")) == ["stderr: heard"]
    finally:
        log.removeHandler(handler)


def test_a_very_long_line_is_truncated_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    [line] = captured(lambda: print("x" * 20_000))
    assert line.endswith("x … (3,616 characters left out)")


def test_lines_are_sent_during_the_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    lines: list[tuple[str, float]] = []
    capture = ConsoleCapture(lambda _stream, line, at: lines.append((line, at)))
    capture.start()
    for part in ("one\n", "two\nthr"):
        before = len(lines)
        printed = time.monotonic()
        print(part, end="")
        until(lambda before=before: len(lines) > before)  # type: ignore[misc]  # mypy infers no type for the default
        assert abs(lines[-1][1] - printed) < 1
    capture.stop()
    assert [line for line, _ in lines] == ["one", "two", "thr"]


def test_a_separate_thread_sends_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    senders: list[str] = []
    capture = ConsoleCapture(lambda _stream, _line, _at: senders.append(threading.current_thread().name))
    capture.start()
    for n in range(100):
        print(n)
    until(lambda: len(senders) == 100)
    capture.stop()
    assert set(senders) == {"svc-reporter-console"}


def test_a_forked_child_prints_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    lines: list[str] = []
    capture = ConsoleCapture(lambda _stream, line, _at: lines.append(line))
    capture.start()
    with capture._lock:  # held at the fork, as by another thread
        child = os.fork()
        if child == 0:
            print("from the child")
            os._exit(0 if lines == [] and terminal.getvalue() == "from the child\n" else 1)
    _, status = os.waitpid(child, 0)
    capture.stop()
    assert os.waitstatus_to_exitcode(status) == 0
