"""The jobs of a batch that one process reports: which are open, how many have ended, and which one gets log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shared.ids import now_ms

if TYPE_CHECKING:
    from .job import Job

MAX_WAITING = 1_000
"""How many log lines from before the first job are kept: each log line belongs to a job."""


class OpenJobs:
    """Of one `Reporter`, whose lock guards it."""

    def __init__(self) -> None:
        self.open: list[Job] = []
        self.newest: str | None = None
        """The id of the job that started last; another process may report it."""
        self.n_done = self.n_failed = 0
        self.waiting: list[dict[str, Any]] = []
        """Log lines from before the first job."""
        self._last_end: tuple[str, int] | None = None
        """The id of the job that ended last, and the Unix time in milliseconds."""

    @property
    def of_lines(self) -> str | None:
        """The job that log lines belong to; None before the first one."""
        jobs = self.open
        return jobs[-1].id if jobs else self.newest

    @property
    def counts(self) -> dict[str, int]:
        return {"n_done": self.n_done, "n_failed": self.n_failed}

    def keep_line(self, data: dict[str, Any]) -> bool:
        """Keep a log line for the first job. False if too many wait."""
        if len(self.waiting) >= MAX_WAITING:
            return False
        self.waiting.append(data)
        return True

    def is_newest(self, job_id: str) -> list[dict[str, Any]]:
        """From now on log lines belong to this job. Returns those that waited for one."""
        self.newest = job_id
        early, self.waiting = self.waiting, []
        return early

    def ended(self, job: Job, *, done: bool) -> bool:
        """Whether no other job of this id is open."""
        if job in self.open:
            self.open.remove(job)
        if done:
            self.n_done += 1
        else:
            self.n_failed += 1
        return all(other.id != job.id for other in self.open)

    def end_is_sent(self, job_id: str) -> None:
        self._last_end = (job_id, now_ms())

    def has_just_ended(self, job_id: str) -> bool:
        """Whether it ended in this millisecond. Events are ordered by time, and a new start comes after that end."""
        return self._last_end == (job_id, now_ms())
