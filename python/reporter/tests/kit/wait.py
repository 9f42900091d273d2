"""Waiting for something to become true, with a patience that no healthy machine needs."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(done: Callable[[], object], patience_s: float = 20.0, what: str = "") -> None:
    deadline = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < deadline, f"timed out after {patience_s} s {what}"
        time.sleep(0.005)
