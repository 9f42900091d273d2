"""What this package raises, and it is short:

    BaseException
     └── SystemExit
          └── StopRequested  a user pressed stop; not an Exception, so `except Exception` cannot swallow it
    ValueError, TypeError    a Reporter made with arguments that can never work
    QueryError               svc_reporter.query: the service refused to answer

Everything else that can go wrong while a training reports is counted and logged, never raised.
"""

from __future__ import annotations

STOPPED_STATUS = 143
"""The exit status of a process that StopRequested ends: what a shell shows for a process ended by SIGTERM."""


class StopRequested(SystemExit):
    """Raised by `job.epoch(...)`, `job.log(...)`, `run.log(...)`, `run.job(...)` and `run.check_stop()` after a user
    asked the batch to stop, and wherever the main thread is if it makes no such call for 10 s.

    It is no Exception: a training loop that wraps a step in `except Exception` must not turn "stop" into "one more
    failed step". Leaving the `with` block by it ends the batch as `stopped`. As a SystemExit it ends a process that
    does not catch it without a traceback, with exit status 143.
    """

    made = 0
    """How many there have been: see `_interrupt.exit_with_stop_status`."""

    def __init__(self, batch_id: str = "") -> None:
        StopRequested.made += 1
        super().__init__(f"stop requested for batch {batch_id}" if batch_id else "stop requested")
        self.code = STOPPED_STATUS
        self.batch_id = batch_id


class QueryError(Exception):
    """The service answered a query with an error, or could not be reached."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
