"""The errors that a script may catch, under the names that it knows from W&B.

Nothing raises inside a training: these are for calls that can never work, such as `svc.log` before `svc.init`.
"""

from __future__ import annotations

from ._shared.errors import QueryError, StopRequested

__all__ = ["AuthenticationError", "CommError", "Error", "QueryError", "StopRequested", "UsageError"]


class Error(Exception):
    """A call that can never work, such as `svc.log` before `svc.init`."""

    def __init__(self, message: str = "", context: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.context = context


class UsageError(Error, ValueError):
    """An argument that can never work, such as `resume="must"` for a run that does not exist."""


class CommError(Error):
    """The service did not answer a question whose answer the script waits for."""


class AuthenticationError(CommError):
    """The service did not accept the token."""
