"""What the parts of a `Reporter` need of it: its jobs, files, start and copies know this, and it knows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .._delivery.pipeline import Pipeline
from .._delivery.settings import Settings
from .._shared.messages import Messages
from .trial import Trial


@dataclass(frozen=True)
class ResumePoint:
    """What the service knows of a batch that this process continues or joins."""

    project: str | None = None
    """None if the service does not know the batch."""
    newest_job: str | None = None
    last_steps: dict[str, int] = field(default_factory=dict)
    """By job id, of jobs with steps."""


class TakesMedia(Protocol):
    def add_media(self, job_id: str, step: int, media: Mapping[str, Any]) -> None: ...


class Batch(Protocol):
    """A `Reporter`, which says what these mean."""

    batch_id: str
    project: str
    experiment_type: str
    host: str
    messages: Messages
    trial: Trial | None
    may_exist: bool
    resume_point: ResumePoint | None
    start_extras: dict[str, Any]
    environment_extras: dict[str, Any]
    _settings: Settings
    _pipeline: Pipeline | None
    _disabled: bool

    @property
    def n_planned(self) -> int: ...
    @property
    def files(self) -> TakesMedia: ...

    def emit(self, event_type: str, job_id: str | None, data: dict[str, Any], ms: int | None = None) -> None: ...
    def emit_log(
        self, job_id: str | None, line: object, level: str | int, ms: int | None = None, **more: Any
    ) -> None: ...
    def emit_job_start(self, job: Any, data: dict[str, Any]) -> None: ...
    def emit_finished_job_start(self, job_id: str, data: dict[str, Any], ms: int) -> None: ...
    def emit_job_end(self, event_type: str, job: Any, data: dict[str, Any], ms: int | None = None) -> None: ...
    def count_lost(self) -> None: ...
    def check_stop_here(self) -> None: ...
    def check_stop_log(self) -> None: ...
    def uninterrupted(self, action: Callable[[], object], limit_s: float = 0.0) -> None: ...
    def can_report(self) -> bool: ...
    def is_of_this_process(self) -> bool: ...
    def ask_resume_point(self) -> None: ...
    def for_batch(self, batch_id: str) -> Batch: ...
    def close(self, timeout: float | None = None) -> None: ...
