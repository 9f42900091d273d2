"""Waiting for something to become true, with a patience that no healthy machine needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(found: Callable[[], T], what: str = "", patience_s: float = 60.0) -> T:
    """The first answer that is true."""
    deadline = time.monotonic() + patience_s
    while True:
        answer = found()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"timed out after {patience_s} s {what}"
        time.sleep(0.05)
