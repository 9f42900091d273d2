"""The outcome of a `with` block: clean, stopped, or failed and why."""

from __future__ import annotations

from types import TracebackType

from ._errors import StopRequested
from ._redact import redact_text
from ._traceback import full_trace

STOPPED = "stop_requested"
"""The reason that makes the service call a batch or job `stopped` (contract §4)."""
_REASON_LIMIT = 2_000


def reason_of(error: BaseException | None) -> str | None:
    """None for a clean end; `sys.exit()` with no code or 0 is one."""
    if error is None:
        return None
    if isinstance(error, StopRequested):
        return STOPPED
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return None
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    return redact_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)[:_REASON_LIMIT]


def trace_of(error: BaseException | None, trace: TracebackType | None) -> str | None:
    if error is None or isinstance(error, (StopRequested, SystemExit, KeyboardInterrupt)):
        return None
    return full_trace(error, trace)
