"""Sends what the end of a run had no time for: the watchdog does it, at low priority, after the run has ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from .crash_report import send_spilled

_DEFAULT_S = 300.0
_RETRY_S = 10.0
"""Between two attempts while the service cannot be reached."""
_ROUNDS = 5
"""Attempts, a second apart, after which a file that the training still holds is left to a later run."""


def send_after_end_s() -> float:
    """SVC_SEND_AFTER_END_S: for how long events on disk are sent after the end of a run; 0 switches it off."""
    try:
        return max(0.0, min(86_400.0, float(os.environ.get("SVC_SEND_AFTER_END_S") or _DEFAULT_S)))
    except ValueError:
        return _DEFAULT_S


def send_rest(runs: list[dict[str, Any]], is_training: Callable[[], bool]) -> None:
    """Send the events on disk of runs that have ended; `is_training` tells whether their process is still alive."""
    limit_s = send_after_end_s()
    if limit_s == 0:
        return
    os.nice(10)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the training is over: this signal is meant for this process
    deadline = time.monotonic() + limit_s
    for left in range(_ROUNDS, 0, -1):
        is_last = left == 1 or not is_training()
        while not all(send_spilled(facts, deadline, once=True) for facts in runs):
            if time.monotonic() + _RETRY_S > deadline:
                return
            time.sleep(_RETRY_S)
        if is_last:
            return
        time.sleep(1.0)
