"""`LogHandler`: sends the records of the logging module to the run's log."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from .._process import lifecycle
from .job import Job
from .reporter import Reporter


class _Target(Protocol):
    def log(self, line: object, level: str | int = "info") -> None: ...


class LogHandler(logging.Handler):
    """`logging.getLogger().addHandler(svc.LogHandler())`: every record becomes a log line.

    `target` is a run or a job, by default the reporter that was opened last. The package's own records are ignored, so
    that a message about failed sending does not cause another one.
    """

    def __init__(self, target: Reporter | Job | None = None, level: int | str = logging.INFO) -> None:
        super().__init__(level)
        self._target: _Target | None = target
        self._within = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".", 1)[0] == "svc_reporter" or getattr(self._within, "active", False):
            return
        target = self._target or lifecycle.newest()
        if not isinstance(target, (Reporter, Job)):
            return
        self._within.active = True
        try:
            target.log(self.format(record), level=record.levelname)
        except Exception:
            self.handleError(record)
        finally:
            self._within.active = False
