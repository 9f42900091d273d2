"""What this package raises, and it is short:

    BaseException
     └── StopRequested      somebody pressed stop; not an Exception, so `except Exception` cannot swallow it
    ValueError, TypeError   a Reporter made with arguments that can never work
    QueryError              svc_reporter.query: the service refused to answer

Everything else that can go wrong while a training reports is counted and logged, never raised.
"""

from __future__ import annotations


class StopRequested(BaseException):
    """Raised by `job.epoch(...)`, `run.job(...)` and `run.check_stop()` after somebody asked the batch to stop.

    It derives from BaseException: a training loop that wraps a step in `except Exception` must not
    turn "stop" into "one more failed step". Leaving the `with` block by it ends the batch as `stopped`.
    """

    def __init__(self, batch_id: str = "") -> None:
        super().__init__(f"stop requested for batch {batch_id}" if batch_id else "stop requested")
        self.batch_id = batch_id


class QueryError(Exception):
    """The service answered a query with an error, or could not be reached."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
